package estimator

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/topology"
)

// domainOption is one domain in which a gang could be placed whole.
type domainOption struct {
	value string
	// fresh is the group that opens the domain; -1 for one that is begun.
	fresh int
	// nodes are the session's nodes in the domain.
	nodes []int
	// joins are the places that groups may add nodes at: labels and how many.
	joins []join
}

type join struct {
	group  int
	labels map[string]string
	room   int64
}

// domainScore orders the domains that hold a gang:
//  1. the lower cost of what must be bought,
//  2. fewer accelerators, cpu and memory bought,
//  3. a domain that is begun before a new one,
//  4. the tightest: the fewest more pods of the gang's kinds it could still take,
//  5. fewer groups touched, then the groups' order,
//  6. the domain's name, digits as they are.
type domainScore struct {
	score score
	fresh bool
	spare int64
	value string
}

func (a domainScore) less(b domainScore) bool {
	x, y := a.score, b.score
	x.groups, y.groups, x.first, y.first = 0, 0, nil, nil
	if x.less(y) || y.less(x) {
		return x.less(y)
	}
	if a.fresh != b.fresh {
		return b.fresh
	}
	if a.spare != b.spare {
		return a.spare < b.spare
	}
	if a.score.less(b.score) || b.score.less(a.score) {
		return a.score.less(b.score)
	}
	return a.value < b.value
}

// placeInDomain places all the pods in the one domain of the unit's key that costs
// least; false, with nothing changed, when no domain holds them.
func (e *estimator) placeInDomain(u *scheduling.Unit, pods []scheduling.Pod) (bool, error) {
	options := e.domainOptions(u, pods)
	mark := e.s.Mark()
	best := -1
	var bestScore domainScore
	for i := range options {
		e.result.Stats.Options++
		if !e.couldHold(&options[i], pods) {
			continue
		}
		before := len(e.s.Nodes)
		ok, err := e.fillDomain(&options[i], pods)
		if err != nil {
			return false, err
		}
		if ok {
			s := domainScore{score: e.total(), fresh: options[i].fresh >= 0, value: options[i].value, spare: e.spare(&options[i], before, pods)}
			if best < 0 || s.less(bestScore) {
				best, bestScore = i, s
			}
		}
		if err := e.s.Rollback(mark); err != nil {
			return false, err
		}
	}
	if best < 0 {
		return false, nil
	}
	return e.fillDomain(&options[best], pods)
}

// domainOptions lists the domains of the unit's key: those with nodes, those that groups
// may join, and a new one for each group that promises the key. Members that run already
// leave only their own domain.
func (e *estimator) domainOptions(u *scheduling.Unit, pods []scheduling.Pod) []domainOption {
	key := u.Required
	byValue := map[string]*domainOption{}
	at := func(value string) *domainOption {
		o := byValue[value]
		if o == nil {
			o = &domainOption{value: value, fresh: -1}
			byValue[value] = o
		}
		return o
	}
	for n := range e.s.Nodes {
		if v, ok := e.s.Nodes[n].Labels[key]; ok {
			o := at(v)
			o.nodes = append(o.nodes, n)
		}
	}
	for g := range e.s.Groups {
		for _, d := range e.s.Domains.Joinable(g, key) {
			o := at(d.Value)
			o.joins = append(o.joins, join{group: g, labels: d.Labels, room: d.Room})
		}
	}
	bound := e.boundDomains(u)
	var out []domainOption
	for _, v := range slices.Sorted(maps.Keys(byValue)) {
		if bound == nil || bound[v] {
			out = append(out, *byValue[v])
		}
	}
	if bound != nil {
		return out
	}
	for g := range e.s.Groups {
		if e.s.Domains.Level(g, key) < 0 || e.s.Domains.Size(g, key) == topology.Unbounded {
			continue // not promised, or the whole group is the one domain that Joinable gave
		}
		needs := max(e.nodesNeeded(pods, g, nil), 1)
		labels := e.s.Domains.Fresh(g, key, needs, "new")
		out = append(out, domainOption{value: labels[key], fresh: g,
			joins: []join{{group: g, labels: labels, room: e.s.Domains.Room(g, labels)}}})
	}
	return out
}

// boundDomains are the domains of the members that run or were placed already: nil for
// no such member, one domain as it should be. Where members run in several domains, or
// on a node without the key, it is empty: kube-scheduler places no further member then.
func (e *estimator) boundDomains(u *scheduling.Unit) map[string]bool {
	on := map[string]bool{}
	for _, p := range u.Bound {
		on[p.Spec.NodeName] = true
	}
	member := map[*corev1.Pod]bool{}
	for _, p := range u.Pods {
		member[p.Pod] = true
	}
	out := map[string]bool{}
	found, outside := 0, false
	for n := range e.s.Nodes {
		node := &e.s.Nodes[n]
		here := slices.ContainsFunc(node.Placed, func(p scheduling.Pod) bool { return member[p.Pod] })
		if on[node.Name] {
			here = true
			found++
		}
		if !here {
			continue
		}
		v, ok := node.Labels[u.Required]
		out[v] = true
		outside = outside || !ok
	}
	switch {
	case len(out) == 0 && len(on) == 0:
		return nil
	case outside || len(out) > 1 || found < len(on):
		return map[string]bool{}
	}
	return out
}

// couldHold is a quick upper bound: free nodes and joins, each pod counted at the size of
// the smallest.
func (e *estimator) couldHold(o *domainOption, pods []scheduling.Pod) bool {
	least := slices.Clone(e.s.Kinds[pods[0].Kind].Request)
	for _, p := range pods[1:] {
		for d, n := range e.s.Kinds[p.Kind].Request {
			least[d] = min(least[d], n)
		}
	}
	room, want := int64(0), int64(len(pods))
	for _, n := range o.nodes {
		if room += e.s.Nodes[n].Free.Times(least); room >= want {
			return true
		}
	}
	for _, j := range o.joins {
		if n := min(j.room, e.room(j.group)); n > 0 {
			if per := e.s.TemplateFree(j.group).Times(least); per > 0 && n >= (want-room+per-1)/per {
				return true
			}
			room += n * e.s.TemplateFree(j.group).Times(least)
		}
	}
	return room >= want
}

// spare is how many more pods of the gang's first kind the domain could take: on its
// nodes, on those opened since there were `before` nodes, and on nodes that may still join.
func (e *estimator) spare(o *domainOption, before int, pods []scheduling.Pod) int64 {
	req := e.s.Kinds[pods[0].Kind].Request
	var n int64
	for _, i := range o.nodes {
		n += e.s.Nodes[i].Free.Times(req)
	}
	for i := before; i < len(e.s.Nodes); i++ {
		n += e.s.Nodes[i].Free.Times(req)
	}
	for _, j := range o.joins {
		if more := min(e.s.Domains.Room(j.group, j.labels), e.room(j.group)); more > 0 {
			n += more * e.s.TemplateFree(j.group).Times(req)
		}
	}
	return n
}

// fillDomain puts the pods on the domain's nodes and opens nodes that join it. Where more
// than one group could join, and pods do not look at each other, the cheapest mix is
// packed; otherwise, and where packing leaves something over, pods are placed one by one.
func (e *estimator) fillDomain(o *domainOption, pods []scheduling.Pod) (bool, error) {
	dynamic := slices.ContainsFunc(pods, func(p scheduling.Pod) bool { return e.s.Kinds[p.Kind].Dynamic })
	if !dynamic && len(o.joins) > 1 {
		if ok, err := e.packDomain(o, pods); err != nil || ok {
			return ok, err
		}
	}
	return e.fillOneByOne(o, pods)
}

// packDomain packs the pods into the domain as together packs everything into the
// cluster: its nodes, and new nodes of the groups that may join, which share its room.
func (e *estimator) packDomain(o *domainOption, pods []scheduling.Pod) (bool, error) {
	pieces := []piece{{pods}}
	pr, err := e.problemOf(e.counts(pieces))
	if err != nil {
		return false, err
	}
	in := map[int]bool{}
	for _, n := range o.nodes {
		in[n] = true
	}
	var bins []bin
	shared := limit{name: "domain"}
	for _, b := range pr.bins {
		if b.existing {
			b.nodes = slices.DeleteFunc(slices.Clone(b.nodes), func(n int) bool { return !in[n] })
			b.most = int64(len(b.nodes))
		} else if j := slices.IndexFunc(o.joins, func(j join) bool { return j.group == b.group }); j >= 0 {
			room := e.s.Domains.Room(b.group, o.joins[j].labels)
			b.most, b.labels = min(b.most, room-room%b.unit), o.joins[j].labels
			shared.left = max(shared.left, room)
		} else {
			b.most = 0
		}
		if b.most > 0 {
			bins = append(bins, b)
		}
	}
	if shared.left < topology.Unbounded {
		pr.limits = append(pr.limits, shared)
		for i := range bins {
			bins[i].weigh = append(slices.Clone(bins[i].weigh), map[bool]int64{false: 1}[bins[i].existing])
		}
	}
	pr.bins = bins
	p := e.packer.pack(pr.problem)
	if !p.complete() {
		return false, nil
	}
	return true, e.apply(pr, p, pieces)
}

// fillOneByOne puts the pods, the largest first, on the domain's nodes, the fullest that
// holds each first, and opens nodes that join where none does: the cheapest group for
// what is left of the same kind.
func (e *estimator) fillOneByOne(o *domainOption, pods []scheduling.Pod) (bool, error) {
	nodes := slices.Clone(o.nodes)
	same := map[int]int64{}
	for _, p := range pods {
		same[p.Kind]++
	}
	for _, p := range e.largestFirst(pods) {
		n, err := e.fullestNode(nodes, p)
		if err != nil {
			return false, err
		}
		if n < 0 {
			var opened []int
			if n, opened, err = e.joinOne(o, p, same[p.Kind]); err != nil || n < 0 {
				return false, err
			}
			nodes = append(nodes, opened...)
		}
		if err := e.s.Bind(p, n); err != nil {
			return false, err
		}
		same[p.Kind]--
	}
	return true, nil
}

// largestFirst orders pods by what they ask for, scarce resources first, keeping the
// order of equals.
func (e *estimator) largestFirst(pods []scheduling.Pod) []scheduling.Pod {
	out := slices.Clone(pods)
	slices.SortStableFunc(out, func(a, b scheduling.Pod) int {
		return slices.Compare(reversed(e.s.Kinds[b.Kind].Request), reversed(e.s.Kinds[a.Kind].Request))
	})
	return out
}

func (e *estimator) fullestNode(nodes []int, p scheduling.Pod) (int, error) {
	best := -1
	var bestFree []int64
	for _, n := range nodes {
		if free := e.s.Nodes[n].Free; free.Holds(e.s.Kinds[p.Kind].Request) {
			r := reversed(free)
			if best >= 0 && slices.Compare(r, bestFree) >= 0 {
				continue
			}
			ok, err := e.s.Fits(p, n)
			if err != nil {
				return -1, err
			}
			if ok {
				best, bestFree = n, r
			}
		}
	}
	return best, nil
}

// joinOne opens a node (or unit) in the domain for the pod; -1 when nothing may join.
func (e *estimator) joinOne(o *domainOption, p scheduling.Pod, same int64) (int, []int, error) {
	groups, err := e.candidates(p.Kind, same)
	if err != nil {
		return -1, nil, err
	}
	for _, g := range groups {
		for _, j := range o.joins {
			if j.group != g || e.s.Domains.Room(g, j.labels) < e.s.Groups[g].Unit {
				continue
			}
			mark := e.s.Mark()
			first := e.open(g, j.labels)
			ok, err := e.s.Fits(p, first)
			if err != nil {
				return -1, nil, err
			}
			if ok {
				var opened []int
				for n := first; n < len(e.s.Nodes); n++ {
					opened = append(opened, n)
				}
				return first, opened, nil
			}
			if err := e.s.Rollback(mark); err != nil {
				return -1, nil, err
			}
		}
	}
	return -1, nil, nil
}

// nodesNeeded is how many new nodes of the group the pods need beside these existing
// nodes, by resources alone; -1 when a new node does not hold some pod.
func (e *estimator) nodesNeeded(pods []scheduling.Pod, group int, existing []int) int64 {
	counts := map[int]int64{}
	for _, p := range pods {
		counts[p.Kind]++
	}
	free := make([]scheduling.Vector, 0, len(existing))
	for _, n := range existing {
		free = append(free, slices.Clone(e.s.Nodes[n].Free))
	}
	opened := int64(0)
	kinds := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(kinds, func(a, b int) int {
		return cmp.Or(slices.Compare(reversed(e.s.Kinds[b].Request), reversed(e.s.Kinds[a].Request)))
	})
	for _, k := range kinds {
		req, left := e.s.Kinds[k].Request, counts[k]
		for i := range free {
			if i < len(existing) {
				if ok, err := e.s.Allowed(k, existing[i]); err != nil || !ok {
					continue
				}
			}
			n := min(free[i].Times(req), left)
			shift(free[i], req, -n)
			left -= n
		}
		for left > 0 {
			fresh := slices.Clone(e.s.TemplateFree(group))
			n := min(fresh.Times(req), left)
			if n == 0 {
				return -1
			}
			shift(fresh, req, -n)
			left -= n
			free = append(free, fresh)
			opened++
		}
	}
	return opened
}
