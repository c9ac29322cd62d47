package estimator

import (
	"cmp"
	"slices"
)

// greedy packs from nothing, by value for cost.
func (w *packer) greedy(pr *problem, value []float64) *packing {
	out := &packing{left: slices.Clone(pr.need)}
	w.greedyInto(pr, value, out, newRemains(pr))
	return out
}

// greedyInto fills existing bins with the most value, then opens the bin whose best
// filling has the most value for its cost, until nothing more fits.
func (w *packer) greedyInto(pr *problem, value []float64, out *packing, left *remains) {
	value = positive(pr, value)
	sack := &knapsack{req: pr.req, value: value, limit: out.left, budget: w.budget.Patterns, devices: pr.devices}
	for b := range pr.bins {
		for pr.bins[b].existing && left.room(pr, b) > 0 {
			take, v, _ := sack.fillBin(&pr.bins[b])
			if v <= 0 || !left.take(pr, out, fillOf{b, take}, left.room(pr, b)) {
				break
			}
		}
	}
	guide := guides(pr)
	for !out.complete() {
		best, bestRatio := fillOf{bin: -1}, 0.0
		for b := range pr.bins {
			if pr.bins[b].existing || left.room(pr, b) <= 0 {
				continue
			}
			take, v, complete := sack.fillBin(&pr.bins[b])
			w.stats.Options++
			w.stats.Truncated = w.stats.Truncated || !complete
			if ratio := v / perNode(pr, out, left, fillOf{b, take}, guide[b]); ratio > bestRatio+tolerance {
				best, bestRatio = fillOf{b, take}, ratio
			}
		}
		if best.bin < 0 || !left.take(pr, out, best, left.room(pr, best.bin)) {
			return
		}
	}
}

// perNode is the guide of a node that is filled so: where nodes come in units, the whole
// unit is paid for as many of them as the pods still needed would fill.
func perNode(pr *problem, out *packing, left *remains, f fillOf, guide float64) float64 {
	unit := pr.bins[f.bin].unit
	if unit <= 1 {
		return guide
	}
	if roundUp(left.open[f.bin], unit) > left.open[f.bin] {
		return guide / float64(unit) // part of a unit that is bought already
	}
	filled := unit
	for k, n := range f.take {
		if n > 0 {
			filled = min(filled, max(out.left[k]/n, 1))
		}
	}
	return float64(guide*float64(unit)) / float64(filled)
}

// sizes values each kind by the largest part that it takes of the largest bin.
func sizes(pr *problem) []float64 {
	out := positive(pr, make([]float64, len(pr.need)))
	for k := range out {
		out[k] *= 1e4
	}
	return out
}

// positive gives kinds that the linear program thinks free a small value by their size,
// so that they are packed all the same.
func positive(pr *problem, value []float64) []float64 {
	out := slices.Clone(value)
	var most []int64
	for i := range pr.bins {
		if most == nil {
			most = slices.Clone(pr.bins[i].free)
		}
		for d, n := range pr.bins[i].free {
			most[d] = max(most[d], n)
		}
	}
	for k := range out {
		var size float64
		for d, n := range pr.req[k] {
			if n > 0 && most[d] > 0 {
				size = max(size, float64(n)/float64(most[d]))
			}
		}
		out[k] = max(out[k], float64(1e-4*size))
	}
	return out
}

// fillExisting puts into the existing nodes, the least free first, the pods that are
// worth most.
func (w *packer) fillExisting(pr *problem, value []float64, out *packing) {
	left := newRemains(pr)
	sack := &knapsack{req: pr.req, value: positive(pr, value), limit: out.left, budget: w.budget.Patterns, devices: pr.devices}
	var order []int
	for b := range pr.bins {
		if pr.bins[b].existing {
			order = append(order, b)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(reversed(pr.bins[a].free), reversed(pr.bins[b].free)) })
	for _, b := range order {
		for left.room(pr, b) > 0 {
			take, v, _ := sack.fillBin(&pr.bins[b])
			w.stats.Options++
			if v <= 0 || !left.take(pr, out, fillOf{b, take}, left.room(pr, b)) {
				break
			}
		}
	}
}

// reversed compares the scarce dimensions (accelerators) before cpu and memory.
func reversed(v []int64) []int64 {
	out := slices.Clone(v)
	slices.Reverse(out)
	return out
}

// improve makes a packing cheaper without changing what it places: bins that are hardly
// used are emptied into others, and each new node becomes the cheapest that holds what it
// holds.
func (w *packer) improve(pr *problem, p *packing) *packing {
	out := &packing{left: slices.Clone(p.left)}
	for _, u := range p.uses {
		out.uses = append(out.uses, use{bin: u.bin, take: slices.Clone(u.take), count: u.count})
	}
	w.downgrade(pr, out)
	if len(out.uses) <= mostToEmpty {
		w.empty(pr, out)
		w.downgrade(pr, out)
	}
	return out
}

// mostToEmpty bounds the quadratic work of emptying bins.
const mostToEmpty = 300

func (w *packer) downgrade(pr *problem, p *packing) {
	for i := range p.uses {
		u := &p.uses[i]
		from := &pr.bins[u.bin]
		if from.existing {
			continue
		}
		for b := range pr.bins {
			to := &pr.bins[b]
			if to.existing || b == u.bin || !cheaper(to, &pr.bins[u.bin]) || !pr.carries(b, u.take) {
				continue
			}
			was, before := u.bin, w.score(pr, p)
			u.bin = b
			if !pr.within(p) || !w.score(pr, p).less(before) {
				u.bin = was
			}
		}
	}
}

func cheaper(a, b *bin) bool {
	return cmp.Or(cmp.Compare(a.cost, b.cost), slices.Compare(a.tie[:], b.tie[:])) < 0
}

// carries says whether an empty bin holds all of a filling.
func (pr *problem) carries(bin int, take []int64) bool {
	free := slices.Clone(pr.bins[bin].free)
	for k, n := range take {
		if n == 0 {
			continue
		}
		if !pr.bins[bin].allow[k] || times(free, pr.req[k]) < n {
			return false
		}
		shift(free, pr.req[k], -n)
	}
	_, got := pr.devices.fill(pr.bins[bin].room, take)
	return slices.Equal(got, take)
}

// empty tries, the dearest new nodes first, to move everything of one node into the room
// that the others have left.
func (w *packer) empty(pr *problem, p *packing) {
	order := make([]int, len(p.uses))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(pr.bins[p.uses[b].bin].cost, pr.bins[p.uses[a].bin].cost)
	})
	for _, i := range order {
		for !pr.bins[p.uses[i].bin].existing && p.uses[i].count > 0 && pr.moveOut(p, i) {
			w.stats.Options++
		}
	}
	p.uses = slices.DeleteFunc(p.uses, func(u use) bool { return u.count == 0 })
}

// moveOut empties one node of use i; false, with nothing changed, when it cannot.
func (pr *problem) moveOut(p *packing, i int) bool {
	moved := slices.Clone(p.uses[i].take)
	trial := make([]use, 0, len(p.uses)+4)
	for j, u := range p.uses {
		trial = append(trial, use{bin: u.bin, take: u.take, count: u.count})
		if j == i {
			trial[j].count--
		}
	}
	for j := 0; j < len(p.uses); j++ {
		u := trial[j]
		if u.count == 0 {
			continue
		}
		extra := pr.fitInto(u, moved)
		if extra == nil {
			continue
		}
		// One bin of the use takes the extra pods; the others stay alike.
		trial[j].count--
		trial = append(trial, use{bin: u.bin, take: extra, count: 1})
		if !slices.ContainsFunc(moved, func(n int64) bool { return n > 0 }) {
			p.uses = trial // uses of no bins stay until empty is done: indexes hold
			return true
		}
	}
	return false
}

// fitInto moves as many pods as fit into one bin of the use: the new filling, or nil when
// none fits. moved is lessened.
func (pr *problem) fitInto(u use, moved []int64) []int64 {
	b := &pr.bins[u.bin]
	free := slices.Clone(b.free)
	for k, n := range u.take {
		shift(free, pr.req[k], -n)
	}
	room, _ := pr.devices.fill(b.room, u.take)
	var take []int64
	for k, n := range moved {
		if n == 0 || !b.allow[k] {
			continue
		}
		t := min(times(free, pr.req[k]), n)
		if room, t = pr.devices.take(k, room, t); t > 0 {
			if take == nil {
				take = slices.Clone(u.take)
			}
			take[k] += t
			moved[k] -= t
			shift(free, pr.req[k], -t)
		}
	}
	return take
}
