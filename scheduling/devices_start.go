package scheduling

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling/internal/devices"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
	"tidegate.io/autoscaler/snapshot"
)

func (s *Session) kubeDevices() *kubesched.Devices {
	if s.devices == nil {
		return nil
	}
	return s.devices.kube
}

// prepareDevices makes the views of all nodes and templates known, and with them the
// measures by which packings are bounded. They become the last entries of all vectors.
func (s *Session) prepareDevices(snap *snapshot.Snapshot) {
	m := s.devices
	if m == nil {
		return
	}
	backed := map[corev1.ResourceName]bool{}
	for i := range s.Kinds {
		for _, name := range s.Kinds[i].backed {
			backed[name] = true
		}
	}
	m.backed = slices.Sorted(maps.Keys(backed))
	m.backed = m.backed[:min(len(m.backed), mostBacked)]
	_, m.network = m.store.Give(m.network, m.network, m.net)
	m.base = m.network
	plugin := uint64(0)
	for i := range s.Groups {
		object := s.Groups[i].Template.Node(s.Groups[i].Name, nil)
		room, _ := m.room(object, m.promised(&s.Groups[i], object.Name), kubesched.Allocatable(object))
		plugin |= room.plugin
	}
	for _, n := range snap.Nodes() {
		room, _ := m.room(n, m.own[n.Name], kubesched.Allocatable(n))
		plugin |= room.plugin
	}
	for i := range s.Kinds {
		if m.store.HasNetwork() && s.Kinds[i].asksDevices() {
			s.Kinds[i].Dynamic = true
		}
	}
	least := make([]devices.Demand, len(s.Kinds))
	for i := range s.Kinds {
		least[i] = s.leastDemand(i, plugin)
	}
	m.store.Measure()
	for i := range s.Kinds {
		s.Kinds[i].Request = append(s.Kinds[i].Request, m.store.Use(least[i])...)
	}
}

// leastDemand are the claims that a pod of the kind needs on every node: not those that
// others may have allocated, nor extended resources that a plugin offers somewhere.
func (s *Session) leastDemand(kind int, plugin uint64) devices.Demand {
	k := &s.Kinds[kind]
	if k.problem != "" || !k.asksDevices() {
		return 0
	}
	var claims []*resourcev1.ResourceClaim
	for i := range k.uses {
		if k.uses[i].shared == "" {
			claims = append(claims, k.uses[i].claim)
		}
	}
	if extended, problem := s.extended(kind, plugin); extended != nil && problem == "" {
		claims = append(claims, extended)
	}
	return s.devices.store.DemandOf(claims)
}

// offered is what a node offers: its allocatable, and room for the measures of devices. A
// resource that device classes serve is no bound where no plugin counts it.
func (s *Session) offered(offers kubesched.Resources) Vector {
	v := s.dims.vector(offers)
	if s.devices == nil {
		return v
	}
	for i, name := range s.dims {
		if offers[name] == 0 && slices.Contains(s.devices.backed, name) {
			v[i] = devices.Plenty
		}
	}
	return append(v, make(Vector, s.devices.store.Measures())...)
}

// showDevices sets the entries of a vector that measure devices.
func (s *Session) showDevices(free Vector, room DeviceRoom) {
	if s.devices != nil {
		copy(free[len(s.dims):], s.devices.store.Free(room.state))
	}
}

// promised are the slices that a node of the group will publish, with the taints that
// rules will put on them.
func (m *simulation) promised(g *nodegroups.Status, node string) []*resourcev1.ResourceSlice {
	return m.kube.WithTaintRules(g.Template.ResourceSlices(node), m.rules)
}

// roomOf are the devices of a registered node: its own slices, or those that its template
// promises while it is on its way.
func (s *Session) roomOf(n *corev1.Node, group int, state State, offers kubesched.Resources) (DeviceRoom, devices.Names) {
	if s.devices == nil {
		return DeviceRoom{}, nil
	}
	own := s.devices.own[n.Name]
	if state == Upcoming {
		if promised := s.devices.promised(&s.Groups[group], n.Name); len(promised) > 0 {
			own = promised
		}
	}
	return s.devices.room(n, own, offers)
}

// occupy takes what a pod on a node has of devices without an allocated claim in the
// input that says so: claims of DaemonSets on new nodes, and of hand-written pods. What
// finds no devices is left out.
func (s *Session) occupy(room *DeviceRoom, p *corev1.Pod, node *corev1.Node) {
	m := s.devices
	if m == nil || len(p.Spec.ResourceClaims) == 0 && len(m.backed) == 0 {
		return
	}
	var claims []*resourcev1.ResourceClaim
	var names []string // of shared claims among them
	for _, u := range m.reader.read(p).uses {
		if c := m.shared[u.shared]; u.shared != "" && c != nil {
			continue
		}
		claims, names = append(claims, u.claim), append(names, u.shared)
	}
	claims = append(claims, m.unclaimed(p, room.plugin)...)
	if len(claims) == 0 {
		return
	}
	o := m.store.Allocate(room.state, m.network, m.store.DemandOf(claims))
	if !o.Fits {
		return
	}
	room.state, m.network = o.State, o.Network
	for i, name := range names {
		if name != "" {
			a := o.Results[i]
			a.NodeSelector = named(a.NodeSelector, node.Name)
			m.shared[name] = &sharedClaim{allocation: &a, fixed: true, node: -1}
		}
	}
}

// unclaimed is the claim for extended resources of a pod on a node, where the input holds
// no such claim.
func (m *simulation) unclaimed(p *corev1.Pod, plugin uint64) []*resourcev1.ResourceClaim {
	if x := p.Status.ExtendedResourceClaimStatus; x != nil && m.reader.claims[p.Namespace+"/"+x.ResourceClaimName] != nil {
		return nil
	}
	requests := kubesched.Requests(p)
	var byPlugin []corev1.ResourceName
	asks := false
	for i, name := range m.backed {
		if plugin&(1<<i) != 0 {
			byPlugin = append(byPlugin, name)
		} else if requests[name] > 0 {
			asks = true
		}
	}
	if !asks {
		return nil
	}
	c, err := m.kube.ExtendedClaim(p, byPlugin)
	if err != nil || c == nil {
		return nil // It could not run there: nothing is known of its devices.
	}
	c = c.DeepCopy()
	c.Status = resourcev1.ResourceClaimStatus{}
	return []*resourcev1.ResourceClaim{c}
}

// templatePlace is an empty new node of the group, as far as devices are concerned.
func (s *Session) templatePlace(group int) place {
	t := &s.templates[group]
	return place{room: t.room, name: t.object.Name, labels: t.object.Labels}
}
