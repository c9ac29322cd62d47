package nodegroups_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

// slice is a template's slice with devices of these names.
func slice(driver, pool string, devices ...string) resourcev1.ResourceSliceSpec {
	spec := resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool}}
	for _, name := range devices {
		spec.Devices = append(spec.Devices, resourcev1.Device{Name: name})
	}
	return spec
}

// withSlices is a group of new nodes that publish these.
func withSlices(name string, specs ...resourcev1.ResourceSliceSpec) configv1alpha1.NodeGroup {
	g := own(name)
	g.Devices, g.ResourceSlices = configv1alpha1.DevicesDRA, specs
	return g
}

func TestResourceSlicesOfAnImaginedNode(t *testing.T) {
	cases := map[string]struct {
		specs []resourcev1.ResourceSliceSpec
		want  []string
	}{
		"nothing known": {},
		"one pool is named after the node": {
			specs: []resourcev1.ResourceSliceSpec{slice("gpu.nvidia.com", "pool", "gpu-0", "gpu-1")},
			want:  []string{"new-0000 gpu.nvidia.com new 1/1: gpu-0 gpu-1"},
		},
		"drivers do not share pools": {
			specs: []resourcev1.ResourceSliceSpec{slice("gpu.nvidia.com", "", "gpu-0"), slice("dra.net", "nics", "nic-0")},
			want:  []string{"new-0000 gpu.nvidia.com new 1/1: gpu-0", "new-0001 dra.net new 1/1: nic-0"},
		},
		"slices keep their order": {
			specs: []resourcev1.ResourceSliceSpec{slice("gpu.nvidia.com", "", "z"), slice("gpu.nvidia.com", "", "a")},
			want:  []string{"new-0000 gpu.nvidia.com new 1/2: z", "new-0001 gpu.nvidia.com new 1/2: a"},
		},
		"several pools of a driver": {
			specs: []resourcev1.ResourceSliceSpec{slice("dra.net", "left", "a"), slice("dra.net", "right", "b"), slice("dra.net", "left", "c")},
			want:  []string{"new-0000 dra.net new/left 1/2: a", "new-0001 dra.net new/right 1/1: b", "new-0002 dra.net new/left 1/2: c"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.specs)
			template := build(t, withSlices("g", tc.specs...))[0].Template
			got := template.ResourceSlices("new")
			var lines []string
			for _, s := range got {
				require.Equal(t, "new", *s.Spec.NodeName)
				lines = append(lines, describeSlice(s.Name, s.Spec))
			}
			require.Empty(t, cmp.Diff(tc.want, lines))
			require.True(t, slices.IsSortedFunc(got, func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) }))
			require.Equal(t, before, fmt.Sprint(tc.specs), "the configuration is left as it is")
			for _, spec := range template.Slices {
				require.Nil(t, spec.NodeName, "the template belongs to no node")
			}
		})
	}
}

// describeSlice is one line: name, driver, pool, generation/slices and devices.
func describeSlice(name string, s resourcev1.ResourceSliceSpec) string {
	var devices []string
	for _, d := range s.Devices {
		devices = append(devices, d.Name)
	}
	return fmt.Sprintf("%s %s %s %d/%d: %s", name, s.Driver, s.Pool.Name, s.Pool.Generation, s.Pool.ResourceSliceCount, strings.Join(devices, " "))
}

func TestSliceSource(t *testing.T) {
	plugin := own("g")
	plugin.ResourceSlices = []resourcev1.ResourceSliceSpec{slice("gpu.nvidia.com", "", "gpu-0")}
	unknown := own("g")
	unknown.Devices = configv1alpha1.DevicesDRA
	cases := map[string]struct {
		group configv1alpha1.NodeGroup
		want  string
	}{
		"configured":            {group: withSlices("g", slice("gpu.nvidia.com", "", "gpu-0")), want: "configuration"},
		"nothing known":         {group: unknown},
		"device plugins' nodes": {group: plugin},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template := build(t, tc.group)[0].Template
			require.Equal(t, tc.want, template.SliceSource)
			require.Equal(t, tc.want != "", template.Slices != nil)
		})
	}
	require.Equal(t, []*resourcev1.ResourceSlice{}, nodegroups.Template{}.ResourceSlices("n"))
}

// TestSliceWarnings: only a group whose nodes nobody can imagine is named.
func TestSliceWarnings(t *testing.T) {
	const text = "node group %s: nothing says which ResourceSlices a new node publishes, so no claim makes it grow; state resourceSlices, or let one node become ready"
	dra := func(g configv1alpha1.NodeGroup) configv1alpha1.NodeGroup {
		g.Devices, g.PricePerHour = configv1alpha1.DevicesDRA, new(dollar)
		return g
	}
	known := dra(withSlices("configured", slice("d", "", "x")))
	groups := build(t, dra(own("own")), known, dra(gpus("catalogued")), priced("plugin", dollar),
		dra(configv1alpha1.NodeGroup{Name: "tpu", InstanceType: "ct6e-standard-4t"}))
	require.Empty(t, cmp.Diff([]string{fmt.Sprintf(text, "own"), fmt.Sprintf(text, "tpu")}, nodegroups.Warnings(groups, configv1alpha1.Limits{})))

	s := observeWith(t, dra(own("own")), []publishedSlice{publish("a", "d", "a", "x")}, makeReady("a", "own").Obj())
	require.Empty(t, nodegroups.Warnings([]nodegroups.Group{s.Group}, configv1alpha1.Limits{}), "a node has shown its slices")
}

// TestSlicesAreNoResource: what a driver publishes is not offered a second time.
func TestSlicesAreNoResource(t *testing.T) {
	g := configv1alpha1.NodeGroup{Name: "g", InstanceType: "trn2.48xlarge", Devices: configv1alpha1.DevicesDRA}
	offered := amounts(build(t, g)[0].Template.Allocatable)
	require.Contains(t, offered, "cpu")
	require.NotContains(t, offered, "aws.amazon.com/neuron")
	require.NotContains(t, offered, "aws.amazon.com/neuroncore")
}
