package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/snapshot"
)

// GroupInfo is a node group as it was discovered.
type GroupInfo struct {
	Name             string `json:"name"`
	InstanceType     string `json:"instanceType,omitempty"`
	Accelerator      string `json:"accelerator,omitempty"`
	AcceleratorCount int64  `json:"acceleratorCount"`
	Devices          string `json:"devices"`
	// Size is what was asked for or exists; Ready, Upcoming, Failed and Deleting are
	// registered nodes; Unregistered were asked for and have not registered.
	Size         int64                       `json:"size"`
	Min          int64                       `json:"minSize"`
	Max          int64                       `json:"maxSize"`
	Ready        int64                       `json:"ready"`
	Upcoming     int64                       `json:"upcoming"`
	Unregistered int64                       `json:"unregistered"`
	Failed       int64                       `json:"failed"`
	Deleting     int64                       `json:"deleting"`
	Room         int64                       `json:"room"`
	PricePerHour configv1alpha1.MicroDollars `json:"pricePerHour"`
	PriceKnown   bool                        `json:"priceKnown"`
	CapacityType string                      `json:"capacityType"`
	Priority     int64                       `json:"priority"`
	GrowsFor     string                      `json:"growsFor"`
	Unit         int64                       `json:"unit"`
	// Topology is the promise of new nodes, outermost level first.
	Topology []configv1alpha1.TopologyLevel `json:"topology,omitempty"`
	// Template is what a new node offers, and where that is known from.
	Template TemplateInfo `json:"template"`
	Health   string       `json:"health"`
	// Problems are one clause each: blocked growth, and nodes that are not ready.
	Problems []string `json:"problems,omitempty"`
}

// TemplateInfo is an empty new node.
type TemplateInfo struct {
	Allocatable map[string]string `json:"allocatable"`
	Labels      map[string]string `json:"labels"`
	Taints      []string          `json:"taints,omitempty"`
	Sources     []string          `json:"sources"`
	// ResourceSlices are what a node of a group with devices: dra publishes, before it has
	// a name. SlicesFrom says where they are known from; "" where they are not.
	ResourceSlices []resourcev1.ResourceSliceSpec `json:"resourceSlices,omitempty"`
	SlicesFrom     string                         `json:"slicesFrom,omitempty"`
}

// Inspect returns the groups of a configuration in the state that the nodes show, and the
// warnings that a plan of the same input has. The error is an InputError.
func Inspect(snap *snapshot.Snapshot, configuration *configv1alpha1.AutoscalerConfiguration, now time.Time) ([]GroupInfo, []string, error) {
	d, err := newDecision(snap, configuration, now, Options{})
	if err != nil {
		return nil, nil, err
	}
	return Groups(d.groups, now), d.warnings, nil
}

// Groups describes groups for people and scripts, in their order.
func Groups(statuses []nodegroups.Status, now time.Time) []GroupInfo {
	out := make([]GroupInfo, 0, len(statuses))
	for i := range statuses {
		out = append(out, describe(&statuses[i], now))
	}
	return out
}

func describe(s *nodegroups.Status, now time.Time) GroupInfo {
	g := GroupInfo{
		Name: s.Name, InstanceType: s.InstanceType, Accelerator: s.Accelerator, AcceleratorCount: s.AcceleratorCount,
		Devices: string(s.Devices), Size: s.Target, Min: s.MinSize, Max: s.MaxSize, Unregistered: s.Unregistered, Room: s.Room(now),
		PricePerHour: s.Price, PriceKnown: s.PriceKnown, CapacityType: string(s.CapacityType), Priority: s.Priority,
		GrowsFor: string(configv1alpha1.GrowsForAccelerators), Unit: s.Unit, Topology: s.Topology, Health: "Healthy",
		Template: TemplateInfo{Allocatable: map[string]string{}, Labels: s.Template.Labels, Sources: s.Template.Sources,
			ResourceSlices: s.Template.Slices, SlicesFrom: s.Template.SliceSource},
	}
	if s.GrowsForAny {
		g.GrowsFor = string(configv1alpha1.GrowsForAny)
	}
	for name, q := range s.Template.Allocatable {
		g.Template.Allocatable[string(name)] = q.String()
	}
	for _, t := range s.Template.Taints {
		g.Template.Taints = append(g.Template.Taints, t.ToString())
	}
	for _, n := range s.Nodes {
		switch n.State {
		case nodegroups.Ready:
			g.Ready++
			continue
		case nodegroups.Upcoming:
			g.Upcoming++
		case nodegroups.Failed:
			g.Failed++
			g.Health = "Degraded"
		case nodegroups.Deleting:
			g.Deleting++
		}
		g.Problems = append(g.Problems, fmt.Sprintf("node %s %s (%s)", n.Node.Name, n.Why, n.State))
	}
	for _, r := range s.Blocked(now) {
		g.Health = map[v1alpha1.Code]string{v1alpha1.Backoff: "Backoff", v1alpha1.WindowClosed: "Closed"}[r.Code]
		g.Problems = append(g.Problems, r.Text)
	}
	return g
}

// facts are the lines of an explanation.
func (g *GroupInfo) facts() []Fact {
	price := g.PricePerHour.Dollars() + " an hour and node"
	switch {
	case !g.PriceKnown && g.PricePerHour == 0:
		price = "unknown"
	case !g.PriceKnown:
		price = "about " + price
	}
	out := []Fact{
		{"sizes", fmt.Sprintf("%d (minimum %d, maximum %d): %d ready, %d upcoming, %d not registered, %d failed", g.Size, g.Min, g.Max, g.Ready, g.Upcoming, g.Unregistered, g.Failed)},
		{"may grow by", count(g.Room, "node")},
		{"price", price},
		{"template", strings.Join(g.Template.Sources, "; ")},
	}
	if g.Accelerator != "" {
		out = append(out, Fact{"accelerator", fmt.Sprintf("%d x %s (%s)", g.AcceleratorCount, g.Accelerator, g.Devices)})
	}
	if devices := g.deviceCounts(); devices != "" {
		out = append(out, Fact{"devices", devices})
	}
	for _, name := range slices.Sorted(maps.Keys(g.Template.Allocatable)) {
		out = append(out, Fact{"offers", name + " " + readable(name, resource.MustParse(g.Template.Allocatable[name]))})
	}
	for _, p := range g.Problems {
		out = append(out, Fact{"problem", p})
	}
	return out
}

// deviceCounts are the devices that a new node publishes, by driver in the template's
// order, and where they are known from; "" for groups with device plugins.
func (g *GroupInfo) deviceCounts() string {
	if g.Devices != string(configv1alpha1.DevicesDRA) {
		return ""
	}
	var drivers []string
	devices := map[string]int{}
	for i := range g.Template.ResourceSlices {
		s := &g.Template.ResourceSlices[i]
		if !slices.Contains(drivers, s.Driver) {
			drivers = append(drivers, s.Driver)
		}
		devices[s.Driver] += len(s.Devices)
	}
	if len(drivers) == 0 {
		return "unknown"
	}
	for i, driver := range drivers {
		drivers[i] = fmt.Sprintf("%d x %s", devices[driver], driver)
	}
	return fmt.Sprintf("%s (%s)", strings.Join(drivers, ", "), g.Template.SlicesFrom)
}
