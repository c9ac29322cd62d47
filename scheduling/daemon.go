package scheduling

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
)

type daemon = *appsv1.DaemonSet

func isDaemon(p *corev1.Pod) bool {
	o := metav1.GetControllerOf(p)
	return o != nil && o.Kind == "DaemonSet"
}

// daemonTarget is the node for which the DaemonSet controller made a pod: it writes the
// name as a required node affinity on metadata.name.
func daemonTarget(p *corev1.Pod) string {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// daemonPod is the pod that a DaemonSet would put on a node, with the tolerations that
// its controller adds to each pod.
func daemonPod(d daemon, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = d.Namespace, d.Name+"-"+node
	p.UID = types.UID(d.Namespace + "/" + p.Name)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	keys := []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable}
	if p.Spec.HostNetwork {
		keys = append(keys, corev1.TaintNodeNetworkUnavailable)
	}
	for _, key := range keys {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return p
}

// daemonsFor are the pods of the DaemonSets that run on this node, by the plugins that
// the DaemonSet controller asks, too: node name, node affinity and taints.
func (s *Session) daemonsFor(n *corev1.Node, all []daemon) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, d := range all {
		if d.DeletionTimestamp != nil {
			continue
		}
		p := daemonPod(d, n.Name)
		refusals, err := s.kube.Static(p, n)
		if err != nil {
			return nil, err
		}
		if len(refusals) == 0 {
			out = append(out, p)
		}
	}
	return out, nil
}

// newTemplate is an empty new node of the group: allocatable less the DaemonSets that
// would run there.
func (s *Session) newTemplate(g *nodegroups.Status, all []daemon) (template, error) {
	t := template{object: g.Template.Node(g.Name+"/template", nil)}
	t.shape = s.shapes.of(t.object)
	var err error
	if t.daemons, err = s.daemonsFor(t.object, all); err != nil {
		return t, err
	}
	offers := kubesched.Allocatable(t.object)
	t.free = s.offered(offers)
	t.offer, t.accelerators = s.offerOf(t.free), offersAccelerators(offers) || g.AcceleratorCount > 0
	if s.devices != nil {
		t.room, _ = s.devices.room(t.object, s.devices.promised(g, t.object.Name), offers)
	}
	for _, p := range t.daemons {
		t.free.sub(s.dims.vector(kubesched.Usage(p)), 1)
		s.occupy(&t.room, p, t.object)
	}
	s.showDevices(t.free, t.room)
	return t, nil
}

// missingDaemons are the pods of DaemonSets that will still come to a registered node.
func (s *Session) missingDaemons(n *corev1.Node, all []daemon, there []*corev1.Pod) ([]*corev1.Pod, error) {
	left := slices.DeleteFunc(slices.Clone(all), func(d daemon) bool {
		return slices.ContainsFunc(there, func(p *corev1.Pod) bool {
			o := metav1.GetControllerOf(p)
			return o != nil && o.Kind == "DaemonSet" && o.Name == d.Name && p.Namespace == d.Namespace
		})
	})
	return s.daemonsFor(n, left)
}
