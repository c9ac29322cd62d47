package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Drivers that publish the machines' devices in ResourceSlices.
const (
	DriverNVIDIA = "gpu.nvidia.com"
	DriverAMD    = "gpu.amd.com"
	DriverNeuron = "neuron.aws.com"
	// DriverNetwork publishes EFA devices. Whether a cluster runs it is the cluster's choice.
	DriverNetwork = "dra.net"
)

// maxDevices of one slice is the API's limit.
const maxDevices = resourcev1.ResourceSliceMaxDevices

// deviceHeader is the first row of devices.csv.
const deviceHeader = "accelerator,machines,product,brand,architecture,compute_capability,memory,compute_units,simd_units"

//go:embed data/devices.csv
var deviceData string

// model is what a driver publishes of a device model, beyond what the machine says.
type model struct {
	product, brand, architecture, computeCapability string
	// memory is in bytes, 0: as the machine's data says.
	memory                  int64
	computeUnits, simdUnits int64
}

// Driver publishes the machine's accelerators; "" where it has none, and for Google TPUs:
// the names of their attributes are not public.
func (m Machine) Driver() string {
	switch m.Resource {
	case ResourceNvidiaGPU:
		return DriverNVIDIA
	case ResourceAMDGPU:
		return DriverAMD
	case ResourceNeuron:
		return DriverNeuron
	}
	return ""
}

// ResourceSlices are what the vendors' drivers publish on a machine with this many
// accelerators, as far as it is known before the machine runs: no identities, addresses
// and driver versions, nor how devices hang on PCIe roots and NUMA nodes. The specs name
// no node and no pool. nil: nothing is known.
//
// The drivers number AMD's devices by card and render node, and network devices by
// address; of those the template's names only show the order.
func (m Machine) ResourceSlices(accelerators int64) []resourcev1.ResourceSliceSpec {
	driver := m.Driver()
	if driver == "" {
		return nil
	}
	var devices []resourcev1.Device
	for i := range accelerators {
		devices = append(devices, m.device(i))
	}
	out := slicesOf(driver, devices)
	if efa := m.ExtraResources[ResourceEFA]; efa > 0 && !slices.Contains(m.Uncertain, "extra_resources") {
		out = append(out, slicesOf(DriverNetwork, networkDevices(efa))...)
	}
	return out
}

// slicesOf spreads devices over as few slices as hold them.
func slicesOf(driver string, devices []resourcev1.Device) []resourcev1.ResourceSliceSpec {
	var out []resourcev1.ResourceSliceSpec
	for part := range slices.Chunk(devices, maxDevices) {
		out = append(out, resourcev1.ResourceSliceSpec{Driver: driver, Devices: part})
	}
	return out
}

// device is the accelerator of this index.
func (m Machine) device(index int64) resourcev1.Device {
	switch known := m.model(); m.Driver() {
	case DriverNVIDIA:
		return nvidiaDevice(index, known, m.memory(known))
	case DriverAMD:
		return amdDevice(index, known, m.memory(known))
	default:
		return resourcev1.Device{
			Name:       fmt.Sprintf("neuron-%d", index),
			Attributes: attributes("instanceType", m.Name),
		}
	}
}

// memory is what the driver reports of one device, 0 where there is no dependable source.
// A template that promises more than the driver will publish buys machines that no claim
// gets on, so the least figure counts.
func (m Machine) memory(known model) int64 {
	switch {
	case known.memory > 0:
		return known.memory
	case slices.Contains(m.Uncertain, "accelerator_memory"):
		return 0
	}
	return m.AcceleratorMemory
}

func nvidiaDevice(index int64, known model, memory int64) resourcev1.Device {
	d := resourcev1.Device{
		Name:       fmt.Sprintf("gpu-%d", index),
		Attributes: attributes("type", "gpu", "productName", known.product, "brand", known.brand, "architecture", known.architecture),
		Capacity:   capacity(amount{"memory", memory, resource.BinarySI}),
	}
	if known.computeCapability != "" {
		d.Attributes["cudaComputeCapability"] = resourcev1.DeviceAttribute{VersionValue: &known.computeCapability}
	}
	return d
}

func amdDevice(index int64, known model, memory int64) resourcev1.Device {
	const firstRenderNode = 128 // Linux's numbering.
	return resourcev1.Device{
		Name:       fmt.Sprintf("gpu-%d-%d", index, firstRenderNode+index),
		Attributes: attributes("type", "amdgpu", "productName", known.product),
		Capacity: capacity(amount{"memory", memory, resource.BinarySI},
			amount{"computeUnits", known.computeUnits, resource.DecimalSI}, amount{"simdUnits", known.simdUnits, resource.DecimalSI}),
	}
}

func networkDevices(count int64) []resourcev1.Device {
	var out []resourcev1.Device
	for i := range count {
		d := resourcev1.Device{Name: fmt.Sprintf("efa-%d", i), Attributes: attributes("dra.net/pciVendor", "Amazon.com, Inc.")}
		d.Attributes["dra.net/rdma"] = resourcev1.DeviceAttribute{BoolValue: new(true)}
		out = append(out, d)
	}
	return out
}

// attributes are pairs of name and text; an unknown text, "", is left out.
func attributes(pairs ...string) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	out := map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out[resourcev1.QualifiedName(pairs[i])] = resourcev1.DeviceAttribute{StringValue: &pairs[i+1]}
		}
	}
	return out
}

// amount is one capacity of a device.
type amount struct {
	name   resourcev1.QualifiedName
	value  int64
	format resource.Format
}

// capacity leaves unknown amounts, 0, out.
func capacity(amounts ...amount) map[resourcev1.QualifiedName]resourcev1.DeviceCapacity {
	out := map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
	for _, a := range amounts {
		if a.value > 0 {
			out[a.name] = resourcev1.DeviceCapacity{Value: *resource.NewQuantity(a.value, a.format)}
		}
	}
	return out
}

// model finds what is known of the machine's devices. Like Lookup it panics on a row that
// does not parse: the tests parse every row.
func (m Machine) model() model {
	for line := range rows(deviceData) {
		c, known, err := parseModel(line)
		if err != nil {
			panic(fmt.Sprintf("catalog: embedded data of devices: %v", err))
		}
		if c.values["accelerator"] == m.Accelerator && c.isFor(m.Name) {
			return known
		}
	}
	return model{}
}

func parseModel(line string) (*columns, model, error) {
	c, err := cut(deviceHeader, line)
	if err != nil {
		return nil, model{}, err
	}
	known := model{
		product: c.values["product"], brand: c.values["brand"], architecture: c.values["architecture"],
		computeCapability: c.values["compute_capability"], memory: c.scaled("memory", 0),
		computeUnits: c.number("compute_units"), simdUnits: c.number("simd_units"),
	}
	if c.err != nil {
		return nil, model{}, fmt.Errorf("device %s: %w", c.values["accelerator"], c.err)
	}
	return c, known, nil
}

// isFor says whether a row of devices applies to a machine.
func (c *columns) isFor(machine string) bool {
	prefixes := strings.Fields(c.values["machines"])
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(machine, prefix) })
}
