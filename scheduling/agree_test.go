package scheduling_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/scheduling/internal/drawn"
	"tidegate.io/autoscaler/snapshot"
)

// pairs is the number of pod and node pairs of one test run. TIDEGATE_PAIRS sets it for a
// long run, TIDEGATE_SEED the first seed, to repeat a failure.
func pairs(t *testing.T) int { return number(t, "TIDEGATE_PAIRS", 40_000) }

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// drawInput draws a cluster with node groups.
func drawInput(t *testing.T, seed uint64) scheduling.Input {
	t.Helper()
	c, drawnGroups := drawn.NewWithGroups(seed)
	snap, err := snapshot.New(c.Objects()...)
	require.NoError(t, err)
	groups, err := nodegroups.New(&configv1alpha1.AutoscalerConfiguration{NodeGroups: drawnGroups})
	require.NoError(t, err)
	statuses, _ := nodegroups.Observe(groups, snap.Nodes(), snap.ResourceSlices(), drawn.Now())
	gangs, _ := gang.Pending(snap)
	return scheduling.Input{Snapshot: snap, Groups: statuses, Gangs: gangs, Scoring: configv1alpha1.ScoringLeastAllocated}
}

// twin is one cluster twice: answered fast, and by the plugins alone.
type twin struct {
	t          *testing.T
	seed       uint64
	fast, slow *scheduling.Session
	fastPods   []scheduling.Pod
	slowPods   []scheduling.Pod
	bound      map[int]bool
	tally      *tally
}

// tally counts what was compared.
type tally struct{ pairs, fits, disagreements int }

func newTwin(t *testing.T, seed uint64, count *tally) *twin {
	t.Helper()
	in := drawInput(t, seed)
	w := &twin{t: t, seed: seed, bound: map[int]bool{}, tally: count}
	var err error
	w.fast, err = scheduling.NewSession(in)
	require.NoError(t, err, "seed %d", seed)
	in.Plugins = true
	w.slow, err = scheduling.NewSession(in)
	require.NoError(t, err, "seed %d", seed)
	w.fastPods, w.slowPods = podsOf(w.fast), podsOf(w.slow)
	return w
}

func podsOf(s *scheduling.Session) []scheduling.Pod {
	var out []scheduling.Pod
	for _, u := range s.Units {
		out = append(out, u.Pods...)
	}
	return out
}

// compare asks both about every pod that waits and every node.
func (w *twin) compare(state string) {
	w.t.Helper()
	require.Len(w.t, w.slow.Nodes, len(w.fast.Nodes), "seed %d, %s", w.seed, state)
	for n := range w.fast.Nodes {
		require.Equal(w.t, w.slow.Nodes[n].Name, w.fast.Nodes[n].Name, "seed %d, %s", w.seed, state)
		require.Equal(w.t, w.slow.Nodes[n].Free, w.fast.Nodes[n].Free, "seed %d, %s, node %s", w.seed, state, w.fast.Nodes[n].Name)
	}
	for p := range w.fastPods {
		if w.bound[p] {
			continue
		}
		for n := range w.fast.Nodes {
			w.pair(state, p, n)
		}
	}
}

func (w *twin) pair(state string, p, n int) {
	w.t.Helper()
	fast, errFast := w.fast.Fits(w.fastPods[p], n)
	slow, errSlow := w.slow.Fits(w.slowPods[p], n)
	w.tally.pairs++
	if slow {
		w.tally.fits++
	}
	if fast == slow && (errFast == nil || errSlow != nil) {
		return
	}
	w.tally.disagreements++
	if w.tally.disagreements > 5 {
		return
	}
	pod, err := json.Marshal(w.fastPods[p].Pod)
	require.NoError(w.t, err)
	w.t.Errorf("seed %d, %s: pod %s/%s on node %s (group %d): fast %v %v, plugins %v %v\npod: %s\nnode labels: %v free: %v",
		w.seed, state, w.fastPods[p].Namespace, w.fastPods[p].Name, w.fast.Nodes[n].Name, w.fast.Nodes[n].Group,
		fast, errFast, slow, errSlow, pod, w.fast.Nodes[n].Labels, w.fast.Nodes[n].Free)
}

// open opens a node of the group in both, where the ledger would put the next one.
func (w *twin) open(group int, prefix string) {
	w.t.Helper()
	a := w.fast.Open(group, w.fast.Domains.Next(group, nil, prefix))
	b := w.slow.Open(group, w.slow.Domains.Next(group, nil, prefix))
	require.Equal(w.t, b, a)
}

// step opens a node or binds a pod to a node on which both say that it fits.
func (w *twin) step(r *rand.Rand) {
	w.t.Helper()
	if r.IntN(6) == 0 {
		w.open(r.IntN(len(w.fast.Groups)), "step")
		return
	}
	p, n := r.IntN(len(w.fastPods)), r.IntN(len(w.fast.Nodes))
	if w.bound[p] {
		return
	}
	fast, errFast := w.fast.Fits(w.fastPods[p], n)
	slow, errSlow := w.slow.Fits(w.slowPods[p], n)
	if !fast || !slow || errFast != nil || errSlow != nil {
		return
	}
	require.NoError(w.t, w.fast.Bind(w.fastPods[p], n), "seed %d", w.seed)
	require.NoError(w.t, w.slow.Bind(w.slowPods[p], n), "seed %d", w.seed)
	w.bound[p] = true
}

func (w *twin) rollback(fast, slow int) {
	w.t.Helper()
	require.NoError(w.t, w.fast.Rollback(fast), "seed %d", w.seed)
	require.NoError(w.t, w.slow.Rollback(slow), "seed %d", w.seed)
	w.bound = map[int]bool{}
	names := map[string]bool{}
	for _, p := range w.fast.Placements() {
		names[p.Pod.Namespace+"/"+p.Pod.Name] = true
	}
	for i, p := range w.fastPods {
		w.bound[i] = names[p.Namespace+"/"+p.Name]
	}
}

// compareOpened is compare with a new node of each group.
func (w *twin) compareOpened(state string) {
	w.t.Helper()
	fast, slow := w.fast.Mark(), w.slow.Mark()
	for g := range w.fast.Groups {
		w.open(g, "opened")
	}
	w.compare(state + ", new nodes opened")
	w.rollback(fast, slow)
}

// TestFastAnswersAsThePlugins is the proof of the fast path: on random clusters, in
// every state that a session can be in, a session and one that asks the scheduler's
// plugins about everything say the same of every pod and node.
func TestFastAnswersAsThePlugins(t *testing.T) {
	count := &tally{}
	most := pairs(t)
	seed := uint64(number(t, "TIDEGATE_SEED", 1))
	first := seed
	for ; count.pairs < most; seed++ {
		w := newTwin(t, seed, count)
		r := rand.New(rand.NewPCG(seed, 3))
		w.compare("as seen")
		w.compareOpened("as seen")
		for range 10 {
			w.step(r)
		}
		w.compare("pods bound")
		fast, slow := w.fast.Mark(), w.slow.Mark()
		for range 10 {
			w.step(r)
		}
		w.compareOpened("more pods bound")
		w.rollback(fast, slow)
		w.compare("rolled back")
	}
	t.Logf("%d pairs of %d clusters, %d fit, %d disagreements", count.pairs, seed-first, count.fits, count.disagreements)
	require.Zero(t, count.disagreements)
}

// TestRefusalsAgreeWithFits shows that a group is given a reason exactly when a new node
// of it does not hold the pod, and the same reasons by both ways.
func TestRefusalsAgreeWithFits(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		w := newTwin(t, seed, &tally{})
		for p := range w.fastPods {
			for g := range w.fast.Groups {
				got, errFast := w.fast.Refusals(w.fastPods[p].Kind, g)
				want, errSlow := w.slow.Refusals(w.slowPods[p].Kind, g)
				require.Equal(t, errSlow == nil, errFast == nil, "seed %d", seed)
				require.Empty(t, cmp.Diff(want, got), "seed %d: pod %s, group %d", seed, w.fastPods[p].Name, g)
				fast, slow := w.fast.Mark(), w.slow.Mark()
				n := w.fast.Open(g, nil)
				w.slow.Open(g, nil)
				fits, err := w.slow.Fits(w.slowPods[p], n)
				w.rollback(fast, slow)
				if err == nil && errSlow == nil {
					require.Equal(t, fits, len(want) == 0, "seed %d: pod %s/%s, group %d: fits %v, refusals %v", seed, w.fastPods[p].Namespace, w.fastPods[p].Name, g, fits, want)
				}
			}
		}
	}
}
