package estimator

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// lowerBound is what no plan could pay less for the same pods: the Lagrangian bound of
// the packing's linear program (Gilmore and Gomory's cutting stock program with one
// column for each filling of a node). For any prices u >= 0 of the kinds,
//
//	cost >= sum_k u_k need_k - sum_b most_b max(0, M_b(u) - price_b)
//
// where M_b(u) is the largest value of pods that one bin of the sort can hold, most_b how
// many bins there are or may be, and the price of an existing node is 0. The prices are
// the duals of the linear program, rounded down to whole micro-dollars; M_b is computed
// in integers and, where the exact search is cut off, bounded from above, so the bound
// holds whatever the floating-point search did. Limits of the whole plan and units are
// relaxed, and so is all that pods see of each other.
//
// Worked example: eight 1-GPU pods, a node of 8 GPUs at 5.40: u = 0.675 for each pod, one
// node holds at most 5.40 worth, so no plan costs less than 5.40.
func (w *packer) lowerBound(pr *problem, price []configv1alpha1.MicroDollars) configv1alpha1.MicroDollars {
	priced := &problem{req: pr.req, need: pr.need}
	var most int64
	for i := range pr.bins {
		b := pr.bins[i]
		b.cost, b.tie, b.weigh = 0, [3]int64{}, nil
		if !b.existing {
			b.cost = int64(price[b.group])
			most = max(most, b.cost)
		}
		priced.bins = append(priced.bins, b)
	}
	if most == 0 || !slices.ContainsFunc(pr.need, func(n int64) bool { return n > 0 }) {
		return 0
	}
	if pr.kinds() > manyKinds {
		u := priced.byRoom()
		best := max(priced.value(u), priced.value(priced.scaled(u)))
		return configv1alpha1.MicroDollars(priced.roundToPrices(best))
	}
	var best int64
	for _, bins := range [][]bin{priced.bins, onlyNew(priced.bins)} {
		if len(bins) > manyExisting+w.groups {
			continue
		}
		m := newMaster(&problem{req: priced.req, need: priced.need, bins: bins}, w.budget)
		m.generate(w)
		u := make([]int64, len(priced.need))
		for k, v := range m.values() {
			u[k] = int64(min(v/0.998, 1) * float64(most)) // no pod is worth more than the dearest node
		}
		best = max(best, priced.value(u), priced.value(priced.scaled(u)))
	}
	return configv1alpha1.MicroDollars(priced.roundToPrices(best))
}

// roundToPrices raises a bound to what nodes can cost in all: a multiple of the greatest
// common divisor of the prices.
func (pr *problem) roundToPrices(bound int64) int64 {
	var common int64
	for i := range pr.bins {
		for a := pr.bins[i].cost; a != 0; {
			common, a = a, common%max(a, 1)
		}
	}
	return roundUp(bound, common)
}

// byRoom prices kinds by the room that they take: the duals of the program that covers
// each dimension's sum with as many nodes as there may be. A bound by sums alone.
func (pr *problem) byRoom() []int64 {
	var total []float64
	for k, n := range pr.need {
		for d, r := range pr.req[k] {
			for len(total) <= d {
				total = append(total, 0)
			}
			total[d] += float64(r) * float64(n)
		}
	}
	dims := len(total)
	rows := make([]float64, dims, dims+len(pr.bins))
	for d := range rows {
		rows[d] = 1 // all that is needed of the dimension
	}
	most := int64(1)
	for b := range pr.bins {
		most = max(most, pr.bins[b].cost)
		rows = append(rows, float64(pr.bins[b].most))
	}
	l := newLinear(dims, rows)
	for b := range pr.bins {
		c := column{cost: float64(pr.bins[b].cost) / float64(most), rows: []int{dims + b}, vals: []float64{1}}
		for d, n := range pr.bins[b].free {
			if n > 0 && total[d] > 0 {
				c.rows = append(c.rows, d)
				c.vals = append(c.vals, float64(n)/total[d])
			}
		}
		l.add(c)
	}
	l.solve(1000)
	l.duals()
	u := make([]int64, len(pr.need))
	for k := range u {
		var v float64
		for d, r := range pr.req[k] {
			if total[d] > 0 {
				v += float64(l.y[d] * (float64(r) / total[d]))
			}
		}
		u[k] = int64(min(max(v, 0), 1) * float64(most))
	}
	return u
}

func onlyNew(bins []bin) []bin {
	return slices.DeleteFunc(slices.Clone(bins), func(b bin) bool { return b.existing })
}

// scaled lowers prices until no new node holds more than it costs.
func (pr *problem) scaled(u []int64) []int64 {
	u = slices.Clone(u)
	for b := range pr.bins {
		if pr.bins[b].existing {
			continue
		}
		if holdsAtMost := pr.mostValue(b, u); holdsAtMost > pr.bins[b].cost {
			for k := range u {
				u[k] = mulDiv(u[k], pr.bins[b].cost, holdsAtMost)
			}
		}
	}
	return u
}

// value is the bound at prices u, in integers.
func (pr *problem) value(u []int64) int64 {
	var v int64
	for k, n := range pr.need {
		v += u[k] * n
	}
	for b := range pr.bins {
		excess := pr.mostValue(b, u) - pr.bins[b].cost
		if excess <= 0 {
			continue
		}
		if pr.bins[b].most > math.MaxInt64/4/excess {
			return 0
		}
		if v -= pr.bins[b].most * excess; v <= 0 {
			return 0
		}
	}
	return max(v, 0)
}

// mulDiv is a*b/c, rounded down, for a, b >= 0 and c >= b.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(q)
}

// mostValue is at least the largest sum of u over the pods that one bin holds: exact where
// the search ends within its steps, else the value of the room at prices at which no kind
// is worth more than the room it takes.
func (pr *problem) mostValue(bin int, u []int64) int64 {
	s := &integerSack{req: pr.req, value: u, limit: pr.need, steps: 400000}
	b := &pr.bins[bin]
	for k := range u {
		if u[k] > 0 && b.allow[k] && pr.need[k] > 0 && holds(b.free, pr.req[k]) {
			s.kinds = append(s.kinds, k)
		}
	}
	if len(s.kinds) == 0 {
		return 0
	}
	s.free = slices.Clone(b.free)
	s.setPrices()
	upper := s.roomWorth()
	if !b.existing && upper <= b.cost {
		return upper // nothing to gain from knowing it better
	}
	s.search(0, 0)
	if s.steps <= 0 {
		return upper
	}
	return s.best
}

// integerSack is the knapsack of the bound: whatever is claimed is checked in integers.
type integerSack struct {
	req   [][]int64
	value []int64
	limit []int64
	kinds []int
	price []uint64 // by dimension, in 2^-bits of a unit of value
	bits  uint
	free  []int64
	best  int64
	steps int
}

// setPrices takes the prices of the fractional filling, rounds them up, and raises them
// until, in integers, no kind is worth more than its room. Prices keep as many binary
// places as leave them below 2^60.
func (s *integerSack) setPrices() {
	values := make([]float64, len(s.value))
	for _, k := range s.kinds {
		values[k] = float64(s.value[k])
	}
	guess := roomPrices(s.free, s.req, values, s.kinds)
	dearest := 0.0
	for _, p := range guess {
		dearest = max(dearest, p)
	}
	for s.bits = 30; s.bits > 0 && dearest*float64(uint64(1)<<s.bits) >= 1<<60; {
		s.bits--
	}
	s.price = make([]uint64, len(guess))
	for d, p := range guess {
		if p > 0 {
			s.price[d] = uint64(min(p*float64(uint64(1)<<s.bits), 1<<60)) + 1
		}
	}
	for _, k := range s.kinds {
		for step := uint64(1); s.worth(s.req[k]) < s.value[k]; step *= 2 {
			for d := range s.price {
				s.price[d] = min(s.price[d]+s.price[d]/1024+step, 1<<62) // every kind asks for a pod: this ends
			}
		}
	}
	slices.SortStableFunc(s.kinds, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(values[b]*float64(s.worth(s.req[a])+1), values[a]*float64(s.worth(s.req[b])+1)),
			cmp.Compare(s.value[b], s.value[a]),
		)
	})
}

// worth is the price of room, rounded down.
func (s *integerSack) worth(room []int64) int64 {
	var hi, lo, carry uint64
	for d, n := range room {
		if n > 0 && s.price[d] > 0 {
			h, l := bits.Mul64(uint64(n), s.price[d])
			lo, carry = bits.Add64(lo, l, 0)
			hi, _ = bits.Add64(hi, h, carry)
		}
	}
	if hi>>s.bits > 0 {
		return math.MaxInt64
	}
	return int64(min(hi<<(64-s.bits)|lo>>s.bits, math.MaxInt64))
}

func (s *integerSack) roomWorth() int64 { return s.worth(s.free) }

func (s *integerSack) search(pos int, v int64) {
	s.best = max(s.best, v)
	if pos == len(s.kinds) || s.steps <= 0 {
		return
	}
	s.steps--
	if v+s.roomWorth() <= s.best {
		return
	}
	k := s.kinds[pos]
	for n := min(times(s.free, s.req[k]), s.limit[k]); n >= 0 && s.steps > 0; n-- {
		shift(s.free, s.req[k], -n)
		s.search(pos+1, v+n*s.value[k])
		shift(s.free, s.req[k], n)
	}
}
