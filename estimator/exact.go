package estimator

import (
	"encoding/binary"
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// Sizes up to which every combination of maximal fillings is searched.
const (
	smallKinds = 6
	smallPods  = 48
	smallBins  = 12
)

func small(pr *problem) bool {
	kinds, pods := 0, int64(0)
	for _, n := range pr.need {
		if n > 0 {
			kinds++
			pods += n
		}
	}
	return kinds <= smallKinds && pods <= smallPods && len(pr.bins) <= smallBins
}

// search is branch and bound over fillings. A state is what is still needed and which
// bins are left; in each state the dearest kind that is still needed goes into some bin,
// with every maximal filling around it. The bound is the linear program's: what the pods
// still needed would cost at its prices.
type search struct {
	pr    *problem
	w     *packer
	value []float64 // by kind
	dual  []float64 // by bin: what limits make it cost on top
	guide []float64
	order []int // kinds, dearest first

	left   *remains
	need   []int64
	uses   []use
	cost   float64
	best   *packing
	bestG  float64
	seen   map[string]float64
	states int
}

// exact returns a complete packing at least as good as the best so far, or nil when the
// search finds none within its budget.
func (w *packer) exact(pr *problem, m *master, best *packing) *packing {
	s := &search{pr: pr, w: w, value: m.values(), guide: guides(pr), left: newRemains(pr), need: slices.Clone(pr.need), seen: map[string]float64{}}
	for b := range pr.bins {
		s.dual = append(s.dual, m.binDual(b))
	}
	for k, n := range pr.need {
		if n > 0 {
			s.order = append(s.order, k)
		}
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		switch {
		case s.value[a] > s.value[b]:
			return -1
		case s.value[a] < s.value[b]:
			return 1
		}
		return 0
	})
	s.bestG = float64(len(pr.need)+1) * 1e6
	if best != nil && best.complete() {
		s.bestG = s.guideOf(best)
	}
	s.visit()
	if s.states > w.budget.Exact {
		w.stats.Truncated = true
	}
	w.stats.Options += s.states
	return s.best
}

func (s *search) guideOf(p *packing) float64 {
	count := make([]int64, len(s.pr.bins))
	for _, u := range p.uses {
		count[u.bin] += u.count
	}
	var g float64
	for b, n := range count {
		g += float64(s.guide[b] * float64(roundUp(n, s.pr.bins[b].unit)))
	}
	return g
}

// spare is how many nodes of a bin are bought with their unit and not used yet.
func (s *search) spare(bin int) int64 {
	return roundUp(s.left.open[bin], s.pr.bins[bin].unit) - s.left.open[bin]
}

// bound is what the rest costs at least, at the linear program's prices; nodes that are
// bought already with their unit come free.
func (s *search) bound() float64 {
	var v float64
	for k, n := range s.need {
		v += float64(s.value[k] * float64(n))
	}
	for b, d := range s.dual {
		if d > 0 {
			v -= float64(d * float64(max(s.left.bins[b], 0)))
		}
		v -= float64((s.guide[b] + d) * float64(s.spare(b)))
	}
	return v
}

// slack keeps states that the small parts of the guide make look worse than they are.
const slack = 2e-4

func (s *search) visit() {
	if s.states++; s.states > s.w.budget.Exact {
		return
	}
	if s.cost+s.bound() > s.bestG+slack {
		return
	}
	first := -1
	for _, k := range s.order {
		if s.need[k] > 0 {
			first = k
			break
		}
	}
	if first < 0 {
		s.finish()
		return
	}
	key := s.key()
	if c, ok := s.seen[key]; ok && c <= s.cost {
		return
	}
	s.seen[key] = s.cost
	for b := range s.pr.bins {
		if s.pr.bins[b].allow[first] && s.left.room(s.pr, b) > 0 && holds(s.pr.bins[b].free, s.pr.req[first]) {
			s.fill(b, first)
		}
	}
}

func (s *search) key() string {
	var b []byte
	for _, k := range s.order {
		b = binary.AppendVarint(b, s.need[k])
	}
	for i := range s.left.bins {
		b = binary.AppendVarint(b, s.left.bins[i])
	}
	return string(b)
}

// finish keeps the packing if it is better, by integers.
func (s *search) finish() {
	p := &packing{left: make([]int64, len(s.need))}
	for _, u := range s.uses {
		p.uses = append(p.uses, use{bin: u.bin, take: slices.Clone(u.take), count: 1})
	}
	if !s.pr.within(p) {
		return
	}
	if s.best == nil || s.w.score(s.pr, p).less(s.w.score(s.pr, s.best)) {
		s.best = p
	}
	s.bestG = min(s.bestG, s.cost)
}

// fill tries every maximal filling of the bin that holds the kind.
func (s *search) fill(bin, first int) {
	b := &s.pr.bins[bin]
	free := slices.Clone(b.free)
	take := make([]int64, len(s.need))
	kinds := []int{first}
	for _, k := range s.order {
		if k != first && s.need[k] > 0 && b.allow[k] {
			kinds = append(kinds, k)
		}
	}
	var choose func(pos int, room scheduling.DeviceRoom)
	choose = func(pos int, room scheduling.DeviceRoom) {
		if pos == len(kinds) {
			if !s.maximal(kinds, take, free, room) {
				return
			}
			s.enter(bin, take)
			return
		}
		k := kinds[pos]
		least := int64(0)
		if pos == 0 {
			least = 1
		}
		most := min(times(free, s.pr.req[k]), s.need[k])
		var rooms []scheduling.DeviceRoom
		if s.pr.devices != nil && s.pr.devices.asks[k] {
			rooms = s.pr.devices.chain(k, room, most)
			most = int64(len(rooms) - 1)
		}
		for n := most; n >= least; n-- {
			shift(free, s.pr.req[k], -n)
			take[k] = n
			left := room
			if rooms != nil {
				left = rooms[n]
			}
			choose(pos+1, left)
			take[k] = 0
			shift(free, s.pr.req[k], n)
			if s.states > s.w.budget.Exact {
				return
			}
		}
	}
	choose(0, b.room)
}

func (s *search) maximal(kinds []int, take, free []int64, room scheduling.DeviceRoom) bool {
	for _, k := range kinds {
		if s.need[k] > take[k] && holds(free, s.pr.req[k]) {
			if _, n := s.pr.devices.take(k, room, 1); n > 0 {
				return false
			}
		}
	}
	return true
}

// enter goes down with one bin filled and comes back.
func (s *search) enter(bin int, take []int64) {
	saved := remains{bins: slices.Clone(s.left.bins), limits: slices.Clone(s.left.limits), open: slices.Clone(s.left.open)}
	cost := s.cost
	u := use{bin: bin, take: slices.Clone(take), count: 1}
	for k, n := range u.take {
		s.need[k] -= n
	}
	bought := s.spare(bin)
	s.left.use(s.pr, bin, 1)
	bought = s.spare(bin) + 1 - bought
	s.cost += float64(s.guide[bin] * float64(bought))
	s.uses = append(s.uses, u)
	s.visit()
	s.uses = s.uses[:len(s.uses)-1]
	s.cost = cost
	*s.left = saved
	for k, n := range u.take {
		s.need[k] += n
	}
}
