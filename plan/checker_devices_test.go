package plan_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/plan"
)

// deviceID names a device of a plan.
type deviceID struct{ driver, pool, device string }

// devices: every claim of a placed pod names devices that its node sees, no device that is
// not shared is given twice, and the shares of a device are not more than it has.
func (c *checker) devices() {
	has := c.allocatedBefore()
	exclusive := map[deviceID]string{}
	used := map[deviceID]map[string]*resource.Quantity{}
	for claim, results := range has {
		for _, r := range results {
			if r.AdminAccess != nil && *r.AdminAccess {
				continue
			}
			id := deviceID{r.Driver, r.Pool, r.Device}
			if r.ShareID == nil {
				exclusive[id] = "claim " + claim
			}
			for name, q := range r.ConsumedCapacity {
				addShare(used, id, string(name), q)
			}
		}
	}
	counted := map[string]bool{} // claims that several pods use
	for _, x := range c.plan.Placements {
		p, at := c.pods[x.Pod], c.nodes[x.Node]
		if p == nil || at == nil {
			continue // placements says so
		}
		sees := c.seenBy(x.Node, at)
		for _, d := range x.Devices {
			id := deviceID{d.Driver, d.Pool, d.Device}
			offered := sees[id]
			if offered == nil {
				c.fail("%s on %s: gets device %v, which the node does not see", x.Pod, x.Node, id)
				continue
			}
			claim := c.claimOf(p, d.Claim)
			if has[claim] != nil || counted[claim+d.Device] {
				continue
			}
			if claim != "" {
				counted[claim+d.Device] = true
			}
			if who, ok := exclusive[id]; ok && !d.Shared {
				c.fail("device %v is given to %s and to %s", id, who, x.Pod)
			}
			if !d.Shared {
				exclusive[id] = x.Pod
			}
			for name, text := range d.Capacity {
				addShare(used, id, name, resource.MustParse(text))
				if sum, most := used[id][name], offered.Capacity[resourcev1.QualifiedName(name)].Value; sum.Cmp(most) > 0 {
					c.fail("device %v: %s of %s is given, it has %s", id, sum, name, most.String())
				}
			}
		}
		for _, pc := range p.Spec.ResourceClaims {
			if !slices.ContainsFunc(x.Devices, func(d plan.Device) bool { return d.Claim == pc.Name }) {
				c.fail("%s on %s: no device for its claim %s", x.Pod, x.Node, pc.Name)
			}
		}
	}
}

func addShare(used map[deviceID]map[string]*resource.Quantity, id deviceID, name string, q resource.Quantity) {
	if used[id] == nil {
		used[id] = map[string]*resource.Quantity{}
	}
	if used[id][name] == nil {
		used[id][name] = &resource.Quantity{}
	}
	used[id][name].Add(q)
}

// allocatedBefore are the devices of claims that were allocated before the plan.
func (c *checker) allocatedBefore() map[string][]resourcev1.DeviceRequestAllocationResult {
	out := map[string][]resourcev1.DeviceRequestAllocationResult{}
	for _, x := range c.snap.ResourceClaims() {
		if x.Status.Allocation != nil {
			out[keyOf(x)] = x.Status.Allocation.Devices.Results
		}
	}
	return out
}

// claimOf is the object behind a pod's claim, or its pod group's; "" for one of its own.
func (c *checker) claimOf(p *corev1.Pod, name string) string {
	for _, pc := range p.Spec.ResourceClaims {
		if pc.Name != name {
			continue
		}
		if pc.ResourceClaimName != nil {
			return p.Namespace + "/" + *pc.ResourceClaimName
		}
		for _, s := range p.Status.ResourceClaimStatuses {
			if s.Name == name && s.ResourceClaimName != nil {
				return p.Namespace + "/" + *s.ResourceClaimName
			}
		}
		if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil && c.config.Scheduler.FeatureGates["DRAWorkloadResourceClaims"] {
			return p.Namespace + "/" + *g.PodGroupName + "/" + name
		}
	}
	return ""
}

// seenBy are the devices that a node may get: its own, or its template's, and those that
// are not of one node.
func (c *checker) seenBy(name string, at *target) map[deviceID]*resourcev1.Device {
	out := map[deviceID]*resourcev1.Device{}
	add := func(s *resourcev1.ResourceSlice) {
		for i := range s.Spec.Devices {
			out[deviceID{s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[i].Name}] = &s.Spec.Devices[i]
		}
	}
	for _, s := range c.snap.ResourceSlices() {
		if s.Spec.NodeName == nil || *s.Spec.NodeName == name {
			add(s)
		}
	}
	if g := c.groups[at.group]; g != nil && (at.fresh || at.state == nodegroups.Upcoming) {
		for _, s := range g.Template.ResourceSlices(name) {
			add(s)
		}
	}
	return out
}

// servedByDevices says whether an extended resource comes from a device class on the node,
// and fails where the placement lists fewer devices than are asked for.
func (c *checker) servedByDevices(p *corev1.Pod, r corev1.ResourceName, at *target) bool {
	if q := at.object.Status.Allocatable[r]; !q.IsZero() {
		return false
	}
	backed := slices.ContainsFunc(c.snap.DeviceClasses(), func(d *resourcev1.DeviceClass) bool {
		return d.Spec.ExtendedResourceName != nil && *d.Spec.ExtendedResourceName == string(r) ||
			resourcev1.ResourceDeviceClassPrefix+d.Name == string(r)
	})
	if !backed {
		return false
	}
	got := 0
	for _, d := range c.placed[keyOf(p)].Devices {
		if d.Claim == "" {
			got++
		}
	}
	if want := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})[r]; int64(got) < want.Value() {
		c.fail("%s: %d devices for %s %s", keyOf(p), got, want.String(), r)
	}
	return true
}

// TestDeviceCheckerFails breaks the devices of a good plan in one way at a time.
func TestDeviceCheckerFails(t *testing.T) {
	tests := map[string]struct {
		scenario string
		damage   func(p *plan.Plan)
		want     string
	}{
		"given twice": {"dra-exact-count", func(p *plan.Plan) {
			p.Placements[1].Devices = slices.Clone(p.Placements[0].Devices)
			p.Placements[1].Node, p.Placements[1].New = p.Placements[0].Node, p.Placements[0].New
		}, "is given to"},
		"none":      {"dra-exact-count", func(p *plan.Plan) { p.Placements[0].Devices = nil }, "no device for its claim"},
		"not there": {"dra-exact-count", func(p *plan.Plan) { p.Placements[0].Devices[0].Device = "other" }, "does not see"},
		"given before": {"dra-claim-in-use", func(p *plan.Plan) {
			p.Placements[0].Node, p.Placements[0].New = "gpu-a", false
			p.Placements[0].Devices[0].Pool = "gpu-a"
		}, "is given to claim"},
		"too many shares": {"dra-capacity-several-pods-on-one-device", func(p *plan.Plan) {
			for i := range p.Placements {
				for d := range p.Placements[i].Devices {
					for name := range p.Placements[i].Devices[d].Capacity {
						p.Placements[i].Devices[d].Capacity[name] = "900Gi"
					}
				}
			}
		}, "is given, it has"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			snap, config, p := goodPlan(t, filepath.Join("testdata/scenarios", tc.scenario))
			tc.damage(p)
			assert.Contains(t, strings.Join(violations(t, snap, config, p), "\n"), tc.want)
		})
	}
}
