package snapshot

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// trim drops what no decision looks at; the package doc has the list. Only the object's top
// level is the builder's own, so whatever lies deeper is copied before it is changed.
func trim(o object) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		trimCustom(u)
		return
	}
	o.SetManagedFields(nil)
	o.SetSelfLink("")
	if _, found := o.GetAnnotations()[lastApplied]; found {
		o.SetAnnotations(withoutLastApplied(o.GetAnnotations()))
	}
	switch o := o.(type) {
	case *corev1.Node:
		trimNode(&o.Status)
	case *corev1.Pod:
		trimPodSpec(&o.Spec)
		trimPodStatus(&o.Status)
	case *appsv1.DaemonSet:
		trimPodSpec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		trimPodSpec(&o.Spec.Template.Spec)
	}
}

func withoutLastApplied(annotations map[string]string) map[string]string {
	if len(annotations) == 1 {
		return nil
	}
	out := maps.Clone(annotations)
	delete(out, lastApplied)
	return out
}

// trimCustom may change the object in place: it was decoded by the builder.
func trimCustom(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "metadata", "selfLink")
	if annotations, found, _ := unstructured.NestedMap(u.Object, "metadata", "annotations"); found {
		if _, applied := annotations[lastApplied]; applied {
			u.SetAnnotations(withoutLastApplied(u.GetAnnotations()))
		}
	}
}

func trimNode(s *corev1.NodeStatus) {
	s.Images = nil
	s.Addresses = nil
	s.DaemonEndpoints = corev1.NodeDaemonEndpoints{}
	s.VolumesInUse = nil
	s.VolumesAttached = nil
	s.Config = nil
}

func trimPodSpec(s *corev1.PodSpec) {
	s.EphemeralContainers = nil
	s.SecurityContext = nil
	s.ImagePullSecrets = nil
	s.DNSConfig = nil
	s.HostAliases = nil
	s.ReadinessGates = nil
	s.Containers = trimContainers(s.Containers)
	s.InitContainers = trimContainers(s.InitContainers)
	s.Volumes = trimVolumes(s.Volumes)
}

func trimContainers(in []corev1.Container) []corev1.Container {
	if in == nil {
		return nil
	}
	out := make([]corev1.Container, len(in))
	for i := range in {
		c := &in[i]
		out[i] = corev1.Container{
			Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources,
			// Sidecars among the init containers, and features that a node must declare.
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: trimMounts(c.VolumeMounts),
		}
	}
	return out
}

func trimMounts(in []corev1.VolumeMount) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for i := range in {
		if len(in[i].BindMountOptions) > 0 {
			out = append(out, in[i])
		}
	}
	return out
}

func trimVolumes(in []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for i := range in {
		v := &in[i]
		if v.ConfigMap == nil && v.Secret == nil && v.DownwardAPI == nil && v.Projected == nil {
			out = append(out, *v)
		}
	}
	return out
}

func trimPodStatus(s *corev1.PodStatus) {
	s.HostIP, s.HostIPs, s.PodIP, s.PodIPs = "", nil, "", nil
	s.EphemeralContainerStatuses = nil
	s.VolumeHealth = nil
	s.ContainerStatuses = trimStatuses(s.ContainerStatuses)
	s.InitContainerStatuses = trimStatuses(s.InitContainerStatuses)
}

// trimStatuses keeps what the scheduler counts for a pod whose resources are being resized:
// what the node has granted and what the container runs with.
func trimStatuses(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range in {
		if in[i].AllocatedResources != nil || in[i].Resources != nil {
			out = append(out, corev1.ContainerStatus{
				Name: in[i].Name, AllocatedResources: in[i].AllocatedResources, Resources: in[i].Resources,
			})
		}
	}
	return out
}
