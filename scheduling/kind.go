package scheduling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

// Kind is what pods with the same scheduling-relevant content have in common.
type Kind struct {
	// Pod stands for all pods of the kind.
	Pod *corev1.Pod
	// Request is what one pod asks of a node.
	Request Vector
	// AsksAccelerator: the pod requests an accelerator resource or a device claim.
	AsksAccelerator bool
	// Dynamic: whether it fits depends on the pods that run on this or other nodes, by
	// more than what room they leave on this one.
	Dynamic bool
	// plugins: what it looks at of other pods is ports, labels or volumes, which the
	// scheduler plugins know; else it is claims or devices that several nodes see.
	plugins bool
	// uses are its claims; backed are extended resources that device classes serve;
	// problem, where not "", is why its claims cannot be met anywhere.
	uses    []claimUse
	backed  []corev1.ResourceName
	problem string
	// seesPods: other pods' labels matter to it, or its own to them.
	seesPods bool
}

// kinds interns pods by content.
type kinds struct {
	byKey     map[string]int
	list      []Kind
	requests  []kubesched.Resources
	names     []corev1.ResourceName // scratch
	selectors podSelectors
	// accelerators are resource names that groups declare, beside the well-known ones.
	accelerators map[corev1.ResourceName]bool
	buf          bytes.Buffer
	claims       *claimReader
	kube         *kubesched.Devices
}

// podSelectors are the label selectors through which pods see each other.
type podSelectors struct {
	// keys are the label keys that any of them reads.
	keys map[string]bool
	// anti are the required anti-affinity terms of all pods, which keep others away.
	anti []labels.Selector
	// any: there is at least one term of any sort, so namespaces matter.
	any bool
}

// readSelectors collects the terms of all pods. A term that does not parse is left to
// the plugins, which report it for its own pod.
func readSelectors(pods []*corev1.Pod) podSelectors {
	out := podSelectors{keys: map[string]bool{}}
	seen := map[string]bool{}
	for _, p := range pods {
		for i := range p.Spec.TopologySpreadConstraints {
			c := &p.Spec.TopologySpreadConstraints[i]
			out.see(c.LabelSelector)
			for _, k := range c.MatchLabelKeys {
				out.keys[k] = true
			}
		}
		a := p.Spec.Affinity
		if a == nil {
			continue
		}
		if a.PodAffinity != nil {
			out.terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			out.weighted(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			required := a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			out.terms(required)
			out.weighted(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
			for _, t := range required {
				s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
				if err == nil && !seen[s.String()] {
					seen[s.String()] = true
					out.anti = append(out.anti, s)
				}
			}
		}
	}
	return out
}

func (s *podSelectors) weighted(terms []corev1.WeightedPodAffinityTerm) {
	for _, t := range terms {
		s.terms([]corev1.PodAffinityTerm{t.PodAffinityTerm})
	}
}

func (s *podSelectors) terms(terms []corev1.PodAffinityTerm) {
	for _, t := range terms {
		s.see(t.LabelSelector)
		for _, k := range t.MatchLabelKeys {
			s.keys[k] = true
		}
		for _, k := range t.MismatchLabelKeys {
			s.keys[k] = true
		}
	}
}

func (s *podSelectors) see(selector *metav1.LabelSelector) {
	s.any = true
	if selector == nil {
		return
	}
	for k := range selector.MatchLabels {
		s.keys[k] = true
	}
	for _, e := range selector.MatchExpressions {
		s.keys[e.Key] = true
	}
}

func newKinds(selectors podSelectors, groups []nodegroups.Status, claims *claimReader, kube *kubesched.Devices) *kinds {
	k := &kinds{byKey: map[string]int{}, selectors: selectors, accelerators: map[corev1.ResourceName]bool{}, claims: claims, kube: kube}
	for i := range groups {
		for _, name := range groups[i].AcceleratorResources {
			k.accelerators[name] = true
		}
	}
	return k
}

// of returns the kind of a pod, a new one if need be. The key holds the lists from which
// requests are computed, so that they are computed once for a kind.
func (k *kinds) of(p *corev1.Pod) int {
	k.buf.Reset()
	k.writeRequests(p)
	claims := k.claims.read(p)
	k.write(p, claims)
	if i, ok := k.byKey[string(k.buf.Bytes())]; ok {
		return i
	}
	request := kubesched.Requests(p)
	i := len(k.list)
	k.byKey[k.buf.String()] = i
	kind := Kind{Pod: p, uses: claims.uses, problem: claims.problem, AsksAccelerator: len(p.Spec.ResourceClaims) > 0}
	if len(kind.uses) > mostUses {
		kind.problem = fmt.Sprintf("the pod has more than %d claims", mostUses)
	}
	for _, name := range slices.Sorted(maps.Keys(request)) {
		if n := request[name]; n > 0 && k.kube.ClassFor(name) != nil {
			kind.backed = append(kind.backed, name)
		}
		kind.AsksAccelerator = kind.AsksAccelerator || request[name] > 0 && (nodegroups.IsAccelerator(name) || k.accelerators[name])
	}
	kind.AsksAccelerator = kind.AsksAccelerator || len(kind.backed) > 0
	kind.seesPods = usesPodTerms(p) || k.keptAway(p) || hasPodTerms(p) && !kubesched.Parses(p)
	kind.plugins = kind.seesPods || len(hostPorts(p)) > 0 || usesVolumes(p)
	kind.Dynamic = kind.plugins || slices.ContainsFunc(kind.uses, func(u claimUse) bool { return u.shared != "" })
	k.list = append(k.list, kind)
	k.requests = append(k.requests, request)
	return i
}

// writeRequests puts into the key what kubesched.Requests computes with.
func (k *kinds) writeRequests(p *corev1.Pod) {
	for i := range p.Spec.Containers {
		k.writeList('C', p.Spec.Containers[i].Resources.Requests)
	}
	for i := range p.Spec.InitContainers {
		tag := byte('I')
		if r := p.Spec.InitContainers[i].RestartPolicy; r != nil && *r == corev1.ContainerRestartPolicyAlways {
			tag = 'S'
		}
		k.writeList(tag, p.Spec.InitContainers[i].Resources.Requests)
	}
	k.writeList('O', p.Spec.Overhead)
	if p.Spec.Resources != nil {
		k.writeList('P', p.Spec.Resources.Requests)
	}
}

func (k *kinds) writeList(tag byte, list corev1.ResourceList) {
	k.buf.WriteByte(tag)
	k.names = k.names[:0]
	for name := range list {
		k.names = append(k.names, name)
	}
	slices.Sort(k.names)
	for _, name := range k.names {
		q := list[name]
		k.buf.WriteString(string(name))
		k.buf.WriteByte('=')
		k.buf.Write(strconv.AppendInt(k.buf.AvailableBuffer(), q.MilliValue(), 10))
		k.buf.WriteByte(',')
	}
}

// write puts everything else that a filter or score plugin reads of the pod into the key.
func (k *kinds) write(p *corev1.Pod, claims podClaims) {
	b := &k.buf
	k.writeMap('s', p.Spec.NodeSelector, nil)
	if p.Spec.NodeName != "" {
		fmt.Fprintf(b, "|n%s", p.Spec.NodeName)
	}
	writeJSON(b, 'a', p.Spec.Affinity, p.Spec.Affinity == nil)
	writeJSON(b, 't', p.Spec.Tolerations, len(p.Spec.Tolerations) == 0)
	writeJSON(b, 'c', p.Spec.TopologySpreadConstraints, len(p.Spec.TopologySpreadConstraints) == 0)
	if ports := hostPorts(p); len(ports) > 0 {
		writeJSON(b, 'p', ports, false)
	}
	if usesVolumes(p) {
		writeJSON(b, 'v', p.Spec.Volumes, false)
		fmt.Fprintf(b, "|N%s/%s", p.Namespace, p.Name)
	}
	if claims.problem != "" {
		fmt.Fprintf(b, "|!%s", claims.problem)
	}
	for _, u := range claims.uses {
		fmt.Fprintf(b, "|r%d:%d%s", u.index, u.content, u.shared)
	}
	if k.selectors.any {
		fmt.Fprintf(b, "|N%s", p.Namespace)
		k.writeMap('l', p.Labels, k.selectors.keys)
	}
}

// writeMap writes the entries in key order; only, where not nil, says which keys count.
func (k *kinds) writeMap(tag byte, m map[string]string, only map[string]bool) {
	if len(m) == 0 {
		return
	}
	k.buf.WriteByte('|')
	k.buf.WriteByte(tag)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if only == nil || only[key] {
			fmt.Fprintf(&k.buf, "%q=%q,", key, m[key])
		}
	}
}

func writeJSON(b *bytes.Buffer, tag byte, v any, empty bool) {
	if empty {
		return
	}
	b.WriteByte('|')
	b.WriteByte(tag)
	// Marshalling API types cannot fail; if it did, the pod would be a kind of its own.
	data, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintf(b, "%p", v)
		return
	}
	b.Write(data)
}

// hasPodTerms says whether the pod has any term about other pods, required or preferred.
func hasPodTerms(p *corev1.Pod) bool {
	a := p.Spec.Affinity
	return a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

// usesPodTerms says whether the pod has terms about other pods that filters read.
func usesPodTerms(p *corev1.Pod) bool {
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			return true
		}
	}
	a := p.Spec.Affinity
	return a != nil && (a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0)
}

// keptAway says whether any pod's required anti-affinity could concern this one.
func (k *kinds) keptAway(p *corev1.Pod) bool {
	return slices.ContainsFunc(k.selectors.anti, func(s labels.Selector) bool { return s.Matches(labels.Set(p.Labels)) })
}

func hostPorts(p *corev1.Pod) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				out = append(out, corev1.ContainerPort{HostPort: port.HostPort, Protocol: port.Protocol, HostIP: port.HostIP})
			}
		}
	}
	for i := range p.Spec.Containers {
		add(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if r := p.Spec.InitContainers[i].RestartPolicy; r != nil && *r == corev1.ContainerRestartPolicyAlways {
			add(&p.Spec.InitContainers[i])
		}
	}
	return out
}

// usesVolumes says whether any volume is one that the volume plugins look at.
func usesVolumes(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.GCEPersistentDisk != nil ||
			v.AWSElasticBlockStore != nil || v.RBD != nil || v.ISCSI != nil || v.AzureDisk != nil ||
			v.Cinder != nil || v.VsphereVolume != nil || v.CSI != nil
	})
}
