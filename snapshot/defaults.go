package snapshot

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// setDefaults fills in what the API server would have, for dumps written by hand. It runs
// after trim, which has made the containers the builder's own.
func setDefaults(o object) {
	switch o := o.(type) {
	case *corev1.Pod:
		defaultPodSpec(&o.Spec)
	case *appsv1.DaemonSet:
		defaultPodSpec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		defaultPodSpec(&o.Spec.Template.Spec)
	}
}

func defaultPodSpec(s *corev1.PodSpec) {
	s.SchedulerName = cmp.Or(s.SchedulerName, corev1.DefaultSchedulerName)
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			defaultRequests(&containers[i].Resources)
		}
	}
	if s.Resources != nil {
		own := *s.Resources
		defaultRequests(&own)
		s.Resources = &own
	}
}

// defaultRequests asks for as much as the limit of each resource that has no request. A pod
// with only "limits: {nvidia.com/gpu: 8}" asks for eight GPUs.
func defaultRequests(r *corev1.ResourceRequirements) {
	var requests corev1.ResourceList
	for name, q := range r.Limits {
		if _, set := r.Requests[name]; set {
			continue
		}
		if requests == nil {
			requests = maps.Clone(r.Requests)
			if requests == nil {
				requests = corev1.ResourceList{}
			}
		}
		requests[name] = q.DeepCopy()
	}
	if requests != nil {
		r.Requests = requests
	}
}

// priorities resolves priority class names as the Priority admission plugin does.
type priorities struct {
	byName   map[string]*schedulingv1.PriorityClass
	fallback *schedulingv1.PriorityClass // Of pods that name none; may be nil.
	dumped   bool                        // The dump holds priority classes at all.
}

func newPriorities(classes []*schedulingv1.PriorityClass) priorities {
	p := priorities{byName: map[string]*schedulingv1.PriorityClass{}, dumped: len(classes) > 0}
	// Every cluster has these two, at these values, whether they are in the dump or not.
	for name, value := range map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000} {
		class := &schedulingv1.PriorityClass{Value: value}
		class.Name = name
		p.byName[name] = class
	}
	for _, c := range classes {
		p.byName[c.Name] = c
		if c.GlobalDefault && (p.fallback == nil || c.Value < p.fallback.Value) {
			p.fallback = c
		}
	}
	return p
}

// resolve returns the class of an object that names one, or the global default. Classes
// sorted by name make the choice among equal defaults the same each time.
func (p priorities) resolve(name string) *schedulingv1.PriorityClass {
	if name == "" {
		return p.fallback
	}
	return p.byName[name]
}

// resolvePriorities replaces, in the groups, pods and PodGroups that have no priority yet by
// copies that do. The builder's own objects stay as they were read: a class may still come.
func resolvePriorities(groups []group) {
	var classes []*schedulingv1.PriorityClass
	for _, g := range groups {
		for _, o := range g.objects {
			c, ok := o.(*schedulingv1.PriorityClass)
			if !ok {
				break
			}
			classes = append(classes, c)
		}
	}
	p := newPriorities(classes)
	for _, g := range groups {
		for i, o := range g.objects {
			switch o := o.(type) {
			case *corev1.Pod:
				g.objects[i] = p.pod(o)
			case *schedulingv1beta1.PodGroup:
				g.objects[i] = p.podGroup(o)
			}
		}
	}
}

func (p priorities) pod(pod *corev1.Pod) *corev1.Pod {
	class := p.resolve(pod.Spec.PriorityClassName)
	if pod.Spec.Priority != nil || class == nil {
		return pod
	}
	out := *pod
	out.Spec.PriorityClassName = class.Name
	out.Spec.Priority = &class.Value
	if out.Spec.PreemptionPolicy == nil {
		out.Spec.PreemptionPolicy = class.PreemptionPolicy
	}
	return &out
}

func (p priorities) podGroup(group *schedulingv1beta1.PodGroup) *schedulingv1beta1.PodGroup {
	class := p.resolve(group.Spec.PriorityClassName)
	if group.Spec.Priority != nil || class == nil {
		return group
	}
	out := *group
	out.Spec.PriorityClassName = class.Name
	out.Spec.Priority = &class.Value
	if out.Spec.PreemptionPolicy == nil && class.PreemptionPolicy != nil {
		policy := schedulingv1beta1.PreemptionPolicy(*class.PreemptionPolicy)
		out.Spec.PreemptionPolicy = &policy
	}
	return &out
}
