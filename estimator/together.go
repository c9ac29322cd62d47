package estimator

import (
	"slices"

	"tidegate.io/autoscaler/scheduling"
)

// together places all these units or none: gangs with a topology key and pods that look
// at other pods one by one, everything else in one packing. As everything finds a place,
// no order is owed to anybody, and the cheapest of several is kept. False, with the
// session back at the mark, when something is left over.
func (e *estimator) together(units []int, mark int) (bool, error) {
	w := e.split(units)
	variants := w.variants()
	if len(variants) == 1 {
		ok, err := e.tryVariant(w, variants[0])
		if err != nil || ok {
			return ok, err
		}
		return false, e.rewind(mark)
	}
	var best saved
	var bestScore score
	found := false
	for _, v := range variants {
		ok, err := e.tryVariant(w, v)
		if err != nil {
			return false, err
		}
		if ok && (!found || e.total().less(bestScore)) {
			best, bestScore, found = e.capture(), e.total(), true
		}
		if ok && bestScore.cost == 0 {
			break // Nothing was bought.
		}
		if err := e.rewind(mark); err != nil {
			return false, err
		}
	}
	switch {
	case !found:
		return false, e.rewind(mark)
	case bestScore.cost == 0:
		return true, nil // The session is as the last variant left it.
	}
	return true, e.restore(best)
}

// rewind goes back to the start of the decision.
func (e *estimator) rewind(mark int) error {
	clear(e.next)
	return e.s.Rollback(mark)
}

// work is what together has to place, by the way in which it is placed.
type work struct {
	apart  []*scheduling.Unit // one by one
	loose  []scheduling.Pod   // single pods that look at other pods
	packed []piece            // by counts
}

func (e *estimator) split(units []int) work {
	var w work
	for _, i := range units {
		u := &e.s.Units[i]
		switch {
		case e.packs(u):
			w.packed = append(w.packed, piece{u.Pods})
		case u.Single() && u.Required == "":
			w.loose = append(w.loose, u.Pods...)
		default:
			w.apart = append(w.apart, u)
		}
	}
	return w
}

// variant is an order in which to place.
type variant struct {
	apart []*scheduling.Unit
	// packedFirst: the packing comes before what is placed one by one.
	packedFirst bool
}

// fewApart is the number of units placed one by one up to which all their orders are
// tried.
const fewApart = 4

// variants are the orders to try: as served, larger first, smaller first, and for few
// units every order; and the packing first.
func (w *work) variants() []variant {
	if len(w.apart) == 0 && (len(w.loose) == 0 || len(w.packed) == 0) {
		return []variant{{}}
	}
	bySize := slices.Clone(w.apart)
	slices.SortStableFunc(bySize, func(a, b *scheduling.Unit) int { return len(b.Pods) - len(a.Pods) })
	orders := [][]*scheduling.Unit{w.apart, bySize}
	if len(w.apart) <= fewApart {
		orders = permutations(w.apart)
	} else {
		smallest := slices.Clone(bySize)
		slices.Reverse(smallest)
		orders = append(orders, smallest)
	}
	var out []variant
	for _, o := range orders {
		out = append(out, variant{apart: o})
	}
	if len(w.packed)+len(w.loose) > 0 {
		for _, o := range orders[:min(len(orders), 6)] {
			out = append(out, variant{apart: o, packedFirst: true})
		}
	}
	return out
}

// permutations lists all orders, the given one first.
func permutations(units []*scheduling.Unit) [][]*scheduling.Unit {
	if len(units) <= 1 {
		return [][]*scheduling.Unit{units}
	}
	var out [][]*scheduling.Unit
	for i := range units {
		rest := slices.Delete(slices.Clone(units), i, i+1)
		for _, p := range permutations(rest) {
			out = append(out, append([]*scheduling.Unit{units[i]}, p...))
		}
	}
	return out
}

func (e *estimator) tryVariant(w work, v variant) (bool, error) {
	e.result.Stats.Options++
	if v.packedFirst {
		if ok, err := e.packAll(w.packed); err != nil || !ok {
			return false, err
		}
	}
	for _, u := range v.apart {
		if ok, err := e.placeWhole(u); err != nil || !ok {
			return false, err
		}
	}
	if len(w.loose) > 0 {
		if ok, err := e.placeDynamic(w.loose); err != nil || !ok {
			return false, err
		}
	}
	if v.packedFirst {
		return true, nil
	}
	return e.packAll(w.packed)
}

// placeWhole places all pods of the unit, or the minimum and then what else fits.
func (e *estimator) placeWhole(u *scheduling.Unit) (bool, error) {
	mark, saved := e.s.Mark(), slices.Clone(e.next)
	ok, err := e.place(u, u.Pods)
	if err != nil || ok {
		return ok, err
	}
	e.next = saved
	return false, e.s.Rollback(mark)
}
