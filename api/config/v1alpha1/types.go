package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// APIVersion and Kind name the configuration file's schema.
const (
	APIVersion = "config.tidegate.io/v1alpha1"
	Kind       = "AutoscalerConfiguration"
)

// Objective says what the best of several plans that place the same pods is.
type Objective string

// The objectives that `objective` accepts.
const (
	// ObjectiveCost prefers the lowest cost per hour. The default.
	ObjectiveCost Objective = "cost"
	// ObjectiveNodes prefers the fewest new nodes, then the lowest cost.
	ObjectiveNodes Objective = "nodes"
	// ObjectivePriority prefers groups with the highest `priority`, then the lowest cost.
	ObjectivePriority Objective = "priority"
)

// Scoring is how the cluster's kube-scheduler scores nodes (NodeResourcesFit's scoringStrategy.type).
type Scoring string

// The scoring strategies that a scheduler pass can imitate.
const (
	ScoringLeastAllocated Scoring = "LeastAllocated"
	ScoringMostAllocated  Scoring = "MostAllocated"
)

// Hints says whether the scheduler is led to the planned node of each pod.
type Hints string

// The ways of leading the scheduler.
const (
	// HintsNominate writes status.nominatedNodeName (KEP-5278). The default.
	HintsNominate Hints = "nominate"
	// HintsNone leaves the scheduler alone: plans must hold without nominations.
	HintsNone Hints = "none"
)

// CapacityType is how a group's machines are bought.
type CapacityType string

// The capacity types.
const (
	OnDemand CapacityType = "on-demand"
	Spot     CapacityType = "spot"
	Reserved CapacityType = "reserved"
)

// Devices says how a group's accelerators are offered to pods.
type Devices string

// The ways that accelerators are offered.
const (
	// DevicesPlugin offers an extended resource such as nvidia.com/gpu. The default.
	DevicesPlugin Devices = "plugin"
	// DevicesDRA offers ResourceSlices (resource.k8s.io/v1).
	DevicesDRA Devices = "dra"
)

// GrowsFor says which pods may make a group grow.
type GrowsFor string

// The kinds of demand that a group can grow for.
const (
	// GrowsForAccelerators: only pods that ask for an accelerator. The default where the group has any.
	GrowsForAccelerators GrowsFor = "accelerators"
	// GrowsForAny: every pod.
	GrowsForAny GrowsFor = "any"
)

// MicroDollars is money in millionths of a US dollar; prices are per hour.
// Integers, so that no sum depends on the order in which it is made.
// In the file it is written in dollars: 98.32.
type MicroDollars int64

// AutoscalerConfiguration is the configuration file.
type AutoscalerConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	Objective  Objective   `json:"objective,omitempty"`
	Scheduler  Scheduler   `json:"scheduler,omitzero"`
	Limits     Limits      `json:"limits,omitzero"`
	NodeGroups []NodeGroup `json:"nodeGroups"`
}

// Scheduler describes the kube-scheduler that will place the pods.
type Scheduler struct {
	Scoring Scoring `json:"scoring,omitempty"`
	Hints   Hints   `json:"hints,omitempty"`
	// FeatureGates are the scheduler's DRA gates that are not at the defaults of Kubernetes 1.37.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// Limits bound the whole cluster, existing nodes counted. A nil or absent limit is none.
type Limits struct {
	MaxNodes       *int64        `json:"maxNodes,omitempty"`
	MaxCostPerHour *MicroDollars `json:"maxCostPerHour,omitempty"`
	// Accelerators maps an accelerator's name to the most physical devices of it.
	Accelerators map[string]int64 `json:"accelerators,omitempty"`
}

// NodeGroup is one set of identical machines that grows and shrinks by number.
type NodeGroup struct {
	Name             string  `json:"name"`
	InstanceType     string  `json:"instanceType,omitempty"`
	Accelerator      string  `json:"accelerator,omitempty"`
	AcceleratorCount *int64  `json:"acceleratorCount,omitempty"`
	Devices          Devices `json:"devices,omitempty"`
	MinSize          int64   `json:"minSize"`
	MaxSize          int64   `json:"maxSize"`
	// Size is the number of nodes asked of the provider now; nil: as many as are seen.
	Size *int64 `json:"size,omitempty"`
	// Selector finds the group's nodes, beside the label tidegate.io/node-group.
	Selector     *metav1.LabelSelector `json:"selector,omitempty"`
	Zones        []string              `json:"zones,omitempty"`
	CapacityType CapacityType          `json:"capacityType,omitempty"`
	// PricePerHour of one node; nil: from the catalogue.
	PricePerHour *MicroDollars     `json:"pricePerHour,omitempty"`
	Priority     int64             `json:"priority,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Taints       []corev1.Taint    `json:"taints,omitempty"`
	// Capacity is the allocatable of a new node before DaemonSets; it overrides the catalogue resource by resource.
	Capacity       map[corev1.ResourceName]resource.Quantity `json:"capacity,omitempty"`
	Topology       []TopologyLevel                           `json:"topology,omitempty"`
	ResourceSlices []resourcev1.ResourceSliceSpec            `json:"resourceSlices,omitempty"`
	Provisioning   Provisioning                              `json:"provisioning,omitzero"`
	BackoffUntil   *metav1.Time                              `json:"backoffUntil,omitempty"`
	// Unit: nodes come and go this many at a time (the hosts of one multi-host slice). 0 is 1.
	Unit          int64    `json:"unit,omitempty"`
	Sharing       Sharing  `json:"sharing,omitzero"`
	StartupTaints []string `json:"startupTaints,omitempty"`
	// GrowsFor is empty where the file leaves it out: only who knows the catalogue knows the default.
	GrowsFor  GrowsFor       `json:"growsFor,omitempty"`
	Available []Availability `json:"available,omitempty"`
}

// TopologyLevel is one level of the topology that a group's new nodes promise.
type TopologyLevel struct {
	Key string `json:"key"`
	// NodesPerDomain is the most nodes in one domain; 0: the whole group is one domain.
	NodesPerDomain int64 `json:"nodesPerDomain"`
}

// Provisioning says how new nodes arrive.
type Provisioning struct {
	// Delay from the request to a ready node; 0: unknown.
	Delay metav1.Duration `json:"delay,omitzero"`
	// Timeout after which a node that is not ready for its accelerators is failed. The default is DefaultTimeout.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// Atomic: one request is delivered whole or not at all.
	Atomic bool `json:"atomic,omitempty"`
}

// Sharing is time-slicing or MPS on a plugin group.
type Sharing struct {
	// Replicas is how often each device is offered. 0 is 1.
	Replicas int64 `json:"replicas,omitempty"`
}

// Availability is capacity with dates of its own (AWS Capacity Blocks, GKE calendar reservations).
type Availability struct {
	From  metav1.Time `json:"from"`
	Until metav1.Time `json:"until"`
	// DrainFrom is when nodes begin to be taken back; nil: Until.
	DrainFrom *metav1.Time `json:"drainFrom,omitempty"`
	// Size is the most nodes of the group between From and Until.
	Size int64 `json:"size"`
}
