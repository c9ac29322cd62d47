package drawn

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// daemonSet draws a DaemonSet, with the pod features that agents have.
func (d *drawer) daemonSet(name string) *appsv1.DaemonSet {
	s := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a", UID: types.UID(name)}}
	s.Spec.Template.Labels = d.podLabels()
	s.Spec.Selector = &metav1.LabelSelector{MatchLabels: s.Spec.Template.Labels}
	spec := &s.Spec.Template.Spec
	spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: d.quantity("100m", "500m")}}}}
	d.placement(spec)
	spec.HostNetwork = d.oneIn(3)
	if d.plain {
		return s
	}
	d.ports(spec)
	if d.oneIn(4) {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.podTerm()}}}
	}
	return s
}
