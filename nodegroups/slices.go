package nodegroups

import (
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// poolKey names a pool among the slices of one node.
type poolKey struct{ driver, pool string }

// completeSlices are copies of a template's slices that count as complete pools: a
// template is complete by definition, whatever its slice counts say.
func completeSlices(in []resourcev1.ResourceSliceSpec) []resourcev1.ResourceSliceSpec {
	count := map[poolKey]int64{}
	for i := range in {
		count[poolKey{in[i].Driver, in[i].Pool.Name}]++
	}
	out := make([]resourcev1.ResourceSliceSpec, len(in))
	for i := range in {
		out[i] = *in[i].DeepCopy()
		out[i].NodeName = nil
		out[i].Pool.Generation = 1
		out[i].Pool.ResourceSliceCount = count[poolKey{in[i].Driver, in[i].Pool.Name}]
	}
	return out
}

// ResourceSlices are the slices of the imagined node of this name. A driver's only pool
// has the node's name, as drivers name it; several have the template's names after it.
func (t Template) ResourceSlices(node string) []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for i := range t.Slices {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%03d", node, t.Slices[i].Driver, i)}}
		s.Spec = t.Slices[i]
		s.Spec.NodeName = &node
		if s.Spec.Pool.Name = node; t.severalPools(t.Slices[i].Driver) {
			s.Spec.Pool.Name = node + "/" + t.Slices[i].Pool.Name
		}
		out = append(out, s)
	}
	return out
}

func (t Template) severalPools(driver string) bool {
	first := slices.IndexFunc(t.Slices, func(s resourcev1.ResourceSliceSpec) bool { return s.Driver == driver })
	return slices.ContainsFunc(t.Slices, func(s resourcev1.ResourceSliceSpec) bool {
		return s.Driver == driver && s.Pool.Name != t.Slices[first].Pool.Name
	})
}
