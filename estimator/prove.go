package estimator

import "slices"

// A filling is looked for twice where pods ask for devices: first by sums alone, which is
// fast and mostly right, and then, where the allocator does not give that filling all its
// devices, with the allocator at every step, as far as the budget goes.

// searchSteps is how many steps of the search one question to the allocator counts for.
const searchSteps = 16

// fewKinds is the number of kinds of pods up to which the allocator is asked at every step.
// With the 112 kinds of openb's shares, asking at every step took five times the time and
// made the plan no cheaper ($9,247 and $9,256 an hour).
const fewKinds = 12

// asking is what the allocator has cost this filling so far, in steps.
func (k *knapsack) asking() int {
	if k.from == nil {
		return 0
	}
	return searchSteps * (k.from.searches() - k.began)
}

// asked says whether the filling found by sums asks for devices.
func (k *knapsack) asked() bool {
	if k.devices == nil {
		return false
	}
	for i, n := range k.best {
		if n > 0 && k.devices.asks[i] {
			return true
		}
	}
	return false
}

// prove makes a filling that the allocator gives all its devices of the one that was
// found by sums, and looks for a better one where some pods had to be left out.
func (k *knapsack) prove() {
	k.began, k.steps = k.devices.searches(), 0
	sums, most := k.best, k.bestV
	take := k.devices.give(k.room, sums, k.order, k.topUp)
	k.best, k.bestV = take, k.worthOf(take)
	if k.bestV >= most-tolerance {
		return
	}
	if len(k.order) > fewKinds {
		k.cut = true
		k.greedyFrom(k.order[0], 0)
		return
	}
	wasCut := k.cut
	k.cut = false
	k.look()
	k.cut = k.cut || wasCut
}

// topUp is how many more pods of a kind the sums allow beside a filling.
func (k *knapsack) topUp(i int, take []int64) int64 {
	free := slices.Clone(k.free)
	for j, n := range take {
		shift(free, k.req[j], -n)
	}
	return min(times(free, k.req[i]), k.limit[i]-take[i])
}

func (k *knapsack) worthOf(take []int64) float64 {
	var v float64
	for i, n := range take {
		v += float64(float64(n) * k.value[i])
	}
	return v
}

// refill packs what the allocator left over of a packing on further nodes.
func (w *packer) refill(pr *problem, p *packing) *packing {
	if pr.devices == nil || p.complete() {
		return p
	}
	left := newRemains(pr)
	for _, u := range p.uses {
		left.use(pr, u.bin, u.count)
	}
	w.greedyInto(pr, sizes(pr), p, left)
	return p
}
