package kubesched

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Resources are what NodeResourcesFit compares: cpu in millicores, memory and ephemeral
// storage in bytes, the number of pods, and each scalar resource in units. Names that
// the plugin ignores are absent.
type Resources map[corev1.ResourceName]int64

// Requests is what NodeResourcesFit asks of a node for a pod that waits: containers,
// init and sidecar containers, pod-level resources and overhead.
func Requests(pod *corev1.Pod) Resources {
	r := framework.Resource{}
	r.SetMaxResource(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	return resources(&r, 1)
}

// Usage is what a pod that is on a node takes of it, resizes in progress included.
// A pod whose affinity does not parse still takes its resources.
func Usage(pod *corev1.Pod) Resources {
	p := &framework.PodInfo{Pod: pod}
	calculated := p.CalculateResource()
	r, _ := calculated.Resource.(*framework.Resource)
	return resources(r, 1)
}

// Allocatable is what NodeResourcesFit takes a node to offer.
func Allocatable(node *corev1.Node) Resources {
	r := framework.NewResource(node.Status.Allocatable)
	return resources(r, int64(r.AllowedPodNumber))
}

func resources(r *framework.Resource, pods int64) Resources {
	out := Resources{corev1.ResourcePods: pods}
	if r == nil {
		return out
	}
	out[corev1.ResourceCPU] = r.MilliCPU
	out[corev1.ResourceMemory] = r.Memory
	out[corev1.ResourceEphemeralStorage] = r.EphemeralStorage
	maps.Copy(out, r.ScalarResources)
	return out
}

// Untolerated are the taints that keep the pod away, as key=value:effect.
func Untolerated(pod *corev1.Pod, taints []corev1.Taint) []string {
	var out []string
	for i := range taints {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taints[i], true) }
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(pod.Spec.Tolerations, tolerates) {
			out = append(out, taints[i].ToString())
		}
	}
	return out
}
