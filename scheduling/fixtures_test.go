package scheduling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/scheduling/internal/drawn"
	"tidegate.io/autoscaler/snapshot"
)

func gpuList(gpus, cores int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(cores<<30, resource.BinarySI),
		"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI),
	}
}

// gpuNode has twice as many cores as GPUs.
func gpuNode(name string, gpus int64, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = gpuList(gpus, 2*gpus)
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, f := range change {
		f(n)
	}
	return n
}

// gpuPod asks for as many cores as GPUs, and is as old as its name's number is small.
func gpuPod(number int, gpus int64, change ...func(*corev1.Pod)) *corev1.Pod {
	name := fmt.Sprintf("pod-%d", number)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a", UID: types.UID(name)}}
	p.CreationTimestamp = metav1.NewTime(drawn.Now().Add(time.Duration(number) * time.Second))
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: gpuList(gpus, gpus)}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func priority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

func inGroup(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
}

// labelled gives a pod the label app, and affinity and anti-affinity to others' on a host.
func labelled(app, near, apart string) func(*corev1.Pod) {
	term := func(v string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": v}}}}
	}
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": app}
		p.Spec.Affinity = &corev1.Affinity{}
		if near != "" {
			p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(near)}
		}
		if apart != "" {
			p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term(apart)}
		}
	}
}

// input reads objects and groups as a decision does.
func input(t *testing.T, groups []configv1alpha1.NodeGroup, objects ...runtime.Object) scheduling.Input {
	t.Helper()
	snap, err := snapshot.New(objects...)
	require.NoError(t, err)
	all, err := nodegroups.New(&configv1alpha1.AutoscalerConfiguration{NodeGroups: groups})
	require.NoError(t, err)
	statuses, warnings := nodegroups.Observe(all, snap.Nodes(), snap.ResourceSlices(), drawn.Now())
	require.Empty(t, warnings)
	gangs, warnings := gang.Pending(snap)
	require.Empty(t, warnings)
	return scheduling.Input{Snapshot: snap, Groups: statuses, Gangs: gangs, Scoring: configv1alpha1.ScoringLeastAllocated}
}

func newSession(t *testing.T, in scheduling.Input) *scheduling.Session {
	t.Helper()
	s, err := scheduling.NewSession(in)
	require.NoError(t, err)
	return s
}

func podNamed(t *testing.T, s *scheduling.Session, name string) scheduling.Pod {
	t.Helper()
	for _, p := range podsOf(s) {
		if p.Name == name {
			return p
		}
	}
	require.Fail(t, "no pending pod "+name)
	return scheduling.Pod{}
}

func nodeNamed(t *testing.T, s *scheduling.Session, name string) int {
	t.Helper()
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return i
		}
	}
	require.Fail(t, "no node "+name)
	return -1
}
