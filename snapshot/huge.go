package snapshot

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mostOfAny is the most of a resource that an object may speak of: 10^15 bytes or units,
// and 10^15 millicores of CPU. The scheduler adds in 64-bit integers, in which larger
// amounts come out as nothing or as less than nothing.
const mostOfAny = int64(1e15)

// most is in whole units: of CPU, cores.
func most(name corev1.ResourceName) int64 {
	if name == corev1.ResourceCPU {
		return mostOfAny / 1000
	}
	return mostOfAny
}

// cutHuge lowers amounts beyond the most and returns their fields. The API server lets
// anybody ask for them, so that they are no reason to refuse the whole input.
func cutHuge(o object) []string {
	switch o := o.(type) {
	case *corev1.Node:
		return slices.Concat(cutList("status.capacity", &o.Status.Capacity), cutList("status.allocatable", &o.Status.Allocatable))
	case *corev1.Pod:
		return cutPodSpec("spec", &o.Spec)
	case *appsv1.DaemonSet:
		return cutPodSpec("spec.template.spec", &o.Spec.Template.Spec)
	case *batchv1.Job:
		return cutPodSpec("spec.template.spec", &o.Spec.Template.Spec)
	}
	return nil
}

func cutPodSpec(path string, s *corev1.PodSpec) []string {
	if !anyHuge(s) {
		return nil
	}
	*s = *s.DeepCopy() // only its top level is the builder's own
	cut := cutList(path+".overhead", &s.Overhead)
	if s.Resources != nil {
		cut = append(cut, cutRequirements(path+".resources", s.Resources)...)
	}
	for i := range s.InitContainers {
		cut = append(cut, cutRequirements(fmt.Sprintf("%s.initContainers[%d].resources", path, i), &s.InitContainers[i].Resources)...)
	}
	for i := range s.Containers {
		cut = append(cut, cutRequirements(fmt.Sprintf("%s.containers[%d].resources", path, i), &s.Containers[i].Resources)...)
	}
	return cut
}

func cutRequirements(path string, r *corev1.ResourceRequirements) []string {
	return append(cutList(path+".limits", &r.Limits), cutList(path+".requests", &r.Requests)...)
}

func anyHuge(s *corev1.PodSpec) bool {
	if huge(s.Overhead) || s.Resources != nil && (huge(s.Resources.Limits) || huge(s.Resources.Requests)) {
		return true
	}
	has := func(c corev1.Container) bool { return huge(c.Resources.Limits) || huge(c.Resources.Requests) }
	return slices.ContainsFunc(s.InitContainers, has) || slices.ContainsFunc(s.Containers, has)
}

func huge(list corev1.ResourceList) bool {
	for name, q := range list {
		if q.CmpInt64(most(name)) > 0 {
			return true
		}
	}
	return false
}

func cutList(path string, list *corev1.ResourceList) []string {
	if !huge(*list) {
		return nil
	}
	var cut []string
	*list = maps.Clone(*list)
	for _, name := range slices.Sorted(maps.Keys(*list)) {
		if q := (*list)[name]; q.CmpInt64(most(name)) > 0 {
			(*list)[name] = *resource.NewQuantity(most(name), resource.DecimalSI)
			cut = append(cut, fmt.Sprintf("%s[%s]", path, name))
		}
	}
	return cut
}
