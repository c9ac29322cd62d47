package plan_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
	"tidegate.io/autoscaler/snapshot"
)

// now is the decision time of every test that does not say otherwise.
var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	gpu     = corev1.ResourceName("nvidia.com/gpu")
	rackKey = "topology.kubernetes.io/rack"
	gi      = int64(1) << 30
)

// size is what a pod asks for or a node offers.
type size struct {
	cpu    int64 // millicores
	memory int64 // GiB
	gpus   int64
	pods   int64 // of a node; 0: 110
}

func (s size) list() corev1.ResourceList {
	out := corev1.ResourceList{}
	if s.cpu > 0 {
		out[corev1.ResourceCPU] = *resource.NewMilliQuantity(s.cpu, resource.DecimalSI)
	}
	if s.memory > 0 {
		out[corev1.ResourceMemory] = *resource.NewQuantity(s.memory*gi, resource.BinarySI)
	}
	if s.gpus > 0 {
		out[gpu] = *resource.NewQuantity(s.gpus, resource.DecimalSI)
	}
	return out
}

func (s size) node() corev1.ResourceList {
	out := s.list()
	pods := s.pods
	if pods == 0 {
		pods = 110
	}
	out[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	return out
}

// nodeBuilder makes a registered node: ready, and old enough for nothing to be pending.
type nodeBuilder struct{ node *corev1.Node }

func makeNode(name string, s size) nodeBuilder {
	n := &corev1.Node{}
	n.Name = name
	n.Labels = map[string]string{corev1.LabelHostname: name}
	n.CreationTimestamp = metav1.NewTime(now.Add(-240 * time.Hour))
	n.Status.Allocatable, n.Status.Capacity = s.node(), s.node()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return nodeBuilder{n}
}

func (b nodeBuilder) Group(name string) nodeBuilder { return b.Label("tidegate.io/node-group", name) }

func (b nodeBuilder) Label(key, value string) nodeBuilder {
	b.node.Labels[key] = value
	return b
}

func (b nodeBuilder) Taint(key string) nodeBuilder {
	b.node.Spec.Taints = append(b.node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	return b
}

func (b nodeBuilder) Created(age time.Duration) nodeBuilder {
	b.node.CreationTimestamp = metav1.NewTime(now.Add(-age))
	return b
}

func (b nodeBuilder) NotReady() nodeBuilder {
	b.node.Status.Conditions[0].Status = corev1.ConditionFalse
	return b
}

func (b nodeBuilder) Obj() *corev1.Node { return b.node }

// podBuilder makes a pending pod, an hour old.
type podBuilder struct{ pod *corev1.Pod }

func makePod(key string, s size) podBuilder {
	p := &corev1.Pod{}
	p.Namespace, p.Name, _ = strings.Cut(key, "/")
	p.UID = types.UID(key)
	p.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: s.list()}}}
	p.Status.Phase = corev1.PodPending
	return podBuilder{p}
}

func (b podBuilder) Gang(podGroup string) podBuilder {
	b.pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &podGroup}
	return b
}

func (b podBuilder) Job(name string) podBuilder {
	isController := true
	b.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(name), Controller: &isController}}
	return b
}

func (b podBuilder) Priority(p int32) podBuilder {
	b.pod.Spec.Priority = &p
	return b
}

func (b podBuilder) Created(age time.Duration) podBuilder {
	b.pod.CreationTimestamp = metav1.NewTime(now.Add(-age))
	return b
}

func (b podBuilder) On(node string) podBuilder {
	b.pod.Spec.NodeName, b.pod.Status.Phase = node, corev1.PodRunning
	return b
}

func (b podBuilder) Select(key, value string) podBuilder {
	b.pod.Spec.NodeSelector = map[string]string{key: value}
	return b
}

// Tolerate a taint key; "" for all taints.
func (b podBuilder) Tolerate(key string) podBuilder {
	b.pod.Spec.Tolerations = append(b.pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	return b
}

func (b podBuilder) Label(key, value string) podBuilder {
	if b.pod.Labels == nil {
		b.pod.Labels = map[string]string{}
	}
	b.pod.Labels[key] = value
	return b
}

func (b podBuilder) HostPort(port int32) podBuilder {
	b.pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}}
	return b
}

func (b podBuilder) Gate(name string) podBuilder {
	b.pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: name}}
	return b
}

// Claim makes the pod want a device through a ResourceClaim.
func (b podBuilder) Claim(name string) podBuilder {
	b.pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	return b
}

// Apart keeps pods with the same value of a label off the same node.
func (b podBuilder) Apart(key string) podBuilder {
	b.pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: b.pod.Labels[key]}},
			TopologyKey:   corev1.LabelHostname,
		}},
	}}
	return b
}

func (b podBuilder) Obj() *corev1.Pod { return b.pod }

// makeGang is a native PodGroup of at least `least` pods; required may be "".
func makeGang(key string, least int32, required string) *schedulingv1beta1.PodGroup {
	g := &schedulingv1beta1.PodGroup{}
	g.Namespace, g.Name, _ = strings.Cut(key, "/")
	g.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	if least > 0 {
		g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: least}
	} else {
		g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	if required != "" {
		g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{Topology: []schedulingv1beta1.TopologyConstraint{{Key: required}}}
	}
	return g
}

// makeJob is an Indexed Job that opted in to being one gang.
func makeJob(key string, completions int32) *batchv1.Job {
	j := &batchv1.Job{}
	j.Namespace, j.Name, _ = strings.Cut(key, "/")
	j.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	j.Annotations = map[string]string{"tidegate.io/gang": "true"}
	mode := batchv1.IndexedCompletion
	j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = &mode, &completions, &completions
	return j
}

func makeDaemonSet(key string, s size) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{}
	d.Namespace, d.Name, _ = strings.Cut(key, "/")
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: s.list()}}}
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return d
}

// daemonPod is the pod of a DaemonSet on a registered node.
func daemonPod(d *appsv1.DaemonSet, node string) *corev1.Pod {
	isController := true
	p := &corev1.Pod{Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = d.Namespace, d.Name+"-"+node
	p.UID = types.UID(p.Namespace + "/" + p.Name)
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: d.Name, UID: types.UID(d.Name), Controller: &isController}}
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	return p
}

// groupBuilder makes a node group of the configuration.
type groupBuilder struct{ group *configv1alpha1.NodeGroup }

// makeGroup is a group of machines of this size; GPUs make it an accelerator group.
func makeGroup(name string, s size, price configv1alpha1.MicroDollars, maxSize int64) groupBuilder {
	g := &configv1alpha1.NodeGroup{Name: name, MaxSize: maxSize, PricePerHour: &price, Capacity: s.node()}
	if s.gpus > 0 {
		g.Accelerator, g.AcceleratorCount = "nvidia-t4", &s.gpus
	}
	return groupBuilder{g}
}

func (b groupBuilder) Size(n int64) groupBuilder {
	b.group.Size = &n
	return b
}

func (b groupBuilder) Min(n int64) groupBuilder {
	b.group.MinSize = n
	return b
}

func (b groupBuilder) Unit(n int64) groupBuilder {
	b.group.Unit = n
	return b
}

func (b groupBuilder) Taint(key string) groupBuilder {
	b.group.Taints = append(b.group.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	return b
}

func (b groupBuilder) Label(key, value string) groupBuilder {
	if b.group.Labels == nil {
		b.group.Labels = map[string]string{}
	}
	b.group.Labels[key] = value
	return b
}

func (b groupBuilder) Level(key string, nodesPerDomain int64) groupBuilder {
	b.group.Topology = append(b.group.Topology, configv1alpha1.TopologyLevel{Key: key, NodesPerDomain: nodesPerDomain})
	return b
}

func (b groupBuilder) GrowsForAny() groupBuilder {
	b.group.GrowsFor = configv1alpha1.GrowsForAny
	return b
}

func (b groupBuilder) Priority(n int64) groupBuilder {
	b.group.Priority = n
	return b
}

func (b groupBuilder) Backoff(until time.Time) groupBuilder {
	t := metav1.NewTime(until)
	b.group.BackoffUntil = &t
	return b
}

func (b groupBuilder) Available(from, until time.Time, most int64) groupBuilder {
	b.group.Available = append(b.group.Available, configv1alpha1.Availability{From: metav1.NewTime(from), Until: metav1.NewTime(until), Size: most})
	return b
}

func (b groupBuilder) Obj() configv1alpha1.NodeGroup { return *b.group }

// world is one input of a decision.
type world struct {
	objects []runtime.Object
	config  configv1alpha1.AutoscalerConfiguration
}

func (w *world) add(objects ...runtime.Object) { w.objects = append(w.objects, objects...) }

func (w *world) group(b groupBuilder) { w.config.NodeGroups = append(w.config.NodeGroups, b.Obj()) }

// pods adds n like pods named prefix-0, prefix-1, …
func (w *world) pods(n int, prefix string, s size, change func(podBuilder) podBuilder) {
	for i := range n {
		b := makePod(fmt.Sprintf("%s-%d", prefix, i), s)
		if change != nil {
			b = change(b)
		}
		w.add(b.Obj())
	}
}

func (w *world) snapshot(t testing.TB) *snapshot.Snapshot {
	t.Helper()
	b := snapshot.NewBuilder()
	require.NoError(t, b.Add(w.objects...))
	snap, err := b.Build()
	require.NoError(t, err)
	return snap
}

// decide plans and checks every invariant.
func (w *world) decide(t testing.TB) *plan.Plan {
	t.Helper()
	configv1alpha1.SetDefaults(&w.config)
	snap := w.snapshot(t)
	p, err := plan.Decide(snap, &w.config, now, plan.Options{})
	require.NoError(t, err)
	checkPlan(t, snap, &w.config, p)
	return p
}

func quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// cases is how many random cases a property test draws: TIDEGATE_CASES, or n.
func cases(t testing.TB, n int) int {
	t.Helper()
	text := os.Getenv("TIDEGATE_CASES")
	if text == "" {
		return n
	}
	more, err := strconv.Atoi(text)
	require.NoError(t, err, "TIDEGATE_CASES")
	return more
}
