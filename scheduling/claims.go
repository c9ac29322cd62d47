package scheduling

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tidegate.io/autoscaler/snapshot"
)

// claimUse is one claim that the pods of a kind use.
type claimUse struct {
	index int // in the pod's spec.resourceClaims
	claim *resourcev1.ResourceClaim
	// shared names a claim that is not the pod's alone: an object, or one of its pod group.
	// "" for a claim made for the pod.
	shared string
	// content is equal for claims that ask for the same.
	content int
}

// podClaims are the claims of a pod, or why they cannot be met anywhere.
type podClaims struct {
	uses    []claimUse
	problem string
}

// claimReader resolves the claims of pods as the scheduler does, and beyond: a claim that
// will be made from a template counts as made.
type claimReader struct {
	claims     map[string]*resourcev1.ResourceClaim
	templates  map[string]*resourcev1.ResourceClaimTemplate
	groups     map[string]*schedulingv1beta1.PodGroup
	namespaces map[string]*corev1.Namespace
	// workload: claims of a PodGroup are shared by its pods (DRAWorkloadResourceClaims).
	workload bool

	contents map[string]int
	made     map[string]claimUse // from templates, by namespace/name
}

func newClaimReader(snap *snapshot.Snapshot, workload bool) *claimReader {
	r := &claimReader{
		claims: map[string]*resourcev1.ResourceClaim{}, templates: map[string]*resourcev1.ResourceClaimTemplate{},
		groups: map[string]*schedulingv1beta1.PodGroup{}, namespaces: map[string]*corev1.Namespace{},
		workload: workload, contents: map[string]int{}, made: map[string]claimUse{},
	}
	for _, c := range snap.ResourceClaims() {
		r.claims[c.Namespace+"/"+c.Name] = c
	}
	for _, t := range snap.ResourceClaimTemplates() {
		r.templates[t.Namespace+"/"+t.Name] = t
	}
	for _, g := range snap.PodGroups() {
		r.groups[g.Namespace+"/"+g.Name] = g
	}
	for _, n := range snap.Namespaces() {
		r.namespaces[n.Name] = n
	}
	return r
}

// read resolves all claims of a pod.
func (r *claimReader) read(p *corev1.Pod) podClaims {
	var out podClaims
	for i := range p.Spec.ResourceClaims {
		u, needed, problem := r.one(p, &p.Spec.ResourceClaims[i])
		if problem != "" {
			return podClaims{problem: problem}
		}
		if needed {
			u.index = i
			out.uses = append(out.uses, u)
		}
	}
	return out
}

func (r *claimReader) one(p *corev1.Pod, c *corev1.PodResourceClaim) (u claimUse, needed bool, problem string) {
	switch {
	case c.ResourceClaimName != nil:
		u, problem = r.object(p.Namespace + "/" + *c.ResourceClaimName)
		return u, true, problem
	case c.ResourceClaimTemplateName == nil:
		return u, false, fmt.Sprintf("claim %s names neither a ResourceClaim nor a template", c.Name)
	}
	if g := r.groupOf(p, c); g != nil {
		u, problem = r.ofGroup(g, c)
		return u, true, problem
	}
	for _, s := range p.Status.ResourceClaimStatuses {
		if s.Name != c.Name {
			continue
		}
		if s.ResourceClaimName == nil {
			return u, false, "" // None is needed.
		}
		made := r.claims[p.Namespace+"/"+*s.ResourceClaimName]
		if made == nil {
			break // Its object is not in the input; the template says what it asks for.
		}
		u, problem = r.generated(p, made, *c.ResourceClaimTemplateName)
		return u, true, problem
	}
	u, problem = r.fromTemplate(p.Namespace, *c.ResourceClaimTemplateName)
	return u, true, problem
}

// object is a claim that stands for itself; other pods may use it, too.
func (r *claimReader) object(key string) (claimUse, string) {
	c := r.claims[key]
	switch {
	case c == nil:
		return claimUse{}, fmt.Sprintf("ResourceClaim %s does not exist", key)
	case c.DeletionTimestamp != nil:
		return claimUse{}, fmt.Sprintf("ResourceClaim %s is being deleted", key)
	case c.Status.Allocation != nil && len(c.Status.ReservedFor) >= resourcev1.ResourceClaimReservedForMaxSize:
		return claimUse{}, fmt.Sprintf("ResourceClaim %s is in use by %d pods, which is the most", key, len(c.Status.ReservedFor))
	}
	return claimUse{claim: defaulted(c), shared: key, content: r.content(c)}, ""
}

// generated is the claim object that was made for the pod from a template.
func (r *claimReader) generated(p *corev1.Pod, c *resourcev1.ResourceClaim, template string) (claimUse, string) {
	key := c.Namespace + "/" + c.Name
	switch {
	case c.DeletionTimestamp != nil:
		return claimUse{}, fmt.Sprintf("ResourceClaim %s is being deleted", key)
	case p.UID != "" && !metav1.IsControlledBy(c, p):
		return claimUse{}, fmt.Sprintf("ResourceClaim %s was not made for this pod", key)
	case c.Status.Allocation != nil:
		return claimUse{claim: defaulted(c), shared: key, content: r.content(c)}, ""
	}
	named := *c
	named.Name = template // People know the template, and pods alike are one kind.
	d := defaulted(&named)
	return claimUse{claim: d, content: r.content(d)}, ""
}

// fromTemplate is the claim that will be made for a pod.
func (r *claimReader) fromTemplate(namespace, template string) (claimUse, string) {
	key := namespace + "/" + template
	if u, ok := r.made[key]; ok {
		return u, ""
	}
	t := r.templates[key]
	if t == nil {
		return claimUse{}, fmt.Sprintf("ResourceClaimTemplate %s does not exist", key)
	}
	if n := r.namespaces[namespace]; n != nil && asksAdminAccess(&t.Spec.Spec) && n.Labels[resourcev1.DRAAdminNamespaceLabelKey] != "true" {
		return claimUse{}, fmt.Sprintf("ResourceClaimTemplate %s asks for admin access, and namespace %s has no label %s=true", key, namespace, resourcev1.DRAAdminNamespaceLabelKey)
	}
	c := defaulted(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: template}, Spec: t.Spec.Spec})
	u := claimUse{claim: c, content: r.content(c)}
	r.made[key] = u
	return u, ""
}

func asksAdminAccess(s *resourcev1.ResourceClaimSpec) bool {
	for _, q := range s.Devices.Requests {
		if q.Exactly != nil && q.Exactly.AdminAccess != nil && *q.Exactly.AdminAccess {
			return true
		}
	}
	return false
}

// groupOf is the PodGroup that the pod's claim belongs to; nil when it is the pod's own.
func (r *claimReader) groupOf(p *corev1.Pod, c *corev1.PodResourceClaim) *schedulingv1beta1.PodGroup {
	if !r.workload || p.Spec.SchedulingGroup == nil || p.Spec.SchedulingGroup.PodGroupName == nil {
		return nil
	}
	g := r.groups[p.Namespace+"/"+*p.Spec.SchedulingGroup.PodGroupName]
	if g == nil {
		return nil
	}
	for _, x := range g.Spec.ResourceClaims {
		if x.Name == c.Name && x.ResourceClaimTemplateName != nil && *x.ResourceClaimTemplateName == *c.ResourceClaimTemplateName {
			return g
		}
	}
	return nil
}

// ofGroup is a claim that the pods of a PodGroup share.
func (r *claimReader) ofGroup(g *schedulingv1beta1.PodGroup, c *corev1.PodResourceClaim) (claimUse, string) {
	for _, s := range g.Status.ResourceClaimStatuses {
		if s.Name == c.Name && s.ResourceClaimName != nil && r.claims[g.Namespace+"/"+*s.ResourceClaimName] != nil {
			return r.object(g.Namespace + "/" + *s.ResourceClaimName)
		}
	}
	u, problem := r.fromTemplate(g.Namespace, *c.ResourceClaimTemplateName)
	u.shared = fmt.Sprintf("%s/%s (%s of the PodGroup)", g.Namespace, g.Name, c.Name)
	return u, problem
}

// content numbers claims by what they ask for, and the name that messages give them.
func (r *claimReader) content(c *resourcev1.ResourceClaim) int {
	// Marshalling API types cannot fail.
	data, _ := json.Marshal(c.Spec.Devices)
	key := c.Namespace + "/" + c.Name + " " + string(data)
	if _, ok := r.contents[key]; !ok {
		r.contents[key] = len(r.contents)
	}
	return r.contents[key]
}

// defaulted is a claim with what an API server would fill in: one device, exactly.
func defaulted(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := *c
	out.Spec = *c.Spec.DeepCopy()
	fill := func(mode *resourcev1.DeviceAllocationMode, count *int64) {
		if *mode == "" {
			*mode = resourcev1.DeviceAllocationModeExactCount
		}
		if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
			*count = 1
		}
	}
	for i := range out.Spec.Devices.Requests {
		q := &out.Spec.Devices.Requests[i]
		if q.Exactly != nil {
			fill(&q.Exactly.AllocationMode, &q.Exactly.Count)
		}
		for j := range q.FirstAvailable {
			fill(&q.FirstAvailable[j].AllocationMode, &q.FirstAvailable[j].Count)
		}
	}
	return &out
}
