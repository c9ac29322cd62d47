package scheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/internal/drawn"
)

// podGroup is a native PodGroup of at least so many pods; key is a required topology or "".
func podGroup(name string, least int32, key string) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a", CreationTimestamp: metav1.NewTime(drawn.Now())}}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: least}
	if key != "" {
		g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: key}}}
	}
	return g
}

func rack(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels["rack"] = name }
}

func prefers(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}},
		}}}}
	}
}

func gated(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} }

// outcome is what a pass did, by names.
type outcome struct {
	Unbound, Intruders []string
	Nodes              map[string]string // by pod
}

// play runs a pass over a plan given as pod to node.
func play(t *testing.T, s *scheduling.Session, plan map[string]string, nominate bool) outcome {
	t.Helper()
	var placements []scheduling.Placement
	for pod, node := range plan {
		placements = append(placements, scheduling.Placement{Pod: podNamed(t, s, pod), Node: nodeNamed(t, s, node)})
	}
	o, err := s.Pass(placements, nominate)
	require.NoError(t, err)
	require.NoError(t, s.Unbind(o.Intruders))
	out := outcome{Nodes: map[string]string{}}
	for _, p := range o.Unbound {
		out.Unbound = append(out.Unbound, p.Name)
	}
	for _, p := range o.Intruders {
		out.Intruders = append(out.Intruders, p.Name)
	}
	for _, p := range s.Placements() {
		out.Nodes[p.Pod.Name] = s.Nodes[p.Node].Name
	}
	return out
}

// TestPass plays plans on small clusters of GPU nodes.
func TestPass(t *testing.T) {
	two := []runtime.Object{gpuNode("m", 8), gpuNode("n", 8)}
	one := []runtime.Object{gpuNode("n", 8)}
	halves := []runtime.Object{gpuPod(1, 4), gpuPod(2, 4), gpuPod(3, 8)}
	packed := map[string]string{"pod-1": "m", "pod-2": "m", "pod-3": "n"}
	tests := map[string]struct {
		nodes, objects []runtime.Object
		scoring        configv1alpha1.Scoring
		plan           map[string]string
		nominate       bool
		want           outcome
	}{
		"LeastAllocated spreads the small pods and the large one stays unbound": {
			nodes: two, objects: halves, plan: packed,
			want: outcome{Unbound: []string{"pod-3"}, Nodes: map[string]string{"pod-1": "m", "pod-2": "n"}},
		},
		"nominations lead LeastAllocated": {
			nodes: two, objects: halves, plan: packed, nominate: true,
			want: outcome{Nodes: packed},
		},
		"MostAllocated packs without nominations": {
			nodes: two, objects: halves, plan: packed, scoring: configv1alpha1.ScoringMostAllocated,
			want: outcome{Nodes: packed},
		},
		"a nominated node that is full by then is no harm while another fits": {
			nodes: two, objects: []runtime.Object{gpuPod(1, 8), gpuPod(2, 8)}, plan: map[string]string{"pod-1": "m", "pod-2": "m"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-1": "m", "pod-2": "n"}},
		},
		"a pod of higher priority without a plan intrudes": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 8), gpuPod(2, 8, priority(10))}, plan: map[string]string{"pod-1": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-1"}, Intruders: []string{"pod-2"}, Nodes: map[string]string{}},
		},
		"a nomination holds against an older pod of the same priority": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 8), gpuPod(2, 8)}, plan: map[string]string{"pod-2": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-2": "n"}},
		},
		"a nomination holds against a pod of lower priority, which takes what is left": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 4), gpuPod(2, 4, priority(5)), gpuPod(3, 8)}, plan: map[string]string{"pod-2": "n"}, nominate: true,
			want: outcome{Intruders: []string{"pod-1"}, Nodes: map[string]string{"pod-2": "n"}},
		},
		"a gated pod does not intrude": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 8), gpuPod(2, 8, priority(10), gated)}, plan: map[string]string{"pod-1": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-1": "n"}},
		},
		"a pod that looks for a later one is tried again": {
			nodes: two, objects: []runtime.Object{gpuPod(1, 4, labelled("worker", "leader", "")), gpuPod(2, 4, labelled("leader", "", ""))},
			plan: map[string]string{"pod-1": "n", "pod-2": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-1": "n", "pod-2": "n"}},
		},
		"a chain of pods that look for the next is tried until it ends": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 1, labelled("c", "b", "")), gpuPod(2, 1, labelled("b", "a", "")), gpuPod(3, 1, labelled("a", "", ""))},
			plan: map[string]string{"pod-1": "n", "pod-2": "n", "pod-3": "n"},
			want: outcome{Nodes: map[string]string{"pod-1": "n", "pod-2": "n", "pod-3": "n"}},
		},
		"a pod that looks for one that nobody makes stays unbound": {
			nodes: one, objects: []runtime.Object{gpuPod(1, 1, labelled("c", "nobody", ""))}, plan: map[string]string{"pod-1": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-1"}, Nodes: map[string]string{}},
		},
		"a gang without a plan intrudes whole or not at all": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 3, ""), gpuPod(1, 4, inGroup("pg"), priority(10)), gpuPod(2, 4, inGroup("pg"), priority(10)), gpuPod(3, 4, inGroup("pg"), priority(10)), gpuPod(4, 8)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-4": "n"}},
		},
		"a gang without a plan that has room intrudes": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 2, ""), gpuPod(1, 4, inGroup("pg"), priority(10)), gpuPod(2, 4, inGroup("pg"), priority(10)), gpuPod(4, 8)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-4"}, Intruders: []string{"pod-1", "pod-2"}, Nodes: map[string]string{}},
		},
		"all members of a gang that fit intrude, not only its minimum": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 2, ""), gpuPod(1, 2, inGroup("pg"), priority(10)), gpuPod(2, 2, inGroup("pg"), priority(10)), gpuPod(3, 2, inGroup("pg"), priority(10)), gpuPod(4, 4)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-4"}, Intruders: []string{"pod-1", "pod-2", "pod-3"}, Nodes: map[string]string{}},
		},
		"a gang reaches its minimum without a member that fits nowhere": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 2, ""), gpuPod(1, 16, inGroup("pg"), priority(10)), gpuPod(2, 4, inGroup("pg"), priority(10)), gpuPod(3, 4, inGroup("pg"), priority(10)), gpuPod(4, 8)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-4"}, Intruders: []string{"pod-2", "pod-3"}, Nodes: map[string]string{}},
		},
		"an incomplete gang does not intrude": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 2, ""), gpuPod(1, 4, inGroup("pg"), priority(10)), gpuPod(4, 8)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-4": "n"}},
		},
		"a gang that was tried in vain leaves no mark on pods like its own": {
			nodes: one, objects: []runtime.Object{podGroup("pg", 2, ""), gpuPod(1, 8, inGroup("pg"), priority(10)), gpuPod(2, 8, inGroup("pg"), priority(10)), gpuPod(3, 8, priority(5)), gpuPod(4, 8)},
			plan: map[string]string{"pod-4": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-4"}, Intruders: []string{"pod-3"}, Nodes: map[string]string{}},
		},
		"a gang with a topology key goes where the plan says even without nominations": {
			nodes:   []runtime.Object{gpuNode("m", 8, rack("r1")), gpuNode("n", 8, rack("r2"))},
			objects: []runtime.Object{podGroup("pg", 2, "rack"), gpuPod(1, 4, inGroup("pg")), gpuPod(2, 4, inGroup("pg"))},
			plan:    map[string]string{"pod-1": "n", "pod-2": "n"},
			want:    outcome{Nodes: map[string]string{"pod-1": "n", "pod-2": "n"}},
		},
		"a gang with a topology key does not leave its domain": {
			nodes:   []runtime.Object{gpuNode("m", 8, rack("r1")), gpuNode("n", 8, rack("r2"))},
			objects: []runtime.Object{podGroup("pg", 2, "rack"), gpuPod(1, 4, inGroup("pg")), gpuPod(2, 4, inGroup("pg")), gpuPod(3, 8, priority(10))},
			plan:    map[string]string{"pod-3": "n", "pod-1": "n", "pod-2": "n"}, nominate: true,
			want: outcome{Unbound: []string{"pod-1", "pod-2"}, Nodes: map[string]string{"pod-3": "n"}},
		},
		"a gang with a topology key moves inside its domain": {
			nodes:   []runtime.Object{gpuNode("l", 8, rack("r2")), gpuNode("m", 8, rack("r1")), gpuNode("n", 8, rack("r2"))},
			objects: []runtime.Object{podGroup("pg", 2, "rack"), gpuPod(1, 8, inGroup("pg")), gpuPod(2, 8, inGroup("pg"))},
			plan:    map[string]string{"pod-1": "n", "pod-2": "n"}, nominate: true,
			want: outcome{Nodes: map[string]string{"pod-1": "n", "pod-2": "l"}},
		},
		"a preference among nodes of equal room is followed": {
			nodes: []runtime.Object{gpuNode("m", 8, rack("r1")), gpuNode("n", 8, rack("r2"))}, objects: []runtime.Object{gpuPod(1, 4, prefers("rack", "r2"))},
			plan: map[string]string{"pod-1": "m"},
			want: outcome{Nodes: map[string]string{"pod-1": "n"}},
		},
	}
	for name, tc := range tests {
		for _, plugins := range []bool{false, true} {
			suffix := map[bool]string{false: "", true: ", plugins only"}[plugins]
			t.Run(name+suffix, func(t *testing.T) {
				in := input(t, nil, append(append([]runtime.Object{}, tc.nodes...), tc.objects...)...)
				in.Scores, in.Plugins = true, plugins
				if tc.scoring != "" {
					in.Scoring = tc.scoring
				}
				got := play(t, newSession(t, in), tc.plan, tc.nominate)
				require.Empty(t, cmp.Diff(tc.want, got))
			})
		}
	}
}

// TestScoresSeeWhatNodesOffer: of two nodes with equal room the scheduler takes the one
// of which less is used, when they are of different size.
func TestScoresSeeWhatNodesOffer(t *testing.T) {
	running := gpuPod(0, 8, func(p *corev1.Pod) { p.Spec.NodeName = "m" })
	large := gpuNode("m", 16, func(n *corev1.Node) {
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("111")
		n.Status.Allocatable[corev1.ResourceCPU] = gpuList(0, 24)[corev1.ResourceCPU]
		n.Status.Allocatable[corev1.ResourceMemory] = gpuList(0, 24)[corev1.ResourceMemory]
	})
	in := input(t, nil, large, gpuNode("n", 8), running, gpuPod(1, 4))
	in.Scores = true
	s := newSession(t, in)
	require.Equal(t, s.Nodes[0].Free, s.Nodes[1].Free)
	require.Equal(t, "n", play(t, s, map[string]string{"pod-1": "m"}, false).Nodes["pod-1"])
}

// TestPassRepeats shows that a pass starts from a lifted session: the second says the same.
func TestPassRepeats(t *testing.T) {
	in := input(t, nil, gpuNode("m", 8), gpuNode("n", 8), gpuPod(1, 4), gpuPod(2, 4), gpuPod(3, 8))
	in.Scores = true
	s := newSession(t, in)
	plan := map[string]string{"pod-1": "m", "pod-2": "m", "pod-3": "n"}
	first := play(t, s, plan, false)
	require.Empty(t, cmp.Diff(first, play(t, s, plan, false)))
	require.Empty(t, play(t, s, plan, true).Unbound)
	require.Empty(t, cmp.Diff(first, play(t, s, plan, false)))
}

// TestPassOnNewNodes plays a plan on nodes that are only imagined.
func TestPassOnNewNodes(t *testing.T) {
	group := configv1alpha1.NodeGroup{Name: "g", MaxSize: 4, Capacity: gpuList(8, 16)}
	in := input(t, []configv1alpha1.NodeGroup{group}, gpuPod(1, 4), gpuPod(2, 4), gpuPod(3, 8))
	in.Scores = true
	s := newSession(t, in)
	s.Open(0, nil)
	s.Open(0, nil)
	plan := map[string]string{"pod-1": "g/new-1", "pod-2": "g/new-1", "pod-3": "g/new-2"}
	require.Equal(t, []string{"pod-3"}, play(t, s, plan, false).Unbound)
	require.Empty(t, cmp.Diff(outcome{Nodes: plan}, play(t, s, plan, true)))
	require.Equal(t, 2, s.Opened(0))
}
