package nodegroups

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/api/v1alpha1"
)

// NodeState is how far a registered node has come.
type NodeState string

// The states of a registered node.
const (
	// Ready: the node is Ready, has lost its start-up taints and shows its accelerators.
	Ready NodeState = "Ready"
	// Upcoming: registered, and still within its provisioning time-out.
	Upcoming NodeState = "Upcoming"
	// Failed: past its time-out without becoming Ready, or without accelerators.
	Failed NodeState = "Failed"
	// Deleting: on its way out.
	Deleting NodeState = "Deleting"
)

// firstBackoff is the first pause of a group after a failure.
const firstBackoff = 5 * time.Minute

// ObservedNode is a node with its state and why.
type ObservedNode struct {
	Node  *corev1.Node
	State NodeState
	// Why is one clause for people; "" when Ready.
	Why string
	// Until is when an Upcoming node fails.
	Until time.Time
}

// Status is a group with the state that its nodes are in.
type Status struct {
	Group
	Nodes []ObservedNode
	// Target is the number of nodes that were asked for or exist, whichever is more.
	Target int64
	// Unregistered were asked for and have not registered yet.
	Unregistered int64
}

// Observe sorts nodes into their groups. A node that two groups claim belongs to none,
// with a warning: what cannot be told apart is never touched.
func Observe(groups []Group, nodes []*corev1.Node, now time.Time) ([]Status, []string) {
	out := make([]Status, len(groups))
	for i, g := range groups {
		out[i] = Status{Group: g}
	}
	var warnings []string
	for _, n := range nodes {
		i, warning := ownerOf(groups, n)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if i >= 0 {
			out[i].Nodes = append(out[i].Nodes, out[i].stateOf(n, now))
		}
	}
	for i := range out {
		out[i].settle()
	}
	return out, warnings
}

func ownerOf(groups []Group, node *corev1.Node) (int, string) {
	selected := -1
	for i := range groups {
		byLabel, bySelector := groups[i].owns(node)
		if byLabel {
			return i, ""
		}
		if !bySelector {
			continue
		}
		if selected >= 0 {
			return -1, fmt.Sprintf("node %s: the selectors of groups %s and %s both match; it is left alone", node.Name, groups[selected].Name, groups[i].Name)
		}
		selected = i
	}
	if name := node.Labels[LabelNodeGroup]; selected < 0 && name != "" {
		return -1, fmt.Sprintf("node %s: label %s names group %q, which is not configured; the node is left alone", node.Name, LabelNodeGroup, name)
	}
	return selected, ""
}

// stateOf reads one node. The rules in order: on its way out; Ready, without start-up
// taints and with its accelerators; within its time-out; failed.
func (s *Status) stateOf(n *corev1.Node, now time.Time) ObservedNode {
	o := ObservedNode{Node: n, Until: n.CreationTimestamp.Add(s.Timeout)}
	if n.DeletionTimestamp != nil || hasTaint(n, "ToBeDeletedByClusterAutoscaler") || hasTaint(n, "karpenter.sh/disrupted") {
		o.State, o.Why = Deleting, "is being deleted"
		return o
	}
	if o.Why = s.unready(n); o.Why == "" {
		o.State = Ready
		return o
	}
	o.State = Upcoming
	if !n.CreationTimestamp.IsZero() && !now.Before(o.Until) {
		o.State = Failed
		o.Why += fmt.Sprintf(" %s after it registered", s.Timeout)
	}
	return o
}

func (s *Status) unready(n *corev1.Node) string {
	if !isReady(n) {
		return "is not Ready"
	}
	for _, key := range s.StartupTaints {
		if hasTaint(n, key) {
			return "still has start-up taint " + key
		}
	}
	for _, r := range s.AcceleratorResources {
		if q := n.Status.Allocatable[r]; q.Value() > 0 {
			return ""
		}
	}
	if len(s.AcceleratorResources) > 0 {
		return fmt.Sprintf("shows none of its %d %s", s.AcceleratorCount, s.AcceleratorResources[0])
	}
	return ""
}

// Unready says whether a node's own condition says that it is not Ready. A node without
// the condition, as in a hand-written dump, is taken as it is.
func Unready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// settle computes the numbers, the back-off that failed nodes cause, and what healthy
// nodes teach about the template.
func (s *Status) settle() {
	registered := int64(len(s.Nodes))
	s.Target = max(s.Size, registered)
	s.Unregistered = max(s.Size-registered, 0)
	for _, o := range s.Nodes {
		if o.State == Failed && s.AcceleratorCount > 0 {
			if until := o.Until.Add(firstBackoff); until.After(s.BackoffUntil) {
				s.BackoffUntil = until
			}
		}
	}
	s.learn()
}

// learn corrects the template from the group's ready nodes: the least that they offer of
// each resource that the configuration does not state and that is no accelerator, and the
// labels on which all agree. What is declared is trusted, and so is the accelerator.
func (s *Status) learn() {
	var shared map[string]string
	offers := maps.Clone(s.Template.Allocatable)
	from := ""
	for _, o := range s.Nodes {
		if o.State != Ready {
			continue
		}
		for name, q := range offers {
			have, ok := o.Node.Status.Allocatable[name]
			if !ok || s.Template.declared[name] || slices.Contains(s.AcceleratorResources, name) || have.Cmp(q) >= 0 {
				continue
			}
			offers[name] = have
		}
		if shared == nil {
			shared, from = maps.Clone(o.Node.Labels), o.Node.Name
			continue
		}
		maps.DeleteFunc(shared, func(k, v string) bool { return o.Node.Labels[k] != v })
	}
	if from == "" {
		return
	}
	labels := maps.Clone(shared)
	maps.DeleteFunc(labels, func(k, v string) bool { return s.ofOneNode(k, v) })
	maps.Copy(labels, s.Template.Labels)
	s.Template.Labels, s.Template.Allocatable = labels, offers
	s.Template.Sources = append(slices.Clone(s.Template.Sources), "learnt from ready nodes such as "+from)
}

// ofOneNode says whether a label may differ on the next node although all nodes seen
// agree on it: the host, and every place in the network that the group does not promise.
func (s *Status) ofOneNode(key, value string) bool {
	if IsTopologyLabel(key) {
		return true
	}
	if slices.ContainsFunc(s.Nodes, func(o ObservedNode) bool { return o.Node.Name == value }) {
		return true
	}
	for _, l := range s.Topology {
		if l.Key == key {
			return true
		}
	}
	return false
}

// IsTopologyLabel says whether a label places a node in a network or failure domain, by
// the keys that clouds, NVIDIA and topology tools use. A new node may land elsewhere.
func IsTopologyLabel(key string) bool {
	switch key {
	case corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone,
		"topology.kubernetes.io/rack", "topology.kubernetes.io/block", "topology.k8s.aws/zone-id",
		"topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2",
		"topology.k8s.aws/network-node-layer-3", "topology.k8s.aws/network-node-layer-4",
		"topology.k8s.aws/capacity-block-id", "topology.k8s.aws/ultraserver-id",
		"cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock",
		"cloud.google.com/gce-topology-host", "nvidia.com/gpu.clique", "resource.nvidia.com/computeDomain",
		"oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id", "oci.oraclecloud.com/host.id",
		"accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain":
		return true
	}
	return false
}

// Room is the number of nodes by which the group may grow, whole units, before anything
// else of the plan takes a part: never below 0, and 0 while Blocked.
func (s *Status) Room(now time.Time) int64 {
	if len(s.Blocked(now)) > 0 {
		return 0
	}
	return s.Left(now)
}

// Left is the number of nodes between Target and the maximum, whole units, whatever
// blocks the group for the moment.
func (s *Status) Left(now time.Time) int64 {
	most := s.MaxSize
	if a := s.open(now); a != nil {
		most = min(most, a.Size)
	}
	left := max(most-s.Target, 0)
	return left - left%s.Unit
}

// Blocked are the reasons for which the group may not grow at all now.
func (s *Status) Blocked(now time.Time) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	if s.BackoffUntil.After(now) {
		out = append(out, v1alpha1.Reason{Code: v1alpha1.Backoff, Object: s.Name,
			Text: "the provider could not deliver; asked again at " + s.BackoffUntil.UTC().Format(time.RFC3339)})
	}
	if len(s.Available) > 0 && s.open(now) == nil {
		out = append(out, v1alpha1.Reason{Code: v1alpha1.WindowClosed, Object: s.Name, Text: s.nextOpening(now)})
	}
	return out
}

// Changes are the instants after now at which Room or a node's state could change by the
// clock alone, in order.
func (s *Status) Changes(now time.Time) []time.Time {
	var out []time.Time
	add := func(t time.Time) {
		if t.After(now) {
			out = append(out, t)
		}
	}
	add(s.BackoffUntil)
	for _, a := range s.Available {
		add(a.From.Time)
		add(s.closes(a))
	}
	for _, o := range s.Nodes {
		if o.State == Upcoming && !o.Node.CreationTimestamp.IsZero() {
			add(o.Until)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}
