package kubesched

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

// ExtendedClaim is the claim that the scheduler makes for a pod's extended resources that
// are backed by device classes (KEP-5004), on a node where a device plugin offers those of
// byPlugin. It lets the real plugin write the claim, on a node that has everything, and
// catches it. It is nil where nothing is left to claim, and where more devices are asked
// for than one claim can get.
func (d *Devices) ExtendedClaim(pod *corev1.Pod, byPlugin []corev1.ResourceName) (*resourcev1.ResourceClaim, error) {
	caught := &catcher{devices: d}
	factory, err := newFactory(Objects{})
	if err != nil {
		return nil, err
	}
	args := &config.DynamicResourcesArgs{} // no time-out: see features
	plugin, err := dynamicresources.New(context.Background(), args, &deviceHandle{factory: factory, manager: caught}, d.features)
	if err != nil {
		return nil, fmt.Errorf("build scheduler plugin %s: %w", dynamicresources.Name, err)
	}
	dra := plugin.(*dynamicresources.DynamicResources)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: plentyNode}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{}}}
	for _, name := range byPlugin {
		node.Status.Allocatable[name] = *resource.NewQuantity(1_000_000, resource.DecimalSI)
	}
	info := framework.NewNodeInfo()
	info.SetNode(node)
	pod = withUID(pod)
	pod = pod.DeepCopy()
	pod.Spec.ResourceClaims = nil // what the user claims is known
	state := framework.NewCycleState()
	if _, status := dra.PreFilter(context.Background(), state, pod, []fwk.NodeInfo{info}); !status.IsSuccess() {
		return nil, nil
	}
	if status := dra.Filter(context.Background(), state, pod, info); !status.IsSuccess() {
		return nil, nil
	}
	if status := dra.Reserve(context.Background(), state, pod, plentyNode); !status.IsSuccess() {
		return nil, podError(pod, dynamicresources.Name, status.AsError())
	}
	return caught.claim, nil
}

const plentyNode = "plenty"

// deviceHandle is what the DynamicResources plugin gets to see of its scheduler.
type deviceHandle struct {
	fwk.Handle
	factory informers.SharedInformerFactory
	manager fwk.SharedDRAManager
}

func (h *deviceHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }
func (h *deviceHandle) SharedDRAManager() fwk.SharedDRAManager                 { return h.manager }
func (h *deviceHandle) ClientSet() kubernetes.Interface                        { return nil }
func (h *deviceHandle) ProfileName() string                                    { return corev1.DefaultSchedulerName }

// catcher is a manager of a cluster in which every claim can be met: classes select
// nothing and there are as many devices as one claim can get. It keeps the claim that the
// plugin allocates.
type catcher struct {
	devices *Devices
	claim   *resourcev1.ResourceClaim
}

func (c *catcher) ResourceClaims() fwk.ResourceClaimTracker                    { return c }
func (c *catcher) ResourceSlices() fwk.ResourceSliceLister                     { return c }
func (c *catcher) DeviceClasses() fwk.DeviceClassLister                        { return openClasses{c.devices.classes} }
func (c *catcher) DeviceClassResolver() fwk.DeviceClassResolver                { return c.devices.resolver }
func (c *catcher) List() ([]*resourcev1.ResourceClaim, error)                  { return nil, nil }
func (c *catcher) GetPendingAllocation(types.UID) *resourcev1.AllocationResult { return nil }
func (c *catcher) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool      { return false }
func (c *catcher) AssumeClaimAfterAPICall(*resourcev1.ResourceClaim) error     { return nil }
func (c *catcher) AssumedClaimRestore(string, string)                          {}

func (c *catcher) Get(string, string) (*resourcev1.ResourceClaim, error) {
	return nil, errors.New("the pod has no claims")
}

func (c *catcher) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return sets.New[structured.DeviceID](), nil
}

func (c *catcher) GatherAllocatedState() (*structured.AllocatedState, error) {
	return &structured.AllocatedState{
		AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}, nil
}

func (c *catcher) SignalClaimPendingAllocation(_ types.UID, claim *resourcev1.ResourceClaim) error {
	c.claim = claim
	return nil
}

func (c *catcher) ListWithDeviceTaintRules() ([]*resourcev1.ResourceSlice, error) {
	node := plentyNode
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: plentyNode}, Spec: resourcev1.ResourceSliceSpec{
		Driver: plentyNode, NodeName: &node, Pool: resourcev1.ResourcePool{Name: plentyNode, Generation: 1, ResourceSliceCount: 1},
	}}
	for i := range resourcev1.AllocationResultsMaxSize {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("d%d", i)})
	}
	return []*resourcev1.ResourceSlice{s}, nil
}

// openClasses are the device classes without their selectors.
type openClasses struct{ classLister }

func (o openClasses) Get(name string) (*resourcev1.DeviceClass, error) {
	c, err := o.classLister.Get(name)
	if err != nil {
		return nil, err
	}
	open := *c
	open.Spec.Selectors = nil
	return &open, nil
}
