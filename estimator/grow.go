package estimator

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
)

// room is how many more nodes of the group may be opened, after what this decision
// opened already, by the group's own bounds.
func (e *estimator) room(group int) int64 {
	g := &e.s.Groups[group]
	n := g.Room(e.Now) - int64(e.s.Opened(group))
	return max(n-n%g.Unit, 0)
}

// opened is what this decision has bought so far.
func (e *estimator) opened() usage {
	u := usage{accelerators: map[string]int64{}}
	for g := range e.s.Groups {
		n := int64(e.s.Opened(g))
		u.nodes += n
		u.cost += e.s.Groups[g].Price * configv1alpha1.MicroDollars(n)
		if a := e.s.Groups[g].Accelerator; a != "" {
			u.accelerators[a] += n * e.s.Groups[g].AcceleratorCount
		}
	}
	return u
}

// exceeded are the limits of the whole plan that n more nodes of the group would pass.
func (e *estimator) exceeded(group int, n int64) []v1alpha1.Reason {
	g, so := &e.s.Groups[group], e.opened()
	var out []v1alpha1.Reason
	if most := e.Limits.MaxNodes; most != nil && e.base.nodes+so.nodes+n > *most {
		out = append(out, v1alpha1.Reason{Code: v1alpha1.MaxNodes, Object: g.Name,
			Text: fmt.Sprintf("needs %s, limits.maxNodes leaves %d (%d of %d taken)", nodes(n), max(*most-e.base.nodes-so.nodes, 0), e.base.nodes+so.nodes, *most)})
	}
	if most := e.Limits.MaxCostPerHour; most != nil && e.base.cost+so.cost+g.Price*configv1alpha1.MicroDollars(n) > *most {
		out = append(out, v1alpha1.Reason{Code: v1alpha1.MaxCostPerHour, Object: g.Name,
			Text: fmt.Sprintf("needs %s an hour more, limits.maxCostPerHour leaves %s (%s of %s taken)",
				(g.Price * configv1alpha1.MicroDollars(n)).Dollars(), max(*most-e.base.cost-so.cost, 0).Dollars(), (e.base.cost + so.cost).Dollars(), most.Dollars())})
	}
	if most, ok := e.Limits.Accelerators[g.Accelerator]; ok && g.AcceleratorCount > 0 {
		have := e.base.accelerators[g.Accelerator] + so.accelerators[g.Accelerator]
		if have+n*g.AcceleratorCount > most {
			out = append(out, v1alpha1.Reason{Code: v1alpha1.MaxAccelerators, Object: g.Name,
				Text: fmt.Sprintf("needs %d more %s, limits.accelerators leaves %d (%d of %d taken)", n*g.AcceleratorCount, g.Accelerator, max(most-have, 0), have, most)})
		}
	}
	return out
}

func nodes(n int64) string { return count(n, "node") }

// count writes a number of things: 1 node, 2 nodes.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// canOpen says whether one more node (or unit of nodes) of the group may be bought.
func (e *estimator) canOpen(group int) bool {
	unit := e.s.Groups[group].Unit
	return e.room(group) >= unit && len(e.exceeded(group, unit)) == 0
}

// open imagines one more node of the group, and the others of its unit, in these domains;
// nil lets each join what is begun, a unit as a whole. It returns the first.
func (e *estimator) open(group int, domains map[string]string) int {
	g := &e.s.Groups[group]
	if domains == nil && g.Unit > 1 && len(g.Topology) > 0 {
		domains = e.s.Domains.Next(group, nil, "new")
		if e.s.Domains.Room(group, domains) < g.Unit {
			domains = e.s.Domains.Fresh(group, g.Topology[len(g.Topology)-1].Key, g.Unit, "new")
		}
	}
	first := -1
	for range g.Unit {
		labels := domains
		if len(g.Topology) > 0 {
			labels = e.s.Domains.Next(group, domains, "new")
		}
		n := e.s.Open(group, labels)
		if first < 0 {
			first = n
		}
	}
	return first
}

// mayGrowFor says whether the group may grow for pods of the kind: not for a pod without
// accelerators where the group has some, unless the configuration says so and no other
// group that could hold the pod may still grow.
func (e *estimator) mayGrowFor(kind, group int) (bool, error) {
	if e.s.Kinds[kind].AsksAccelerator || e.s.Groups[group].AcceleratorCount == 0 {
		return true, nil
	}
	if !e.s.Groups[group].GrowsForAny {
		return false, nil
	}
	for g := range e.s.Groups {
		if e.s.Groups[g].AcceleratorCount > 0 || !e.canOpen(g) {
			continue
		}
		if holds, err := e.s.TemplateHolds(kind, g); err != nil || holds {
			return false, err
		}
	}
	return true, nil
}

// candidates are the groups of which a new node could hold a pod of the kind and that
// may grow for it now, cheapest for `count` pods of it first:
//  1. the lower cost for each pod that a node (or unit of nodes) holds,
//  2. the lower cost of a node or unit,
//  3. the group's name.
func (e *estimator) candidates(kind int, count int64) ([]int, error) {
	type option struct {
		group int
		holds int64
	}
	var all []option
	for g := range e.s.Groups {
		ok, err := e.s.TemplateHolds(kind, g)
		if err == nil && ok && e.canOpen(g) {
			ok, err = e.mayGrowFor(kind, g)
		} else {
			ok = false
		}
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, option{g, min(e.s.TemplateFree(g).Times(e.s.Kinds[kind].Request)*e.s.Groups[g].Unit, count)})
		}
	}
	slices.SortFunc(all, func(a, b option) int {
		return cmp.Or(
			compareProducts(e.unitCost(a.group), b.holds, e.unitCost(b.group), a.holds),
			cmp.Compare(e.unitCost(a.group), e.unitCost(b.group)),
			cmp.Compare(e.s.Groups[a.group].Name, e.s.Groups[b.group].Name),
		)
	})
	out := make([]int, len(all))
	for i, o := range all {
		out[i] = o.group
	}
	return out, nil
}

// unitCost is what opening one more node of the group, with its unit, costs.
func (e *estimator) unitCost(group int) int64 { return e.weight[group] * e.s.Groups[group].Unit }

// compareProducts compares a*b with c*d without overflow, for numbers of at least 0.
func compareProducts(a, b, c, d int64) int {
	ah, al := bits.Mul64(uint64(a), uint64(b))
	ch, cl := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(ah, ch), cmp.Compare(al, cl))
}

// insert puts each pod on the first node that holds it, and opens the cheapest group
// where none does; `only`, where not nil, bounds the groups that may be opened. False
// when some pod finds no place.
func (e *estimator) insert(pods []scheduling.Pod, only []int) (bool, error) {
	// Pods that ask for the same count as alike, though each may be a kind of its own.
	alike := map[string]int64{}
	key := make(map[int]string, 8)
	for _, p := range pods {
		if _, ok := key[p.Kind]; !ok {
			key[p.Kind] = fmt.Sprint([]int64(e.s.Kinds[p.Kind].Request))
		}
		alike[key[p.Kind]]++
	}
	for _, p := range pods {
		ok, err := e.insertOne(p, alike[key[p.Kind]], only)
		if err != nil || !ok {
			return false, err
		}
		alike[key[p.Kind]]--
	}
	return true, nil
}

// nodesFor are the nodes to try for a pod of the kind: those from the last that held one
// on, because earlier ones only get fuller. For a pod that looks at other pods the
// earlier ones come after them: what was placed since may have opened them. A pod that
// asks for no accelerator tries nodes with accelerators last.
func (e *estimator) nodesFor(kind int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if e.s.Kinds[kind].AsksAccelerator {
			e.inTurn(kind, false, func(int) bool { return true }, yield)
			return
		}
		for _, accelerators := range []bool{false, true} {
			if !e.inTurn(kind, accelerators, func(n int) bool { return e.s.Nodes[n].Accelerators == accelerators }, yield) {
				return
			}
		}
	}
}

// cursor is the entry of next for a kind: one for nodes without and one for nodes with
// accelerators where the kind tells them apart.
func (e *estimator) cursor(kind int, accelerators bool) int {
	if accelerators && !e.s.Kinds[kind].AsksAccelerator {
		return 2*kind + 1
	}
	return 2 * kind
}

func (e *estimator) inTurn(kind int, accelerators bool, keep, yield func(int) bool) bool {
	from := min(e.next[e.cursor(kind, accelerators)], len(e.s.Nodes))
	if e.s.PluginsOnly() {
		from = 0 // nothing is remembered
	}
	for n := from; n < len(e.s.Nodes); n++ {
		if keep(n) && !yield(n) {
			return false
		}
	}
	if !e.s.Kinds[kind].Dynamic {
		return true
	}
	for n := range from {
		if keep(n) && !yield(n) {
			return false
		}
	}
	return true
}

func (e *estimator) insertOne(p scheduling.Pod, same int64, only []int) (bool, error) {
	for n := range e.nodesFor(p.Kind) {
		ok, err := e.s.Fits(p, n)
		if err != nil {
			return false, err
		}
		if ok {
			e.next[e.cursor(p.Kind, e.s.Nodes[n].Accelerators)] = n
			return true, e.s.Bind(p, n)
		}
	}
	e.next[e.cursor(p.Kind, false)], e.next[e.cursor(p.Kind, true)] = len(e.s.Nodes), len(e.s.Nodes)
	groups, err := e.candidates(p.Kind, same)
	if err != nil {
		return false, err
	}
	for _, g := range groups {
		if only != nil && !slices.Contains(only, g) {
			continue
		}
		mark := e.s.Mark()
		n := e.open(g, nil)
		ok, err := e.s.Fits(p, n)
		if err != nil {
			return false, err
		}
		if ok {
			e.next[e.cursor(p.Kind, e.s.Nodes[n].Accelerators)] = n
			return true, e.s.Bind(p, n)
		}
		if err := e.s.Rollback(mark); err != nil {
			return false, err
		}
	}
	return false, nil
}

// way is a manner of placing pods that look at other pods.
type way struct {
	only    []int // groups that may grow; nil for all
	largest bool  // the largest pods first, instead of the order given
}

// probesOfWays bounds the pods times nodes up to which several ways are compared.
const probesOfWays = 300_000

// ways are to be tried one after the other: all groups, each alone, and all but each, the
// largest pods first and in the order given.
func (e *estimator) ways(pods []scheduling.Pod) []way {
	out := []way{{largest: true}, {}}
	if len(pods)*(len(e.s.Nodes)+len(pods)) > probesOfWays {
		e.result.Stats.Truncated = true
		return out[:1]
	}
	var open []int
	for g := range e.s.Groups {
		if e.canOpen(g) {
			open = append(open, g)
		}
	}
	for i, g := range open {
		out = append(out, way{only: []int{g}, largest: true}, way{only: []int{g}})
		if len(open) > 2 {
			out = append(out, way{only: slices.Delete(slices.Clone(open), i, i+1), largest: true})
		}
	}
	return out
}

// placeDynamic tries several ways, the cheapest group pod by pod within each, and keeps
// the cheapest that places all.
func (e *estimator) placeDynamic(pods []scheduling.Pod) (bool, error) {
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	best, bestCost, cost := way{}, score{}, e.total().cost
	found := false
	for _, w := range e.ways(pods) {
		ok, err := e.insertBy(w, pods)
		e.result.Stats.Options++
		if err == nil && ok {
			c := e.total()
			if c.cost == cost {
				return true, nil // Nothing had to be bought.
			}
			if !found || c.less(bestCost) {
				best, bestCost, found = w, c, true
			}
		}
		e.next = slices.Clone(saved)
		if back := e.s.Rollback(mark); err == nil {
			err = back
		}
		if err != nil {
			return false, err
		}
	}
	if !found {
		return false, nil
	}
	return e.insertBy(best, pods)
}

func (e *estimator) insertBy(w way, pods []scheduling.Pod) (bool, error) {
	if w.largest {
		pods = e.largestFirst(pods)
	}
	return e.insert(pods, w.only)
}

// total scores all that this decision has opened so far.
func (e *estimator) total() score {
	s := score{first: make([]int64, len(e.s.Groups))}
	for g := range e.s.Groups {
		n := int64(e.s.Opened(g))
		if n == 0 {
			continue
		}
		s.first[e.packer.rank[g]] = n
		s.groups++
		s.cost += n * e.weight[g]
		for i, t := range e.tie(g) {
			s.tie[i] += n * t
		}
	}
	return s
}

// tie is what one node of a group brings that could lie idle.
func (e *estimator) tie(group int) [3]int64 {
	free := e.s.TemplateFree(group)
	return [3]int64{e.s.Groups[group].AcceleratorCount, free[scheduling.CPU], free[scheduling.Memory]}
}
