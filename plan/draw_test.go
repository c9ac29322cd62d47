package plan_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// draw makes a random input of every sort: gangs with and without a topology key, gangs
// that run in part, jobs, extras, gates, ports, anti-affinity, DaemonSets, nodes in every
// state, groups with units, domains, dates, back-offs and minimums, and limits.
func draw(r *rand.Rand) *world {
	w := &world{}
	one := func(p float64) bool { return r.Float64() < p }
	drawGroups(r, w)
	var daemon *appsv1.DaemonSet
	if one(0.3) {
		daemon = makeDaemonSet("kube-system/agent", size{cpu: 500, memory: 1})
		w.add(daemon)
	}
	nodes := drawNodes(r, w, daemon)
	for i := range 2 + r.IntN(4) {
		drawUnit(r, w, i, nodes)
	}
	if one(0.25) {
		w.config.Limits.MaxNodes = new(int64(2 + r.IntN(10)))
	}
	if one(0.25) {
		w.config.Limits.MaxCostPerHour = new(configv1alpha1.MicroDollars(5+r.IntN(60)) * 1e6)
	}
	if one(0.25) {
		w.config.Limits.Accelerators = map[string]int64{"nvidia-t4": int64(4 + r.IntN(40))}
	}
	w.config.Objective = []configv1alpha1.Objective{"", configv1alpha1.ObjectiveNodes, configv1alpha1.ObjectivePriority}[r.IntN(3)]
	if one(0.2) {
		w.config.Scheduler.Hints = configv1alpha1.HintsNone
	}
	return w
}

var shapes = []size{
	{cpu: 16000, memory: 64, gpus: 4}, {cpu: 32000, memory: 128, gpus: 8}, {cpu: 8000, memory: 32, gpus: 1}, {cpu: 16000, memory: 64}, {cpu: 4000, memory: 32},
}

func drawGroups(r *rand.Rand, w *world) {
	for i := range 2 + r.IntN(3) {
		s := shapes[r.IntN(len(shapes))]
		unit := int64(1)
		if r.IntN(5) == 0 {
			unit = 2
		}
		g := makeGroup(fmt.Sprintf("g%d", i), s, configv1alpha1.MicroDollars(1+r.IntN(20))*5e5, unit*int64(1+r.IntN(5))).Unit(unit).Priority(int64(r.IntN(3)))
		if s.gpus > 0 && r.IntN(3) > 0 {
			g = g.Taint(string(gpu))
		}
		if s.gpus > 0 && r.IntN(4) == 0 {
			g = g.GrowsForAny()
		}
		switch r.IntN(3) {
		case 0:
			g = g.Level("block", 4*unit).Level(rackKey, 2*unit)
		case 1:
			g = g.Level(rackKey, int64(r.IntN(3))*unit)
		}
		switch r.IntN(8) {
		case 0:
			g = g.Backoff(now.Add(time.Minute))
		case 1:
			g = g.Available(now.Add(-time.Hour), now.Add(time.Hour), unit*2)
		case 2:
			g = g.Available(now.Add(time.Hour), now.Add(2*time.Hour), 8)
		case 3:
			g = g.Min(unit)
		}
		w.group(g)
	}
}

// drawNodes adds registered nodes of the groups, ready or not, and what runs there.
func drawNodes(r *rand.Rand, w *world, daemon *appsv1.DaemonSet) []string {
	var names []string
	for i := range w.config.NodeGroups {
		g := &w.config.NodeGroups[i]
		n := r.IntN(int(min(g.MaxSize, 3)) + 1)
		for j := range n {
			name := fmt.Sprintf("%s-node-%d", g.Name, j)
			b := makeNode(name, capacityOf(g)).Group(g.Name)
			for _, taint := range g.Taints {
				b = b.Taint(taint.Key)
			}
			for k, l := range g.Topology {
				b = b.Label(l.Key, fmt.Sprintf("%s-%d", g.Name, j/(2-k)))
			}
			switch r.IntN(8) {
			case 0:
				b = b.NotReady().Created(5 * time.Minute)
			case 1:
				b = b.NotReady().Created(16 * time.Minute)
			case 2:
				b.node.Spec.Unschedulable = true
			default:
				names = append(names, name)
			}
			w.add(b.Obj())
			if daemon != nil {
				w.add(daemonPod(daemon, name))
			}
		}
		if r.IntN(3) > 0 {
			g.Size = new(min(int64(n+r.IntN(2)), g.MaxSize))
		}
	}
	return names
}

func capacityOf(g *configv1alpha1.NodeGroup) size {
	cpu, memory, gpus := g.Capacity[corev1.ResourceCPU], g.Capacity[corev1.ResourceMemory], g.Capacity[gpu]
	return size{cpu: cpu.MilliValue(), memory: memory.Value() / gi, gpus: gpus.Value()}
}

func drawUnit(r *rand.Rand, w *world, i int, nodes []string) {
	s := []size{{cpu: 2000, memory: 8, gpus: 1}, {cpu: 4000, memory: 16, gpus: 4}, {cpu: 8000, memory: 16, gpus: 8}, {cpu: 3000, memory: 8}, {cpu: 1000, memory: 24}}[r.IntN(5)]
	age, priority := time.Duration(1+r.IntN(3))*time.Hour, int32(r.IntN(2))
	n := 1 + r.IntN(5)
	name := fmt.Sprintf("ns/u%d", i)
	change := func(b podBuilder) podBuilder {
		b = b.Created(age).Priority(priority)
		if r.IntN(20) > 0 {
			b = b.Tolerate(string(gpu))
		}
		if r.IntN(20) == 0 {
			b = b.Claim("shared")
		}
		return b
	}
	switch r.IntN(6) {
	case 0: // ordinary pods, perhaps with a port or apart
		switch r.IntN(3) {
		case 0:
			w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).HostPort(9000) })
		case 1:
			w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).Label("app", name[3:]).Apart("app") })
		default:
			w.pods(n, name, s, change)
		}
	case 1: // a job
		j := makeJob(name, int32(n+r.IntN(2)))
		w.add(j)
		w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).Job(j.Name) })
	case 2: // a gang of which some pods may be gated
		w.add(makeGang(name, int32(n), ""))
		w.pods(n+r.IntN(2), name, s, func(b podBuilder) podBuilder {
			if r.IntN(6) == 0 {
				b = b.Gate("example.com/hold")
			}
			return change(b).Gang(name[3:])
		})
	case 3: // a gang with a key, perhaps running in part
		w.add(makeGang(name, int32(n+1), rackKey))
		w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).Gang(name[3:]) })
		if len(nodes) > 0 {
			w.add(change(makePod(name+"-bound", size{cpu: 100, memory: 1})).Gang(name[3:]).On(nodes[r.IntN(len(nodes))]).Obj())
		}
	case 4: // a basic group with a key
		w.add(makeGang(name, 0, rackKey))
		w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).Gang(name[3:]) })
	default: // a gang with pods past its minimum
		w.add(makeGang(name, int32(1+r.IntN(n)), []string{"", rackKey}[r.IntN(2)]))
		w.pods(n, name, s, func(b podBuilder) podBuilder { return change(b).Gang(name[3:]) })
	}
}
