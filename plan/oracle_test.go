package plan_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// vec is cpu, memory, GPUs and pods.
type vec [4]int64

func (v vec) minus(o vec) vec {
	for i := range v {
		v[i] -= o[i]
	}
	return v
}

func (v vec) holds(o vec) bool {
	for i := range v {
		if o[i] > 0 && o[i] > v[i] {
			return false
		}
	}
	return true
}

func (s size) vec() vec { return vec{s.cpu, s.memory, s.gpus, 1} }

func (s size) room() vec {
	v := s.vec()
	v[3] = cmp.Or(s.pods, 110)
	return v
}

// model is a small cluster as the oracle sees it. It is drawn beside the world that the
// program gets, and shares no code with it.
type model struct {
	kinds    []modelKind
	existing []modelNode
	groups   []modelGroup
	units    []modelUnit
	// leftNodes, leftCost and leftGPUs are what the limits still allow; negative: none set.
	leftNodes, leftCost, leftGPUs int64
	objective                     configv1alpha1.Objective
	// twoSteps: pods with GPUs decide how many GPU nodes there are before the others are placed.
	twoSteps bool
}

type modelKind struct {
	size      size
	tolerates bool
}

type modelNode struct {
	free  vec
	taint bool
}

type modelGroup struct {
	name     string
	node     modelNode // empty, less DaemonSets
	size     size
	price    int64
	room     int64
	unit     int64
	priority int64
}

// modelUnit is a gang, or an ordinary pod.
type modelUnit struct {
	key      string
	counts   counts
	pods     int
	priority int32
	age      time.Duration
}

// counts is a number of pods of each kind.
type counts [4]int8

func (c counts) plus(o counts) counts {
	for k := range c {
		c[k] += o[k]
	}
	return c
}

func (m *model) admits(n *modelNode, kind int) bool {
	return (!n.taint || m.kinds[kind].tolerates) && n.free.holds(m.kinds[kind].size.vec())
}

// packs says whether the pods fit the nodes: node by node, every filling to which no
// further pod could be added, with the states that failed remembered.
func (m *model) packs(need counts, nodes []modelNode) bool {
	type state struct {
		node int
		need counts
	}
	failed := map[state]bool{}
	var visit func(state) bool
	visit = func(s state) bool {
		if s.need == (counts{}) {
			return true
		}
		if s.node == len(nodes) || failed[s] {
			return false
		}
		ok := m.fillings(&nodes[s.node], s.need, func(left counts) bool { return visit(state{s.node + 1, left}) })
		failed[s] = !ok
		return ok
	}
	return visit(state{0, need})
}

// fillings calls try with what each maximal filling of a node leaves, until one succeeds.
func (m *model) fillings(n *modelNode, need counts, try func(counts) bool) bool {
	var choose func(kind int, free vec, left counts) bool
	choose = func(kind int, free vec, left counts) bool {
		if kind == len(m.kinds) {
			for k := range m.kinds {
				if left[k] > 0 && m.admits(n, k) && free.holds(m.kinds[k].size.vec()) {
					return false // not maximal
				}
			}
			return try(left)
		}
		for {
			if choose(kind+1, free, left) {
				return true
			}
			req := m.kinds[kind].size.vec()
			if left[kind] == 0 || !m.admits(n, kind) || !free.holds(req) {
				return false
			}
			free, left[kind] = free.minus(req), left[kind]-1
		}
	}
	return choose(0, n.free, need)
}

// nodes are the existing ones and those of a mix.
func (m *model) nodes(mix []int64) []modelNode {
	out := slices.Clone(m.existing)
	for g, n := range mix {
		for range n {
			out = append(out, m.groups[g].node)
		}
	}
	return out
}

// mixes lists the numbers of new nodes by group that keep every limit, the best first:
// by the objective, then by GPUs, cpu and memory bought.
func (m *model) mixes(allowed func(group int) bool) [][]int64 {
	var out [][]int64
	mix := make([]int64, len(m.groups))
	var choose func(g int)
	choose = func(g int) {
		if g == len(mix) {
			if m.within(mix) {
				out = append(out, slices.Clone(mix))
			}
			return
		}
		for n := int64(0); n <= m.groups[g].room; n += m.groups[g].unit {
			if n > 0 && !allowed(g) {
				break
			}
			mix[g] = n
			choose(g + 1)
		}
		mix[g] = 0
	}
	choose(0)
	slices.SortStableFunc(out, func(a, b []int64) int { return slices.Compare(m.score(a), m.score(b)) })
	return out
}

func (m *model) within(mix []int64) bool {
	s := m.sums(mix)
	return (m.leftNodes < 0 || s.nodes <= m.leftNodes) && (m.leftCost < 0 || s.cost <= m.leftCost) && (m.leftGPUs < 0 || s.gpus <= m.leftGPUs)
}

type sums struct{ nodes, cost, gpus, cpu, memory, rank int64 }

func (m *model) sums(mix []int64) sums {
	var s sums
	for i, n := range mix {
		g := &m.groups[i]
		s.nodes += n
		s.cost += n * g.price
		s.gpus += n * g.size.gpus
		s.cpu += n * g.node.free[0]
		s.memory += n * g.node.free[1]
		s.rank += n * m.rank(g.priority)
	}
	return s
}

// rank is how many distinct priorities are higher.
func (m *model) rank(priority int64) int64 {
	higher := map[int64]bool{}
	for i := range m.groups {
		if p := m.groups[i].priority; p > priority {
			higher[p] = true
		}
	}
	return int64(len(higher))
}

// goal is what the objective minimises.
func (m *model) goal(mix []int64) []int64 {
	s := m.sums(mix)
	switch m.objective {
	case configv1alpha1.ObjectiveNodes:
		return []int64{s.nodes, s.cost}
	case configv1alpha1.ObjectivePriority:
		return []int64{s.rank, s.cost}
	case configv1alpha1.ObjectiveCost:
	}
	return []int64{s.cost}
}

func (m *model) score(mix []int64) []int64 {
	s := m.sums(mix)
	return append(m.goal(mix), s.gpus, s.cpu, s.memory)
}

func every(int) bool { return true }

// grows says whether a group may grow for the pods: one with GPUs only when some pod asks
// for one.
func (m *model) grows(need counts) func(int) bool {
	asks := m.gpuPart(need) != counts{}
	return func(g int) bool { return asks || m.groups[g].size.gpus == 0 }
}

func (m *model) gpuPart(need counts) counts {
	for k := range m.kinds {
		if m.kinds[k].size.gpus == 0 {
			need[k] = 0
		}
	}
	return need
}

// best is the cheapest mix that holds the pods, or nil.
func (m *model) best(need counts) []int64 {
	if m.twoSteps {
		return m.bestInTwoSteps(need)
	}
	for _, mix := range m.mixes(m.grows(need)) {
		if m.packs(need, m.nodes(mix)) {
			return mix
		}
	}
	return nil
}

// bestInTwoSteps fixes the GPU nodes by the pods that ask for GPUs alone, then finds the
// best of all packings of all pods on these and other groups' nodes.
func (m *model) bestInTwoSteps(need counts) []int64 {
	var first [][]int64
	lead := m.gpuPart(need)
	for _, mix := range m.mixes(func(g int) bool { return lead != counts{} && m.groups[g].size.gpus > 0 }) {
		if len(first) > 0 && slices.Compare(m.score(mix), m.score(first[0])) > 0 {
			break
		}
		if m.packs(lead, m.nodes(mix)) {
			first = append(first, mix)
		}
	}
	for _, mix := range m.mixes(every) {
		if slices.ContainsFunc(first, func(f []int64) bool { return m.sameGPUNodes(f, mix) }) && m.packs(need, m.nodes(mix)) {
			return mix
		}
	}
	return nil
}

func (m *model) sameGPUNodes(a, b []int64) bool {
	for g := range m.groups {
		if m.groups[g].size.gpus > 0 && a[g] != b[g] {
			return false
		}
	}
	return true
}

// accepted serves the units in order: one is placed when it fits with all those before.
func (m *model) accepted() (placed []string, need counts) {
	units := slices.Clone(m.units)
	slices.SortFunc(units, func(a, b modelUnit) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.age, a.age), cmp.Compare(b.pods, a.pods), strings.Compare(a.key, b.key))
	})
	for _, u := range units {
		all := need.plus(u.counts)
		if m.placeable(all) {
			placed, need = append(placed, u.key), all
		}
	}
	slices.Sort(placed)
	return placed, need
}

// placeable tries the mixes that no other contains.
func (m *model) placeable(need counts) bool {
	if m.twoSteps {
		return m.best(need) != nil
	}
	all := m.mixes(m.grows(need))
	for _, mix := range all {
		contained := slices.ContainsFunc(all, func(o []int64) bool { return !slices.Equal(o, mix) && covers(o, mix) })
		if !contained && m.packs(need, m.nodes(mix)) {
			return true
		}
	}
	return false
}

func covers(a, b []int64) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}

// sort says what a family of cases draws.
type sort struct {
	gpuPods bool
	cpuPods bool
	// apart: GPU nodes are tainted, and pods without GPUs do not tolerate it.
	apart bool
	// limits: the number of nodes and their cost are bounded.
	limits bool
	// units: some groups grow by two nodes at a time.
	units bool
	// roomy: groups without GPUs can hold all pods without GPUs.
	roomy bool
}

func sorts() map[string]sort {
	return map[string]sort{
		"gpu pods":                  {gpuPods: true, limits: true},
		"cpu pods":                  {cpuPods: true, limits: true},
		"both, apart":               {gpuPods: true, cpuPods: true, apart: true},
		"both, sharing nodes":       {gpuPods: true, cpuPods: true, roomy: true},
		"gpu pods, units of two":    {gpuPods: true, limits: true, units: true},
		"both, apart, under limits": {gpuPods: true, cpuPods: true, apart: true, limits: true},
	}
}

var gpuMachines = []size{
	{cpu: 16000, memory: 64, gpus: 1}, {cpu: 32000, memory: 128, gpus: 4}, {cpu: 64000, memory: 256, gpus: 8}, {cpu: 24000, memory: 256, gpus: 2}, {cpu: 48000, memory: 192, gpus: 4},
}

var cpuMachines = []size{{cpu: 8000, memory: 32}, {cpu: 16000, memory: 32}, {cpu: 16000, memory: 128}, {cpu: 4000, memory: 64, pods: 3}}

// roomyMachines hold five and more of any of cpuPods.
var roomyMachines = []size{{cpu: 32000, memory: 128}, {cpu: 48000, memory: 160}, {cpu: 26000, memory: 256}}

var gpuPods = []size{
	{cpu: 4000, memory: 16, gpus: 1}, {cpu: 2000, memory: 60, gpus: 1}, {cpu: 15000, memory: 30, gpus: 2}, {cpu: 8000, memory: 100, gpus: 4}, {cpu: 30000, memory: 120, gpus: 3}, {gpus: 8}, {cpu: 12000, memory: 8, gpus: 1}, {cpu: 6000, memory: 40, gpus: 3},
}

var cpuPods = []size{{cpu: 3000, memory: 4}, {cpu: 1000, memory: 20}, {cpu: 4000, memory: 12}, {cpu: 5000, memory: 24}, {cpu: 500, memory: 1}}

// drawCase draws one small cluster, for the program and for the oracle.
func drawCase(r *rand.Rand, of sort) (*world, *model) {
	w, m := &world{}, &model{leftNodes: -1, leftCost: -1, leftGPUs: -1, twoSteps: of.gpuPods && of.cpuPods && !of.apart}
	var daemon *appsv1.DaemonSet
	overhead := size{}
	if r.IntN(4) == 0 {
		overhead = size{cpu: 500, memory: 1}
		daemon = makeDaemonSet("kube-system/agent", overhead)
		w.add(daemon)
	}
	tainted := of.apart || r.IntN(2) == 0
	cost, gpus := drawCluster(r, w, m, of, overhead, daemon, tainted)
	drawPods(r, w, m, of)
	if r.IntN(5) == 0 {
		m.objective = []configv1alpha1.Objective{configv1alpha1.ObjectiveNodes, configv1alpha1.ObjectivePriority}[r.IntN(2)]
		w.config.Objective = m.objective
	}
	drawLimits(r, w, m, of, cost, gpus)
	return w, m
}

// drawCluster draws three groups and at most three existing nodes, and returns what the
// existing ones cost and hold in GPUs.
func drawCluster(r *rand.Rand, w *world, m *model, of sort, overhead size, daemon *appsv1.DaemonSet, tainted bool) (cost, gpus int64) {
	withGPUs := 1 + r.IntN(2)
	if !of.cpuPods {
		withGPUs = 3
	}
	most := 3
	for i := range 3 {
		machine := cpuMachines[r.IntN(len(cpuMachines))]
		if of.roomy {
			machine = roomyMachines[r.IntN(len(roomyMachines))]
		}
		if i < withGPUs {
			machine = gpuMachines[r.IntN(len(gpuMachines))]
		}
		taint := tainted && machine.gpus > 0
		g := modelGroup{name: fmt.Sprintf("g%d", i), size: machine, price: int64(1+r.IntN(12)) * 5e5, unit: 1, priority: int64(r.IntN(3))}
		g.price += machine.gpus * int64(r.IntN(4)) * 5e5
		g.node = modelNode{free: machine.room().minus(overhead.vec()), taint: taint}
		if overhead == (size{}) {
			g.node.free = machine.room()
		}
		if of.units && r.IntN(2) == 0 {
			g.unit = 2
		}
		g.room = g.unit * int64(1+r.IntN(3))
		if of.roomy && machine.gpus == 0 {
			g.room = 4
		}
		b := makeGroup(g.name, machine, configv1alpha1.MicroDollars(g.price), 0).Priority(g.priority).Unit(g.unit)
		if taint {
			b = b.Taint(string(gpu))
		}
		have := int64(0)
		for most > 0 && r.IntN(3) == 0 {
			most--
			have++
			if r.IntN(4) == 0 { // asked for, not registered
				m.existing = append(m.existing, g.node)
				continue
			}
			m.existing = append(m.existing, drawNode(r, w, &g, fmt.Sprintf("%s-node-%d", g.name, have), daemon))
		}
		w.group(b.Size(have))
		w.config.NodeGroups[i].MaxSize = have + g.room
		m.groups = append(m.groups, g)
		cost, gpus = cost+have*g.price, gpus+have*machine.gpus
	}
	return cost, gpus
}

// drawNode registers a node that something may run on.
func drawNode(r *rand.Rand, w *world, g *modelGroup, name string, daemon *appsv1.DaemonSet) modelNode {
	b := makeNode(name, g.size).Group(g.name)
	if g.node.taint {
		b = b.Taint(string(gpu))
	}
	w.add(b.Obj())
	if daemon != nil {
		w.add(daemonPod(daemon, name))
	}
	n := g.node
	if r.IntN(2) == 0 {
		runs := size{cpu: int64(r.IntN(3)) * 1000, memory: int64(r.IntN(3)) * 4, gpus: min(g.size.gpus, int64(r.IntN(4)))}
		w.add(makePod("runs/on-"+name, runs).On(name).Obj())
		n.free = n.free.minus(runs.vec())
	}
	return n
}

func drawPods(r *rand.Rand, w *world, m *model, of sort) {
	for len(m.kinds) < 2+r.IntN(3) {
		k := modelKind{size: gpuPods[r.IntN(len(gpuPods))], tolerates: true}
		if !of.gpuPods || of.cpuPods && len(m.kinds)%2 == 1 {
			k = modelKind{size: cpuPods[r.IntN(len(cpuPods))], tolerates: !of.apart && r.IntN(2) == 0}
		}
		m.kinds = append(m.kinds, k)
	}
	left := 13
	for i := 0; i < 7 && left > 0; i++ {
		n := min(1+r.IntN(4), left)
		left -= n
		u := modelUnit{key: fmt.Sprintf("ns/u%d", i), pods: n, priority: int32(r.IntN(2)), age: time.Duration(1+r.IntN(2)) * time.Hour}
		gang := r.IntN(2) == 0
		if gang {
			g := makeGang(u.key, int32(n), "")
			g.CreationTimestamp.Time = now.Add(-u.age)
			w.add(g)
		}
		first := r.IntN(len(m.kinds))
		for j := range n {
			kind := first
			if gang && r.IntN(4) == 0 {
				kind = r.IntN(len(m.kinds)) // members may differ
			}
			b := makePod(fmt.Sprintf("%s-%d", u.key, j), m.kinds[kind].size).Priority(u.priority).Created(u.age)
			if m.kinds[kind].tolerates {
				b = b.Tolerate(string(gpu))
			}
			if gang {
				b = b.Gang(u.key[3:])
				u.counts[kind]++
			} else {
				one := modelUnit{key: fmt.Sprintf("%s-%d", u.key, j), pods: 1, priority: u.priority, age: u.age}
				one.counts[kind]++
				m.units = append(m.units, one)
			}
			w.add(b.Obj())
		}
		if gang {
			m.units = append(m.units, u)
		}
	}
}

func drawLimits(r *rand.Rand, w *world, m *model, of sort, cost, gpus int64) {
	if r.IntN(3) == 0 {
		m.leftGPUs = int64(r.IntN(20))
		w.config.Limits.Accelerators = map[string]int64{"nvidia-t4": gpus + m.leftGPUs}
	}
	if of.limits && r.IntN(3) == 0 {
		m.leftNodes = int64(1 + r.IntN(4))
		w.config.Limits.MaxNodes = new(int64(len(m.existing)) + m.leftNodes)
	}
	if of.limits && r.IntN(3) == 0 {
		m.leftCost = int64(1+r.IntN(20)) * 1e6
		w.config.Limits.MaxCostPerHour = new(configv1alpha1.MicroDollars(cost + m.leftCost))
	}
}

// tally counts how the program compares with the oracle.
type tally struct {
	cases, bought, exact int
	worst                float64
	worstCase            string
	wrong                []string // cases in which other units are placed
}

func (c *tally) add(name string, got, want []int64) {
	if slices.ContainsFunc(want, func(n int64) bool { return n > 0 }) {
		c.bought++
	}
	if slices.Equal(got, want) {
		c.exact++
		return
	}
	if slices.Compare(got, want) < 0 {
		c.wrong = append(c.wrong, name+": better than the oracle's best")
	}
	if e := excess(got, want); e > c.worst || c.worstCase == "" {
		c.worst, c.worstCase = e, name
	}
}

// excess is how much worse the first part that differs is; 1 where nothing was needed.
func excess(got, want []int64) float64 {
	for i := range want {
		switch {
		case got[i] == want[i]:
		case want[i] == 0:
			return 1
		default:
			return float64(got[i])/float64(want[i]) - 1
		}
	}
	return 0
}

// TestOracle compares the program with exhaustive search on small clusters.
func TestOracle(t *testing.T) {
	n := cases(t, 2400)
	for name, of := range sorts() {
		t.Run(name, func(t *testing.T) {
			var c tally
			for i := range n / len(sorts()) {
				compare(t, &c, i, of)
			}
			share := float64(c.exact) / float64(c.cases-len(c.wrong))
			t.Logf("%d cases, %d with a purchase, %.2f %% exact, worst excess %.2f %% (%s), other units placed in %d",
				c.cases, c.bought, 100*share, 100*c.worst, c.worstCase, len(c.wrong))
			require.Empty(t, c.wrong)
			require.LessOrEqual(t, c.worst, 0.05, c.worstCase)
			require.GreaterOrEqual(t, share, of.exactShare())
		})
	}
}

// exactShare is how often the optimum must be found: always, but where pods with and
// without GPUs share nodes, of which the second step sees only one packing of the first.
func (of sort) exactShare() float64 {
	if of.gpuPods && of.cpuPods && !of.apart {
		return 0.99
	}
	return 1
}

func compare(t *testing.T, c *tally, seed int, of sort) {
	t.Helper()
	w, m := drawCase(rand.New(rand.NewPCG(uint64(seed), 3)), of)
	p := w.decide(t)
	placed, need := m.accepted()
	c.cases++
	if got := placedUnits(p); !slices.Equal(placed, got) {
		c.wrong = append(c.wrong, fmt.Sprintf("case %d: places %v, want %v", seed, got, placed))
		return
	}
	want := m.best(need)
	require.NotNil(t, want, "case %d", seed)
	got := make([]int64, len(m.groups))
	for _, u := range p.ScaleUps {
		got[slices.IndexFunc(m.groups, func(g modelGroup) bool { return g.name == u.NodeGroup })] = u.Add
	}
	c.add(fmt.Sprintf("case %d: %v, best %v", seed, got, want), m.goal(got), m.goal(want))

	// Whatever the objective and the two steps: nothing that places the same pods costs
	// less than the bound.
	free := *m
	free.twoSteps, free.objective = false, configv1alpha1.ObjectiveCost
	for _, mix := range free.mixes(every) {
		if free.packs(need, free.nodes(mix)) {
			require.LessOrEqual(t, int64(p.Cost.LowerBound-p.Cost.Before), free.sums(mix).cost, "case %d: lower bound", seed)
			break
		}
	}
}

// placedUnits are the gangs and ordinary pods of which something is placed.
func placedUnits(p *plan.Plan) []string {
	var out []string
	for _, x := range p.Placements {
		out = append(out, cmp.Or(x.Gang, x.Pod))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
