package nodegroups

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups/catalog"
)

// published are the cluster's ResourceSlices, found by node and by pool.
type published struct {
	// local are the slices that belong to one node.
	local map[string][]*resourcev1.ResourceSlice
	// shared are the slices in which devices name the node: perDeviceNodeSelection.
	shared map[string][]*resourcev1.ResourceSlice
	// pools are all slices of a pool, whatever nodes they are for.
	pools map[poolID][]*resourcev1.ResourceSlice
}

func indexSlices(all []*resourcev1.ResourceSlice) published {
	p := published{map[string][]*resourcev1.ResourceSlice{}, map[string][]*resourcev1.ResourceSlice{}, map[poolID][]*resourcev1.ResourceSlice{}}
	for _, s := range all {
		id := poolOf(s)
		p.pools[id] = append(p.pools[id], s)
		if node := nodeOf(s.Spec.NodeName); node != "" {
			p.local[node] = append(p.local[node], s)
			continue
		}
		if s.Spec.PerDeviceNodeSelection == nil || !*s.Spec.PerDeviceNodeSelection {
			continue
		}
		named := map[string]bool{}
		for i := range s.Spec.Devices {
			if node := nodeOf(s.Spec.Devices[i].NodeName); node != "" && !named[node] {
				named[node] = true
				p.shared[node] = append(p.shared[node], s)
			}
		}
	}
	return p
}

func poolOf(s *resourcev1.ResourceSlice) poolID { return poolID{s.Spec.Driver, s.Spec.Pool.Name} }

func nodeOf(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// shownPool is what a node shows of one pool.
type shownPool struct {
	poolID
	// newest are the slices of the newest generation, those for other nodes, too.
	newest []*resourcev1.ResourceSlice
	// wanted is the number of slices of that generation.
	wanted int64
	// devices of a complete pool that are the node's.
	devices int
}

func (p shownPool) complete() bool { return int64(len(p.newest)) == p.wanted }

// shown are the pools in which a node has slices or devices, by driver and name.
func (p published) shown(node string) []shownPool {
	own := map[poolID][]*resourcev1.ResourceSlice{}
	for _, list := range [][]*resourcev1.ResourceSlice{p.local[node], p.shared[node]} {
		for _, s := range list {
			own[poolOf(s)] = append(own[poolOf(s)], s)
		}
	}
	out := make([]shownPool, 0, len(own))
	for _, id := range slices.SortedFunc(maps.Keys(own), poolID.compare) {
		out = append(out, p.showPool(node, id, own[id]))
	}
	return out
}

// showPool reads one pool as the scheduler does: a node's own slices that are complete by
// themselves are enough; else the slices for other nodes count, too, and one that is newer
// makes the node's own obsolete.
func (p published) showPool(node string, id poolID, own []*resourcev1.ResourceSlice) shownPool {
	pool := shownPool{poolID: id}
	pool.newest, pool.wanted = newestOf(own)
	if !pool.complete() {
		pool.newest, pool.wanted = newestOf(p.pools[id])
	}
	if !pool.complete() {
		return pool
	}
	for _, s := range pool.newest {
		if nodeOf(s.Spec.NodeName) == node {
			pool.devices += len(s.Spec.Devices)
			continue
		}
		for i := range s.Spec.Devices {
			if nodeOf(s.Spec.Devices[i].NodeName) == node {
				pool.devices++
			}
		}
	}
	return pool
}

// newestOf are the slices of the newest generation, and how many there should be.
func newestOf(list []*resourcev1.ResourceSlice) ([]*resourcev1.ResourceSlice, int64) {
	var newest []*resourcev1.ResourceSlice
	for _, s := range list {
		if len(newest) > 0 && s.Spec.Pool.Generation > newest[0].Spec.Pool.Generation {
			newest = nil
		}
		if len(newest) == 0 || s.Spec.Pool.Generation == newest[0].Spec.Pool.Generation {
			newest = append(newest, s)
		}
	}
	if len(newest) == 0 {
		return nil, 0
	}
	return newest, newest[0].Spec.Pool.ResourceSliceCount
}

// withoutDevices says what a node of a `devices: dra` group lacks, in one clause; "" when
// it shows the devices of its group. Of each driver of the template it must show as many
// complete pools as the template has, with a device; where nothing is known of the
// template, one complete pool with a device of any driver.
//
// Worked example: a driver that replaces the two slices of pool n1 has published one of
// the new generation: "shows 1 of 2 ResourceSlices of pool n1 (gpu.nvidia.com)".
func (s *Status) withoutDevices(n *corev1.Node, p published) string {
	if s.Devices != configv1alpha1.DevicesDRA {
		return ""
	}
	shown := p.shown(n.Name)
	expected := s.Template.expectedPools()
	if len(expected) == 0 {
		return lacksPools(shown, "", 1)
	}
	for _, driver := range slices.Sorted(maps.Keys(expected)) {
		of := slices.DeleteFunc(slices.Clone(shown), func(pool shownPool) bool { return pool.driver != driver })
		if why := lacksPools(of, driver, expected[driver]); why != "" {
			return why
		}
	}
	return ""
}

// expectedPools are the pools that every new node must show, a number by driver. Of the
// catalogue only the accelerator's own driver is certain: whether network devices are
// published, too, is the cluster's choice.
func (t Template) expectedPools() map[string]int {
	pools := map[poolID]bool{}
	out := map[string]int{}
	for i := range t.Slices {
		id := poolID{t.Slices[i].Driver, t.Slices[i].Pool.Name}
		if !pools[id] && (t.SliceSource == sliceSourceConfiguration || id.driver != catalog.DriverNetwork) {
			pools[id] = true
			out[id.driver]++
		}
	}
	return out
}

// lacksPools says what is missing of this many complete pools with a device, of one
// driver or, "", of any; "" when nothing is.
func lacksPools(shown []shownPool, driver string, want int) string {
	of := ""
	if driver != "" {
		of = " of " + driver
	}
	complete, devices := 0, 0
	var partial *shownPool
	for i := range shown {
		if shown[i].complete() {
			complete++
			devices += shown[i].devices
		} else if partial == nil {
			partial = &shown[i]
		}
	}
	switch {
	case len(shown) == 0:
		return "shows no ResourceSlices" + of
	case complete < want && partial != nil:
		return fmt.Sprintf("shows %d of %d ResourceSlices of pool %s (%s)", len(partial.newest), partial.wanted, partial.pool, partial.driver)
	case complete < want:
		return fmt.Sprintf("shows %d of %d pools%s", complete, want, of)
	case devices == 0:
		return "shows no devices" + of
	}
	return ""
}
