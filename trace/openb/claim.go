package openb

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimGPU names a pod's only claim, within the pod, and the only request in it.
const claimGPU = "gpu"

// templateName tells what a claim asks for: gpus-2, gpu-share-470, gpus-2-share-500.
func templateName(d demand, offered offer) string {
	switch {
	case d.units == offered.units:
		return fmt.Sprintf("gpus-%d", d.gpus)
	case d.gpus == 1:
		return fmt.Sprintf("gpu-share-%d", d.units)
	}
	return fmt.Sprintf("gpus-%d-share-%d", d.gpus, d.units)
}

// claimSpec asks for devices. Whole devices of a shared kind are asked for by all of their
// shares: no second tenant fits, nor a second device of the same claim.
func claimSpec(d demand, offered offer) resourcev1.ResourceClaimSpec {
	exactly := &resourcev1.ExactDeviceRequest{
		DeviceClassName: gpuDriver,
		AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
		Count:           d.gpus,
	}
	claim := resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: claimGPU, Exactly: exactly}}}
	if offered.shared() {
		exactly.Capacity = &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]resource.Quantity{capacityShares: units(d.units)},
		}
	}
	if d.gpus > 1 && d.units < offered.units {
		// Two halves would be given on one device otherwise.
		distinct := resourcev1.FullyQualifiedName(gpuDriver + "/" + string(attributeIndex))
		claim.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: &distinct}}
	}
	return resourcev1.ResourceClaimSpec{Devices: claim}
}

// templatesFor are the templates that the tasks' pods name, sorted by name.
func templatesFor(tasks []task, offered offer) []*resourcev1.ResourceClaimTemplate {
	seen := map[string]struct{}{}
	var templates []*resourcev1.ResourceClaimTemplate
	for _, t := range tasks {
		d := demandOf(t, offered)
		name := templateName(d, offered)
		if _, known := seen[name]; known || d.gpus == 0 {
			continue
		}
		seen[name] = struct{}{}
		templates = append(templates, &resourcev1.ResourceClaimTemplate{
			TypeMeta: metav1.TypeMeta{APIVersion: apiResource, Kind: "ResourceClaimTemplate"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, UID: types.UID(name), CreationTimestamp: metav1.NewTime(Epoch()),
			},
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claimSpec(d, offered)},
		})
	}
	slices.SortFunc(templates, func(a, b *resourcev1.ResourceClaimTemplate) int {
		return cmp.Compare(a.Name, b.Name) // 1. Unique name.
	})
	return templates
}

// claimFromTemplate has a pod ask for its GPUs by a claim of its own. That of a running
// pod exists and has the pod's name, which no other claim has.
func claimFromTemplate(pod *corev1.Pod, template string, exists bool) {
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: claimGPU, ResourceClaimTemplateName: &template}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: claimGPU}}
	if exists {
		pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: claimGPU, ResourceClaimName: &pod.Name}}
	}
}

// claimOf is the claim of a running pod: allocated where the pod is, and reserved for it.
func claimOf(pod *corev1.Pod, d demand, s seat, offered offer) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: apiResource, Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, CreationTimestamp: pod.CreationTimestamp,
			Annotations: map[string]string{resourcev1.PodResourceClaimAnnotation: claimGPU},
			Finalizers:  []string{resourcev1.Finalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: claimSpec(d, offered),
		Status: resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{
				Devices: resourcev1.DeviceAllocationResult{Results: allocated(pod.Name, d, s, offered)},
				NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchFields: []corev1.NodeSelectorRequirement{{
						Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{s.node},
					}},
				}}},
				AllocationTimestamp: pod.Status.StartTime,
			},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}},
		},
	}
}

// allocated are the devices of a running pod, and how much of each it consumes.
func allocated(pod string, d demand, s seat, offered offer) []resourcev1.DeviceRequestAllocationResult {
	var results []resourcev1.DeviceRequestAllocationResult
	for _, i := range s.devices {
		result := resourcev1.DeviceRequestAllocationResult{Request: claimGPU, Driver: gpuDriver, Pool: s.node, Device: deviceName(i)}
		if offered.shared() {
			result.ShareID = new(shareID(pod, result.Device))
			result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{capacityShares: units(d.units)}
		}
		results = append(results, result)
	}
	return results
}

// shareID is a UUID that follows from what shares which device, the same on every run.
func shareID(pod, device string) types.UID {
	sum := sha256.Sum256([]byte(strings.Join([]string{namespace, pod, device}, "/")))
	id := sum[:16]
	id[6] = id[6]&0x0f | 0x80 // Version 8: made by a rule of one's own.
	id[8] = id[8]&0x3f | 0x80 // The variant that all UUIDs of today have.
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]))
}
