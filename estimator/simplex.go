package estimator

// linear is a linear program under construction: minimise cost over columns x >= 0, rows
// with a right side b >= 0. The first `covers` rows are "at least b", the others "at most
// b". It guides the search; nothing is decided by its numbers alone.
//
// Products are written float64(a*b) so that no compiler fuses them with the following
// sum: the same input takes the same path on every machine.
type linear struct {
	covers int
	b      []float64
	cols   []column

	basis []int // column in each row: >= 0 of cols; ^r the artificial or slack of row r
	inv   [][]float64
	x     []float64 // value of the basic variable of each row
	y     []float64 // dual of each row
	in    []bool    // by column: is basic
}

// column is one pattern in the program.
type column struct {
	cost float64
	rows []int
	vals []float64
}

// artificialCost is far above the cost of any column (those are at most 1).
const artificialCost = 1e4

const tolerance = 1e-9

func newLinear(covers int, b []float64) *linear {
	m := len(b)
	l := &linear{covers: covers, b: b, basis: make([]int, m), inv: make([][]float64, m), x: make([]float64, m), y: make([]float64, m)}
	l.reset()
	return l
}

// reset starts from the basis of artificials and slacks.
func (l *linear) reset() {
	for r := range l.b {
		l.basis[r] = ^r
		l.inv[r] = make([]float64, len(l.b))
		l.inv[r][r] = 1
		l.x[r] = l.b[r]
	}
	for i := range l.in {
		l.in[i] = false
	}
}

func (l *linear) add(c column) {
	l.cols = append(l.cols, c)
	l.in = append(l.in, false)
}

func (l *linear) basicCost(r int) float64 {
	switch i := l.basis[r]; {
	case i >= 0:
		return l.cols[i].cost
	case i <= surplus(0):
		return 0
	case ^i < l.covers:
		return artificialCost
	}
	return 0
}

// surplus is the basis mark of the surplus variable of a covering row.
func surplus(row int) int { return -1_000_000 - row }

func (l *linear) duals() {
	for j := range l.y {
		l.y[j] = 0
	}
	for r := range l.basis {
		c := l.basicCost(r)
		if c == 0 {
			continue
		}
		for j, v := range l.inv[r] {
			l.y[j] += float64(c * v)
		}
	}
}

func (l *linear) reduced(c *column) float64 {
	d := c.cost
	for i, r := range c.rows {
		d -= float64(l.y[r] * c.vals[i])
	}
	return d
}

// solve runs the simplex method over the columns so far; at most `pivots` steps. It
// returns how many it took.
func (l *linear) solve(pivots int) int {
	for n := range pivots {
		l.duals()
		enter, best := 0, -1e-7
		found := false
		for i := range l.cols {
			if l.in[i] {
				continue
			}
			if d := l.reduced(&l.cols[i]); d < best {
				enter, best, found = i, d, true
			}
		}
		row, mark, sign := -1, 0, 0.0
		for r := range l.b {
			switch {
			case r < l.covers && l.y[r] < best: // the surplus of a covering row: cost 0, entry -1
				row, mark, sign, best = r, surplus(r), -1, l.y[r]
			case r >= l.covers && -l.y[r] < best: // the slack of another row: cost 0, entry 1
				row, mark, sign, best = r, ^r, 1, -l.y[r]
			}
		}
		switch {
		case row >= 0:
			if !l.pivot(mark, []int{row}, []float64{sign}) {
				return n
			}
		case !found:
			return n
		case !l.pivot(enter, l.cols[enter].rows, l.cols[enter].vals):
			return n
		}
	}
	return pivots
}

// pivot brings a variable into the basis; false when nothing bounds it.
func (l *linear) pivot(enter int, rows []int, vals []float64) bool {
	m := len(l.b)
	d := make([]float64, m)
	for r := range m {
		for i, row := range rows {
			d[r] += float64(l.inv[r][row] * vals[i])
		}
	}
	leave := -1
	for r := range m {
		if d[r] <= tolerance {
			continue
		}
		if leave < 0 || float64(l.x[r]*d[leave]) < float64(l.x[leave]*d[r])-tolerance ||
			(float64(l.x[r]*d[leave]) <= float64(l.x[leave]*d[r]) && l.basis[r] < l.basis[leave]) {
			leave = r
		}
	}
	if leave < 0 {
		return false
	}
	if out := l.basis[leave]; out >= 0 {
		l.in[out] = false
	}
	if enter >= 0 {
		l.in[enter] = true
	}
	l.basis[leave] = enter
	p := d[leave]
	pivotRow := l.inv[leave]
	for j := range pivotRow {
		pivotRow[j] /= p
	}
	l.x[leave] /= p
	for r := range m {
		if r == leave || d[r] == 0 {
			continue
		}
		row := l.inv[r]
		f := d[r]
		for j, v := range pivotRow {
			row[j] -= float64(f * v)
		}
		l.x[r] -= float64(f * l.x[leave])
		if l.x[r] < 0 {
			l.x[r] = 0
		}
	}
	return true
}

// values are the columns with a value above zero, by column.
func (l *linear) values() map[int]float64 {
	out := map[int]float64{}
	for r, i := range l.basis {
		if i >= 0 && l.x[r] > 1e-7 {
			out[i] = l.x[r]
		}
	}
	return out
}
