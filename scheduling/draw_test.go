package scheduling_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Label keys of drawn nodes beside the well-known ones.
const (
	drawRack = "example.com/rack"
	drawDisk = "example.com/disk"
	drawGen  = "example.com/generation"
)

// drawNow is the instant at which all drawn clusters are seen.
func drawNow() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// drawn is a random cluster. Values come from small sets, so that things collide.
type drawn struct {
	nodes          []*corev1.Node
	bound, pending []*corev1.Pod
	namespaces     []*corev1.Namespace
	volumes        []*corev1.PersistentVolume
	claims         []*corev1.PersistentVolumeClaim
	classes        []*storagev1.StorageClass
	csiNodes       []*storagev1.CSINode
	daemonSets     []*appsv1.DaemonSet
}

// objects lists everything that was drawn.
func (c *drawn) objects() []runtime.Object {
	var out []runtime.Object
	out = appendObjects(out, c.nodes)
	out = appendObjects(out, c.bound)
	out = appendObjects(out, c.pending)
	out = appendObjects(out, c.namespaces)
	out = appendObjects(out, c.volumes)
	out = appendObjects(out, c.claims)
	out = appendObjects(out, c.classes)
	out = appendObjects(out, c.csiNodes)
	return appendObjects(out, c.daemonSets)
}

func appendObjects[T runtime.Object](out []runtime.Object, objects []T) []runtime.Object {
	for _, o := range objects {
		out = append(out, o)
	}
	return out
}

// drawer draws the parts of clusters.
type drawer struct {
	*rand.Rand
	// plain leaves out all that makes a pod depend on others: most clusters are like that.
	plain bool
	// roomy makes taints, selectors and large requests rare, so that what pods say about
	// each other decides.
	roomy bool
	nodes []string
}

// drawCluster draws a cluster of a few nodes and pods; equal seeds give equal clusters.
func drawCluster(seed uint64) *drawn {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 1)), plain: seed%4 == 0, roomy: seed%4 > 1}
	c := &drawn{}
	for i := range 3 + d.IntN(6) {
		name := fmt.Sprintf("n%d", i)
		if i > 0 && d.oneIn(12) {
			name = "u" + d.nodes[i-1]
		}
		d.nodes = append(d.nodes, name)
		c.nodes = append(c.nodes, d.node(name))
	}
	for _, name := range []string{"a", "b"} {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Labels = map[string]string{"kubernetes.io/metadata.name": name, "team": pick(d, "red", "blue")}
		c.namespaces = append(c.namespaces, n)
		d.storage(c, name)
	}
	for i := range d.IntN(3 * len(c.nodes)) {
		p := d.pod(fmt.Sprintf("bound-%d", i))
		p.Spec.NodeName = pick(d, d.nodes...)
		p.Status.Phase = pick(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded)
		if d.oneIn(8) {
			now := metav1.NewTime(drawNow())
			p.DeletionTimestamp = &now
		}
		d.resize(p)
		c.bound = append(c.bound, p)
	}
	for i := range 6 + d.IntN(8) {
		name := fmt.Sprintf("pending-%d", i)
		p := d.pod(name)
		if i > 0 && d.oneIn(3) { // A replica of an earlier one, perhaps with other labels.
			p = pick(d, c.pending...).DeepCopy()
			p.Name, p.UID = name, types.UID(p.Namespace+"/"+name)
			if d.oneIn(2) {
				p.Labels = d.podLabels()
			}
		}
		c.pending = append(c.pending, p)
	}
	d.ephemeralClaims(c)
	for i := range d.IntN(3) {
		c.daemonSets = append(c.daemonSets, d.daemonSet(fmt.Sprintf("daemon-%d", i)))
	}
	return c
}

func pick[T any](d *drawer, from ...T) T { return from[d.IntN(len(from))] }

func (d *drawer) oneIn(n int) bool { return d.IntN(n) == 0 }

// some is a random part of the values, often empty, in order.
func some[T any](d *drawer, from ...T) []T {
	var out []T
	for _, v := range from {
		if d.oneIn(2) {
			out = append(out, v)
		}
	}
	return out
}

func (d *drawer) quantity(values ...string) resource.Quantity {
	return resource.MustParse(pick(d, values...))
}

func (d *drawer) node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: d.nodeLabels()}}
	n.Labels[corev1.LabelHostname] = name
	if d.oneIn(15) {
		delete(n.Labels, corev1.LabelHostname)
	}
	n.Status.Allocatable = d.allocatable()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
	n.Spec.Taints = d.taints()
	n.Spec.Unschedulable = d.oneIn(12)
	return n
}

func (d *drawer) nodeLabels() map[string]string {
	l := map[string]string{}
	if !d.oneIn(8) {
		l[corev1.LabelTopologyZone] = pick(d, "z1", "z2")
	}
	if !d.oneIn(4) {
		l[drawRack] = pick(d, "r1", "r2", "r3")
	}
	if !d.oneIn(3) {
		l[drawDisk] = pick(d, "ssd", "hdd")
	}
	if !d.oneIn(3) {
		l[drawGen] = pick(d, "1", "2", "3", "new")
	}
	return l
}

func (d *drawer) allocatable() corev1.ResourceList {
	l := corev1.ResourceList{
		corev1.ResourceCPU:    d.quantity("2", "3500m", "8"),
		corev1.ResourceMemory: d.quantity("4Gi", "8Gi", "16000M"),
		corev1.ResourcePods:   d.quantity("3", "10", "110"),
	}
	add := func(name corev1.ResourceName, values ...string) {
		if d.oneIn(2) {
			l[name] = d.quantity(values...)
		}
	}
	add(corev1.ResourceEphemeralStorage, "10Gi", "100Gi")
	add("nvidia.com/gpu", "0", "1", "8")
	add("hugepages-2Mi", "4Mi", "64Mi")
	add("example.com/nic", "1", "2")
	return l
}

func (d *drawer) taints() []corev1.Taint {
	var out []corev1.Taint
	if d.oneIn(2) || d.roomy && !d.oneIn(4) {
		return nil
	}
	for _, key := range some(d, "dedicated", "nvidia.com/gpu", "example.com/startup") {
		if d.oneIn(2) {
			out = append(out, corev1.Taint{Key: key, Value: pick(d, "", "a", "b"),
				Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)})
		}
	}
	return out
}

func (d *drawer) podLabels() map[string]string {
	l := map[string]string{"app": pick(d, "web", "train", "cache")}
	if d.oneIn(2) {
		l["version"] = pick(d, "1", "2")
	}
	if d.oneIn(3) {
		l["unread"] = pick(d, "1", "2", "3")
	}
	return l
}

func (d *drawer) pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: pick(d, "a", "b"), Labels: d.podLabels()}}
	p.UID = types.UID(p.Namespace + "/" + name)
	d.containers(&p.Spec)
	d.placement(&p.Spec)
	if d.oneIn(25) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: pick(d, d.nodes...)}
	}
	if !d.plain {
		d.ports(&p.Spec)
		d.podTerms(&p.Spec)
		d.podVolumes(&p.Spec)
	}
	return p
}

// requests draws what one container asks for, often nothing of a resource, now and then
// an explicit zero.
func (d *drawer) requests() corev1.ResourceList {
	l := corev1.ResourceList{}
	if d.roomy && !d.oneIn(4) {
		return l
	}
	add := func(oneIn int, name corev1.ResourceName, values ...string) {
		if d.oneIn(oneIn) {
			l[name] = d.quantity(values...)
		}
	}
	add(2, corev1.ResourceCPU, "0", "1m", "500m", "1", "2", "3500m")
	add(2, corev1.ResourceMemory, "0", "1", "500Mi", "2Gi", "4Gi")
	add(8, corev1.ResourceEphemeralStorage, "0", "1Gi", "10Gi", "50Gi")
	add(4, "nvidia.com/gpu", "0", "1", "4", "8")
	add(12, "hugepages-2Mi", "0", "2Mi", "8Mi")
	add(12, "example.com/nic", "0", "1", "2")
	add(40, "example.com/absent", "0", "1")
	add(40, "requests.cpu", "1") // Not a resource that the scheduler counts.
	return l
}

func (d *drawer) containers(s *corev1.PodSpec) {
	for i := range 1 + d.IntN(2) {
		s.Containers = append(s.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "i", Resources: corev1.ResourceRequirements{Requests: d.requests()}})
	}
	if d.oneIn(4) {
		always := corev1.ContainerRestartPolicyAlways
		for i := range 1 + d.IntN(2) {
			c := corev1.Container{Name: fmt.Sprintf("i%d", i), Image: "i", Resources: corev1.ResourceRequirements{Requests: d.requests()}}
			if d.oneIn(2) {
				c.RestartPolicy = &always
			}
			s.InitContainers = append(s.InitContainers, c)
		}
	}
	if d.oneIn(8) {
		s.Overhead = corev1.ResourceList{corev1.ResourceCPU: d.quantity("0", "250m"), corev1.ResourceMemory: d.quantity("120Mi", "1Gi")}
	}
	if d.oneIn(8) {
		s.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: d.quantity("1", "4"), corev1.ResourceMemory: d.quantity("1Gi", "6Gi")}}
		if d.oneIn(3) {
			delete(s.Resources.Requests, corev1.ResourceMemory)
		}
	}
}

// resize gives a bound pod the status of a resize in progress.
func (d *drawer) resize(p *corev1.Pod) {
	if !d.oneIn(6) {
		return
	}
	for i := range p.Spec.Containers {
		granted := d.requests()
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: p.Spec.Containers[i].Name, AllocatedResources: granted, Resources: &corev1.ResourceRequirements{Requests: granted},
		})
	}
}

// placement draws what the static plugins read.
func (d *drawer) placement(s *corev1.PodSpec) {
	if d.roomy && !d.oneIn(4) {
		return
	}
	if d.oneIn(4) {
		s.NodeSelector = map[string]string{pick(d, drawDisk, drawGen, corev1.LabelTopologyZone): pick(d, "ssd", "1", "z1")}
	}
	if d.oneIn(3) {
		s.Affinity = &corev1.Affinity{NodeAffinity: d.nodeAffinity()}
	}
	if d.oneIn(2) {
		for range 1 + d.IntN(2) {
			s.Tolerations = append(s.Tolerations, d.toleration())
		}
	}
}

func (d *drawer) toleration() corev1.Toleration {
	t := corev1.Toleration{
		Key:      pick(d, "", "dedicated", "nvidia.com/gpu", "example.com/startup", "node.kubernetes.io/unschedulable"),
		Operator: pick(d, "", corev1.TolerationOpEqual, corev1.TolerationOpExists),
		Effect:   pick(d, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
	}
	if t.Key == "" {
		t.Operator = corev1.TolerationOpExists
	}
	if t.Operator != corev1.TolerationOpExists {
		t.Value = pick(d, "", "a", "b")
	}
	return t
}

func (d *drawer) nodeAffinity() *corev1.NodeAffinity {
	a := &corev1.NodeAffinity{}
	if !d.oneIn(4) {
		r := &corev1.NodeSelector{}
		for range 1 + d.IntN(2) {
			r.NodeSelectorTerms = append(r.NodeSelectorTerms, d.nodeTerm())
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = r
	}
	if d.oneIn(3) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: int32(1 + d.IntN(100)), Preference: d.nodeTerm()}}
	}
	return a
}

func (d *drawer) nodeTerm() corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	if d.oneIn(5) {
		t.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{pick(d, d.nodes...)}}}
	}
	for range 1 + d.IntN(2) {
		e := corev1.NodeSelectorRequirement{Key: pick(d, drawDisk, drawGen, corev1.LabelTopologyZone, drawRack, corev1.LabelHostname)}
		e.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			e.Values = append(some(d, "ssd", "z1", "r1", "2", d.nodes[0]), pick(d, "hdd", "z2", "r2", "1"))
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			e.Key, e.Values = drawGen, []string{pick(d, "1", "2", "3")}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		}
		t.MatchExpressions = append(t.MatchExpressions, e)
	}
	return t
}

func (d *drawer) ports(s *corev1.PodSpec) {
	if !d.oneIn(7) {
		return
	}
	port := corev1.ContainerPort{ContainerPort: 80, HostPort: pick(d, int32(0), 80, 81), Protocol: pick(d, "", corev1.ProtocolTCP, corev1.ProtocolUDP), HostIP: pick(d, "", "0.0.0.0", "10.0.0.1", "10.0.0.2")}
	if len(s.InitContainers) > 0 && d.oneIn(2) {
		s.InitContainers[0].Ports = append(s.InitContainers[0].Ports, port)
		return
	}
	s.Containers[0].Ports = append(s.Containers[0].Ports, port)
}

func (d *drawer) selector() *metav1.LabelSelector {
	if d.oneIn(20) {
		return nil
	}
	s := &metav1.LabelSelector{}
	if d.oneIn(2) {
		s.MatchLabels = map[string]string{"app": pick(d, "web", "train", "cache")}
	}
	if s.MatchLabels == nil || d.oneIn(4) {
		e := metav1.LabelSelectorRequirement{Key: pick(d, "app", "version")}
		e.Operator = pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = []string{pick(d, "web", "1"), pick(d, "train", "2")}
		}
		s.MatchExpressions = []metav1.LabelSelectorRequirement{e}
	}
	return s
}

func (d *drawer) topologyKey() string {
	return pick(d, corev1.LabelHostname, corev1.LabelTopologyZone, drawRack)
}

func (d *drawer) podTerm() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: d.topologyKey(), LabelSelector: d.selector()}
	if d.oneIn(4) {
		t.Namespaces = some(d, "a", "b")
	}
	if d.oneIn(4) {
		t.NamespaceSelector = &metav1.LabelSelector{}
		if d.oneIn(2) {
			t.NamespaceSelector.MatchLabels = map[string]string{"team": "red"}
		}
	}
	if t.LabelSelector != nil && d.oneIn(6) {
		t.MatchLabelKeys = []string{"version"}
	} else if t.LabelSelector != nil && d.oneIn(8) {
		t.MismatchLabelKeys = []string{"version"}
	}
	if d.oneIn(60) { // One that does not parse; the API server did not always look.
		t.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	}
	return t
}

// podTerms draws what pods say about each other.
func (d *drawer) podTerms(s *corev1.PodSpec) {
	if d.oneIn(4) {
		if s.Affinity == nil {
			s.Affinity = &corev1.Affinity{}
		}
		weighted := []corev1.WeightedPodAffinityTerm{{Weight: int32(1 + d.IntN(100)), PodAffinityTerm: d.podTerm()}}
		switch d.IntN(5) {
		case 0, 1:
			s.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.podTerm()}}
			if d.oneIn(4) {
				s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
			}
		case 2:
			s.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{d.podTerm()}}
		case 3:
			s.Affinity.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
		default:
			s.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
		}
	}
	if d.oneIn(5) {
		for range 1 + d.IntN(2) {
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, d.spread())
		}
	}
}

func (d *drawer) spread() corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{MaxSkew: int32(1 + d.IntN(2)), TopologyKey: d.topologyKey(), LabelSelector: d.selector(),
		WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway)}
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	if d.oneIn(3) {
		c.NodeAffinityPolicy = pick(d, &honor, &ignore)
	}
	if d.oneIn(3) {
		c.NodeTaintsPolicy = pick(d, &honor, &ignore)
	}
	if d.oneIn(3) && c.WhenUnsatisfiable == corev1.DoNotSchedule {
		least := int32(1 + d.IntN(4))
		c.MinDomains = &least
	}
	if c.LabelSelector != nil && d.oneIn(4) {
		c.MatchLabelKeys = []string{"version"}
	}
	return c
}
