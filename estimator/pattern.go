package estimator

import (
	"cmp"
	"math"
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// knapsack finds the most valuable filling of one bin: how many pods of each kind to
// take so that the sum of values is largest. It is a depth-first search with a bound,
// cut off after a counted number of steps. The bound is the fractional filling's: prices
// for the room (one for each dimension) at which no kind is worth more than it takes.
type knapsack struct {
	req    [][]int64 // by kind
	value  []float64 // by kind; kinds of value 0 are left out
	limit  []int64   // by kind: how many there are
	budget int
	// enough: a filling of no more value than this is of no use.
	enough float64
	// devices are given from room; nil where no pod asks for any.
	devices *deviceRooms
	room    scheduling.DeviceRoom
	from    *deviceRooms // devices, or nil while a filling is looked for by sums alone

	order []int     // kinds by value for the room they take, best first
	price []float64 // by dimension
	free  []int64
	take  []int64
	best  []int64
	bestV float64
	steps int
	began int // searches of the allocator before this filling
	cut   bool
}

// fillBin is fill for a bin with its devices.
func (k *knapsack) fillBin(b *bin) ([]int64, float64, bool) {
	k.room = b.room
	return k.fill(b.free, b.allow)
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
	k.price = roomPrices(capacity, k.req, k.value, k.order)
	if worth(k.price, capacity) <= k.enough {
		return k.best, 0, true
	}
	density := make(map[int]float64, len(k.order))
	for _, i := range k.order {
		density[i] = k.value[i] / max(worth(k.price, k.req[i]), 1e-300)
	}
	slices.SortFunc(k.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(math.Floor(density[b]*50), math.Floor(density[a]*50)), cmp.Compare(k.value[b], k.value[a]), cmp.Compare(a, b))
	})
	k.free = slices.Clone(capacity)
	k.take = make([]int64, len(k.value))
	k.steps, k.cut = 0, false
	k.from = nil
	k.look()
	if k.from = k.devices; !k.asked() {
		return k.best, k.bestV, !k.cut
	}
	k.prove()
	return k.best, k.bestV, !k.cut
}

// look finds a filling; devices are given one by one where k.from is set.
func (k *knapsack) look() {
	if len(k.order) > manyKinds {
		k.greedyFrom(k.order[0], 0)
		k.cut = true
		return
	}
	k.greedyEach()
	k.search(0, 0, k.room)
}

// roomPrices solves the fractional filling without regard to how many pods there are:
// its duals price one unit of each dimension so that no kind is worth more than the room
// it takes, and the whole room is worth as little as possible.
func roomPrices(capacity []int64, req [][]int64, value []float64, kinds []int) []float64 {
	b := make([]float64, len(capacity))
	for d := range b {
		b[d] = 1
	}
	l := newLinear(0, b)
	for _, k := range kinds {
		c := column{cost: -value[k]}
		for d, n := range req[k] {
			if n > 0 {
				c.rows = append(c.rows, d)
				c.vals = append(c.vals, float64(n)/float64(capacity[d]))
			}
		}
		l.add(c)
	}
	l.solve(20 * len(capacity))
	l.duals()
	out := make([]float64, len(capacity))
	for d := range out {
		if capacity[d] > 0 {
			out[d] = max(-l.y[d], 0) / float64(capacity[d])
		}
	}
	// The simplex method stops within a tolerance; the prices must hold exactly enough.
	most := 1.0
	for _, k := range kinds {
		if w := worth(out, req[k]); w > 0 {
			most = max(most, value[k]/w)
		}
	}
	for d := range out {
		out[d] *= most
	}
	return out
}

func worth(price []float64, room []int64) float64 {
	var v float64
	for d, n := range room {
		if n > 0 {
			v += float64(price[d] * float64(n))
		}
	}
	return v
}

// greedyEach starts from as many pods as fit of each kind in turn, and from half of them,
// and goes on in the order of the kinds: cheap, and different enough to find what a
// search cut off early does not reach.
func (k *knapsack) greedyEach() {
	for _, first := range k.order {
		most := min(times(k.free, k.req[first]), k.limit[first])
		for _, n := range [...]int64{most, (most + 1) / 2, 1} {
			if k.asking() > k.budget {
				k.cut = true
				return
			}
			k.greedyFrom(first, n)
		}
	}
}

func (k *knapsack) greedyFrom(first int, n int64) {
	free, take, room := slices.Clone(k.free), make([]int64, len(k.take)), k.room
	var v float64
	put := func(i int, n int64) {
		room, n = k.from.take(i, room, n)
		shift(free, k.req[i], -n)
		take[i] += n
		v += float64(float64(n) * k.value[i])
	}
	put(first, n)
	for _, i := range k.order {
		if n := min(times(free, k.req[i]), k.limit[i]-take[i]); n > 0 {
			put(i, n)
		}
	}
	if v > k.bestV+tolerance {
		k.bestV, k.best = v, take
	}
}

func (k *knapsack) search(pos int, value float64, room scheduling.DeviceRoom) {
	if value > k.bestV+tolerance {
		k.bestV = value
		copy(k.best, k.take)
	}
	if pos == len(k.order) {
		return
	}
	k.steps++
	if k.steps+k.asking() > k.budget {
		k.cut = true
		return
	}
	if value+worth(k.price, k.free) <= k.bestV+tolerance {
		return
	}
	i := k.order[pos]
	most := min(times(k.free, k.req[i]), k.limit[i])
	var rooms []scheduling.DeviceRoom
	if k.from != nil && k.from.asks[i] {
		rooms = k.from.chain(i, room, most)
		most = int64(len(rooms) - 1)
	}
	for n := most; n >= 0; n-- {
		shift(k.free, k.req[i], -n)
		k.take[i] = n
		left := room
		if rooms != nil {
			left = rooms[n]
		}
		k.search(pos+1, value+float64(float64(n)*k.value[i]), left)
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
