package scheduling

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// shapes interns nodes by what the static plugins can see of them: taints, whether they
// are unschedulable, and the labels that any pending pod's selectors read.
type shapes struct {
	keys   []string
	byName bool // some pod selects nodes by name
	// perNode: nodes of one template may differ in shape, by name or host name.
	perNode bool
	index   map[string]int
	nodes   []*corev1.Node // one for each shape
	buf     bytes.Buffer
}

// newShapes reads the selectors of all kinds; with preferences also those that only move
// a node's score.
func newShapes(kinds []Kind, preferences bool) *shapes {
	keys := map[string]bool{}
	s := &shapes{index: map[string]int{}}
	for i := range kinds {
		p := kinds[i].Pod
		s.byName = s.byName || p.Spec.NodeName != ""
		for k := range p.Spec.NodeSelector {
			keys[k] = true
		}
		if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
			continue
		}
		a := p.Spec.Affinity.NodeAffinity
		if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for _, t := range r.NodeSelectorTerms {
				s.readTerm(t, keys)
			}
		}
		if preferences {
			for _, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
				s.readTerm(t.Preference, keys)
			}
		}
	}
	s.keys = slices.Sorted(maps.Keys(keys))
	s.perNode = s.byName || keys[corev1.LabelHostname]
	return s
}

func (s *shapes) readTerm(t corev1.NodeSelectorTerm, keys map[string]bool) {
	for _, e := range t.MatchExpressions {
		keys[e.Key] = true
	}
	s.byName = s.byName || len(t.MatchFields) > 0
}

func (s *shapes) of(n *corev1.Node) int {
	b := &s.buf
	b.Reset()
	if n.Spec.Unschedulable {
		b.WriteByte('u')
	}
	if s.byName {
		b.WriteByte('|')
		b.WriteString(n.Name)
	}
	for _, t := range n.Spec.Taints {
		fmt.Fprintf(b, "|%s=%s:%s", t.Key, t.Value, t.Effect)
	}
	for _, k := range s.keys {
		if v, ok := n.Labels[k]; ok {
			fmt.Fprintf(b, "|%s=%s", k, v)
		}
	}
	if i, ok := s.index[string(b.Bytes())]; ok {
		return i
	}
	s.index[b.String()] = len(s.nodes)
	s.nodes = append(s.nodes, n)
	return len(s.nodes) - 1
}
