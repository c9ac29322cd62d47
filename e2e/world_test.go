//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"tidegate.io/autoscaler/nodegroups"
)

// gate holds every pending pod back until the world is complete.
const gate = "e2e.tidegate.io/world"

// world makes a scenario in the cluster as it is once the plan has been carried out.
type world struct {
	*cluster
	*scenario
	// uids of the objects that were made, by kind, namespace and name.
	uids map[string]string
	// arriving are the registered nodes that were on their way, with their groups.
	arriving map[string]*nodegroups.Status
	nodes    int
}

// build makes everything; pending pods stay gated. What refers to others by UID comes
// after them.
func (w *world) build(t *testing.T) {
	t.Helper()
	w.uids, w.arriving = map[string]string{}, map[string]*nodegroups.Status{}
	for g := range w.groups {
		for _, o := range w.groups[g].Nodes {
			if o.State == nodegroups.Upcoming {
				w.arriving[o.Node.Name] = &w.groups[g]
			}
		}
	}
	w.namespaces(t)
	w.priorities(t)
	// Slices before their nodes, so that a node that the scheduler sees has its devices.
	stages := [][]string{
		{"PriorityClass", "StorageClass", "DeviceClass", "DeviceTaintRule", "PersistentVolume", "ResourceSlice", "CSINode"},
		{"PersistentVolumeClaim", "ResourceClaimTemplate", "PodGroup", "DaemonSet", "Job", "PodDisruptionBudget"},
	}
	done := []string{"Namespace", "Node", "Pod", "ResourceClaim"}
	for _, kinds := range stages {
		w.make(t, kinds...)
		done = append(done, kinds...)
	}
	for _, o := range w.written {
		require.Contains(t, done, o.GetKind(), "no stage makes objects of this kind")
	}
	w.registered(t)
	w.ordered(t)
	w.fence(t, w.nodes)
	w.make(t, "Pod")
	w.gated(t)
	w.make(t, "ResourceClaim")
}

// make creates the objects of these kinds as they are written.
func (w *world) make(t *testing.T, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		for _, source := range w.written {
			if source.GetKind() != kind || w.outdated(source) {
				continue
			}
			o := source.DeepCopy()
			w.fresh(o)
			switch kind {
			case "Pod":
				if _, waits := w.held[nameOf(o)]; !waits {
					w.made(w.create(t, o))
				}
			case "ResourceClaim":
				w.claim(t, o)
			case "DaemonSet":
				// Its pods of the dump are not replaced because they know no revision.
				require.NoError(t, unstructured.SetNestedField(o.Object, "OnDelete", "spec", "updateStrategy", "type"))
				w.made(w.create(t, o))
			default:
				w.made(w.create(t, o))
			}
		}
	}
}

func key(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

func (w *world) made(o *unstructured.Unstructured) {
	w.uids[key(o.GetKind(), o.GetNamespace(), o.GetName())] = string(o.GetUID())
}

// fresh takes off what the API server sets, and puts in what only it knows: the UIDs of
// owners.
func (w *world) fresh(o *unstructured.Unstructured) {
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(w.namespaceOf(o))
	}
	owners := o.GetOwnerReferences()
	for i := range owners {
		if uid, ok := w.uids[key(owners[i].Kind, o.GetNamespace(), owners[i].Name)]; ok {
			owners[i].UID = types.UID(uid)
		}
	}
	if len(owners) > 0 {
		o.SetOwnerReferences(owners)
	}
	if o.GetKind() == "Pod" {
		limit(o)
	}
}

// limit sets the limits of extended resources to what is requested, where a dump written
// by hand leaves them out: the API server wants both, and equal.
func limit(pod *unstructured.Unstructured) {
	for _, list := range []string{"initContainers", "containers"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", list)
		for _, c := range containers {
			container := c.(map[string]any)
			requests, _, _ := unstructured.NestedMap(container, "resources", "requests")
			for name, amount := range requests {
				if strings.Contains(name, "/") {
					_ = unstructured.SetNestedField(container, amount, "resources", "limits", name)
				}
			}
		}
		if len(containers) > 0 {
			_ = unstructured.SetNestedSlice(pod.Object, containers, "spec", list)
		}
	}
}

// namespaceOf is the namespace of an object that names none, "" for a kind without.
func (w *world) namespaceOf(o *unstructured.Unstructured) string {
	k := o.GroupVersionKind()
	m, err := w.mapper.RESTMapping(k.GroupKind(), k.Version)
	if err == nil && m.Scope.Name() == "namespace" {
		return metav1.NamespaceDefault
	}
	return ""
}

func (w *world) namespaces(t *testing.T) {
	t.Helper()
	labels := map[string]map[string]string{fenceNamespace: nil}
	for _, o := range w.written {
		if o.GetKind() == "Namespace" {
			labels[o.GetName()] = o.GetLabels()
		} else if n := o.GetNamespace(); n != "" && labels[n] == nil {
			labels[n] = nil
		}
	}
	for name, l := range labels {
		w.namespace(t, name, l)
	}
}

// priorities makes a class for each priority that a pod or PodGroup states as a number,
// since the API server takes numbers from classes only.
func (w *world) priorities(t *testing.T) {
	t.Helper()
	classes := map[int64]string{}
	for _, o := range w.written {
		value, found, err := unstructured.NestedInt64(o.Object, "spec", "priority")
		class, _, _ := unstructured.NestedString(o.Object, "spec", "priorityClassName")
		if err != nil || !found || class != "" || value == 0 {
			continue
		}
		name := strings.ReplaceAll(fmt.Sprintf("priority-%d", value), "--", "-minus-")
		require.NoError(t, unstructured.SetNestedField(o.Object, name, "spec", "priorityClassName"))
		classes[value] = name
	}
	for _, value := range slices.Sorted(maps.Keys(classes)) {
		w.createTyped(t, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: classes[value]}, Value: int32(value)},
			schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	}
}

// registered makes the nodes of the dump. Those on their way have arrived meanwhile, with
// what their template promises; those that are not ready otherwise carry the taint that
// the node life cycle gives them.
func (w *world) registered(t *testing.T) {
	t.Helper()
	for _, source := range w.written {
		if source.GetKind() != "Node" {
			continue
		}
		o := source.DeepCopy()
		w.fresh(o)
		n := &corev1.Node{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, n))
		if group, ok := w.arriving[n.Name]; ok {
			arrive(n, group)
			w.devices(t, group, n.Name)
		} else if nodegroups.Unready(n) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
		}
		w.node(t, n)
	}
}

// arrive makes a registered node ready: the start-up taints are gone, and what it did not
// offer yet it offers as its template says.
func arrive(n *corev1.Node, group *nodegroups.Status) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
		return slices.Contains(group.StartupTaints, taint.Key) || strings.HasPrefix(taint.Key, "node.kubernetes.io/") ||
			strings.HasPrefix(taint.Key, "node.cloudprovider.kubernetes.io/")
	})
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = corev1.ResourceList{}
	}
	for name, q := range group.Template.Allocatable {
		if have := n.Status.Allocatable[name]; have.IsZero() {
			n.Status.Allocatable[name] = q
		}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

// ordered makes the nodes that were asked for and had not registered, and those that the
// plan buys, from the templates of their groups.
func (w *world) ordered(t *testing.T) {
	t.Helper()
	for _, n := range w.upcoming {
		w.fromTemplate(t, &w.groups[n.Group], n.Name, n.Labels)
	}
	for _, up := range w.plan.ScaleUps {
		group := slices.IndexFunc(w.groups, func(g nodegroups.Status) bool { return g.Name == up.NodeGroup })
		nodes := w.newNodes(up)
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			w.fromTemplate(t, &w.groups[group], name, nodes[name])
		}
	}
}

// fromTemplate makes a node of a group in the domains that the group promises; labels may
// hold others, such as the host name that the plan gave the node.
func (w *world) fromTemplate(t *testing.T, group *nodegroups.Status, name string, labels map[string]string) {
	t.Helper()
	domains := map[string]string{}
	for _, level := range group.Topology {
		if value, ok := labels[level.Key]; ok {
			domains[level.Key] = value
		}
	}
	w.devices(t, group, nodeName(name))
	w.node(t, group.Template.Node(nodeName(name), domains))
}

// devices makes the slices that a node of a group publishes. They come before the node.
func (w *world) devices(t *testing.T, group *nodegroups.Status, node string) {
	t.Helper()
	for _, s := range group.Template.ResourceSlices(node) {
		w.createTyped(t, s, resourcev1.SchemeGroupVersion.WithKind("ResourceSlice"))
	}
}

// outdated says whether an object is a slice of a node that was on its way: it publishes
// anew what its template promises.
func (w *world) outdated(o *unstructured.Unstructured) bool {
	node, _, _ := unstructured.NestedString(o.Object, "spec", "nodeName")
	group, ok := w.arriving[node]
	return ok && o.GetKind() == "ResourceSlice" && len(group.Template.Slices) > 0
}

func (w *world) node(t *testing.T, n *corev1.Node) {
	t.Helper()
	if n.Status.Capacity == nil {
		n.Status.Capacity = n.Status.Allocatable
	}
	w.createTyped(t, n, corev1.SchemeGroupVersion.WithKind("Node"))
	w.nodes++
}

// gated makes the pods that wait, in the plan's order, since the scheduler's queue keeps
// the order in which it first saw them.
func (w *world) gated(t *testing.T) {
	t.Helper()
	byName := map[string]*unstructured.Unstructured{}
	for _, o := range w.written {
		if o.GetKind() == "Pod" {
			o = o.DeepCopy()
			w.fresh(o)
			byName[nameOf(o)] = o
		}
	}
	for _, p := range w.queue {
		w.pending(t, byName[nameOf(p)])
	}
}

// pending makes a pod that waits, with a gate.
func (w *world) pending(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	p := &corev1.Pod{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, p))
	p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	if w.configuration.Scheduler.Scoring == "MostAllocated" {
		p.Spec.SchedulerName = mostAllocated
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(u.Object, "status")
	w.made(w.create(t, u))
}

// claim makes a claim; its allocation is the status, reserved for pods and PodGroups with
// the UIDs that they have here. The scheduler writes a time into each allocation, and
// fails on one that has none, as in dumps written by hand.
func (w *world) claim(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	users, found, err := unstructured.NestedSlice(o.Object, "status", "reservedFor")
	require.NoError(t, err)
	if found {
		for _, u := range users {
			user := u.(map[string]any)
			kind := map[string]string{"pods": "Pod", "podgroups": "PodGroup"}[fmt.Sprint(user["resource"])]
			user["uid"] = w.uids[key(kind, o.GetNamespace(), fmt.Sprint(user["name"]))]
		}
		require.NoError(t, unstructured.SetNestedSlice(o.Object, users, "status", "reservedFor"))
	}
	allocation, found, err := unstructured.NestedMap(o.Object, "status", "allocation")
	require.NoError(t, err)
	if found && allocation["allocationTimestamp"] == nil {
		allocation["allocationTimestamp"] = w.at.Format(time.RFC3339)
		require.NoError(t, unstructured.SetNestedMap(o.Object, allocation, "status", "allocation"))
	}
	w.made(w.create(t, o))
}
