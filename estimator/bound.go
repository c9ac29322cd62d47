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
//	cost >= sum_k u_k need_k - sum_existing most_b M_b(u)   if M_b(u) <= price_b for all new b,
//
// where M_b(u) is the largest value of pods that one bin of the sort can hold. The prices
// are the duals of the linear program, rounded down to whole micro-dollars; M_b is
// computed in integers and, where the exact search is cut off, bounded from above, so
// the bound holds whatever the floating-point search did. Group maxima, limits and units
// are relaxed.
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
			b.cost, b.most = int64(price[b.group]), math.MaxInt32
			most = max(most, b.cost)
		}
		priced.bins = append(priced.bins, b)
	}
	if most == 0 || !slices.ContainsFunc(pr.need, func(n int64) bool { return n > 0 }) {
		return 0
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
			u[k] = int64(v / 0.998 * float64(most))
		}
		best = max(best, priced.value(u))
	}
	return configv1alpha1.MicroDollars(best)
}

func onlyNew(bins []bin) []bin {
	return slices.DeleteFunc(slices.Clone(bins), func(b bin) bool { return b.existing })
}

// value is the bound at prices u, which are scaled down until no new node holds more
// than it costs. Arithmetic is in integers.
func (pr *problem) value(u []int64) int64 {
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
	var v int64
	for k, n := range pr.need {
		v += u[k] * n
	}
	for b := range pr.bins {
		if pr.bins[b].existing {
			v -= pr.bins[b].most * pr.mostValue(b, u)
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
// the search ends within its steps, else the smallest of the fractional bounds of single
// dimensions.
func (pr *problem) mostValue(bin int, u []int64) int64 {
	s := &integerSack{req: pr.req, value: u, limit: pr.need, steps: 4000}
	for k := range u {
		if u[k] > 0 && pr.bins[bin].allow[k] && pr.need[k] > 0 && holds(pr.bins[bin].free, pr.req[k]) {
			s.kinds = append(s.kinds, k)
		}
	}
	s.free = slices.Clone(pr.bins[bin].free)
	s.sort()
	upper := s.fractional(0)
	s.search(0, 0)
	if s.steps <= 0 {
		return upper
	}
	return s.best
}

// integerSack is the knapsack of the bound: integers only.
type integerSack struct {
	req   [][]int64
	value []int64
	limit []int64
	kinds []int
	// byRatio holds, for each dimension, positions in kinds by value for its use of it.
	byRatio [][]int
	free    []int64
	best    int64
	steps   int
}

func (s *integerSack) sort() {
	slices.SortStableFunc(s.kinds, func(a, b int) int { return cmp.Compare(s.value[b], s.value[a]) })
	for d := range s.free {
		order := make([]int, len(s.kinds))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			a, b := s.kinds[i], s.kinds[j]
			// value[a]/req[a] against value[b]/req[b] without division; no use of it comes first.
			ah, al := bits.Mul64(uint64(s.value[a]), uint64(s.req[b][d]))
			bh, bl := bits.Mul64(uint64(s.value[b]), uint64(s.req[a][d]))
			return cmp.Or(cmp.Compare(bh, ah), cmp.Compare(bl, al))
		})
		s.byRatio = append(s.byRatio, order)
	}
}

// fractional bounds the value of the kinds from a position on by each dimension alone:
// kinds by value per unit of it, the last one in part, rounded up.
func (s *integerSack) fractional(pos int) int64 {
	best := int64(math.MaxInt64)
	for d, order := range s.byRatio {
		free := max(s.free[d], 0)
		var v int64
		for _, i := range order {
			if i < pos {
				continue
			}
			k := s.kinds[i]
			r := s.req[k][d]
			if r > 0 && free/r < s.limit[k] {
				v += s.value[k]*(free/r) + mulDiv(s.value[k], free%r, r) + 1
				break
			}
			free -= r * s.limit[k]
			v += s.value[k] * s.limit[k]
		}
		best = min(best, v)
	}
	return best
}

func (s *integerSack) search(pos int, v int64) {
	s.best = max(s.best, v)
	if pos == len(s.kinds) || s.steps <= 0 {
		return
	}
	s.steps--
	if v+s.fractional(pos) <= s.best {
		return
	}
	k := s.kinds[pos]
	for n := min(times(s.free, s.req[k]), s.limit[k]); n >= 0 && s.steps > 0; n-- {
		shift(s.free, s.req[k], -n)
		s.search(pos+1, v+n*s.value[k])
		shift(s.free, s.req[k], n)
	}
}
