package openb

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/snapshot"
)

const dra = configv1alpha1.DevicesDRA

func TestDevicesOfGroups(t *testing.T) {
	device := func(i int, shared bool) resourcev1.Device {
		d := resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: new("gpu")}, "productName": {StringValue: new("T4")}},
		}
		if shared {
			d.Attributes["index"] = resourcev1.DeviceAttribute{IntValue: new(int64(i))}
			d.AllowMultipleAllocations = new(true)
			d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"shares": {Value: resource.MustParse("1000")}}
		}
		return d
	}
	for mode, shared := range map[Mode]bool{Whole: false, Share: true} {
		t.Run(string(mode), func(t *testing.T) {
			result := importCSV(t, demandCSV, fleetCSV, Options{GPU: mode, Devices: dra})
			groups := result.Configuration.NodeGroups
			assert.Empty(t, cmp.Diff(configv1alpha1.NodeGroup{
				Name: "t4-2x-104c-512g", MaxSize: 10_000, Accelerator: "openb-t4", AcceleratorCount: new(int64(2)), Devices: "dra",
				PricePerHour: groups[2].PricePerHour,
				Labels:       map[string]string{LabelModel: "T4"},
				Capacity: corev1.ResourceList{
					"cpu": resource.MustParse("104"), "memory": resource.MustParse("512Gi"), "pods": resource.MustParse("256"),
				},
				ResourceSlices: []resourcev1.ResourceSliceSpec{{
					Driver:  "gpu.nvidia.com",
					Pool:    resourcev1.ResourcePool{Name: "t4-2x-104c-512g", Generation: 1, ResourceSliceCount: 1},
					Devices: []resourcev1.Device{device(0, shared), device(1, shared)},
				}},
			}, groups[2]))
			assert.Empty(t, groups[0].Devices, "a group without GPUs")
			assert.Empty(t, groups[0].ResourceSlices)
			assert.Empty(t, result.Slices, "no machine exists")
			assert.Empty(t, result.Claims, "no pod runs")
			require.Len(t, result.Classes, 1)
			assert.Equal(t, "gpu.nvidia.com", result.Classes[0].Name)

			at := importCSV(t, demandCSV, fleetCSV, Options{GPU: mode, Devices: dra, At: new(int64(50))})
			require.Len(t, at.Slices, 3)
			assert.Empty(t, cmp.Diff(&resourcev1.ResourceSlice{
				TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"},
				ObjectMeta: metav1.ObjectMeta{Name: "m3-gpu.nvidia.com-0", UID: "m3-gpu.nvidia.com-0", CreationTimestamp: metav1.NewTime(Epoch())},
				Spec: resourcev1.ResourceSliceSpec{
					Driver:   "gpu.nvidia.com",
					Pool:     resourcev1.ResourcePool{Name: "m3", Generation: 1, ResourceSliceCount: 1},
					NodeName: new("m3"),
					Devices:  []resourcev1.Device{device(0, shared), device(1, shared)},
				},
			}, at.Slices[2]))
		})
	}
}

func TestManyDevicesNeedSeveralSlices(t *testing.T) {
	fleet := lines("sn,cpu_milli,memory_mib,gpu,model", "m,1000,1024,300,T4")
	pods := lines("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time",
		"most,1,1,32,1000,0,0", "toomany,1,1,33,1000,0,0")
	result := importCSV(t, pods, fleet, Options{Devices: dra, At: new(int64(1))})
	checkResult(t, result)
	var sizes []int
	names := sets.New[string]()
	for _, slice := range result.Slices {
		sizes = append(sizes, len(slice.Spec.Devices))
		assert.EqualValues(t, 3, slice.Spec.Pool.ResourceSliceCount)
		for _, device := range slice.Spec.Devices {
			names.Insert(device.Name)
		}
	}
	assert.Equal(t, []int{128, 128, 44}, sizes)
	assert.Len(t, names, 300)
	assert.Equal(t, map[string]string{"most": "m", "toomany": ""}, nodesOf(result))
	assert.Equal(t, []string{
		"pods that run at second 1 of the trace but found no free machine here, and are pending instead: 1 (toomany)",
		"pods that ask for more devices than one claim may have, which are 32: 1 (toomany)",
	}, result.Warnings)
}

func TestClaimTemplates(t *testing.T) {
	pods := lines("name,cpu_milli,memory_mib,num_gpu,gpu_milli",
		"a,1,1,1,470", "b,1,1,1,470", "c,1,1,2,1000", "d,1,1,1,1000", "e,1,1,2,500", "f,1,1,0,0")
	tests := map[Mode]struct {
		pods      map[string]string
		templates []string
	}{
		Whole: {
			pods:      map[string]string{"a": "gpus-1", "b": "gpus-1", "c": "gpus-2", "d": "gpus-1", "e": "gpus-2", "f": ""},
			templates: []string{"gpus-1: 1", "gpus-2: 2"},
		},
		Share: {
			pods:      map[string]string{"a": "gpu-share-470", "b": "gpu-share-470", "c": "gpus-2", "d": "gpus-1", "e": "gpus-2-share-500", "f": ""},
			templates: []string{"gpu-share-470: 1 of 470", "gpus-1: 1 of 1k", "gpus-2: 2 of 1k", "gpus-2-share-500: 2 of 500, distinct gpu.nvidia.com/index"},
		},
	}
	for mode, tc := range tests {
		t.Run(string(mode), func(t *testing.T) {
			result := importCSV(t, pods, fleetCSV, Options{GPU: mode, Devices: dra})
			checkResult(t, result)
			gotPods := map[string]string{}
			for _, pod := range result.Pods {
				gotPods[pod.Name] = ""
				for _, claim := range pod.Spec.ResourceClaims {
					gotPods[pod.Name] = *claim.ResourceClaimTemplateName
				}
				assert.NotContains(t, pod.Spec.Containers[0].Resources.Requests, resourceGPU)
				assert.Empty(t, pod.Status.ResourceClaimStatuses)
			}
			var got []string
			for _, template := range result.Templates {
				got = append(got, template.Name+": "+told(template.Spec.Spec))
			}
			assert.Equal(t, tc.pods, gotPods)
			assert.Equal(t, tc.templates, got)
		})
	}
}

// told writes a claim in a few words.
func told(spec resourcev1.ResourceClaimSpec) string {
	exactly := spec.Devices.Requests[0].Exactly
	text := fmt.Sprint(exactly.Count)
	if exactly.Capacity != nil {
		shares := exactly.Capacity.Requests["shares"]
		text += " of " + shares.String()
	}
	for _, constraint := range spec.Devices.Constraints {
		text += ", distinct " + string(*constraint.DistinctAttribute)
	}
	return text
}

func TestRunningClaim(t *testing.T) {
	result := importCSV(t, demandCSV, fleetCSV, Options{GPU: Share, Devices: dra, At: new(int64(50))})
	require.Len(t, result.Claims, 1)
	half := result.Pods[1]
	assert.Equal(t, []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu-share-460")}}, half.Spec.ResourceClaims)
	assert.Equal(t, []corev1.ResourceClaim{{Name: "gpu"}}, half.Spec.Containers[0].Resources.Claims)
	assert.Equal(t, []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("half")}}, half.Status.ResourceClaimStatuses)

	shares := map[resourcev1.QualifiedName]resource.Quantity{"shares": resource.MustParse("460")}
	assert.Empty(t, cmp.Diff(&resourcev1.ResourceClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "half", Namespace: "openb", UID: "half", CreationTimestamp: half.CreationTimestamp,
			Annotations:     map[string]string{"resource.kubernetes.io/pod-claim-name": "gpu"},
			Finalizers:      []string{"resource.kubernetes.io/delete-protection"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "half", UID: "half", Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu",
			Exactly: &resourcev1.ExactDeviceRequest{
				DeviceClassName: "gpu.nvidia.com", AllocationMode: "ExactCount", Count: 1,
				Capacity: &resourcev1.CapacityRequirements{Requests: shares},
			},
		}}}},
		Status: resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{
				Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
					Request: "gpu", Driver: "gpu.nvidia.com", Pool: "m3", Device: "gpu-0",
					ShareID: new(types.UID("41314e42-1a54-8981-b176-dfccfdd3e840")), ConsumedCapacity: shares,
				}}},
				NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"m3"}}},
				}}},
				AllocationTimestamp: half.Status.StartTime,
			},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "half", UID: "half"}},
		},
	}, result.Claims[0]))
}

func TestPlacesOnDevices(t *testing.T) {
	header := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time"
	fleet := lines("sn,cpu_milli,memory_mib,gpu,model", "a,8000,8192,2,T4")
	tests := map[string]struct {
		gpu  Mode
		pods []string
		want map[string]string
	}{
		"parts that no device has room for, though both together have": {
			gpu: Share, pods: []string{"p,1000,0,1,700,0,0", "q,1000,0,1,650,0,0", "r,1000,0,1,510,0,0"},
			want: map[string]string{"p": "gpu-0", "q": "gpu-1", "r": ""},
		},
		"parts to the thousandth": {
			gpu: Share, pods: []string{"p,1000,0,1,999,0,0", "q,1000,0,1,1000,0,0", "r,1000,0,1,1,0,0"},
			want: map[string]string{"p": "gpu-0", "q": "gpu-1", "r": "gpu-0"},
		},
		"parts of several devices": {
			gpu: Share, pods: []string{"p,1000,0,2,400,0,0", "q,1000,0,1,700,0,0", "r,1000,0,1,600,0,0", "s,1000,0,2,1,0,0"},
			want: map[string]string{"p": "gpu-0 gpu-1", "q": "", "r": "gpu-0", "s": ""},
		},
		"whole devices for parts": {
			gpu: Whole, pods: []string{"p,1000,0,1,300,0,0", "q,1000,0,1,300,0,0", "r,1000,0,1,300,0,0"},
			want: map[string]string{"p": "gpu-0", "q": "gpu-1", "r": ""},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			result := importCSV(t, lines(append([]string{header}, tc.pods...)...), fleet, Options{At: new(int64(9)), GPU: tc.gpu, Devices: dra})
			checkResult(t, result)
			got := map[string]string{}
			for _, pod := range result.Pods {
				got[pod.Name] = ""
			}
			for _, claim := range result.Claims {
				got[claim.Name] = strings.Join(devicesOf(claim.Status.Allocation), " ")
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func devicesOf(allocation *resourcev1.AllocationResult) []string {
	var names []string
	for _, result := range allocation.Devices.Results {
		names = append(names, result.Device)
	}
	return names
}

// drawnTrace is a fleet and pods of all sizes that run there, in an order of their own.
func drawnTrace() (pods, fleet string) {
	records := []string{"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time"}
	for i := range 60 {
		size := []string{"1,470", "2,1000", "1,220", "2,300", "1,1000", "1,510", "0,0"}[i*5%7]
		records = append(records, fmt.Sprintf("p%02d,1000,1024,%s,0,%d", i, size, i*37%60))
	}
	return lines(records...), lines("sn,cpu_milli,memory_mib,gpu,model",
		"a,64000,131072,8,G2", "b,64000,131072,4,G2", "c,64000,131072,12,T4", "d,1000,1024,0,")
}

// TestWholeDevicesEqualPlugin: whole devices hold what whole units of an extended resource
// hold, on the same nodes.
func TestWholeDevicesEqualPlugin(t *testing.T) {
	pods, fleet := drawnTrace()
	for name, at := range map[string]*int64{"all at once": nil, "a moment": new(int64(60))} {
		t.Run(name, func(t *testing.T) {
			plugin := importCSV(t, pods, fleet, Options{At: at})
			devices := importCSV(t, pods, fleet, Options{At: at, Devices: dra})
			assert.Equal(t, plugin.Counts, devices.Counts)
			assert.Equal(t, nodesOf(plugin), nodesOf(devices))
			assert.Equal(t, plugin.Warnings, devices.Warnings)
			for i := range plugin.Pods {
				units := plugin.Pods[i].Spec.Containers[0].Resources.Requests[resourceGPU]
				assert.Equal(t, units.Value(), claimedDevices(devices, devices.Pods[i]), devices.Pods[i].Name)
			}
		})
	}
}

// claimedDevices is how many devices the template of a pod asks for.
func claimedDevices(r *Result, pod *corev1.Pod) int64 {
	var count int64
	for _, claim := range pod.Spec.ResourceClaims {
		for _, template := range r.Templates {
			if template.Name == *claim.ResourceClaimTemplateName {
				count += template.Spec.Spec.Devices.Requests[0].Exactly.Count
			}
		}
	}
	return count
}

// TestDevicesLoad: the dump is read without a warning, and has everything.
func TestDevicesLoad(t *testing.T) {
	pods, fleet := drawnTrace()
	for _, mode := range []Mode{Whole, Share} {
		t.Run(string(mode), func(t *testing.T) {
			result := importCSV(t, pods, fleet, Options{At: new(int64(40)), GPU: mode, Devices: dra})
			checkResult(t, result)
			var dump bytes.Buffer
			require.NoError(t, WriteDump(&dump, result.Objects()...))
			builder := snapshot.NewBuilder()
			require.NoError(t, builder.Read(&dump, "cluster.json"))
			read, err := builder.Build()
			require.NoError(t, err)
			assert.Empty(t, read.Warnings())
			assert.Len(t, read.ResourceSlices(), len(result.Slices))
			assert.Empty(t, cmp.Diff(result.Claims, read.ResourceClaims()))
			assert.Empty(t, cmp.Diff(result.Templates, read.ResourceClaimTemplates()))
			assert.Empty(t, cmp.Diff(result.Classes, read.DeviceClasses()))
		})
	}
}

// TestAllocatorAgrees starts the running pods again, one by one, with the scheduler's own
// allocator: it gives each the devices and the amounts that the import wrote down.
func TestAllocatorAgrees(t *testing.T) {
	pods, fleet := drawnTrace()
	for _, mode := range []Mode{Whole, Share} {
		t.Run(string(mode), func(t *testing.T) {
			result := importCSV(t, pods, fleet, Options{At: new(int64(60)), GPU: mode, Devices: dra})
			require.Greater(t, len(result.Claims), 15)
			started := slices.Clone(result.Claims)
			slices.SortFunc(started, func(a, b *resourcev1.ResourceClaim) int {
				// No two start at once.
				return a.Status.Allocation.AllocationTimestamp.Compare(b.Status.Allocation.AllocationTimestamp.Time)
			})
			state := structured.AllocatedState{
				AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
				AggregatedCapacity: structured.NewConsumedCapacityCollection(),
			}
			for _, claim := range started {
				want := claim.Status.Allocation
				got := allocate(t, result, state, claim.Spec, want.Devices.Results[0].Pool)
				require.NotNil(t, got, claim.Name)
				require.Empty(t, cmp.Diff(repeatable(want), repeatable(got)), claim.Name)
				book(state, want)
			}
			if mode == Share {
				// What is left on all nodes holds no pod that the import left pending.
				for _, pod := range result.Pods {
					if pod.Spec.NodeName == "" && len(pod.Spec.ResourceClaims) > 0 {
						for _, node := range result.Nodes {
							spec := specOf(t, result, *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName)
							assert.Nil(t, allocate(t, result, state, spec, node.Name), "%s on %s", pod.Name, node.Name)
						}
					}
				}
			}
		})
	}
}

func specOf(t *testing.T, r *Result, template string) resourcev1.ResourceClaimSpec {
	t.Helper()
	i := slices.IndexFunc(r.Templates, func(c *resourcev1.ResourceClaimTemplate) bool { return c.Name == template })
	require.GreaterOrEqual(t, i, 0, template)
	return r.Templates[i].Spec.Spec
}

// repeatable drops what differs by nature: random ids, and the time of writing.
func repeatable(allocation *resourcev1.AllocationResult) *resourcev1.AllocationResult {
	out := allocation.DeepCopy()
	out.AllocationTimestamp = nil
	for i := range out.Devices.Results {
		out.Devices.Results[i].ShareID = nil
	}
	return out
}

// book adds an allocation to what is taken.
func book(state structured.AllocatedState, allocation *resourcev1.AllocationResult) {
	for _, result := range allocation.Devices.Results {
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
	}
}

// classLister serves the classes of a result.
type classLister []*resourcev1.DeviceClass

func (l classLister) List() ([]*resourcev1.DeviceClass, error) { return l, nil }

func (l classLister) Get(name string) (*resourcev1.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("no class %s", name)
}

// allocate asks the scheduler's allocator for one claim on a node; nil: there is no room.
func allocate(t *testing.T, r *Result, state structured.AllocatedState, spec resourcev1.ResourceClaimSpec, node string) *resourcev1.AllocationResult {
	t.Helper()
	features := structured.Features{ConsumableCapacity: true}
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(context.Background(), features, state, classLister(r.Classes), r.Slices, cache)
	require.NoError(t, err)
	i := slices.IndexFunc(r.Nodes, func(n *corev1.Node) bool { return n.Name == node })
	require.GreaterOrEqual(t, i, 0, node)
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "claim", UID: "claim"}, Spec: spec}
	results, err := allocator.Allocate(context.Background(), r.Nodes[i], []*resourcev1.ResourceClaim{claim})
	require.NoError(t, err)
	if len(results) == 0 {
		return nil
	}
	return &results[0]
}

// checkClaims checks what holds of every result's claims: each belongs to a running pod
// and to devices of its node, and no device is given out twice or beyond its whole.
func checkClaims(t *testing.T, r *Result) {
	t.Helper()
	templates := map[string]resourcev1.ResourceClaimSpec{}
	for _, template := range r.Templates {
		templates[template.Name] = template.Spec.Spec
	}
	claims := map[string]*resourcev1.ResourceClaim{}
	for _, claim := range r.Claims {
		claims[claim.Name] = claim
	}
	require.Len(t, claims, len(r.Claims))
	running := 0
	for _, pod := range r.Pods {
		for _, entry := range pod.Spec.ResourceClaims {
			require.Contains(t, templates, *entry.ResourceClaimTemplateName)
			if pod.Spec.NodeName == "" {
				require.NotContains(t, claims, pod.Name)
				continue
			}
			running++
			claim := claims[*pod.Status.ResourceClaimStatuses[0].ResourceClaimName]
			require.NotNil(t, claim)
			require.Empty(t, cmp.Diff(templates[*entry.ResourceClaimTemplateName], claim.Spec))
			require.Equal(t, pod.UID, claim.Status.ReservedFor[0].UID)
			require.Len(t, claim.Status.Allocation.Devices.Results, int(claim.Spec.Devices.Requests[0].Exactly.Count))
			for _, result := range claim.Status.Allocation.Devices.Results {
				require.Equal(t, pod.Spec.NodeName, result.Pool)
			}
		}
	}
	require.Len(t, r.Claims, running)
	checkDevices(t, r)
}

// checkDevices takes what claims consume from what slices offer.
func checkDevices(t *testing.T, r *Result) {
	t.Helper()
	type id struct{ pool, device string }
	free := map[id]int64{} // thousandths
	for _, slice := range r.Slices {
		for _, device := range slice.Spec.Devices {
			free[id{slice.Spec.Pool.Name, device.Name}] = 1000
		}
	}
	shareIDs := sets.New[types.UID]()
	for _, claim := range r.Claims {
		own := map[id]struct{}{}
		for _, result := range claim.Status.Allocation.Devices.Results {
			taken, device := int64(1000), id{result.Pool, result.Device}
			if result.ShareID != nil {
				require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, string(*result.ShareID))
				require.False(t, shareIDs.Has(*result.ShareID))
				shareIDs.Insert(*result.ShareID)
				shares := result.ConsumedCapacity["shares"]
				taken = shares.Value()
			}
			require.Contains(t, free, device)
			free[device] -= taken
			own[device] = struct{}{}
		}
		require.Len(t, own, len(claim.Status.Allocation.Devices.Results), "a claim's devices are different ones")
	}
	for device, left := range free {
		require.GreaterOrEqual(t, left, int64(0), device)
	}
}
