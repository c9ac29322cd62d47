package nodegroups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
)

// NodeState is how far a registered node has come.
type NodeState string

// The states of a registered node.
const (
	// Ready: the node is Ready, has lost its start-up taints and shows its accelerators,
	// as a resource or in ResourceSlices.
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
	// Until is when an Upcoming node fails. Zero: its age is unknown, so it never does.
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
// with a warning: what cannot be told apart is never touched. The ResourceSlices are those
// of the whole cluster.
func Observe(groups []Group, nodes []*corev1.Node, resourceSlices []*resourcev1.ResourceSlice, now time.Time) ([]Status, []string) {
	out := make([]Status, len(groups))
	for i, g := range groups {
		out[i] = Status{Group: g}
	}
	var warnings []string
	index := indexSlices(resourceSlices)
	for _, n := range nodes {
		i, warning := ownerOf(groups, n)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		if i >= 0 {
			out[i].Nodes = append(out[i].Nodes, out[i].stateOf(n, index, now))
		}
	}
	for i := range out {
		out[i].settle(index)
	}
	return out, warnings
}

// ownerOf finds the group that a node's label names, else the one whose selector matches.
func ownerOf(groups []Group, node *corev1.Node) (int, string) {
	name := node.Labels[LabelNodeGroup]
	if i := slices.IndexFunc(groups, func(g Group) bool { return g.Name == name }); i >= 0 {
		return i, ""
	}
	selected := -1
	for i := range groups {
		if !groups[i].selector.Matches(labels.Set(node.Labels)) {
			continue
		}
		if selected >= 0 {
			return -1, fmt.Sprintf("node %s: the selectors of groups %s and %s both match; it is left alone", node.Name, groups[selected].Name, groups[i].Name)
		}
		selected = i
	}
	if selected < 0 && name != "" {
		return -1, fmt.Sprintf("node %s: label %s names group %q, which is not configured; the node is left alone", node.Name, LabelNodeGroup, name)
	}
	return selected, ""
}

// Leaving says whether a node is on its way out: being deleted, or tainted for it by
// Cluster Autoscaler or Karpenter.
func Leaving(n *corev1.Node) bool {
	return n.DeletionTimestamp != nil || hasTaint(n, "ToBeDeletedByClusterAutoscaler") || hasTaint(n, "karpenter.sh/disrupted")
}

// stateOf reads one node. The rules in order:
//  1. on its way out: Deleting;
//  2. Ready, without start-up taints and with its accelerators: Ready;
//  3. without a creation time, as in a hand-written dump: Upcoming, however long. Its age
//     is unknown, and a node that may be about to arrive is not bought twice;
//  4. within its time-out: Upcoming; at its end: Failed.
func (s *Status) stateOf(n *corev1.Node, p published, now time.Time) ObservedNode {
	o := ObservedNode{Node: n}
	if !n.CreationTimestamp.IsZero() {
		o.Until = n.CreationTimestamp.Add(s.Timeout)
	}
	if Leaving(n) {
		o.State, o.Why = Deleting, "is being deleted"
		return o
	}
	if o.Why = s.unready(n, p); o.Why == "" {
		o.State = Ready
		return o
	}
	o.State = Upcoming
	if !o.Until.IsZero() && !now.Before(o.Until) {
		o.State = Failed
		o.Why += fmt.Sprintf(" %s after it registered", shortDuration(s.Timeout))
	}
	return o
}

// shortDuration leaves out minutes and seconds that are zero: 15m, not 15m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (s *Status) unready(n *corev1.Node, p published) string {
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
	return s.withoutDevices(n, p)
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
func (s *Status) settle(p published) {
	registered := int64(len(s.Nodes))
	s.Target = max(s.Size, registered)
	s.Unregistered = max(s.Size-registered, 0)
	for _, o := range s.Nodes {
		if o.State == Failed && (s.AcceleratorCount > 0 || s.Devices == configv1alpha1.DevicesDRA) {
			if until := o.Until.Add(firstBackoff); until.After(s.BackoffUntil) {
				s.BackoffUntil = until
			}
		}
	}
	s.learn(p)
}

// learn corrects the template from the group's ready nodes: the least that they offer of
// each resource, the labels that a new node will carry, too, and the slices that it will
// publish. What is declared is trusted, and so is the accelerator.
func (s *Status) learn(p published) {
	var ready []*corev1.Node
	for _, o := range s.Nodes {
		if o.State == Ready {
			ready = append(ready, o.Node)
		}
	}
	if len(ready) == 0 {
		return
	}
	learnt := s.learntLabels(ready)
	maps.Copy(learnt, s.Template.Labels)
	s.Template.Labels, s.Template.Allocatable = learnt, s.leastOffered(ready)
	s.Template.Sources = append(slices.Clone(s.Template.Sources), "learnt from ready nodes such as "+ready[0].Name)
	s.learnSlices(ready, p)
}

// leastOffered is the template's allocatable, lowered to the least that a ready node
// offers, except what the configuration states and the accelerators.
func (s *Status) leastOffered(ready []*corev1.Node) corev1.ResourceList {
	least := maps.Clone(s.Template.Allocatable)
	for _, n := range ready {
		for name, q := range least {
			have, ok := n.Status.Allocatable[name]
			if !ok || s.Template.declared[name] || slices.Contains(s.AcceleratorResources, name) || have.Cmp(q) >= 0 {
				continue
			}
			least[name] = have
		}
	}
	return least
}

// learntLabels are the labels on which all ready nodes agree and that say something about
// the next node.
func (s *Status) learntLabels(ready []*corev1.Node) map[string]string {
	learnt := map[string]string{}
	for key, value := range ready[0].Labels {
		agreed := !slices.ContainsFunc(ready[1:], func(n *corev1.Node) bool {
			other, ok := n.Labels[key]
			return !ok || other != value
		})
		if agreed && s.teaches(key, value, len(ready)) {
			learnt[key] = value
		}
	}
	return learnt
}

// teaches says whether the next node will carry a label, too, on which this many ready
// nodes agree. The rules in order:
//  1. a label that identifies one node: no;
//  2. the key of a topology level that is the whole group (nodesPerDomain 0): yes, new
//     nodes join the one domain;
//  3. the key of another level of the group: no, it is the domain of some nodes;
//  4. a volume driver's own zone label: where it repeats the zone that the group promises;
//  5. another place in the network: no, the next node may be elsewhere;
//  6. a label of two or more nodes: yes;
//  7. a label of the only node: where a machine made it. One that a hand set on the only
//     node says nothing about the next one.
//
// Worked example: of the only node's labels nvidia.com/gpu.product=H100, team=vision and
// topology.kubernetes.io/rack=r1 only the first is learnt; a second node with the same
// three adds team=vision.
func (s *Status) teaches(key, value string, nodes int) bool {
	level := slices.IndexFunc(s.Topology, func(l configv1alpha1.TopologyLevel) bool { return l.Key == key })
	switch {
	case s.identifiesNode(key, value):
		return false
	case level >= 0:
		return s.Topology[level].NodesPerDomain == 0
	case isVolumeZone(key):
		return value == s.Template.Labels[corev1.LabelTopologyZone]
	case IsTopologyLabel(key):
		return false
	}
	return nodes > 1 || isMachineMade(key)
}

// identifiesNode says whether a label belongs to one node of the group alone: the host
// name, the time of a measurement, and whatever repeats a node's name, UID or instance.
func (s *Status) identifiesNode(key, value string) bool {
	if key == corev1.LabelHostname || key == "nvidia.com/gfd.timestamp" {
		return true
	}
	return value != "" && slices.ContainsFunc(s.Nodes, func(o ObservedNode) bool {
		return value == o.Node.Name || value == string(o.Node.UID) || value == o.Node.Spec.ProviderID ||
			value == instanceID(o.Node.Spec.ProviderID)
	})
}

// instanceID is the last part of a provider's id, since a label cannot hold the whole:
// "i-0abc" of "aws:///us-east-1a/i-0abc". It is "" where that part is a bare number, as
// in Azure's scale sets: nvidia.com/gpu.count=8 does not name the eighth machine.
func instanceID(providerID string) string {
	id := providerID[strings.LastIndexByte(providerID, '/')+1:]
	if strings.Trim(id, "0123456789") == "" {
		return ""
	}
	return id
}

// isMachineMade says whether clouds, Kubernetes, node provisioners, feature discovery or
// device vendors set labels of this key, the same on every node of a group. Only such a
// label of a group's only node is believed: what people set by hand is not repeated by
// itself. Another label that new nodes carry belongs in the configuration.
func isMachineMade(key string) bool {
	switch key {
	case corev1.LabelArchStable, corev1.LabelOSStable,
		// A group has its nodes in one region on every cloud.
		corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion:
		return true
	}
	prefixes := [...]string{
		"node.kubernetes.io/", "beta.kubernetes.io/", // Kubernetes and its cloud controllers
		"feature.node.kubernetes.io/", "intel.feature.node.kubernetes.io/", // Node Feature Discovery
		"nvidia.com/", "amd.com/", "beta.amd.com/", "habana.ai/", "gpu.intel.com/", "google.com/", "aws.amazon.com/", // devices
		"eks.amazonaws.com/", "k8s.amazonaws.com/", "alpha.eksctl.io/", // EKS
		"cloud.google.com/", "kubernetes.azure.com/", // GKE, AKS
		"karpenter.sh/", "karpenter.k8s.aws/", "karpenter.azure.com/", // Karpenter
	}
	return slices.ContainsFunc(prefixes[:], func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// isVolumeZone says whether a key is the zone as a volume driver names it; its volumes
// ask for nodes by it.
func isVolumeZone(key string) bool {
	switch key {
	case "topology.ebs.csi.aws.com/zone", "topology.gke.io/zone", "topology.disk.csi.azure.com/zone":
		return true
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
	// The parts that a slice of TPUs can be cut into, such as …-2x2x4-id.
	return strings.HasPrefix(key, "cloud.google.com/gke-tpu-partition-") && strings.HasSuffix(key, "-id")
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
	most, _ := s.MostNow(now)
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
		if o.State == Upcoming {
			add(o.Until) // Zero, for a node of unknown age, is never after now.
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}
