package nodegroups

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// sliceSourceConfiguration is the SliceSource of slices that the configuration states.
const sliceSourceConfiguration = "configuration"

// poolID is one pool: pools of one name and two drivers are two.
type poolID struct{ driver, pool string }

// fillSlices takes the slices of the configuration, the word that counts most.
func (g *Group) fillSlices(c *configv1alpha1.NodeGroup) {
	if g.Devices == configv1alpha1.DevicesDRA && len(c.ResourceSlices) > 0 {
		g.Template.Slices = completePools(c.ResourceSlices)
		g.Template.SliceSource = sliceSourceConfiguration
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
