package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/scheduling/internal/devices"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
	"tidegate.io/autoscaler/scheduling/topology"
	"tidegate.io/autoscaler/snapshot"
)

// State says how real a session's node is.
type State int

// The states of a session's nodes.
const (
	// Existing: registered and ready.
	Existing State = iota
	// Upcoming: asked for, and counted with its template's capacity.
	Upcoming
	// New: imagined in this session.
	New
)

// Node is one node of a session.
type Node struct {
	Name  string
	Group int // index of its group, -1 for none
	State State
	// Labels are those of the node; callers must not change them.
	Labels map[string]string
	// Free is what is left of its allocatable.
	Free Vector
	// Placed are the pending pods that this session put there, in order.
	Placed []Pod

	// Accelerators: the node offers some.
	Accelerators bool

	shape  int
	offer  int  // equal for nodes with the same allocatable
	closed bool // nothing more may be put here
	object *corev1.Node

	room  DeviceRoom
	start devices.State // of the devices, before this session placed anything
	pools devices.Names // nil: those of the group's template
	given []given       // what each of Placed got, where any pod asks for devices
}

// Pod is a pending pod with its kind.
type Pod struct {
	*corev1.Pod
	Kind int
}

// Input is what a session is made of.
type Input struct {
	Snapshot *snapshot.Snapshot
	Groups   []nodegroups.Status
	Gangs    []gang.Gang
	Scoring  configv1alpha1.Scoring
	// Plugins makes the session ask the scheduler plugins for every pod and node, and
	// remember nothing: the slow reference for tests and benchmarks, and what scoring needs.
	Plugins bool
	// Scores keeps the plugins' view of the cluster complete, so that Score works.
	Scores bool
	// FeatureGates are those of the scheduler that are not at the defaults of 1.37.
	FeatureGates map[string]bool
}

// Session is one imagined cluster. It is not safe for concurrent use.
type Session struct {
	Kinds  []Kind
	Nodes  []Node
	Groups []nodegroups.Status
	// Units are the gangs of the input with the kinds of their pods, in order.
	Units []Unit

	dims      dimensions
	templates []template
	shapes    *shapes
	static    map[pair][]kubesched.Refusal
	broken    map[int]*kubesched.PodError // by kind
	kube      *kubesched.Cluster
	mirrored  bool
	plugins   bool
	scores    bool
	podTerms  bool // some pod has a term about other pods
	devices   *simulation
	offers    map[string]int
	csi       []*storagev1.CSINode // by group: the volume limits of a new node
	cycles    map[int]begun        // by kind
	last      begun                // of the last pod whose cycle is not kept
	lastOf    *corev1.Pod
	journal   []entry
	opened    []int // by group: how many nodes were opened
	// Domains counts the nodes of the session by topology domain.
	Domains *topology.Ledger
}

// Unit is a gang with kinds.
type Unit struct {
	*gang.Gang
	Pods []Pod // Gang.Pending, in order
}

type pair struct{ kind, shape int }

// begun is a scheduling cycle of a kind, or the refusal of every node at its beginning.
type begun struct {
	cycle   *kubesched.Cycle
	refusal *kubesched.Refusal
}

// mostCycles bounds how many cycles are kept up to date: each bound pod costs one step in
// each of them.
const mostCycles = 64

// template is a new node of a group with its DaemonSets on it.
type template struct {
	object  *corev1.Node
	shape   int
	offer   int
	free    Vector
	daemons []*corev1.Pod
	// accelerators: the node offers some.
	accelerators bool
	room         DeviceRoom
}

type entry struct {
	node int // bound there, or the node that was opened
	open bool
	// state and network are what was taken of devices before.
	state, network devices.State
}

// NewSession reads the cluster. It costs one look at each pod and node.
func NewSession(in Input) (*Session, error) {
	s := &Session{Groups: in.Groups, static: map[pair][]kubesched.Refusal{}, broken: map[int]*kubesched.PodError{}, cycles: map[int]begun{}, offers: map[string]int{}, plugins: in.Plugins, scores: in.Scores, opened: make([]int, len(in.Groups))}
	all := slices.Clone(in.Snapshot.Pods())
	for _, d := range in.Snapshot.DaemonSets() {
		all = append(all, daemonPod(d, "")) // new nodes bring them
	}
	selectors := readSelectors(all)
	kube, err := kubesched.NewDevices(in.Snapshot.DeviceClasses(), in.FeatureGates)
	if err != nil {
		return nil, err
	}
	reader := newClaimReader(in.Snapshot, kube.WorkloadClaims())
	k := newKinds(selectors, in.Groups, reader, kube)
	s.podTerms = selectors.any
	s.Units = readUnits(in.Gangs, k)
	s.dims = newDimensions(k.requests)
	s.Kinds = k.list
	dynamic := in.Plugins || in.Scores
	for i := range s.Kinds {
		s.Kinds[i].Request = s.dims.vector(k.requests[i])
		dynamic = dynamic || s.Kinds[i].plugins
	}
	if slices.ContainsFunc(s.Kinds, func(k Kind) bool { return k.asksDevices() }) {
		s.devices = newSimulation(in.Snapshot, kube, reader, in.Plugins)
	}
	s.mirrored = dynamic
	s.Domains = newLedger(in.Groups)
	s.shapes = newShapes(s.Kinds, in.Scores)
	if err := s.build(in); err != nil {
		return nil, err
	}
	return s, nil
}

// readUnits gives every pending pod its kind.
func readUnits(gangs []gang.Gang, k *kinds) []Unit {
	total := 0
	for i := range gangs {
		total += len(gangs[i].Pending)
	}
	pods := make([]Pod, 0, total) // one array for all: units are slices of it
	units := make([]Unit, len(gangs))
	for i := range gangs {
		first := len(pods)
		for _, p := range gangs[i].Pending {
			pods = append(pods, Pod{Pod: p, Kind: k.of(p)})
		}
		units[i] = Unit{Gang: &gangs[i], Pods: pods[first:len(pods):len(pods)]}
	}
	return units
}

func newLedger(groups []nodegroups.Status) *topology.Ledger {
	var out []topology.Group
	for i := range groups {
		g := topology.Group{Name: groups[i].Name, Labels: groups[i].Template.Labels}
		for _, l := range groups[i].Topology {
			g.Levels = append(g.Levels, topology.Level{Key: l.Key, Size: l.NodesPerDomain})
		}
		out = append(out, g)
	}
	return topology.New(out)
}

func (s *Session) build(in Input) error {
	var err error
	if s.kube, err = kubesched.New(kubesched.Objects{
		Namespaces: in.Snapshot.Namespaces(), PersistentVolumes: in.Snapshot.PersistentVolumes(),
		PersistentVolumeClaims: in.Snapshot.PersistentVolumeClaims(), StorageClasses: in.Snapshot.StorageClasses(),
		CSINodes: in.Snapshot.CSINodes(), Devices: s.kubeDevices(),
	}, kubesched.Scoring(in.Scoring)); err != nil {
		return err
	}
	s.prepareDevices(in.Snapshot)
	daemons := in.Snapshot.DaemonSets()
	for i := range s.Groups {
		t, err := s.newTemplate(&s.Groups[i], daemons)
		if err != nil {
			return err
		}
		s.templates = append(s.templates, t)
	}
	s.csi = volumeLimits(s.Groups, in.Snapshot.CSINodes())
	if err := s.addNodes(in.Snapshot.Nodes(), daemons, podsByNode(in.Snapshot.Pods())); err != nil {
		return err
	}
	s.addUnregistered()
	s.journal = nil
	if s.devices != nil {
		s.devices.base = s.devices.network
	}
	return nil
}

// Open imagines a new node of a group, in these topology domains (label key to value),
// and returns its index.
func (s *Session) Open(group int, domains map[string]string) int {
	s.opened[group]++
	s.touch()
	n := s.addTemplateNode(group, fmt.Sprintf("%s/new-%d", s.Groups[group].Name, s.opened[group]), New, domains)
	s.journal = append(s.journal, entry{node: n, open: true})
	return n
}

// Bind puts a pod on a node on which it Fits. The error is broken input.
func (s *Session) Bind(p Pod, node int) error {
	n := &s.Nodes[node]
	if s.mirrored {
		if err := s.bindPlugins(p, n.Name); err != nil {
			return err
		}
	}
	e := entry{node: node, state: n.room.state}
	if s.devices != nil {
		e.network = s.devices.network
	}
	n.Free.sub(s.Kinds[p.Kind].Request, 1)
	if err := s.bindDevices(p, node); err != nil {
		return err
	}
	n.Placed = append(n.Placed, p)
	s.journal = append(s.journal, e)
	s.tellCycles(p, n.Name)
	return nil
}

// tellCycles keeps what scheduling cycles learnt up to date with one more bound pod.
func (s *Session) tellCycles(p Pod, node string) {
	s.lastOf = nil
	for kind, b := range s.cycles {
		if b.cycle != nil && !b.cycle.Added(p.Pod, node) {
			delete(s.cycles, kind)
		}
	}
}

// bindPlugins lets pods that reserve volumes do so; for all others it is enough that the
// plugins see them.
func (s *Session) bindPlugins(p Pod, node string) error {
	if !usesVolumes(p.Pod) {
		return s.kube.AddPod(p.Pod, node)
	}
	y, r, err := s.kube.Begin(p.Pod)
	if err == nil && r == nil {
		r, err = y.Filter(node)
	}
	if err != nil {
		return err
	}
	if r != nil {
		return fmt.Errorf("pod %s/%s does not fit node %s: %s", p.Namespace, p.Name, node, r.Plugin)
	}
	return y.Reserve(node)
}

// touch forgets what a scheduling cycle learnt before the cluster changed.
func (s *Session) touch() {
	s.lastOf = nil
	clear(s.cycles)
}

// Mark remembers the state for Rollback. Marks nest.
func (s *Session) Mark() int { return len(s.journal) }

// Rollback undoes everything since the mark.
func (s *Session) Rollback(mark int) error {
	for len(s.journal) > mark {
		e := s.journal[len(s.journal)-1]
		s.journal = s.journal[:len(s.journal)-1]
		n := &s.Nodes[e.node]
		if e.open {
			if s.mirrored {
				s.kube.RemoveNode(n.Name)
			}
			s.opened[n.Group]--
			s.Domains.Remove(n.Group, n.Labels)
			s.Nodes = s.Nodes[:e.node]
			continue
		}
		p := n.Placed[len(n.Placed)-1]
		n.Placed = n.Placed[:len(n.Placed)-1]
		n.Free.sub(s.Kinds[p.Kind].Request, -1)
		if s.devices != nil {
			n.given = n.given[:len(n.given)-1]
			n.room.state, s.devices.network = e.state, e.network
			s.refree(e.node)
			s.leave(p.Kind)
		}
		if s.mirrored {
			if err := s.kube.RemovePod(p.Pod, n.Name); err != nil {
				return err
			}
		}
	}
	s.touch()
	return nil
}

// BoundSince lists the pods that were bound since the mark and still are, node by node.
func (s *Session) BoundSince(mark int) []Placement {
	count := map[int]int{}
	for _, e := range s.journal[mark:] {
		if !e.open {
			count[e.node]++
		}
	}
	var out []Placement
	for n := range s.Nodes {
		placed := s.Nodes[n].Placed
		for _, p := range placed[len(placed)-count[n]:] {
			out = append(out, Placement{Pod: p, Node: n})
		}
	}
	return out
}

// PluginsOnly says whether every answer comes from the scheduler plugins.
func (s *Session) PluginsOnly() bool { return s.plugins }

// Opened is the number of nodes of a group that this session opened.
func (s *Session) Opened(group int) int { return s.opened[group] }
