package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxPrice of one node per hour. The dearest machines on sale cost some hundreds of dollars; more is a slip of the point.
	maxPrice MicroDollars = 100_000 * 1e6
	// maxCapacity of one resource of one node, 1P: its thousandths still fit an int64.
	maxCapacity = 1e15
)

// nameIsLabelValue: the name becomes the value of the label tidegate.io/node-group. Clouds' names fit.
func nameIsLabelValue(group *NodeGroup, at *field.Path) []problem {
	if group.Name == "" {
		return []problem{problemf(at.Child("name"), "is required")}
	}
	return invalid(at.Child("name"), group.Name, "group's name", content.IsLabelValue(group.Name))
}

func sizesAreCounts(group *NodeGroup, at *field.Path) []problem {
	problems := slices.Concat(
		between(at.Child("minSize"), group.MinSize, 0, maxCount),
		between(at.Child("maxSize"), group.MaxSize, 0, maxCount),
		between(at.Child("unit"), group.Unit, 1, maxCount),
		between(at.Child("sharing", "replicas"), group.Sharing.Replicas, 1, maxCount),
	)
	if group.Size != nil {
		problems = append(problems, between(at.Child("size"), *group.Size, 0, maxCount)...)
	}
	if group.AcceleratorCount != nil {
		problems = append(problems, between(at.Child("acceleratorCount"), *group.AcceleratorCount, 0, maxCount)...)
	}
	return problems
}

// minSizeIsAtMostMaxSize. size may be above maxSize: someone has just lowered the maximum.
func minSizeIsAtMostMaxSize(group *NodeGroup, at *field.Path) []problem {
	if group.MaxSize < 0 || group.MinSize <= group.MaxSize {
		return nil
	}
	return []problem{problemf(at.Child("maxSize"), "must be at least minSize, which is %d, is %d", group.MinSize, group.MaxSize)}
}

// sizesAreWholeUnits: a group of 4-host slices can have 0, 4 or 8 nodes, never 6.
func sizesAreWholeUnits(group *NodeGroup, at *field.Path) []problem {
	if group.Unit <= 1 {
		return nil
	}
	var problems []problem
	if group.MinSize%group.Unit != 0 {
		problems = append(problems, problemf(at.Child("minSize"), "must be a multiple of unit, which is %d, is %d", group.Unit, group.MinSize))
	}
	if group.MaxSize%group.Unit != 0 {
		problems = append(problems, problemf(at.Child("maxSize"), "must be a multiple of unit, which is %d, is %d", group.Unit, group.MaxSize))
	}
	return problems
}

func priceIsInRange(group *NodeGroup, at *field.Path) []problem {
	at = at.Child("pricePerHour")
	switch price := group.PricePerHour; {
	case price == nil:
		return nil
	case *price < 0:
		return []problem{problemf(at, "must be at least 0, is %s", *price)}
	case *price > maxPrice:
		return []problem{problemf(at, "must be at most %s, is %s", maxPrice, *price)}
	default:
		return nil
	}
}

func capacityTypeIsKnown(group *NodeGroup, at *field.Path) []problem {
	return oneOf(at.Child("capacityType"), group.CapacityType, OnDemand, Spot, Reserved)
}

func devicesIsKnown(group *NodeGroup, at *field.Path) []problem {
	return oneOf(at.Child("devices"), group.Devices, DevicesPlugin, DevicesDRA)
}

func growsForIsKnown(group *NodeGroup, at *field.Path) []problem {
	if group.GrowsFor == "" {
		return nil // Whoever knows the catalogue sets it.
	}
	return oneOf(at.Child("growsFor"), group.GrowsFor, GrowsForAccelerators, GrowsForAny)
}

// acceleratorIsNamed: eight of what? Without a name no limit on accelerators could count them.
func acceleratorIsNamed(group *NodeGroup, at *field.Path) []problem {
	if group.AcceleratorCount == nil || *group.AcceleratorCount <= 0 || group.Accelerator != "" || group.InstanceType != "" {
		return nil
	}
	return []problem{problemf(at.Child("accelerator"), "is required with acceleratorCount where there is no instanceType")}
}

// acceleratorIsCounted: of a named accelerator there must be a number, from one place or another.
func acceleratorIsCounted(group *NodeGroup, at *field.Path) []problem {
	if group.Accelerator == "" || group.AcceleratorCount != nil || group.InstanceType != "" {
		return nil
	}
	for name := range group.Capacity {
		if isExtendedResource(name) {
			return nil
		}
	}
	return []problem{problemf(at.Child("acceleratorCount"),
		"is required with accelerator where there is neither an instanceType nor an extended resource in capacity")}
}

// shapeIsKnown: a new node's size comes from the catalogue or from the file. pods has a default, the kubelet's.
func shapeIsKnown(group *NodeGroup, at *field.Path) []problem {
	if group.InstanceType != "" {
		return nil
	}
	var problems []problem
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if _, isGiven := group.Capacity[name]; !isGiven {
			problems = append(problems, problemf(at.Child("capacity").Key(string(name)), "is required where there is no instanceType"))
		}
	}
	return problems
}

// capacityNamesAreResources: what pods can ask for is one of Kubernetes' own resources or has a domain.
// A bare `gpu` would be matched by no pod.
func capacityNamesAreResources(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for _, name := range slices.Sorted(maps.Keys(group.Capacity)) {
		path := at.Child("capacity").Key(string(name))
		messages := content.IsLabelKey(string(name))
		if len(messages) == 0 && !isNativeResource(name) && !strings.Contains(string(name), "/") {
			messages = []string{"must be cpu, memory, pods, ephemeral-storage, hugepages-<size> or have a domain, as nvidia.com/gpu"}
		}
		problems = append(problems, invalid(path, string(name), "resource's name", messages)...)
	}
	return problems
}

// capacityIsInRange: nothing negative, and no part of a device or of a pod.
func capacityIsInRange(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	most := resource.NewQuantity(maxCapacity, resource.DecimalSI)
	for _, name := range slices.Sorted(maps.Keys(group.Capacity)) {
		path, value := at.Child("capacity").Key(string(name)), group.Capacity[name]
		whole := resource.NewQuantity(value.Value(), resource.DecimalSI)
		switch {
		case value.Sign() < 0:
			problems = append(problems, problemf(path, "must be at least 0, is %s", value.String()))
		case value.Cmp(*most) > 0:
			problems = append(problems, problemf(path, "must be at most %s, is %s", most, value.String()))
		case whole.Cmp(value) != 0 && (isExtendedResource(name) || name == corev1.ResourcePods):
			problems = append(problems, problemf(path, "must be a whole number, is %s", value.String()))
		}
	}
	return problems
}

func isNativeResource(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// isExtendedResource says whether a device plugin stands behind the name, as behind nvidia.com/gpu.
func isExtendedResource(name corev1.ResourceName) bool {
	domain, _, hasDomain := strings.Cut(string(name), "/")
	return hasDomain && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// sharingNeedsPlugin: with ResourceSlices, sharing is the driver's business and shows in the slices.
func sharingNeedsPlugin(group *NodeGroup, at *field.Path) []problem {
	if group.Sharing.Replicas <= 1 || group.Devices != DevicesDRA {
		return nil
	}
	return []problem{problemf(at.Child("sharing", "replicas"), "must be 1 with devices: dra, is %d", group.Sharing.Replicas)}
}
