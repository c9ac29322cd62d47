package snapshot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// referenceCheck finds names that point at nothing in the dump. None of them is an error: a dump
// may well leave out what is not of interest, but the decision is then made without it.
type referenceCheck struct {
	b              *Builder
	nodes          map[string]bool
	podGroups      map[string]bool
	workloads      map[string]bool
	volumeClaims   map[string]bool
	claims         map[string]bool
	claimTemplates map[string]bool
	priorities     priorities
	notes          []note
}

func (b *Builder) references(s *Snapshot) []note {
	c := &referenceCheck{
		b:     b,
		nodes: names(s.nodes), podGroups: names(s.podGroups), workloads: names(s.workloads),
		volumeClaims: names(s.volumeClaims), claims: names(s.claims), claimTemplates: names(s.claimTemplates),
		priorities: newPriorities(s.priorityClasses),
	}
	for _, pod := range s.pods {
		// What a finished pod points at may be gone, and no decision misses it.
		if !Ended(pod) {
			c.pod(pod)
		}
	}
	for _, group := range s.podGroups {
		c.podGroup(group)
	}
	return c.notes
}

// missing notes a reference of o; class is the field without indices.
func (c *referenceCheck) missing(o object, class, field, what, name string) {
	k := c.b.kinds.byGroupKind[o.GetObjectKind().GroupVersionKind().GroupKind()]
	c.notes = append(c.notes, note{k.title() + " " + class, Warning{
		Source: c.b.entries[key{k, o.GetNamespace(), o.GetName()}].at.source,
		Object: identify(k, o), Field: field,
		Message: fmt.Sprintf("%s %q is not in the dump", what, name),
	}})
}

func (c *referenceCheck) priorityClass(o object, name string) {
	if name != "" && c.priorities.dumped && c.priorities.byName[name] == nil {
		c.missing(o, "spec.priorityClassName", "spec.priorityClassName", "PriorityClass", name)
	}
}

func (c *referenceCheck) pod(pod *corev1.Pod) {
	spec := &pod.Spec
	if spec.NodeName != "" && !c.nodes["/"+spec.NodeName] {
		c.missing(pod, "spec.nodeName", "spec.nodeName", "Node", spec.NodeName)
	}
	if g := spec.SchedulingGroup; g != nil && g.PodGroupName != nil && !c.podGroups[pod.Namespace+"/"+*g.PodGroupName] {
		const field = "spec.schedulingGroup.podGroupName"
		c.missing(pod, field, field, "PodGroup", *g.PodGroupName)
	}
	c.priorityClass(pod, spec.PriorityClassName)
	for i := range spec.Volumes {
		source := spec.Volumes[i].PersistentVolumeClaim
		if source != nil && !c.volumeClaims[pod.Namespace+"/"+source.ClaimName] {
			c.missing(pod, "spec.volumes[].persistentVolumeClaim.claimName",
				fmt.Sprintf("spec.volumes[%d].persistentVolumeClaim.claimName", i), "PersistentVolumeClaim", source.ClaimName)
		}
	}
	for i := range spec.ResourceClaims {
		ref := &spec.ResourceClaims[i]
		generated := ""
		for _, s := range pod.Status.ResourceClaimStatuses {
			if s.Name == ref.Name && s.ResourceClaimName != nil {
				generated = *s.ResourceClaimName
			}
		}
		c.claim(pod, i, ref.ResourceClaimName, ref.ResourceClaimTemplateName, generated)
	}
}

func (c *referenceCheck) podGroup(group *schedulingv1beta1.PodGroup) {
	if ref := group.Spec.WorkloadRef; ref != nil && !c.workloads[group.Namespace+"/"+ref.WorkloadName] {
		const field = "spec.workloadRef.workloadName"
		c.missing(group, field, field, "Workload", ref.WorkloadName)
	}
	c.priorityClass(group, group.Spec.PriorityClassName)
	for i := range group.Spec.ResourceClaims {
		ref := &group.Spec.ResourceClaims[i]
		generated := ""
		for _, s := range group.Status.ResourceClaimStatuses {
			if s.Name == ref.Name && s.ResourceClaimName != nil {
				generated = *s.ResourceClaimName
			}
		}
		c.claim(group, i, ref.ResourceClaimName, ref.ResourceClaimTemplateName, generated)
	}
}

// claim checks one entry of spec.resourceClaims. Once a claim was generated from a template,
// the claim counts and the template may be gone.
func (c *referenceCheck) claim(o object, i int, name, template *string, generated string) {
	prefix := o.GetNamespace() + "/"
	switch {
	case name != nil && !c.claims[prefix+*name]:
		c.missing(o, "spec.resourceClaims[].resourceClaimName",
			fmt.Sprintf("spec.resourceClaims[%d].resourceClaimName", i), "ResourceClaim", *name)
	case name != nil:
	case generated != "" && !c.claims[prefix+generated]:
		c.missing(o, "status.resourceClaimStatuses[].resourceClaimName",
			"status.resourceClaimStatuses[].resourceClaimName", "ResourceClaim", generated)
	case generated != "":
	case template != nil && !c.claimTemplates[prefix+*template]:
		c.missing(o, "spec.resourceClaims[].resourceClaimTemplateName",
			fmt.Sprintf("spec.resourceClaims[%d].resourceClaimTemplateName", i), "ResourceClaimTemplate", *template)
	}
}

// names lists what the references of a kind may point at.
func names[T object](objects []T) map[string]bool {
	out := make(map[string]bool, len(objects))
	for _, o := range objects {
		out[o.GetNamespace()+"/"+o.GetName()] = true
	}
	return out
}
