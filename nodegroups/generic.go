package nodegroups

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// learnSlices replaces what the catalogue says of a dra group's slices with those of a
// ready node, made generic. What the configuration states stays.
//
// The node is, in this order: the one with the most devices; the first by name.
func (s *Status) learnSlices(ready []*corev1.Node, p published) {
	if s.Devices != configv1alpha1.DevicesDRA || s.Template.SliceSource == sliceSourceConfiguration {
		return
	}
	example, most := -1, 0
	specs := make([][]resourcev1.ResourceSliceSpec, len(ready))
	for i, n := range ready {
		specs[i] = p.wholePools(n.Name)
		devices := countDevices(specs[i])
		if devices > most || devices == most && example >= 0 && n.Name < ready[example].Name {
			example, most = i, devices
		}
	}
	if example < 0 {
		return
	}
	var learnt []resourcev1.ResourceSliceSpec
	for i := range specs[example] {
		learnt = append(learnt, *specs[example][i].DeepCopy())
	}
	s.newGeneric(learnt, specs).apply(learnt)
	s.Template.Slices, s.Template.SliceSource = completePools(learnt), "node "+ready[example].Name
}

func countDevices(specs []resourcev1.ResourceSliceSpec) int {
	devices := 0
	for i := range specs {
		devices += len(specs[i].Devices)
	}
	return devices
}

// wholePools are the slices of a node's own complete pools, sorted by driver, pool and
// name, without the names of node and pool: a driver's only pool becomes "", and of
// several, the first "pool-1".
func (p published) wholePools(node string) []resourcev1.ResourceSliceSpec {
	own := map[poolID][]*resourcev1.ResourceSlice{}
	pools := map[string]int{} // by driver
	for _, s := range p.local[node] {
		own[poolOf(s)] = append(own[poolOf(s)], s)
	}
	ids := slices.SortedFunc(maps.Keys(own), poolID.compare)
	ids = slices.DeleteFunc(ids, func(id poolID) bool {
		newest, wanted := newestOf(own[id])
		own[id] = newest
		return int64(len(newest)) != wanted
	})
	for _, id := range ids {
		pools[id.driver]++
	}
	var out []resourcev1.ResourceSliceSpec
	number := 0
	for i, id := range ids {
		if number++; i > 0 && ids[i-1].driver != id.driver {
			number = 1
		}
		slices.SortFunc(own[id], func(a, b *resourcev1.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
		for _, s := range own[id] {
			spec := s.Spec
			spec.NodeName, spec.Pool.Name = nil, ""
			if pools[id.driver] > 1 {
				spec.Pool.Name = fmt.Sprintf("pool-%d", number)
			}
			out = append(out, spec)
		}
	}
	return out
}

// deviceID is one device of a template, the same on every node of the group.
type deviceID struct{ driver, pool, device string }

// generic makes one node's slices those of any node of its group.
//
// A value of an attribute is one machine's own where the ready nodes that have the device
// differ on it; where only one node has the device, by the attribute's name: see
// identifiesMachine. Such a text becomes "generic-1", "generic-2", … wherever the same
// attribute has it, in the order in which they first appear: two devices on one PCIe root
// stay on one, and no selector can match the name of the root. Such a number, truth value
// or version is left out.
//
// A taint is the group's only where two or more ready nodes have the device, and all of
// them with that taint.
type generic struct {
	byNode []map[deviceID]*resourcev1.Device
	// own are the values that stand for one machine; named is what they become.
	own   map[attributeValue]bool
	named map[attributeValue]string
}

// attributeValue is one text of an attribute under its full name.
type attributeValue struct{ attribute, value string }

func (s *Status) newGeneric(example []resourcev1.ResourceSliceSpec, nodes [][]resourcev1.ResourceSliceSpec) *generic {
	g := &generic{own: map[attributeValue]bool{}, named: map[attributeValue]string{}}
	for _, specs := range nodes {
		devices := map[deviceID]*resourcev1.Device{}
		for i := range specs {
			for j := range specs[i].Devices {
				d := &specs[i].Devices[j]
				devices[deviceID{specs[i].Driver, specs[i].Pool.Name, d.Name}] = d
			}
		}
		g.byNode = append(g.byNode, devices)
	}
	for i := range example {
		for j := range example[i].Devices {
			s.markOwn(g, &example[i], &example[i].Devices[j])
		}
	}
	return g
}

// markOwn drops a device's foreign taints and values, and notes which texts are one
// machine's own.
func (s *Status) markOwn(g *generic, spec *resourcev1.ResourceSliceSpec, d *resourcev1.Device) {
	same := g.everywhere(deviceID{spec.Driver, spec.Pool.Name, d.Name})
	d.Taints = slices.DeleteFunc(d.Taints, func(taint resourcev1.DeviceTaint) bool {
		return len(same) < 2 || slices.ContainsFunc(same, func(other *resourcev1.Device) bool { return !hasDeviceTaint(other, taint) })
	})
	for i := range d.Taints {
		d.Taints[i].TimeAdded = nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		value := d.Attributes[name]
		texts := textsOf(&value)
		if !s.isOwn(string(name), value, texts, same) {
			continue
		}
		if len(texts) == 0 {
			delete(d.Attributes, name)
		}
		for _, text := range texts {
			g.own[attributeValue{qualified(spec.Driver, name), text}] = true
		}
	}
}

// isOwn says whether a value of an attribute stands for one machine. The ready nodes that
// have the device say so by their values; one alone by the attribute's name, or where the
// text is the name of a node.
func (s *Status) isOwn(name string, value resourcev1.DeviceAttribute, texts []string, same []*resourcev1.Device) bool {
	if len(same) < 2 {
		return identifiesMachine(name) || slices.ContainsFunc(texts, func(text string) bool { return s.identifiesNode("", text) })
	}
	return slices.ContainsFunc(same, func(other *resourcev1.Device) bool {
		return !sameValue(value, other.Attributes[resourcev1.QualifiedName(name)])
	})
}

// everywhere is one device on all ready nodes that have it.
func (g *generic) everywhere(id deviceID) []*resourcev1.Device {
	var out []*resourcev1.Device
	for _, devices := range g.byNode {
		if d := devices[id]; d != nil {
			out = append(out, d)
		}
	}
	return out
}

func hasDeviceTaint(d *resourcev1.Device, taint resourcev1.DeviceTaint) bool {
	return slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
		return t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect
	})
}

// apply renames the texts that are one machine's own.
func (g *generic) apply(example []resourcev1.ResourceSliceSpec) {
	for i := range example {
		for j := range example[i].Devices {
			attributes := example[i].Devices[j].Attributes
			for _, name := range slices.Sorted(maps.Keys(attributes)) {
				value := attributes[name]
				full := qualified(example[i].Driver, name)
				if value.StringValue != nil {
					value.StringValue = new(g.rename(full, *value.StringValue))
				}
				for k, text := range value.StringValues {
					value.StringValues[k] = g.rename(full, text)
				}
				attributes[name] = value
			}
		}
	}
}

func (g *generic) rename(attribute, text string) string {
	key := attributeValue{attribute, text}
	if !g.own[key] {
		return text
	}
	if _, ok := g.named[key]; !ok {
		g.named[key] = fmt.Sprintf("generic-%d", len(g.named)+1)
	}
	return g.named[key]
}

// qualified is an attribute's full name: one without a domain belongs to the driver's.
func qualified(driver string, name resourcev1.QualifiedName) string {
	if strings.Contains(string(name), "/") {
		return string(name)
	}
	return driver + "/" + string(name)
}

// textsOf are the texts of a value, none for numbers, truth values and versions.
func textsOf(a *resourcev1.DeviceAttribute) []string {
	if a.StringValue != nil {
		return []string{*a.StringValue}
	}
	return a.StringValues
}

func sameValue(a, b resourcev1.DeviceAttribute) bool {
	return samePointed(a.IntValue, b.IntValue) && samePointed(a.BoolValue, b.BoolValue) &&
		samePointed(a.StringValue, b.StringValue) && samePointed(a.VersionValue, b.VersionValue) &&
		slices.Equal(a.IntValues, b.IntValues) && slices.Equal(a.BoolValues, b.BoolValues) &&
		slices.Equal(a.StringValues, b.StringValues) && slices.Equal(a.VersionValues, b.VersionValues)
}

func samePointed[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// identifiesMachine says by an attribute's name whether its value belongs to one machine:
// identities of devices and hosts, and addresses on buses and networks. What describes
// the inside of a machine, as pcieRoot and numaNode do, is the same on the next one.
func identifiesMachine(name string) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	switch name {
	case "mac", "macaddress", "ipv4", "ipv6", "host":
		return true
	}
	endings := [...]string{"uuid", "guid", "pcibusid", "pciaddress", "pciaddr", "hostname", "nodename"}
	return strings.Contains(name, "serial") ||
		slices.ContainsFunc(endings[:], func(ending string) bool { return strings.HasSuffix(name, ending) })
}
