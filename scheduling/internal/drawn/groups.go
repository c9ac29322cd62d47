package drawn

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

// NewWithGroups draws the cluster of a seed and node groups for it. Some nodes belong to a
// group, and some of those are starting, failed or on their way out.
func NewWithGroups(seed uint64) (*Cluster, []configv1alpha1.NodeGroup) {
	c, d := New(seed), newDrawer(seed, 2)
	var groups []configv1alpha1.NodeGroup
	for i := range 1 + d.IntN(3) {
		groups = append(groups, d.group(fmt.Sprintf("g%d", i)))
	}
	for _, n := range c.Nodes {
		if d.oneIn(3) {
			continue
		}
		n.Labels[nodegroups.LabelNodeGroup] = pick(d, groups...).Name
		n.CreationTimestamp = metav1.NewTime(Now().AddDate(0, 0, -d.IntN(2)))
		if d.oneIn(10) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
		}
	}
	return c, groups
}

func (d *drawer) group(name string) configv1alpha1.NodeGroup {
	g := configv1alpha1.NodeGroup{Name: name, MaxSize: 10, Labels: d.nodeLabels(), Taints: d.taints(), Capacity: d.allocatable()}
	g.Provisioning.Timeout.Duration = configv1alpha1.DefaultTimeout
	delete(g.Labels, corev1.LabelTopologyZone)
	delete(g.Labels, rack)
	if q := g.Capacity["nvidia.com/gpu"]; q.IsZero() {
		delete(g.Capacity, "nvidia.com/gpu")
	} else if d.oneIn(2) {
		g.Accelerator = "nvidia-h100"
	}
	if d.oneIn(3) {
		g.Capacity["nvidia.com/gpu"] = resource.MustParse("8")
		g.Accelerator = "nvidia-h100"
	}
	if d.oneIn(2) {
		g.Zones = []string{pick(d, "z1", "z2")}
	}
	if d.oneIn(3) {
		g.StartupTaints = []string{"example.com/startup"}
	}
	if d.oneIn(2) {
		g.Topology = []configv1alpha1.TopologyLevel{{Key: rack, NodesPerDomain: int64(1 + d.IntN(3))}}
	}
	if d.oneIn(3) {
		size := int64(d.IntN(8))
		g.Size = &size
	}
	return g
}
