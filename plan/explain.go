package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/estimator"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/snapshot"
)

// Explanation is everything that was looked at for one gang, pod or node group.
type Explanation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Subject is the gang's or pod's namespace/name, or the group's name.
	Subject string `json:"subject"`
	// What it is: Gang, Pod or NodeGroup.
	What string `json:"what"`
	// Facts are one line each: where the gang comes from, its order, what it asks for.
	Facts []Fact `json:"facts"`
	// Outcome is Placed, Waiting, Unschedulable, or for a group Grows or Unchanged.
	Outcome string `json:"outcome"`
	Message string `json:"message"`
	// Options are the ways of serving a gang by itself, as if nobody else waited.
	Options []ExplainedOption `json:"options,omitempty"`
	// Gangs say of each pending gang what a node group has to do with it.
	Gangs []ExplainedGang `json:"gangs,omitempty"`
}

// Fact is a named line.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ExplainedOption is one way of serving a gang.
type ExplainedOption struct {
	// NodeGroup grows; "" for nodes that exist or are on their way.
	NodeGroup string `json:"nodeGroup,omitempty"`
	Domain    string `json:"domain,omitempty"`
	// NewDomain: the domain does not exist yet.
	NewDomain bool `json:"newDomain,omitempty"`
	Serves    bool `json:"serves"`
	// Pods that would find a place, of those that must start together.
	Pods        int                         `json:"pods"`
	Nodes       int64                       `json:"nodes"`
	CostPerHour configv1alpha1.MicroDollars `json:"costPerHour"`
	// Chosen: the plan places the gang this way, at least in part.
	Chosen  bool          `json:"chosen"`
	Reason  v1alpha1.Code `json:"reason,omitempty"`
	Message string        `json:"message"`
}

// ExplainedGang is what a node group has to do with one gang.
type ExplainedGang struct {
	Gang    string        `json:"gang"`
	Placed  int           `json:"placed"`
	Reason  v1alpha1.Code `json:"reason,omitempty"`
	Message string        `json:"message"`
}

// Explain decides and then looks at one subject: namespace/name of a gang or pod, or the
// name of a node group. A subject that does not exist is an error that names near ones.
func Explain(snap *snapshot.Snapshot, configuration *configv1alpha1.AutoscalerConfiguration, now time.Time, subject string) (*Explanation, error) {
	d, err := newDecision(snap, configuration, now, Options{})
	if err != nil {
		return nil, err
	}
	if err := d.estimate(); err != nil {
		return nil, err
	}
	if err := d.prove(); err != nil {
		return nil, err
	}
	x := &Explanation{APIVersion: APIVersion, Kind: "Explanation", Subject: subject}
	if g := slices.IndexFunc(configuration.NodeGroups, func(g configv1alpha1.NodeGroup) bool { return g.Name == subject }); g >= 0 {
		return x, d.explainGroup(x, g)
	}
	u, pod := d.find(subject)
	if u < 0 {
		return nil, d.notFound(subject)
	}
	return x, d.explainUnit(x, u, pod)
}

// find returns the unit that is or holds the subject, and the pod where it is one.
func (d *decision) find(subject string) (int, string) {
	for i := range d.session.Units {
		if d.session.Units[i].Key() == subject {
			return i, ""
		}
	}
	for i := range d.session.Units {
		for _, p := range d.session.Units[i].Pods {
			if p.Namespace+"/"+p.Name == subject {
				return i, subject
			}
		}
	}
	return -1, ""
}

func (d *decision) notFound(subject string) error {
	for _, p := range d.snap.Pods() {
		if p.Namespace+"/"+p.Name == subject {
			if p.Spec.NodeName != "" {
				return fmt.Errorf("pod %s is bound to node %s; only what waits can be explained", subject, p.Spec.NodeName)
			}
			return fmt.Errorf("pod %s does not wait for a node (phase %s)", subject, cmp.Or(string(p.Status.Phase), "Pending"))
		}
	}
	var near []string
	_, name, slash := strings.Cut(subject, "/")
	for i := range d.session.Units {
		if k := d.session.Units[i].Key(); slash && strings.Contains(k, name) || !slash && strings.Contains(k, subject) {
			near = append(near, k)
		}
	}
	for i := range d.groups {
		if strings.Contains(d.groups[i].Name, subject) {
			near = append(near, d.groups[i].Name)
		}
	}
	hint := "; it takes NAMESPACE/NAME of a pending gang or pod, or the name of a node group"
	if len(near) > 0 {
		hint = "; did you mean " + abbreviate(near, 3) + "?"
	}
	return fmt.Errorf("nothing called %q waits%s", subject, hint)
}

func (d *decision) explainUnit(x *Explanation, unit int, pod string) error {
	u := &d.session.Units[unit]
	x.What = "Gang"
	if u.Single() {
		x.What = "Pod"
	}
	x.Facts = d.unitFacts(u, unit, pod)
	chosen := d.outcome(x, u, unit)
	// The options are those of the gang by itself: on the cluster as it is, before the plan.
	fresh, err := newDecision(d.snap, d.configuration, d.now, Options{})
	if err != nil {
		return err
	}
	if fresh.session, err = scheduling.NewSession(scheduling.Input{
		Snapshot: d.snap, Groups: fresh.groups, Gangs: fresh.gangs, Scoring: d.configuration.Scheduler.Scoring,
	}); err != nil {
		return err
	}
	options, err := estimator.Options(fresh.input(), unit)
	if err != nil {
		return err
	}
	x.Options = d.explained(options, chosen)
	return nil
}

func (d *decision) unitFacts(u *scheduling.Unit, unit int, pod string) []Fact {
	var out []Fact
	add := func(name, format string, args ...any) {
		out = append(out, Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	if pod != "" && !u.Single() {
		add("pod", "%s belongs to gang %s", pod, u.Key())
	}
	if !u.Single() {
		add("source", "%s", u.Source)
		add("pods", "%d pending, %d bound; starts with %d", len(u.Pods), len(u.Bound), u.Min)
	}
	if u.Required != "" {
		add("topology", "all members share one %s", u.Required)
	}
	add("order", "%d of %d: priority %d, created %s", unit+1, len(d.session.Units), u.Priority, u.Created.UTC().Format(time.RFC3339))
	kinds := map[int]int{}
	for _, p := range u.Pods {
		kinds[p.Kind]++
	}
	for k := range d.session.Kinds {
		if kinds[k] > 0 {
			add("asks for", "%d x %s", kinds[k], d.session.Asks(k))
		}
	}
	return out
}

// outcome fills in what the plan does with the unit and returns the groups ("" for none)
// and domains that it uses.
func (d *decision) outcome(x *Explanation, u *scheduling.Unit, unit int) map[string]bool {
	chosen := map[string]bool{}
	nodes := map[string]bool{}
	placed := 0
	for n := range d.session.Nodes {
		node := &d.session.Nodes[n]
		for _, p := range node.Placed {
			if !slices.ContainsFunc(u.Pods, func(q scheduling.Pod) bool { return q.Pod == p.Pod }) {
				continue
			}
			placed++
			nodes[node.Name] = true
			group := ""
			if node.State == scheduling.New {
				group = d.groups[node.Group].Name
			}
			chosen["group "+group] = true
			chosen["domain "+node.Labels[u.Required]] = u.Required != ""
		}
	}
	switch {
	case u.Held != nil:
		x.Outcome, x.Message = "Waiting", fmt.Sprintf("%s: %s", u.Held.Code, u.Held.Text)
	case placed == 0:
		x.Outcome, x.Message = "Unschedulable", "no option serves it beside what comes before it"
		for _, r := range d.result.Refused {
			if r.Unit == unit {
				x.Message = message(u, r, d.groupReasons(r))
			}
		}
	default:
		x.Outcome, x.Message = "Placed", fmt.Sprintf("%d of %d pods on %d nodes", placed, len(u.Pods), len(nodes))
	}
	return chosen
}

func (d *decision) explained(options []estimator.Option, chosen map[string]bool) []ExplainedOption {
	var out []ExplainedOption
	for _, o := range options {
		x := ExplainedOption{Domain: o.Domain, NewDomain: o.Fresh, Serves: o.Serves, Pods: o.Pods, Nodes: o.Nodes, CostPerHour: o.Cost}
		if o.Group >= 0 && (o.Nodes > 0 || o.Fresh || !o.Serves) {
			x.NodeGroup = d.groups[o.Group].Name
		}
		x.Chosen = o.Serves && chosen["group "+x.NodeGroup] && (o.Domain == "" || chosen["domain "+o.Domain] || o.Fresh && chosen["group "+x.NodeGroup])
		switch {
		case x.Chosen:
			x.Message = "in the plan"
		case o.Serves:
			x.Reason, x.Message = v1alpha1.HigherCost, fmt.Sprintf("would serve with %d new nodes for $%s an hour by itself; the plan as a whole does better with another", o.Nodes, o.Cost)
		default:
			first, text := v1alpha1.First(o.Reasons)
			x.Reason, x.Message = first.Code, text
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b ExplainedOption) int {
		return cmp.Or(-boolCompare(a.Chosen, b.Chosen), -boolCompare(a.Serves, b.Serves), cmp.Compare(a.CostPerHour, b.CostPerHour))
	})
	return out
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

func (d *decision) explainGroup(x *Explanation, group int) error {
	x.What = "NodeGroup"
	g := Groups(d.groups, d.now)[group]
	x.Facts = append(x.Facts, g.facts()...)
	x.Outcome, x.Message = "Unchanged", "the plan buys none of its nodes"
	if n := d.session.Opened(group); n > 0 {
		x.Outcome, x.Message = "Grows", fmt.Sprintf("the plan buys %d of its nodes", n)
	}
	refused := map[int]GroupReason{}
	for _, r := range d.result.Refused {
		refused[r.Unit] = d.groupReasons(r)[group]
	}
	for i := range d.session.Units {
		u := &d.session.Units[i]
		e := ExplainedGang{Gang: u.Key(), Message: "placed elsewhere"}
		for n := range d.session.Nodes {
			if d.session.Nodes[n].Group != group {
				continue
			}
			for _, p := range d.session.Nodes[n].Placed {
				if slices.ContainsFunc(u.Pods, func(q scheduling.Pod) bool { return q.Pod == p.Pod }) {
					e.Placed++
				}
			}
		}
		switch r, no := refused[i]; {
		case u.Held != nil:
			e.Reason, e.Message = u.Held.Code, u.Held.Text
		case e.Placed > 0:
			e.Message = fmt.Sprintf("%d of %d pods here", e.Placed, len(u.Pods))
		case no:
			e.Reason, e.Message = r.Reason, r.Message
		}
		x.Gangs = append(x.Gangs, e)
	}
	return nil
}
