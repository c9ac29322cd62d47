package openb

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// Labels and annotations of the objects made from a trace.
const (
	// LabelModel names the GPU model of a node, as the trace does.
	LabelModel = "openb.tidegate.io/gpu-model"
	// LabelQoS and LabelPhase keep what the trace says of a pod.
	LabelQoS   = "openb.tidegate.io/qos"
	LabelPhase = "openb.tidegate.io/phase"
	// AnnotationGPUMilli keeps the thousandths that a pod asked of each of its GPUs.
	AnnotationGPUMilli = "openb.tidegate.io/gpu-milli"

	labelNodeGroup = "tidegate.io/node-group"
	resourceGPU    = corev1.ResourceName("nvidia.com/gpu")
	// podsPerNode never binds: see the package comment.
	podsPerNode = 256
)

// group is a shape with its name and the number of machines that have it.
type group struct {
	name     string
	slug     string // of the model
	shape    shape
	machines int64
}

// groupMachines finds the shapes of a fleet, sorted by group name.
func groupMachines(machines []machine) []group {
	counts := map[shape]int64{}
	var models []string
	for _, m := range machines {
		counts[m.shape]++
		if m.shape.gpus > 0 {
			models = append(models, m.shape.model)
		}
	}
	slugs := modelSlugs(models)
	groups := make([]group, 0, len(counts))
	for s, count := range counts { // Sorted below, by unique names.
		slug := slugs[s.model]
		groups = append(groups, group{name: groupName(s, slug), slug: slug, shape: s, machines: count})
	}
	slices.SortFunc(groups, func(a, b group) int { return strings.Compare(a.name, b.name) })
	return groups
}

// groupName is unique for a shape, because slugs are unique for models and the parts can
// be told apart from the right.
func groupName(s shape, slug string) string {
	cpu, memory := fmt.Sprintf("%dm", s.cpuMilli), fmt.Sprintf("%dmi", s.memoryMiB)
	if s.cpuMilli%1000 == 0 {
		cpu = fmt.Sprintf("%dc", s.cpuMilli/1000)
	}
	if s.memoryMiB%1024 == 0 {
		memory = fmt.Sprintf("%dg", s.memoryMiB/1024)
	}
	if s.gpus == 0 {
		return fmt.Sprintf("cpu-%s-%s", cpu, memory)
	}
	return fmt.Sprintf("%s-%dx-%s-%s", slug, s.gpus, cpu, memory)
}

// modelSlugs gives each model a lower-case name that no other model has. "G2" is "g2";
// should the fleet have "g2" as well, that one, later in order, is "g2-2".
func modelSlugs(models []string) map[string]string {
	models = slices.Clone(models)
	slices.Sort(models)
	slugs, taken := map[string]string{}, map[string]struct{}{}
	for _, model := range slices.Compact(models) {
		base := strings.Map(func(r rune) rune {
			if r == '.' || r == '_' {
				return '-'
			}
			return r
		}, strings.ToLower(model))
		slug := base
		for n := 2; ; n++ {
			if _, used := taken[slug]; !used {
				break
			}
			slug = fmt.Sprintf("%s-%d", base, n)
		}
		slugs[model], taken[slug] = slug, struct{}{}
	}
	return slugs
}

// capacity is what a node of the group offers, devices in ResourceSlices apart.
func (g group) capacity(offered offer) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(g.shape.cpuMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(g.shape.memoryMiB<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	if g.shape.gpus > 0 && !offered.dra {
		list[resourceGPU] = *resource.NewQuantity(g.shape.gpus*offered.units, resource.DecimalSI)
	}
	return list
}

// configure writes the groups as a configuration. podCount is that of the whole table.
func configure(groups []group, podCount int, nodesName string, opts Options) (*configv1alpha1.AutoscalerConfiguration, error) {
	if err := checkPrices(groups, opts.Prices); err != nil {
		return nil, err
	}
	var fleet int64
	for _, g := range groups {
		fleet += g.machines
	}
	unlimited := int64(10_000)
	for unlimited < max(int64(podCount), fleet) {
		unlimited *= 10
	}
	configuration := &configv1alpha1.AutoscalerConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: configv1alpha1.APIVersion, Kind: configv1alpha1.Kind},
	}
	for _, g := range groups {
		price, known := machinePrice(g, opts.Prices)
		if !known {
			return nil, fmt.Errorf("%s: column model: no default price for %s; give one for it or for node group %s", nodesName, quoted(g.shape.model), g.name)
		}
		configured := configv1alpha1.NodeGroup{
			Name:         g.name,
			MaxSize:      unlimited,
			PricePerHour: &price,
			Capacity:     g.capacity(opts.offer()),
		}
		if opts.MaxSize == Fleet {
			configured.MaxSize = g.machines
		}
		if opts.At != nil {
			configured.Size = &g.machines
		}
		if g.shape.gpus > 0 {
			configured.Accelerator = "openb-" + g.slug
			configured.AcceleratorCount = &g.shape.gpus
			configured.Labels = map[string]string{LabelModel: g.shape.model}
			offerGPUs(&configured, g.shape, opts.offer())
		}
		configuration.NodeGroups = append(configuration.NodeGroups, configured)
	}
	return configuration, nil
}

// offerGPUs says how new nodes of a group with GPUs offer them, beyond its capacity.
func offerGPUs(configured *configv1alpha1.NodeGroup, s shape, offered offer) {
	switch {
	case offered.dra:
		configured.Devices = configv1alpha1.DevicesDRA
		configured.ResourceSlices = sliceSpecs(configured.Name, s, offered)
	case offered.shared():
		configured.Sharing.Replicas = offered.units
	}
}
