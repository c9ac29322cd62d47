package devices

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

// View numbers what a node sees of devices. Nodes of the same build have the same.
type View int

// Names are the pools of a node that have other names in its view.
type Names map[poolID]string

type poolID struct{ driver, pool string }

// canonicalNode is the name of the node in a view.
const canonicalNode = "node"

// view is the node and its own slices as the allocator gets them.
type view struct {
	node   *corev1.Node
	slices []*resourcev1.ResourceSlice
	// devices are those of complete pools, for measures.
	devices []device
	matches map[int][]int // devices by signature
}

type device struct {
	id kubesched.DeviceID
	*resourcev1.Device
}

// View interns the view of a node with these slices of its own.
func (s *Store) View(node *corev1.Node, own []*resourcev1.ResourceSlice) (View, Names) {
	name := canonicalNode
	if s.net.byName {
		name = node.Name
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, k := range s.net.labels {
		if v, ok := node.Labels[k]; ok {
			if object.Labels == nil {
				object.Labels = map[string]string{}
			}
			object.Labels[k] = v
		}
	}
	local, names := s.canonical(newest(own), name)
	var key strings.Builder
	if len(s.net.slices) > 0 {
		fmt.Fprintf(&key, "%s %v\n", name, object.Labels) // fmt prints maps in key order
	}
	for _, x := range local {
		// Marshalling API types cannot fail.
		data, _ := json.Marshal(x.Spec)
		key.Write(data)
		key.WriteByte('\n')
	}
	if v, ok := s.viewOf[key.String()]; ok {
		return v, names
	}
	v := View(len(s.views))
	s.viewOf[key.String()] = v
	s.views = append(s.views, view{node: object, slices: local, devices: usable(local), matches: map[int][]int{}})
	return v, names
}

// newest leaves out slices of older generations of a pool, which the allocator ignores,
// and sorts by driver, pool and name.
func newest(own []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	generation := map[poolID]int64{}
	for _, x := range own {
		id := poolID{x.Spec.Driver, x.Spec.Pool.Name}
		if g, ok := generation[id]; !ok || x.Spec.Pool.Generation > g {
			generation[id] = x.Spec.Pool.Generation
		}
	}
	out := slices.DeleteFunc(slices.Clone(own), func(x *resourcev1.ResourceSlice) bool {
		return x.Spec.Pool.Generation < generation[poolID{x.Spec.Driver, x.Spec.Pool.Name}]
	})
	slices.SortFunc(out, func(a, b *resourcev1.ResourceSlice) int {
		return cmp.Or(cmp.Compare(a.Spec.Driver, b.Spec.Driver), cmp.Compare(a.Spec.Pool.Name, b.Spec.Pool.Name), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// canonical writes sorted slices without what tells nodes apart. New names keep the order
// of the old ones, because the allocator takes pools and slices in the order of names.
func (s *Store) canonical(sorted []*resourcev1.ResourceSlice, node string) ([]*resourcev1.ResourceSlice, Names) {
	names := Names{}
	var out []*resourcev1.ResourceSlice
	rank := map[string]int{}
	for i, x := range sorted {
		id := poolID{x.Spec.Driver, x.Spec.Pool.Name}
		if _, ok := names[id]; !ok {
			names[id] = id.pool
			// Among pools that several nodes see, the real name has its place.
			if !s.net.drivers[id.driver] {
				names[id] = fmt.Sprintf("pool-%04d", rank[id.driver])
			}
			rank[id.driver]++
		}
		c := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("slice-%06d", i)}}
		c.Spec = x.Spec
		c.Spec.NodeName = &node
		c.Spec.Pool = resourcev1.ResourcePool{Name: names[id], Generation: 1, ResourceSliceCount: x.Spec.Pool.ResourceSliceCount}
		c.Spec.Devices = make([]resourcev1.Device, len(x.Spec.Devices))
		for d := range x.Spec.Devices {
			c.Spec.Devices[d] = s.plain(x.Spec.Devices[d])
		}
		out = append(out, c)
	}
	return out, names
}

// plain is a device without attributes that nothing reads and without times.
func (s *Store) plain(d resourcev1.Device) resourcev1.Device {
	attributes := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	for name, value := range d.Attributes {
		if s.reads.attribute(name) {
			attributes[name] = value
		}
	}
	d.Attributes = attributes
	d.Taints = slices.Clone(d.Taints)
	for i := range d.Taints {
		d.Taints[i].TimeAdded = nil
	}
	return d
}

// usable are the devices of complete pools, in the allocator's order.
func usable(sorted []*resourcev1.ResourceSlice) []device {
	count := map[poolID]int64{}
	for _, x := range sorted {
		count[poolID{x.Spec.Driver, x.Spec.Pool.Name}]++
	}
	var out []device
	for _, x := range sorted {
		if count[poolID{x.Spec.Driver, x.Spec.Pool.Name}] != x.Spec.Pool.ResourceSliceCount {
			continue
		}
		for i := range x.Spec.Devices {
			d := &x.Spec.Devices[i]
			out = append(out, device{kubesched.DeviceID{Driver: x.Spec.Driver, Pool: x.Spec.Pool.Name, Device: d.Name}, d})
		}
	}
	return out
}

// Canonical rewrites the pools of results from the node's names to those of its view.
func (n Names) Canonical(results []resourcev1.DeviceRequestAllocationResult) []resourcev1.DeviceRequestAllocationResult {
	return rename(results, n)
}

// Real rewrites the pools of results from the names of the view to the node's own.
func (n Names) Real(results []resourcev1.DeviceRequestAllocationResult) []resourcev1.DeviceRequestAllocationResult {
	back := make(map[poolID]string, len(n))
	for id, canonical := range n {
		back[poolID{id.driver, canonical}] = id.pool
	}
	return rename(results, back)
}

func rename(results []resourcev1.DeviceRequestAllocationResult, names map[poolID]string) []resourcev1.DeviceRequestAllocationResult {
	out := slices.Clone(results)
	for i := range out {
		if name, ok := names[poolID{out[i].Driver, out[i].Pool}]; ok {
			out[i].Pool = name
		}
	}
	return out
}

// network is what several nodes see: slices that are not of one node.
type network struct {
	slices  []*resourcev1.ResourceSlice
	drivers map[string]bool
	pools   map[poolID]bool
	labels  []string // node label keys that they select by, sorted
	byName  bool     // they may select nodes by name
}

func newNetwork(shared []*resourcev1.ResourceSlice) network {
	n := network{slices: shared, drivers: map[string]bool{}, pools: map[poolID]bool{}}
	keys := map[string]bool{}
	read := func(selector *corev1.NodeSelector) {
		if selector == nil {
			return
		}
		for _, t := range selector.NodeSelectorTerms {
			n.byName = n.byName || len(t.MatchFields) > 0
			for _, e := range t.MatchExpressions {
				keys[e.Key] = true
			}
		}
	}
	for _, x := range shared {
		n.drivers[x.Spec.Driver] = true
		n.pools[poolID{x.Spec.Driver, x.Spec.Pool.Name}] = true
		read(x.Spec.NodeSelector)
		for i := range x.Spec.Devices {
			n.byName = n.byName || x.Spec.Devices[i].NodeName != nil
			read(x.Spec.Devices[i].NodeSelector)
		}
	}
	n.labels = slices.Sorted(maps.Keys(keys))
	return n
}
