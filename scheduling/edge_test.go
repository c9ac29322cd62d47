package scheduling_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/scheduling/internal/drawn"
)

// TestAntiAffinityOfDaemonSets: the agent that every new node will run keeps pods of the
// same label away, although no pod in the cluster says so yet.
func TestAntiAffinityOfDaemonSets(t *testing.T) {
	agent := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "a"}}
	agent.Spec.Template.Spec = gpuPod(0, 0, labelled("agent", "", "train")).Spec
	agent.Spec.Template.Labels = map[string]string{"app": "agent"}
	group := configv1alpha1.NodeGroup{Name: "g", MaxSize: 2, Capacity: gpuList(8, 16)}
	for name, plugins := range map[string]bool{"fast": false, "plugins": true} {
		t.Run(name, func(t *testing.T) {
			in := input(t, []configv1alpha1.NodeGroup{group}, agent, gpuPod(1, 1, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "train"} }))
			in.Plugins = plugins
			s := newSession(t, in)
			fits, err := s.Fits(podNamed(t, s, "pod-1"), s.Open(0, nil))
			require.NoError(t, err)
			require.False(t, fits)
		})
	}
}

// TestCordonedNodeIsNotConfused: the name of one node is that of a cordoned one after a "u".
func TestCordonedNodeIsNotConfused(t *testing.T) {
	cordoned := gpuNode("n", 8, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	byName := gpuPod(1, 1, func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"other"}}}}},
		}}}
	})
	s := newSession(t, input(t, nil, cordoned, gpuNode("un", 8), byName))
	for node, want := range map[string]bool{"n": false, "un": true} {
		fits, err := s.Fits(podNamed(t, s, "pod-1"), nodeNamed(t, s, node))
		require.NoError(t, err)
		require.Equal(t, want, fits, "node %s", node)
	}
}

// TestRollbackOfPodsWithoutUID: pods of dumps written by hand have none.
func TestRollbackOfPodsWithoutUID(t *testing.T) {
	bare := func(p *corev1.Pod) { p.UID = "" }
	s := newSession(t, input(t, nil, gpuNode("n", 8),
		gpuPod(1, 1, labelled("a", "", "a"), bare), gpuPod(2, 1, labelled("a", "", "a"), bare)))
	n := nodeNamed(t, s, "n")
	mark := s.Mark()
	require.NoError(t, s.Bind(podNamed(t, s, "pod-1"), n))
	fits, err := s.Fits(podNamed(t, s, "pod-2"), n)
	require.NoError(t, err)
	require.False(t, fits)
	require.NoError(t, s.Rollback(mark))
	fits, err = s.Fits(podNamed(t, s, "pod-2"), n)
	require.NoError(t, err)
	require.True(t, fits)
}

// preferred is a preference for pods whose label compares in this way.
func preferred(operator metav1.LabelSelectorOperator) *corev1.PodAffinity {
	return &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{
		TopologyKey:   corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: operator}}},
	}}}}
}

// TestBrokenPodDoesNotStopTheOthers: a bound pod whose affinity does not parse takes its
// resources, as in kube-scheduler's cache, and a waiting one fits nowhere.
func TestBrokenPodDoesNotStopTheOthers(t *testing.T) {
	broken := func(p *corev1.Pod) {
		labelled("b", "", "b")(p)
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}},
		}
	}
	t.Run("bound", func(t *testing.T) {
		bound := gpuPod(1, 6, broken, func(p *corev1.Pod) { p.Spec.NodeName = "n" })
		in := input(t, nil, gpuNode("n", 8), bound, gpuPod(2, 2), gpuPod(3, 4))
		in.Plugins = true
		s := newSession(t, in)
		for name, want := range map[string]bool{"pod-2": true, "pod-3": false} {
			fits, err := s.Fits(podNamed(t, s, name), 0)
			require.NoError(t, err)
			require.Equal(t, want, fits, name)
		}
	})
	t.Run("bound, with a term that parses beside it", func(t *testing.T) {
		bound := gpuPod(1, 1, labelled("b", "", "train"), func(p *corev1.Pod) {
			p.Spec.NodeName = "n"
			p.Spec.Affinity.PodAffinity = preferred("Near")
		})
		in := input(t, nil, gpuNode("n", 8), bound, gpuPod(2, 1, labelled("train", "", "")))
		in.Plugins = true
		s := newSession(t, in)
		fits, err := s.Fits(podNamed(t, s, "pod-2"), 0)
		require.NoError(t, err)
		require.False(t, fits, "the required anti-affinity of the bound pod still holds")
	})
	t.Run("waiting, with a preference", func(t *testing.T) {
		for _, plugins := range []bool{false, true} {
			in := input(t, nil, gpuNode("n", 8), gpuPod(1, 1, func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{PodAffinity: preferred("Near")} }))
			in.Plugins = plugins
			s := newSession(t, in)
			fits, err := s.Fits(podNamed(t, s, "pod-1"), 0)
			require.NoError(t, err)
			require.False(t, fits, "plugins %v: InterPodAffinity refuses it", plugins)
		}
	})
	t.Run("waiting", func(t *testing.T) {
		s := newSession(t, input(t, nil, gpuNode("n", 8), gpuPod(1, 1, broken), gpuPod(2, 1)))
		fits, err := s.Fits(podNamed(t, s, "pod-1"), 0)
		require.NoError(t, err, "to the scheduler it is unschedulable, not an error")
		require.False(t, fits)
		fits, err = s.Fits(podNamed(t, s, "pod-2"), 0)
		require.NoError(t, err)
		require.True(t, fits)
	})
}

// TestUpcomingNodes: nodes that register, and nodes that have not, count with what their
// template promises, each in the domain where a resize would put it.
func TestUpcomingNodes(t *testing.T) {
	size := int64(3)
	group := configv1alpha1.NodeGroup{Name: "g", MaxSize: 8, Size: &size, Accelerator: "nvidia-h100", Capacity: gpuList(8, 16),
		StartupTaints: []string{"example.com/startup"}, Topology: []configv1alpha1.TopologyLevel{{Key: "rack", NodesPerDomain: 2}}}
	group.Provisioning.Timeout.Duration = configv1alpha1.DefaultTimeout
	starting := gpuNode("n", 8, func(n *corev1.Node) {
		n.Labels["tidegate.io/node-group"], n.Labels["rack"] = "g", "r1"
		n.CreationTimestamp = metav1.NewTime(drawn.Now())
		delete(n.Status.Allocatable, "nvidia.com/gpu")
		n.Spec.Taints = []corev1.Taint{{Key: "example.com/startup", Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}
	})
	agent := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "a"}}
	agent.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}
	s := newSession(t, input(t, []configv1alpha1.NodeGroup{group}, starting, agent, gpuPod(1, 8)))
	require.Len(t, s.Nodes, 3)
	for i, want := range []struct{ name, rack string }{{"n", "r1"}, {"g/upcoming-1", "r1"}, {"g/upcoming-2", "g-upcoming-1"}} {
		n := s.Nodes[i]
		require.Equal(t, want.name, n.Name)
		require.Equal(t, want.rack, n.Labels["rack"], n.Name)
		require.Equal(t, int64(14_000), n.Free[0], "%s: cores less the DaemonSet's", n.Name)
		fits, err := s.Fits(podNamed(t, s, "pod-1"), i)
		require.NoError(t, err)
		require.True(t, fits, n.Name)
	}
}

// TestNewNodesHaveTheirOwnLabels: a gang that wants one host must be able to tell new
// nodes apart, whether the session needs the plugins or not.
func TestNewNodesHaveTheirOwnLabels(t *testing.T) {
	group := configv1alpha1.NodeGroup{Name: "g", MaxSize: 2, Capacity: gpuList(8, 16)}
	for name, plugins := range map[string]bool{"fast": false, "plugins": true} {
		t.Run(name, func(t *testing.T) {
			in := input(t, []configv1alpha1.NodeGroup{group}, gpuPod(1, 8))
			in.Plugins = plugins
			s := newSession(t, in)
			for range 2 {
				n := s.Nodes[s.Open(0, nil)]
				require.Equal(t, n.Name, n.Labels[corev1.LabelHostname])
			}
		})
	}
}
