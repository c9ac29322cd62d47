package estimator

import (
	"encoding/binary"
	"slices"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// bound sets the lower bound of what this decision bought for the pods that it placed.
func (e *estimator) bound() error {
	pr := &problem{}
	var kinds []int
	for k, n := range e.placedCounts() {
		if n > 0 {
			kinds = append(kinds, k)
			pr.req = append(pr.req, e.s.Kinds[k].Request)
			pr.need = append(pr.need, n)
		}
	}
	price := make([]configv1alpha1.MicroDollars, len(e.s.Groups))
	if err := e.emptiedBins(pr, kinds); err != nil {
		return err
	}
	for g := range e.s.Groups {
		price[g] = e.s.Groups[g].Price
		room := e.s.Groups[g].Room(e.Now) - int64(e.result.Raised[g])
		if room <= 0 {
			continue // no plan could have bought any
		}
		allow := make([]bool, len(kinds))
		for i, k := range kinds {
			var err error
			if allow[i], err = e.s.TemplateHolds(k, g); err != nil {
				return err
			}
		}
		if slices.Contains(allow, true) {
			pr.bins = append(pr.bins, bin{free: slices.Clone(e.s.TemplateFree(g)), allow: allow, most: room, group: g, unit: 1})
		}
	}
	e.result.LowerBound = e.packer.lowerBound(pr, price)
	return nil
}

func (e *estimator) placedCounts() []int64 {
	counts := make([]int64, len(e.s.Kinds))
	for n := range e.s.Nodes {
		for _, p := range e.s.Nodes[n].Placed {
			counts[p.Kind]++
		}
	}
	return counts
}

// emptiedBins adds the nodes that this decision did not buy, as they were before it put
// pods there; what else the pods look at (ports, other pods, domains) is relaxed.
func (e *estimator) emptiedBins(pr *problem, kinds []int) error {
	index := map[string]int{}
	for n := range e.s.Nodes[:e.fixed] {
		free := []int64(e.s.FreeBefore(n))
		allow := make([]bool, len(kinds))
		key := make([]byte, 0, 64)
		for i, k := range kinds {
			if !holds(free, pr.req[i]) {
				continue
			}
			ok, err := e.s.Allowed(k, n)
			if err != nil {
				return err
			}
			allow[i] = ok
		}
		if !slices.Contains(allow, true) {
			continue
		}
		for i, a := range allow {
			if a {
				key = binary.AppendVarint(key, int64(i))
			}
		}
		for _, f := range free {
			key = binary.AppendVarint(key, f)
		}
		b, ok := index[string(key)]
		if !ok {
			b = len(pr.bins)
			index[string(key)] = b
			pr.bins = append(pr.bins, bin{free: free, allow: allow, existing: true, group: -1, unit: 1})
		}
		pr.bins[b].most++
	}
	return nil
}
