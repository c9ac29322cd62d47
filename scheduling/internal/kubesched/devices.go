package kubesched

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Devices allocates devices to claims with the scheduler's own allocator
// (k8s.io/dynamic-resource-allocation/structured), node by node, from what it is given.
type Devices struct {
	features feature.Features
	classes  classLister
	resolver *extendedresourcecache.ExtendedResourceCache
	cel      *cel.Cache
	rulesOff bool // the gate of DeviceTaintRules
}

// cachedExpressions is how many compiled CEL expressions are kept. Compiling one costs
// about a millisecond, a cluster has some hundreds at most.
const cachedExpressions = 1000

// mostSteps bounds one search for devices, in candidates looked at: about what
// kube-scheduler reaches within its ten seconds for a node.
const mostSteps = 200_000

// NewDevices takes the device classes, and the feature gates that are not at the defaults
// of kube-scheduler 1.37. The error names a gate that cannot be set.
func NewDevices(classes []*resourcev1.DeviceClass, gates map[string]bool) (*Devices, error) {
	f, err := features(gates)
	if err != nil {
		return nil, err
	}
	d := &Devices{features: f, classes: classLister{}, resolver: extendedresourcecache.NewExtendedResourceCache(klog.Background())}
	if on, set := gates[deviceTaintRules]; set {
		d.rulesOff = !on
	}
	for _, c := range classes {
		d.classes[c.Name] = c
		d.resolver.OnAdd(c, true)
	}
	d.cel = cel.NewCache(cachedExpressions, cel.Features{
		EnableConsumableCapacity: f.EnableDRAConsumableCapacity, EnableListTypeAttributes: f.EnableDRAListTypeAttributes,
	})
	return d, nil
}

// WorkloadClaims says whether claims of a PodGroup are shared by its pods.
func (d *Devices) WorkloadClaims() bool { return d.features.EnableDRAWorkloadResourceClaims }

// ClassFor is the device class that serves an extended resource, by its explicit or its
// implicit name (KEP-5004); nil when none does.
func (d *Devices) ClassFor(name corev1.ResourceName) *resourcev1.DeviceClass {
	return d.resolver.GetDeviceClass(name)
}

// DeviceID names a device.
type DeviceID struct{ Driver, Pool, Device string }

// Taken is what of a device is allocated: all of it, or shares of it.
type Taken struct {
	Exclusive bool
	// Consumed is the sum over all shares, by capacity. It is set, though perhaps empty,
	// where a device that allows multiple allocations is in use.
	Consumed map[resourcev1.QualifiedName]resource.Quantity
}

// AllocationError says that claims cannot be allocated on any node as the slices and
// classes are: a selector that does not compile or fails, a class that does not exist.
type AllocationError struct{ Err error }

// Error is what the allocator said.
func (e *AllocationError) Error() string { return e.Err.Error() }

// Unwrap returns what the allocator said.
func (e *AllocationError) Unwrap() error { return e.Err }

// Allocate finds devices for claims on one node, all or none. Slices are all that could
// matter for the node; taken is what other claims have. The results are in the claims'
// order; nil when devices do not suffice, an AllocationError when the real plugin would
// give the pod up.
func (d *Devices) Allocate(node *corev1.Node, slices []*resourcev1.ResourceSlice, taken map[DeviceID]Taken, claims []*resourcev1.ResourceClaim) ([]resourcev1.AllocationResult, error) {
	state := structured.AllocatedState{
		AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}
	share := types.UID("share")
	for id, t := range taken {
		device := structured.MakeDeviceID(id.Driver, id.Pool, id.Device)
		if t.Exclusive {
			state.AllocatedDevices.Insert(device)
		}
		if t.Consumed != nil {
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, &share))
			if len(t.Consumed) > 0 {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(device, t.Consumed))
			}
		}
	}
	ctx := &countdown{Context: context.Background(), left: mostSteps}
	a, err := structured.NewAllocator(ctx, allocatorFeatures(d.features), state, d.classes, slices, d.cel)
	if err != nil {
		return nil, &AllocationError{Err: err}
	}
	results, err := a.Allocate(ctx, node, claims)
	switch {
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return nil, nil
	case ctx.left < 0:
		return nil, &AllocationError{Err: fmt.Errorf("the search for devices was given up after %d steps", mostSteps)}
	case err != nil:
		return nil, &AllocationError{Err: err}
	case len(results) != len(claims):
		return nil, nil
	}
	return results, nil
}

// countdown is a context that ends after a number of looks at it.
type countdown struct {
	context.Context
	left int
}

// Err counts down.
func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// classLister lists device classes by name.
type classLister map[string]*resourcev1.DeviceClass

func (l classLister) List() ([]*resourcev1.DeviceClass, error) {
	return nil, errors.New("listing all device classes is not used")
}

func (l classLister) Get(name string) (*resourcev1.DeviceClass, error) {
	if c, ok := l[name]; ok {
		return c, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
}

// Matches says whether a device matches a class and selectors. The error is one of a
// selector: it does not compile, or fails on this device.
func (d *Devices) Matches(class string, selectors []string, driver string, device *resourcev1.Device) (bool, error) {
	c, err := d.classes.Get(class)
	if err != nil {
		return false, fmt.Errorf("device class %s does not exist", class)
	}
	for i, s := range c.Spec.Selectors {
		if s.CEL == nil {
			continue
		}
		if ok, err := d.matches(s.CEL.Expression, driver, device); err != nil || !ok {
			return false, wrap(err, "device class %s, selector %d", class, i)
		}
	}
	for _, s := range selectors {
		if ok, err := d.matches(s, driver, device); err != nil || !ok {
			return false, wrap(err, "selector %s", s)
		}
	}
	return true, nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func (d *Devices) matches(expression, driver string, device *resourcev1.Device) (bool, error) {
	compiled := d.cel.GetOrCompile(expression)
	if compiled.Error != nil {
		return false, compiled.Error
	}
	ok, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity,
	})
	return ok, err
}

// WithTaintRules is the slices as the scheduler sees them: each DeviceTaintRule adds its
// taint to the devices that it selects, unless a gate is off. A rule without a selector
// selects nothing, an empty selector everything.
func (d *Devices) WithTaintRules(slices []*resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) []*resourcev1.ResourceSlice {
	if len(rules) == 0 || !d.features.EnableDRADeviceTaints || d.rulesOff {
		return slices
	}
	out := make([]*resourcev1.ResourceSlice, len(slices))
	for i, s := range slices {
		out[i] = tainted(s, rules)
	}
	return out
}

func tainted(s *resourcev1.ResourceSlice, rules []*resourcev1.DeviceTaintRule) *resourcev1.ResourceSlice {
	is := func(want *string, have string) bool { return want == nil || *want == have }
	out := s
	for _, r := range rules {
		selector := r.Spec.DeviceSelector
		if selector == nil || !is(selector.Driver, s.Spec.Driver) || !is(selector.Pool, s.Spec.Pool.Name) {
			continue
		}
		for i := range s.Spec.Devices {
			if !is(selector.Device, s.Spec.Devices[i].Name) {
				continue
			}
			if out == s {
				out = s.DeepCopy()
			}
			out.Spec.Devices[i].Taints = append(out.Spec.Devices[i].Taints, r.Spec.Taint)
		}
	}
	return out
}
