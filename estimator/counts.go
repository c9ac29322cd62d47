package estimator

import (
	"encoding/binary"
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// piece is a list of pods to be packed by counts.
type piece struct{ pods []scheduling.Pod }

// counts adds up the pods of pieces by kind.
func (e *estimator) counts(pieces []piece) []int64 {
	out := make([]int64, len(e.s.Kinds))
	for _, p := range pieces {
		for _, pod := range p.pods {
			out[pod.Kind]++
		}
	}
	return out
}

// packAll packs pods by counts and puts them on nodes; false when something is left over.
// Pods for which no accelerator group may grow have no part in how many accelerator nodes
// there are, but may use the room that is left on them. The steps:
//  1. what exists may hold everything;
//  2. the others alone decide how many accelerator nodes there are;
//  3. with those, all are packed together, or the rest after the others, whichever is better;
//  4. where a limit left no room for the rest, all are packed at once.
func (e *estimator) packAll(pieces []piece) (bool, error) {
	leads, follows, err := e.leadsAndFollows(pieces)
	if err != nil {
		return false, err
	}
	if len(leads) == 0 || len(follows) == 0 {
		return e.packPart(pieces, nil)
	}
	nothing := func(int) bool { return false }
	if ok, err := e.packPart(pieces, nothing); err != nil || ok {
		return ok, err
	}
	mark, next := e.s.Mark(), slices.Clone(e.next)
	first := len(e.s.Nodes)
	ok, err := e.packPart(leads, nil)
	if err != nil || !ok {
		return false, err
	}
	bought := e.openedSince(first)
	apart, err := e.packPart(follows, nil)
	if err != nil {
		return false, err
	}
	was := e.total()
	before := e.captureSince(mark, first)
	back := func() error {
		e.next = slices.Clone(next)
		return e.s.Rollback(mark)
	}
	if err := back(); err != nil {
		return false, err
	}
	for _, o := range bought {
		e.s.Open(o.group, o.labels)
	}
	ok, err = e.packPart(pieces, func(g int) bool { return e.s.Groups[g].AcceleratorCount == 0 })
	if err != nil || ok && (!apart || !was.less(e.total())) {
		return ok, err
	}
	if err := back(); err != nil {
		return false, err
	}
	if apart {
		return true, e.restore(before)
	}
	return e.packPart(pieces, nil)
}

// leadsAndFollows parts the pods into those for which some accelerator group may grow and
// the rest.
func (e *estimator) leadsAndFollows(pieces []piece) (leads, follows []piece, err error) {
	grows := make([]bool, len(e.s.Kinds))
	all, none := true, true
	for k, n := range e.counts(pieces) {
		if n == 0 {
			continue
		}
		if grows[k], err = e.growsAccelerators(k); err != nil {
			return nil, nil, err
		}
		all, none = all && grows[k], none && !grows[k]
	}
	switch {
	case all:
		return pieces, nil, nil
	case none:
		return nil, pieces, nil
	}
	for _, p := range pieces {
		var a, b []scheduling.Pod
		for _, pod := range p.pods {
			if grows[pod.Kind] {
				a = append(a, pod)
			} else {
				b = append(b, pod)
			}
		}
		if len(a) > 0 {
			leads = append(leads, piece{a})
		}
		if len(b) > 0 {
			follows = append(follows, piece{b})
		}
	}
	return leads, follows, nil
}

// growsAccelerators says whether some group with accelerators may grow for the kind.
func (e *estimator) growsAccelerators(kind int) (bool, error) {
	if e.s.Kinds[kind].AsksAccelerator {
		return true, nil
	}
	for g := range e.s.Groups {
		if e.s.Groups[g].AcceleratorCount == 0 {
			continue
		}
		if ok, err := e.mayGrowFor(kind, g); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// packPart packs pods on what exists and on new nodes of the groups that `may` lets grow;
// nil lets all.
func (e *estimator) packPart(pieces []piece, may func(group int) bool) (bool, error) {
	counts := e.counts(pieces)
	if !slices.ContainsFunc(counts, func(n int64) bool { return n > 0 }) {
		return true, nil
	}
	pr, err := e.problemOf(counts)
	if err != nil {
		return false, err
	}
	if may != nil {
		pr.bins = slices.DeleteFunc(pr.bins, func(b bin) bool { return !b.existing && !may(b.group) })
	}
	if !pr.couldHold() {
		return false, nil
	}
	p := e.packer.pack(pr.problem)
	if !p.complete() {
		return false, nil
	}
	return true, e.apply(pr, p, pieces)
}

// couldHold is a quick test by sums: no packing is complete where all bins together are
// too small for a resource, or some kind has no bin.
func (pr *problem) couldHold() bool {
	for k, n := range pr.need {
		if n > 0 && !slices.ContainsFunc(pr.bins, func(b bin) bool { return b.allow[k] && b.most > 0 && holds(b.free, pr.req[k]) }) {
			return false
		}
	}
	for d := range pr.req[0] {
		var want, have float64
		for k, n := range pr.need {
			want += float64(pr.req[k][d]) * float64(n)
		}
		for i := range pr.bins {
			have += float64(max(pr.bins[i].free[d], 0)) * float64(pr.bins[i].most)
		}
		if want > have*1.000001 {
			return false
		}
	}
	return true
}

// kindsOf is a problem with the session's kind of each of its kinds.
type kindsOf struct {
	*problem
	kinds []int
}

// problemOf describes the packing of these counts of kinds on the session as it is.
func (e *estimator) problemOf(counts []int64) (kindsOf, error) {
	pr := kindsOf{problem: &problem{}}
	for k, n := range counts {
		if n > 0 {
			pr.kinds = append(pr.kinds, k)
		}
	}
	if slices.ContainsFunc(pr.kinds, e.s.AsksDevices) {
		// The allocator gives devices kind by kind; the largest shares first waste least.
		slices.SortStableFunc(pr.kinds, func(a, b int) int {
			return slices.Compare(reversed(e.s.Kinds[b].Request), reversed(e.s.Kinds[a].Request))
		})
	}
	for _, k := range pr.kinds {
		pr.req = append(pr.req, e.s.Kinds[k].Request)
		pr.need = append(pr.need, counts[k])
	}
	pr.devices = newDeviceRooms(e.s, pr.kinds)
	if err := e.existingBins(&pr); err != nil {
		return pr, err
	}
	return pr, e.newBins(&pr)
}

// existingBins adds the session's nodes that hold any pod, those alike as one sort.
func (e *estimator) existingBins(pr *kindsOf) error {
	type sort struct {
		key  string
		room scheduling.DeviceRoom
	}
	index := map[sort]int{}
	var key []byte
	for n := range e.s.Nodes {
		node := &e.s.Nodes[n]
		allow := make([]bool, len(pr.kinds))
		some := false
		for i, k := range pr.kinds {
			if !node.Free.Holds(pr.req[i]) {
				continue
			}
			ok, err := e.s.Allowed(k, n)
			if err != nil {
				return err
			}
			allow[i] = ok
			some = some || ok
		}
		if !some {
			continue
		}
		key = key[:0]
		for _, f := range node.Free {
			key = binary.AppendVarint(key, f)
		}
		for _, a := range allow {
			key = append(key, map[bool]byte{true: 1}[a])
		}
		room := node.Room()
		b, ok := index[sort{string(key), room}]
		if !ok {
			b = len(pr.bins)
			index[sort{string(key), room}] = b
			pr.bins = append(pr.bins, bin{free: slices.Clone(node.Free), allow: allow, existing: true, group: -1, unit: 1, room: room})
		}
		pr.bins[b].most++
		pr.bins[b].nodes = append(pr.bins[b].nodes, n)
	}
	return nil
}

// newBins adds the groups that may grow, and the limits that they share.
func (e *estimator) newBins(pr *kindsOf) error {
	var groups []int
	for g := range e.s.Groups {
		if !e.canOpen(g) {
			continue
		}
		allow := make([]bool, len(pr.kinds))
		some := false
		for i, k := range pr.kinds {
			ok, err := e.s.TemplateHolds(k, g)
			if err == nil && ok {
				ok, err = e.mayGrowFor(k, g)
			}
			if err != nil {
				return err
			}
			allow[i] = ok
			some = some || ok
		}
		if !some {
			continue
		}
		groups = append(groups, g)
		pr.bins = append(pr.bins, bin{
			free: slices.Clone(e.s.TemplateFree(g)), allow: allow, most: e.room(g),
			cost: e.weight[g], tie: e.tie(g), group: g, unit: e.s.Groups[g].Unit, room: e.s.TemplateRoom(g),
		})
	}
	e.addLimits(pr.problem, groups)
	return nil
}

// addLimits turns the configured limits into rows over the new bins.
func (e *estimator) addLimits(pr *problem, groups []int) {
	so := e.opened()
	add := func(name string, left int64, weigh func(group int) int64) {
		pr.limits = append(pr.limits, limit{name: name, left: max(left, 0)})
		for b := range pr.bins {
			w := int64(0)
			if !pr.bins[b].existing {
				w = weigh(pr.bins[b].group)
			}
			pr.bins[b].weigh = append(pr.bins[b].weigh, w)
		}
	}
	if m := e.Limits.MaxNodes; m != nil {
		add("maxNodes", *m-e.base.nodes-so.nodes, func(int) int64 { return 1 })
	}
	if m := e.Limits.MaxCostPerHour; m != nil {
		add("maxCostPerHour", int64(*m-e.base.cost-so.cost), func(g int) int64 { return int64(e.s.Groups[g].Price) })
	}
	var seen []string
	for _, g := range groups {
		name := e.s.Groups[g].Accelerator
		most, ok := e.Limits.Accelerators[name]
		if !ok || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		add(name, most-e.base.accelerators[name]-so.accelerators[name], func(g int) int64 {
			if e.s.Groups[g].Accelerator == name {
				return e.s.Groups[g].AcceleratorCount
			}
			return 0
		})
	}
}

// apply puts the pods of a packing on nodes: existing nodes take the first pods of each
// kind in order, new nodes are opened group by group.
func (e *estimator) apply(pr kindsOf, p *packing, pieces []piece) error {
	queue := make([][]scheduling.Pod, len(e.s.Kinds))
	for _, piece := range pieces {
		for _, pod := range piece.pods {
			queue[pod.Kind] = append(queue[pod.Kind], pod)
		}
	}
	uses := slices.Clone(p.uses)
	slices.SortStableFunc(uses, func(a, b use) int { return a.bin - b.bin })
	used := make([]int, len(pr.bins))
	spare := make([][]int, len(pr.bins)) // opened with their unit and not filled yet
	for _, u := range uses {
		for range u.count {
			var node int
			switch b := &pr.bins[u.bin]; {
			case b.existing:
				node = b.nodes[used[u.bin]]
				used[u.bin]++
			case len(spare[u.bin]) > 0:
				node, spare[u.bin] = spare[u.bin][0], spare[u.bin][1:]
			default:
				node = e.open(b.group, b.labels)
				for i := node + 1; i < node+int(b.unit); i++ {
					spare[u.bin] = append(spare[u.bin], i)
				}
			}
			if err := e.fill(pr, u.take, node, queue); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *estimator) fill(pr kindsOf, take []int64, node int, queue [][]scheduling.Pod) error {
	for i, n := range take {
		k := pr.kinds[i]
		for range n {
			if err := e.s.Bind(queue[k][0], node); err != nil {
				return err
			}
			queue[k] = queue[k][1:]
		}
	}
	return nil
}
