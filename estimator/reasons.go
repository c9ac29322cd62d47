package estimator

import (
	"fmt"
	"slices"

	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
)

// explain gives each refused unit, for every group, all the reasons that hold at the end
// of the decision, in order of precedence. Units alike share them.
func (e *estimator) explain(refused []Refusal) error {
	slices.SortFunc(refused, func(a, b Refusal) int { return a.Unit - b.Unit })
	known := map[string][][]v1alpha1.Reason{}
	for i := range refused {
		u := &e.s.Units[refused[i].Unit]
		sig := e.signature(u)
		if len(refused[i].Pods) < len(u.Pods) {
			sig = fmt.Sprintf("%s, %d of it", sig, len(refused[i].Pods))
		}
		groups, ok := known[sig]
		if !ok {
			pods := e.minimum(u)
			if len(refused[i].Pods) < len(u.Pods) {
				pods = refused[i].Pods[:1]
			}
			for g := range e.s.Groups {
				r, err := e.reasons(u, pods, g)
				if err != nil {
					return err
				}
				groups = append(groups, r)
			}
			known[sig] = groups
		}
		refused[i].Groups = groups
	}
	e.result.Refused = refused
	return nil
}

// reasons are the rules, in order of precedence, for which a group cannot serve pods that
// have to be placed together. Each is one function; the list is never empty for a unit
// that was refused.
func (e *estimator) reasons(u *scheduling.Unit, pods []scheduling.Pod, group int) ([]v1alpha1.Reason, error) {
	var out []v1alpha1.Reason
	template, err := e.templateReasons(pods, group)
	if err != nil {
		return nil, err
	}
	needs := e.nodesNeeded(pods, group, e.usableNodes(u))
	out = append(out, e.maxSize(needs, group)...)
	out = append(out, template...)
	out = append(out, e.topologyReasons(u, pods, group)...)
	out = append(out, e.acceleratorsOnly(pods, group)...)
	out = append(out, e.s.Groups[group].Blocked(e.Now)...)
	if needs > 0 {
		out = append(out, e.exceeded(group, roundUp(needs, e.s.Groups[group].Unit))...)
	}
	if len(out) > 0 {
		return out, nil
	}
	if e.Exclude[ID(u)] {
		return []v1alpha1.Reason{{Code: v1alpha1.MaxSize, Object: e.s.Groups[group].Name,
			Text: "within the limits, pods that the scheduler serves first would take its place on any new node"}}, nil
	}
	if u.Required != "" {
		return []v1alpha1.Reason{{Code: v1alpha1.TopologyDomainTooSmall, Object: e.s.Groups[group].Name,
			Text: fmt.Sprintf("no one %s has room for it beside what was placed before it", u.Required)}}, nil
	}
	return e.lastResort(pods, group)
}

// usableNodes are the session's nodes that lessen what a unit needs: all, or none for a
// topology key, because a new domain starts empty, and for pods that look at other pods,
// because room alone says little.
func (e *estimator) usableNodes(u *scheduling.Unit) []int {
	if u.Required != "" || !e.packs(u) {
		return nil
	}
	all := make([]int, len(e.s.Nodes))
	for i := range all {
		all[i] = i
	}
	return all
}

func (e *estimator) maxSize(needs int64, group int) []v1alpha1.Reason {
	g := &e.s.Groups[group]
	left := max(g.Left(e.Now)-int64(e.s.Opened(group)), 0)
	if needs <= 0 || roundUp(needs, g.Unit) <= left {
		return nil
	}
	most, dated := g.MostNow(e.Now)
	text := fmt.Sprintf("needs %s, %d left (maximum %d, size %d", nodes(roundUp(needs, g.Unit)), left, most, g.Target)
	if dated {
		text = fmt.Sprintf("needs %s, %d left (%d on its present date, size %d", nodes(roundUp(needs, g.Unit)), left, most, g.Target)
	}
	if n := e.s.Opened(group); n > 0 {
		text += fmt.Sprintf(", %d bought by this plan", n)
	}
	return []v1alpha1.Reason{{Code: v1alpha1.MaxSize, Object: g.Name, Text: text + ")"}}
}

// templateReasons are what an empty new node refuses, for each kind of pod once.
func (e *estimator) templateReasons(pods []scheduling.Pod, group int) ([]v1alpha1.Reason, error) {
	var out []v1alpha1.Reason
	var seen []int
	for _, p := range pods {
		if slices.Contains(seen, p.Kind) {
			continue
		}
		seen = append(seen, p.Kind)
		r, err := e.s.Refusals(p.Kind, group)
		if err != nil {
			r = []v1alpha1.Reason{{Code: v1alpha1.InvalidPod, Object: e.s.Groups[group].Name, Text: err.Error()}}
		}
		out = append(out, r...)
	}
	return out, nil
}

func (e *estimator) topologyReasons(u *scheduling.Unit, pods []scheduling.Pod, group int) []v1alpha1.Reason {
	if u.Required == "" {
		return nil
	}
	name := e.s.Groups[group].Name
	if e.s.Domains.Level(group, u.Required) < 0 {
		return []v1alpha1.Reason{{Code: v1alpha1.TopologyNotPromised, Object: name,
			Text: fmt.Sprintf("all members must share one %s, which new nodes of the group do not promise", u.Required)}}
	}
	needs := e.nodesNeeded(pods, group, nil)
	if bound := e.boundDomains(u); bound != nil && len(bound) == 0 {
		return []v1alpha1.Reason{{Code: v1alpha1.TopologyDomainTooSmall, Object: name,
			Text: fmt.Sprintf("members run outside one common %s already, so the scheduler places no further one", u.Required)}}
	} else if len(u.Bound) > 0 {
		return []v1alpha1.Reason{{Code: v1alpha1.TopologyDomainTooSmall, Object: name,
			Text: fmt.Sprintf("%s in one %s already, which has no room for the rest", runs(len(u.Bound)), u.Required)}}
	}
	if size := e.s.Domains.Size(group, u.Required); needs > size {
		return []v1alpha1.Reason{{Code: v1alpha1.TopologyDomainTooSmall, Object: name,
			Text: fmt.Sprintf("needs %s in one %s, a domain of the group has %d", nodes(needs), u.Required, size)}}
	}
	return nil
}

// runs says how many members run: 1 member runs, 2 members run.
func runs(members int) string {
	if members == 1 {
		return "1 member runs"
	}
	return fmt.Sprintf("%d members run", members)
}

func (e *estimator) acceleratorsOnly(pods []scheduling.Pod, group int) []v1alpha1.Reason {
	g := &e.s.Groups[group]
	if g.AcceleratorCount == 0 || g.GrowsForAny || !slices.ContainsFunc(pods, func(p scheduling.Pod) bool { return !e.s.Kinds[p.Kind].AsksAccelerator }) {
		return nil
	}
	return []v1alpha1.Reason{{Code: v1alpha1.AcceleratorsOnly, Object: g.Name, Text: "grows only for pods that ask for an accelerator"}}
}

// lastResort plays the pods through on this group alone and names what keeps the first
// one off that finds no place: rules about other pods hold only between members.
func (e *estimator) lastResort(pods []scheduling.Pod, group int) ([]v1alpha1.Reason, error) {
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	defer func() { e.next = saved }()
	var out []v1alpha1.Reason
	for _, p := range pods {
		ok, err := e.insertOne(p, 1, []int{group})
		if err != nil {
			return nil, err
		}
		if !ok {
			if out, err = e.s.Refusals(p.Kind, group); err != nil {
				return nil, err
			}
			break
		}
	}
	if err := e.s.Rollback(mark); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		out = []v1alpha1.Reason{{Code: v1alpha1.MaxSize, Object: e.s.Groups[group].Name,
			Text: fmt.Sprintf("could serve a part; the whole does not fit beside what was placed before it (maximum %d, size %d, %d bought by this plan)",
				e.s.Groups[group].MaxSize, e.s.Groups[group].Target, e.s.Opened(group))}}
	}
	return out, nil
}
