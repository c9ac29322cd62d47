package estimator

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is a linear program in full: covers rows are at least b, the others at most b.
type program struct {
	covers int
	b      []float64
	cost   []float64
	a      [][]float64 // by row, by column
}

func (p *program) linear() *linear {
	l := newLinear(p.covers, p.b)
	for j, c := range p.cost {
		col := column{cost: c}
		for r := range p.b {
			if p.a[r][j] != 0 {
				col.rows, col.vals = append(col.rows, r), append(col.vals, p.a[r][j])
			}
		}
		l.add(col)
	}
	return l
}

// value is the cost of the solution, and whether every row holds.
func (p *program) value(x map[int]float64) (float64, bool) {
	v, ok := 0.0, true
	for j, n := range x {
		v += p.cost[j] * n
	}
	for r, b := range p.b {
		sum := 0.0
		for j, n := range x {
			sum += p.a[r][j] * n
		}
		ok = ok && (r < p.covers && sum >= b-1e-6 || r >= p.covers && sum <= b+1e-6)
	}
	return v, ok
}

// vertices is the least cost over all basic solutions, slacks and surpluses included.
func (p *program) vertices() (best float64, feasible bool) {
	m, n := len(p.b), len(p.cost)
	best = math.Inf(1)
	basis := make([]int, 0, m)
	var choose func(from int)
	choose = func(from int) {
		if len(basis) == m {
			if x, ok := p.solve(basis); ok {
				v := 0.0
				for i, j := range basis {
					if j < n {
						v += p.cost[j] * x[i]
					}
				}
				best, feasible = min(best, v), true
			}
			return
		}
		for j := from; j < n+m; j++ {
			basis = append(basis, j)
			choose(j + 1)
			basis = basis[:len(basis)-1]
		}
	}
	choose(0)
	return best, feasible
}

// solve finds the basic solution by elimination; false when there is none that is >= 0.
func (p *program) solve(basis []int) ([]float64, bool) {
	m, n := len(p.b), len(p.cost)
	a := make([][]float64, m)
	for r := range m {
		a[r] = make([]float64, m+1)
		a[r][m] = p.b[r]
		for i, j := range basis {
			switch {
			case j < n:
				a[r][i] = p.a[r][j]
			case j-n == r && r < p.covers:
				a[r][i] = -1
			case j-n == r:
				a[r][i] = 1
			}
		}
	}
	for i := range m {
		pivot := i
		for r := i; r < m; r++ {
			if math.Abs(a[r][i]) > math.Abs(a[pivot][i]) {
				pivot = r
			}
		}
		if math.Abs(a[pivot][i]) < 1e-9 {
			return nil, false
		}
		a[i], a[pivot] = a[pivot], a[i]
		for r := range m {
			if f := a[r][i] / a[i][i]; r != i && f != 0 {
				for c := i; c <= m; c++ {
					a[r][c] -= f * a[i][c]
				}
			}
		}
	}
	x := make([]float64, m)
	for i := range m {
		if x[i] = a[i][m] / a[i][i]; x[i] < -1e-9 {
			return nil, false
		}
	}
	return x, true
}

func TestSimplex(t *testing.T) {
	for name, tc := range map[string]struct {
		program program
		want    float64
	}{
		"one cover":                  {program{1, []float64{8}, []float64{1}, [][]float64{{4}}}, 2},
		"the cheaper":                {program{1, []float64{6}, []float64{1, 0.4}, [][]float64{{3, 2}}}, 1.2},
		"until it runs out":          {program{1, []float64{6, 2}, []float64{1, 0.4}, [][]float64{{3, 2}, {0, 1}}}, 0.8 + 2.0/3},
		"mixed fillings":             {program{2, []float64{4, 4}, []float64{1, 1, 1}, [][]float64{{2, 0, 1}, {0, 2, 1}}}, 4},
		"a limit that binds nothing": {program{1, []float64{3, 100}, []float64{0.5}, [][]float64{{1}, {1}}}, 1.5},
		"nothing needed":             {program{1, []float64{0}, []float64{1}, [][]float64{{1}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := tc.program.linear()
			l.solve(1000)
			got, ok := tc.program.value(l.values())
			require.True(t, ok)
			require.InDelta(t, tc.want, got, 1e-9)
			best, _ := tc.program.vertices()
			require.InDelta(t, tc.want, best, 1e-9)
		})
	}
}

func TestSimplexAgainstVertices(t *testing.T) {
	infeasible := 0
	for seed := range 3000 {
		p := drawProgram(seeded(seed))
		l := p.linear()
		require.Less(t, l.solve(10000), 10000, "seed %d", seed)
		got, ok := p.value(l.values())
		want, feasible := p.vertices()
		require.Equal(t, feasible, ok, "seed %d", seed)
		if !feasible {
			infeasible++
			continue
		}
		require.InDelta(t, want, got, 1e-6, "seed %d", seed)
		l.duals()
		dual := 0.0
		for r, y := range l.y {
			dual += y * p.b[r]
			if r >= p.covers {
				require.LessOrEqual(t, y, 1e-6, "seed %d: row %d", seed, r)
			}
		}
		require.InDelta(t, want, dual, 1e-6, "seed %d: duality", seed)
		for i := range l.cols {
			require.GreaterOrEqual(t, l.reduced(&l.cols[i]), -1e-6, "seed %d: column %d", seed, i)
		}
	}
	require.Positive(t, infeasible)
	require.Less(t, infeasible, 1500)
}

func drawProgram(r *rand.Rand) *program {
	p := &program{covers: 1 + r.IntN(2)}
	m, n := p.covers+r.IntN(3), 1+r.IntN(5)
	for row := range m {
		p.b = append(p.b, float64(r.IntN(9)))
		a := make([]float64, n)
		for j := range n {
			if row < p.covers {
				a[j] = float64(r.IntN(5))
			} else {
				a[j] = float64(r.IntN(2))
			}
		}
		p.a = append(p.a, a)
	}
	for range n {
		p.cost = append(p.cost, float64(r.IntN(1000))/1000)
	}
	return p
}

// TestSimplexStopsInTime keeps to its pivots.
func TestSimplexStopsInTime(t *testing.T) {
	for n := range 4 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			p := program{2, []float64{4, 4}, []float64{1, 0.9, 0.8}, [][]float64{{2, 0, 1}, {0, 2, 1}}}
			require.LessOrEqual(t, p.linear().solve(n), n)
		})
	}
}
