package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/snapshot"
)

// Gang is a set of pods that start together or not at all, or one ordinary pod.
type Gang struct {
	Namespace, Name string
	// Source is the system that says so: "Pod" for an ordinary pod.
	Source string
	// Pending wait for a node, ordered by creation and name. Bound have one.
	Pending, Bound []*corev1.Pod
	// Min is the number of pods, bound ones included, below which nothing starts.
	Min int
	// Required is the node label of which all members must share one value; "" for none.
	Required string
	Priority int32
	Created  time.Time
	// Held says why the gang is not to be placed now; nil when it may be.
	Held *v1alpha1.Reason
}

// Definition is what a source knows about the gang of a pod.
type Definition struct {
	Namespace, Name string
	Min             int
	Required        string
	// Priority overrides that of the pods where the system sets one.
	Priority *int32
	// Created is the age of the gang's own object; zero: that of its oldest pod.
	Created time.Time
	// Ordinary: the object groups pods without making a gang of them.
	Ordinary bool
	// Missing names an object without which the scheduler holds the pods back.
	Missing string
}

// source is one system that expresses gangs.
type source struct {
	name string
	// find returns the gang of a pod, or false when the pod carries nothing of the system.
	find func(*index, *corev1.Pod) (Definition, bool)
}

// sources in order of precedence: the scheduler's own API first, then what controllers
// above it express. Each further system is one more file and one more line here.
func sources() []source {
	return []source{
		{name: "PodGroup", find: podGroup},
		{name: "Job", find: indexedJob},
	}
}

// Key is namespace/name.
func (g *Gang) Key() string { return g.Namespace + "/" + g.Name }

// Single says whether the gang is one ordinary pod.
func (g *Gang) Single() bool { return g.Source == sourcePod }

// Need is the number of pending members without which nothing of the gang starts.
func (g *Gang) Need() int { return max(0, g.Min-len(g.Bound)) }

const sourcePod = "Pod"

// Pending returns the gangs with at least one pending pod, in the order in which they
// are served: priority, then creation, then size (larger first), then key. A pod is
// pending when it has no node, is not terminating and has not ended; pods of DaemonSets
// are none of ours, they belong to their node.
func Pending(s *snapshot.Snapshot) ([]Gang, []string) {
	idx := newIndex(s)
	found := map[string]*collected{}
	var groups []*collected
	pods := s.Pods()
	out := make([]Gang, 0, len(pods))
	for i, p := range pods {
		if snapshot.Ended(p) || owner(p, "DaemonSet") != "" {
			continue
		}
		d, src := idx.definition(p)
		if src == sourcePod {
			if p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
				out = append(out, ordinary(pods[i:i+1:i+1]))
			}
			continue
		}
		key := src + " " + d.Namespace + "/" + d.Name
		c, ok := found[key]
		if !ok {
			c = &collected{Gang: newGang(d, src)}
			found[key] = c
			groups = append(groups, c)
		}
		c.add(p)
	}
	for _, c := range groups {
		if len(c.Pending) > 0 {
			c.finish()
			out = append(out, c.Gang)
		}
	}
	slices.SortFunc(out, byOrder)
	return out, idx.warnings()
}

// ordinary is the gang of one pod.
func ordinary(pod []*corev1.Pod) Gang {
	p := pod[0]
	g := Gang{Namespace: p.Namespace, Name: p.Name, Source: sourcePod, Pending: pod, Min: 1, Priority: priorityOf(p), Created: p.CreationTimestamp.Time}
	if len(p.Spec.SchedulingGates) > 0 {
		g.Held = &v1alpha1.Reason{Code: v1alpha1.SchedulingGated, Object: g.Key(), Text: gateText(pod)}
	}
	return g
}

// collected is a gang whose pods are still being read.
type collected struct {
	Gang
	gated []*corev1.Pod
}

func (c *collected) add(p *corev1.Pod) {
	switch {
	case p.DeletionTimestamp != nil: // on its way out: neither waits nor counts
	case p.Spec.NodeName != "":
		c.Bound = append(c.Bound, p)
	default:
		c.Pending = append(c.Pending, p)
		if len(p.Spec.SchedulingGates) > 0 {
			c.gated = append(c.gated, p)
		}
	}
}

func newGang(d Definition, src string) Gang {
	g := Gang{Namespace: d.Namespace, Name: d.Name, Source: src, Min: d.Min, Required: d.Required, Created: d.Created}
	if d.Priority != nil {
		g.Priority = *d.Priority
	}
	if d.Missing != "" {
		g.Held = &v1alpha1.Reason{Code: v1alpha1.GangIncomplete, Object: g.Key(), Text: d.Missing}
	}
	if d.Priority == nil {
		g.Priority = unset
	}
	return g
}

// unset is below every priority that a pod can have.
const unset = int32(-1 << 31)

// finish settles what depends on all pods: order, age, priority, and whether the gang
// is complete.
func (c *collected) finish() {
	slices.SortFunc(c.Pending, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareNatural(a.Name, b.Name))
	})
	if c.Created.IsZero() {
		c.Created = c.Pending[0].CreationTimestamp.Time
	}
	if c.Priority == unset {
		for _, p := range c.Pending {
			c.Priority = max(c.Priority, priorityOf(p))
		}
	}
	if c.Held != nil {
		return
	}
	ready := len(c.Pending) - len(c.gated)
	switch {
	case len(c.gated) > 0 && (ready+len(c.Bound) < c.Min || ready == 0):
		c.Held = &v1alpha1.Reason{Code: v1alpha1.SchedulingGated, Object: c.Key(), Text: gateText(c.gated)}
	case ready+len(c.Bound) < c.Min:
		c.Held = &v1alpha1.Reason{Code: v1alpha1.GangIncomplete, Object: c.Key(),
			Text: fmt.Sprintf("needs %d pods to start, %d exist", c.Min, ready+len(c.Bound))}
	case len(c.gated) > 0:
		c.Pending = slices.DeleteFunc(c.Pending, func(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 })
	}
}

func gateText(gated []*corev1.Pod) string {
	var names []string
	for _, p := range gated {
		for _, gate := range p.Spec.SchedulingGates {
			names = append(names, gate.Name)
		}
	}
	slices.Sort(names)
	have := fmt.Sprintf("%d pods have", len(gated))
	if len(gated) == 1 {
		have = "1 pod has"
	}
	return fmt.Sprintf("%s scheduling gates: %s", have, strings.Join(slices.Compact(names), ", "))
}

func priorityOf(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// byOrder serves
//  1. the higher priority,
//  2. then the older,
//  3. then the larger,
//  4. then by namespace and name, digits as numbers, and source.
func byOrder(a, b Gang) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		a.Created.Compare(b.Created),
		cmp.Compare(len(b.Pending), len(a.Pending)),
		strings.Compare(a.Namespace, b.Namespace),
		compareNatural(a.Name, b.Name),
		strings.Compare(a.Source, b.Source),
	)
}

// compareNatural compares names with their digit runs as numbers: worker-9 before
// worker-10. Equal only for equal strings.
func compareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if d := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); d != 0 {
				return d
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// owner returns the name of the pod's controller of this kind, or "".
func owner(p *corev1.Pod, kind string) string {
	if o := metav1.GetControllerOf(p); o != nil && o.Kind == kind {
		return o.Name
	}
	return ""
}
