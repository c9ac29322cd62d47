package kubesched

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"tidegate.io/autoscaler/scheduling/internal/drawn"
)

// number reads a number from the environment. TIDEGATE_PAIRS is the number of pod and
// node pairs of a run, TIDEGATE_SEED the first seed, to repeat a failure.
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

// scheduler is kube-scheduler's own framework with the default profile over one snapshot.
type scheduler struct {
	framework framework.Framework
	snapshot  *cache.Snapshot
}

// newScheduler builds it; what the framework starts ends with the context.
func newScheduler(ctx context.Context, t *testing.T, c *drawn.Cluster, bound []*corev1.Pod, scoring Scoring, live bool) scheduler {
	t.Helper()
	defaults, err := latest.Default()
	require.NoError(t, err)
	profile := &defaults.Profiles[0]
	for _, p := range profile.PluginConfig {
		if fit, ok := p.Args.(*config.NodeResourcesFitArgs); ok {
			fit.ScoringStrategy.Type = config.ScoringStrategyType(scoring)
		}
	}
	factory, err := newFactory(lookups(c))
	require.NoError(t, err)
	client := fake.NewClientset()
	if live {
		client = fake.NewClientset(c.Objects()...)
		factory = informers.NewSharedInformerFactory(client, 0)
	}
	snap := cache.NewSnapshot(bound, c.Nodes)
	f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snap),
		frameworkruntime.WithSharedDRAManager(classesOnly{}),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	require.NoError(t, err)
	if live {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	return scheduler{framework: f, snapshot: snap}
}

func lookups(c *drawn.Cluster) Objects {
	return Objects{Namespaces: c.Namespaces, PersistentVolumes: c.Volumes, PersistentVolumeClaims: c.Claims, StorageClasses: c.Classes, CSINodes: c.CSINodes}
}

// verdict is the answer for one pod and node: the plugin that refuses, "" for none.
type verdict struct {
	plugin string
	broken bool
}

// filter runs a pod's filters over all nodes as a scheduling cycle does: a node that
// PreFilter leaves out is refused without asking Filter.
func (r scheduler) filter(t *testing.T, pod *corev1.Pod) (map[string]verdict, fwk.CycleState, []fwk.NodeInfo) {
	t.Helper()
	state := framework.NewCycleState()
	all, err := r.snapshot.NodeInfos().List()
	require.NoError(t, err)
	out := map[string]verdict{}
	result, status, _ := r.framework.RunPreFilterPlugins(t.Context(), state, pod)
	var fitting []fwk.NodeInfo
	for _, n := range all {
		name := n.Node().Name
		if !status.IsSuccess() {
			out[name] = verdict{plugin: status.Plugin(), broken: !status.IsRejected()}
			continue
		}
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			out[name] = verdict{plugin: NodeAffinity} // The only plugin that leaves nodes out.
			continue
		}
		s := r.framework.RunFilterPlugins(t.Context(), state, pod, n)
		if s.IsSuccess() {
			fitting = append(fitting, n)
			out[name] = verdict{}
			continue
		}
		out[name] = verdict{plugin: s.Plugin(), broken: !s.IsRejected()}
	}
	return out, state, fitting
}

// ours asks our runner the same.
func ours(c *Cluster, pod *corev1.Pod, nodes []*corev1.Node) (map[string]verdict, *Cycle) {
	out := map[string]verdict{}
	y, r, err := c.Begin(pod)
	for _, n := range nodes {
		refused := r
		failed := err
		if r == nil && err == nil {
			refused, failed = y.Filter(n.Name)
		}
		v := verdict{broken: failed != nil}
		if refused != nil {
			v.plugin = refused.Plugin
		}
		out[n.Name] = v
	}
	return out, y
}

// comparison counts what was compared.
type comparison struct {
	pairs, scores, wrong int
	byPlugin             map[string]int
}

// TestRunnerAnswersAsTheScheduler compares the runner with the framework that
// kube-scheduler runs, built of the same registry and the default profile, on random
// clusters: the same verdict by the same plugin for each pod and node, and the same
// scores of the nodes that fit.
func TestRunnerAnswersAsTheScheduler(t *testing.T) {
	metrics.Register()
	c := &comparison{byPlugin: map[string]int{}}
	seed := uint64(number(t, "TIDEGATE_SEED", 1))
	first := seed
	most := number(t, "TIDEGATE_PAIRS", 20_000)
	for ; c.pairs < most && c.wrong < 20; seed++ {
		// Informers over a client are slow to start, so only some clusters have them.
		c.cluster(t, seed, seed < first+5)
	}
	t.Logf("%d pairs of %d clusters, %d scores, %d disagreements", c.pairs, seed-first, c.scores, c.wrong)
	for _, name := range slices.Sorted(maps.Keys(c.byPlugin)) {
		t.Logf("  %-20s %d", name, c.byPlugin[name])
	}
	require.Zero(t, c.wrong)
	for _, name := range filterOrder() {
		if name != NodeName { // Pods that name their node are not scheduled.
			require.NotZero(t, c.byPlugin[name], "no drawn pod was refused by %s", name)
		}
	}
}

func (c *comparison) cluster(t *testing.T, seed uint64, live bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	world := drawn.New(seed)
	r := rand.New(rand.NewPCG(seed, 4))
	scoring := LeastAllocated
	if seed%3 == 0 {
		scoring = MostAllocated
	}
	bound := slices.DeleteFunc(slices.Clone(world.Bound), func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	cluster, err := New(lookups(world), scoring)
	require.NoError(t, err)
	for _, n := range world.Nodes {
		cluster.AddNode(n, nil)
	}
	for _, p := range bound {
		require.NoError(t, cluster.AddPod(p, p.Spec.NodeName))
	}
	pending := world.Pending
	for round := range 2 {
		actual := newScheduler(ctx, t, world, bound, scoring, live)
		for _, p := range pending {
			c.pod(t, fmt.Sprintf("seed %d, round %d", seed, round), actual, cluster, p, world.Nodes)
		}
		// Half of the pods take a place, wherever it is, for the second round.
		half := len(pending) / 2
		for _, p := range pending[:half] {
			b := p.DeepCopy()
			b.Spec.NodeName = world.Nodes[r.IntN(len(world.Nodes))].Name
			bound = append(bound, b)
			require.NoError(t, cluster.AddPod(p, b.Spec.NodeName))
		}
		pending = pending[half:]
	}
}

func (c *comparison) pod(t *testing.T, where string, actual scheduler, cluster *Cluster, p *corev1.Pod, nodes []*corev1.Node) {
	t.Helper()
	want, state, fitting := actual.filter(t, p)
	got, cycle := ours(cluster, p, nodes)
	for _, n := range nodes {
		c.pairs++
		w, g := want[n.Name], got[n.Name]
		c.byPlugin[w.plugin]++
		if w.broken != g.broken || !w.broken && w.plugin != g.plugin {
			c.wrong++
			t.Errorf("%s: pod %s/%s on node %s: the scheduler says %+v, the runner %+v\n%s", where, p.Namespace, p.Name, n.Name, w, g, inJSON(t, p))
		}
	}
	if len(fitting) == 0 {
		return
	}
	c.score(t, where, actual, cycle, p, state, fitting)
}

func (c *comparison) score(t *testing.T, where string, actual scheduler, cycle *Cycle, p *corev1.Pod, state fwk.CycleState, fitting []fwk.NodeInfo) {
	t.Helper()
	status := actual.framework.RunPreScorePlugins(t.Context(), state, p, fitting)
	require.True(t, status.IsSuccess(), "%s: %v", where, status)
	all, status := actual.framework.RunScorePlugins(t.Context(), state, p, fitting)
	require.True(t, status.IsSuccess(), "%s: %v", where, status)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	totals, err := cycle.Score(names)
	require.NoError(t, err, where)
	for i := range all {
		c.scores++
		if all[i].TotalScore != totals[i] {
			c.wrong++
			t.Errorf("%s: pod %s/%s on node %s: the scheduler scores %d %+v, the runner %d\n%s", where, p.Namespace, p.Name, names[i], all[i].TotalScore, all[i].Scores, totals[i], inJSON(t, p))
		}
	}
}

func inJSON(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	data, err := json.Marshal(p)
	require.NoError(t, err)
	return string(data)
}
