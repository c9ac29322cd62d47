package snapshot

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestHugeAmounts: what the scheduler's integers cannot add up is lowered with a warning,
// wherever it stands, and the caller's object stays as it was.
func TestHugeAmounts(t *testing.T) {
	tests := map[string]struct {
		name corev1.ResourceName
		in   string
		want string
	}{
		"cpu":               {corev1.ResourceCPU, "1e16", "1e12"},
		"cpu at the most":   {corev1.ResourceCPU, "1e12", "1e12"},
		"memory":            {corev1.ResourceMemory, "5Ei", "1e15"},
		"devices past 2^63": {"nvidia.com/gpu", "9223372036854775808", "1e15"},
		"beyond any":        {"nvidia.com/gpu", "1e25", "1e15"},
		"ordinary":          {corev1.ResourceMemory, "900Ti", "900Ti"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			list := func() corev1.ResourceList { return corev1.ResourceList{tc.name: resource.MustParse(tc.in)} }
			p, n := &corev1.Pod{}, &corev1.Node{}
			p.Namespace, p.Name, n.Name = "ns", "a", "n"
			p.Spec.Overhead = list()
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: list()}
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: list()}}}
			p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list()}}}
			n.Status.Capacity, n.Status.Allocatable = list(), list()
			b := NewBuilder()
			require.NoError(t, b.Add(p, n))
			snap, err := b.Build()
			require.NoError(t, err)
			got, node := snap.Pods()[0], snap.Nodes()[0]
			for field, in := range map[string]corev1.ResourceList{
				"overhead": got.Spec.Overhead, "pod": got.Spec.Resources.Requests, "init": got.Spec.InitContainers[0].Resources.Limits,
				"container": got.Spec.Containers[0].Resources.Requests, "capacity": node.Status.Capacity, "allocatable": node.Status.Allocatable,
			} {
				q := in[tc.name]
				assert.Zero(t, q.Cmp(resource.MustParse(tc.want)), "%s: %s", field, q.String())
			}
			q := p.Spec.Containers[0].Resources.Requests[tc.name]
			assert.Zero(t, q.Cmp(resource.MustParse(tc.in)), "the caller's own")
			warned := 0
			for _, w := range snap.Warnings() {
				if w.Message == "is more than can be added up, taken as 10^15 (of CPU, millicores)" {
					warned++
				}
			}
			if tc.in == tc.want {
				assert.Zero(t, warned)
			} else {
				assert.GreaterOrEqual(t, warned, 6)
			}
		})
	}
}
