package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/snapshot"
)

const (
	benchDriver = "gpu.example.com"
	benchRoot   = resourcev1.FullyQualifiedName("resource.kubernetes.io/pcieRoot")
)

// deviceMix is a way of asking for devices: the names of the templates that pods use in
// turn, and how many kinds of cpu requests there are.
type deviceMix struct {
	templates []string
	kinds     int
	shared    bool // devices allow multiple allocations
}

func deviceMixes() map[string]deviceMix {
	return map[string]deviceMix{
		"one device":  {templates: []string{"one"}, kinds: 1},
		"one root":    {templates: []string{"pair"}, kinds: 1},
		"50 kinds":    {templates: []string{"one", "pair", "one", "one", "four"}, kinds: 50},
		"consumption": {templates: []string{"10Gi", "20Gi", "40Gi"}, kinds: 3, shared: true},
	}
}

func benchTemplate(name string, e resourcev1.ExactDeviceRequest, constraints ...resourcev1.DeviceConstraint) *resourcev1.ResourceClaimTemplate {
	e.DeviceClassName, e.AllocationMode = benchDriver, resourcev1.DeviceAllocationModeExactCount
	e.Count = max(e.Count, 1)
	return &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &e}}, Constraints: constraints,
		}}},
	}
}

func benchTemplates() []runtime.Object {
	root := benchRoot
	out := []runtime.Object{
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: benchDriver}, Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].type == "gpu"`}},
		}}},
		benchTemplate("one", resourcev1.ExactDeviceRequest{}),
		benchTemplate("pair", resourcev1.ExactDeviceRequest{Count: 2}, resourcev1.DeviceConstraint{MatchAttribute: &root}),
		benchTemplate("four", resourcev1.ExactDeviceRequest{Count: 4}),
	}
	for _, amount := range []string{"10Gi", "20Gi", "40Gi"} {
		out = append(out, benchTemplate(amount, resourcev1.ExactDeviceRequest{Capacity: &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)},
		}}))
	}
	return out
}

// benchSlice is eight devices on two PCIe roots; those of a real node have ids.
func benchSlice(node string, shared bool) resourcev1.ResourceSliceSpec {
	s := resourcev1.ResourceSliceSpec{Driver: benchDriver, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}
	gpu := "gpu"
	for i := range 8 {
		root := fmt.Sprintf("pci0000:%d", i/4)
		d := resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"type": {StringValue: &gpu}, resourcev1.QualifiedName(benchRoot): {StringValue: &root},
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
		}
		if node != "" {
			id := fmt.Sprintf("GPU-%s-%d", node, i)
			d.Attributes["uuid"] = resourcev1.DeviceAttribute{StringValue: &id}
		}
		if shared {
			d.AllowMultipleAllocations = &shared
		}
		s.Devices = append(s.Devices, d)
	}
	return s
}

// benchDeviceNode is an existing node of which four devices are taken, or half of each.
func benchDeviceNode(i int, shared bool) []runtime.Object {
	n, _ := benchNode(i)
	delete(n.Status.Allocatable, "nvidia.com/gpu")
	spec := benchSlice(n.Name, shared)
	spec.NodeName = &n.Name
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "taken-" + n.Name}}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for d := range 8 {
		r := resourcev1.DeviceRequestAllocationResult{Request: "gpu", Driver: benchDriver, Pool: n.Name, Device: fmt.Sprintf("gpu-%d", d)}
		if shared {
			id := types.UID(fmt.Sprintf("share-%d", d))
			r.ShareID = &id
			r.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("40Gi")}
		} else if d >= 4 {
			break
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, r)
	}
	return []runtime.Object{n, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-slice"}, Spec: spec}, c}
}

func benchDeviceSnapshot(tb testing.TB, mix deviceMix, pods, nodes int) *snapshot.Snapshot {
	objects := benchTemplates()
	for i := range pods {
		p := benchPod(i)
		template := mix.templates[i%len(mix.templates)]
		requests := p.Spec.Containers[0].Resources.Requests
		delete(requests, "nvidia.com/gpu")
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(1000+100*(i%mix.kinds)), resource.DecimalSI)
		requests[corev1.ResourceMemory] = resource.MustParse("4Gi")
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
		objects = append(objects, p)
	}
	for i := range nodes {
		objects = append(objects, benchDeviceNode(i, mix.shared)...)
	}
	s, err := snapshot.New(objects...)
	require.NoError(tb, err)
	return s
}

func benchDeviceGroups(shared bool) *configv1alpha1.AutoscalerConfiguration {
	c := benchGroups(1)
	g := &c.NodeGroups[0]
	delete(g.Capacity, "nvidia.com/gpu")
	g.Devices, g.ResourceSlices = configv1alpha1.DevicesDRA, []resourcev1.ResourceSliceSpec{benchSlice("", shared)}
	return c
}

// BenchmarkDevices times decisions for pods with claims, with 1,000 nodes that are half
// full. Compare sizes in one run.
func BenchmarkDevices(b *testing.B) {
	for name, mix := range deviceMixes() {
		for _, pods := range []int{100, 500, 2000, 20000} {
			b.Run(fmt.Sprintf("%s/pods=%d", name, pods), func(b *testing.B) {
				benchDevices(b, mix, pods, Options{})
			})
		}
	}
}

// BenchmarkDevicesForgotten is the reference: the plugins and the allocator are asked for
// each pod and node in turn, and nothing is remembered.
func BenchmarkDevicesForgotten(b *testing.B) {
	for name, mix := range deviceMixes() {
		b.Run(fmt.Sprintf("%s/pods=2000", name), func(b *testing.B) {
			benchDevices(b, mix, 2000, Options{Plugins: true})
		})
	}
}

func benchDevices(b *testing.B, mix deviceMix, pods int, options Options) {
	s, c := benchDeviceSnapshot(b, mix, pods, 1000), benchDeviceGroups(mix.shared)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Decide(s, c, benchNow, options)
		require.NoError(b, err)
		require.Len(b, p.Placements, pods)
		for _, x := range p.Placements {
			require.NotEmpty(b, x.Devices)
		}
		b.ReportMetric(float64(p.Cost.After)/float64(max(p.Cost.LowerBound, 1)), "cost/bound")
	}
}
