package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/scheduling/internal/kubesched"
	"tidegate.io/autoscaler/snapshot"
)

// volumeLimits gives the new nodes of each group the CSINode of one of its ready nodes.
func volumeLimits(groups []nodegroups.Status, all []*storagev1.CSINode) []*storagev1.CSINode {
	byName := map[string]*storagev1.CSINode{}
	for _, c := range all {
		byName[c.Name] = c
	}
	out := make([]*storagev1.CSINode, len(groups))
	for i := range groups {
		for _, n := range groups[i].Nodes {
			if c := byName[n.Node.Name]; c != nil && n.State == nodegroups.Ready && out[i] == nil {
				out[i] = c
			}
		}
	}
	return out
}

// podsByNode lists the pods that take room on each node: bound ones that have not ended,
// and DaemonSet pods that wait for exactly that node.
func podsByNode(pods []*corev1.Pod) map[string][]*corev1.Pod {
	out := map[string][]*corev1.Pod{}
	for _, p := range pods {
		if snapshot.Ended(p) {
			continue
		}
		name := p.Spec.NodeName
		if name == "" && isDaemon(p) {
			name = daemonTarget(p)
		}
		if name != "" {
			out[name] = append(out[name], p)
		}
	}
	return out
}

// addNodes adds the registered nodes: ready ones as they are, upcoming ones with what
// their template promises. Failed nodes and nodes on their way out offer nothing, but
// what runs there still counts for pod affinity and spread.
func (s *Session) addNodes(nodes []*corev1.Node, daemons []daemon, bound map[string][]*corev1.Pod) error {
	type place struct {
		group int
		state nodegroups.NodeState
	}
	places := map[string]place{}
	for g := range s.Groups {
		for _, o := range s.Groups[g].Nodes {
			places[o.Node.Name] = place{g, o.State}
		}
	}
	for _, n := range nodes {
		at, grouped := places[n.Name]
		state, group := Existing, -1
		if grouped {
			group = at.group
		}
		pods := bound[n.Name]
		shut := !grouped && (nodegroups.Unready(n) || nodegroups.Leaving(n)) ||
			grouped && (at.state == nodegroups.Failed || at.state == nodegroups.Deleting)
		if grouped && at.state == nodegroups.Upcoming {
			state = Upcoming
			n = s.promised(n, group)
			missing, err := s.missingDaemons(n, daemons, pods)
			if err != nil {
				return err
			}
			pods = append(slices.Clip(pods), missing...)
		}
		if err := s.addNode(n, group, state, pods, shut); err != nil {
			return err
		}
	}
	return nil
}

// promised is a registered node as it will be when it is ready: without the taints and
// conditions of a start, with the accelerators of its template.
func (s *Session) promised(n *corev1.Node, group int) *corev1.Node {
	g := &s.Groups[group]
	c := n.DeepCopy()
	c.Spec.Taints = slices.DeleteFunc(c.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(g.StartupTaints, t.Key) || isLifecycleTaint(t.Key)
	})
	if c.Status.Allocatable == nil {
		c.Status.Allocatable = corev1.ResourceList{}
	}
	for name, q := range g.Template.Allocatable {
		if have, ok := c.Status.Allocatable[name]; !ok || have.IsZero() {
			c.Status.Allocatable[name] = q
		}
	}
	return c
}

// isLifecycleTaint says whether kubelet or a controller puts the taint on starting nodes
// and takes it away by itself.
func isLifecycleTaint(key string) bool {
	switch key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
		"node.cloudprovider.kubernetes.io/uninitialized":
		return true
	}
	return false
}

// addUnregistered adds the nodes that were asked for and have not registered. They fill
// up topology domains that are begun, as a resize does, and then new ones.
func (s *Session) addUnregistered() {
	for g := range s.Groups {
		for i := range s.Groups[g].Unregistered {
			domains := s.Domains.Next(g, nil, s.Groups[g].Name+"-upcoming")
			name := fmt.Sprintf("%s/upcoming-%d", s.Groups[g].Name, i+1)
			s.addTemplateNode(g, name, Upcoming, domains)
		}
	}
}

func (s *Session) addTemplateNode(group int, name string, state State, domains map[string]string) int {
	t := &s.templates[group]
	n := Node{Name: name, Group: group, State: state, Accelerators: t.accelerators,
		Free: slices.Clone(t.free), shape: t.shape, offer: t.offer, room: t.room, start: t.room.state}
	// The whole object is made only for those who look at it.
	if s.mirrored || s.shapes.perNode || len(domains) > 0 {
		n.object = s.Groups[group].Template.Node(name, domains)
		n.Labels = n.object.Labels
	} else {
		n.Labels = s.Groups[group].Template.NodeLabels(name, domains)
	}
	if s.shapes.perNode || len(domains) > 0 {
		n.shape = s.shapes.of(n.object)
	}
	s.Nodes = append(s.Nodes, n)
	s.Domains.Add(group, n.Labels)
	if s.mirrored {
		s.kube.AddNode(n.object, s.csiNode(group, name))
		for _, d := range t.daemons {
			// A DaemonSet pod of a template was parsed when the template was made.
			_ = s.kube.AddPod(d, name)
		}
	}
	return len(s.Nodes) - 1
}

func (s *Session) csiNode(group int, name string) *storagev1.CSINode {
	if s.csi[group] == nil {
		return nil
	}
	c := s.csi[group].DeepCopy()
	c.Name = name
	return c
}

// offerOf interns an allocatable vector.
func (s *Session) offerOf(v Vector) int {
	key := fmt.Sprint([]int64(v))
	if _, ok := s.offers[key]; !ok {
		s.offers[key] = len(s.offers)
	}
	return s.offers[key]
}

func offersAccelerators(r kubesched.Resources) bool {
	for name, n := range r {
		if n > 0 && nodegroups.IsAccelerator(name) {
			return true
		}
	}
	return false
}

func (s *Session) addNode(object *corev1.Node, group int, state State, pods []*corev1.Pod, isClosed bool) error {
	offers := kubesched.Allocatable(object)
	free := s.offered(offers)
	offer := s.offerOf(free)
	room, pools := s.roomOf(object, group, state, offers)
	for _, p := range pods {
		free.sub(s.dims.vector(kubesched.Usage(p)), 1)
		s.occupy(&room, p, object)
	}
	s.showDevices(free, room)
	s.Nodes = append(s.Nodes, Node{Name: object.Name, Group: group, State: state, Labels: object.Labels,
		Accelerators: offersAccelerators(offers) || len(pools) > 0, Free: free, shape: s.shapes.of(object), offer: offer, closed: isClosed, object: object,
		room: room, start: room.state, pools: pools})
	s.Domains.Add(group, object.Labels)
	if !s.mirrored {
		return nil
	}
	s.kube.AddNode(object, nil)
	for _, p := range pods {
		if err := s.kube.AddPod(p, object.Name); err != nil {
			return err
		}
	}
	return nil
}

// ForeignAccelerators are the devices of a node that belongs to no group, as far as its
// instance type is known.
func (s *Session) ForeignAccelerators(node int) (name string, count int64) {
	if s.Nodes[node].Group >= 0 {
		return "", 0
	}
	return nodegroups.Accelerators(s.Nodes[node].object)
}
