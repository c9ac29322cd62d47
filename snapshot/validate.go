package snapshot

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// validate returns what makes an object that decoded well unusable, each with its field.
func validate(o object) []error {
	switch o := o.(type) {
	case *corev1.Node:
		return append(negative("status.capacity", o.Status.Capacity), negative("status.allocatable", o.Status.Allocatable)...)
	case *corev1.Pod:
		return validatePodSpec("spec", &o.Spec)
	case *appsv1.DaemonSet:
		return validatePodSpec("spec.template.spec", &o.Spec.Template.Spec)
	case *batchv1.Job:
		return validatePodSpec("spec.template.spec", &o.Spec.Template.Spec)
	}
	return nil
}

func validatePodSpec(path string, s *corev1.PodSpec) []error {
	errs := negative(path+".overhead", s.Overhead)
	if s.Resources != nil {
		errs = append(errs, negativeResources(path+".resources", s.Resources)...)
	}
	for i := range s.InitContainers {
		errs = append(errs, negativeResources(fmt.Sprintf("%s.initContainers[%d].resources", path, i), &s.InitContainers[i].Resources)...)
	}
	for i := range s.Containers {
		errs = append(errs, negativeResources(fmt.Sprintf("%s.containers[%d].resources", path, i), &s.Containers[i].Resources)...)
	}
	return errs
}

func negativeResources(path string, r *corev1.ResourceRequirements) []error {
	return append(negative(path+".limits", r.Limits), negative(path+".requests", r.Requests)...)
}

func negative(path string, list corev1.ResourceList) []error {
	bad := false
	for _, q := range list {
		bad = bad || q.Sign() < 0
	}
	if !bad { // Nearly always: spare the sorting.
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			errs = append(errs, fmt.Errorf("%s[%s]: must not be negative, is %s", path, name, q.String()))
		}
	}
	return errs
}
