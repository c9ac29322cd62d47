package snapshot_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tidegate.io/autoscaler/snapshot"
)

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// everyKind is one document of each kind that is read, with one thing or another in it.
func everyKind() []string {
	docs := []string{
		"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 1.5Gi}, images: [{names: [a]}]}\n",
		"apiVersion: v1\nkind: Node\nmetadata: {name: n2}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p1, namespace: b, deletionTimestamp: '2030-01-01T00:00:00Z'}\nspec: {nodeName: n1}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p2, namespace: a}\nspec: {schedulingGroup: {podGroupName: g}, priorityClassName: high, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 8}}}]}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p1, namespace: a}\nspec: {nodeName: gone}\nstatus: {phase: Succeeded}\n",
		"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g, namespace: a}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}\n",
		"apiVersion: scheduling.k8s.io/v1alpha3\nkind: Workload\nmetadata: {name: w, namespace: a}\nspec: {podGroupTemplates: []}\n",
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 100\n",
		"apiVersion: autoscaling.x-k8s.io/v1\nkind: ProvisioningRequest\nmetadata: {name: r, namespace: a}\nspec: {ratio: 0.5, whole: 2.0, big: 1e30, nothing: null}\n",
	}
	for _, k := range []struct{ apiVersion, kind string }{
		{"v1", "Namespace"}, {"v1", "PersistentVolume"}, {"v1", "PersistentVolumeClaim"}, {"apps/v1", "DaemonSet"},
		{"batch/v1", "Job"}, {"policy/v1", "PodDisruptionBudget"}, {"storage.k8s.io/v1", "StorageClass"},
		{"storage.k8s.io/v1", "CSINode"}, {"resource.k8s.io/v1", "ResourceSlice"}, {"resource.k8s.io/v1", "ResourceClaim"},
		{"resource.k8s.io/v1", "ResourceClaimTemplate"}, {"resource.k8s.io/v1", "DeviceClass"},
		{"resource.k8s.io/v1", "DeviceTaintRule"}, {"jobset.x-k8s.io/v1alpha2", "JobSet"},
		{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"}, {"kueue.x-k8s.io/v1beta2", "Workload"},
		{"kueue.x-k8s.io/v1beta1", "Topology"}, {"scheduling.volcano.sh/v1beta1", "PodGroup"},
		{"scheduling.x-k8s.io/v1alpha1", "PodGroup"}, {"scheduling.run.ai/v2alpha2", "PodGroup"},
		{"tidegate.io/v1alpha1", "CapacityPolicy"}, {"tidegate.io/v1alpha1", "CheckpointRequest"},
	} {
		docs = append(docs, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: one}\n", k.apiVersion, k.kind))
	}
	return docs
}

func TestEveryKindIsRead(t *testing.T) {
	s, err := read(strings.Join(everyKind(), "---\n"))
	require.NoError(t, err)
	require.Empty(t, warnings(s))
	counts := []int{
		len(s.Nodes()), len(s.Pods()), len(s.PodGroups()), len(s.Workloads()), len(s.Jobs()), len(s.DaemonSets()),
		len(s.PriorityClasses()), len(s.PodDisruptionBudgets()), len(s.PersistentVolumes()), len(s.PersistentVolumeClaims()),
		len(s.StorageClasses()), len(s.CSINodes()), len(s.Namespaces()), len(s.ResourceSlices()), len(s.ResourceClaims()),
		len(s.ResourceClaimTemplates()), len(s.DeviceClasses()), len(s.DeviceTaintRules()),
	}
	require.Equal(t, []int{2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, counts)
	for group, kind := range map[string]string{
		"jobset.x-k8s.io": "JobSet", "leaderworkerset.x-k8s.io": "LeaderWorkerSet", "kueue.x-k8s.io": "Workload",
		"scheduling.volcano.sh": "PodGroup", "scheduling.x-k8s.io": "PodGroup", "scheduling.run.ai": "PodGroup",
		"tidegate.io": "CapacityPolicy", "autoscaling.x-k8s.io": "ProvisioningRequest",
	} {
		require.Len(t, s.Custom(schema.GroupKind{Group: group, Kind: kind}), 1, group)
	}
	topology := s.Custom(schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Topology"})[0]
	require.Equal(t, "kueue.x-k8s.io/v1beta1", topology.GetAPIVersion())
	require.Empty(t, topology.GetNamespace())
	request := s.Custom(schema.GroupKind{Group: "autoscaling.x-k8s.io", Kind: "ProvisioningRequest"})[0]
	require.Empty(t, cmp.Diff(map[string]any{"ratio": 0.5, "whole": int64(2), "big": 1e30, "nothing": nil}, request.Object["spec"]))
	require.Equal(t, []string{"a/p1", "a/p2", "b/p1"}, podNames(s))
	require.Equal(t, "scheduling.k8s.io/v1beta1", s.Workloads()[0].APIVersion)
}

func written(t *testing.T, s *snapshot.Snapshot) string {
	var out bytes.Buffer
	require.NoError(t, s.Write(&out))
	return out.String()
}

// The order of arrival shows nowhere: not in the accessors, the bytes or the warnings.
func TestShuffledInputIsTheSameSnapshot(t *testing.T) {
	docs := everyKind()
	for i := range 15 {
		docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: lost-%d}\nspec: {nodeName: gone, odd: 1}\n", i))
	}
	docs = append(docs, docs[1], docs[3], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
	first, err := read(strings.Join(docs, "---\n"))
	require.NoError(t, err)
	want, wantWarnings := written(t, first), warnings(first)
	require.NotEmpty(t, wantWarnings)
	shuffle := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		shuffle.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		s, err := read(strings.Join(docs, "---\n"))
		require.NoError(t, err)
		require.Equal(t, first.Digest(), s.Digest())
		require.Equal(t, podNames(first), podNames(s))
		require.Equal(t, want, written(t, s))
		require.Equal(t, wantWarnings, warnings(s))
	}
}

func TestWriteReadsBack(t *testing.T) {
	first, err := read(strings.Join(everyKind(), "---\n"))
	require.NoError(t, err)
	again, err := read(written(t, first))
	require.NoError(t, err)
	require.Equal(t, first.Digest(), again.Digest())
	require.Empty(t, cmp.Diff(first.Pods(), again.Pods()))
	require.Empty(t, warnings(again))
	require.Len(t, first.Digest(), 64)

	more, err := read(written(t, first) + yamlToJSONLine)
	require.NoError(t, err)
	require.NotEqual(t, first.Digest(), more.Digest())
}

const yamlToJSONLine = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n3"}}`

func TestAddIsTheSameAsRead(t *testing.T) {
	typed := pod("x", "a")
	typed.Spec.Containers = []corev1.Container{{Name: "c", Command: []string{"run"}, Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")},
	}}}
	typed.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "keep": "this"}
	typed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	before := typed.DeepCopy()
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tidegate.io/v1alpha1", "kind": "CapacityPolicy", "metadata": map[string]any{"name": "nights"},
	}}
	generic := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "b", "namespace": "x"},
	}}
	list := &batchv1.JobList{Items: []batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Name: "j"}}}}
	added, err := snapshot.New(typed, policy, generic, list)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(before, typed), "an object that was added has changed")

	fromDump, err := read(`
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: x, annotations: {keep: this}}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 8}}}]}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: x}}
---
{apiVersion: tidegate.io/v1alpha1, kind: CapacityPolicy, metadata: {name: nights}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}}
`)
	require.NoError(t, err)
	// Go writes an absent list of containers as null; so does the decoder.
	require.Equal(t, written(t, fromDump), written(t, added))
	gpus := added.Pods()[0].Spec.Containers[0].Resources.Requests["nvidia.com/gpu"]
	require.Equal(t, int64(8), gpus.Value())
}

func TestAddErrors(t *testing.T) {
	negative := pod("x", "a")
	negative.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("-1")}
	other := pod("x", "a")
	other.Spec.NodeName = "n"
	tests := map[string]struct {
		objs []runtime.Object
		want string
	}{
		"nil":       {[]runtime.Object{nil}, "added: an object is nil"},
		"nil typed": {[]runtime.Object{(*corev1.Pod)(nil)}, "added: an object is nil"},
		"no name":   {[]runtime.Object{pod("x", "")}, "added: Pod x/: metadata.name: is required"},
		"negative":  {[]runtime.Object{negative}, "added: Pod x/a: spec.overhead[cpu]: must not be negative, is -1"},
		"differs":   {[]runtime.Object{pod("x", "a"), other}, "added: Pod x/a: differs from the object of that name in added"},
		"no kind":   {[]runtime.Object{&corev1.ConfigMap{}}, "kind: is required"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := snapshot.New(tc.objs...)
			require.Nil(t, s)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestPriorities(t *testing.T) {
	never := corev1.PreemptNever
	class := func(name string, value int32, isDefault bool) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: isDefault}
	}
	high := class("high", 1000, false)
	high.PreemptionPolicy = &never
	tests := map[string]struct {
		classes      []runtime.Object
		className    string
		priority     *int32
		wantPriority *int32
		wantClass    string
	}{
		"from its class":                {classes: []runtime.Object{high}, className: "high", wantPriority: new(int32(1000)), wantClass: "high"},
		"its own stays":                 {classes: []runtime.Object{high}, className: "high", priority: new(int32(7)), wantPriority: new(int32(7)), wantClass: "high"},
		"global default":                {classes: []runtime.Object{high, class("std", 10, true)}, wantPriority: new(int32(10)), wantClass: "std"},
		"lowest of the global defaults": {classes: []runtime.Object{class("a", 20, true), class("b", 10, true)}, wantPriority: new(int32(10)), wantClass: "b"},
		"class that the system has":     {className: "system-node-critical", wantPriority: new(int32(2000001000)), wantClass: "system-node-critical"},
		"unknown class":                 {classes: []runtime.Object{high}, className: "low", wantClass: "low"},
		"no classes":                    {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := pod("x", "a")
			p.Spec.PriorityClassName, p.Spec.Priority = tc.className, tc.priority
			g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}}
			g.Spec.PriorityClassName, g.Spec.Priority = tc.className, tc.priority
			s, err := snapshot.New(append(tc.classes, p, g)...)
			require.NoError(t, err)
			require.Equal(t, tc.wantPriority, s.Pods()[0].Spec.Priority)
			require.Equal(t, tc.wantClass, s.Pods()[0].Spec.PriorityClassName)
			require.Equal(t, tc.wantPriority, s.PodGroups()[0].Spec.Priority)
			if name == "from its class" {
				require.Equal(t, &never, s.Pods()[0].Spec.PreemptionPolicy)
			}
			require.Equal(t, tc.priority, p.Spec.Priority, "the caller's pod has changed")
		})
	}
}

// A snapshot does not change when its builder goes on.
func TestBuildTwice(t *testing.T) {
	b := snapshot.NewBuilder()
	p := pod("x", "a")
	p.Spec.PriorityClassName = "high"
	require.NoError(t, b.Add(p))
	first, err := b.Build()
	require.NoError(t, err)
	digest := first.Digest()
	require.NoError(t, b.Add(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 5}))
	second, err := b.Build()
	require.NoError(t, err)
	require.Equal(t, digest, first.Digest())
	require.Nil(t, first.Pods()[0].Spec.Priority)
	require.Equal(t, new(int32(5)), second.Pods()[0].Spec.Priority)
}

func TestAlphaPodGroups(t *testing.T) {
	s, err := read(`
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: g}
spec:
  podGroupTemplateRef: {workload: {workloadName: w, podGroupTemplateName: workers}}
  disruptionMode: PodGroup
  schedulingPolicy: {gang: {minCount: 4}}
---
apiVersion: scheduling.k8s.io/v1alpha2
kind: Workload
metadata: {name: w}
spec: {podGroupTemplates: [{name: workers, disruptionMode: Pod, schedulingPolicy: {basic: {}}}]}
`)
	require.NoError(t, err)
	require.Empty(t, warnings(s))
	spec := s.PodGroups()[0].Spec
	require.Equal(t, &schedulingv1beta1.WorkloadReference{WorkloadName: "w", TemplateName: "workers"}, spec.WorkloadRef)
	require.NotNil(t, spec.DisruptionMode.All)
	require.Equal(t, int32(4), spec.SchedulingPolicy.Gang.MinCount)
	require.NotNil(t, s.Workloads()[0].Spec.PodGroupTemplates[0].DisruptionMode.Single)
}
