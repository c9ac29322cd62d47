package devices

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Measures are sums that no allocation can pass, so that a packing can be searched and
// bounded with vectors before the allocator is asked:
//
//   - the devices that match a class and selectors, each at most once, where they cannot
//     be shared;
//   - the capacity of a name over those devices, where requests name an amount of it;
//   - the counters of a name over the counter sets of a driver.
//
// What a demand uses of a measure is never more than what any allocation of it takes, and
// what is free never less than what could still be taken, so that "too little is free" is
// always right, and "enough is free" still has to be proved.
//
// Worked example: eight devices, four taken; a demand of two devices uses two of the four
// that are free, wherever they are; that they are not on one PCIe root only the allocator
// finds out.
type measure struct {
	sort measureSort
	sign int    // index of the signature, for devices and capacity
	name string // the capacity or counter
	by   string // the driver of a counter
}

type measureSort int

const (
	countDevices measureSort = iota
	sumCapacity
	sumCounters
)

// Plenty is free where a measure does not bound anything.
const Plenty = int64(1) << 50

// signature is a class with selectors: the devices that a request may get.
type signature struct {
	class     string
	selectors []string
}

// within says whether every device that matches s matches o, by the words alone.
func (s signature) within(o signature) bool {
	return s.class == o.class && !slices.ContainsFunc(o.selectors, func(x string) bool { return !slices.Contains(s.selectors, x) })
}

// ask is a request, or one alternative of a prioritized list.
type ask struct {
	sign     signature
	count    int64 // at least this many devices
	admin    bool
	capacity map[resourcev1.QualifiedName]resource.Quantity
}

func signOf(class string, selectors []resourcev1.DeviceSelector) signature {
	s := signature{class: class}
	for _, x := range selectors {
		if x.CEL != nil {
			s.selectors = append(s.selectors, x.CEL.Expression)
		}
	}
	slices.Sort(s.selectors)
	s.selectors = slices.Compact(s.selectors)
	return s
}

func amounts(c *resourcev1.CapacityRequirements) map[resourcev1.QualifiedName]resource.Quantity {
	if c == nil {
		return nil
	}
	return c.Requests
}

func atLeast(mode resourcev1.DeviceAllocationMode, count int64) int64 {
	if mode == resourcev1.DeviceAllocationModeAll {
		return 1
	}
	return max(count, 0)
}

// alternatives of a request: one, or those of its prioritized list.
func alternatives(r *resourcev1.DeviceRequest) []ask {
	if x := r.Exactly; x != nil {
		return []ask{{signOf(x.DeviceClassName, x.Selectors), atLeast(x.AllocationMode, x.Count), x.AdminAccess != nil && *x.AdminAccess, amounts(x.Capacity)}}
	}
	var out []ask
	for i := range r.FirstAvailable {
		x := &r.FirstAvailable[i]
		out = append(out, ask{signOf(x.DeviceClassName, x.Selectors), atLeast(x.AllocationMode, x.Count), false, amounts(x.Capacity)})
	}
	return out
}

// Measure chooses the measures for all demands so far. It is called once, when the views
// of nodes and templates are known.
func (s *Store) Measure() {
	signs := map[string]signature{}
	add := func(x signature) {
		signs[x.class+"\n"+strings.Join(x.selectors, "\n")] = x
	}
	capacities := map[string]map[string]bool{} // names by class
	for _, claims := range s.demands {
		for _, c := range claims {
			for i := range c.Spec.Devices.Requests {
				for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
					add(a.sign)
					add(signature{class: a.sign.class})
					for name := range a.capacity {
						if capacities[a.sign.class] == nil {
							capacities[a.sign.class] = map[string]bool{}
						}
						capacities[a.sign.class][string(name)] = true
					}
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(signs)) {
		n := len(s.signs)
		s.signs = append(s.signs, signs[key])
		s.measures = append(s.measures, measure{sort: countDevices, sign: n})
		for _, name := range slices.Sorted(maps.Keys(capacities[signs[key].class])) {
			s.measures = append(s.measures, measure{sort: sumCapacity, sign: n, name: name})
		}
	}
	for _, c := range s.counters() {
		s.measures = append(s.measures, measure{sort: sumCounters, by: c.driver, name: c.pool})
	}
	s.keepUseful()
}

// counters are the names of counters by driver (in pool), in order.
func (s *Store) counters() []poolID {
	found := map[poolID]bool{}
	for i := range s.views {
		for _, x := range s.views[i].slices {
			for _, set := range x.Spec.SharedCounters {
				for name := range set.Counters {
					found[poolID{x.Spec.Driver, name}] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b poolID) int {
		return cmp.Or(cmp.Compare(a.driver, b.driver), cmp.Compare(a.pool, b.pool))
	})
}

// keepUseful drops measures of which no demand uses anything or that are plenty in every
// view, and those that say the same as an earlier one.
func (s *Store) keepUseful() {
	all := s.measures
	s.measures = nil
	seen := map[string]bool{}
	for _, m := range all {
		var key []byte
		used, bounded := false, false
		for d := range s.demands {
			n := s.use(m, Demand(d))
			used = used || n > 0
			key = appendInt(key, n)
		}
		for v := range s.views {
			n := s.freeOf(m, &state{view: View(v)})
			bounded = bounded || n < Plenty
			key = appendInt(key, n)
		}
		// Equal numbers for empty views and all demands: equal for ever only where both
		// count devices of one class; others are kept.
		key = append(key, byte(m.sort))
		if m.sort != sumCounters {
			key = append(key, s.signs[m.sign].class...)
		}
		key = append(key, m.name...)
		if used && bounded && !seen[string(key)] {
			seen[string(key)] = true
			s.measures = append(s.measures, m)
		}
	}
}

func appendInt(b []byte, n int64) []byte {
	for i := range 8 {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

// Measures is the number of measures.
func (s *Store) Measures() int { return len(s.measures) }

// Use is what a demand takes at least, by measure. Callers must not change it.
func (s *Store) Use(d Demand) []int64 {
	if u, ok := s.uses[d]; ok {
		return u
	}
	u := make([]int64, len(s.measures))
	for i, m := range s.measures {
		u[i] = s.use(m, d)
	}
	s.uses[d] = u
	return u
}

func (s *Store) use(m measure, d Demand) int64 {
	var sum int64
	for _, c := range s.demands[d] {
		for i := range c.Spec.Devices.Requests {
			least := int64(-1)
			for _, a := range alternatives(&c.Spec.Devices.Requests[i]) {
				if n := s.useOf(m, a); least < 0 || n < least {
					least = n
				}
			}
			sum = addUp(sum, max(least, 0))
		}
	}
	return sum
}

// addUp adds without overflow, up to Plenty.
func addUp(a, b int64) int64 { return min(a+min(b, Plenty), Plenty) }

func (s *Store) useOf(m measure, a ask) int64 {
	if a.admin {
		return 0
	}
	if m.sort == sumCounters {
		return min(s.leastCounters(m, a.sign), Plenty/max(a.count, 1)) * a.count
	}
	if !a.sign.within(s.signs[m.sign]) {
		return 0
	}
	if m.sort == countDevices {
		return min(a.count, Plenty)
	}
	q, ok := a.capacity[resourcev1.QualifiedName(m.name)]
	if !ok || q.Sign() <= 0 {
		return 0
	}
	return min(milli(q), Plenty/max(a.count, 1)) * a.count
}

// milli is a quantity in thousandths, up to Plenty; amounts too large to tell in
// thousandths are Plenty.
func milli(q resource.Quantity) int64 {
	if q.CmpInt64(Plenty/1000) >= 0 {
		return Plenty
	}
	return q.MilliValue()
}

// leastCounters is the least that any device of any view that matches takes of a counter.
func (s *Store) leastCounters(m measure, x signature) int64 {
	least := int64(math.MaxInt64)
	for v := range s.views {
		for _, d := range s.matching(View(v), x) {
			var n int64
			for _, c := range s.views[v].devices[d].ConsumesCounters {
				if counter, ok := c.Counters[m.name]; ok && s.views[v].devices[d].id.Driver == m.by {
					n = addUp(n, milli(counter.Value))
				}
			}
			least = min(least, n)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// matching are the devices of a view that match, where an error counts as a match: it
// must not make anything look impossible.
func (s *Store) matching(v View, x signature) []int {
	n := slices.IndexFunc(s.signs, func(o signature) bool { return o.class == x.class && slices.Equal(o.selectors, x.selectors) })
	w := &s.views[v]
	if out, ok := w.matches[n]; ok && n >= 0 {
		return out
	}
	var out []int
	for i := range w.devices {
		if ok, err := s.kube.Matches(x.class, x.selectors, w.devices[i].id.Driver, w.devices[i].Device); ok || err != nil {
			out = append(out, i)
		}
	}
	if n >= 0 {
		w.matches[n] = out
	}
	return out
}

// Free is what is left in a state, by measure. Callers must not change it.
func (s *Store) Free(at State) []int64 {
	x := &s.states[at]
	if x.free == nil {
		x.free = make([]int64, len(s.measures))
		for i, m := range s.measures {
			x.free[i] = s.freeOf(m, x)
		}
	}
	return x.free
}

func (s *Store) freeOf(m measure, x *state) int64 {
	if s.HasNetwork() {
		return Plenty // Another node's devices may serve.
	}
	if m.sort == sumCounters {
		return s.freeCounters(m, x)
	}
	var sum int64
	for _, i := range s.matching(x.view, s.signs[m.sign]) {
		d := &s.views[x.view].devices[i]
		t := x.taken[d.id]
		shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
		switch {
		case t.Exclusive:
		case m.sort == sumCapacity:
			left := milli(d.Capacity[resourcev1.QualifiedName(m.name)].Value)
			if used, ok := t.Consumed[resourcev1.QualifiedName(m.name)]; ok {
				left = max(left-milli(used), 0)
			}
			sum = addUp(sum, left)
		case shared:
			return Plenty
		default:
			sum++
		}
	}
	return sum
}

func (s *Store) freeCounters(m measure, x *state) int64 {
	var sum, used int64
	v := &s.views[x.view]
	for _, slice := range v.slices {
		if slice.Spec.Driver != m.by {
			continue
		}
		for _, set := range slice.Spec.SharedCounters {
			if c, ok := set.Counters[m.name]; ok {
				sum = addUp(sum, milli(c.Value))
			}
		}
	}
	for i := range v.devices {
		d := &v.devices[i]
		if t, ok := x.taken[d.id]; !ok || d.id.Driver != m.by || !t.Exclusive && t.Consumed == nil {
			continue
		}
		for _, c := range d.ConsumesCounters {
			if counter, ok := c.Counters[m.name]; ok {
				used = addUp(used, milli(counter.Value))
			}
		}
	}
	return max(sum-used, 0)
}
