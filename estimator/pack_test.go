package estimator

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPackAgainstEveryPacking(t *testing.T) {
	for name, units := range map[string]bool{"single nodes": false, "units": true} {
		t.Run(name, func(t *testing.T) {
			packed := 0
			for seed := range 2500 {
				pr := tiny(seeded(seed), units)
				w := newPacker()
				p := w.pack(pr)
				pr.requireSound(t, p)
				require.True(t, pr.within(p), "seed %d", seed)
				best, ok := pr.optimum()
				require.Equal(t, ok, p.complete(), "seed %d", seed)
				if ok {
					packed++
					require.Equal(t, best, w.score(pr, p).cost, "seed %d", seed)
				}
			}
			require.Greater(t, packed, 500)
		})
	}
}

// TestEveryWayIsSound: no single strategy loses a pod or passes a limit, and none is
// better than the optimum.
func TestEveryWayIsSound(t *testing.T) {
	for seed := range 1500 {
		pr := tiny(seeded(seed), seed%2 == 0)
		if !slices.ContainsFunc(pr.need, func(n int64) bool { return n > 0 }) {
			continue
		}
		w := newPacker()
		m := newMaster(pr, w.budget)
		m.generate(w)
		best, _ := pr.optimum()
		for way, p := range map[string]*packing{
			"dive": w.dive(pr, m), "greedy": w.greedy(pr, m.values()), "exact": w.exact(pr, m, nil), "after filling": w.packAfterFilling(pr),
		} {
			if p == nil {
				continue // exact gives whole packings only
			}
			pr.requireSound(t, p)
			require.True(t, pr.within(p), "seed %d: %s", seed, way)
			if p.complete() {
				require.GreaterOrEqual(t, w.score(pr, p).cost, best, "seed %d: %s", seed, way)
			}
		}
	}
}

// scattered is a wasteful packing: each pod alone in some bin.
func scattered(t *testing.T, seed int) (*problem, *packing) {
	t.Helper()
	r := seeded(seed)
	pr := tiny(r, seed%2 == 0)
	p := &packing{left: slices.Clone(pr.need)}
	for k := range pr.need {
		for p.left[k] > 0 {
			b := r.IntN(len(pr.bins))
			take := make([]int64, len(pr.need))
			take[k] = 1
			p.uses = append(p.uses, use{bin: b, take: take, count: 1})
			if p.left[k]--; !pr.bins[b].allow[k] || !pr.roomFor(b, take) || !pr.within(p) {
				p.uses = p.uses[:len(p.uses)-1]
				p.left[k]++
				break
			}
		}
	}
	pr.requireSound(t, p)
	return pr, p
}

func TestImproveLosesNothing(t *testing.T) {
	cheaper := 0
	for seed := range 4000 {
		pr, p := scattered(t, seed)
		w := newPacker()
		before := w.score(pr, p)
		better := w.improve(pr, p)
		pr.requireSound(t, better)
		require.Equal(t, p.left, better.left)
		require.True(t, pr.within(better), "seed %d", seed)
		after := w.score(pr, better)
		require.False(t, before.less(after), "seed %d: improve made it worse: %+v, %+v", seed, before, after)
		if after.less(before) {
			cheaper++
		}
	}
	require.Positive(t, cheaper)
}

func TestDowngradeLosesNothing(t *testing.T) {
	for seed := range 4000 {
		pr, p := scattered(t, seed)
		w := newPacker()
		before := w.score(pr, p)
		w.downgrade(pr, p)
		pr.requireSound(t, p)
		require.True(t, pr.within(p), "seed %d", seed)
		require.False(t, before.less(w.score(pr, p)), "seed %d", seed)
	}
}

func TestMoveOutEmptiesOneNodeOrChangesNothing(t *testing.T) {
	moved := 0
	for seed := range 3000 {
		pr, p := scattered(t, seed)
		for i := range len(p.uses) {
			if pr.bins[p.uses[i].bin].existing || p.uses[i].count == 0 {
				continue
			}
			before := slices.Clone(p.uses)
			if !pr.moveOut(p, i) {
				require.Equal(t, before, p.uses, "seed %d", seed)
				continue
			}
			moved++
			require.Equal(t, before[i].count-1, p.uses[i].count, "seed %d", seed)
			sound := &packing{left: p.left, uses: slices.DeleteFunc(slices.Clone(p.uses), func(u use) bool { return u.count == 0 })}
			pr.requireSound(t, sound)
			require.True(t, pr.within(sound))
		}
	}
	require.Positive(t, moved)
}

func TestTrimKeepsLimits(t *testing.T) {
	trimmed := 0
	for seed := range 3000 {
		pr, p := scattered(t, seed)
		for i := range pr.limits {
			pr.limits[i].left /= 2 // someone has lowered them
		}
		out := newPacker().trim(pr, p)
		pr.requireSound(t, out)
		require.True(t, pr.within(out), "seed %d", seed)
		if len(out.uses) < len(p.uses) {
			trimmed++
		} else {
			require.Equal(t, p.uses, out.uses)
		}
	}
	require.Positive(t, trimmed)
}

// TestRoomIsExact: what remains says may be used stays within every limit, and one more
// does not.
func TestRoomIsExact(t *testing.T) {
	for seed := range 4000 {
		r := seeded(seed)
		pr := tiny(r, true)
		left := newRemains(pr)
		p := &packing{}
		none := make([]int64, len(pr.need))
		for range 12 {
			b := r.IntN(len(pr.bins))
			room := left.room(pr, b)
			full := &packing{uses: append(slices.Clone(p.uses), use{bin: b, take: none, count: max(room, 0)})}
			require.True(t, pr.within(full), "seed %d: room for %d in bin %d", seed, room, b)
			full.uses[len(p.uses)].count = max(room, 0) + 1
			require.False(t, pr.within(full), "seed %d: no room for %d in bin %d", seed, room+1, b)
			if room <= 0 {
				continue
			}
			n := 1 + r.Int64N(room)
			left.use(pr, b, n)
			p.uses = append(p.uses, use{bin: b, take: none, count: n})
		}
	}
}

func TestRoundUp(t *testing.T) {
	for name, tc := range map[string]struct{ n, unit, want int64 }{
		"nothing":      {0, 4, 0},
		"one":          {1, 4, 4},
		"whole":        {8, 4, 8},
		"more":         {9, 4, 12},
		"single nodes": {7, 1, 7},
		"no unit":      {7, 0, 7},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, roundUp(tc.n, tc.unit)) })
	}
}

// TestScoreOrder: each criterion decides before the next, and no two that differ are equal.
func TestScoreOrder(t *testing.T) {
	zero := func() score { return score{first: []int64{1, 1}} }
	order := []func(*score){
		func(s *score) { s.left++ }, func(s *score) { s.cost++ }, func(s *score) { s.tie[0]++ }, func(s *score) { s.tie[1]++ },
		func(s *score) { s.tie[2]++ }, func(s *score) { s.groups++ }, func(s *score) { s.first[0]-- },
	}
	for i, worse := range order {
		a, b := zero(), zero()
		worse(&b)
		for _, later := range order[i+1:] {
			later(&a) // what comes later does not help
		}
		require.True(t, a.less(b), "criterion %d", i+1)
		require.False(t, b.less(a), "criterion %d", i+1)
	}
	require.False(t, zero().less(zero()))
}

// TestPackIsDeterministic: the same problem, the same uses.
func TestPackIsDeterministic(t *testing.T) {
	for seed := range 200 {
		first := newPacker().pack(tiny(seeded(seed), true))
		second := newPacker().pack(tiny(seeded(seed), true))
		require.Equal(t, first, second, "seed %d", seed)
	}
}
