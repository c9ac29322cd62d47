package estimator

import "slices"

// remains is what is left of bins and limits while a packing grows.
type remains struct {
	bins   []int64
	limits []int64
	open   []int64 // by bin: new nodes so far, to round units
}

func newRemains(pr *problem) *remains {
	r := &remains{bins: make([]int64, len(pr.bins)), limits: make([]int64, len(pr.limits)), open: make([]int64, len(pr.bins))}
	for i := range pr.bins {
		r.bins[i] = pr.bins[i].most
	}
	for i := range pr.limits {
		r.limits[i] = pr.limits[i].left
	}
	return r
}

// room is how many more bins of a sort may be used.
func (r *remains) room(pr *problem, bin int) int64 {
	b := &pr.bins[bin]
	n := r.bins[bin]
	spare := int64(0) // nodes of a unit that is bought already
	if !b.existing {
		spare = roundUp(r.open[bin], b.unit) - r.open[bin]
	}
	for l, w := range b.weigh {
		if w > 0 {
			most := r.limits[l] / w
			n = min(n, most-most%max(b.unit, 1)+spare)
		}
	}
	return n
}

// take uses a filling up to n times, clipped to what is still needed and allowed; false
// when it places nothing.
func (r *remains) take(pr *problem, out *packing, f fillOf, n int64) bool {
	did := false
	for n > 0 {
		take := make([]int64, len(f.take))
		repeat := min(n, r.room(pr, f.bin))
		some := false
		for k, t := range f.take {
			take[k] = min(t, out.left[k])
			if take[k] > 0 {
				some = true
				repeat = min(repeat, out.left[k]/take[k])
			}
		}
		if !some || repeat <= 0 {
			return did
		}
		pr.complete(f.bin, take, out.left, repeat)
		if !slices.ContainsFunc(take, func(n int64) bool { return n > 0 }) {
			return did
		}
		r.use(pr, f.bin, repeat)
		for k, t := range take {
			out.left[k] -= t * repeat
		}
		out.uses = append(out.uses, use{bin: f.bin, take: take, count: repeat})
		did = true
		n -= repeat
	}
	return did
}

// use counts n bins.
func (r *remains) use(pr *problem, bin int, n int64) {
	b := &pr.bins[bin]
	bought := n
	if !b.existing {
		bought = roundUp(r.open[bin]+n, b.unit) - roundUp(r.open[bin], b.unit)
	}
	r.open[bin] += n
	r.bins[bin] -= n
	for l, w := range b.weigh {
		r.limits[l] -= w * bought
	}
}

// complete tops a filling up with pods that are still needed, `repeat` times alike.
func (pr *problem) complete(bin int, take, need []int64, repeat int64) {
	b := &pr.bins[bin]
	free := slices.Clone(b.free)
	room, got := pr.devices.fill(b.room, take)
	copy(take, got)
	for k, n := range take {
		shift(free, pr.req[k], -n)
	}
	for k := range take {
		if spare := need[k]/repeat - take[k]; spare > 0 && b.allow[k] {
			n := min(times(free, pr.req[k]), spare)
			room, n = pr.devices.take(k, room, n)
			shift(free, pr.req[k], -n)
			take[k] += n
		}
	}
}
