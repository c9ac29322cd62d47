package plan_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

type autoscalerConfig = configv1alpha1.AutoscalerConfiguration

// brokenWorld has a gang that fills two new nodes of one rack, a pod that the standing
// node takes, a gang that waits for its second pod, and two pods that nothing holds.
func brokenWorld() *world {
	w := &world{}
	node := size{cpu: 8000, memory: 32, gpus: 4}
	w.group(makeGroup("t4", node, 2e6, 6).Size(1).Level(rackKey, 2))
	w.group(makeGroup("blocked", node, 1e6, 6).Size(0).Unit(2).Available(now.Add(-time.Hour), now.Add(-time.Minute), 6))
	w.add(makeNode("t4-0", node).Group("t4").Label(rackKey, "a").Obj())
	w.add(makePod("ns/running", size{cpu: 100, memory: 1, gpus: 2}).On("t4-0").Obj())
	w.add(makeGang("ns/train", 2, rackKey), makeGang("ns/late", 2, ""))
	w.pods(2, "ns/train", size{cpu: 6000, memory: 16, gpus: 4}, func(b podBuilder) podBuilder { return b.Gang("train") })
	w.pods(1, "ns/late", size{cpu: 100, memory: 1}, func(b podBuilder) podBuilder { return b.Gang("late") })
	w.pods(1, "ns/small", size{cpu: 100, memory: 1, gpus: 1}, nil)
	w.pods(1, "ns/huge", size{cpu: 100, memory: 1, gpus: 64}, nil)
	w.pods(1, "ns/claims", size{cpu: 100, memory: 1}, func(b podBuilder) podBuilder { return b.Claim("shared") })
	return w
}

// TestCheckerFails breaks a good plan, or the rules under it, in one way at a time: the
// checker of every other test here must say so.
func TestCheckerFails(t *testing.T) {
	placement := func(p *plan.Plan, pod string) *plan.Placement {
		i := slices.IndexFunc(p.Placements, func(x plan.Placement) bool { return x.Pod == pod })
		return &p.Placements[i]
	}
	tests := map[string]struct {
		damage func(*plan.Plan, *autoscalerConfig)
		want   string
	}{
		"unknown group": {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].NodeGroup = "other" }, `scale-up of "other"`},
		"bought twice": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.ScaleUps = append(p.ScaleUps, p.ScaleUps[0])
		}, "given twice"},
		"sizes that do not add": {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].From++ }, "the target is 1"},
		"past the maximum":      {func(_ *plan.Plan, c *autoscalerConfig) { c.NodeGroups[0].MaxSize = 2 }, "maximum 2"},
		"below the minimum":     {func(_ *plan.Plan, c *autoscalerConfig) { c.NodeGroups[0].MinSize = 4 }, "minimum 4"},
		"half a unit":           {func(_ *plan.Plan, c *autoscalerConfig) { c.NodeGroups[0].Unit = 3 }, "not whole units of 3"},
		"while backing off": {func(_ *plan.Plan, c *autoscalerConfig) {
			c.NodeGroups[0].BackoffUntil = makeGroup("", size{}, 0, 0).Backoff(now.Add(time.Minute)).group.BackoffUntil
		}, "backs off"},
		"outside its dates": {func(_ *plan.Plan, c *autoscalerConfig) {
			c.NodeGroups[0].Available = c.NodeGroups[1].Available
		}, "outside its dates"},
		"wrong price":      {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].PricePerHour++ }, "price"},
		"miscounted pods":  {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].Pods++ }, "lists 3 pods"},
		"unlisted gang":    {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].Gangs = nil }, "lists 2 pods of []"},
		"wrong cost":       {func(p *plan.Plan, _ *autoscalerConfig) { p.Cost.After++ }, "cost"},
		"bound above cost": {func(p *plan.Plan, _ *autoscalerConfig) { p.Cost.LowerBound = p.Cost.After + 1 }, "lower bound"},
		"over the node limit": {func(_ *plan.Plan, c *autoscalerConfig) {
			c.Limits.MaxNodes = new(int64(2))
		}, "limit 2"},
		"over the cost limit": {func(_ *plan.Plan, c *autoscalerConfig) {
			c.Limits.MaxCostPerHour = new(configv1alpha1.MicroDollars(5e6))
		}, "costs 6"},
		"over the accelerator limit": {func(_ *plan.Plan, c *autoscalerConfig) {
			c.Limits.Accelerators = map[string]int64{"nvidia-t4": 11}
		}, "4 and 8 more nvidia-t4, limit 11"},
		"pod with a claim": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Placements = append(p.Placements, plan.Placement{Pod: "ns/claims-0", Node: "t4-0", NodeGroup: "t4"})
		}, "no device for its claim"},
		"half a gang": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Placements = slices.DeleteFunc(p.Placements, func(x plan.Placement) bool { return x.Pod == "ns/train-1" })
		}, "1 placed and 0 bound, minimum 2"},
		"lost pod": {func(p *plan.Plan, _ *autoscalerConfig) { p.Unschedulable = nil }, "ns/huge-0 is in 0"},
		"placed and waiting": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Placements = append(p.Placements, plan.Placement{Pod: "ns/late-0", Gang: "ns/late", Node: "t4-0", NodeGroup: "t4"})
		}, "ns/late-0 is in 2"},
		"a running pod placed": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Placements = append(p.Placements, plan.Placement{Pod: "ns/running", Node: "t4-0", NodeGroup: "t4"})
		}, "ns/running is not pending"},
		"placed twice": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Placements = append(p.Placements, p.Placements[0])
		}, "placed twice"},
		"unknown node":       {func(p *plan.Plan, _ *autoscalerConfig) { p.Placements[0].Node = "t4/new-9" }, "no such pod or node"},
		"not said to be new": {func(p *plan.Plan, _ *autoscalerConfig) { placement(p, "ns/train-0").New = false }, "new false"},
		"wrong gang":         {func(p *plan.Plan, _ *autoscalerConfig) { placement(p, "ns/train-0").Gang = "" }, `gang ""`},
		"full node": {func(p *plan.Plan, _ *autoscalerConfig) {
			placement(p, "ns/train-0").Node = placement(p, "ns/train-1").Node
		}, "8 of 4 nvidia.com/gpu"},
		"split over racks": {func(p *plan.Plan, _ *autoscalerConfig) {
			x := placement(p, "ns/train-0")
			x.Domains = maps.Clone(x.Domains)
			x.Domains[rackKey] = "elsewhere"
		}, "gang ns/train spans"},
		"no rack": {func(p *plan.Plan, _ *autoscalerConfig) {
			placement(p, "ns/train-0").Domains = nil
		}, "no domain of"},
		"domain miscounted":  {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].Domains[0].Nodes++ }, "domains hold"},
		"domain overfull":    {func(p *plan.Plan, _ *autoscalerConfig) { p.ScaleUps[0].Domains[0].Domain = "a" }, "3 nodes in " + rackKey + " a, at most 2"},
		"waiting miscounted": {func(p *plan.Plan, _ *autoscalerConfig) { p.Waiting[0].Pods++ }, "waiting ns/late: 2 pods, want 1"},
		"no words":           {func(p *plan.Plan, _ *autoscalerConfig) { p.Unschedulable[0].Message = "" }, "message"},
		"a group is silent": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Unschedulable[0].NodeGroups = p.Unschedulable[0].NodeGroups[1:]
		}, "reasons of 1 of 2 groups"},
		"unknown reason": {func(p *plan.Plan, _ *autoscalerConfig) {
			p.Unschedulable[0].NodeGroups[0].Reason = "Because"
		}, "Because"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := brokenWorld()
			p := w.decide(t) // holds before the damage
			require.Len(t, p.ScaleUps, 1)
			require.Len(t, p.Placements, 3)
			tc.damage(p, &w.config)
			assert.Contains(t, strings.Join(violations(t, w.snapshot(t), &w.config, p), "\n"), tc.want)
		})
	}
}
