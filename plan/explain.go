package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	// Gang that a pod belongs to; "" where it is in none.
	Gang string `json:"gang,omitempty"`
	// Facts are one line each: where the gang comes from, its order, what it asks for.
	Facts []Fact `json:"facts"`
	// Outcome is Placed, Waiting, Unschedulable, or for a group Grows or Unchanged.
	Outcome string `json:"outcome"`
	Message string `json:"message"`
	// Options are the ways of serving a gang by itself, as if nobody else waited. For a pod
	// in a gang they are those of the gang.
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
	// NodeGroup may grow; "" for nodes that exist or are on their way alone.
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
	Chosen bool `json:"chosen"`
	// Reason for which the option does not serve, or another that costs less is chosen. It
	// is absent where the option serves and cost is not what speaks against it.
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
// name of a node group. A subject that does not exist is an InputError that names near ones.
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
		d.explainGroup(x, g)
		return x, nil
	}
	unit, pod := d.find(subject)
	if unit < 0 {
		return nil, &InputError{Err: &SubjectError{Subject: subject, Text: d.notFound(subject)}}
	}
	return x, d.explainUnit(x, unit, pod)
}

// find returns the unit that is or holds the subject, and the pod where it is one of a gang.
func (d *decision) find(subject string) (int, *scheduling.Pod) {
	for i := range d.session.Units {
		if d.session.Units[i].Key() == subject {
			return i, nil
		}
	}
	for i := range d.session.Units {
		pods := d.session.Units[i].Pods
		for k := range pods {
			if pods[k].Namespace+"/"+pods[k].Name == subject {
				return i, &pods[k]
			}
		}
	}
	return -1, nil
}

func (d *decision) notFound(subject string) string {
	for _, p := range d.snap.Pods() {
		if p.Namespace+"/"+p.Name == subject {
			if p.Spec.NodeName != "" {
				return fmt.Sprintf("pod %s is bound to node %s; only what waits can be explained", subject, p.Spec.NodeName)
			}
			return fmt.Sprintf("pod %s does not wait for a node (phase %s)", subject, cmp.Or(string(p.Status.Phase), "Pending"))
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
	return fmt.Sprintf("nothing called %q waits%s", subject, hint)
}

func (d *decision) explainUnit(x *Explanation, unit int, pod *scheduling.Pod) error {
	u := &d.session.Units[unit]
	x.What = "Gang"
	switch {
	case u.Single():
		x.What, pod = "Pod", &u.Pods[0]
	case pod != nil:
		x.What, x.Gang = "Pod", u.Key()
	}
	where := d.where(u)
	x.Facts = d.unitFacts(u, unit, pod)
	d.outcome(x, unit, pod, where)
	// The options are those of the gang by itself: on the cluster as it is, before the plan.
	fresh, err := newDecision(d.snap, d.configuration, d.now, Options{})
	if err != nil {
		return err
	}
	if fresh.session, err = scheduling.NewSession(scheduling.Input{
		Snapshot: d.snap, Groups: fresh.groups, Gangs: fresh.gangs, Scoring: d.configuration.Scheduler.Scoring,
		FeatureGates: d.configuration.Scheduler.FeatureGates,
	}); err != nil {
		return err
	}
	options, err := estimator.Options(fresh.input(), unit)
	if err != nil {
		return err
	}
	x.Options = d.explained(unit, options, where)
	return nil
}

// where maps the pods of a unit that the plan places to nodes of the session.
func (d *decision) where(u *scheduling.Unit) map[*corev1.Pod]int {
	member := map[*corev1.Pod]bool{}
	for _, p := range u.Pods {
		member[p.Pod] = true
	}
	out := map[*corev1.Pod]int{}
	for n := range d.session.Nodes {
		for _, p := range d.session.Nodes[n].Placed {
			if member[p.Pod] {
				out[p.Pod] = n
			}
		}
	}
	return out
}

// unitFacts describe a gang, or one pod and its gang.
func (d *decision) unitFacts(u *scheduling.Unit, unit int, pod *scheduling.Pod) []Fact {
	var out []Fact
	add := func(name, format string, args ...any) {
		out = append(out, Fact{Name: name, Value: fmt.Sprintf(format, args...)})
	}
	switch {
	case u.Single():
	case pod != nil:
		add("gang", "%s (%s): %s, %d bound; starts with %d", u.Key(), u.Source, count(len(u.Pods), "pending pod"), len(u.Bound), u.Min)
	default:
		add("source", "%s", u.Source)
		add("pods", "%d pending, %d bound; starts with %d", len(u.Pods), len(u.Bound), u.Min)
	}
	if u.Required != "" {
		add("topology", "all members share one %s", u.Required)
	}
	created := "of unknown age"
	if !u.Created.IsZero() {
		created = "created " + u.Created.UTC().Format(time.RFC3339)
	}
	add("order", "%d of %d: priority %d, %s", unit+1, len(d.session.Units), u.Priority, created)
	if pod != nil {
		add("asks for", "%s", d.session.Asks(pod.Kind))
		return out
	}
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

// outcome fills in what the plan does with a gang, or with one pod.
func (d *decision) outcome(x *Explanation, unit int, pod *scheduling.Pod, where map[*corev1.Pod]int) {
	u := &d.session.Units[unit]
	nodes := map[int]bool{}
	for _, n := range where {
		nodes[n] = true
	}
	gang := fmt.Sprintf("%d of %s on %s", len(where), count(len(u.Pods), "pod"), count(len(nodes), "node"))
	at, placed := -1, len(where) > 0
	if pod != nil {
		if at, placed = where[pod.Pod]; !placed {
			at = -1
		}
	}
	switch {
	case u.Held != nil:
		x.Outcome, x.Message = "Waiting", fmt.Sprintf("%s: %s", u.Held.Code, u.Held.Text)
	case !placed:
		x.Outcome, x.Message = "Unschedulable", "no option serves it beside what comes before it"
		if r := d.refusal(unit); r != nil {
			x.Message = message(u, *r, d.groupReasons(*r))
		}
	case at < 0:
		x.Outcome, x.Message = "Placed", gang
	default:
		x.Outcome, x.Message = "Placed", "on "+d.nodeWords(at)
		if !u.Single() {
			x.Message += "; of its gang, " + gang
		}
	}
}

// nodeWords names a node and says how real it is.
func (d *decision) nodeWords(n int) string {
	node := &d.session.Nodes[n]
	switch node.State {
	case scheduling.New:
		return node.Name + ", which the plan buys"
	case scheduling.Upcoming:
		return node.Name + ", which is on its way"
	case scheduling.Existing:
	}
	return node.Name + ", which exists"
}

// refusal is what the plan says of a unit that gets nothing, or not all; nil for others.
func (d *decision) refusal(unit int) *estimator.Refusal {
	for i := range d.result.Refused {
		if d.result.Refused[i].Unit == unit {
			return &d.result.Refused[i]
		}
	}
	return nil
}

func (d *decision) explainGroup(x *Explanation, group int) {
	x.What = "NodeGroup"
	g := describe(&d.groups[group], d.now)
	x.Facts = append(x.Facts, g.facts()...)
	x.Outcome, x.Message = "Unchanged", "the plan buys no node"
	if n := d.session.Opened(group); n > 0 {
		x.Outcome, x.Message = "Grows", "the plan buys "+count(n, "node")
	}
	refused := map[int]GroupReason{}
	for _, r := range d.result.Refused {
		refused[r.Unit] = d.groupReasons(r)[group]
	}
	here := map[*corev1.Pod]bool{}
	for n := range d.session.Nodes {
		if d.session.Nodes[n].Group == group {
			for _, p := range d.session.Nodes[n].Placed {
				here[p.Pod] = true
			}
		}
	}
	for i := range d.session.Units {
		u := &d.session.Units[i]
		e := ExplainedGang{Gang: u.Key(), Message: "placed elsewhere"}
		for _, p := range u.Pods {
			if here[p.Pod] {
				e.Placed++
			}
		}
		switch r, no := refused[i]; {
		case u.Held != nil:
			e.Reason, e.Message = u.Held.Code, u.Held.Text
		case e.Placed > 0 && u.Single():
			e.Message = "placed here"
		case e.Placed > 0:
			e.Message = fmt.Sprintf("%d of %s placed here", e.Placed, count(len(u.Pods), "pod"))
		case no:
			e.Reason, e.Message = r.Reason, r.Message
		}
		x.Gangs = append(x.Gangs, e)
	}
}
