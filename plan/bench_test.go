package plan

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
	"tidegate.io/autoscaler/snapshot"
)

// benchKinds is how many kinds of pods the benchmarks draw from.
const benchKinds = 50

// benchPod is pod i of a mix of 50 kinds: 1, 2, 4 or 8 GPUs, or none, with different cpu
// and memory. Creation times interleave the kinds.
func benchPod(i int) *corev1.Pod {
	k := i % benchKinds
	gpus := []int64{1, 1, 1, 2, 2, 4, 8, 0, 1, 1}[k%10]
	cpu := (gpus*5 + int64(k%7) + 1) * 1000
	memory := (gpus*40 + int64(k%11)*4 + 2) << 30
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("pod-%06d", i), Namespace: "bench", UID: types.UID(fmt.Sprintf("uid-%d", i)),
		CreationTimestamp: metav1.NewTime(benchNow.Add(time.Duration(i) * time.Millisecond)),
	}}
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
	if gpus > 0 {
		requests["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}}
	return p
}

var benchNow = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// benchGroups are n groups: machines of 8 GPUs, and from the second on of 1, 2, 4 and no
// GPUs, each a little dearer than the last of its sort.
func benchGroups(n int) *configv1alpha1.AutoscalerConfiguration {
	c := &configv1alpha1.AutoscalerConfiguration{}
	for g := range n {
		gpus := []int64{8, 4, 2, 1, 0}[g%5]
		cpu, memory := max(gpus*16, 32), max(gpus*128, 128)
		price := configv1alpha1.MicroDollars((gpus*2_500_000 + cpu*40_000) * int64(100+g) / 100)
		group := configv1alpha1.NodeGroup{
			Name: fmt.Sprintf("group-%02d", g), MaxSize: 200_000, PricePerHour: &price,
			Capacity: map[corev1.ResourceName]resource.Quantity{
				corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(memory<<30, resource.BinarySI),
			},
		}
		if gpus > 0 {
			group.Accelerator, group.AcceleratorCount = "nvidia-h100-80gb", &gpus
			group.Capacity["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
			group.GrowsFor = configv1alpha1.GrowsForAny
		}
		c.NodeGroups = append(c.NodeGroups, group)
	}
	configv1alpha1.SetDefaults(c)
	return c
}

// benchNode is an existing node of the first group with 0 to 7 of its 8 GPUs taken.
func benchNode(i int) (*corev1.Node, *corev1.Pod) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i), Labels: map[string]string{"tidegate.io/node-group": "group-00"}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("128"), corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	p := benchPod(0)
	p.Name, p.UID, p.Spec.NodeName = fmt.Sprintf("running-%05d", i), types.UID(fmt.Sprintf("running-%d", i)), n.Name
	p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = *resource.NewQuantity(int64(i%8), resource.DecimalSI)
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewQuantity(int64(i%8)*14, resource.DecimalSI)
	return n, p
}

func benchSnapshot(tb testing.TB, pods, nodes int) *snapshot.Snapshot {
	objects := make([]runtime.Object, 0, pods+2*nodes)
	for i := range pods {
		objects = append(objects, benchPod(i))
	}
	for i := range nodes {
		n, p := benchNode(i)
		objects = append(objects, n, p)
	}
	s, err := snapshot.New(objects...)
	require.NoError(tb, err)
	return s
}

// BenchmarkDecide times the decision for pods of 50 kinds. Compare doublings in one run:
// the time must grow by less than the number of pods.
func BenchmarkDecide(b *testing.B) {
	for _, groups := range []int{1, 20} {
		for _, nodes := range []int{0, 5000} {
			for _, pods := range []int{1000, 5000, 10000, 20000, 50000, 100000} {
				b.Run(fmt.Sprintf("groups=%d/nodes=%d/pods=%d", groups, nodes, pods), func(b *testing.B) {
					benchDecide(b, pods, nodes, groups, Options{})
				})
			}
		}
	}
}

// BenchmarkDecidePlugins is the reference: every pod and node asked of the plugins. Compare
// with BenchmarkDecide at the same size in one run.
func BenchmarkDecidePlugins(b *testing.B) {
	for _, groups := range []int{1, 20} {
		for _, pods := range []int{1000, 5000} {
			b.Run(fmt.Sprintf("groups=%d/nodes=0/pods=%d", groups, pods), func(b *testing.B) {
				benchDecide(b, pods, 0, groups, Options{Plugins: true})
			})
		}
	}
}

func benchDecide(b *testing.B, pods, nodes, groups int, options Options) {
	s, c := benchSnapshot(b, pods, nodes), benchGroups(groups)
	b.ReportAllocs()
	for b.Loop() {
		p, err := Decide(s, c, benchNow, options)
		require.NoError(b, err)
		require.Len(b, p.Placements, pods)
		b.ReportMetric(float64(p.Cost.After)/float64(max(p.Cost.LowerBound, 1)), "cost/bound")
	}
}
