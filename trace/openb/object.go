package openb

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespace of all pods of the trace.
const namespace = "openb"

// podOf is the pod of a task on a node; no node: it is pending. UIDs are names: they are
// as unique, and the same on every run.
func podOf(t task, node string, offered offer) *corev1.Pod {
	d := demandOf(t, offered)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              t.name,
			Namespace:         namespace,
			UID:               types.UID(t.name),
			CreationTimestamp: metav1.NewTime(Epoch()),
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:      "main",
				Image:     "example/openb",
				Resources: requirements(d, offered),
			}},
			RestartPolicy: corev1.RestartPolicyAlways,
			SchedulerName: corev1.DefaultSchedulerName,
			NodeName:      node,
			Affinity:      affinityTo(t.models),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if t.created != nil {
		pod.CreationTimestamp = metav1.NewTime(clock(*t.created))
	}
	for key, value := range map[string]string{LabelQoS: t.qos, LabelPhase: t.phase} {
		if value != "" {
			metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value)
		}
	}
	if t.gpus > 0 {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationGPUMilli, strconv.FormatInt(t.gpuMilli, 10))
	}
	if d.gpus > 0 && offered.dra {
		claimFromTemplate(pod, templateName(d, offered), node != "")
	}
	if node != "" {
		started := metav1.NewTime(clock(*t.scheduled))
		pod.Status.Phase = corev1.PodRunning
		pod.Status.StartTime = &started
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started}}
	}
	return pod
}

// requirements asks for CPU, memory and the GPUs of a device plugin; extended resources
// need an equal limit.
func requirements(d demand, offered offer) corev1.ResourceRequirements {
	requests := corev1.ResourceList{}
	if d.cpuMilli > 0 {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(d.cpuMilli, resource.DecimalSI)
	}
	if d.memoryMiB > 0 {
		requests[corev1.ResourceMemory] = *resource.NewQuantity(d.memoryMiB<<20, resource.BinarySI)
	}
	if d.gpus == 0 || offered.dra {
		return corev1.ResourceRequirements{Requests: requests}
	}
	gpus := *resource.NewQuantity(d.gpus*d.units, resource.DecimalSI)
	requests[resourceGPU] = gpus
	return corev1.ResourceRequirements{Requests: requests, Limits: corev1.ResourceList{resourceGPU: gpus}}
}

// affinityTo requires a node with one of the models; nil where any will do.
func affinityTo(models []string) *corev1.Affinity {
	if len(models) == 0 {
		return nil
	}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: LabelModel, Operator: corev1.NodeSelectorOpIn, Values: models,
	}}}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
	}}
}

// nodeOf is the node of a machine: ready, and as old as the trace.
func nodeOf(m machine, g group, offered offer) *corev1.Node {
	born := metav1.NewTime(Epoch())
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              m.name,
			UID:               types.UID(m.name),
			CreationTimestamp: born,
			Labels:            map[string]string{corev1.LabelHostname: m.name, labelNodeGroup: g.name},
		},
		Spec: corev1.NodeSpec{ProviderID: "openb://" + m.name},
		Status: corev1.NodeStatus{
			Capacity:    g.capacity(offered),
			Allocatable: g.capacity(offered),
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: born, LastTransitionTime: born,
			}},
		},
	}
	if g.shape.gpus > 0 {
		node.Labels[LabelModel] = g.shape.model
	}
	return node
}
