package openb

import (
	"fmt"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// gpuDriver is NVIDIA's driver, and the name of its class for whole GPUs.
	gpuDriver = "gpu.nvidia.com"
	// capacityShares counts the thousandths of a shared device.
	capacityShares = resourcev1.QualifiedName("shares")
	// attributeIndex tells the shared devices of a node apart.
	attributeIndex = resourcev1.QualifiedName("index")

	apiResource = "resource.k8s.io/v1"
)

// deviceName names the devices of a machine as NVIDIA's driver does.
func deviceName(i int) string { return "gpu-" + strconv.Itoa(i) }

// deviceOf is one GPU. The trace says nothing of a GPU's memory, so only shared devices
// have a capacity.
func deviceOf(i int, s shape, offered offer) resourcev1.Device {
	device := resourcev1.Device{
		Name: deviceName(i),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type":        {StringValue: new("gpu")},
			"productName": {StringValue: &s.model},
		},
	}
	if offered.shared() {
		device.Attributes[attributeIndex] = resourcev1.DeviceAttribute{IntValue: new(int64(i))}
		device.AllowMultipleAllocations = new(true)
		device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
			capacityShares: {Value: units(offered.units)},
		}
	}
	return device
}

func units(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

// sliceSpecs are the slices of a machine's only pool; one, unless it has more GPUs than
// the API lets a slice have.
func sliceSpecs(pool string, s shape, offered offer) []resourcev1.ResourceSliceSpec {
	const most = resourcev1.ResourceSliceMaxDevices
	count := int(s.gpus)
	var specs []resourcev1.ResourceSliceSpec
	for first := 0; first < count; first += most {
		spec := resourcev1.ResourceSliceSpec{
			Driver: gpuDriver,
			Pool:   resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: int64((count + most - 1) / most)},
		}
		for i := first; i < min(first+most, count); i++ {
			spec.Devices = append(spec.Devices, deviceOf(i, s, offered))
		}
		specs = append(specs, spec)
	}
	return specs
}

// slicesOf are the slices that the driver has published for a machine.
func slicesOf(m machine, offered offer) []*resourcev1.ResourceSlice {
	var published []*resourcev1.ResourceSlice
	for i, spec := range sliceSpecs(m.name, m.shape, offered) {
		name := fmt.Sprintf("%s-%s-%d", m.name, gpuDriver, i)
		spec.NodeName = &m.name
		published = append(published, &resourcev1.ResourceSlice{
			TypeMeta:   metav1.TypeMeta{APIVersion: apiResource, Kind: "ResourceSlice"},
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(Epoch())},
			Spec:       spec,
		})
	}
	return published
}

// gpuClass is the class that all claims ask for.
func gpuClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiResource, Kind: "DeviceClass"},
		ObjectMeta: metav1.ObjectMeta{Name: gpuDriver, UID: gpuDriver, CreationTimestamp: metav1.NewTime(Epoch())},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
			Expression: "device.driver == '" + gpuDriver + "' && device.attributes['" + gpuDriver + "'].type == 'gpu'",
		}}}},
	}
}
