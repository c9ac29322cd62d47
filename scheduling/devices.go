package scheduling

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"tidegate.io/autoscaler/scheduling/internal/devices"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
	"tidegate.io/autoscaler/snapshot"
)

// DeviceRoom is what is left of the devices of a node; equal rooms give pods the same. The
// zero value is the room of every node where no pod asks for devices.
type DeviceRoom struct {
	state devices.State
	// plugin has a bit for each extended resource that a device plugin offers on the node,
	// though a device class would serve it elsewhere.
	plugin uint64
}

// given is what a pod got: an outcome, and which of its claims were allocated before.
type given struct {
	outcome *devices.Outcome
	had     uint64
}

// sharedClaim is a claim that several pods may use.
type sharedClaim struct {
	// allocation with the names of the node that it is on; nil while there is none.
	allocation *resourcev1.AllocationResult
	fixed      bool // allocated before this session
	users      int  // pods of this session
	node       int
	results    []resourcev1.DeviceRequestAllocationResult // as in the view of its node
}

// simulation is the part of a session that knows devices. It is nil where no pod that
// waits asks for any.
type simulation struct {
	store   *devices.Store
	kube    *kubesched.Devices
	reader  *claimReader
	network devices.State
	shared  map[string]*sharedClaim
	// backed are extended resources that device classes serve, as far as pods ask for them.
	backed  []corev1.ResourceName
	demands map[asking]devices.Demand
	claims  map[asking]*resourcev1.ResourceClaim // for extended resources
	own     map[string][]*resourcev1.ResourceSlice
	// holders are the nodes that publish a pool.
	holders map[[2]string]string
	rooms   map[string]shown                                      // by node
	taken   map[string][]resourcev1.DeviceRequestAllocationResult // by node
	net     []resourcev1.DeviceRequestAllocationResult            // of the network's devices
	rules   []*resourcev1.DeviceTaintRule
	base    devices.State // the network's devices before this session
}

// asking is what decides the claims that remain to be allocated for a pod.
type asking struct {
	kind        int
	had, plugin uint64
}

// mostBacked and mostUses bound what fits into the bits of DeviceRoom and given.
const (
	mostBacked = 64
	mostUses   = 64
)

// newSimulation reads slices, classes and claims.
func newSimulation(snap *snapshot.Snapshot, kube *kubesched.Devices, reader *claimReader, forget bool) *simulation {
	m := &simulation{kube: kube, reader: reader, shared: map[string]*sharedClaim{}, demands: map[asking]devices.Demand{},
		claims: map[asking]*resourcev1.ResourceClaim{}, own: map[string][]*resourcev1.ResourceSlice{}, holders: map[[2]string]string{},
		taken: map[string][]resourcev1.DeviceRequestAllocationResult{}, rules: snap.DeviceTaintRules(), rooms: map[string]shown{}}
	in := devices.Input{Kube: kube, Forget: forget}
	for _, s := range kube.WithTaintRules(snap.ResourceSlices(), m.rules) {
		if s.Spec.NodeName == nil {
			in.Network = append(in.Network, s)
			continue
		}
		m.own[*s.Spec.NodeName] = append(m.own[*s.Spec.NodeName], s)
		m.holders[[2]string{s.Spec.Driver, s.Spec.Pool.Name}] = *s.Spec.NodeName
	}
	for _, c := range snap.DeviceClasses() {
		for _, x := range c.Spec.Selectors {
			if x.CEL != nil {
				in.Expressions = append(in.Expressions, x.CEL.Expression)
			}
		}
	}
	for _, c := range snap.ResourceClaims() {
		readSpec(&c.Spec, &in)
		m.count(c)
	}
	for _, t := range snap.ResourceClaimTemplates() {
		readSpec(&t.Spec.Spec, &in)
	}
	m.store = devices.NewStore(in)
	m.network = m.store.Network()
	return m
}

// readSpec collects what a claim reads of devices.
func readSpec(spec *resourcev1.ResourceClaimSpec, in *devices.Input) {
	add := func(selectors []resourcev1.DeviceSelector) {
		for _, x := range selectors {
			if x.CEL != nil {
				in.Expressions = append(in.Expressions, x.CEL.Expression)
			}
		}
	}
	for _, q := range spec.Devices.Requests {
		if q.Exactly != nil {
			add(q.Exactly.Selectors)
		}
		for _, f := range q.FirstAvailable {
			add(f.Selectors)
		}
	}
	for _, c := range spec.Devices.Constraints {
		for _, name := range []*resourcev1.FullyQualifiedName{c.MatchAttribute, c.DistinctAttribute} {
			if name != nil {
				in.Constraints = append(in.Constraints, *name)
			}
		}
	}
}

// count remembers what an allocated claim has, by the node whose pool it is from.
func (m *simulation) count(c *resourcev1.ResourceClaim) {
	a := c.Status.Allocation
	if a == nil {
		return
	}
	m.shared[c.Namespace+"/"+c.Name] = &sharedClaim{allocation: a, fixed: true, node: -1}
	for _, r := range a.Devices.Results {
		if node, ok := m.holders[[2]string{r.Driver, r.Pool}]; ok {
			m.taken[node] = append(m.taken[node], r)
		} else if name := onlyNode(a.NodeSelector); name != "" {
			m.taken[name] = append(m.taken[name], r) // its slices are not published now
		} else {
			m.net = append(m.net, r)
		}
	}
}

// onlyNode is the node that an allocation of node-local devices names.
func onlyNode(s *corev1.NodeSelector) string {
	if s == nil || len(s.NodeSelectorTerms) != 1 || len(s.NodeSelectorTerms[0].MatchFields) != 1 {
		return ""
	}
	f := s.NodeSelectorTerms[0].MatchFields[0]
	if f.Key != metav1.ObjectNameField || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// pluginBits says which backed resources a device plugin offers.
func (m *simulation) pluginBits(offers kubesched.Resources) uint64 {
	var bits uint64
	for i, name := range m.backed {
		if offers[name] > 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// room is the view of a node with what is taken there, and the names of its pools.
func (m *simulation) room(node *corev1.Node, own []*resourcev1.ResourceSlice, offers kubesched.Resources) (DeviceRoom, devices.Names) {
	v, names := m.store.View(node, own)
	state, _ := m.store.Give(m.store.Fresh(v), m.network, names.Canonical(m.taken[node.Name]))
	return DeviceRoom{state: state, plugin: m.pluginBits(offers)}, names
}

// had has a bit for each claim of the kind that is allocated already.
func (s *Session) had(k *Kind) uint64 {
	var bits uint64
	for i := range k.uses {
		if c := s.devices.shared[k.uses[i].shared]; c != nil && c.allocation != nil {
			bits |= 1 << i
		}
	}
	return bits
}

// demand is what remains to be allocated for a pod of the kind; the text says what makes
// that impossible.
func (s *Session) demand(kind int, had, plugin uint64) (devices.Demand, string) {
	m, k := s.devices, &s.Kinds[kind]
	key := asking{kind, had, plugin}
	if d, ok := m.demands[key]; ok {
		return d, ""
	}
	var claims []*resourcev1.ResourceClaim
	for i := range k.uses {
		if had&(1<<i) == 0 {
			claims = append(claims, k.uses[i].claim)
		}
	}
	extended, problem := s.extended(kind, plugin)
	if problem != "" {
		return 0, problem
	}
	if extended != nil {
		claims = append(claims, extended)
	}
	d := m.store.DemandOf(claims)
	m.demands[key] = d
	return d, ""
}

// extended is the claim for the kind's extended resources on nodes with these plugins.
func (s *Session) extended(kind int, plugin uint64) (*resourcev1.ResourceClaim, string) {
	m, k := s.devices, &s.Kinds[kind]
	var byPlugin, rest []corev1.ResourceName
	for _, name := range k.backed {
		if i := slices.Index(m.backed, name); i >= 0 && plugin&(1<<i) != 0 {
			byPlugin = append(byPlugin, name)
		} else {
			rest = append(rest, name)
		}
	}
	if len(rest) == 0 {
		return nil, ""
	}
	key := asking{kind: kind, plugin: plugin}
	c, ok := m.claims[key]
	if !ok {
		var err error
		if c, err = m.kube.ExtendedClaim(k.Pod, byPlugin); err != nil {
			return nil, err.Error()
		}
		if c != nil {
			c = c.DeepCopy()
			c.Status = resourcev1.ResourceClaimStatus{}
		}
		m.claims[key] = c
	}
	if c == nil {
		return nil, fmt.Sprintf("one claim can get %d devices at most, and the pod asks for more of %v", resourcev1.AllocationResultsMaxSize, rest)
	}
	return c, ""
}

// place is a node as far as devices are concerned.
type place struct {
	room   DeviceRoom
	name   string
	labels map[string]string
}

// allocate asks which devices one more pod of the kind would get; the text says why there
// are none, where that is known without a search.
func (s *Session) allocate(kind int, at place) (given, string) {
	k := &s.Kinds[kind]
	if k.problem != "" {
		return given{}, k.problem
	}
	for i := range k.uses {
		c := s.devices.shared[k.uses[i].shared]
		if c == nil || c.allocation == nil || reaches(c.allocation.NodeSelector, at) {
			continue
		}
		return given{}, fmt.Sprintf("ResourceClaim %s is allocated elsewhere", k.uses[i].shared)
	}
	g := given{had: s.had(k)}
	d, problem := s.demand(kind, g.had, at.room.plugin)
	if problem != "" {
		return given{}, problem
	}
	g.outcome = s.devices.store.Allocate(at.room.state, s.devices.network, d)
	return g, ""
}

// reaches says whether devices that these nodes see are seen by the node.
func reaches(selector *corev1.NodeSelector, at place) bool {
	if selector == nil {
		return true
	}
	parsed, err := nodeaffinity.NewNodeSelector(selector)
	return err == nil && parsed.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: at.name, Labels: at.labels}})
}

func (s *Session) placeOf(node int) place {
	n := &s.Nodes[node]
	return place{room: n.room, name: n.Name, labels: n.Labels}
}

// asksDevices says whether pods of the kind need devices, or claims that cannot be met.
func (k *Kind) asksDevices() bool { return len(k.uses) > 0 || len(k.backed) > 0 || k.problem != "" }

// devicesFit says whether one more pod of the kind finds its devices on the node.
func (s *Session) devicesFit(p Pod, node int) (bool, error) {
	if !s.Kinds[p.Kind].asksDevices() {
		return true, nil
	}
	g, problem := s.allocate(p.Kind, s.placeOf(node))
	if problem != "" {
		return false, nil
	}
	if err := g.outcome.Err; err != nil && s.scores {
		// A scheduler that is not led to a node gives the pod up at such an error.
		return false, s.breaks(p.Kind, &kubesched.PodError{Namespace: p.Namespace, Name: p.Name, Plugin: "DynamicResources", Err: err})
	}
	return g.outcome.Fits, nil
}

// bindDevices gives the pod its devices on the node.
func (s *Session) bindDevices(p Pod, node int) error {
	k, n := &s.Kinds[p.Kind], &s.Nodes[node]
	if s.devices == nil {
		return nil
	}
	if !k.asksDevices() {
		n.given = append(n.given, given{})
		return nil
	}
	g, problem := s.allocate(p.Kind, s.placeOf(node))
	if problem != "" || !g.outcome.Fits {
		return fmt.Errorf("pod %s/%s finds no devices on node %s %s", p.Namespace, p.Name, n.Name, problem)
	}
	n.given = append(n.given, g)
	n.room.state, s.devices.network = g.outcome.State, g.outcome.Network
	s.refree(node)
	result := 0
	for i := range k.uses {
		fresh := g.had&(1<<i) == 0
		if name := k.uses[i].shared; name != "" {
			c := s.devices.shared[name]
			if c == nil {
				c = &sharedClaim{node: -1}
				s.devices.shared[name] = c
			}
			c.users++
			if fresh {
				a := g.outcome.Results[result]
				c.node, c.results = node, a.Devices.Results
				c.allocation = &resourcev1.AllocationResult{NodeSelector: named(a.NodeSelector, n.Name)}
			}
		}
		if fresh {
			result++
		}
	}
	return nil
}

// named is a node selector with the node's own name.
func named(s *corev1.NodeSelector, node string) *corev1.NodeSelector {
	if onlyNode(s) == "" {
		return s
	}
	out := s.DeepCopy()
	out.NodeSelectorTerms[0].MatchFields[0].Values[0] = node
	return out
}

// refree sets what is free of the devices after they changed.
func (s *Session) refree(node int) {
	copy(s.Nodes[node].Free[len(s.dims):], s.devices.store.Free(s.Nodes[node].room.state))
}

// leave takes a pod off its shared claims; what nobody uses any more is free again.
func (s *Session) leave(kind int) {
	for i := range s.Kinds[kind].uses {
		c := s.devices.shared[s.Kinds[kind].uses[i].shared]
		if c == nil {
			continue
		}
		if c.users--; c.users == 0 && !c.fixed {
			c.allocation, c.results, c.node = nil, nil, -1
		}
	}
}

// recount computes what is taken anew, after pods were taken off in any order.
func (s *Session) recount() {
	m := s.devices
	if m == nil {
		return
	}
	m.network = m.base
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.room.state = n.start
		for j := range n.given {
			for _, r := range s.ownResults(n.Placed[j].Kind, &n.given[j]) {
				n.room.state, m.network = m.store.Give(n.room.state, m.network, r.Devices.Results)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.shared)) {
		if c := m.shared[name]; c.node >= 0 {
			n := &s.Nodes[c.node]
			n.room.state, m.network = m.store.Give(n.room.state, m.network, c.results)
		}
	}
	for i := range s.Nodes {
		s.refree(i)
	}
}

// ownResults are the results of a pod's claims that are its alone.
func (s *Session) ownResults(kind int, g *given) []resourcev1.AllocationResult {
	if g.outcome == nil {
		return nil
	}
	var out []resourcev1.AllocationResult
	result := 0
	for i, u := range s.Kinds[kind].uses {
		if g.had&(1<<i) != 0 {
			continue
		}
		if u.shared == "" {
			out = append(out, g.outcome.Results[result])
		}
		result++
	}
	return append(out, g.outcome.Results[result:]...)
}
