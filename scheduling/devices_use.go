package scheduling

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"tidegate.io/autoscaler/scheduling/internal/devices"
)

// Device is a device that a pod got.
type Device struct {
	// Claim is the pod's name for the claim; for extended resources there is none.
	Claim                string
	Request              string
	Driver, Pool, Device string
	Consumed             map[resourcev1.QualifiedName]resource.Quantity
	// Shared: other claims may have the device, too, or other pods the claim.
	Shared bool
}

// Devices lists what the pods that this session placed on a node got, in their order.
func (s *Session) Devices(node int) [][]Device {
	n := &s.Nodes[node]
	if s.devices == nil {
		return nil
	}
	names := n.pools
	out := make([][]Device, len(n.Placed))
	for i, p := range n.Placed {
		k, g := &s.Kinds[p.Kind], &n.given[i]
		if g.outcome == nil {
			continue
		}
		if names == nil {
			names = s.poolNames(n)
		}
		result := 0
		for u := range k.uses {
			claim := p.Spec.ResourceClaims[k.uses[u].index].Name
			switch c := s.devices.shared[k.uses[u].shared]; {
			case c != nil && c.fixed:
				out[i] = appendDevices(out[i], claim, c.allocation.Devices.Results, true)
			case c != nil:
				out[i] = appendDevices(out[i], claim, names.Real(c.results), c.users > 1)
			default:
				out[i] = appendDevices(out[i], claim, names.Real(g.outcome.Results[result].Devices.Results), false)
			}
			if g.had&(1<<u) == 0 {
				result++
			}
		}
		for _, r := range g.outcome.Results[result:] {
			out[i] = appendDevices(out[i], "", names.Real(r.Devices.Results), false)
		}
	}
	return out
}

// poolNames are the names of a node's pools that came from a template.
func (s *Session) poolNames(n *Node) devices.Names {
	_, names := s.devices.store.View(s.Groups[n.Group].Template.Node(n.Name, nil), s.devices.promised(&s.Groups[n.Group], n.Name))
	return names
}

func appendDevices(out []Device, claim string, results []resourcev1.DeviceRequestAllocationResult, shared bool) []Device {
	for i := range results {
		r := &results[i]
		admin := r.AdminAccess != nil && *r.AdminAccess
		out = append(out, Device{Claim: claim, Request: r.Request, Driver: r.Driver, Pool: r.Pool, Device: r.Device,
			Consumed: r.ConsumedCapacity, Shared: shared || admin || r.ShareID != nil})
	}
	return out
}

// Room is what is left of the node's devices.
func (n *Node) Room() DeviceRoom { return n.room }

// TemplateRoom is what the devices of an empty new node of the group are.
func (s *Session) TemplateRoom(group int) DeviceRoom { return s.templates[group].room }

// AsksDevices says whether pods of the kind need devices.
func (s *Session) AsksDevices(kind int) bool { return s.Kinds[kind].asksDevices() }

// TakeDevices gives devices to up to n pods of a kind, one after the other, in this room.
// It returns what is left and how many got theirs. It is not for kinds that are Dynamic.
func (s *Session) TakeDevices(kind int, room DeviceRoom, n int64) (DeviceRoom, int64) {
	if !s.Kinds[kind].asksDevices() {
		return room, n
	}
	for i := range n {
		g, problem := s.allocate(kind, place{room: room})
		if problem != "" || !g.outcome.Fits {
			return room, i
		}
		if g.outcome.State == room.state {
			return room, n // Nothing is reserved: any number fits.
		}
		room.state = g.outcome.State
	}
	return room, n
}

// FreeBefore is what was free on a node before this session put pods there.
func (s *Session) FreeBefore(node int) Vector {
	n := &s.Nodes[node]
	free := slices.Clone(n.Free)
	for _, p := range n.Placed {
		free.sub(s.Kinds[p.Kind].Request, -1)
	}
	if s.devices != nil {
		copy(free[len(s.dims):], s.devices.store.Free(n.start))
	}
	return free
}

// whyNoDevices says why an empty new node of the group has no devices for the kind; ""
// when it has, or none are asked for.
func (s *Session) whyNoDevices(kind, group int) string {
	if !s.Kinds[kind].asksDevices() {
		return ""
	}
	at := s.templatePlace(group)
	g, problem := s.allocate(kind, at)
	switch {
	case problem != "":
		return problem
	case g.outcome.Fits:
		return ""
	}
	d, _ := s.demand(kind, g.had, at.room.plugin)
	return s.devices.store.Explain(at.room.state, s.devices.network, d)
}

// DeviceSearches counts how often the allocator was asked so far.
func (s *Session) DeviceSearches() int {
	if s.devices == nil {
		return 0
	}
	return s.devices.store.Searches()
}
