package v1alpha1

import (
	"fmt"
	"strings"
	"testing"
)

// TestSliceRules: one case or more for each rule about resourceSlices.
func TestSliceRules(t *testing.T) {
	const at = "nodeGroups[0] (h100): resourceSlices"
	const left = ": must be left out: the slices are those of each new node"
	tests := map[string]struct {
		slices string // The list, in flow style.
		want   []string
	}{
		"all is well":                        {slices: `[{driver: gpu.nvidia.com, pool: {name: ""}, devices: [{name: gpu-0, attributes: {type: {string: gpu}}}]}, {driver: dra.net, pool: {name: a/b}, devices: [{name: gpu-0}]}]`},
		"slicesNameDriverAndPool: no driver": {`[{pool: {name: p}}]`, []string{at + "[0].driver: is required"}},
		"slicesNameDriverAndPool: driver":    {`[{driver: GPU}]`, []string{at + `[0].driver: "GPU" is not a driver's name: `}},
		"slicesNameDriverAndPool: long":      {`[{driver: ` + strings.Repeat("a", 64) + `}]`, []string{at + "[0].driver: must be at most 63 characters long, is 64"}},
		"slicesNameDriverAndPool: pool":      {`[{driver: d, pool: {name: "a//b"}}]`, []string{at + `[0].pool.name: "a//b" is not a pool's name: `}},
		"slicesAreNodeLocal": {`[{driver: d, nodeName: n, allNodes: true, perDeviceNodeSelection: true, nodeSelector: {nodeSelectorTerms: []}}]`, []string{
			at + "[0].allNodes" + left, at + "[0].nodeName" + left, at + "[0].nodeSelector" + left, at + "[0].perDeviceNodeSelection" + left}},
		"slicesAreNodeLocal: devices": {`[{driver: d, devices: [{name: a, nodeName: n}, {name: b, allNodes: true}, {name: c, nodeSelector: {nodeSelectorTerms: []}}]}]`, []string{
			at + "[0].devices[0].nodeName" + left, at + "[0].devices[1].allNodes" + left, at + "[0].devices[2].nodeSelector" + left}},
		"slicesHoldOneKind": {`[{driver: d, devices: [{name: a}], sharedCounters: [{name: s, counters: {}}]}]`, []string{
			at + "[0].sharedCounters: must stand in another slice of the pool than devices"}},
		"slicesAreSmall: as many as there may be": {slices: devices(128, "")},
		"slicesAreSmall": {devices(129, ""), []string{at + "[0].devices: must be at most 128, are 129"}},
		"slicesAreSmall: tainted": {devices(65, "taints: [{key: k, effect: NoSchedule}]"), []string{
			at + "[0].devices: must be at most 64 where one has taints, consumes counters or has a list, are 65"}},
		"slicesAreSmall: lists": {devices(65, "attributes: {a: {strings: [x]}}"), []string{
			at + "[0].devices: must be at most 64 where one has taints, consumes counters or has a list, are 65"}},
		"deviceNamesAreUnique: required": {`[{driver: d, devices: [{attributes: {}}]}]`, []string{at + "[0].devices[0].name: is required"}},
		"deviceNamesAreUnique: label":    {`[{driver: d, devices: [{name: gpu_0}]}]`, []string{at + `[0].devices[0].name: "gpu_0" is not a device's name: `}},
		"deviceNamesAreUnique": {`[{driver: d, devices: [{name: a}]}, {driver: d, pool: {name: p}, devices: [{name: a}]}, {driver: d, devices: [{name: b}, {name: a}]}]`, []string{
			at + `[2].devices[1].name: "a" stands twice in the pool, first at resourceSlices[0].devices[0].name`}},
		"attributesHaveOneValue: none": {`[{driver: d, devices: [{name: a, attributes: {type: {}}}]}]`, []string{
			at + "[0].devices[0].attributes[type]: must have one of int, bool, string, version or a list of one of them, has 0"}},
		"attributesHaveOneValue: two": {`[{driver: d, devices: [{name: a, attributes: {type: {int: 1, bools: [true]}}}]}]`, []string{
			at + "[0].devices[0].attributes[type]: must have one of int, bool, string, version or a list of one of them, has 2"}},
		"countersExist: well": {slices: `[{driver: d, devices: [{name: a, consumesCounters: [{counterSet: s, counters: {memory: {value: 1Gi}}}]}]}, {driver: d, sharedCounters: [{name: s, counters: {memory: {value: 4Gi}}}]}]`},
		"countersExist: set": {`[{driver: d, devices: [{name: a, consumesCounters: [{counterSet: s, counters: {memory: {value: 1Gi}}}]}]}, {driver: d, pool: {name: p}, sharedCounters: [{name: s, counters: {memory: {value: 4Gi}}}]}]`, []string{
			at + `[0].devices[0].consumesCounters[0].counterSet: "s" is not among the sharedCounters of the pool`}},
		"countersExist: counter": {`[{driver: d, devices: [{name: a, consumesCounters: [{counterSet: s, counters: {cores: {value: 1}}}]}]}, {driver: d, sharedCounters: [{name: s, counters: {memory: {value: 4Gi}}}]}]`, []string{
			at + `[0].devices[0].consumesCounters[0].counters[cores]: is not a counter of "s"`}},
		"countersExist: twice": {`[{driver: d, sharedCounters: [{name: s, counters: {}}]}, {driver: d, sharedCounters: [{name: s, counters: {}}]}]`, []string{
			at + `[1].sharedCounters[0].name: "s" stands twice in the pool`}},
		"countersExist: name": {`[{driver: d, sharedCounters: [{counters: {}}]}]`, []string{at + `[0].sharedCounters[0].name: "" is not a counter set's name: `}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := header + "nodeGroups:\n- {name: h100, instanceType: p5.48xlarge, minSize: 0, maxSize: 16, devices: dra, resourceSlices: " + tc.slices + "}\n"
			requireProblems(t, in, tc.want)
		})
	}
}

// devices is one slice with this many; the first has more to say.
func devices(count int, more string) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf("{name: gpu-%d}", i)
	}
	if more != "" {
		list[0] = "{name: gpu-0, " + more + "}"
	}
	return "[{driver: d, devices: [" + strings.Join(list, ", ") + "]}]"
}
