package drawn

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Label keys of drawn nodes beside the well-known ones.
const (
	rack       = "example.com/rack"
	disk       = "example.com/disk"
	generation = "example.com/generation"
)

func (d *drawer) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: d.nodeLabels()}}
	n.Labels[corev1.LabelHostname] = name
	if d.oneIn(15) {
		delete(n.Labels, corev1.LabelHostname)
	}
	n.Status.Allocatable = d.allocatable()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
	n.Spec.Taints = d.taints()
	n.Spec.Unschedulable = d.oneIn(12)
	return n
}

func (d *drawer) nodeLabels() map[string]string {
	l := map[string]string{}
	if !d.oneIn(8) {
		l[corev1.LabelTopologyZone] = pick(d, "z1", "z2")
	}
	if !d.oneIn(4) {
		l[rack] = pick(d, "r1", "r2", "r3")
	}
	if !d.oneIn(3) {
		l[disk] = pick(d, "ssd", "hdd")
	}
	if !d.oneIn(3) {
		l[generation] = pick(d, "1", "2", "3", "new")
	}
	return l
}

func (d *drawer) allocatable() corev1.ResourceList {
	l := corev1.ResourceList{
		corev1.ResourceCPU:    d.quantity("2", "3500m", "8"),
		corev1.ResourceMemory: d.quantity("4Gi", "8Gi", "16000M"),
		corev1.ResourcePods:   d.quantity("3", "10", "110"),
	}
	add := func(name corev1.ResourceName, values ...string) {
		if d.oneIn(2) {
			l[name] = d.quantity(values...)
		}
	}
	add(corev1.ResourceEphemeralStorage, "10Gi", "100Gi")
	add("nvidia.com/gpu", "0", "1", "8")
	add("hugepages-2Mi", "4Mi", "64Mi")
	add("example.com/nic", "1", "2")
	return l
}

func (d *drawer) taints() []corev1.Taint {
	var out []corev1.Taint
	if d.oneIn(2) || d.roomy && !d.oneIn(4) {
		return nil
	}
	for _, key := range some(d, "dedicated", "nvidia.com/gpu", "example.com/startup") {
		if d.oneIn(2) {
			out = append(out, corev1.Taint{Key: key, Value: pick(d, "", "a", "b"),
				Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)})
		}
	}
	return out
}
