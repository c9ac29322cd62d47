package scheduling

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Placement is a pending pod on a node of the session.
type Placement struct {
	Pod  Pod
	Node int
}

// Placements lists what the session has bound, node by node.
func (s *Session) Placements() []Placement {
	var out []Placement
	for n := range s.Nodes {
		for _, p := range s.Nodes[n].Placed {
			out = append(out, Placement{Pod: p, Node: n})
		}
	}
	return out
}

// Lift takes all pending pods off their nodes and leaves the opened nodes. What was done
// before cannot be rolled back any more.
func (s *Session) Lift() error {
	return s.takeOff(func(Pod) bool { return true })
}

// Unbind takes pods off their nodes. What was done before cannot be rolled back any more.
func (s *Session) Unbind(pods []Pod) error {
	if len(pods) == 0 {
		return nil
	}
	gone := make(map[*corev1.Pod]bool, len(pods))
	for _, p := range pods {
		gone[p.Pod] = true
	}
	return s.takeOff(func(p Pod) bool { return gone[p.Pod] })
}

// takeOff takes the pending pods that are chosen off their nodes.
func (s *Session) takeOff(chosen func(Pod) bool) error {
	for n := range s.Nodes {
		node := &s.Nodes[n]
		stay, kept := node.Placed[:0], node.given[:0]
		for i, p := range node.Placed {
			if !chosen(p) {
				stay = append(stay, p)
				if s.devices != nil {
					kept = append(kept, node.given[i])
				}
				continue
			}
			if s.devices != nil {
				s.leave(p.Kind)
			}
			node.Free.sub(s.Kinds[p.Kind].Request, -1)
			if s.mirrored {
				if err := s.kube.RemovePod(p.Pod, node.Name); err != nil {
					return err
				}
			}
		}
		clear(node.Placed[len(stay):])
		node.Placed, node.given = stay, kept
	}
	s.recount()
	s.journal = nil
	s.touch()
	return nil
}

// Outcome is what a scheduler pass leaves behind.
type Outcome struct {
	// Unbound are pods of the plan that found no node: the plan is wrong.
	Unbound []Pod
	// Intruders are pods that the plan gave nothing and that the scheduler bound all the same.
	Intruders []Pod
}

// Pass plays a plan through a kube-scheduler on the session's nodes, existing and new:
// pods in queue order (the order of Units), filters, and for a pod of the plan first the
// node that it is nominated to. A nomination holds room against pods of the same and
// lower priority (KEP-5278), not against higher ones. With nominate false, nodes are
// chosen by the default scores among those that fit; ties go to the node that was added
// first, where the real scheduler draws. Pods that fail are tried again as long as others
// are bound meanwhile. The session ends with every bound pod on its node,
// intruders among them: Unbind takes those off again.
func (s *Session) Pass(plan []Placement, nominate bool) (Outcome, error) {
	if err := s.Lift(); err != nil {
		return Outcome{}, err
	}
	p := &pass{s: s, nominate: nominate, plan: make(map[*corev1.Pod]int, len(plan)), full: map[int]bool{}, scores: map[int]map[string]int64{}, rooted: map[*corev1.Pod]string{}}
	for _, u := range s.Units {
		for _, pod := range u.Pods {
			if u.Required != "" {
				p.rooted[pod.Pod] = u.Required
			}
		}
	}
	for _, x := range plan {
		p.plan[x.Pod.Pod] = x.Node
	}
	for first := 0; first < len(s.Units); {
		last := first
		for last < len(s.Units) && s.Units[last].Priority == s.Units[first].Priority {
			last++
		}
		if err := p.class(s.Units[first:last]); err != nil {
			return Outcome{}, err
		}
		first = last
	}
	return p.retry()
}

// pass is the state of one scheduler pass.
type pass struct {
	s        *Session
	nominate bool
	plan     map[*corev1.Pod]int
	failed   []Pod
	full     map[int]bool             // kinds without a plan that found no node
	classes  *classes                 // nil until some pod has to look for a node
	scores   map[int]map[string]int64 // by kind and class
	// rooted are pods of gangs with a topology key, with that key: the scheduler places such
	// a gang as a whole, in one domain, and the plan's is one that holds it.
	rooted map[*corev1.Pod]string
	out    Outcome
}

// class schedules the pods of one priority. Nominations hold room against equals, so
// that pods of the plan come first and then the rest; without nominations every pod comes
// in its turn.
func (p *pass) class(units []Unit) error {
	for i := range units {
		if err := p.scheduleUnit(&units[i]); err != nil {
			return err
		}
		if !p.nominate {
			if err := p.intrude(&units[i]); err != nil {
				return err
			}
		}
	}
	if !p.nominate {
		return nil
	}
	for i := range units {
		if err := p.intrude(&units[i]); err != nil {
			return err
		}
	}
	return nil
}

// scheduleUnit schedules the pods of a unit that the plan places.
func (p *pass) scheduleUnit(u *Unit) error {
	for _, pod := range u.Pods {
		if _, ok := p.plan[pod.Pod]; !ok {
			continue
		}
		ok, err := p.schedule(pod)
		if err != nil {
			return err
		}
		if !ok {
			p.failed = append(p.failed, pod)
		}
	}
	return nil
}

// schedule binds a pod of the plan.
func (p *pass) schedule(pod Pod) (bool, error) {
	node := p.plan[pod.Pod]
	key, rooted := p.rooted[pod.Pod]
	if p.nominate || rooted {
		ok, err := p.s.Fits(pod, node)
		if err != nil {
			return false, err
		}
		if ok {
			return true, p.bind(pod, node)
		}
	}
	if !rooted {
		return p.anywhere(pod, nil)
	}
	domain, ok := p.s.Nodes[node].Labels[key]
	return p.anywhere(pod, func(n *Node) bool { return ok && n.Labels[key] == domain })
}

// anywhere binds the pod to the node that scores best among those that fit; without
// scores, to the first. within, where not nil, says which nodes come into question.
func (p *pass) anywhere(pod Pod, within func(*Node) bool) (bool, error) {
	var fitting []int
	try := func(n int) error {
		ok, err := p.s.Fits(pod, n)
		if ok {
			fitting = append(fitting, n)
		}
		return err
	}
	if within != nil || !p.classable(pod) {
		for n := range p.s.Nodes {
			if within != nil && !within(&p.s.Nodes[n]) {
				continue
			}
			if err := try(n); err != nil {
				return false, err
			}
			if p.nominate && len(fitting) > 0 {
				break // the first is taken
			}
		}
	} else {
		if p.classes == nil {
			p.classes = newClasses(p.s)
		}
		for _, n := range p.classes.first() {
			if err := try(n); err != nil {
				return false, err
			}
			if p.nominate && len(fitting) > 0 {
				break
			}
		}
	}
	if len(fitting) == 0 {
		return false, nil
	}
	best := fitting[0]
	if !p.nominate && len(fitting) > 1 {
		var err error
		if best, err = p.highest(pod, fitting); err != nil {
			return false, err
		}
	}
	return true, p.bind(pod, best)
}

// classable says whether one node of a class can stand for all: the pod does not look at
// other pods, and, where scores decide, no pod prefers to be near or far from others.
func (p *pass) classable(pod Pod) bool {
	return !p.s.Kinds[pod.Kind].Dynamic && (p.nominate || !p.s.podTerms)
}

// bind puts the pod on the node and moves the node to the class of what is left of it.
func (p *pass) bind(pod Pod, node int) error {
	if err := p.s.Bind(pod, node); err != nil {
		return err
	}
	if p.classes != nil {
		p.classes.move(node, p.s.alike(node))
	}
	return nil
}

// classes keeps nodes together that any pod which does not look at other pods finds
// equal, so that one of each is asked.
type classes struct {
	keyOf   []string // by node
	members map[string][]int
}

func newClasses(s *Session) *classes {
	c := &classes{keyOf: make([]string, len(s.Nodes)), members: map[string][]int{}}
	for n := range s.Nodes {
		c.keyOf[n] = s.alike(n)
		c.members[c.keyOf[n]] = append(c.members[c.keyOf[n]], n)
	}
	return c
}

func (c *classes) move(node int, key string) {
	from := c.members[c.keyOf[node]]
	if i, ok := slices.BinarySearch(from, node); ok {
		from = slices.Delete(from, i, i+1)
	}
	if len(from) == 0 {
		delete(c.members, c.keyOf[node])
	} else {
		c.members[c.keyOf[node]] = from
	}
	c.keyOf[node] = key
	to := c.members[key]
	i, _ := slices.BinarySearch(to, node)
	c.members[key] = slices.Insert(to, i, node)
}

// first is the first node of each class, in order.
func (c *classes) first() []int {
	out := make([]int, 0, len(c.members))
	for _, nodes := range c.members {
		out = append(out, nodes[0])
	}
	slices.Sort(out)
	return out
}

// alike is equal for nodes that any pod which does not look at other pods finds equal.
func (s *Session) alike(n int) string {
	node := &s.Nodes[n]
	key := binary.AppendVarint(make([]byte, 0, 48), int64(node.shape))
	key = binary.AppendVarint(key, int64(node.offer))
	key = binary.AppendVarint(key, int64(node.room.state))
	key = binary.AppendUvarint(key, node.room.plugin)
	if node.closed {
		key = append(key, 'c')
	}
	for _, f := range node.Free {
		key = binary.AppendVarint(key, f)
	}
	return string(key)
}

// highest is the node with the best score; the first of equals. Where a node's score
// depends on the pod's kind and the node's class alone, it is remembered.
func (p *pass) highest(pod Pod, nodes []int) (int, error) {
	if p.classes == nil || !p.classable(pod) || !p.s.flat(pod.Kind) {
		return p.s.highest(pod, nodes)
	}
	known := p.scores[pod.Kind]
	if known == nil {
		known = map[string]int64{}
		p.scores[pod.Kind] = known
	}
	var unknown []string
	var keys []string
	for _, n := range nodes {
		if key := p.classes.keyOf[n]; !hasKey(known, key) {
			unknown, keys = append(unknown, p.s.Nodes[n].Name), append(keys, key)
		}
	}
	if len(unknown) > 0 {
		y, r, err := p.s.kube.Begin(pod.Pod)
		if err != nil || r != nil {
			return nodes[0], p.s.breaks(pod.Kind, err)
		}
		scores, err := y.Score(unknown)
		if err != nil {
			return nodes[0], p.s.breaks(pod.Kind, err)
		}
		for i, key := range keys {
			known[key] = scores[i]
		}
	}
	best := nodes[0]
	for _, n := range nodes {
		if known[p.classes.keyOf[n]] > known[p.classes.keyOf[best]] {
			best = n
		}
	}
	return best, nil
}

func hasKey(m map[string]int64, key string) bool {
	_, ok := m[key]
	return ok
}

// flat says whether a node's score for the kind does not depend on the other nodes: no
// node is to be avoided (PreferNoSchedule) and the kind prefers none, so that the scores
// which are normalised over all nodes are equal for all.
func (s *Session) flat(kind int) bool {
	a := s.Kinds[kind].Pod.Spec.Affinity
	if a != nil && a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		return false
	}
	return !slices.ContainsFunc(s.shapes.nodes, func(n *corev1.Node) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	})
}

// highest is the node with the best score; the first of equals.
func (s *Session) highest(pod Pod, nodes []int) (int, error) {
	y, r, err := s.kube.Begin(pod.Pod)
	if err != nil || r != nil {
		return nodes[0], s.breaks(pod.Kind, err)
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = s.Nodes[n].Name
		if _, err := y.Filter(names[i]); err != nil {
			return 0, err
		}
	}
	scores, err := y.Score(names)
	if err != nil {
		return 0, err
	}
	best := 0
	for i := range scores {
		if scores[i] > scores[best] {
			best = i
		}
	}
	return nodes[best], nil
}

// intrude tries pods that the plan gave nothing: the scheduler does not know the plan. A
// PodGroup is tried as a whole; members of other gangs are ordinary pods to it. Groups
// that are incomplete, and gated pods, it does not try at all.
func (p *pass) intrude(u *Unit) error {
	native := u.Source == "PodGroup"
	if native && u.Held != nil {
		return nil
	}
	var free []Pod
	for _, pod := range u.Pods {
		if _, planned := p.plan[pod.Pod]; !planned && len(pod.Spec.SchedulingGates) == 0 {
			free = append(free, pod)
		}
	}
	if len(free) == 0 || native && (u.Required != "" || u.Need() > len(free)) {
		return nil
	}
	if native && u.Need() > 0 && len(free) == len(u.Pods) {
		return p.intrudeWhole(u)
	}
	for _, pod := range free {
		if err := p.intrudeOne(pod); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) intrudeOne(pod Pod) error {
	if p.full[pod.Kind] {
		return nil
	}
	ok, err := p.anywhere(pod, nil)
	if err != nil {
		return err
	}
	if ok {
		p.out.Intruders = append(p.out.Intruders, pod)
	} else if !p.s.Kinds[pod.Kind].Dynamic {
		p.full[pod.Kind] = true
	}
	return nil
}

// intrudeWhole tries every member of a gang and keeps what was bound when it is at least
// the minimum.
func (p *pass) intrudeWhole(u *Unit) error {
	mark, before, full := p.s.Mark(), len(p.out.Intruders), maps.Clone(p.full)
	for _, pod := range u.Pods {
		if err := p.intrudeOne(pod); err != nil {
			return err
		}
	}
	if len(p.out.Intruders)-before >= u.Need() {
		return nil
	}
	if p.s.Mark() == mark {
		return nil // nothing was bound, and what is full stays full
	}
	p.out.Intruders, p.full = p.out.Intruders[:before], full
	err := p.s.Rollback(mark)
	p.classes = nil // the nodes are as they were before
	return err
}

// retry tries failed pods again until a whole round binds none, as the scheduler does
// when a bound pod may have made room for one that looks for it.
func (p *pass) retry() (Outcome, error) {
	for progress := true; progress && len(p.failed) > 0; {
		progress = false
		var still []Pod
		for _, pod := range p.failed {
			ok, err := p.schedule(pod)
			if err != nil {
				return Outcome{}, err
			}
			if ok {
				progress = true
			} else {
				still = append(still, pod)
			}
		}
		p.failed = still
	}
	p.out.Unbound = p.failed
	return p.out, nil
}
