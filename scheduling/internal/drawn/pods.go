package drawn

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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
		s.NodeSelector = map[string]string{pick(d, disk, generation, corev1.LabelTopologyZone): pick(d, "ssd", "1", "z1")}
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
		e := corev1.NodeSelectorRequirement{Key: pick(d, disk, generation, corev1.LabelTopologyZone, rack, corev1.LabelHostname)}
		e.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			e.Values = append(some(d, "ssd", "z1", "r1", "2", d.nodes[0]), pick(d, "hdd", "z2", "r2", "1"))
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			e.Key, e.Values = generation, []string{pick(d, "1", "2", "3")}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		}
		t.MatchExpressions = append(t.MatchExpressions, e)
	}
	return t
}
