package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/plan"
	"tidegate.io/autoscaler/snapshot"
)

// checkPlan fails the test when a plan breaks a rule that holds for every plan. It reads
// the cluster itself: nothing of the session or the estimator is asked.
func checkPlan(t testing.TB, snap *snapshot.Snapshot, config *configv1alpha1.AutoscalerConfiguration, p *plan.Plan) {
	t.Helper()
	require.Empty(t, violations(t, snap, config, p))
}

func violations(t testing.TB, snap *snapshot.Snapshot, config *configv1alpha1.AutoscalerConfiguration, p *plan.Plan) []string {
	t.Helper()
	groups, err := nodegroups.New(config)
	require.NoError(t, err)
	status, _ := nodegroups.Observe(groups, snap.Nodes(), snap.ResourceSlices(), p.Time)
	c := &checker{
		snap: snap, config: config, plan: p, groups: map[string]*nodegroups.Status{}, units: map[string]*unit{}, unitOf: map[string]*unit{},
		pods: map[string]*corev1.Pod{}, placed: map[string]plan.Placement{}, nodes: map[string]*target{}, added: map[string]int64{},
	}
	for i := range status {
		c.groups[status[i].Name] = &status[i]
	}
	for _, u := range p.ScaleUps {
		c.added[u.NodeGroup] += u.Add
	}
	c.readUnits()
	c.readNodes()
	c.sizes()
	c.limits()
	c.cost()
	c.placements()
	c.devices()
	c.everyPodOnce()
	c.minimums()
	c.fullNodes()
	c.requiredDomains()
	c.domains()
	c.reasons()
	return c.bad
}

// checker collects what is wrong with a plan.
type checker struct {
	snap   *snapshot.Snapshot
	config *configv1alpha1.AutoscalerConfiguration
	plan   *plan.Plan
	groups map[string]*nodegroups.Status
	units  map[string]*unit
	unitOf map[string]*unit // by pod
	pods   map[string]*corev1.Pod
	placed map[string]plan.Placement
	nodes  map[string]*target
	added  map[string]int64
	bad    []string
}

// unit is a gang or an ordinary pod, as the objects of the cluster say.
type unit struct {
	key      string
	least    int
	required string
	pending  []string
	gated    int
	bound    []*corev1.Pod
}

// target is a node that placements may name.
type target struct {
	object *corev1.Node
	group  string
	state  nodegroups.NodeState // "" for nodes of no group
	fresh  bool                 // from the template
	pods   []*corev1.Pod        // that are there already
	placed []*corev1.Pod
}

func (c *checker) fail(format string, args ...any) {
	c.bad = append(c.bad, fmt.Sprintf(format, args...))
}

func keyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func controller(p *corev1.Pod, kind string) string {
	if o := metav1.GetControllerOf(p); o != nil && o.Kind == kind {
		return o.Name
	}
	return ""
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// readUnits sorts pods into gangs by the native PodGroup and the annotated Indexed Job.
func (c *checker) readUnits() {
	for _, p := range c.snap.Pods() {
		c.pods[keyOf(p)] = p
		if ended(p) || controller(p, "DaemonSet") != "" {
			continue
		}
		u := c.membership(p)
		if known := c.units[u.key]; known != nil {
			u = known
		} else {
			c.units[u.key] = u
		}
		c.unitOf[keyOf(p)] = u
		switch {
		case p.Spec.NodeName != "":
			u.bound = append(u.bound, p)
		case p.DeletionTimestamp != nil:
		case len(p.Spec.SchedulingGates) > 0:
			u.gated++
		default:
			u.pending = append(u.pending, keyOf(p))
		}
	}
}

func (c *checker) membership(p *corev1.Pod) *unit {
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		for _, o := range c.snap.PodGroups() {
			if o.Namespace != p.Namespace || o.Name != *g.PodGroupName {
				continue
			}
			u := &unit{key: keyOf(o), least: 1}
			if k := o.Spec.SchedulingConstraints; k != nil && len(k.Topology) > 0 {
				u.required = k.Topology[0].Key
			}
			if gang := o.Spec.SchedulingPolicy.Gang; gang != nil {
				u.least = int(gang.MinCount)
			} else if u.required == "" {
				break // a basic group is no gang
			}
			return u
		}
	}
	if name := controller(p, "Job"); name != "" {
		for _, j := range c.snap.Jobs() {
			if j.Namespace == p.Namespace && j.Name == name && j.Annotations["tidegate.io/gang"] == "true" && j.Spec.CompletionMode != nil &&
				*j.Spec.CompletionMode == "Indexed" && *j.Spec.Completions == *j.Spec.Parallelism {
				return &unit{key: keyOf(j), least: int(*j.Spec.Completions - j.Status.Succeeded)}
			}
		}
	}
	return &unit{key: keyOf(p), least: 1}
}

// readNodes lists what may be named: registered nodes, upcoming-N and new-N.
func (c *checker) readNodes() {
	for _, n := range c.snap.Nodes() {
		c.nodes[n.Name] = &target{object: n}
	}
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		for _, o := range g.Nodes {
			at := c.nodes[o.Node.Name]
			at.group, at.state = name, o.State
			if o.State == nodegroups.Upcoming {
				at.object = arrived(o.Node, g)
			}
		}
		for i := range g.Unregistered {
			c.addTemplate(g, fmt.Sprintf("%s/upcoming-%d", name, i+1))
		}
		for i := range c.added[name] {
			c.addTemplate(g, fmt.Sprintf("%s/new-%d", name, i+1))
		}
	}
	for _, p := range c.snap.Pods() {
		if at := c.nodes[p.Spec.NodeName]; at != nil && !ended(p) {
			at.pods = append(at.pods, p)
		}
	}
	for _, at := range c.nodes {
		at.addDaemons(c.snap.DaemonSets())
	}
}

// arrived is a node on its way as its group promises it.
func arrived(n *corev1.Node, g *nodegroups.Status) *corev1.Node {
	n = n.DeepCopy()
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(g.StartupTaints, t.Key) || strings.HasPrefix(t.Key, "node.kubernetes.io/") || strings.HasPrefix(t.Key, "node.cloudprovider.kubernetes.io/")
	})
	for name, q := range g.Template.Allocatable {
		if have := n.Status.Allocatable[name]; have.IsZero() {
			n.Status.Allocatable[name] = q
		}
	}
	return n
}

func (c *checker) addTemplate(g *nodegroups.Status, name string) {
	c.nodes[name] = &target{object: g.Template.Node(name, nil), group: g.Name, fresh: true}
}

// addDaemons puts on the node what DaemonSets will still bring.
func (at *target) addDaemons(all []*appsv1.DaemonSet) {
	if !at.fresh && at.state != nodegroups.Upcoming {
		return
	}
	for _, d := range all {
		there := slices.ContainsFunc(at.pods, func(p *corev1.Pod) bool { return p.Namespace == d.Namespace && controller(p, "DaemonSet") == d.Name })
		p := &corev1.Pod{Spec: d.Spec.Template.Spec}
		if !there && admits(at.object, p) == "" {
			at.pods = append(at.pods, p)
		}
	}
}

// admits says what about a node's labels and taints keeps a pod off; "" for nothing.
func admits(n *corev1.Node, p *corev1.Pod) string {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n); err != nil || !ok {
		return "selector"
	}
	taint, found := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	if found {
		return "taint " + taint.Key
	}
	return ""
}

// sizes: no group passes its maximum, its dates, or grows while blocked; whole units.
func (c *checker) sizes() {
	seen := map[string]bool{}
	for _, u := range c.plan.ScaleUps {
		g := c.groups[u.NodeGroup]
		if g == nil || seen[u.NodeGroup] {
			c.fail("scale-up of %q: unknown or given twice", u.NodeGroup)
			continue
		}
		seen[u.NodeGroup] = true
		if u.Add <= 0 || u.From != g.Target || u.To != u.From+u.Add {
			c.fail("%s: from %d to %d by %d; the target is %d", u.NodeGroup, u.From, u.To, u.Add, g.Target)
		}
		if u.To > g.MaxSize {
			c.fail("%s: %d nodes, maximum %d", u.NodeGroup, u.To, g.MaxSize)
		}
		if u.Add%g.Unit != 0 {
			c.fail("%s: %d nodes are not whole units of %d", u.NodeGroup, u.Add, g.Unit)
		}
		if g.BackoffUntil.After(c.plan.Time) {
			c.fail("%s grows while it backs off", u.NodeGroup)
		}
		if u.PricePerHour != g.Price || u.Reason == "" {
			c.fail("%s: price %s (want %s), reason %q", u.NodeGroup, u.PricePerHour, g.Price, u.Reason)
		}
		c.dated(u, g)
		c.scaleUpPods(u)
	}
	for name, g := range c.groups {
		want := int64(0)
		if len(g.Blocked(c.plan.Time)) == 0 && c.unlimited() && c.openUntil(g, g.MinSize) {
			want = min(g.MinSize, g.MaxSize)
			want -= (want - min(g.Target, want)) % g.Unit // what no whole unit can reach
		}
		if g.Target+c.added[name] < want {
			c.fail("%s: %d nodes, minimum %d", name, g.Target+c.added[name], want)
		}
	}
}

func (c *checker) unlimited() bool {
	l := c.config.Limits
	return l.MaxNodes == nil && l.MaxCostPerHour == nil && len(l.Accelerators) == 0
}

// dated: a group with dates grows only in one of them, early enough, and to its size.
func (c *checker) dated(u plan.ScaleUp, g *nodegroups.Status) {
	if !c.openUntil(g, u.To) {
		c.fail("%s grows to %d outside its dates", u.NodeGroup, u.To)
	}
}

func (c *checker) openUntil(g *nodegroups.Status, to int64) bool {
	return len(g.Available) == 0 || slices.ContainsFunc(g.Available, func(a configv1alpha1.Availability) bool {
		until := a.Until.Time
		if a.DrainFrom != nil {
			until = a.DrainFrom.Time
		}
		return !c.plan.Time.Before(a.From.Time) && c.plan.Time.Add(g.Delay).Before(until) && to <= a.Size
	})
}

// scaleUpPods: pods and gangs of a scale-up are those of the placements on its nodes.
func (c *checker) scaleUpPods(u plan.ScaleUp) {
	pods, gangs := 0, map[string]bool{}
	for _, p := range c.plan.Placements {
		if p.New && p.NodeGroup == u.NodeGroup {
			pods++
			if p.Gang != "" {
				gangs[p.Gang] = true
			}
		}
	}
	if pods != u.Pods || !slices.Equal(slices.Sorted(maps.Keys(gangs)), u.Gangs) && len(gangs)+len(u.Gangs) > 0 {
		c.fail("%s: lists %d pods of %v, placements %d of %v", u.NodeGroup, u.Pods, u.Gangs, pods, slices.Sorted(maps.Keys(gangs)))
	}
	for _, d := range u.Domains {
		if d.Nodes <= 0 || d.Domain == "" {
			c.fail("%s: domain growth %+v", u.NodeGroup, d)
		}
	}
}

// limits hold for the whole cluster. One that was passed before only forbids growth.
func (c *checker) limits() {
	nodes, bought := int64(len(c.snap.Nodes())), int64(0)
	have, more := map[string]int64{}, map[string]int64{}
	for name, g := range c.groups {
		nodes += g.Unregistered
		bought += c.added[name]
		if g.Accelerator != "" {
			have[g.Accelerator] += g.AcceleratorCount * g.Target
			more[g.Accelerator] += g.AcceleratorCount * c.added[name]
		}
	}
	l := c.config.Limits
	if l.MaxNodes != nil && bought > 0 && nodes+bought > *l.MaxNodes {
		c.fail("%d nodes and %d more, limit %d", nodes, bought, *l.MaxNodes)
	}
	if l.MaxCostPerHour != nil && c.plan.Cost.After > c.plan.Cost.Before && c.plan.Cost.After > *l.MaxCostPerHour {
		c.fail("costs %s, limit %s", c.plan.Cost.After, *l.MaxCostPerHour)
	}
	for name, most := range l.Accelerators {
		if more[name] > 0 && have[name]+more[name] > most {
			c.fail("%d and %d more %s, limit %d", have[name], more[name], name, most)
		}
	}
}

func (c *checker) cost() {
	var before, after configv1alpha1.MicroDollars
	for name, g := range c.groups {
		before += g.Price * configv1alpha1.MicroDollars(g.Target)
		after += g.Price * configv1alpha1.MicroDollars(g.Target+c.added[name])
	}
	k := c.plan.Cost
	if k.Before != before || k.After != after {
		c.fail("cost %s to %s, want %s to %s", k.Before, k.After, before, after)
	}
	if k.LowerBound > k.After || k.LowerBound < k.Before {
		c.fail("lower bound %s outside of %s to %s", k.LowerBound, k.Before, k.After)
	}
}

// placements name real nodes, say truly whether they are new, and respect what labels,
// taints and host ports say.
func (c *checker) placements() {
	for _, x := range c.plan.Placements {
		p, at := c.pods[x.Pod], c.nodes[x.Node]
		if p == nil || at == nil {
			c.fail("placement of %q on %q: no such pod or node", x.Pod, x.Node)
			continue
		}
		if _, twice := c.placed[x.Pod]; twice {
			c.fail("%s is placed twice", x.Pod)
		}
		c.placed[x.Pod] = x
		if x.New != strings.Contains(x.Node, "/new-") || x.NodeGroup != at.group {
			c.fail("%s on %s: new %v, group %q (want %q)", x.Pod, x.Node, x.New, x.NodeGroup, at.group)
		}
		if why := admits(c.withDomains(x, at), p); why != "" {
			c.fail("%s on %s: %s", x.Pod, x.Node, why)
		}
		if at.state == nodegroups.Failed || at.state == nodegroups.Deleting || at.object.Spec.Unschedulable && !toleratesCordon(p) {
			c.fail("%s on %s, which is %s (unschedulable: %v)", x.Pod, x.Node, at.state, at.object.Spec.Unschedulable)
		}
		u := c.unitOf[x.Pod]
		if single := u == nil || u.key == x.Pod; !single && x.Gang != u.key || single && x.Gang != "" && x.Gang != x.Pod {
			c.fail("%s: gang %q", x.Pod, x.Gang)
		}
		at.placed = append(at.placed, p)
	}
}

func toleratesCordon(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, false)
	})
}

// withDomains is the node with the domains that the placement gives a new one.
func (c *checker) withDomains(x plan.Placement, at *target) *corev1.Node {
	if !at.fresh {
		return at.object
	}
	n := at.object.DeepCopy()
	maps.Copy(n.Labels, x.Domains)
	return n
}

// everyPodOnce: each pending pod is placed, waits, or is unschedulable, and no other pod is.
func (c *checker) everyPodOnce() {
	count := map[string]int{}
	for key := range c.placed {
		count[key]++
	}
	for _, w := range c.plan.Waiting {
		u := c.units[w.Gang]
		if u == nil || w.Reason == "" || w.Message == "" {
			c.fail("waiting %+v", w)
			continue
		}
		if w.Pods != len(u.pending)+u.gated {
			c.fail("waiting %s: %d pods, want %d", w.Gang, w.Pods, len(u.pending)+u.gated)
		}
		for _, key := range u.pending {
			count[key]++
		}
	}
	for _, x := range c.plan.Unschedulable {
		for _, key := range x.Pods {
			count[key]++
			if u := c.unitOf[key]; u == nil || u.key != x.Gang {
				c.fail("unschedulable %s is no member of %s", key, x.Gang)
			}
		}
	}
	for _, u := range c.units {
		for _, key := range u.pending {
			if count[key] != 1 {
				c.fail("%s is in %d of placements, waiting, unschedulable", key, count[key])
			}
			delete(count, key)
		}
	}
	for key := range count {
		c.fail("%s is not pending", key)
	}
}

// minimums: a gang is placed with its minimum or not at all.
func (c *checker) minimums() {
	for _, u := range c.units {
		got := 0
		for _, key := range u.pending {
			if _, ok := c.placed[key]; ok {
				got++
			}
		}
		if got > 0 && got+len(u.bound) < u.least {
			c.fail("gang %s: %d placed and %d bound, minimum %d", u.key, got, len(u.bound), u.least)
		}
	}
}

// fullNodes: no node that gets pods holds more than it has, nor a host port twice.
func (c *checker) fullNodes() {
	for name, at := range c.nodes {
		if len(at.placed) == 0 {
			continue
		}
		all := slices.Concat(at.pods, at.placed)
		sum := corev1.ResourceList{corev1.ResourcePods: *quantity(int64(len(all)))}
		ports := map[string]bool{}
		for _, p := range all {
			for r, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
				have := sum[r]
				have.Add(q)
				sum[r] = have
			}
			for i := range p.Spec.Containers {
				for _, port := range p.Spec.Containers[i].Ports {
					key := fmt.Sprint(port.Protocol, port.HostPort)
					if port.HostPort > 0 && ports[key] {
						c.fail("%s: host port %d twice", name, port.HostPort)
					}
					ports[key] = true
				}
			}
		}
		for _, p := range at.placed { // what nobody asks for may be overcommitted
			wants := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
			wants[corev1.ResourcePods] = *quantity(1)
			for r := range wants {
				if c.servedByDevices(p, r, at) {
					continue
				}
				used, offered := sum[r], at.object.Status.Allocatable[r]
				if w := wants[r]; !w.IsZero() && used.Cmp(offered) > 0 {
					c.fail("%s: %s of %s %s", name, used.String(), offered.String(), r)
				}
			}
		}
	}
}

// requiredDomains: all members of a gang with a topology key share a value of it.
func (c *checker) requiredDomains() {
	for _, u := range c.units {
		values, members := map[string]bool{}, 0
		for _, key := range u.pending {
			if x, ok := c.placed[key]; ok && u.required != "" {
				members++
				v, found := x.Domains[u.required]
				if !found {
					c.fail("%s: no domain of %s", key, u.required)
				}
				if at := c.nodes[x.Node]; at != nil && !at.fresh && at.object.Labels[u.required] != v {
					c.fail("%s on %s: domain %q, the node's is %q", key, x.Node, v, at.object.Labels[u.required])
				}
				values[v] = true
			}
		}
		if members == 0 {
			continue
		}
		for _, p := range u.bound {
			if at := c.nodes[p.Spec.NodeName]; at != nil {
				values[at.object.Labels[u.required]] = true
			}
		}
		if len(values) != 1 {
			c.fail("gang %s spans %s %v", u.key, u.required, slices.Sorted(maps.Keys(values)))
		}
	}
}

// domains: those of the scale-ups add up, for each key, to the nodes added; none that
// grows passes the size that its group promises; placements agree on where a node is.
func (c *checker) domains() {
	grown := map[[2]string]int64{}
	for _, u := range c.plan.ScaleUps {
		if c.groups[u.NodeGroup] == nil {
			continue // sizes has said so
		}
		sum := map[string]int64{}
		for _, d := range u.Domains {
			sum[d.Key] += int64(d.Nodes)
			grown[[2]string{d.Key, d.Domain}] += int64(d.Nodes)
		}
		want := map[string]int64{}
		for _, l := range c.groups[u.NodeGroup].Topology {
			want[l.Key] = u.Add
		}
		if !maps.Equal(sum, want) {
			c.fail("%s: domains hold %v, want %v", u.NodeGroup, sum, want)
		}
	}
	for _, u := range c.plan.ScaleUps {
		if c.groups[u.NodeGroup] == nil {
			continue
		}
		for _, l := range c.groups[u.NodeGroup].Topology {
			c.domainSizes(u, l, grown)
		}
	}
	where := map[string]map[string]string{}
	for _, x := range c.plan.Placements {
		if known, ok := where[x.Node]; ok && !maps.Equal(known, x.Domains) && c.nodes[x.Node] != nil && c.nodes[x.Node].fresh {
			c.fail("%s is in %v and in %v", x.Node, known, x.Domains)
		}
		where[x.Node] = x.Domains
	}
}

func (c *checker) domainSizes(u plan.ScaleUp, l configv1alpha1.TopologyLevel, grown map[[2]string]int64) {
	for _, d := range u.Domains {
		if d.Key != l.Key || l.NodesPerDomain == 0 {
			continue
		}
		n := grown[[2]string{d.Key, d.Domain}]
		for _, node := range c.snap.Nodes() {
			if node.Labels[d.Key] == d.Domain {
				n++
			}
		}
		if n > l.NodesPerDomain {
			c.fail("%s: %d nodes in %s %s, at most %d", u.NodeGroup, n, d.Key, d.Domain, l.NodesPerDomain)
		}
	}
}

// reasons: every gang that gets nothing has one known reason, in words, from every group.
func (c *checker) reasons() {
	known := map[v1alpha1.Code]bool{}
	for _, d := range v1alpha1.CodeDocs() {
		known[d.Code] = true
	}
	for _, x := range c.plan.Unschedulable {
		if x.Message == "" || len(x.Pods) == 0 {
			c.fail("unschedulable %s: %d pods, message %q", x.Gang, len(x.Pods), x.Message)
		}
		seen := map[string]bool{}
		for _, r := range x.NodeGroups {
			if seen[r.NodeGroup] || c.groups[r.NodeGroup] == nil || !known[r.Reason] || r.Message == "" {
				c.fail("unschedulable %s: reason %+v", x.Gang, r)
			}
			seen[r.NodeGroup] = true
		}
		if len(seen) != len(c.groups) {
			c.fail("unschedulable %s: reasons of %d of %d groups", x.Gang, len(seen), len(c.groups))
		}
	}
}
