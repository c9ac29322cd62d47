package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/estimator"
	"tidegate.io/autoscaler/scheduling"
)

// existing stands for no group: nodes that exist or are on their way.
const existing = -1

// use is what the plan gives a unit.
type use struct {
	// pods by the group whose new nodes they are on, or existing.
	pods map[int]int
	// nodes that the plan buys with pods of the unit on them, by group.
	nodes map[int]int64
	// domain that they share, and "" without a key.
	domain string
	placed int
}

func (d *decision) use(u *scheduling.Unit, where map[*corev1.Pod]int) use {
	out := use{pods: map[int]int{}, nodes: map[int]int64{}, placed: len(where)}
	seen := map[int]bool{}
	for _, n := range where {
		node := &d.session.Nodes[n]
		group := existing
		if node.State == scheduling.New {
			group = node.Group
			if !seen[n] {
				out.nodes[group]++
			}
		}
		seen[n] = true
		out.pods[group]++
		if u.Required != "" {
			out.domain = node.Labels[u.Required]
		}
	}
	return out
}

// explained says of each option whether the plan uses it, and if not, why not.
func (d *decision) explained(unit int, options []estimator.Option, where map[*corev1.Pod]int) []ExplainedOption {
	u := &d.session.Units[unit]
	in := d.use(u, where)
	// 1. A group that would open nothing serves with existing nodes, which have an option.
	options = slices.DeleteFunc(options, func(o estimator.Option) bool {
		return u.Required == "" && o.Group != existing && o.Serves && o.Nodes == 0
	})
	// 2. The options that the plan uses, and ways of the plan that are no option of the
	// gang by itself: new nodes although existing ones would do.
	var out []ExplainedOption
	chosen := d.choose(u, options, in)
	for _, g := range slices.Sorted(maps.Keys(in.nodes)) {
		if !slices.ContainsFunc(options, func(o estimator.Option) bool { return o.Group == g && chosen(o) }) && in.domain == "" {
			out = append(out, d.onlyInPlan(u, g, in))
		}
	}
	// 3. The cost of the plan's way, to compare the others with.
	best := d.cheapest(options, chosen, in)
	// 4. A message for each.
	refusal := d.refusal(unit)
	for _, o := range options {
		x := ExplainedOption{Domain: o.Domain, NewDomain: o.Fresh, Serves: o.Serves, Pods: o.Pods, Nodes: o.Nodes, CostPerHour: o.Cost, Chosen: chosen(o)}
		if o.Group != existing && (o.Nodes > 0 || o.Fresh || !o.Serves) {
			x.NodeGroup = d.groups[o.Group].Name
		}
		switch {
		case x.Chosen:
			x.Message = chosenWords(u, o, in)
		case !o.Serves:
			first, text := v1alpha1.First(o.Reasons)
			x.Reason, x.Message = first.Code, text
		case u.Held != nil:
			x.Message = heldWords(u, o)
		case in.placed == 0:
			x.Reason, x.Message = d.crowdedOut(o, refusal)
		default:
			x.Reason, x.Message = d.outdone(o, best)
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b ExplainedOption) int {
		return cmp.Or(
			-boolCompare(a.Chosen, b.Chosen),                  // 1. What the plan uses.
			-boolCompare(a.Serves, b.Serves),                  // 2. What serves.
			cmp.Compare(a.CostPerHour, b.CostPerHour),         // 3. What costs less.
			boolCompare(a.NodeGroup != "", b.NodeGroup != ""), // 4. What exists; then the order of the groups.
		)
	})
	return out
}

// choose tells the options that the plan uses. Domains that do not exist yet have other
// names in the plan, where other gangs may have opened some before.
func (d *decision) choose(u *scheduling.Unit, options []estimator.Option, in use) func(estimator.Option) bool {
	if u.Required == "" {
		return func(o estimator.Option) bool { return in.pods[o.Group] > 0 }
	}
	begun := slices.ContainsFunc(options, func(o estimator.Option) bool { return !o.Fresh && o.Domain != "" && o.Domain == in.domain })
	return func(o estimator.Option) bool {
		switch {
		case in.placed == 0 || o.Domain == "":
			return false
		case begun:
			return !o.Fresh && o.Domain == in.domain
		}
		return o.Fresh && in.pods[o.Group] > 0
	}
}

// onlyInPlan is the way of the plan over new nodes of a group, where the gang by itself
// would open none. The nodes may hold others, too.
func (d *decision) onlyInPlan(u *scheduling.Unit, group int, in use) ExplainedOption {
	return ExplainedOption{
		NodeGroup: d.groups[group].Name, Serves: in.pods[group] >= u.Need(), Pods: min(in.pods[group], max(u.Need(), 1)),
		Nodes: in.nodes[group], CostPerHour: d.groups[group].Price * configv1alpha1.MicroDollars(in.nodes[group]),
		Chosen: true, Message: partWords(u, in.pods[group]),
	}
}

// way is a way of serving a gang, as objectives compare it.
type way struct {
	cost     configv1alpha1.MicroDollars
	nodes    int64
	priority int64
}

func (d *decision) wayOf(o estimator.Option) way {
	w := way{cost: o.Cost, nodes: o.Nodes}
	if o.Group != existing {
		w.priority = d.groups[o.Group].Priority
	}
	return w
}

// cheapest is what the plan's way costs the gang by itself; where that is no single
// option, it is what the nodes cost that it is on.
func (d *decision) cheapest(options []estimator.Option, chosen func(estimator.Option) bool, in use) way {
	var best *way
	for _, o := range options {
		if w := d.wayOf(o); o.Serves && chosen(o) && (o.Group != existing || len(in.nodes) == 0) && (best == nil || w.cost < best.cost) {
			best = &w
		}
	}
	if best != nil {
		return *best
	}
	var sum way
	for i, g := range slices.Sorted(maps.Keys(in.nodes)) {
		sum.cost += d.groups[g].Price * configv1alpha1.MicroDollars(in.nodes[g])
		sum.nodes += in.nodes[g]
		if i == 0 || d.groups[g].Priority < sum.priority {
			sum.priority = d.groups[g].Priority
		}
	}
	return sum
}

// chosenWords say how much of the gang the plan places this way. A group may be in the plan
// although it could not serve by itself: what grows for others may have room, and several
// groups may share a gang.
func chosenWords(u *scheduling.Unit, o estimator.Option, in use) string {
	if u.Required != "" {
		return partWords(u, in.placed)
	}
	text := partWords(u, in.pods[o.Group])
	switch {
	case o.Group == existing && o.Serves && len(in.nodes) > 0:
		text += "; the room for the others goes to gangs that need it more"
	case o.Group != existing && !o.Serves:
		first, why := v1alpha1.First(o.Reasons)
		if in.pods[o.Group] == in.placed {
			text += ", with room that others leave"
		}
		text += fmt.Sprintf("; by itself: %s: %s", first.Code, why)
	}
	return text
}

func partWords(u *scheduling.Unit, pods int) string {
	if pods == len(u.Pods) {
		return "in the plan"
	}
	return fmt.Sprintf("in the plan, for %d of %s", pods, count(len(u.Pods), "pod"))
}

// priced says what an option needs: "with 2 new nodes for $8.50 an hour".
func priced(o estimator.Option) string {
	if o.Nodes == 0 {
		return "without a new node"
	}
	return fmt.Sprintf("with %s for %s an hour", count(o.Nodes, "new node"), o.Cost.Dollars())
}

// heldWords are about an option of a gang that waits: nothing speaks against it but that.
func heldWords(u *scheduling.Unit, o estimator.Option) string {
	if u.Held.Code == v1alpha1.GangIncomplete {
		exist := "exist"
		if len(u.Pods) == 1 {
			exist = "exists"
		}
		return fmt.Sprintf("would serve the %s that %s %s once the gang is complete", count(len(u.Pods), "pod"), exist, priced(o))
	}
	if u.Held.Code == v1alpha1.SchedulingGated {
		return "would serve " + priced(o) + " once the scheduling gates are gone"
	}
	return "would serve " + priced(o) + " once it may be placed"
}

// crowdedOut is why an option does not serve a gang that gets nothing although it would
// serve it by itself: the plan's own reason of that group.
func (d *decision) crowdedOut(o estimator.Option, r *estimator.Refusal) (v1alpha1.Code, string) {
	text := "would serve it by itself " + priced(o)
	if o.Nodes == 0 || r == nil {
		return "", text + "; in the plan that room goes to gangs that come before it"
	}
	reason := d.groupReasons(*r)[o.Group]
	return reason.Reason, text + "; in the plan: " + reason.Message
}

// outdone is why the plan serves a gang in another way than one that serves it as well.
func (d *decision) outdone(o estimator.Option, best way) (v1alpha1.Code, string) {
	text := "would serve it by itself"
	if o.Nodes > 0 {
		text += " " + priced(o)
	}
	mine := d.wayOf(o)
	switch objective := d.configuration.Objective; {
	case mine.cost > best.cost:
		return v1alpha1.HigherCost, fmt.Sprintf("%s; the plan's way costs %s", text, best.cost.Dollars())
	case objective == configv1alpha1.ObjectiveNodes && mine.nodes > best.nodes:
		return "", fmt.Sprintf("%s; the plan's way needs %s, and the objective is nodes", text, count(best.nodes, "new node"))
	case objective == configv1alpha1.ObjectivePriority && o.Nodes > 0 && mine.priority < best.priority:
		return "", fmt.Sprintf("%s; its priority is %d, that of the plan's way %d", text, mine.priority, best.priority)
	case mine.cost == best.cost && mine.nodes == best.nodes && o.Nodes == 0:
		return "", text + " without a new node, as the plan's way does"
	case mine.cost == best.cost:
		return "", text + ", no less than the plan's way"
	case o.Nodes == 0:
		return "", text + "; in the plan that room goes to gangs that need it more"
	case d.groups[o.Group].Left(d.now)-int64(d.session.Opened(o.Group)) < o.Nodes:
		return "", text + "; in the plan the group grows for other gangs, and has no room for that"
	}
	return "", text + "; for all gangs together the plan does better"
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
