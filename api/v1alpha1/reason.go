package v1alpha1

import (
	"slices"
	"strings"
)

// Code is one of the closed set of words that say why something was not done.
// Codes are stable output; docs/reasons.md is generated from CodeDocs.
type Code string

// Reasons why a node group cannot serve a pod or gang, in the order in which one is
// chosen where several hold.
const (
	MaxSize                Code = "MaxSize"
	InsufficientResources  Code = "InsufficientResources"
	NodeSelectorMismatch   Code = "NodeSelectorMismatch"
	TaintNotTolerated      Code = "TaintNotTolerated"
	TopologyNotPromised    Code = "TopologyNotPromised"
	TopologyDomainTooSmall Code = "TopologyDomainTooSmall"
	DevicesUnavailable     Code = "DevicesUnavailable"
	VolumeConflict         Code = "VolumeConflict"
	PodAffinity            Code = "PodAffinity"
	PodTopologySpread      Code = "PodTopologySpread"
	HostPortConflict       Code = "HostPortConflict"
	AcceleratorsOnly       Code = "AcceleratorsOnly"
	Backoff                Code = "Backoff"
	NotReady               Code = "NotReady"
	WindowClosed           Code = "WindowClosed"
	HigherCost             Code = "HigherCost"
)

// Reasons that belong to the whole plan: a limit that no group's growth may pass.
const (
	MaxNodes        Code = "MaxNodes"
	MaxCostPerHour  Code = "MaxCostPerHour"
	MaxAccelerators Code = "MaxAccelerators"
)

// Reasons that belong to a gang, whatever the node groups offer.
const (
	GangIncomplete   Code = "GangIncomplete"
	OffPeak          Code = "OffPeak"
	DeadlineTooClose Code = "DeadlineTooClose"
	SchedulingGated  Code = "SchedulingGated"
	InvalidPod       Code = "InvalidPod"
)

// CodeDoc says what a code means and what a user can do about it.
type CodeDoc struct {
	Code Code
	// Scope is "node group", "plan" or "gang".
	Scope   string
	Meaning string
	Remedy  string
}

// CodeDocs returns every code in order of precedence.
func CodeDocs() []CodeDoc {
	return []CodeDoc{
		{MaxSize, "node group", "The group may not grow by as many nodes as are needed.", "Raise maxSize, or free nodes of the group."},
		{InsufficientResources, "node group", "A new node of the group, after its DaemonSets, offers less of a resource than the pod asks for.", "Ask for less, or add a group with larger machines."},
		{NodeSelectorMismatch, "node group", "The pod's node selector, required node affinity or node name excludes the group's nodes.", "Add the label to the group's labels, or change the selector."},
		{TaintNotTolerated, "node group", "The pod does not tolerate a taint of the group's nodes, or they are unschedulable.", "Add the toleration; or, if the taint disappears by itself, list its key in startupTaints."},
		{TopologyNotPromised, "node group", "The gang must share a topology domain of a key that new nodes of the group do not promise.", "Add the key to the group's topology if the provider guarantees it."},
		{TopologyDomainTooSmall, "node group", "No domain of the group, existing or new, can hold the gang.", "Use a wider key, smaller gangs, or a group with larger domains."},
		{DevicesUnavailable, "node group", "A device request of the pod cannot be met on a new node.", "Compare the claim's requests with the slices that `tidegate nodegroups -o yaml` shows."},
		{VolumeConflict, "node group", "A volume of the pod cannot be used on a new node: its zone, its node affinity, the number of volumes of a node, or its access mode.", "Check the claim and its volume."},
		{PodAffinity, "node group", "Pod affinity or anti-affinity, the pod's own or another pod's, keeps it off the group's new nodes.", "Check the terms that the message names."},
		{PodTopologySpread, "node group", "A topology spread constraint with DoNotSchedule forbids the group's new nodes.", "Relax maxSkew, or add groups in the other domains."},
		{HostPortConflict, "node group", "A host port that the pod asks for is taken on the group's new nodes.", "Use another port, or no host port."},
		{AcceleratorsOnly, "node group", "The group grows only for pods that ask for an accelerator.", "Set growsFor: any, or add a group without accelerators."},
		{Backoff, "node group", "The provider could not deliver nodes of the group; it is asked again later.", "Wait until the time in the message, or add an alternative group."},
		{NotReady, "node group", "The group disabled itself: something it needs is missing or wrong.", "See the message."},
		{WindowClosed, "node group", "The group's capacity has dates, and they do not cover now.", "Wait for the next date in the message."},
		{HigherCost, "node group", "The group would serve; another choice costs less. Only explain says so.", "Nothing to do."},
		{MaxNodes, "plan", "limits.maxNodes would be passed.", "Raise the limit."},
		{MaxCostPerHour, "plan", "limits.maxCostPerHour would be passed.", "Raise the limit."},
		{MaxAccelerators, "plan", "limits.accelerators of this accelerator would be passed.", "Raise the limit."},
		{GangIncomplete, "gang", "Fewer pods exist than the gang's minimum, so it could not start.", "Create the missing pods."},
		{OffPeak, "gang", "The gang may wait for an off-peak window, and none is open for it.", "Wait, or set a deadline."},
		{DeadlineTooClose, "gang", "No window ends in time for the gang's deadline.", "Move the deadline."},
		{SchedulingGated, "gang", "A pod has scheduling gates; it is not ready to be scheduled.", "Remove the gates when the pod may run."},
		{InvalidPod, "gang", "The pod cannot be scheduled as it is written.", "Correct the field that the message names."},
	}
}

// Rank orders codes by precedence, the first to report being the smallest.
// Unknown codes come last.
func (c Code) Rank() int {
	for i, d := range CodeDocs() {
		if d.Code == c {
			return i
		}
	}
	return len(CodeDocs())
}

// Reason is one fact about one object: data, rendered only at the edge.
type Reason struct {
	Code Code
	// Object is what the reason is about: a node group's name, a limit, or a gang's key.
	Object string
	// Text is one clause with the numbers in it, lower case, without a full stop.
	Text string
}

// First sorts reasons by precedence, then object, then text, and returns the first with
// the message that the rest adds to it. It returns the zero Reason for none.
//
// Worked example: MaxSize "needs 6 nodes, 4 left" and TopologyDomainTooSmall "a domain
// holds 4 nodes" give MaxSize with "needs 6 nodes, 4 left; also TopologyDomainTooSmall: a
// domain holds 4 nodes".
func First(reasons []Reason) (Reason, string) {
	if len(reasons) == 0 {
		return Reason{}, ""
	}
	sorted := slices.Clone(reasons)
	slices.SortFunc(sorted, func(a, b Reason) int {
		if d := a.Code.Rank() - b.Code.Rank(); d != 0 {
			return d
		}
		if d := strings.Compare(a.Object, b.Object); d != 0 {
			return d
		}
		return strings.Compare(a.Text, b.Text)
	})
	var text strings.Builder
	text.WriteString(sorted[0].Text)
	for _, r := range slices.Compact(sorted)[1:] {
		text.WriteString("; also " + string(r.Code) + ": " + r.Text)
	}
	return sorted[0], text.String()
}
