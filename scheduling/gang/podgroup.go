package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// podGroup reads the native API (KEP-4671, scheduling.k8s.io/v1beta1): the pod names its
// PodGroup in spec.schedulingGroup, the group has a policy (basic or gang with minCount)
// and at most one topology key. A basic group is no gang; with a topology key its pods
// still share a domain, so it is one that starts with any single pod.
func podGroup(idx *index, p *corev1.Pod) (Definition, bool) {
	if p.Spec.SchedulingGroup == nil || p.Spec.SchedulingGroup.PodGroupName == nil {
		return Definition{}, false
	}
	name := *p.Spec.SchedulingGroup.PodGroupName
	d := Definition{Namespace: p.Namespace, Name: name, Min: 1}
	g, ok := idx.podGroups[p.Namespace+"/"+name]
	if !ok {
		d.Missing = fmt.Sprintf("PodGroup %s/%s does not exist; the scheduler holds its pods back", p.Namespace, name)
		return d, true
	}
	d.Created, d.Priority = g.CreationTimestamp.Time, g.Spec.Priority
	if c := g.Spec.SchedulingConstraints; c != nil && len(c.Topology) > 0 {
		d.Required = c.Topology[0].Key
	}
	if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
		d.Min = max(1, int(gang.MinCount))
	} else {
		d.Ordinary = d.Required == ""
	}
	return d, true
}
