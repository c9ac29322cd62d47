package estimator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// tiny draws a problem that exhaustive search can solve: up to three kinds, up to four
// sorts of bins, existing and new, with limits and units where asked for.
func tiny(r *rand.Rand, units bool) *problem {
	pr := &problem{}
	kinds, dims := 1+r.IntN(3), 3
	for range kinds {
		req := make([]int64, dims)
		req[0], req[1], req[2] = r.Int64N(4), r.Int64N(4), 1
		pr.req = append(pr.req, req)
		pr.need = append(pr.need, r.Int64N(5))
	}
	existing := r.IntN(3)
	for i := range existing + 1 + r.IntN(3) {
		b := bin{free: []int64{r.Int64N(9), r.Int64N(9), 1 + r.Int64N(6)}, unit: 1, group: -1, existing: i < existing}
		for range kinds {
			b.allow = append(b.allow, r.IntN(6) > 0)
		}
		if b.existing {
			b.most = 1 + r.Int64N(2)
		} else {
			b.group = i - existing
			if units {
				b.unit = 1 + r.Int64N(3)
			}
			b.most, b.cost = b.unit*r.Int64N(4), (1+r.Int64N(20))*500_000
			b.tie = [3]int64{r.Int64N(3), b.free[0], b.free[1]}
		}
		pr.bins = append(pr.bins, b)
	}
	if r.IntN(2) == 0 {
		pr.addLimit("nodes", r.Int64N(6), func(*bin) int64 { return 1 })
	}
	if r.IntN(3) == 0 {
		pr.addLimit("cost", r.Int64N(60)*500_000, func(b *bin) int64 { return b.cost })
	}
	return pr
}

func (pr *problem) addLimit(name string, left int64, weigh func(*bin) int64) {
	pr.limits = append(pr.limits, limit{name: name, left: left})
	for i := range pr.bins {
		w := int64(0)
		if !pr.bins[i].existing {
			w = weigh(&pr.bins[i])
		}
		pr.bins[i].weigh = append(pr.bins[i].weigh, w)
	}
}

func newPacker() *packer {
	return &packer{budget: DefaultBudget(), stats: &Stats{}, groups: 4, rank: []int{0, 1, 2, 3}}
}

// optimum is the least cost that packs everything within every limit: all numbers of new
// nodes, all fillings. False when nothing does.
func (pr *problem) optimum() (int64, bool) {
	best, found := int64(math.MaxInt64), false
	count := make([]int64, len(pr.bins))
	var choose func(b int)
	choose = func(b int) {
		if b == len(pr.bins) {
			if cost, ok := pr.allowed(count); ok && cost < best && pr.holdsAll(count) {
				best, found = cost, true
			}
			return
		}
		if pr.bins[b].existing {
			count[b] = pr.bins[b].most
			choose(b + 1)
			return
		}
		for n := int64(0); n <= pr.bins[b].most; n += pr.bins[b].unit {
			count[b] = n
			choose(b + 1)
		}
	}
	choose(0)
	return best, found
}

// allowed is the cost of so many bins, if the limits allow them.
func (pr *problem) allowed(count []int64) (cost int64, ok bool) {
	used := make([]int64, len(pr.limits))
	for i := range pr.bins {
		if pr.bins[i].existing {
			continue
		}
		cost += count[i] * pr.bins[i].cost
		for l, w := range pr.bins[i].weigh {
			used[l] += count[i] * w
		}
	}
	for l := range pr.limits {
		if used[l] > pr.limits[l].left {
			return 0, false
		}
	}
	return cost, true
}

// holdsAll fills bin after bin in every way.
func (pr *problem) holdsAll(count []int64) bool {
	var order []int
	for b, n := range count {
		for range n {
			order = append(order, b)
		}
	}
	failed := map[string]bool{}
	var visit func(at int, need []int64) bool
	visit = func(at int, need []int64) bool {
		if !slices.ContainsFunc(need, func(n int64) bool { return n > 0 }) {
			return true
		}
		key := fmt.Sprint(at, need)
		if at == len(order) || failed[key] {
			return false
		}
		found := false
		pr.everyFilling(order[at], need, func(take []int64) {
			if found {
				return
			}
			left := slices.Clone(need)
			for k, n := range take {
				left[k] -= n
			}
			found = visit(at+1, left)
		})
		failed[key] = !found
		return found
	}
	return visit(0, pr.need)
}

// everyFilling calls back with each filling of a bin, the empty one included.
func (pr *problem) everyFilling(bin int, need []int64, do func(take []int64)) {
	b := &pr.bins[bin]
	take := make([]int64, len(need))
	var choose func(k int)
	choose = func(k int) {
		if k == len(need) {
			do(take)
			return
		}
		for take[k] = 0; take[k] <= need[k] && (take[k] == 0 || b.allow[k] && pr.roomFor(bin, take)); take[k]++ {
			choose(k + 1)
		}
		take[k] = 0
	}
	choose(0)
}

func (pr *problem) roomFor(bin int, take []int64) bool {
	for d, free := range pr.bins[bin].free {
		sum, asked := int64(0), false
		for k, n := range take {
			sum += n * pr.req[k][d]
			asked = asked || n > 0 && pr.req[k][d] > 0
		}
		if asked && sum > free {
			return false
		}
	}
	return true
}

// requireSound: every pod is in a use or left over, and every use fits its bin.
func (pr *problem) requireSound(t testing.TB, p *packing) {
	t.Helper()
	got := slices.Clone(p.left)
	for _, u := range p.uses {
		require.Positive(t, u.count)
		require.True(t, pr.roomFor(u.bin, u.take), "bin %d holds %v", u.bin, u.take)
		for k, n := range u.take {
			require.True(t, n == 0 || pr.bins[u.bin].allow[k], "bin %d does not let kind %d in", u.bin, k)
			got[k] += n * u.count
		}
	}
	require.Equal(t, pr.need, got)
	for k, n := range p.left {
		require.GreaterOrEqual(t, n, int64(0), "kind %d", k)
	}
}

func seeded(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 5)) }
