package estimator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
)

// Input is one question.
type Input struct {
	Session   *scheduling.Session
	Now       time.Time
	Objective configv1alpha1.Objective
	Limits    configv1alpha1.Limits
	Budget    Budget
	// Exclude are units (by ID) that get nothing whatever fits.
	Exclude map[string]bool
}

// ID names a unit across decisions: its source and key.
func ID(u *scheduling.Unit) string { return u.Source + " " + u.Key() }

// Result is the answer; the placements and the new nodes are in the session.
type Result struct {
	// Refused are the gangs that get nothing, or pods past a gang's minimum that get no
	// place, in order.
	Refused []Refusal
	// LowerBound is what no plan for the same placements could go below, per hour, for new
	// nodes alone.
	LowerBound configv1alpha1.MicroDollars
	// Raised is the number of nodes by group that were opened to reach a minimum size.
	Raised []int
	Stats  Stats
}

// Refusal says why pods of a unit get nothing, for every group.
type Refusal struct {
	Unit int
	Pods []scheduling.Pod
	// Groups holds the reasons of each node group, by index, in order of precedence.
	Groups [][]v1alpha1.Reason
}

// estimator is the state of one decision.
type estimator struct {
	Input
	s      *scheduling.Session
	result Result
	packer *packer
	weight []int64 // by group: what one node costs in the objective
	base   usage   // the cluster without what this decision buys
	next   []int   // by cursor: the first node that may still hold one more pod of a kind
	fixed  int     // nodes of the session that no rollback of this decision removes
	start  int     // the session's mark at the start of the decision
}

// usage is what the limits count.
type usage struct {
	nodes        int64
	cost         configv1alpha1.MicroDollars
	accelerators map[string]int64
}

// Estimate places all units of the session that are not held, and opens what must be
// bought for them.
func Estimate(in Input) (*Result, error) {
	e := newEstimator(in)
	// 1. Groups below their minimum grow to it.
	e.raiseToMinimum()
	// 2. What cannot be placed even alone is out of the question.
	possible, refused, err := e.possible()
	if err != nil {
		return nil, err
	}
	// 3. Usually everything fits together, and then no order matters.
	start := e.s.Mark()
	e.fixed, e.start = len(e.s.Nodes), start
	all, err := e.together(possible, start)
	if err != nil {
		return nil, err
	}
	// 4. Otherwise the order decides who goes without.
	if !all {
		more, err := e.inOrder(possible, start)
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	// 5. What was bought may have room for pods that could not make anything grow.
	if refused, err = e.useLeftovers(refused); err != nil {
		return nil, err
	}
	// 6. Everyone who gets nothing is told why, group by group.
	if err := e.explain(refused); err != nil {
		return nil, err
	}
	// 7. How far from the best this may be.
	return &e.result, e.bound()
}

func newEstimator(in Input) *estimator {
	e := &estimator{Input: in, s: in.Session, next: make([]int, 2*len(in.Session.Kinds))}
	e.packer = &packer{budget: in.Budget, stats: &e.result.Stats, groups: len(e.s.Groups), rank: e.ranks()}
	e.base = usage{accelerators: map[string]int64{}, nodes: int64(len(e.s.Nodes))}
	for i := range e.s.Groups {
		g := &e.s.Groups[i]
		e.base.cost += g.Price * configv1alpha1.MicroDollars(g.Target)
		if g.Accelerator != "" {
			e.base.accelerators[g.Accelerator] += g.AcceleratorCount * g.Target
		}
		e.weight = append(e.weight, weight(e.s.Groups[i].Price, g.Priority, e.priorities(), in.Objective))
	}
	for n := range e.s.Nodes {
		if name, count := e.s.ForeignAccelerators(n); count > 0 {
			e.base.accelerators[name] += count
		}
	}
	return e
}

// ranks are the positions of the groups' names among all names.
func (e *estimator) ranks() []int {
	var names []string
	for g := range e.s.Groups {
		names = append(names, e.s.Groups[g].Name)
	}
	slices.Sort(names)
	out := make([]int, len(e.s.Groups))
	for g := range e.s.Groups {
		out[g], _ = slices.BinarySearch(names, e.s.Groups[g].Name)
	}
	return out
}

// priorities are the distinct group priorities, highest first.
func (e *estimator) priorities() []int64 {
	var out []int64
	for i := range e.s.Groups {
		out = append(out, e.s.Groups[i].Priority)
	}
	slices.SortFunc(out, func(a, b int64) int { return cmp.Compare(b, a) })
	return slices.Compact(out)
}

// million dollars an hour is above the price of any plan, so that what is weighed with it
// is compared first.
const million = int64(1_000_000_000_000)

// weight is what the objective minimises: the price; or the number of nodes, then the
// price; or for each node the rank of its group's priority, then the price.
func weight(price configv1alpha1.MicroDollars, priority int64, priorities []int64, objective configv1alpha1.Objective) int64 {
	switch objective {
	case configv1alpha1.ObjectiveNodes:
		return million + int64(price)
	case configv1alpha1.ObjectivePriority:
		return million*int64(min(slices.Index(priorities, priority), 1000)) + int64(price)
	case configv1alpha1.ObjectiveCost:
	}
	return int64(price)
}

// raiseToMinimum opens what is missing to a group's minimum, as far as it may grow.
func (e *estimator) raiseToMinimum() {
	for g := range e.s.Groups {
		for e.s.Groups[g].Target+int64(e.s.Opened(g)) < e.s.Groups[g].MinSize && e.canOpen(g) {
			e.open(g, nil)
		}
		e.result.Raised = append(e.result.Raised, e.s.Opened(g))
	}
}

// Extend opens what pods need that a scheduler pass left unbound, on top of what the
// session holds, and binds them; false when the limits, or the domain that their gang is
// in, do not allow it.
func Extend(in Input, pods []scheduling.Pod) (bool, error) {
	e := newEstimator(in)
	for g := range e.s.Groups {
		e.base.nodes -= int64(e.s.Opened(g)) // counted again as opened
	}
	left := map[*corev1.Pod]bool{}
	for _, p := range pods {
		left[p.Pod] = true
	}
	for i := range e.s.Units {
		u := &e.s.Units[i]
		var mine []scheduling.Pod
		for _, p := range u.Pods {
			if left[p.Pod] {
				mine = append(mine, p)
			}
		}
		if len(mine) == 0 {
			continue
		}
		if ok, err := e.place(u, mine); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// possible sorts out the units that no node, existing or new, could ever hold.
func (e *estimator) possible() (possible []int, refused []Refusal, err error) {
	verdict := map[string]bool{}
	for i := range e.s.Units {
		u := &e.s.Units[i]
		if u.Held != nil || u.Need() == 0 && len(u.Pods) == 0 {
			continue
		}
		if e.Exclude[ID(u)] {
			refused = append(refused, Refusal{Unit: i, Pods: u.Pods})
			continue
		}
		sig := e.signature(u)
		ok, known := verdict[sig]
		if !known {
			if ok, err = e.alone(u); err != nil {
				return nil, nil, err
			}
			verdict[sig] = ok
		}
		if ok {
			possible = append(possible, i)
			continue
		}
		refused = append(refused, Refusal{Unit: i, Pods: u.Pods})
	}
	return possible, refused, nil
}

// signature is equal for units that fit in exactly the same cases.
func (e *estimator) signature(u *scheduling.Unit) string {
	if u.Single() {
		return fmt.Sprint(u.Pods[0].Kind)
	}
	counts := map[int]int{}
	for _, p := range u.Pods {
		counts[p.Kind]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "need %d key %q", u.Need(), u.Required)
	for k := range e.s.Kinds {
		if counts[k] > 0 {
			fmt.Fprintf(&b, " %d x %d", counts[k], k)
		}
	}
	if len(u.Bound) > 0 {
		fmt.Fprintf(&b, " %s", u.Key()) // its domain is chosen
	}
	return b.String()
}

// alone says whether the unit could be placed if it were the only one. Pods that look at
// other pods may need ones that are placed later, so that for them only what does not
// depend on others is asked.
func (e *estimator) alone(u *scheduling.Unit) (bool, error) {
	if u.Required == "" && !e.packs(u) {
		return e.eachHoldable(e.minimum(u))
	}
	mark := e.s.Mark()
	saved := slices.Clone(e.next)
	ok, err := e.place(u, e.minimum(u))
	if back := e.s.Rollback(mark); err == nil {
		err = back
	}
	e.next = saved
	if err != nil || ok || !e.packs(u) {
		return ok, err
	}
	// Pod by pod it did not fit; packed together it may.
	ok, err = e.packAll([]piece{{e.minimum(u)}})
	if back := e.s.Rollback(mark); err == nil {
		err = back
	}
	return ok, err
}

// eachHoldable says whether each pod by itself has a node, existing or new, that lets it
// in and has the room.
func (e *estimator) eachHoldable(pods []scheduling.Pod) (bool, error) {
	for _, p := range pods {
		ok, err := e.holdable(p.Kind)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (e *estimator) holdable(kind int) (bool, error) {
	for n := range e.s.Nodes {
		if !e.s.Nodes[n].Free.Holds(e.s.Kinds[kind].Request) {
			continue
		}
		if ok, err := e.s.Allowed(kind, n); err != nil || ok {
			return ok, err
		}
	}
	groups, err := e.candidates(kind, 1)
	return len(groups) > 0, err
}

// minimum are the pods without which the unit does not start; at least one.
func (e *estimator) minimum(u *scheduling.Unit) []scheduling.Pod {
	return u.Pods[:min(max(u.Need(), 1), len(u.Pods))]
}

// packs says whether the unit is packed by counts: it has no topology key, and its pods
// do not look at other pods. Where the plugins answer everything, nothing is.
func (e *estimator) packs(u *scheduling.Unit) bool {
	return !e.s.PluginsOnly() && u.Required == "" && !slices.ContainsFunc(u.Pods, func(p scheduling.Pod) bool { return e.s.Kinds[p.Kind].Dynamic })
}

// place puts pods of the unit somewhere, all of them or none matter to the caller, who
// rolls back.
func (e *estimator) place(u *scheduling.Unit, pods []scheduling.Pod) (bool, error) {
	switch {
	case u.Required != "":
		return e.placeInDomain(u, pods)
	case !e.packs(u):
		return e.placeDynamic(pods)
	}
	return e.insert(pods, nil)
}
