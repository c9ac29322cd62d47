package nodegroups_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

// publishedSlice is a slice of the cluster, alone in generation 1 of its pool.
type publishedSlice struct{ s *resourcev1.ResourceSlice }

// publish is a slice that a node publishes with devices of these names.
func publish(node, driver, pool string, devices ...string) publishedSlice {
	s := &resourcev1.ResourceSlice{Spec: slice(driver, pool, devices...)}
	s.Name = node + "-" + driver + "-" + pool
	s.Spec.NodeName = &node
	return publishedSlice{s}.Part(1, 1)
}

func (b publishedSlice) Part(generation, of int64) publishedSlice {
	b.s.Spec.Pool.Generation, b.s.Spec.Pool.ResourceSliceCount = generation, of
	return b
}

func (b publishedSlice) Named(name string) publishedSlice {
	b.s.Name = name
	return b
}

// PerDevice moves the node's name from the slice to its devices.
func (b publishedSlice) PerDevice() publishedSlice {
	for i := range b.s.Spec.Devices {
		b.s.Spec.Devices[i].NodeName = b.s.Spec.NodeName
	}
	b.s.Spec.NodeName, b.s.Spec.PerDeviceNodeSelection = nil, new(true)
	return b
}

// observeWith is the status of one group whose nodes publish these slices.
func observeWith(t *testing.T, group configv1alpha1.NodeGroup, published []publishedSlice, nodes ...*corev1.Node) nodegroups.Status {
	t.Helper()
	var all []*resourcev1.ResourceSlice
	for _, b := range published {
		all = append(all, b.s)
	}
	statuses, warnings := nodegroups.Observe(build(t, group), nodes, all, now())
	require.Empty(t, warnings)
	require.Len(t, statuses[0].Nodes, len(nodes))
	return statuses[0]
}

func TestReadyBySlices(t *testing.T) {
	const gpu, nic = "gpu.nvidia.com", "dra.net"
	known := withSlices("g", slice(gpu, "", "gpu-0"), slice(nic, "left", "a"), slice(nic, "right", "b"))
	one := withSlices("g", slice(gpu, "", "gpu-0"))
	unknown := own("g")
	unknown.Devices = configv1alpha1.DevicesDRA
	catalogued := configv1alpha1.NodeGroup{Name: "g", InstanceType: "p5.48xlarge", MaxSize: 10, Devices: configv1alpha1.DevicesDRA}
	nics := []publishedSlice{publish("n", nic, "left", "a"), publish("n", nic, "right", "b")}
	cases := map[string]struct {
		group     configv1alpha1.NodeGroup
		published []publishedSlice
		want      string // Why; "": Ready.
	}{
		"all there":               {group: known, published: append(nics, publish("n", gpu, "n", "gpu-0"))},
		"more than was said":      {group: one, published: append(nics, publish("n", gpu, "n", "gpu-0", "gpu-1"))},
		"nothing yet":             {group: known, want: "shows no ResourceSlices of dra.net"},
		"a driver is missing":     {group: known, published: nics, want: "shows no ResourceSlices of gpu.nvidia.com"},
		"another node's":          {group: one, published: []publishedSlice{publish("m", gpu, "m", "gpu-0")}, want: "shows no ResourceSlices of gpu.nvidia.com"},
		"a pool is missing":       {group: known, published: []publishedSlice{publish("n", gpu, "n", "gpu-0"), publish("n", nic, "left", "a")}, want: "shows 1 of 2 pools of dra.net"},
		"a slice is missing":      {group: one, published: []publishedSlice{publish("n", gpu, "n", "gpu-0").Part(1, 2)}, want: "shows 1 of 2 ResourceSlices of pool n (gpu.nvidia.com)"},
		"two slices":              {group: one, published: []publishedSlice{publish("n", gpu, "n", "gpu-0").Part(3, 2), publish("n", gpu, "n", "gpu-1").Part(3, 2)}},
		"a new generation begins": {group: one, published: []publishedSlice{publish("n", gpu, "n", "gpu-0"), publish("n", gpu, "n", "gpu-0").Part(2, 2)}, want: "shows 1 of 2 ResourceSlices of pool n (gpu.nvidia.com)"},
		"an old generation stays": {group: one, published: []publishedSlice{publish("n", gpu, "n", "gpu-0").Part(2, 1), publish("n", gpu, "n", "gpu-0")}},
		"no devices":              {group: one, published: []publishedSlice{publish("n", gpu, "n")}, want: "shows no devices of gpu.nvidia.com"},
		"devices name the node":   {group: one, published: []publishedSlice{publish("n", gpu, "rack", "gpu-0").PerDevice()}},
		"the rest of the pool is for other nodes": {group: one, published: []publishedSlice{
			publish("n", gpu, "rack", "gpu-0").PerDevice().Part(1, 2), publish("m", gpu, "rack", "gpu-1").PerDevice().Part(1, 2)}},
		"a newer generation leaves the node out": {group: one, published: []publishedSlice{
			publish("n", gpu, "rack", "gpu-0").PerDevice().Part(1, 2), publish("m", gpu, "rack", "gpu-1").PerDevice().Part(2, 1)}, want: "shows no devices of gpu.nvidia.com"},
		"nothing known, nothing shown":                 {group: unknown, want: "shows no ResourceSlices"},
		"nothing known, no devices":                    {group: unknown, published: []publishedSlice{publish("n", gpu, "n")}, want: "shows no devices"},
		"nothing known, half a pool":                   {group: unknown, published: []publishedSlice{publish("n", gpu, "n", "gpu-0").Part(1, 3)}, want: "shows 1 of 3 ResourceSlices of pool n (gpu.nvidia.com)"},
		"nothing known, a whole pool":                  {group: unknown, published: []publishedSlice{publish("n", gpu, "n", "gpu-0")}},
		"the catalogue's network devices are optional": {group: catalogued, published: []publishedSlice{publish("n", gpu, "n", "gpu-0")}},
		"the catalogue's accelerators are not":         {group: catalogued, published: nics, want: "shows no ResourceSlices of gpu.nvidia.com"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, reversed := range []bool{false, true} {
				all := slices.Clone(tc.published)
				if reversed {
					slices.Reverse(all)
				}
				got := observeWith(t, tc.group, all, makeReady("n", "g").Obj()).Nodes[0]
				require.Equal(t, tc.want, got.Why)
				require.Equal(t, tc.want == "", got.State == nodegroups.Ready)
				require.Contains(t, []nodegroups.NodeState{nodegroups.Ready, nodegroups.Upcoming}, got.State)
			}
		})
	}
}

// TestFailedBySlices: past the time-out a node without its slices has failed, and its
// group waits, whether or not anybody said how many devices a node has.
func TestFailedBySlices(t *testing.T) {
	g := withSlices("g", slice("gpu.nvidia.com", "", "gpu-0"))
	g.Provisioning.Timeout = duration(10 * time.Minute)
	s := observeWith(t, g, nil, makeReady("n", "g").Age(12*time.Minute).Obj())
	require.Equal(t, nodegroups.Failed, s.Nodes[0].State)
	require.Equal(t, "shows no ResourceSlices of gpu.nvidia.com 10m after it registered", s.Nodes[0].Why)
	require.Equal(t, now().Add(3*time.Minute), s.BackoffUntil)
}
