package nodegroups

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups/catalog"
)

// sliceSourceConfiguration is the SliceSource of slices that the configuration states.
const sliceSourceConfiguration = "configuration"

// poolID is one pool: pools of one name and two drivers are two.
type poolID struct{ driver, pool string }

func (p poolID) compare(other poolID) int {
	return cmp.Or(strings.Compare(p.driver, other.driver), strings.Compare(p.pool, other.pool))
}

// fillSlices takes the slices of the configuration, the word that counts most, else what
// the catalogue knows of the machine. See learnSlices for what nodes teach.
func (g *Group) fillSlices(c *configv1alpha1.NodeGroup, m *catalog.Machine) {
	if g.Devices != configv1alpha1.DevicesDRA {
		return
	}
	if len(c.ResourceSlices) > 0 {
		g.Template.Slices, g.Template.SliceSource = completePools(c.ResourceSlices), sliceSourceConfiguration
		return
	}
	if m == nil {
		return
	}
	if known := m.ResourceSlices(g.AcceleratorCount); len(known) > 0 {
		g.Template.Slices, g.Template.SliceSource = completePools(known), "catalogue: "+m.Name
	}
}

// completePools makes every pool of a template whole: all its slices are of one
// generation, and as many as there are. The specs are copies; their devices are shared.
func completePools(specs []resourcev1.ResourceSliceSpec) []resourcev1.ResourceSliceSpec {
	count := map[poolID]int64{}
	for i := range specs {
		count[poolID{specs[i].Driver, specs[i].Pool.Name}]++
	}
	out := slices.Clone(specs)
	for i := range out {
		pool := &out[i].Pool
		pool.Generation, pool.ResourceSliceCount = 1, count[poolID{out[i].Driver, pool.Name}]
	}
	return out
}

// ResourceSlices are what the imagined node of this name publishes, in the template's
// order; names sort in that order, too. As real drivers do, a driver with one pool names
// it after the node; of several, each keeps its template name behind the node's:
// "node-1/left". The devices are the template's own: read-only.
func (t Template) ResourceSlices(node string) []*resourcev1.ResourceSlice {
	pools := map[string][]string{} // by driver
	for i := range t.Slices {
		driver, pool := t.Slices[i].Driver, t.Slices[i].Pool.Name
		if !slices.Contains(pools[driver], pool) {
			pools[driver] = append(pools[driver], pool)
		}
	}
	out := make([]*resourcev1.ResourceSlice, 0, len(t.Slices))
	for i := range t.Slices {
		s := &resourcev1.ResourceSlice{Spec: t.Slices[i]}
		// A fixed number of digits after the last dash: no two nodes share a name.
		s.Name = fmt.Sprintf("%s-%04d", node, i)
		s.Spec.NodeName = &node
		if pool := s.Spec.Pool.Name; len(pools[s.Spec.Driver]) > 1 && pool != "" {
			s.Spec.Pool.Name = node + "/" + pool
		} else {
			s.Spec.Pool.Name = node
		}
		out = append(out, s)
	}
	return out
}

// sliceWarnings name the groups for which no claim can ever buy a node.
func sliceWarnings(groups []Group) []string {
	var out []string
	for i := range groups {
		if g := &groups[i]; g.Devices == configv1alpha1.DevicesDRA && len(g.Template.Slices) == 0 {
			out = append(out, fmt.Sprintf("node group %s: nothing says which ResourceSlices a new node publishes, so no claim makes it grow; "+
				"state resourceSlices, or let one node become ready", g.Name))
		}
	}
	return out
}
