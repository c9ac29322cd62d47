package kubesched_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/scheduling"
	"tidegate.io/autoscaler/scheduling/gang"
	"tidegate.io/autoscaler/snapshot"
)

// realPlugin is the DynamicResources plugin of kube-scheduler over the objects as they are.
type realPlugin struct {
	plugin   *dynamicresources.DynamicResources
	slices   []*resourcev1.ResourceSlice
	claims   map[string]*resourcev1.ResourceClaim
	classes  map[string]*resourcev1.DeviceClass
	resolver *extendedresourcecache.ExtendedResourceCache
	made     []*resourcev1.ResourceClaim // for extended resources
	reserved []*resourcev1.ResourceClaim // by the Reserve that runs now
}

type realHandle struct {
	fwk.Handle
	r       *realPlugin
	factory informers.SharedInformerFactory
}

func (h *realHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *realHandle) SharedDRAManager() fwk.SharedDRAManager                 { return h.r }
func (h *realHandle) ClientSet() kubernetes.Interface                        { return nil }
func (h *realHandle) ProfileName() string                                    { return "default-scheduler" }

func newRealPlugin(t *testing.T, w *deviceWorld) *realPlugin {
	r := &realPlugin{claims: map[string]*resourcev1.ResourceClaim{}, classes: map[string]*resourcev1.DeviceClass{},
		resolver: extendedresourcecache.NewExtendedResourceCache(klog.Background()), slices: w.tainted()}
	for _, c := range w.classes {
		r.classes[c.Name] = c
		r.resolver.OnAdd(c, true)
	}
	for _, c := range w.claims {
		r.claims[c.Namespace+"/"+c.Name] = c.DeepCopy()
	}
	features := feature.NewSchedulerFeaturesFromGates(gates())
	features.EnableDRASchedulerFilterTimeout = false
	p, err := dynamicresources.New(context.Background(), &config.DynamicResourcesArgs{}, &realHandle{r: r, factory: informers.NewSharedInformerFactory(nil, 0)}, features)
	require.NoError(t, err)
	r.plugin = p.(*dynamicresources.DynamicResources)
	return r
}

func (r *realPlugin) ResourceClaims() fwk.ResourceClaimTracker     { return r }
func (r *realPlugin) ResourceSlices() fwk.ResourceSliceLister      { return r }
func (r *realPlugin) DeviceClasses() fwk.DeviceClassLister         { return realClasses{r} }
func (r *realPlugin) DeviceClassResolver() fwk.DeviceClassResolver { return r.resolver }

type realClasses struct{ r *realPlugin }

func (c realClasses) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }
func (c realClasses) Get(name string) (*resourcev1.DeviceClass, error) {
	if x := c.r.classes[name]; x != nil {
		return x, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
}

func (r *realPlugin) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	return r.slices, nil
}

func (r *realPlugin) List() ([]*resourcev1.ResourceClaim, error) { return nil, nil }
func (r *realPlugin) Get(namespace, name string) (*resourcev1.ResourceClaim, error) {
	if c := r.claims[namespace+"/"+name]; c != nil {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), name)
}
func (r *realPlugin) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }
func (r *realPlugin) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool      { return false }
func (r *realPlugin) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error     { return nil }
func (r *realPlugin) AssumedClaimRestore(string, string)                          {}
func (r *realPlugin) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	s, err := r.GatherAllocatedState()
	return s.AllocatedDevices, err
}

func (r *realPlugin) GatherAllocatedState() (*structured.AllocatedState, error) {
	s := &structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](), AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	count := func(c *resourcev1.ResourceClaim) {
		if c.Status.Allocation == nil {
			return
		}
		for _, x := range c.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(x.Driver, x.Pool, x.Device)
			switch {
			case x.AdminAccess != nil && *x.AdminAccess:
			case x.ShareID != nil:
				s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, x.ShareID))
				if x.ConsumedCapacity != nil {
					s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, x.ConsumedCapacity))
				}
			default:
				s.AllocatedDevices.Insert(id)
			}
		}
	}
	for _, c := range r.claims {
		count(c)
	}
	for _, c := range r.made {
		count(c)
	}
	return s, nil
}

func (r *realPlugin) SignalClaimPendingAllocation(_ types.UID, c *resourcev1.ResourceClaim) error {
	r.reserved = append(r.reserved, c)
	return nil
}

// cycle is one pod's look at every node; the function reserves it on one.
func (r *realPlugin) fits(pod *corev1.Pod, node *corev1.Node) (bool, func() []*resourcev1.ResourceClaim) {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	state := framework.NewCycleState()
	_, status := r.plugin.PreFilter(context.Background(), state, pod, []fwk.NodeInfo{info})
	if status.IsSkip() {
		return true, func() []*resourcev1.ResourceClaim { return nil }
	}
	if !status.IsSuccess() || !r.plugin.Filter(context.Background(), state, pod, info).IsSuccess() {
		return false, nil
	}
	return true, func() []*resourcev1.ResourceClaim {
		r.reserved = nil
		if s := r.plugin.Reserve(context.Background(), state, pod, node.Name); !s.IsSuccess() {
			panic(s.AsError())
		}
		for _, c := range r.reserved {
			if stored := r.claims[c.Namespace+"/"+c.Name]; stored != nil {
				stored.Status.Allocation = c.Status.Allocation
			} else {
				r.made = append(r.made, c)
			}
		}
		return r.reserved
	}
}

// deviceWorld is a random cluster of nodes with devices, and pods that claim some.
type deviceWorld struct {
	r       *rand.Rand
	nodes   []*corev1.Node
	slices  []*resourcev1.ResourceSlice
	classes []*resourcev1.DeviceClass
	rules   []*resourcev1.DeviceTaintRule
	claims  []*resourcev1.ResourceClaim
	pods    []*corev1.Pod
}

func (w *deviceWorld) objects() []runtime.Object {
	var out []runtime.Object
	for _, n := range w.nodes {
		out = append(out, n)
	}
	for _, s := range w.slices {
		out = append(out, s)
	}
	for _, c := range w.classes {
		out = append(out, c)
	}
	for _, c := range w.rules {
		out = append(out, c)
	}
	for _, c := range w.claims {
		out = append(out, c)
	}
	for _, p := range w.pods {
		out = append(out, p)
	}
	return out
}

// tainted writes the taint rules into the slices in a way of its own.
func (w *deviceWorld) tainted() []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for _, s := range w.slices {
		s = s.DeepCopy()
		for _, rule := range w.rules {
			for i := range s.Spec.Devices {
				x := rule.Spec.DeviceSelector
				if x != nil && (x.Driver == nil || *x.Driver == s.Spec.Driver) && (x.Pool == nil || *x.Pool == s.Spec.Pool.Name) && (x.Device == nil || *x.Device == s.Spec.Devices[i].Name) {
					s.Spec.Devices[i].Taints = append(s.Spec.Devices[i].Taints, rule.Spec.Taint)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

func (w *deviceWorld) chance(n int) bool { return w.r.IntN(n) == 0 }

func text(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"
	root      = "resource.kubernetes.io/pcieRoot"
)

func (w *deviceWorld) device(node string, i int) resourcev1.Device {
	d := resourcev1.Device{Name: fmt.Sprintf("d-%d", i), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"type": text([]string{"gpu", "mig"}[w.r.IntN(2)]), root: text(fmt.Sprintf("pci%d", w.r.IntN(2))), "uuid": text(node + d1(i)),
	}, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse([]string{"40Gi", "80Gi"}[w.r.IntN(2)])}}}
	if !w.chance(5) {
		d.Attributes["model"] = text([]string{"a", "b"}[w.r.IntN(2)])
	}
	if w.chance(4) {
		d.AllowMultipleAllocations = new(true)
		if w.chance(2) {
			c := d.Capacity["memory"]
			c.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: new(resource.MustParse("10Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: new(resource.MustParse("10Gi")), Step: new(resource.MustParse("10Gi"))}}
			d.Capacity["memory"] = c
		}
	}
	if w.chance(6) {
		d.Taints = []resourcev1.DeviceTaint{{Key: "sick", Value: "yes", Effect: []resourcev1.DeviceTaintEffect{"NoSchedule", "NoExecute", "None"}[w.r.IntN(3)]}}
	}
	return d
}

func d1(i int) string { return "-" + strconv.Itoa(i) }

// addNode adds a node with pools of one or two drivers, perhaps with counters, an older
// generation, or a slice missing.
func (w *deviceWorld) addNode(i, alike int) {
	name := fmt.Sprintf("node-%d", i)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": fmt.Sprintf("z%d", w.r.IntN(2))}}}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("100")}
	if w.chance(6) {
		n.Status.Allocatable["example.com/gpu"] = resource.MustParse("2")
	}
	w.nodes = append(w.nodes, n)
	saved := w.r
	if alike > 0 {
		w.r = rand.New(rand.NewPCG(uint64(alike), 7)) // nodes of one build
	}
	defer func() { w.r = saved }()
	for _, driver := range []string{gpuDriver, nicDriver} {
		if driver == nicDriver && w.chance(2) {
			continue
		}
		w.addPool(name, driver, &name)
	}
}

func (w *deviceWorld) addPool(pool, driver string, node *string) {
	generation, count := int64(1+w.r.IntN(2)), int64(1+w.r.IntN(2))
	partition := w.chance(3)
	total := count
	if partition {
		total++
	}
	slice := func(j int) *resourcev1.ResourceSlice {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", pool, driver, j)}}
		s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: node, Pool: resourcev1.ResourcePool{Name: pool, Generation: generation, ResourceSliceCount: total}}
		return s
	}
	if partition {
		s := slice(0)
		s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{"slices": {Value: resource.MustParse("4")}}}}
		w.slices = append(w.slices, s)
	}
	for j := range int(count) {
		if w.chance(15) {
			continue // missing: the pool is incomplete
		}
		s := slice(j + 1)
		for k := range 1 + w.r.IntN(3) {
			d := w.device(pool, j*4+k)
			if partition && w.chance(2) {
				d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: map[string]resourcev1.Counter{"slices": {Value: *resource.NewQuantity(int64(1+w.r.IntN(3)), resource.DecimalSI)}}}}
			}
			s.Spec.Devices = append(s.Spec.Devices, d)
		}
		w.slices = append(w.slices, s)
	}
	if w.chance(8) {
		old := slice(9)
		old.Spec.Pool.Generation = generation - 1
		old.Spec.Devices = []resourcev1.Device{w.device(pool, 20)}
		w.slices = append(w.slices, old)
	}
}

func (w *deviceWorld) selectors() []resourcev1.DeviceSelector {
	all := []string{
		`device.attributes["gpu.example.com"].model == "a"`, // fails where a device has none
		`"model" in device.attributes["gpu.example.com"] && device.attributes["gpu.example.com"].model == "b"`,
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("50Gi")) >= 0`,
		`device.attributes["gpu.example.com"].type == "gpu"`,
		`device.allowMultipleAllocations == true`,
		`device.attributes["gpu.example.com"].exists(a, a == "model")`,
		`device.attributes["gpu.example.com"].uuid.startsWith("node-1")`,
	}
	if !w.chance(3) {
		return nil
	}
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: all[w.r.IntN(len(all))]}}}
}

func (w *deviceWorld) class() string {
	return []string{"gpu", "gpu", "any", "nic", "missing"}[w.r.IntN(4+w.r.IntN(10)/9)]
}

func (w *deviceWorld) tolerations() []resourcev1.DeviceToleration {
	if !w.chance(4) {
		return nil
	}
	return []resourcev1.DeviceToleration{{Key: "sick", Operator: resourcev1.DeviceTolerationOpExists}}
}

func (w *deviceWorld) capacity() *resourcev1.CapacityRequirements {
	if !w.chance(4) {
		return nil
	}
	return &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse([]string{"5Gi", "15Gi", "40Gi", "70Gi"}[w.r.IntN(4)])}}
}

func (w *deviceWorld) spec() resourcev1.ResourceClaimSpec {
	var s resourcev1.ResourceClaimSpec
	for i := range 1 + w.r.IntN(2) {
		q := resourcev1.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		mode, count := resourcev1.DeviceAllocationModeExactCount, int64(1+w.r.IntN(2))
		if w.chance(8) {
			mode, count = resourcev1.DeviceAllocationModeAll, 0
		}
		if w.chance(5) {
			for j := range 2 {
				q.FirstAvailable = append(q.FirstAvailable, resourcev1.DeviceSubRequest{Name: fmt.Sprintf("s%d", j), DeviceClassName: w.class(), Selectors: w.selectors(), AllocationMode: mode, Count: count, Tolerations: w.tolerations(), Capacity: w.capacity()})
			}
		} else {
			q.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: w.class(), Selectors: w.selectors(), AllocationMode: mode, Count: count, Tolerations: w.tolerations(), Capacity: w.capacity()}
			if w.chance(10) {
				q.Exactly.AdminAccess = new(true)
			}
		}
		s.Devices.Requests = append(s.Devices.Requests, q)
	}
	switch w.r.IntN(6) {
	case 0:
		s.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: new(resourcev1.FullyQualifiedName(root))}}
	case 1:
		s.Devices.Constraints = []resourcev1.DeviceConstraint{{DistinctAttribute: new(resourcev1.FullyQualifiedName(gpuDriver + "/model"))}}
	}
	return s
}

func (w *deviceWorld) addPods(n int) {
	var specs []resourcev1.ResourceClaimSpec
	for range 3 {
		specs = append(specs, w.spec())
	}
	shared := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: "shared"}, Spec: w.spec()}
	w.claims = append(w.claims, shared)
	for i := range n {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p-%02d", i), UID: types.UID(fmt.Sprintf("p-%02d", i))}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
		for c := range 1 + w.r.IntN(2) {
			name := fmt.Sprintf("c%d", c)
			if c == 0 && w.chance(4) {
				p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: new("shared")})
				continue
			}
			made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: p.Name + "-" + name, UID: types.UID(p.Name + name),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: new(true)}}}, Spec: specs[w.r.IntN(len(specs))]}
			w.claims = append(w.claims, made)
			p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimTemplateName: new("template")})
			p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: name, ResourceClaimName: &made.Name})
		}
		if w.chance(5) {
			p.Spec.ResourceClaims, p.Status.ResourceClaimStatuses = nil, nil
		}
		if w.chance(4) {
			name := []corev1.ResourceName{"example.com/gpu", "deviceclass.resource.kubernetes.io/any"}[w.r.IntN(2)]
			p.Spec.Containers[0].Resources.Requests[name] = *resource.NewQuantity(int64(1+w.r.IntN(2)), resource.DecimalSI)
			if w.chance(2) {
				p.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{name: resource.MustParse("1")}}}}
			}
		}
		w.pods = append(w.pods, p)
	}
}

func drawDeviceWorld(seed int) *deviceWorld {
	w := &deviceWorld{r: rand.New(rand.NewPCG(uint64(seed), 11))}
	class := func(name, expression string) *resourcev1.DeviceClass {
		return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}}}
	}
	gpu := class("gpu", `device.driver == "gpu.example.com"`)
	gpu.Spec.ExtendedResourceName = new("example.com/gpu")
	w.classes = []*resourcev1.DeviceClass{gpu, class("any", `true`), class("nic", `device.driver == "nic.example.com"`)}
	alike := 1 + w.r.IntN(1000)
	for i := range 2 + w.r.IntN(3) {
		w.addNode(i, alike*w.r.IntN(2))
	}
	if w.chance(4) { // devices that several nodes see
		before := len(w.slices)
		w.addPool("fabric", []string{nicDriver, gpuDriver}[w.r.IntN(2)], nil)
		for _, s := range w.slices[before:] {
			if w.chance(2) {
				s.Spec.AllNodes = new(true)
			} else {
				s.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"z0"}}}}}}
			}
		}
	}
	if w.chance(4) {
		x := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}}
		x.Spec.Taint = resourcev1.DeviceTaint{Key: "sick", Value: "rule", Effect: resourcev1.DeviceTaintEffectNoSchedule}
		x.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{Driver: new(gpuDriver), Device: new("d-0")}
		w.rules = append(w.rules, x)
	}
	w.addPods(4 + w.r.IntN(6))
	return w
}

// TestDevicesAsThePlugin: pod by pod, a session gives the same verdict for each node and
// the same devices as the DynamicResources plugin. TIDEGATE_CASES scales it.
func TestDevicesAsThePlugin(t *testing.T) {
	cases := 400
	if n, err := strconv.Atoi(os.Getenv("TIDEGATE_CASES")); err == nil {
		cases = n
	}
	pairs, fitting, given := 0, 0, 0
	for seed := range cases {
		w := drawDeviceWorld(seed)
		snap, err := snapshot.New(w.objects()...)
		require.NoError(t, err)
		gangs, _ := gang.Pending(snap)
		s, err := scheduling.NewSession(scheduling.Input{Snapshot: snap, Gangs: gangs, Scoring: configv1alpha1.ScoringLeastAllocated})
		require.NoError(t, err)
		plugin := newRealPlugin(t, w)
		for i := range s.Units {
			for _, p := range s.Units[i].Pods {
				var fit []int
				reserve := map[int]func() []*resourcev1.ResourceClaim{}
				for n := range s.Nodes {
					node := w.node(s.Nodes[n].Name)
					want, do := plugin.fits(p.Pod, node)
					want = want && pluginHolds(p.Pod, node, s.Nodes[n].Placed)
					got, err := s.Fits(p, n)
					require.NoError(t, err)
					require.Equal(t, want, got, "seed %d: pod %s on node %s", seed, p.Name, node.Name)
					pairs++
					if got {
						fitting++
						fit, reserve[n] = append(fit, n), do
					}
				}
				if len(fit) == 0 {
					continue
				}
				n := fit[w.r.IntN(len(fit))]
				claims := reserve[n]()
				require.NoError(t, s.Bind(p, n))
				all := s.Devices(n)
				if d := cmp.Diff(plainResults(claims), plainDevices(p.Pod, all, claims)); d != "" {
					t.Fatalf("seed %d: devices of %s on %s differ (-real +session):\n%s", seed, p.Name, s.Nodes[n].Name, d)
				}
				given += len(claims)
			}
		}
	}
	t.Logf("%d pods and nodes, %d fit, %d claims allocated alike", pairs, fitting, given)
	require.Positive(t, given)
}

func (w *deviceWorld) node(name string) *corev1.Node {
	for _, n := range w.nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// pluginHolds counts an extended resource that the node's device plugin offers.
func pluginHolds(pod *corev1.Pod, node *corev1.Node, placed []scheduling.Pod) bool {
	const name = "example.com/gpu"
	offers := node.Status.Allocatable[name]
	if offers.IsZero() {
		return true
	}
	ask := func(p *corev1.Pod) int64 {
		q := p.Spec.Containers[0].Resources.Requests[name]
		n := q.Value()
		if len(p.Spec.InitContainers) > 0 {
			q := p.Spec.InitContainers[0].Resources.Requests[name]
			n = max(n, q.Value())
		}
		return n
	}
	used := ask(pod)
	for _, p := range placed {
		used += ask(p.Pod)
	}
	return used <= offers.Value() || ask(pod) == 0
}

// plainResults are what the plugin allocated, claim by claim.
func plainResults(claims []*resourcev1.ResourceClaim) []string {
	out := []string{}
	for _, c := range claims {
		for _, x := range c.Status.Allocation.Devices.Results {
			out = append(out, line(x.Request, x.Driver, x.Pool, x.Device, x.ConsumedCapacity))
		}
	}
	return out
}

// plainDevices are those of the last pod of a node whose claims were allocated just now.
func plainDevices(pod *corev1.Pod, all [][]scheduling.Device, claims []*resourcev1.ResourceClaim) []string {
	fresh := map[string]bool{"": true} // by the pod's name for the claim
	for _, x := range pod.Spec.ResourceClaims {
		for _, c := range claims {
			if x.ResourceClaimName != nil && *x.ResourceClaimName == c.Name || c.Name == pod.Name+"-"+x.Name {
				fresh[x.Name] = true
			}
		}
	}
	out := []string{}
	if len(all) == 0 {
		return out // no pod asks for devices
	}
	for _, d := range all[len(all)-1] {
		if fresh[d.Claim] {
			out = append(out, line(d.Request, d.Driver, d.Pool, d.Device, d.Consumed))
		}
	}
	return out
}

func line(request, driver, pool, device string, consumed map[resourcev1.QualifiedName]resource.Quantity) string {
	s := fmt.Sprintf("%s %s/%s/%s", request, driver, pool, device)
	if q, ok := consumed["memory"]; ok {
		s += " " + q.String()
	}
	return s
}
