package estimator

import (
	"fmt"
	"slices"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
)

// Option is one way of serving a unit by itself, on the cluster as the session has it.
type Option struct {
	// Group is the index of the group that grows; -1 for nodes that exist or are on their way.
	Group int
	// Domain is the topology domain, "" where the unit names no key.
	Domain string
	// Fresh: the domain would be a new one.
	Fresh bool
	// Serves: all the pods that must start together find a place.
	Serves bool
	// Pods are placed, of those that must start together.
	Pods int
	// Nodes must be bought, at Cost per hour in all.
	Nodes int64
	Cost  configv1alpha1.MicroDollars
	// Reasons say why it does not serve.
	Reasons []v1alpha1.Reason
}

// Options looks at every single way of serving the unit: what exists, each group alone,
// and with a topology key each domain. The session is left as it was.
func Options(in Input, unit int) ([]Option, error) {
	e := newEstimator(in)
	u := &e.s.Units[unit]
	pods := e.minimum(u)
	if u.Held == nil && len(pods) == 0 {
		return nil, nil
	}
	if u.Required != "" {
		return e.domainWays(u, pods)
	}
	out, err := e.way(u, pods, -1)
	if err != nil {
		return nil, err
	}
	all := []Option{out}
	for g := range e.s.Groups {
		o, err := e.way(u, pods, g)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// way serves the pods from what exists and from one group.
func (e *estimator) way(u *scheduling.Unit, pods []scheduling.Pod, group int) (Option, error) {
	o := Option{Group: group}
	only := []int{}
	if group >= 0 {
		only = append(only, group)
	}
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	stuck := -1 // the kind of the first pod that finds no place
	for _, p := range pods {
		ok, err := e.insertOne(p, int64(len(pods)-o.Pods), only)
		if err != nil {
			o.Reasons = []v1alpha1.Reason{{Code: v1alpha1.InvalidPod, Object: u.Key(), Text: err.Error()}}
			break
		}
		if ok {
			o.Pods++
		} else if stuck < 0 {
			stuck = p.Kind
		}
	}
	o.Serves = o.Pods == len(pods)
	if group >= 0 {
		o.Nodes = int64(e.s.Opened(group))
		o.Cost = e.s.Groups[group].Price * configv1alpha1.MicroDollars(o.Nodes)
	}
	e.next = saved
	if err := e.s.Rollback(mark); err != nil || o.Serves || len(o.Reasons) > 0 {
		return o, err
	}
	if group < 0 {
		var err error
		if o.Reasons, err = e.s.KeptOff(stuck); err == nil && len(o.Reasons) == 0 {
			o.Reasons = []v1alpha1.Reason{{Code: v1alpha1.InsufficientResources, Text: fmt.Sprintf("nodes that exist hold %d of %s", o.Pods, count(len(pods), "pod"))}}
		}
		return o, err
	}
	var err error
	o.Reasons, err = e.reasons(u, pods, group)
	return o, err
}

// domainWays looks at each domain of the unit's key, then at groups that have none.
func (e *estimator) domainWays(u *scheduling.Unit, pods []scheduling.Pod) ([]Option, error) {
	var out []Option
	offered := make([]bool, len(e.s.Groups))
	mark := e.s.Mark()
	for _, d := range e.domainOptions(u, pods) {
		o := Option{Group: d.fresh, Domain: d.value, Fresh: d.fresh >= 0}
		for _, j := range d.joins {
			offered[j.group] = true
			if o.Group < 0 {
				o.Group = j.group
			}
		}
		before := e.total()
		var err error
		if o.Serves, err = e.fillDomain(&d, pods); err != nil {
			return nil, err
		}
		o.Pods = e.newlyPlaced(pods)
		for g := range e.s.Groups {
			o.Nodes += int64(e.s.Opened(g)) - before.first[g]
			o.Cost += e.s.Groups[g].Price * configv1alpha1.MicroDollars(int64(e.s.Opened(g))-before.first[g])
		}
		if err := e.s.Rollback(mark); err != nil {
			return nil, err
		}
		if !o.Serves && o.Fresh {
			if o.Reasons, err = e.reasons(u, pods, d.fresh); err != nil {
				return nil, err
			}
		} else if !o.Serves {
			o.Reasons = []v1alpha1.Reason{{Code: v1alpha1.TopologyDomainTooSmall, Object: d.value,
				Text: fmt.Sprintf("holds %d of %s, with %s that may join", o.Pods, count(len(pods), "pod"), nodes(o.Nodes))}}
		}
		out = append(out, o)
	}
	for g := range e.s.Groups {
		if offered[g] {
			continue
		}
		r, err := e.reasons(u, pods, g)
		if err != nil {
			return nil, err
		}
		out = append(out, Option{Group: g, Reasons: r})
	}
	return out, nil
}

// newlyPlaced counts which of the pods are on a node.
func (e *estimator) newlyPlaced(pods []scheduling.Pod) int {
	here := map[string]bool{}
	for _, p := range pods {
		here[p.Namespace+"/"+p.Name] = true
	}
	n := 0
	for i := range e.s.Nodes {
		for _, p := range e.s.Nodes[i].Placed {
			if here[p.Namespace+"/"+p.Name] {
				n++
			}
		}
	}
	return n
}
