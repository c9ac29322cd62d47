package nodegroups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups/catalog"
)

// LabelNodeGroup on a node names its group.
const LabelNodeGroup = "tidegate.io/node-group"

// defaultPods is the pod capacity of a node whose configuration names none: kubelet's
// own default (--max-pods).
const defaultPods = 110

// Group is one node group, complete: what the configuration leaves out is filled from
// the catalogue. Groups are values and never change.
type Group struct {
	Name         string
	InstanceType string
	// Accelerator is the canonical name of the device, "" for none.
	Accelerator string
	// AcceleratorCount is the number of physical devices of one node.
	AcceleratorCount int64
	// AcceleratorResources are the extended resources that stand for the devices.
	AcceleratorResources []corev1.ResourceName
	Devices              configv1alpha1.Devices
	MinSize, MaxSize     int64
	// Size is the number of nodes asked of the provider; -1 when only the nodes say.
	Size int64
	// Unit is the number of nodes that come and go together, at least 1.
	Unit         int64
	CapacityType configv1alpha1.CapacityType
	Zones        []string
	// Price of one node, per hour. Where nobody said what the group costs, PriceKnown is
	// false and Price is, in this order:
	//  1. for a spot group, the on-demand price of the catalogue;
	//  2. the highest known price of the configuration: a group must never win because
	//     nobody said what it costs;
	//  3. 0, when no group of the configuration has a known price.
	Price      configv1alpha1.MicroDollars
	PriceKnown bool
	Priority   int64
	Topology   []configv1alpha1.TopologyLevel
	// GrowsForAny: pods without accelerators may make the group grow, too.
	GrowsForAny   bool
	Delay         time.Duration
	Timeout       time.Duration
	Atomic        bool
	BackoffUntil  time.Time
	StartupTaints []string
	Available     []configv1alpha1.Availability
	Template      Template

	selector labels.Selector
	// priceAssumed: Price is the highest known one of the other groups.
	priceAssumed bool
}

// Template is a new node of a group before it has a name, a place and DaemonSets.
type Template struct {
	Labels map[string]string
	Taints []corev1.Taint
	// Allocatable is what pods and DaemonSets may use.
	Allocatable corev1.ResourceList
	// Slices are what a new node of a `devices: dra` group publishes: bound to the node,
	// which they do not name, and each pool complete. Pool names tell a driver's
	// pools apart and may be "". nil for groups with device plugins, and
	// where nothing is known. Read-only, as the devices are shared.
	Slices []resourcev1.ResourceSliceSpec
	// SliceSource says where Slices come from: "configuration", "node NAME" or
	// "catalogue: p5.48xlarge"; "" when nothing is known.
	SliceSource string
	// Sources say where each part comes from, for people.
	Sources []string
	// declared are the resources that the configuration states itself; nothing learnt
	// from nodes changes them.
	declared map[corev1.ResourceName]bool
}

// New builds the groups of a configuration in its order. Errors name the field.
func New(c *configv1alpha1.AutoscalerConfiguration) ([]Group, error) {
	var out []Group
	var all field.ErrorList
	for i := range c.NodeGroups {
		g, errs := newGroup(&c.NodeGroups[i], field.NewPath("nodeGroups").Index(i))
		all = append(all, errs...)
		out = append(out, g)
	}
	if len(all) > 0 {
		return nil, all.ToAggregate()
	}
	assumePrices(out)
	return out, nil
}

// assumePrices gives groups without any price the highest known one.
//
// Worked example: a at $2, b at $98, c unknown: c counts as $98.
func assumePrices(groups []Group) {
	var dearest configv1alpha1.MicroDollars
	known := false
	for i := range groups {
		if groups[i].PriceKnown {
			dearest, known = max(dearest, groups[i].Price), true
		}
	}
	for i := range groups {
		if g := &groups[i]; known && !g.PriceKnown && g.Price == 0 {
			g.Price, g.priceAssumed = dearest, true
		}
	}
}

func newGroup(c *configv1alpha1.NodeGroup, path *field.Path) (Group, field.ErrorList) {
	g := Group{
		Name: c.Name, InstanceType: c.InstanceType, Accelerator: c.Accelerator, Devices: c.Devices,
		MinSize: c.MinSize, MaxSize: c.MaxSize, Size: -1, Unit: max(c.Unit, 1),
		CapacityType: c.CapacityType, Zones: slices.Clone(c.Zones), Priority: c.Priority,
		Topology: slices.Clone(c.Topology), Delay: c.Provisioning.Delay.Duration,
		Timeout: c.Provisioning.Timeout.Duration, Atomic: c.Provisioning.Atomic,
		StartupTaints: slices.Clone(c.StartupTaints), Available: slices.Clone(c.Available),
	}
	if c.Size != nil {
		g.Size = *c.Size
	}
	if c.BackoffUntil != nil {
		g.BackoffUntil = c.BackoffUntil.Time
	}
	machine, errs := fromCatalogue(c, path)
	g.fillAccelerator(c, machine)
	g.fillPrice(c, machine)
	errs = append(errs, g.fillTemplate(c, machine, path)...)
	g.GrowsForAny = c.GrowsFor == configv1alpha1.GrowsForAny || c.GrowsFor == "" && g.AcceleratorCount == 0
	g.selector = labels.Nothing()
	if c.Selector != nil {
		s, err := metav1.LabelSelectorAsSelector(c.Selector)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("selector"), c.Name, err.Error()))
		} else {
			g.selector = s
		}
	}
	return g, errs
}

func fromCatalogue(c *configv1alpha1.NodeGroup, path *field.Path) (*catalog.Machine, field.ErrorList) {
	if c.InstanceType == "" {
		return nil, nil
	}
	m, ok := catalog.Lookup(c.InstanceType)
	if ok {
		return &m, nil
	}
	_, hasCPU := c.Capacity[corev1.ResourceCPU]
	_, hasMemory := c.Capacity[corev1.ResourceMemory]
	if hasCPU && hasMemory {
		return nil, nil // An unknown machine that is described in full is as good as a known one.
	}
	detail := fmt.Sprintf("group %s: not in the catalogue; state capacity (cpu, memory and the accelerator resource) instead", c.Name)
	if near := catalog.Suggest(c.InstanceType); len(near) > 0 {
		detail += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, field.ErrorList{field.Invalid(path.Child("instanceType"), c.InstanceType, detail)}
}

func (g *Group) fillAccelerator(c *configv1alpha1.NodeGroup, m *catalog.Machine) {
	if m != nil && g.Accelerator == "" {
		g.Accelerator = m.Accelerator
	}
	switch {
	case c.AcceleratorCount != nil:
		g.AcceleratorCount = *c.AcceleratorCount
	case m != nil:
		g.AcceleratorCount = m.AcceleratorCount
	case g.Accelerator != "":
		for name, q := range c.Capacity {
			if IsAccelerator(name) {
				g.AcceleratorCount = max(g.AcceleratorCount, q.Value()/max(c.Sharing.Replicas, 1))
			}
		}
	}
}

func (g *Group) fillPrice(c *configv1alpha1.NodeGroup, m *catalog.Machine) {
	switch {
	case c.PricePerHour != nil:
		g.Price, g.PriceKnown = *c.PricePerHour, true
	case m != nil && c.CapacityType != configv1alpha1.Spot:
		// The catalogue holds on-demand prices; a spot price changes by the hour.
		g.Price, g.PriceKnown = m.PricePerHour, m.PriceKnown
	case m != nil:
		g.Price, g.PriceKnown = m.PricePerHour, false
	}
}

// fillTemplate puts the new node together: catalogue first, configuration on top, then
// the names that every node of the group carries.
func (g *Group) fillTemplate(c *configv1alpha1.NodeGroup, m *catalog.Machine, path *field.Path) field.ErrorList {
	t := Template{Labels: map[string]string{}, Allocatable: corev1.ResourceList{}, declared: map[corev1.ResourceName]bool{}}
	replicas := max(c.Sharing.Replicas, 1)
	if m != nil {
		maps.Copy(t.Labels, m.Labels)
		maps.Copy(t.Allocatable, m.Allocatable())
		if g.Devices == configv1alpha1.DevicesDRA {
			// The cores of a Neuron device are no resource either where it is in a slice.
			maps.DeleteFunc(t.Allocatable, func(name corev1.ResourceName, _ resource.Quantity) bool { return IsAccelerator(name) })
		} else if m.Resource != "" {
			t.Allocatable[m.Resource] = *resource.NewQuantity(g.AcceleratorCount*replicas, resource.DecimalSI)
		}
		t.Sources = append(t.Sources, "catalogue: "+m.Name)
	}
	for name, q := range c.Capacity {
		t.Allocatable[name] = q.DeepCopy()
		t.declared[name] = true
	}
	if len(c.Capacity) > 0 {
		t.Sources = append(t.Sources, "configuration: capacity")
	}
	if _, ok := t.Allocatable[corev1.ResourcePods]; !ok {
		t.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	maps.Copy(t.Labels, c.Labels)
	t.Labels[LabelNodeGroup] = g.Name
	if len(g.Zones) == 1 {
		t.Labels[corev1.LabelTopologyZone] = g.Zones[0]
	}
	for _, taint := range c.Taints {
		if !slices.Contains(g.StartupTaints, taint.Key) {
			t.Taints = append(t.Taints, taint)
		}
	}
	g.Template = t
	g.fillSlices(c, m)
	return g.share(replicas, path)
}

// share finds the accelerator resources and sees that shared devices are counted once
// as devices and `replicas` times as what pods may ask for.
//
// Worked example: acceleratorCount 1 and sharing.replicas 4 offer nvidia.com/gpu: 4,
// whether the capacity says "1" (devices) or "4" (as offered).
func (g *Group) share(replicas int64, path *field.Path) field.ErrorList {
	if g.AcceleratorCount == 0 || g.Devices == configv1alpha1.DevicesDRA {
		return nil
	}
	offered := g.AcceleratorCount * replicas
	var errs field.ErrorList
	names := slices.Sorted(maps.Keys(g.Template.Allocatable))
	known := slices.ContainsFunc(names, IsAccelerator)
	for _, name := range names {
		q := g.Template.Allocatable[name]
		if known && !IsAccelerator(name) || !known && !(strings.Contains(string(name), "/") && q.Value() == offered) {
			continue
		}
		g.AcceleratorResources = append(g.AcceleratorResources, name)
		if replicas == 1 || q.Value() == offered {
			continue
		}
		if q.Value() != g.AcceleratorCount {
			errs = append(errs, field.Invalid(path.Child("capacity").Key(string(name)), q.String(), fmt.Sprintf(
				"group %s: with acceleratorCount %d and sharing.replicas %d it must be %d (devices) or %d (as offered)",
				g.Name, g.AcceleratorCount, replicas, g.AcceleratorCount, offered)))
		}
		g.Template.Allocatable[name] = *resource.NewQuantity(offered, resource.DecimalSI)
	}
	if len(g.AcceleratorResources) == 0 && len(errs) == 0 {
		errs = append(errs, field.Required(path.Child("capacity"), fmt.Sprintf(
			"group %s: %d x %s, but no extended resource offers them; add for example nvidia.com/gpu: %q", g.Name, g.AcceleratorCount, g.Accelerator, fmt.Sprint(offered))))
	}
	return errs
}

// IsAccelerator says whether a resource name stands for accelerator devices, by the
// names that device plugins register (NVIDIA and its MIG profiles, AMD, AWS Neuron,
// Google TPU, Intel Gaudi and GPUs, Azure's DirectX).
func IsAccelerator(name corev1.ResourceName) bool {
	switch name {
	case "nvidia.com/gpu", "nvidia.com/gpu.shared", "amd.com/gpu", "google.com/tpu", "habana.ai/gaudi",
		"aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice",
		"gpu.intel.com/xe", "gpu.intel.com/i915", "microsoft.com/directx":
		return true
	}
	return strings.HasPrefix(string(name), "nvidia.com/mig-")
}

// Accelerators are the physical devices of a node that belongs to no group, by what the
// catalogue knows of its instance type; "" and 0 when that is unknown or has none. The
// node's own number counts where it shows one: the larger of allocatable and capacity,
// since a device that is ill is still there. A node that shows none, because its device
// plugin is gone or the devices are cut into MIG profiles, has them all the same.
func Accelerators(n *corev1.Node) (name string, count int64) {
	instanceType := n.Labels[corev1.LabelInstanceTypeStable]
	if instanceType == "" {
		instanceType = n.Labels[corev1.LabelInstanceType]
	}
	m, ok := catalog.Lookup(instanceType)
	if !ok || m.Accelerator == "" {
		return "", 0
	}
	allocatable, capacity := n.Status.Allocatable[m.Resource], n.Status.Capacity[m.Resource]
	if count = max(allocatable.Value(), capacity.Value()); count > 0 {
		return m.Accelerator, count
	}
	return m.Accelerator, m.AcceleratorCount
}

// NodeLabels are the labels of the imagined node of this name in these topology domains.
func (t Template) NodeLabels(name string, domains map[string]string) map[string]string {
	out := make(map[string]string, len(t.Labels)+len(domains)+1)
	maps.Copy(out, t.Labels)
	out[corev1.LabelHostname] = name
	maps.Copy(out, domains)
	return out
}

// Node makes the imagined node of this name from the template, Ready and empty.
func (t Template) Node(name string, domains map[string]string) *corev1.Node {
	n := &corev1.Node{}
	n.Name = name
	n.Labels = t.NodeLabels(name, domains)
	n.Spec.Taints = t.Taints
	n.Status.Allocatable = t.Allocatable
	n.Status.Capacity = t.Allocatable
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// Warnings are the doubtful things of a configuration that do not stop a decision:
// groups without a price in their order, groups of whose devices nothing is known, then
// limits on accelerators that bind nothing. Groups as Observe returns them have learnt
// what their nodes publish.
func Warnings(groups []Group, limits configv1alpha1.Limits) []string {
	out := slices.Concat(priceWarnings(groups), sliceWarnings(groups))
	for _, name := range slices.Sorted(maps.Keys(limits.Accelerators)) {
		if isAcceleratorName(groups, name) {
			continue
		}
		w := fmt.Sprintf("limits.accelerators: no node group has accelerator %q", name)
		if near := nearAccelerators(groups, name); len(near) > 0 {
			w += "; did you mean " + strings.Join(near, ", ") + "?"
		}
		out = append(out, w)
	}
	return out
}

func priceWarnings(groups []Group) []string {
	hasPrice := func(g Group) bool { return g.PriceKnown || g.Price > 0 }
	if len(groups) > 0 && !slices.ContainsFunc(groups, hasPrice) {
		return []string{"no node group has a price; cost decides nothing"}
	}
	var out []string
	for i := range groups {
		g := &groups[i]
		switch {
		case g.PriceKnown:
		case g.priceAssumed:
			out = append(out, fmt.Sprintf("node group %s has no price; it counts as dear as the dearest group, %s an hour and node", g.Name, g.Price.Dollars()))
		case g.Price > 0:
			out = append(out, fmt.Sprintf("node group %s is spot without pricePerHour; it counts at the on-demand price of %s", g.Name, g.Price.Dollars()))
		default:
			out = append(out, fmt.Sprintf("node group %s has no price, and no group has a certain one; it counts as free", g.Name))
		}
	}
	return out
}

// isAcceleratorName says whether a group or the catalogue has an accelerator of this
// name. One that only the catalogue has is no mistake: one list of limits may serve
// several clusters.
func isAcceleratorName(groups []Group, name string) bool {
	if name == "" {
		return false
	}
	return slices.ContainsFunc(groups, func(g Group) bool { return g.Accelerator == name }) ||
		slices.ContainsFunc(catalog.Names(), func(instanceType string) bool {
			m, ok := catalog.Lookup(instanceType)
			return ok && m.Accelerator == name
		})
}

// nearAccelerators are the groups' accelerators that an unknown name may mean, at most
// three, by name. Near is one of: it is a resource that stands for them; one name holds
// the other; at most a third of its letters have to change.
//
// Worked example: "nvidia.com/gpu", "H100" and "nvidia-h10-80gb" all may mean
// nvidia-h100-80gb.
func nearAccelerators(groups []Group, name string) []string {
	const most = 3
	asked := strings.ToLower(name)
	found := map[string]bool{}
	for i := range groups {
		g := &groups[i]
		known := strings.ToLower(g.Accelerator)
		if asked == "" || known == "" {
			continue
		}
		if slices.Contains(g.AcceleratorResources, corev1.ResourceName(name)) || strings.Contains(known, asked) ||
			strings.Contains(asked, known) || 3*editDistance(asked, known) <= len(asked) {
			found[g.Accelerator] = true
		}
	}
	near := slices.Sorted(maps.Keys(found))
	return near[:min(len(near), most)]
}

// editDistance is Levenshtein's: insertions, deletions and replacements of one byte each.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance of what was read of a to b[:j].
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
