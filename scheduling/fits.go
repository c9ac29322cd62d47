package scheduling

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

// Fits says whether one more pod of p's kind may run on the node now. A pod that a plugin
// cannot make sense of, or that uses ResourceClaims, fits nowhere, and Refusals says why.
func (s *Session) Fits(p Pod, node int) (bool, error) {
	ok, err := s.fits(p, node)
	return ok, s.breaks(p.Kind, err)
}

// breaks remembers that pods of the kind are broken, so that they alone suffer, and lets
// every other error pass.
func (s *Session) breaks(kind int, err error) error {
	if err == nil {
		return nil
	}
	var broken *kubesched.PodError
	if !errors.As(err, &broken) {
		return err
	}
	if s.broken[kind] == nil {
		s.broken[kind] = broken
	}
	return nil
}

// isBroken says whether a plugin could make no sense of pods of the kind.
func (s *Session) isBroken(kind int) bool { return s.broken[kind] != nil }

func (s *Session) fits(p Pod, node int) (bool, error) {
	if s.isBroken(p.Kind) || s.Nodes[node].closed {
		return false, nil
	}
	if s.plugins {
		if ok, err := s.fitsPlugins(p, node); err != nil || !ok {
			return false, err
		}
		return s.devicesFit(p, node)
	}
	n := &s.Nodes[node]
	kind := &s.Kinds[p.Kind]
	if !n.Free.Holds(kind.Request) {
		return false, nil
	}
	ok, err := s.allowed(p.Kind, n.shape)
	if err == nil && ok && kind.plugins {
		ok, err = s.fitsPlugins(p, node)
	}
	if err != nil || !ok {
		return false, err
	}
	return s.devicesFit(p, node)
}

// Allowed says whether the node's labels and taints let the kind in, whatever runs there.
func (s *Session) Allowed(kind, node int) (bool, error) {
	if s.Nodes[node].closed {
		return false, nil
	}
	return s.allowed(kind, s.Nodes[node].shape)
}

func (s *Session) allowed(kind, shape int) (bool, error) {
	r, err := s.staticRefusals(kind, shape)
	return len(r) == 0 && s.broken[kind] == nil, err
}

func (s *Session) staticRefusals(kind, shape int) ([]kubesched.Refusal, error) {
	if r, ok := s.static[pair{kind, shape}]; ok {
		return r, nil
	}
	r, err := s.kube.Static(s.Kinds[kind].Pod, s.shapes.nodes[shape])
	if err = s.breaks(kind, err); err == nil {
		s.static[pair{kind, shape}] = r
	}
	return r, err
}

// fitsPlugins asks every filter plugin about this pod and node. Pods of one kind share a
// cycle, which is told of each pod that is bound meanwhile; not so pods with volumes,
// because what is reserved for one cycle is news to the others.
func (s *Session) fitsPlugins(p Pod, node int) (bool, error) {
	b, err := s.begin(p)
	if err != nil || b.refusal != nil {
		return false, err
	}
	r, err := b.cycle.Filter(s.Nodes[node].Name)
	return r == nil && err == nil, err
}

func (s *Session) begin(p Pod) (begun, error) {
	if b, ok := s.cycles[p.Kind]; ok {
		return b, nil
	}
	if s.lastOf == p.Pod {
		return s.last, nil
	}
	cycle, refusal, err := s.kube.Begin(p.Pod)
	if err != nil {
		return begun{}, err
	}
	b := begun{cycle: cycle, refusal: refusal}
	if s.plugins || usesVolumes(p.Pod) {
		s.last, s.lastOf = b, p.Pod
		return b, nil
	}
	if len(s.cycles) >= mostCycles {
		clear(s.cycles)
	}
	s.cycles[p.Kind] = b
	return b, nil
}

// KeptOff says why no existing node lets the kind in, whatever is free there; none when
// one does, or where there are no nodes.
func (s *Session) KeptOff(kind int) ([]v1alpha1.Reason, error) {
	if p := s.Kinds[kind].problem; p != "" {
		return []v1alpha1.Reason{{Code: v1alpha1.DevicesUnavailable, Text: p}}, nil
	}
	var out []v1alpha1.Reason
	seen := map[int]bool{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.State == New || n.closed || seen[n.shape] {
			continue
		}
		seen[n.shape] = true
		refusals, err := s.staticRefusals(kind, n.shape)
		if err != nil || len(refusals) == 0 {
			return nil, err
		}
		for _, r := range refusals {
			text := strings.Join(r.Reasons, ", ")
			if r.Plugin == kubesched.TaintToleration {
				text = s.describe(kind, s.shapes.nodes[n.shape], r)
			}
			out = append(out, v1alpha1.Reason{Code: codeOf(r.Plugin), Text: text})
		}
	}
	return out, nil
}

// TemplateHolds says whether an empty new node of the group holds a pod of the kind, as
// far as labels, taints, resources and devices go.
func (s *Session) TemplateHolds(kind, group int) (bool, error) {
	t := &s.templates[group]
	if !t.free.Holds(s.Kinds[kind].Request) {
		return false, nil
	}
	ok, err := s.allowed(kind, t.shape)
	if err != nil || !ok || !s.Kinds[kind].asksDevices() {
		return ok, err
	}
	g, problem := s.allocate(kind, s.templatePlace(group))
	return problem == "" && g.outcome.Fits, nil
}

// TemplateFree is what an empty new node of the group offers. Callers must not change it.
func (s *Session) TemplateFree(group int) Vector { return s.templates[group].free }

// Refusals says why an empty new node of the group does not hold a pod of the kind: each
// rule that refuses, with its numbers; none when it fits.
func (s *Session) Refusals(kind, group int) ([]v1alpha1.Reason, error) {
	t, name := &s.templates[group], s.Groups[group].Name
	if s.isBroken(kind) {
		b := s.broken[kind]
		return []v1alpha1.Reason{{Code: v1alpha1.InvalidPod, Object: name, Text: fmt.Sprintf("%s: %v", b.Plugin, b.Err)}}, nil
	}
	var out []v1alpha1.Reason
	if text := s.whyNoDevices(kind, group); text != "" {
		out = append(out, v1alpha1.Reason{Code: v1alpha1.DevicesUnavailable, Object: name, Text: text})
	}
	out = append(out, s.shortOf(kind, group)...)
	static, err := s.staticRefusals(kind, t.shape)
	if err != nil {
		return nil, err
	}
	for _, r := range static {
		out = append(out, v1alpha1.Reason{Code: codeOf(r.Plugin), Object: name, Text: s.describe(kind, t.object, r)})
	}
	if !s.Kinds[kind].plugins || len(out) > 0 {
		return out, nil
	}
	dynamic, err := s.refusedOnFresh(kind, group)
	for _, r := range dynamic {
		out = append(out, v1alpha1.Reason{Code: codeOf(r.Plugin), Object: name, Text: strings.Join(r.Reasons, ", ")})
	}
	return out, err
}

// shortOf lists the resources of which even an empty node offers too little.
func (s *Session) shortOf(kind, group int) []v1alpha1.Reason {
	var short []string
	free := s.templates[group].free
	for i, want := range s.Kinds[kind].Request[:len(s.dims)] {
		if want > 0 && want > free[i] {
			short = append(short, fmt.Sprintf("%s: wants %s, a new node offers %s", s.dims[i], amount(s.dims[i], want, true), amount(s.dims[i], max(free[i], 0), false)))
		}
	}
	if len(short) == 0 {
		return nil
	}
	return []v1alpha1.Reason{{Code: v1alpha1.InsufficientResources, Object: s.Groups[group].Name, Text: strings.Join(short, "; ")}}
}

func (s *Session) refusedOnFresh(kind, group int) ([]kubesched.Refusal, error) {
	mark := s.Mark()
	node := s.Open(group, nil)
	y, r, err := s.kube.Begin(s.Kinds[kind].Pod)
	var out []kubesched.Refusal
	switch {
	case err != nil:
	case r != nil:
		out = append(out, *r)
	default:
		out, err = y.FilterAll(s.Nodes[node].Name)
	}
	err = s.breaks(kind, err)
	if b := s.broken[kind]; b != nil {
		out = append(out, kubesched.Refusal{Plugin: b.Plugin, Reasons: []string{b.Err.Error()}})
	}
	if back := s.Rollback(mark); err == nil {
		err = back
	}
	return out, err
}

// describe adds what the plugin does not say: which taint, which selector.
func (s *Session) describe(kind int, n *corev1.Node, r kubesched.Refusal) string {
	p := s.Kinds[kind].Pod
	switch r.Plugin {
	case kubesched.TaintToleration:
		if n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
			return "the node is cordoned"
		}
		return "does not tolerate " + strings.Join(kubesched.Untolerated(p, n.Spec.Taints), ", ")
	case kubesched.NodeAffinity:
		var wants []string
		for _, k := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
			if have, ok := n.Labels[k]; k == corev1.LabelHostname {
				wants = append(wants, fmt.Sprintf("wants the node called %s; a new node has a name of its own", p.Spec.NodeSelector[k]))
			} else if !ok {
				wants = append(wants, fmt.Sprintf("wants label %s=%s, new nodes have none", k, p.Spec.NodeSelector[k]))
			} else if have != p.Spec.NodeSelector[k] {
				wants = append(wants, fmt.Sprintf("wants label %s=%s, new nodes have %s", k, p.Spec.NodeSelector[k], have))
			}
		}
		if len(wants) > 0 {
			return strings.Join(wants, "; ")
		}
		return "required node affinity does not match the labels of new nodes"
	case kubesched.NodeName:
		return fmt.Sprintf("asks for node %s by name", p.Spec.NodeName)
	}
	return strings.Join(r.Reasons, ", ")
}

// codeOf maps the scheduler's rule to ours.
func codeOf(plugin string) v1alpha1.Code {
	switch plugin {
	case kubesched.NodeResourcesFit:
		return v1alpha1.InsufficientResources
	case kubesched.NodeAffinity, kubesched.NodeName:
		return v1alpha1.NodeSelectorMismatch
	case kubesched.TaintToleration, kubesched.NodeUnschedulable:
		return v1alpha1.TaintNotTolerated
	case kubesched.NodePorts:
		return v1alpha1.HostPortConflict
	case kubesched.InterPodAffinity:
		return v1alpha1.PodAffinity
	case kubesched.PodTopologySpread:
		return v1alpha1.PodTopologySpread
	case kubesched.VolumeBinding, kubesched.VolumeRestrictions, kubesched.VolumeZone, kubesched.NodeVolumeLimits:
		return v1alpha1.VolumeConflict
	}
	return v1alpha1.InvalidPod
}

// amount writes a number of a dimension for people: cores with decimals, bytes to a tenth
// of the largest binary unit that they fill, rounded up for what is wanted and down for
// what is offered, so that the first always reads as more; else units.
//
// Worked example: 7910m of cpu is 7.91; 28745Mi is 28Gi on offer and 28.1Gi wanted.
func amount(name corev1.ResourceName, n int64, up bool) string {
	switch name {
	case corev1.ResourceCPU:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%03d", n/1000, n%1000), "0"), ".")
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		size, unit := int64(1), ""
		for _, next := range []string{"Ki", "Mi", "Gi"} {
			if n/size < 1024 {
				break
			}
			size, unit = size*1024, next
		}
		whole, part := n/size, n%size
		tenths := part * 10 / size
		if up && part*10%size > 0 {
			tenths++
		}
		whole, tenths = whole+tenths/10, tenths%10
		if tenths == 0 {
			return fmt.Sprintf("%d%s", whole, unit)
		}
		return fmt.Sprintf("%d.%d%s", whole, tenths, unit)
	}
	return fmt.Sprint(n)
}

// Asks writes what one pod of the kind asks for, for people: "8 cpu, 64Gi memory, 8
// nvidia.com/gpu".
func (s *Session) Asks(kind int) string {
	var out []string
	for i, n := range s.Kinds[kind].Request[:len(s.dims)] {
		if n > 0 && i != Pods {
			out = append(out, amount(s.dims[i], n, true)+" "+string(s.dims[i]))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
