package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// How much of a plan its table shows; -o json lists all.
const (
	mostPlacements    = 40
	mostWaiting       = 20
	mostUnschedulable = 20
)

// plan draws a plan: what is bought, who goes where, who waits, who gets nothing, cost.
func (v *view) plan(p *plan.Plan) {
	v.scaleUps(p)
	v.scaleDowns(p)
	v.placements(p)
	v.waiting(p)
	v.unschedulable(p)
	fmt.Fprintln(v.w)
	v.cost(p)
	if p.Wake != nil {
		fmt.Fprintf(v.w, "The answer may change by itself at %s (%s).\n", moment(*p.Wake), later(p.Time, *p.Wake))
	}
	if p.Stats != nil {
		v.stats(p.Stats)
	}
}

func (v *view) cost(p *plan.Plan) {
	c := p.Cost
	if c.After == c.Before {
		fmt.Fprintf(v.w, "Cost: %s now, unchanged by this plan.\n", sum(c.Before))
		return
	}
	change := "+" + sum(c.After-c.Before)
	if c.After < c.Before {
		change = sum(c.After - c.Before)
	}
	fmt.Fprintf(v.w, "Cost: %s now, %s with this plan (%s).\n", sum(c.Before), sum(c.After), change)
	if c.After <= c.LowerBound {
		fmt.Fprintln(v.w, "No plan that places the same pods could cost less.")
	} else if c.LowerBound > 0 {
		// Rounded up, so that the claim is never too strong.
		perMille := ((c.After-c.LowerBound)*1000 + c.LowerBound - 1) / c.LowerBound
		fmt.Fprintf(v.w, "No plan that places the same pods could cost less than %s; this one is at most %d.%d %% above the best.\n",
			sum(c.LowerBound), perMille/10, perMille%10)
	}
}

func (v *view) stats(s *plan.Stats) {
	note := ""
	if s.Truncated {
		note = " A search budget ran out: a better plan may exist."
	}
	v.wrapped("", fmt.Sprintf("Decided in %s: %s of %s, %s looked at, %s to check the plan.%s", s.Duration, plural(s.PendingPods, "pending pod"),
		plural(s.PodClasses, "kind"), plural(s.OptionsTried, "option"), plural(s.ProofPasses, "scheduler pass"), note))
}

func (v *view) scaleUps(p *plan.Plan) {
	if len(p.ScaleUps) == 0 {
		v.title("Nothing to buy at %s", moment(p.Time))
		return
	}
	v.title("To buy at %s", moment(p.Time))
	buyers := buyers(p)
	var rows []row
	for _, u := range p.ScaleUps {
		var domains []string
		for _, d := range u.Domains {
			domains = append(domains, fmt.Sprintf("%d in %s %s", d.Nodes, short(d.Key), d.Domain))
		}
		who := list(buyers[u.NodeGroup], 3)
		if who == "" {
			who = u.Reason
		}
		ready := "-"
		if u.ReadyBy != nil {
			ready = later(p.Time, *u.ReadyBy)
		}
		rows = append(rows, row{u.NodeGroup, fmt.Sprintf("%d→%d", u.From, u.To), fmt.Sprintf("+%d", u.Add), price(u.PricePerHour),
			sum(u.PricePerHour * configv1alpha1.MicroDollars(u.Add)), ready, fmt.Sprint(u.Pods), list(domains, 3), who})
	}
	v.table([]string{"node group", "size", "add", "per node", "total", "ready", "pods", "domains", "for"}, rows)
}

// buyers are, by node group, the gangs that its new nodes are for.
func buyers(p *plan.Plan) map[string][]string {
	out := map[string][]string{}
	for _, x := range p.Placements {
		if name := whose(x); x.New && !slices.Contains(out[x.NodeGroup], name) {
			out[x.NodeGroup] = append(out[x.NodeGroup], name)
		}
	}
	return out
}

// whose is the gang of a placed pod, or the namespace of a pod in no gang.
func whose(x plan.Placement) string {
	if x.Gang != "" {
		return x.Gang
	}
	namespace, _, _ := strings.Cut(x.Pod, "/")
	return namespace + "/* (no gang)"
}

func (v *view) scaleDowns(p *plan.Plan) {
	if len(p.ScaleDowns) == 0 {
		return
	}
	v.section("To remove")
	var rows []row
	for _, d := range p.ScaleDowns {
		rows = append(rows, row{d.NodeGroup, fmt.Sprintf("-%d", len(d.Nodes)), sum(d.SavesPerHour), string(d.Reason), list(d.Nodes, 5)})
	}
	v.table([]string{"node group", "nodes", "saves", "reason", "names"}, rows)
}

// seat gathers the pods of one gang, or of a namespace's pods in no gang, in one group.
type seat struct {
	gang, group         string
	pods                int
	nodes, new, domains map[string]bool
}

// placements draws one line for each gang and node group.
func (v *view) placements(p *plan.Plan) {
	if len(p.Placements) == 0 {
		return
	}
	index := map[[2]string]*seat{}
	var seats []*seat
	for _, x := range p.Placements {
		key := [2]string{whose(x), x.NodeGroup}
		s := index[key]
		if s == nil {
			s = &seat{gang: key[0], group: cmp.Or(key[1], "(no group)"), nodes: map[string]bool{}, new: map[string]bool{}, domains: map[string]bool{}}
			index[key] = s
			seats = append(seats, s)
		}
		s.pods++
		s.nodes[x.Node] = true
		if x.New {
			s.new[x.Node] = true
		}
		for k, d := range x.Domains {
			s.domains[short(k)+" "+d] = true
		}
	}
	v.section("%s placed", plural(len(p.Placements), "pod"))
	var rows []row
	for _, s := range seats {
		rows = append(rows, row{s.gang, fmt.Sprint(s.pods), s.group, s.where(), list(slices.Sorted(maps.Keys(s.domains)), 3)})
	}
	v.table([]string{"gang", "pods", "node group", "on", "domains"}, limitRows(rows, mostPlacements))
}

// where names the nodes of a seat, or counts them where they are many.
func (s *seat) where() string {
	switch all, added := len(s.nodes), len(s.new); {
	case all <= 2:
		return list(slices.Sorted(maps.Keys(s.nodes)), 2)
	case added == all:
		return fmt.Sprintf("%d new nodes", all)
	case added > 0:
		return fmt.Sprintf("%d nodes, %d of them new", all, added)
	default:
		return fmt.Sprintf("%d nodes", all)
	}
}

// limitRows keeps tables readable: the first rows and how many are not shown.
func limitRows(rows []row, most int) []row {
	if len(rows) <= most {
		return rows
	}
	return append(slices.Clone(rows[:most]), row{fmt.Sprintf("… %d more (-o json lists all)", len(rows)-most)})
}

// waiting draws a line for each reason and message, with all gangs that it holds back.
func (v *view) waiting(p *plan.Plan) {
	if len(p.Waiting) == 0 {
		return
	}
	type line struct {
		gangs []string
		pods  int
		row   row
	}
	index := map[string]*line{}
	var lines []*line
	pods := 0
	for _, w := range p.Waiting {
		why := w.Message
		if w.Until != nil {
			why += fmt.Sprintf(" (until %s, %s)", moment(*w.Until), later(p.Time, *w.Until))
		}
		key := string(w.Reason) + "\n" + why
		if index[key] == nil {
			index[key] = &line{row: row{string(w.Reason), why}}
			lines = append(lines, index[key])
		}
		index[key].gangs = append(index[key].gangs, w.Gang)
		index[key].pods += w.Pods
		pods += w.Pods
	}
	v.section("%s waiting", plural(pods, "pod"))
	var rows []row
	for _, l := range lines {
		rows = append(rows, append(row{list(l.gangs, 3), fmt.Sprint(l.pods)}, l.row...))
	}
	v.table([]string{"gang", "pods", "reason", "why"}, limitRows(rows, mostWaiting))
}

// unschedulable draws a line for each gang, or for all that are refused alike, and below
// it what each node group has against it.
func (v *view) unschedulable(p *plan.Plan) {
	if len(p.Unschedulable) == 0 {
		return
	}
	refusals, pods := refusals(p.Unschedulable)
	v.section("%s without a node", plural(pods, "pod"))
	var rows []row
	for i, r := range refusals {
		if i == mostUnschedulable {
			rows = append(rows, row{fmt.Sprintf("… and %s (-o json lists all)", plural(pods, "more pod"))})
			break
		}
		rows = append(rows, row{r.headline()})
		rows = append(rows, groupRows(r.groups)...)
		pods -= r.pods
	}
	v.table([]string{"node group", "reason", "why"}, rows)
}

// refusal is what gangs have in common that are refused alike.
type refusal struct {
	names   []string
	pods    int
	message string
	groups  []plan.GroupReason
}

// refusals puts gangs together that get the same answer, and counts the pods of all.
func refusals(all []plan.Unschedulable) ([]*refusal, int) {
	var out []*refusal
	index := map[string]*refusal{}
	pods := 0
	for _, u := range all {
		message, _, _ := strings.Cut(u.Message, ": ")
		if len(u.NodeGroups) == 0 {
			message = u.Message
		} else if len(u.Pods) == 1 && u.Pods[0] == u.Gang {
			message = ""
		}
		key := fmt.Sprintf("%q %q", message, u.NodeGroups)
		if index[key] == nil {
			index[key] = &refusal{message: message, groups: u.NodeGroups}
			out = append(out, index[key])
		}
		index[key].names = append(index[key].names, u.Gang)
		index[key].pods += len(u.Pods)
		pods += len(u.Pods)
	}
	return out, pods
}

func (r *refusal) headline() string {
	text := list(r.names, 3)
	if len(r.names) > 1 {
		text += fmt.Sprintf(" (%s)", plural(r.pods, "pod"))
	}
	if r.message != "" {
		text += ": " + r.message
	}
	return text
}

// Rows of one reason in one refusal: where there are more than mostAlike with different
// numbers, fewAlike of them are shown.
const (
	mostAlike = 4
	fewAlike  = 3
)

// groupRows are the reasons of the node groups, those first that come first in the order
// of reasons. Groups that say the same share a row.
func groupRows(groups []plan.GroupReason) []row {
	byCode := map[v1alpha1.Code][]plan.GroupReason{}
	for _, g := range groups {
		byCode[g.Reason] = append(byCode[g.Reason], g)
	}
	codes := slices.SortedFunc(maps.Keys(byCode), func(a, b v1alpha1.Code) int {
		return cmp.Or(
			cmp.Compare(a.Rank(), b.Rank()), // 1. The order of reasons.
			cmp.Compare(a, b),               // 2. The code, where it is not listed.
		)
	})
	var rows []row
	for _, code := range codes {
		var messages []string
		names := map[string][]string{}
		for _, g := range byCode[code] {
			if names[g.Message] == nil {
				messages = append(messages, g.Message)
			}
			names[g.Message] = append(names[g.Message], g.NodeGroup)
		}
		shown := len(messages)
		if shown > mostAlike {
			shown = fewAlike
		}
		var rest []string
		for i, m := range messages {
			if i >= shown {
				rest = append(rest, names[m]...)
				continue
			}
			rows = append(rows, row{list(names[m], 3), string(code), m})
		}
		if len(rest) > 0 {
			rows = append(rows, row{list(rest, 3), string(code), "likewise (-o json has the numbers)"})
		}
	}
	return rows
}
