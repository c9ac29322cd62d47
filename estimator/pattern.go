package estimator

import (
	"cmp"
	"slices"
)

// knapsack finds the most valuable filling of one bin: how many pods of each kind to
// take so that the sum of values is largest. It is a depth-first search with a bound,
// cut off after a counted number of steps.
type knapsack struct {
	req   [][]int64 // by kind
	value []float64 // by kind; kinds of value 0 are left out
	limit []int64   // by kind: how many there are

	order  []int // kinds by value for their size, best first
	ratio  [][]float64
	free   []int64
	take   []int64
	best   []int64
	bestV  float64
	steps  int
	budget int
	atMost float64 // value that no filling can pass
	cut    bool
}

// fill returns the best filling found, its value, and whether the search was complete.
func (k *knapsack) fill(capacity []int64, allow []bool) ([]int64, float64, bool) {
	k.order = k.order[:0]
	for i, v := range k.value {
		if v > 0 && allow[i] && k.limit[i] > 0 && holds(capacity, k.req[i]) {
			k.order = append(k.order, i)
		}
	}
	k.best = make([]int64, len(k.value))
	k.bestV = 0
	if len(k.order) == 0 {
		return k.best, 0, true
	}
	size := func(i int) float64 {
		var most float64
		for d, n := range k.req[i] {
			if n > 0 && capacity[d] > 0 {
				most = max(most, float64(n)/float64(capacity[d]))
			}
		}
		return most
	}
	density := make([]float64, len(k.value))
	for _, i := range k.order {
		density[i] = k.value[i] / size(i)
	}
	slices.SortFunc(k.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(density[b], density[a]), cmp.Compare(a, b))
	})
	k.suffixRatios(len(capacity))
	k.free = slices.Clone(capacity)
	k.take = make([]int64, len(k.value))
	k.steps, k.cut = 0, false
	k.search(0, 0)
	return k.best, k.bestV, !k.cut
}

// suffixRatios: for each position of the order and each dimension, the most value that
// one unit of the dimension can bring from there on. 0 marks "not bounded by it".
func (k *knapsack) suffixRatios(dims int) {
	n := len(k.order)
	k.ratio = make([][]float64, n+1)
	k.ratio[n] = make([]float64, dims)
	for pos := n - 1; pos >= 0; pos-- {
		i := k.order[pos]
		row := make([]float64, dims)
		for d := range dims {
			next := k.ratio[pos+1][d]
			switch {
			case k.req[i][d] == 0 || next < 0:
				row[d] = -1 // a kind that does not use the dimension escapes its bound
			default:
				row[d] = max(next, k.value[i]/float64(k.req[i][d]))
			}
		}
		k.ratio[pos] = row
	}
}

// bound is the most value that the free room can still bring from this position on.
func (k *knapsack) bound(pos int) float64 {
	most := -1.0
	for d, r := range k.ratio[pos] {
		if r < 0 || r == 0 {
			continue
		}
		if v := float64(r * float64(max(k.free[d], 0))); most < 0 || v < most {
			most = v
		}
	}
	return most
}

func (k *knapsack) search(pos int, value float64) {
	if value > k.bestV+tolerance {
		k.bestV = value
		copy(k.best, k.take)
	}
	if pos == len(k.order) {
		return
	}
	k.steps++
	if k.steps > k.budget {
		k.cut = true
		return
	}
	if b := k.bound(pos); b >= 0 && value+b <= k.bestV+tolerance {
		return
	}
	i := k.order[pos]
	most := min(times(k.free, k.req[i]), k.limit[i])
	for n := most; n >= 0; n-- {
		shift(k.free, k.req[i], -n)
		k.take[i] = n
		k.search(pos+1, value+float64(float64(n)*k.value[i]))
		k.take[i] = 0
		shift(k.free, k.req[i], n)
		if k.cut {
			return
		}
	}
}

// holds, times and shift are the vector arithmetic of the packing: a dimension that is
// not asked for does not matter.
func holds(free, req []int64) bool {
	for d, n := range req {
		if n > 0 && n > free[d] {
			return false
		}
	}
	return true
}

func times(free, req []int64) int64 {
	most := int64(-1)
	for d, n := range req {
		if n > 0 {
			if t := max(free[d], 0) / n; most < 0 || t < most {
				most = t
			}
		}
	}
	return max(most, 0)
}

func shift(free, req []int64, by int64) {
	for d, n := range req {
		free[d] += n * by
	}
}
