package devices

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Explain says why a demand gets no devices in a state: which request or constraint of
// which claim fails, with numbers. It asks the allocator about parts of the claims and
// counts what the selectors match.
func (s *Store) Explain(at, network State, d Demand) string {
	claims := s.demands[d]
	x := &explainer{Store: s, at: at, network: network}
	x.devices = slices.Concat(s.views[s.states[at].view].devices, usable(newest(s.net.slices)))
	if len(x.devices) == 0 {
		return "new nodes show no devices"
	}
	for _, c := range claims {
		if x.fits(c) {
			continue
		}
		why := x.claim(c)
		if len(claims) > 1 {
			why = fmt.Sprintf("claim %s: %s", c.Name, why)
		}
		return why
	}
	if len(claims) < 2 {
		return "the devices are taken"
	}
	return fmt.Sprintf("each of the %d claims could be met alone, not all together", len(claims))
}

type explainer struct {
	*Store
	at, network State
	devices     []device
	err         error // of the last attempt
}

// fits asks for a claim alone.
func (x *explainer) fits(c *resourcev1.ResourceClaim) bool {
	o := x.Allocate(x.at, x.network, x.DemandOf([]*resourcev1.ResourceClaim{c}))
	x.err = o.Err
	return o.Fits
}

func (x *explainer) claim(c *resourcev1.ResourceClaim) string {
	whole := x.err
	var all []string
	for i := range c.Spec.Devices.Requests {
		q := &c.Spec.Devices.Requests[i]
		if x.fits(part(c, []resourcev1.DeviceRequest{*q}, nil)) {
			continue
		}
		if x.err != nil {
			return x.err.Error()
		}
		all = append(all, x.request(q)...)
	}
	if len(all) > 0 {
		return strings.Join(all, "; ")
	}
	free := part(c, c.Spec.Devices.Requests, nil)
	if !x.fits(free) {
		return fmt.Sprintf("each of the %d requests could be met alone, not all together", len(c.Spec.Devices.Requests))
	}
	for i := range c.Spec.Devices.Constraints {
		k := &c.Spec.Devices.Constraints[i]
		if !x.fits(part(c, c.Spec.Devices.Requests, []resourcev1.DeviceConstraint{*k})) {
			all = append(all, x.constraint(c, k))
		}
	}
	switch {
	case len(all) > 0:
		return strings.Join(all, "; ")
	case whole != nil:
		return whole.Error()
	}
	return "its constraints cannot be met together"
}

func part(c *resourcev1.ResourceClaim, requests []resourcev1.DeviceRequest, constraints []resourcev1.DeviceConstraint) *resourcev1.ResourceClaim {
	out := *c
	out.Spec.Devices = resourcev1.DeviceClaim{Requests: requests, Constraints: constraints}
	return &out
}

// choice is a request or an alternative of one, as far as people are told about it.
type choice struct {
	name, class string
	selectors   []resourcev1.DeviceSelector
	tolerations []resourcev1.DeviceToleration
	capacity    *resourcev1.CapacityRequirements
	wants       int64
	all         bool
}

func choices(q *resourcev1.DeviceRequest) []choice {
	if e := q.Exactly; e != nil {
		return []choice{{q.Name, e.DeviceClassName, e.Selectors, e.Tolerations, e.Capacity, atLeast(e.AllocationMode, e.Count), e.AllocationMode == resourcev1.DeviceAllocationModeAll}}
	}
	var out []choice
	for i := range q.FirstAvailable {
		f := &q.FirstAvailable[i]
		out = append(out, choice{q.Name + "/" + f.Name, f.DeviceClassName, f.Selectors, f.Tolerations, f.Capacity, atLeast(f.AllocationMode, f.Count), f.AllocationMode == resourcev1.DeviceAllocationModeAll})
	}
	return out
}

func (x *explainer) request(q *resourcev1.DeviceRequest) []string {
	var out []string
	for _, c := range choices(q) {
		out = append(out, "request "+c.name+": "+x.choice(&c))
	}
	return out
}

// choice finds the first rule after which too few devices are left.
func (x *explainer) choice(c *choice) string {
	left := x.devices
	total := len(left)
	rules := []struct {
		text      string
		selectors []string
	}{{"class " + c.class, nil}}
	var so []string
	for _, e := range c.selectors {
		if e.CEL != nil {
			so = append(so, e.CEL.Expression)
			rules = append(rules, struct {
				text      string
				selectors []string
			}{strings.Join(strings.Fields(e.CEL.Expression), " "), slices.Clone(so)})
		}
	}
	for _, r := range rules {
		var err error
		left = slices.DeleteFunc(slices.Clone(left), func(d device) bool {
			ok, e := x.kube.Matches(c.class, r.selectors, d.id.Driver, d.Device)
			if e != nil {
				err = e
			}
			return !ok
		})
		if err != nil {
			return err.Error()
		}
		if int64(len(left)) < c.wants {
			return fmt.Sprintf("%d of %d devices match %s%s", len(left), total, r.text, wanted(c.wants))
		}
	}
	matched := len(left)
	taint := ""
	left = slices.DeleteFunc(slices.Clone(left), func(d device) bool {
		t := untolerated(d.Device, c.tolerations)
		if t != "" {
			taint = t
		}
		return t != ""
	})
	if int64(len(left)) < c.wants || c.all && len(left) < matched {
		return fmt.Sprintf("%d of %d devices match, %d of them have taint %s%s", matched, total, matched-len(left), taint, wanted(c.wants))
	}
	if c.capacity != nil {
		if text := shortCapacity(left, c); text != "" {
			return text
		}
	}
	return fmt.Sprintf("%d of %d devices match%s; what they share or what is taken leaves too few", matched, total, wanted(c.wants))
}

func wanted(n int64) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(", wants %d", n)
}

// untolerated is a taint that keeps the device from being allocated; "" for none.
func untolerated(d *resourcev1.Device, tolerations []resourcev1.DeviceToleration) string {
	for _, t := range d.Taints {
		if t.Effect != resourcev1.DeviceTaintEffectNoSchedule && t.Effect != resourcev1.DeviceTaintEffectNoExecute {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(o resourcev1.DeviceToleration) bool { return resourceclaim.ToleratesTaint(o, t) }) {
			return fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect)
		}
	}
	return ""
}

// shortCapacity names a capacity of which too few devices have enough.
func shortCapacity(left []device, c *choice) string {
	for _, name := range sortedNames(c.capacity.Requests) {
		want := c.capacity.Requests[name]
		var most resource.Quantity
		enough := int64(0)
		for _, d := range left {
			q := d.Capacity[name].Value
			if q.Cmp(want) >= 0 {
				enough++
			}
			if q.Cmp(most) > 0 {
				most = q
			}
		}
		if enough < c.wants {
			return fmt.Sprintf("%d of %d devices have capacity %s of %s, the most is %s%s", enough, len(left), name, want.String(), most.String(), wanted(c.wants))
		}
	}
	return ""
}

func sortedNames(m map[resourcev1.QualifiedName]resource.Quantity) []resourcev1.QualifiedName {
	out := make([]resourcev1.QualifiedName, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// constraint says how many devices could meet it, of how many that are wanted.
func (x *explainer) constraint(c *resourcev1.ResourceClaim, k *resourcev1.DeviceConstraint) string {
	name, verb := k.MatchAttribute, "match"
	if name == nil {
		name, verb = k.DistinctAttribute, "distinct"
	}
	if name == nil {
		return "a constraint is of an unknown sort"
	}
	wants := int64(0)
	values := map[string]int64{}
	seen := map[int]bool{}
	for i := range c.Spec.Devices.Requests {
		q := &c.Spec.Devices.Requests[i]
		for _, o := range choices(q)[:1] {
			if len(k.Requests) > 0 && !slices.Contains(k.Requests, q.Name) && !slices.Contains(k.Requests, o.name) {
				continue
			}
			wants += o.wants
			x.countValues(&o, *name, values, seen)
		}
	}
	most := int64(0)
	for _, n := range values {
		most = max(most, n)
	}
	if verb == "match" {
		return fmt.Sprintf("constraint %s: largest set is %d, wants %d", identifier(string(*name)), most, wants)
	}
	return fmt.Sprintf("constraint %s: %d different values, wants %d", identifier(string(*name)), len(values), wants)
}

// countValues adds the devices that a request matches to the counts of their values.
func (x *explainer) countValues(c *choice, name resourcev1.FullyQualifiedName, values map[string]int64, seen map[int]bool) {
	sign := signOf(c.class, c.selectors)
	for i, d := range x.devices {
		if ok, err := x.kube.Matches(sign.class, sign.selectors, d.id.Driver, d.Device); seen[i] || !ok || err != nil {
			continue
		}
		a, ok := d.Attributes[resourcev1.QualifiedName(name)]
		if domain, id, cut := strings.Cut(string(name), "/"); !ok && cut && domain == d.id.Driver {
			a, ok = d.Attributes[resourcev1.QualifiedName(id)]
		}
		if ok {
			seen[i] = true
			values[a.String()]++
		}
	}
}
