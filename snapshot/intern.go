package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxInterned bounds what is worth sharing: longer strings seldom repeat.
const maxInterned = 128

// intern shares equal strings. Pods of one gang repeat their labels, images, tolerations and
// resource names; decoding gives each its own copy.
type intern map[string]string

func (in intern) str(s *string) {
	if *s == "" || len(*s) > maxInterned {
		return
	}
	if shared, ok := in[*s]; ok {
		*s = shared
		return
	}
	in[*s] = *s
}

func (in intern) stringMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m { // A map is built from a map: the order does not matter.
		in.str(&k)
		in.str(&v)
		out[k] = v
	}
	return out
}

func (in intern) resources(list corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		return nil
	}
	out := make(corev1.ResourceList, len(list))
	for name, q := range list {
		in.str((*string)(&name))
		out[name] = q
	}
	return out
}

func (in intern) meta(m *metav1.ObjectMeta) {
	in.str(&m.Namespace)
	in.str(&m.GenerateName)
	m.Labels = in.stringMap(m.Labels)
	m.Annotations = in.stringMap(m.Annotations)
	for i := range m.OwnerReferences {
		ref := &m.OwnerReferences[i]
		in.str(&ref.APIVersion)
		in.str(&ref.Kind)
		in.str(&ref.Name)
		in.str((*string)(&ref.UID))
	}
}

// object shares the strings of an object that was just decoded and belongs to the builder.
func (in intern) object(o object) {
	switch o := o.(type) {
	case *corev1.Pod:
		in.meta(&o.ObjectMeta)
		in.podSpec(&o.Spec)
		in.str((*string)(&o.Status.Phase))
		in.str((*string)(&o.Status.QOSClass))
		for i := range o.Status.Conditions {
			c := &o.Status.Conditions[i]
			in.str((*string)(&c.Type))
			in.str((*string)(&c.Status))
			in.str(&c.Reason)
			in.str(&c.Message)
		}
	case *corev1.Node:
		in.meta(&o.ObjectMeta)
		o.Status.Capacity = in.resources(o.Status.Capacity)
		o.Status.Allocatable = in.resources(o.Status.Allocatable)
	}
}

func (in intern) podSpec(s *corev1.PodSpec) {
	for _, p := range []*string{
		&s.NodeName, &s.SchedulerName, &s.ServiceAccountName, &s.DeprecatedServiceAccount, &s.PriorityClassName,
		(*string)(&s.RestartPolicy), (*string)(&s.DNSPolicy),
	} {
		in.str(p)
	}
	s.NodeSelector = in.stringMap(s.NodeSelector)
	for i := range s.Tolerations {
		t := &s.Tolerations[i]
		in.str(&t.Key)
		in.str((*string)(&t.Operator))
		in.str(&t.Value)
		in.str((*string)(&t.Effect))
	}
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			c := &containers[i]
			in.str(&c.Name)
			in.str(&c.Image)
			c.Resources.Requests = in.resources(c.Resources.Requests)
			c.Resources.Limits = in.resources(c.Resources.Limits)
		}
	}
}
