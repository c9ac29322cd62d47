package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// TestEveryMachineWithDriver: each device of each machine is published, and an API server
// would take what is published.
func TestEveryMachineWithDriver(t *testing.T) {
	for _, name := range Names() {
		m, found := Lookup(name)
		require.True(t, found, name)
		specs := m.ResourceSlices(m.AcceleratorCount)
		if m.Driver() == "" {
			require.Nil(t, specs, name)
			continue
		}
		devices := map[string]int64{}
		for _, s := range specs {
			require.NotEmpty(t, s.Devices, name)
			require.LessOrEqual(t, len(s.Devices), resourcev1.ResourceSliceMaxDevices, name)
			devices[s.Driver] += int64(len(s.Devices))
			names := map[string]bool{}
			for _, d := range s.Devices {
				require.False(t, names[d.Name], "%s: %s twice", name, d.Name)
				names[d.Name] = true
				requireValid(t, name, d)
			}
		}
		require.Equal(t, m.AcceleratorCount, devices[m.Driver()], name)
		require.Contains(t, []int64{0, m.ExtraResources[ResourceEFA]}, devices[DriverNetwork], name)
	}
}

func requireValid(t *testing.T, machine string, d resourcev1.Device) {
	t.Helper()
	require.Empty(t, validation.IsDNS1123Label(d.Name), machine)
	require.NotEmpty(t, d.Attributes, machine)
	require.LessOrEqual(t, len(d.Attributes)+len(d.Capacity), resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice, machine)
	for name, a := range d.Attributes {
		require.NotContains(t, []string{"uuid", "driverVersion", "pciBusID"}, string(name), "known only when the machine runs")
		values := 0
		if a.StringValue != nil {
			values++
			require.LessOrEqual(t, len(*a.StringValue), resourcev1.DeviceAttributeMaxValueLength, machine)
			require.NotEmpty(t, *a.StringValue, machine)
		}
		if a.VersionValue != nil {
			values++
			_, err := version.ParseSemantic(*a.VersionValue)
			require.NoError(t, err, machine)
		}
		if a.BoolValue != nil {
			values++
		}
		require.Equal(t, 1, values, "%s: %s", machine, name)
	}
	for name, c := range d.Capacity {
		require.Equal(t, 1, c.Value.Sign(), "%s: %s", machine, name)
	}
}

// TestEveryModel: rows of devices parse, are reached by a machine, and promise no more
// memory than the machine has.
func TestEveryModel(t *testing.T) {
	require.Equal(t, 1, strings.Count(deviceData, "\n"+deviceHeader+"\n"))
	used := map[string]bool{}
	for _, name := range Names() {
		m, _ := Lookup(name)
		for line := range rows(deviceData) {
			c, known, err := parseModel(line)
			require.NoError(t, err)
			if c.values["accelerator"] != m.Accelerator || !c.isFor(m.Name) {
				continue
			}
			used[line] = true
			require.LessOrEqual(t, known.memory, m.AcceleratorMemory, name)
			break
		}
	}
	for line := range rows(deviceData) {
		require.True(t, used[line], "no machine has %s", line)
	}
}

func TestResourceSlices(t *testing.T) {
	cases := map[string]struct {
		machine string
		count   int64
		want    []string // driver, devices, first device
	}{
		"NVIDIA and EFA": {"p5.48xlarge", 8, []string{
			"gpu.nvidia.com 8 gpu-0 architecture=Hopper brand=Nvidia cudaComputeCapability=9.0.0 productName=NVIDIA H100 80GB HBM3 type=gpu memory=81559Mi",
			"dra.net 32 efa-0 dra.net/pciVendor=Amazon.com, Inc. dra.net/rdma=true"}},
		"fewer by configuration":      {"g6.xlarge", 2, []string{"gpu.nvidia.com 2 gpu-0 architecture=Ada Lovelace cudaComputeCapability=8.9.0 productName=NVIDIA L4 type=gpu memory=22888Mi"}},
		"one model in two shapes":     {"Standard_NC24ads_A100_v4", 1, []string{"gpu.nvidia.com 1 gpu-0 architecture=Ampere brand=Nvidia cudaComputeCapability=8.0.0 type=gpu memory=80Gi"}},
		"the other shape":             {"a2-ultragpu-1g", 1, []string{"gpu.nvidia.com 1 gpu-0 architecture=Ampere brand=Nvidia cudaComputeCapability=8.0.0 productName=NVIDIA A100-SXM4-80GB type=gpu memory=80Gi"}},
		"memory in doubt is left out": {"a4x-highgpu-4g", 4, []string{"gpu.nvidia.com 4 gpu-0 architecture=Blackwell cudaComputeCapability=10.0.0 productName=NVIDIA GB200 type=gpu"}},
		"AMD":                         {"Standard_ND96isr_MI300X_v5", 8, []string{"gpu.amd.com 8 gpu-0-128 type=amdgpu computeUnits=304 memory=187500000Ki simdUnits=1216"}},
		"Neuron":                      {"inf2.24xlarge", 6, []string{"neuron.aws.com 6 neuron-0 instanceType=inf2.24xlarge"}},
		"more than a slice holds":     {"inf2.xlarge", 130, []string{"neuron.aws.com 128 neuron-0 instanceType=inf2.xlarge", "neuron.aws.com 2 neuron-128 instanceType=inf2.xlarge"}},
		"Google TPU":                  {"ct6e-standard-4t", 4, nil},
		"no accelerator":              {"m5.2xlarge", 0, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, found := Lookup(tc.machine)
			require.True(t, found)
			var got []string
			for _, s := range m.ResourceSlices(tc.count) {
				got = append(got, describe(s))
			}
			require.Empty(t, cmp.Diff(tc.want, got))
		})
	}
}

func describe(s resourcev1.ResourceSliceSpec) string {
	d := s.Devices[0]
	words := []string{s.Driver, strconv.Itoa(len(s.Devices)), d.Name}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		a := d.Attributes[name]
		value := "true"
		if a.StringValue != nil {
			value = *a.StringValue
		} else if a.VersionValue != nil {
			value = *a.VersionValue
		}
		words = append(words, string(name)+"="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		q := d.Capacity[name].Value
		words = append(words, string(name)+"="+q.String())
	}
	return strings.Join(words, " ")
}
