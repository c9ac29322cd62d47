package estimator

import (
	"cmp"
	"math"
	"slices"
)

// packer solves problems within a budget.
type packer struct {
	budget Budget
	stats  *Stats
	groups int // number of node groups, for scores
	// rank is the position of each group's name among all names.
	rank []int
}

// manyExisting is the number of sorts of existing nodes above which they are filled
// before the new nodes are chosen, instead of in one linear program.
const manyExisting = 40

// pack finds a cheap packing of everything that is needed, and what is left over where
// limits do not allow it. It keeps the best of several:
//  1. diving: whole parts of the linear program's solution are fixed, the rest solved again;
//  2. greedy: always the filling with the most value for its cost;
//  3. for small problems a search through all maximal fillings.
func (w *packer) pack(pr *problem) *packing {
	if len(pr.bins) == 0 || !slices.ContainsFunc(pr.need, func(n int64) bool { return n > 0 }) {
		return &packing{left: slices.Clone(pr.need)}
	}
	if pr.kinds() > manyKinds {
		return w.better(pr, nil, w.greedy(pr, sizes(pr)))
	}
	existing := 0
	for i := range pr.bins {
		if pr.bins[i].existing {
			existing++
		}
	}
	if existing > manyExisting {
		return w.packAfterFilling(pr)
	}
	m := newMaster(pr, w.budget)
	m.generate(w)
	value := m.values()
	best := w.better(pr, nil, w.dive(pr, m))
	best = w.better(pr, best, w.greedy(pr, value))
	if small(pr) {
		best = w.better(pr, best, w.exact(pr, m, best))
	}
	return best
}

// manyKinds is the number of kinds of pods above which a linear program with a row for
// each costs more than it brings; kinds that small are many and pack well by size.
const manyKinds = 250

// kinds is the number of kinds that are needed.
func (pr *problem) kinds() int {
	n := 0
	for _, need := range pr.need {
		if need > 0 {
			n++
		}
	}
	return n
}

// packAfterFilling fills existing nodes with what would be dearest to buy for, then packs
// the rest on new nodes.
func (w *packer) packAfterFilling(pr *problem) *packing {
	fresh := &problem{req: pr.req, need: pr.need, limits: pr.limits, devices: pr.devices}
	var at []int // index in pr of each bin of fresh
	for i := range pr.bins {
		if !pr.bins[i].existing {
			fresh.bins = append(fresh.bins, pr.bins[i])
			at = append(at, i)
		}
	}
	m := newMaster(fresh, w.budget)
	m.generate(w)
	filled := &packing{left: slices.Clone(pr.need)}
	w.fillExisting(pr, m.values(), filled)
	rest := &problem{req: pr.req, need: filled.left, bins: fresh.bins, limits: pr.limits, devices: pr.devices}
	out := w.pack(rest)
	for _, u := range out.uses {
		filled.uses = append(filled.uses, use{bin: at[u.bin], take: u.take, count: u.count})
	}
	filled.left = out.left
	return filled
}

// better improves a candidate and returns the better of it and the best so far.
func (w *packer) better(pr *problem, best, candidate *packing) *packing {
	if candidate == nil {
		return best
	}
	w.stats.Options++
	candidate = w.refill(pr, pr.allocated(w.improve(pr, candidate)))
	if !pr.within(candidate) {
		candidate = w.trim(pr, candidate)
	}
	if best == nil || w.score(pr, candidate).less(w.score(pr, best)) {
		return candidate
	}
	return best
}

// trim gives up uses from the end until the limits hold.
func (w *packer) trim(pr *problem, p *packing) *packing {
	out := &packing{uses: slices.Clone(p.uses), left: slices.Clone(p.left)}
	for i := len(out.uses) - 1; i >= 0 && !pr.within(out); i-- {
		for out.uses[i].count > 0 && !pr.within(out) {
			out.uses[i].count--
			for k, n := range out.uses[i].take {
				out.left[k] += n
			}
		}
	}
	out.uses = slices.DeleteFunc(out.uses, func(u use) bool { return u.count == 0 })
	return out
}

// master is the linear program of a problem: a row for each kind, for each bin that may
// run out, and for each limit; a column for each filling.
type master struct {
	pr     *problem
	lp     *linear
	rowOf  []int // by kind; -1 when none is needed
	binRow []int // by bin; -1 when it cannot run out
	limRow []int
	fills  []fillOf // by column
	guide  []float64
	budget Budget
	seen   map[string]bool
}

type fillOf struct {
	bin  int
	take []int64
}

func newMaster(pr *problem, budget Budget) *master {
	m := &master{pr: pr, rowOf: make([]int, len(pr.need)), binRow: make([]int, len(pr.bins)), limRow: make([]int, len(pr.limits)), budget: budget, seen: map[string]bool{}}
	var b []float64
	var total int64
	for k, n := range pr.need {
		m.rowOf[k] = -1
		if n > 0 {
			m.rowOf[k] = len(b)
			b = append(b, float64(n))
		}
		total += n
	}
	covers := len(b)
	for i := range pr.bins {
		m.binRow[i] = -1
		if pr.bins[i].most < total {
			m.binRow[i] = len(b)
			b = append(b, float64(pr.bins[i].most))
		}
	}
	for l := range pr.limits {
		m.limRow[l] = len(b)
		b = append(b, float64(pr.limits[l].left))
	}
	m.lp = newLinear(covers, b)
	m.guide = guides(pr)
	return m
}

// guides are the costs in the linear program: at most 1, with what decides between equal
// costs as a small part, so that the search leans the way in which the comparison goes.
func guides(pr *problem) []float64 {
	var most, tie0, tie1 int64
	for i := range pr.bins {
		most, tie0, tie1 = max(most, pr.bins[i].cost), max(tie0, pr.bins[i].tie[0]), max(tie1, pr.bins[i].tie[1])
	}
	part := func(n, of int64) float64 {
		if of == 0 {
			return 0
		}
		return float64(n) / float64(of)
	}
	out := make([]float64, len(pr.bins))
	for i := range pr.bins {
		b := &pr.bins[i]
		if b.existing {
			continue
		}
		out[i] = float64(0.998*part(b.cost, most)) + float64(1e-5*part(b.tie[0], tie0)) + float64(1e-6*part(b.tie[1], tie1)) + 1e-7
	}
	return out
}

func (m *master) add(bin int, take []int64) bool {
	key := make([]byte, 0, 4+2*len(take))
	key = append(key, byte(bin), byte(bin>>8))
	c := column{cost: m.guide[bin]}
	for k, n := range take {
		if n > 0 && m.rowOf[k] >= 0 {
			c.rows = append(c.rows, m.rowOf[k])
			c.vals = append(c.vals, float64(n))
			key = append(key, byte(k), byte(k>>8), byte(n), byte(n>>8), byte(n>>16))
		}
	}
	if m.seen[string(key)] || len(c.rows) == 0 {
		return false
	}
	m.seen[string(key)] = true
	if r := m.binRow[bin]; r >= 0 {
		c.rows = append(c.rows, r)
		c.vals = append(c.vals, 1)
	}
	for l, n := range m.pr.bins[bin].weigh {
		if n > 0 {
			c.rows = append(c.rows, m.limRow[l])
			c.vals = append(c.vals, float64(n))
		}
	}
	m.lp.add(c)
	m.fills = append(m.fills, fillOf{bin: bin, take: slices.Clone(take)})
	return true
}

// values are the duals of the kinds: what one more pod of each would cost.
func (m *master) values() []float64 {
	m.lp.duals()
	out := make([]float64, len(m.pr.need))
	for k, r := range m.rowOf {
		if r >= 0 {
			out[k] = max(m.lp.y[r], 0)
		}
	}
	return out
}

// binDual is what limits make a bin cost on top (at most 0 in sign: returned positive).
func (m *master) binDual(bin int) float64 {
	var d float64
	if r := m.binRow[bin]; r >= 0 {
		d -= m.lp.y[r]
	}
	for l, n := range m.pr.bins[bin].weigh {
		if n > 0 {
			d -= float64(m.lp.y[m.limRow[l]] * float64(n))
		}
	}
	return max(d, 0)
}

// generate adds fillings until none would lower the cost of the linear program. The
// search for a filling begins with few steps and gets more when it finds nothing; a bin
// that cannot hold enough value, by the bound, is not searched at all.
func (m *master) generate(w *packer) {
	m.start()
	sack := &knapsack{req: m.pr.req, limit: m.pr.need, budget: m.budget.Patterns / 16, devices: m.pr.devices}
	for range m.budget.Rounds {
		m.lp.solve(m.budget.Pivots)
		sack.value = m.values()
		added, cut := m.price(w, sack)
		if added {
			continue
		}
		if !cut || sack.budget >= m.budget.Patterns {
			w.stats.Truncated = w.stats.Truncated || cut
			return
		}
		sack.budget *= 4
	}
	w.stats.Truncated = true
}

// price looks for one filling for each bin that is worth more than the bin costs.
func (m *master) price(w *packer, sack *knapsack) (added, cut bool) {
	for b := range m.pr.bins {
		if m.pr.bins[b].most <= 0 {
			continue
		}
		sack.enough = m.guide[b] + m.binDual(b) + 1e-7
		take, v, complete := sack.fillBin(&m.pr.bins[b])
		w.stats.Options++
		cut = cut || !complete
		if v > sack.enough && m.add(b, take) {
			added = true
		}
	}
	sack.enough = 0
	return added, cut
}

// start adds, for each kind and bin, the filling with as many of the kind as fit and
// then whatever else does.
func (m *master) start() {
	for b := range m.pr.bins {
		bin := &m.pr.bins[b]
		if bin.most <= 0 {
			continue
		}
		for k, n := range m.pr.need {
			if n > 0 && bin.allow[k] && holds(bin.free, m.pr.req[k]) {
				m.add(b, m.pr.filling(b, k, m.pr.need))
			}
		}
	}
}

// filling fills an empty bin with kind first, then with the others in order.
func (pr *problem) filling(bin, first int, need []int64) []int64 {
	b := &pr.bins[bin]
	free, room := slices.Clone(b.free), b.room
	take := make([]int64, len(need))
	put := func(k int) {
		if need[k] > take[k] && b.allow[k] {
			n := min(times(free, pr.req[k]), need[k]-take[k])
			room, n = pr.devices.take(k, room, n)
			shift(free, pr.req[k], -n)
			take[k] += n
		}
	}
	put(first)
	for k := range need {
		put(k)
	}
	return take
}

// dive fixes the whole parts of the linear program's solution, solves the rest again,
// and where nothing is whole, rounds the largest part up.
func (w *packer) dive(pr *problem, m *master) *packing {
	out := &packing{left: slices.Clone(pr.need)}
	left := newRemains(pr)
	for range 4 * (len(pr.need) + len(pr.bins)) {
		if out.complete() {
			return out
		}
		fixed := w.fixWhole(pr, m, out, left)
		if !fixed && !w.fixLargest(pr, m, out, left) {
			break
		}
		m = m.again(out.left, left)
		m.lp.solve(w.budget.Pivots)
	}
	w.greedyInto(pr, m.values(), out, left)
	return out
}

// again is the linear program of what is left, with the same fillings.
func (m *master) again(need []int64, left *remains) *master {
	pr := &problem{req: m.pr.req, need: need, bins: slices.Clone(m.pr.bins), limits: slices.Clone(m.pr.limits), devices: m.pr.devices}
	for b := range pr.bins {
		pr.bins[b].most = left.bins[b]
	}
	for l := range pr.limits {
		pr.limits[l].left = left.limits[l]
	}
	next := newMaster(pr, m.budget)
	next.guide = m.guide
	for _, f := range m.fills {
		take := slices.Clone(f.take)
		for k := range take {
			take[k] = min(take[k], need[k])
		}
		if pr.bins[f.bin].most > 0 {
			next.add(f.bin, take)
		}
	}
	next.start()
	return next
}

func (w *packer) fixWhole(pr *problem, m *master, out *packing, left *remains) bool {
	values := m.lp.values()
	fixed := false
	for _, c := range sortedColumns(values) {
		n := int64(math.Floor(values[c] + 1e-6))
		if n > 0 && left.take(pr, out, m.fills[c], n) {
			fixed = true
		}
	}
	return fixed
}

func (w *packer) fixLargest(pr *problem, m *master, out *packing, left *remains) bool {
	values := m.lp.values()
	cols := sortedColumns(values)
	slices.SortStableFunc(cols, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	for _, c := range cols {
		if left.take(pr, out, m.fills[c], 1) {
			return true
		}
	}
	return false
}

func sortedColumns(values map[int]float64) []int {
	out := make([]int, 0, len(values))
	for c := range values {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}
