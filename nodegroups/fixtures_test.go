package nodegroups_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

// dollar is one, in micro-dollars.
const dollar configv1alpha1.MicroDollars = 1_000_000

func now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// build makes the groups of a configuration that must be good.
func build(t testing.TB, groups ...configv1alpha1.NodeGroup) []nodegroups.Group {
	t.Helper()
	out, err := nodegroups.New(&configv1alpha1.AutoscalerConfiguration{NodeGroups: groups})
	require.NoError(t, err)
	require.Len(t, out, len(groups))
	return out
}

// observe is the status of one group, of which all nodes are.
func observe(t testing.TB, group configv1alpha1.NodeGroup, nodes ...*corev1.Node) nodegroups.Status {
	t.Helper()
	statuses, warnings := nodegroups.Observe(build(t, group), nodes, nil, now())
	require.Empty(t, warnings)
	require.Len(t, statuses[0].Nodes, len(nodes))
	return statuses[0]
}

// own is a group whose machine the configuration describes in full.
func own(name string) configv1alpha1.NodeGroup {
	return configv1alpha1.NodeGroup{Name: name, MaxSize: 10, Capacity: quantities("cpu", "8", "memory", "32Gi")}
}

// quantities are pairs of name and amount.
func quantities(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// amounts make resources comparable and readable.
func amounts(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}

type nodeBuilder struct{ n *corev1.Node }

// makeNode is a node of no group that says nothing of itself.
func makeNode(name string) nodeBuilder {
	n := &corev1.Node{}
	n.Name, n.Labels = name, map[string]string{}
	return nodeBuilder{n}
}

// makeReady is a Ready node of the group that the labels name.
func makeReady(name, group string) nodeBuilder {
	return makeNode(name).Group(group).Condition(corev1.ConditionTrue)
}

func (b nodeBuilder) Group(name string) nodeBuilder { return b.Label(nodegroups.LabelNodeGroup, name) }

func (b nodeBuilder) Label(key, value string) nodeBuilder {
	b.n.Labels[key] = value
	return b
}

func (b nodeBuilder) Condition(status corev1.ConditionStatus) nodeBuilder {
	b.n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: status}}
	return b
}

func (b nodeBuilder) Taint(key string) nodeBuilder {
	b.n.Spec.Taints = append(b.n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	return b
}

// Age is the time since the node registered.
func (b nodeBuilder) Age(age time.Duration) nodeBuilder {
	b.n.CreationTimestamp = metav1.NewTime(now().Add(-age))
	return b
}

func (b nodeBuilder) Allocatable(pairs ...string) nodeBuilder {
	b.n.Status.Allocatable = quantities(pairs...)
	return b
}

func (b nodeBuilder) Capacity(pairs ...string) nodeBuilder {
	b.n.Status.Capacity = quantities(pairs...)
	return b
}

func (b nodeBuilder) IDs(uid types.UID, providerID string) nodeBuilder {
	b.n.UID, b.n.Spec.ProviderID = uid, providerID
	return b
}

func (b nodeBuilder) Deleted() nodeBuilder {
	at := metav1.NewTime(now())
	b.n.DeletionTimestamp = &at
	return b
}

func (b nodeBuilder) Obj() *corev1.Node { return b.n }
