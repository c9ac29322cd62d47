package estimator

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// bestFilling is the most value of any filling of a bin.
func (pr *problem) bestFilling(bin int, value []float64) float64 {
	best := 0.0
	pr.everyFilling(bin, pr.need, func(take []int64) {
		v := 0.0
		for k, n := range take {
			v += value[k] * float64(n)
		}
		best = max(best, v)
	})
	return best
}

func (pr *problem) bestWhole(bin int, u []int64) int64 {
	var best int64
	pr.everyFilling(bin, pr.need, func(take []int64) {
		var v int64
		for k, n := range take {
			v += u[k] * n
		}
		best = max(best, v)
	})
	return best
}

func TestKnapsackAgainstEveryFilling(t *testing.T) {
	for seed := range 4000 {
		r := seeded(seed)
		pr := tiny(r, false)
		value := make([]float64, len(pr.need))
		for k := range value {
			value[k] = float64(r.IntN(50)) / 50
		}
		sack := &knapsack{req: pr.req, value: value, limit: pr.need, budget: 100000}
		for b := range pr.bins {
			want := pr.bestFilling(b, value)
			take, v, complete := sack.fill(pr.bins[b].free, pr.bins[b].allow)
			require.True(t, complete)
			require.InDelta(t, want, v, 1e-6, "seed %d bin %d", seed, b)
			require.True(t, pr.roomFor(b, take), "seed %d bin %d: %v", seed, b, take)
			for k, n := range take {
				require.LessOrEqual(t, n, pr.need[k])
				require.True(t, n == 0 || pr.bins[b].allow[k])
			}

			short := &knapsack{req: pr.req, value: value, limit: pr.need, budget: 1}
			take, v, _ = short.fill(pr.bins[b].free, pr.bins[b].allow)
			require.LessOrEqual(t, v, want+1e-9)
			require.True(t, pr.roomFor(b, take))

			enough := &knapsack{req: pr.req, value: value, limit: pr.need, budget: 100000, enough: want / 2}
			if _, v, _ = enough.fill(pr.bins[b].free, pr.bins[b].allow); want > 0 {
				require.InDelta(t, want, v, 1e-6, "seed %d bin %d: enough", seed, b)
			}
		}
	}
}

func TestMostValueIsAnUpperBound(t *testing.T) {
	exact := 0
	for seed := range 4000 {
		r := seeded(seed)
		pr := tiny(r, false)
		u := make([]int64, len(pr.need))
		for k := range u {
			u[k] = r.Int64N([]int64{10, 1e6, 1e12}[r.IntN(3)])
		}
		for b := range pr.bins {
			got, want := pr.mostValue(b, u), pr.bestWhole(b, u)
			require.GreaterOrEqual(t, got, want, "seed %d bin %d", seed, b)
			if pr.bins[b].existing || got > pr.bins[b].cost { // otherwise a bound is enough
				require.Equal(t, want, got, "seed %d bin %d", seed, b)
				exact++
			}
		}
	}
	require.Positive(t, exact)
}

// TestMostValueEnds: prices as high as the program can find, kinds that ask for one pod
// alone, and room for billions must neither overflow nor go on for ever.
func TestMostValueEnds(t *testing.T) {
	pr := &problem{req: [][]int64{{0, 0, 1}, {1, 0, 1}, {1 << 40, 1 << 40, 1}}, need: []int64{3, 2, 1}, bins: []bin{
		{free: []int64{1 << 41, 1 << 41, 3}, allow: []bool{true, true, true}, existing: true, most: 1, group: -1, unit: 1},
		{free: []int64{1 << 41, 1 << 41, 3}, allow: []bool{true, true, true}, cost: 1, most: math.MaxInt32, unit: 1},
	}}
	for _, u := range [][]int64{{1e15, 1, 1}, {1, 1e15, 1e15}, {1e11, 1e11, 1e11}, {0, 0, 1e15}} {
		for b := range pr.bins {
			require.Equal(t, pr.bestWhole(b, u), pr.mostValue(b, u))
		}
		require.GreaterOrEqual(t, pr.value(u), int64(0))
	}
}

// TestValueIsABound: whatever the prices, the value is never above the optimum.
func TestValueIsABound(t *testing.T) {
	tight := 0
	for seed := range 4000 {
		r := seeded(seed)
		pr := tiny(r, false)
		best, ok := pr.optimum()
		if !ok {
			continue
		}
		for range 4 {
			u := make([]int64, len(pr.need))
			for k := range u {
				u[k] = r.Int64N(8_000_000)
			}
			for _, prices := range [][]int64{u, pr.scaled(u)} {
				v := pr.value(prices)
				require.LessOrEqual(t, v, best, "seed %d, prices %v", seed, prices)
				if v == best {
					tight++
				}
			}
		}
	}
	require.Positive(t, tight)
}

func TestMulDiv(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, c, want int64 }{
		"whole":         {6, 2, 3, 4},
		"rounds down":   {7, 2, 3, 4},
		"zero":          {0, 5, 9, 0},
		"by nothing":    {5, 0, 9, 0},
		"same":          {math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		"no overflow":   {math.MaxInt64, 1 << 40, 1 << 41, math.MaxInt64 / 2},
		"large divisor": {10, 1, math.MaxInt64, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, mulDiv(tc.a, tc.b, tc.c)) })
	}
	r := seeded(1)
	for range 2000 {
		a, c := r.Int64(), r.Int64N(math.MaxInt64)+1
		b := r.Int64N(c)
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Quo(want, big.NewInt(c))
		require.Equal(t, want.Int64(), mulDiv(a, b, c))
	}
}

func TestTimesAndHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		free, req []int64
		times     int64
	}{
		"exact":                        {[]int64{4, 4}, []int64{2, 1}, 2},
		"one dimension binds":          {[]int64{9, 1}, []int64{2, 1}, 1},
		"not asked for, overcommitted": {[]int64{4, -3}, []int64{2, 0}, 2},
		"overcommitted":                {[]int64{-4, 3}, []int64{2, 0}, 0},
		"nothing asked":                {[]int64{4}, []int64{0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.times, times(tc.free, tc.req))
			if tc.req[0] > 0 {
				require.Equal(t, tc.times > 0, holds(tc.free, tc.req))
			}
		})
	}
}
