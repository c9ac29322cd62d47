package nodegroups_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

// gpus is a group of machines with eight H100, ready within ten minutes.
func gpus(name string) configv1alpha1.NodeGroup {
	return configv1alpha1.NodeGroup{Name: name, InstanceType: "p5.48xlarge", MaxSize: 10, StartupTaints: []string{"example.com/startup"},
		Provisioning: configv1alpha1.Provisioning{Timeout: duration(10 * time.Minute)}}
}

func TestObserveStates(t *testing.T) {
	healthy := func() nodeBuilder { return makeReady("a", "g").Allocatable("nvidia.com/gpu", "8") }
	cases := map[string]struct {
		node      nodeBuilder
		dra       bool
		want      nodegroups.NodeState
		wantWhy   string
		wantUntil time.Duration // after now; 0: none
	}{
		"ready":                          {node: healthy(), want: nodegroups.Ready},
		"ready, however old":             {node: healthy().Age(time.Hour), want: nodegroups.Ready, wantUntil: -50 * time.Minute},
		"ready with fewer devices":       {node: healthy().Allocatable("nvidia.com/gpu", "1"), want: nodegroups.Ready},
		"not Ready yet":                  {node: healthy().Condition(corev1.ConditionFalse).Age(4 * time.Minute), want: nodegroups.Upcoming, wantWhy: "is not Ready", wantUntil: 6 * time.Minute},
		"Ready is unknown":               {node: healthy().Condition(corev1.ConditionUnknown).Age(time.Minute), want: nodegroups.Upcoming, wantWhy: "is not Ready", wantUntil: 9 * time.Minute},
		"no condition":                   {node: makeNode("a").Group("g").Age(time.Minute), want: nodegroups.Upcoming, wantWhy: "is not Ready", wantUntil: 9 * time.Minute},
		"start-up taint":                 {node: healthy().Taint("example.com/startup").Age(time.Minute), want: nodegroups.Upcoming, wantWhy: "still has start-up taint example.com/startup", wantUntil: 9 * time.Minute},
		"another taint":                  {node: healthy().Taint("nvidia.com/gpu"), want: nodegroups.Ready},
		"no accelerators":                {node: makeReady("a", "g").Age(time.Minute), want: nodegroups.Upcoming, wantWhy: "shows none of its 8 nvidia.com/gpu", wantUntil: 9 * time.Minute},
		"zero accelerators":              {node: healthy().Allocatable("nvidia.com/gpu", "0").Age(time.Minute), want: nodegroups.Upcoming, wantWhy: "shows none of its 8 nvidia.com/gpu", wantUntil: 9 * time.Minute},
		"devices of DRA are no resource": {node: healthy(), dra: true, want: nodegroups.Upcoming, wantWhy: "shows no ResourceSlices of gpu.nvidia.com"},
		"just before the time-out":       {node: makeReady("a", "g").Age(10*time.Minute - time.Second), want: nodegroups.Upcoming, wantWhy: "shows none of its 8 nvidia.com/gpu", wantUntil: time.Second},
		"at the time-out":                {node: makeReady("a", "g").Age(10 * time.Minute), want: nodegroups.Failed, wantWhy: "shows none of its 8 nvidia.com/gpu 10m after it registered"},
		"not Ready past the time-out":    {node: healthy().Condition(corev1.ConditionFalse).Age(time.Hour), want: nodegroups.Failed, wantWhy: "is not Ready 10m after it registered", wantUntil: -50 * time.Minute},
		"of unknown age":                 {node: makeNode("a").Group("g"), want: nodegroups.Upcoming, wantWhy: "is not Ready"},
		"deleted":                        {node: healthy().Deleted(), want: nodegroups.Deleting, wantWhy: "is being deleted"},
		"tainted by Cluster Autoscaler":  {node: healthy().Taint("ToBeDeletedByClusterAutoscaler"), want: nodegroups.Deleting, wantWhy: "is being deleted"},
		"tainted by Karpenter":           {node: healthy().Taint("karpenter.sh/disrupted"), want: nodegroups.Deleting, wantWhy: "is being deleted"},
		"deleted after it failed":        {node: makeReady("a", "g").Age(time.Hour).Deleted(), want: nodegroups.Deleting, wantWhy: "is being deleted", wantUntil: -50 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := gpus("g")
			if tc.dra {
				c.Devices = configv1alpha1.DevicesDRA
			}
			want := nodegroups.ObservedNode{Node: tc.node.Obj(), State: tc.want, Why: tc.wantWhy}
			if !tc.node.n.CreationTimestamp.IsZero() {
				want.Until = now().Add(tc.wantUntil)
			}
			require.Empty(t, cmp.Diff([]nodegroups.ObservedNode{want}, observe(t, c, tc.node.Obj()).Nodes))
		})
	}
}

func TestLeaving(t *testing.T) {
	require.True(t, nodegroups.Leaving(makeNode("a").Deleted().Obj()))
	require.True(t, nodegroups.Leaving(makeNode("a").Taint("ToBeDeletedByClusterAutoscaler").Obj()))
	require.True(t, nodegroups.Leaving(makeNode("a").Taint("karpenter.sh/disrupted").Obj()))
	require.False(t, nodegroups.Leaving(makeNode("a").Taint("DeletionCandidateOfClusterAutoscaler").Obj()), "a candidate stays for now")
}

func TestUnready(t *testing.T) {
	require.True(t, nodegroups.Unready(makeNode("a").Condition(corev1.ConditionFalse).Obj()))
	require.True(t, nodegroups.Unready(makeNode("a").Condition(corev1.ConditionUnknown).Obj()))
	require.False(t, nodegroups.Unready(makeNode("a").Condition(corev1.ConditionTrue).Obj()))
	require.False(t, nodegroups.Unready(makeNode("a").Obj()), "as it is, where it says nothing")
}

func TestObserveOwners(t *testing.T) {
	selecting := func(name, key, value string) configv1alpha1.NodeGroup {
		g := own(name)
		g.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		return g
	}
	groups := []configv1alpha1.NodeGroup{selecting("a", "pool", "a"), selecting("b", "disk", "ssd"), own("c")}
	cases := map[string]struct {
		node        nodeBuilder
		want        string // The owner, "" for none.
		wantWarning string
	}{
		"by label":                    {node: makeNode("n").Group("c"), want: "c"},
		"by selector":                 {node: makeNode("n").Label("pool", "a"), want: "a"},
		"by neither":                  {node: makeNode("n").Label("pool", "z")},
		"the label beats a selector":  {node: makeNode("n").Label("pool", "a").Group("c"), want: "c"},
		"the label beats two of them": {node: makeNode("n").Label("pool", "a").Label("disk", "ssd").Group("c"), want: "c"},
		"two owners": {node: makeNode("n").Label("pool", "a").Label("disk", "ssd"),
			wantWarning: "node n: the selectors of groups a and b both match; it is left alone"},
		"an unknown label": {node: makeNode("n").Group("z"),
			wantWarning: `node n: label tidegate.io/node-group names group "z", which is not configured; the node is left alone`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			statuses, warnings := nodegroups.Observe(build(t, groups...), []*corev1.Node{tc.node.Obj()}, nil, now())
			owner := ""
			for _, s := range statuses {
				if len(s.Nodes) > 0 {
					require.Empty(t, owner, "one owner")
					owner = s.Name
				}
			}
			require.Equal(t, tc.want, owner)
			var want []string
			if tc.wantWarning != "" {
				want = []string{tc.wantWarning}
			}
			require.Empty(t, cmp.Diff(want, warnings))
		})
	}
}

func TestObserveCounts(t *testing.T) {
	cases := map[string]struct {
		size                         *int64
		nodes                        int
		wantTarget, wantUnregistered int64
	}{
		"nothing said, nothing there": {},
		"nothing said":                {nodes: 2, wantTarget: 2},
		"as many as were asked for":   {size: new(int64(2)), nodes: 2, wantTarget: 2},
		"more on their way":           {size: new(int64(5)), nodes: 2, wantTarget: 5, wantUnregistered: 3},
		"more than were asked for":    {size: new(int64(1)), nodes: 2, wantTarget: 2},
		"none asked for":              {size: new(int64(0)), nodes: 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := own("g")
			c.Size = tc.size
			var nodes []*corev1.Node
			for i := range tc.nodes {
				nodes = append(nodes, makeReady(string(rune('a'+i)), "g").Obj())
			}
			s := observe(t, c, nodes...)
			require.Equal(t, tc.wantTarget, s.Target)
			require.Equal(t, tc.wantUnregistered, s.Unregistered)
		})
	}
}

func TestObserveBackoff(t *testing.T) {
	cases := map[string]struct {
		group configv1alpha1.NodeGroup
		said  time.Duration // backoffUntil after now; 0: none
		nodes []nodeBuilder
		want  time.Duration // after now; 0: none
	}{
		"five minutes after the time-out": {group: gpus("g"), nodes: []nodeBuilder{makeNode("a").Group("g").Age(12 * time.Minute)}, want: 3 * time.Minute},
		"the newest failure counts": {group: gpus("g"), nodes: []nodeBuilder{
			makeNode("a").Group("g").Age(11 * time.Minute), makeNode("b").Group("g").Age(14 * time.Minute)}, want: 4 * time.Minute},
		"it is over":                     {group: gpus("g"), nodes: []nodeBuilder{makeNode("a").Group("g").Age(20 * time.Minute)}, want: -5 * time.Minute},
		"the configuration says longer":  {group: gpus("g"), said: time.Hour, nodes: []nodeBuilder{makeNode("a").Group("g").Age(12 * time.Minute)}, want: time.Hour},
		"the configuration says shorter": {group: gpus("g"), said: time.Minute, nodes: []nodeBuilder{makeNode("a").Group("g").Age(12 * time.Minute)}, want: 3 * time.Minute},
		"upcoming":                       {group: gpus("g"), nodes: []nodeBuilder{makeNode("a").Group("g").Age(time.Minute)}},
		"without accelerators":           {group: own("g"), nodes: []nodeBuilder{makeNode("a").Group("g").Age(time.Minute)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.said != 0 {
				until := metav1.NewTime(now().Add(tc.said))
				tc.group.BackoffUntil = &until
			}
			var nodes []*corev1.Node
			for _, b := range tc.nodes {
				nodes = append(nodes, b.Obj())
			}
			s := observe(t, tc.group, nodes...)
			var want time.Time
			if tc.want != 0 {
				want = now().Add(tc.want)
			}
			require.Equal(t, want, s.BackoffUntil)
			require.Equal(t, tc.want > 0, s.Room(now()) == 0)
		})
	}
}

func TestObserveKeepsItsInput(t *testing.T) {
	groups := build(t, gpus("g"), gpus("other"))
	before := build(t, gpus("g"), gpus("other"))
	node := makeReady("a", "g").Label("nvidia.com/gpu.product", "H100").Allocatable("cpu", "1", "nvidia.com/gpu", "8").Obj()
	was := node.DeepCopy()
	statuses, _ := nodegroups.Observe(groups, []*corev1.Node{node}, nil, now())
	require.Contains(t, statuses[0].Template.Labels, "nvidia.com/gpu.product")
	require.NotContains(t, statuses[1].Template.Labels, "nvidia.com/gpu.product")
	for i := range groups {
		require.Empty(t, cmp.Diff(shapeOf(before[i]), shapeOf(groups[i])))
	}
	require.Empty(t, cmp.Diff(was, node))
}
