package plan

import (
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
)

// APIVersion and Kind name the schema of a plan written as JSON or YAML.
const (
	APIVersion = "plan.tidegate.io/v1alpha1"
	Kind       = "Plan"
)

// Plan is one decision, as scripts read it.
type Plan struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Time       time.Time `json:"time"`
	// ScaleUps say which groups grow, by name.
	ScaleUps []ScaleUp `json:"scaleUps"`
	// Placements list every pending pod that gets a place, by gang and pod.
	Placements []Placement `json:"placements"`
	// Waiting are gangs that are not to be placed now.
	Waiting []Waiting `json:"waiting"`
	// Unschedulable are gangs that get nothing, with a reason from every group.
	Unschedulable []Unschedulable `json:"unschedulable"`
	ScaleDowns    []ScaleDown     `json:"scaleDowns"`
	Cost          Cost            `json:"cost"`
	// Wake is the next instant at which the answer could change by the clock alone; absent
	// when there is none.
	Wake *time.Time `json:"wake,omitempty"`
	// Warnings name input that was left out of the decision.
	Warnings []string `json:"warnings,omitempty"`
	Stats    *Stats   `json:"stats,omitempty"`
}

// ScaleUp grows one group.
type ScaleUp struct {
	NodeGroup string `json:"nodeGroup"`
	// From and To are sizes: nodes asked of the provider before and after.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Add  int64 `json:"add"`
	// PricePerHour of one node, in US dollars.
	PricePerHour configv1alpha1.MicroDollars `json:"pricePerHour"`
	// Atomic: the request is delivered whole or not at all.
	Atomic bool `json:"atomic,omitempty"`
	// ReadyBy is when the nodes are expected, where the group says how long they take.
	ReadyBy *time.Time `json:"readyBy,omitempty"`
	// Domains are the topology domains that the new nodes join or open.
	Domains []DomainGrowth `json:"domains,omitempty"`
	Gangs   []string       `json:"gangs,omitempty"`
	Pods    int            `json:"pods"`
	Reason  string         `json:"reason"`
}

// DomainGrowth is how many new nodes a domain gets.
type DomainGrowth struct {
	Key    string `json:"key"`
	Domain string `json:"domain"`
	Nodes  int    `json:"nodes"`
}

// Placement puts one pod on one node.
type Placement struct {
	Pod  string `json:"pod"`
	Gang string `json:"gang,omitempty"`
	// Node is an existing node's own name, or group/upcoming-N, or group/new-N.
	Node      string            `json:"node"`
	NodeGroup string            `json:"nodeGroup,omitempty"`
	New       bool              `json:"new"`
	Domains   map[string]string `json:"domains,omitempty"`
	Devices   []Device          `json:"devices,omitempty"`
}

// Device is a device that a claim of the pod gets.
type Device struct {
	// Claim is the pod's name for it (spec.resourceClaims); "" for an extended resource that
	// a DeviceClass serves.
	Claim string `json:"claim"`
	// Request of the claim; request/alternative where it is a prioritized list.
	Request string `json:"request"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	// Capacity is what is consumed of a device that several claims may have.
	Capacity map[string]string `json:"capacity,omitempty"`
	// Shared: other claims may have the device, too, or other pods the claim.
	Shared bool `json:"shared,omitempty"`
}

// Waiting is a gang that is not to be placed now.
type Waiting struct {
	Gang    string        `json:"gang"`
	Pods    int           `json:"pods"`
	Reason  v1alpha1.Code `json:"reason"`
	Until   *time.Time    `json:"until,omitempty"`
	Message string        `json:"message"`
}

// Unschedulable is a gang, or the part of it past its minimum, that gets nothing.
type Unschedulable struct {
	Gang       string        `json:"gang"`
	Pods       []string      `json:"pods"`
	Message    string        `json:"message"`
	NodeGroups []GroupReason `json:"nodeGroups"`
}

// GroupReason is why one group cannot serve a gang.
type GroupReason struct {
	NodeGroup string        `json:"nodeGroup"`
	Reason    v1alpha1.Code `json:"reason"`
	Message   string        `json:"message"`
}

// ScaleDown removes nodes of one group.
type ScaleDown struct {
	NodeGroup    string                      `json:"nodeGroup"`
	Nodes        []string                    `json:"nodes"`
	Reason       v1alpha1.Code               `json:"reason"`
	SavesPerHour configv1alpha1.MicroDollars `json:"savesPerHour"`
}

// Cost is what all groups cost per hour, in US dollars.
type Cost struct {
	Before configv1alpha1.MicroDollars `json:"before"`
	After  configv1alpha1.MicroDollars `json:"after"`
	// LowerBound is what no plan for the same placements could go below: Before plus the
	// bound of the fractional packing (see docs/how-it-decides.md).
	LowerBound configv1alpha1.MicroDollars `json:"lowerBound"`
}

// Stats count the work of the decision.
type Stats struct {
	PendingPods  int `json:"pendingPods"`
	PendingGangs int `json:"pendingGangs"`
	// PodClasses is the number of kinds of pending pods.
	PodClasses   int `json:"podClasses"`
	OptionsTried int `json:"optionsTried"`
	// Truncated: a counted budget cut some search off; a better plan may exist.
	Truncated bool `json:"truncated,omitempty"`
	// ProofPasses is how many scheduler passes the proof took; 1 is a plan that held at once.
	ProofPasses int `json:"proofPasses"`
	// Duration of the decision; the only field that differs between two runs.
	Duration string `json:"duration,omitempty"`
}
