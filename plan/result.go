package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/estimator"
	"tidegate.io/autoscaler/scheduling"
)

// plan writes the decision down.
func (d *decision) plan() *Plan {
	p := &Plan{
		APIVersion: APIVersion, Kind: Kind, Time: d.now, Warnings: slices.Concat(d.warnings, d.missedMinimums()),
		ScaleDowns: []ScaleDown{}, Wake: d.wake(), Cost: d.cost(),
	}
	p.Placements = d.placements()
	p.ScaleUps = d.scaleUps()
	p.Waiting = d.waiting()
	p.Unschedulable = d.unschedulable()
	p.Stats = d.stats()
	return p
}

// missedMinimums warns of groups that stay below their minimum size, and says what holds
// each back.
func (d *decision) missedMinimums() []string {
	var out []string
	for g := range d.groups {
		group := &d.groups[g]
		size := group.Target + int64(d.session.Opened(g))
		if size >= group.MinSize {
			continue
		}
		why := "its maximum, its dates or the limits of the configuration allow no more"
		if reasons := group.Blocked(d.now); len(reasons) > 0 {
			_, why = v1alpha1.First(reasons)
		}
		out = append(out, fmt.Sprintf("node group %s stays at %d, below its minSize of %d: %s", group.Name, size, group.MinSize, why))
	}
	return out
}

// gangOf maps each pod of a gang, not ordinary pods, to the gang.
func (d *decision) gangOf() map[*corev1.Pod]*scheduling.Unit {
	out := map[*corev1.Pod]*scheduling.Unit{}
	for i := range d.session.Units {
		u := &d.session.Units[i]
		if u.Single() {
			continue
		}
		for _, p := range u.Pods {
			out[p.Pod] = u
		}
	}
	return out
}

// placements are in the order in which gangs are served.
func (d *decision) placements() []Placement {
	total := 0
	for n := range d.session.Nodes {
		total += len(d.session.Nodes[n].Placed)
	}
	where := make(map[*corev1.Pod]int, total)
	devices := map[*corev1.Pod][]scheduling.Device{}
	for n := range d.session.Nodes {
		given := d.session.Devices(n)
		for i, p := range d.session.Nodes[n].Placed {
			where[p.Pod] = n
			if given != nil && len(given[i]) > 0 {
				devices[p.Pod] = given[i]
			}
		}
	}
	out := make([]Placement, 0, total)
	for i := range d.session.Units {
		u := &d.session.Units[i]
		for _, p := range u.Pods {
			if n, ok := where[p.Pod]; ok {
				x := d.placement(p.Namespace+"/"+p.Name, u, &d.session.Nodes[n])
				x.Devices = devicesOf(devices[p.Pod])
				out = append(out, x)
			}
		}
	}
	return out
}

func devicesOf(given []scheduling.Device) []Device {
	var out []Device
	for _, g := range given {
		x := Device{Claim: g.Claim, Request: g.Request, Driver: g.Driver, Pool: g.Pool, Device: g.Device, Shared: g.Shared}
		for name, q := range g.Consumed {
			if x.Capacity == nil {
				x.Capacity = map[string]string{}
			}
			x.Capacity[string(name)] = q.String()
		}
		out = append(out, x)
	}
	return out
}

func (d *decision) placement(pod string, u *scheduling.Unit, n *scheduling.Node) Placement {
	p := Placement{Pod: pod, Node: n.Name, New: n.State == scheduling.New}
	if !u.Single() {
		p.Gang = u.Key()
	}
	label := func(key string) {
		if v, ok := n.Labels[key]; ok {
			if p.Domains == nil {
				p.Domains = map[string]string{}
			}
			p.Domains[key] = v
		}
	}
	if u.Required != "" {
		label(u.Required)
	}
	if n.Group >= 0 {
		p.NodeGroup = d.groups[n.Group].Name
		for _, l := range d.groups[n.Group].Topology {
			label(l.Key)
		}
	}
	return p
}

func (d *decision) scaleUps() []ScaleUp {
	out := []ScaleUp{}
	gangOf := d.gangOf()
	for g := range d.groups {
		add := int64(d.session.Opened(g))
		if add == 0 {
			continue
		}
		group := &d.groups[g]
		up := ScaleUp{
			NodeGroup: group.Name, From: group.Target, To: group.Target + add, Add: add,
			PricePerHour: group.Price, Atomic: group.Atomic,
		}
		if group.Delay > 0 {
			at := d.now.Add(group.Delay)
			up.ReadyBy = &at
		}
		domains := map[string]map[string]int{}
		gangs := map[string]bool{}
		for n := range d.session.Nodes {
			node := &d.session.Nodes[n]
			if node.Group != g || node.State != scheduling.New {
				continue
			}
			for _, l := range group.Topology {
				if domains[l.Key] == nil {
					domains[l.Key] = map[string]int{}
				}
				domains[l.Key][node.Labels[l.Key]]++
			}
			for _, p := range node.Placed {
				up.Pods++
				if u := gangOf[p.Pod]; u != nil {
					gangs[u.Key()] = true
				}
			}
		}
		for _, l := range group.Topology {
			for _, v := range slices.Sorted(maps.Keys(domains[l.Key])) {
				up.Domains = append(up.Domains, DomainGrowth{Key: l.Key, Domain: v, Nodes: domains[l.Key][v]})
			}
		}
		up.Gangs = slices.Sorted(maps.Keys(gangs))
		up.Reason = d.why(g, up.Pods)
		out = append(out, up)
	}
	slices.SortFunc(out, func(a, b ScaleUp) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
	return out
}

// why is one sentence about a purchase.
func (d *decision) why(group, pods int) string {
	if pods == 0 {
		return fmt.Sprintf("below its minimum size of %d", d.groups[group].MinSize)
	}
	best := map[configv1alpha1.Objective]string{
		configv1alpha1.ObjectiveNodes: "fewest nodes", configv1alpha1.ObjectivePriority: "highest priority",
	}[d.configuration.Objective]
	if best == "" {
		best = "lowest cost"
	}
	text := fmt.Sprintf("%s of %s looked at", best, count(d.result.Stats.Options, "option"))
	switch mended := d.passes - 1; {
	case mended == 1:
		text += "; mended once, then the scheduler pass bound every pod"
	case mended > 1:
		text += fmt.Sprintf("; mended %d times, then the scheduler pass bound every pod", mended)
	}
	return text
}

func (d *decision) waiting() []Waiting {
	out := []Waiting{}
	for i := range d.session.Units {
		u := &d.session.Units[i]
		if u.Held != nil {
			out = append(out, Waiting{Gang: u.Key(), Pods: len(u.Pods), Reason: u.Held.Code, Message: u.Held.Text})
		}
	}
	return out
}

// unschedulable lists the refusals; units that are alike share their group reasons.
func (d *decision) unschedulable() []Unschedulable {
	out := []Unschedulable{}
	for _, r := range d.result.Refused {
		u := &d.session.Units[r.Unit]
		x := Unschedulable{Gang: u.Key(), NodeGroups: []GroupReason{}}
		for _, p := range r.Pods {
			x.Pods = append(x.Pods, p.Namespace+"/"+p.Name)
		}
		x.NodeGroups = append(x.NodeGroups, d.groupReasons(r)...)
		x.Message = message(u, r, x.NodeGroups)
		out = append(out, x)
	}
	return out
}

func (d *decision) groupReasons(r estimator.Refusal) []GroupReason {
	var out []GroupReason
	for g, reasons := range r.Groups {
		first, text := v1alpha1.First(reasons)
		out = append(out, GroupReason{NodeGroup: d.groups[g].Name, Reason: first.Code, Message: text})
	}
	return out
}

// message is the sentence for people: how much of the gang, and the reasons with the
// groups that give them.
func message(u *scheduling.Unit, r estimator.Refusal, groups []GroupReason) string {
	what := "the pod gets no node"
	switch {
	case u.Single():
	case u.Need() == 0 || len(r.Pods) < len(u.Pods):
		get := "get"
		if len(r.Pods) == 1 {
			get = "gets"
		}
		what = fmt.Sprintf("%d of %s %s no node; the minimum of %d is met", len(r.Pods), count(len(u.Pods), "pod"), get, u.Min)
	case len(u.Bound) > 0:
		what = fmt.Sprintf("the gang gets no node for %s; it needs %d more to start", count(len(u.Pods), "pod"), u.Need())
	default:
		what = fmt.Sprintf("the gang of %d gets no node; it needs %s to start", len(u.Pods), count(u.Need(), "pod"))
	}
	if len(groups) == 0 {
		return what + ": there is no node group"
	}
	by := map[v1alpha1.Code][]string{}
	for _, g := range groups {
		by[g.Reason] = append(by[g.Reason], g.NodeGroup)
	}
	codes := slices.SortedFunc(maps.Keys(by), func(a, b v1alpha1.Code) int { return a.Rank() - b.Rank() })
	var parts []string
	for _, c := range codes {
		parts = append(parts, fmt.Sprintf("%s (%s)", c, abbreviate(by[c], 3)))
	}
	return what + ": " + strings.Join(parts, ", ")
}

func (d *decision) cost() Cost {
	var c Cost
	for g := range d.groups {
		price := d.groups[g].Price
		c.Before += price * configv1alpha1.MicroDollars(d.groups[g].Target)
		c.After += price * configv1alpha1.MicroDollars(d.groups[g].Target+int64(d.session.Opened(g)))
		c.LowerBound += price * configv1alpha1.MicroDollars(d.groups[g].Target+int64(d.result.Raised[g]))
	}
	c.LowerBound += d.result.LowerBound
	return c
}

// wake is the first instant at which a group's state changes by itself.
func (d *decision) wake() *time.Time {
	var first *time.Time
	for i := range d.groups {
		if changes := d.groups[i].Changes(d.now); len(changes) > 0 && (first == nil || changes[0].Before(*first)) {
			at := changes[0].UTC()
			first = &at
		}
	}
	return first
}

func (d *decision) stats() *Stats {
	s := &Stats{PodClasses: len(d.session.Kinds), OptionsTried: d.result.Stats.Options, Truncated: d.result.Stats.Truncated, ProofPasses: d.passes}
	for i := range d.session.Units {
		s.PendingPods += len(d.session.Units[i].Pods)
		if !d.session.Units[i].Single() {
			s.PendingGangs++
		}
	}
	return s
}
