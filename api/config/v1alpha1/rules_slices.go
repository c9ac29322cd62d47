package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules about resourceSlices: what an API server would refuse from a driver can't be published by a new node.

// maxDriverName is the API's limit.
const maxDriverName = resourcev1.DriverNameMaxLength

// slicesNeedDRA: with device plugins nobody reads the slices.
func slicesNeedDRA(group *NodeGroup, at *field.Path) []problem {
	if len(group.ResourceSlices) == 0 || group.Devices == DevicesDRA {
		return nil
	}
	return []problem{problemf(at.Child("resourceSlices"), "must be empty unless devices is dra, has %d", len(group.ResourceSlices))}
}

// slicesNameDriverAndPool. The pool may stay unnamed: where a driver has one pool it is named after the node.
func slicesNameDriverAndPool(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i := range group.ResourceSlices {
		slice, path := &group.ResourceSlices[i], at.Child("resourceSlices").Index(i)
		switch {
		case slice.Driver == "":
			problems = append(problems, problemf(path.Child("driver"), "is required"))
		case len(slice.Driver) > maxDriverName:
			problems = append(problems, problemf(path.Child("driver"), "must be at most %d characters long, is %d", maxDriverName, len(slice.Driver)))
		default:
			problems = append(problems, invalid(path.Child("driver"), slice.Driver, "driver's name", content.IsDNS1123Subdomain(slice.Driver))...)
		}
		if slice.Pool.Name == "" {
			continue
		}
		for part := range strings.SplitSeq(slice.Pool.Name, "/") {
			if messages := content.IsDNS1123Subdomain(part); len(messages) > 0 {
				problems = append(problems, invalid(path.Child("pool", "name"), slice.Pool.Name, "pool's name", messages)...)
				break
			}
		}
	}
	return problems
}

// slicesAreNodeLocal: they are those of one new node, whose name nobody knows yet.
func slicesAreNodeLocal(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	check := func(path *field.Path, name string, isSet bool) {
		if isSet {
			problems = append(problems, problemf(path.Child(name), "must be left out: the slices are those of each new node"))
		}
	}
	for i := range group.ResourceSlices {
		slice, path := &group.ResourceSlices[i], at.Child("resourceSlices").Index(i)
		check(path, "nodeName", slice.NodeName != nil)
		check(path, "nodeSelector", slice.NodeSelector != nil)
		check(path, "allNodes", slice.AllNodes != nil)
		check(path, "perDeviceNodeSelection", slice.PerDeviceNodeSelection != nil)
		for j := range slice.Devices {
			device, path := &slice.Devices[j], path.Child("devices").Index(j)
			check(path, "nodeName", device.NodeName != nil)
			check(path, "nodeSelector", device.NodeSelector != nil)
			check(path, "allNodes", device.AllNodes != nil)
		}
	}
	return problems
}

// slicesHoldOneKind: devices and the counters that they consume stand in slices of their own.
func slicesHoldOneKind(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i := range group.ResourceSlices {
		if slice := &group.ResourceSlices[i]; len(slice.Devices) > 0 && len(slice.SharedCounters) > 0 {
			problems = append(problems, problemf(at.Child("resourceSlices").Index(i).Child("sharedCounters"),
				"must stand in another slice of the pool than devices"))
		}
	}
	return problems
}

// slicesAreSmall keeps the API's limits on devices per slice.
func slicesAreSmall(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i := range group.ResourceSlices {
		slice := &group.ResourceSlices[i]
		most, because := resourcev1.ResourceSliceMaxDevices, ""
		if slices.ContainsFunc(slice.Devices, isElaborate) {
			most, because = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures, " where one has taints, consumes counters or has a list"
		}
		if len(slice.Devices) > most {
			problems = append(problems, problemf(at.Child("resourceSlices").Index(i).Child("devices"),
				"must be at most %d%s, are %d", most, because, len(slice.Devices)))
		}
	}
	return problems
}

// isElaborate says whether a device counts double against the limit.
func isElaborate(d resourcev1.Device) bool {
	if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 {
		return true
	}
	for _, a := range d.Attributes {
		if len(a.IntValues)+len(a.BoolValues)+len(a.StringValues)+len(a.VersionValues) > 0 {
			return true
		}
	}
	return false
}

// pool is one pool of a group: pools of one name and two drivers are two.
type pool struct{ driver, name string }

func poolOf(slice *resourcev1.ResourceSliceSpec) pool { return pool{slice.Driver, slice.Pool.Name} }

// deviceNamesAreUnique in a pool: a device is known by driver, pool and name.
func deviceNamesAreUnique(group *NodeGroup, at *field.Path) []problem {
	type device struct {
		pool
		name string
	}
	var problems []problem
	first := map[device]*field.Path{}
	for i := range group.ResourceSlices {
		slice := &group.ResourceSlices[i]
		for j := range slice.Devices {
			path, name := at.Child("resourceSlices").Index(i).Child("devices").Index(j).Child("name"), slice.Devices[j].Name
			id := device{poolOf(slice), name}
			switch earlier := first[id]; {
			case name == "":
				problems = append(problems, problemf(path, "is required"))
			case earlier != nil:
				problems = append(problems, problemf(path, "%s stands twice in the pool, first at %s", shorten(name), withoutGroup(earlier)))
			default:
				first[id] = path
				problems = append(problems, invalid(path, name, "device's name", content.IsDNS1123Label(name))...)
			}
		}
	}
	return problems
}

// withoutGroup is a path within the group that a complaint names anyway.
func withoutGroup(path *field.Path) string {
	_, rest, _ := splitGroupPath(pathText(path))
	return rest
}

// attributesHaveOneValue: a text or a number, not both, and not nothing.
func attributesHaveOneValue(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	for i := range group.ResourceSlices {
		for j := range group.ResourceSlices[i].Devices {
			attributes := group.ResourceSlices[i].Devices[j].Attributes
			for _, name := range slices.Sorted(maps.Keys(attributes)) {
				if n := countValues(attributes[name]); n != 1 {
					problems = append(problems, problemf(at.Child("resourceSlices").Index(i).Child("devices").Index(j).Child("attributes").Key(string(name)),
						"must have one of int, bool, string, version or a list of one of them, has %d", n))
				}
			}
		}
	}
	return problems
}

func countValues(a resourcev1.DeviceAttribute) int {
	count := 0
	for _, isSet := range []bool{
		a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if isSet {
			count++
		}
	}
	return count
}

// countersExist: what a device consumes is counted in its pool. A device that consumes an unknown counter makes its
// whole pool useless.
func countersExist(group *NodeGroup, at *field.Path) []problem {
	var problems []problem
	sets := map[pool]map[string]map[string]resourcev1.Counter{}
	for i := range group.ResourceSlices {
		slice := &group.ResourceSlices[i]
		known := sets[poolOf(slice)]
		if known == nil {
			known = map[string]map[string]resourcev1.Counter{}
			sets[poolOf(slice)] = known
		}
		for j := range slice.SharedCounters {
			set, path := &slice.SharedCounters[j], at.Child("resourceSlices").Index(i).Child("sharedCounters").Index(j).Child("name")
			if _, taken := known[set.Name]; taken {
				problems = append(problems, problemf(path, "%s stands twice in the pool", shorten(set.Name)))
			}
			problems = append(problems, invalid(path, set.Name, "counter set's name", content.IsDNS1123Label(set.Name))...)
			known[set.Name] = set.Counters
		}
	}
	for i := range group.ResourceSlices {
		slice := &group.ResourceSlices[i]
		for j := range slice.Devices {
			path := at.Child("resourceSlices").Index(i).Child("devices").Index(j).Child("consumesCounters")
			problems = append(problems, consumptionIsCounted(slice.Devices[j].ConsumesCounters, sets[poolOf(slice)], path)...)
		}
	}
	return problems
}

func consumptionIsCounted(consumed []resourcev1.DeviceCounterConsumption, sets map[string]map[string]resourcev1.Counter, at *field.Path) []problem {
	var problems []problem
	for i := range consumed {
		counters, isKnown := sets[consumed[i].CounterSet]
		if !isKnown {
			problems = append(problems, problemf(at.Index(i).Child("counterSet"), "%s is not among the sharedCounters of the pool", shorten(consumed[i].CounterSet)))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(consumed[i].Counters)) {
			if _, isKnown := counters[name]; !isKnown {
				problems = append(problems, problemf(at.Index(i).Child("counters").Key(name), "is not a counter of %s", shorten(consumed[i].CounterSet)))
			}
		}
	}
	return problems
}
