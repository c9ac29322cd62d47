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

// shape is the part of a group that New computes.
type shape struct {
	Accelerator string
	Count       int64
	Resources   []corev1.ResourceName
	Price       configv1alpha1.MicroDollars
	PriceKnown  bool
	GrowsForAny bool
	Unit        int64
	Size        int64
	Allocatable map[string]string
	Labels      map[string]string
	Sources     []string
}

func shapeOf(g nodegroups.Group) shape {
	return shape{
		Accelerator: g.Accelerator, Count: g.AcceleratorCount, Resources: g.AcceleratorResources,
		Price: g.Price, PriceKnown: g.PriceKnown, GrowsForAny: g.GrowsForAny, Unit: g.Unit, Size: g.Size,
		Allocatable: amounts(g.Template.Allocatable), Labels: g.Template.Labels, Sources: g.Template.Sources,
	}
}

func TestNewFillsFromTheCatalogue(t *testing.T) {
	cases := map[string]struct {
		group configv1alpha1.NodeGroup
		want  shape
	}{
		"all from the catalogue": {
			group: configv1alpha1.NodeGroup{Name: "g", InstanceType: "p5.48xlarge"},
			want: shape{
				Accelerator: "nvidia-h100-80gb", Count: 8, Resources: []corev1.ResourceName{"nvidia.com/gpu"},
				Price: 55_040_000, PriceKnown: true, Unit: 1, Size: -1,
				Allocatable: map[string]string{"cpu": "191450m", "memory": "1938300Mi", "ephemeral-storage": "89Gi", "pods": "110",
					"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"},
				Labels: map[string]string{"tidegate.io/node-group": "g", "node.kubernetes.io/instance-type": "p5.48xlarge",
					"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"},
				Sources: []string{"catalogue: p5.48xlarge"},
			},
		},
		"the configuration overrides": {
			group: configv1alpha1.NodeGroup{
				Name: "g", InstanceType: "p5.48xlarge", Accelerator: "h100", AcceleratorCount: new(int64(4)), Size: new(int64(3)), Unit: 2,
				PricePerHour: new(10 * dollar), GrowsFor: configv1alpha1.GrowsForAny, Zones: []string{"z1"},
				Labels:   map[string]string{"kubernetes.io/arch": "arm64", "team": "a", "tidegate.io/node-group": "other"},
				Capacity: quantities("cpu", "100", "vpc.amazonaws.com/efa", "16"),
			},
			want: shape{
				Accelerator: "h100", Count: 4, Resources: []corev1.ResourceName{"nvidia.com/gpu"},
				Price: 10 * dollar, PriceKnown: true, GrowsForAny: true, Unit: 2, Size: 3,
				Allocatable: map[string]string{"cpu": "100", "memory": "1938300Mi", "ephemeral-storage": "89Gi", "pods": "110",
					"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "16"},
				Labels: map[string]string{"tidegate.io/node-group": "g", "node.kubernetes.io/instance-type": "p5.48xlarge",
					"kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux", "team": "a", "topology.kubernetes.io/zone": "z1"},
				Sources: []string{"catalogue: p5.48xlarge", "configuration: capacity"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.want, shapeOf(build(t, tc.group)[0])))
		})
	}
}

func TestNewFillsFromTheConfiguration(t *testing.T) {
	cases := map[string]struct {
		group configv1alpha1.NodeGroup
		want  shape
	}{
		"a machine of no catalogue, its count from its resource": {
			group: configv1alpha1.NodeGroup{Name: "g", InstanceType: "mine", Accelerator: "h200", Zones: []string{"z1", "z2"},
				Capacity: quantities("cpu", "190", "memory", "1900Gi", "nvidia.com/gpu", "8", "rdma/hca", "8")},
			want: shape{
				Accelerator: "h200", Count: 8, Resources: []corev1.ResourceName{"nvidia.com/gpu"}, Unit: 1, Size: -1,
				Allocatable: map[string]string{"cpu": "190", "memory": "1900Gi", "pods": "110", "nvidia.com/gpu": "8", "rdma/hca": "8"},
				Labels:      map[string]string{"tidegate.io/node-group": "g"},
				Sources:     []string{"configuration: capacity"},
			},
		},
		"a resource of an unknown vendor, found by its number": {
			group: configv1alpha1.NodeGroup{Name: "g", Accelerator: "npu", AcceleratorCount: new(int64(4)),
				Capacity: quantities("cpu", "8", "memory", "32Gi", "pods", "30", "example.com/npu", "4", "rdma/hca", "1")},
			want: shape{
				Accelerator: "npu", Count: 4, Resources: []corev1.ResourceName{"example.com/npu"}, Unit: 1, Size: -1,
				Allocatable: map[string]string{"cpu": "8", "memory": "32Gi", "pods": "30", "example.com/npu": "4", "rdma/hca": "1"},
				Labels:      map[string]string{"tidegate.io/node-group": "g"},
				Sources:     []string{"configuration: capacity"},
			},
		},
		"without accelerators it grows for any pod": {
			group: own("g"),
			want: shape{
				GrowsForAny: true, Unit: 1, Size: -1,
				Allocatable: map[string]string{"cpu": "8", "memory": "32Gi", "pods": "110"},
				Labels:      map[string]string{"tidegate.io/node-group": "g"},
				Sources:     []string{"configuration: capacity"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.want, shapeOf(build(t, tc.group)[0])))
		})
	}
}

func TestNewCopiesWhatIsSaid(t *testing.T) {
	until := metav1.NewTime(now().Add(time.Hour))
	c := own("g")
	c.MinSize, c.Priority, c.StartupTaints = 1, 7, []string{"example.com/startup"}
	c.BackoffUntil = &until
	c.Provisioning = configv1alpha1.Provisioning{Delay: duration(time.Minute), Timeout: duration(time.Hour), Atomic: true}
	c.Topology = []configv1alpha1.TopologyLevel{{Key: "rack", NodesPerDomain: 4}}
	c.Taints = []corev1.Taint{{Key: "example.com/startup"}, {Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
	g := build(t, c)[0]
	require.Equal(t, []int64{1, 10, 7}, []int64{g.MinSize, g.MaxSize, g.Priority})
	require.Equal(t, []time.Duration{time.Minute, time.Hour}, []time.Duration{g.Delay, g.Timeout})
	require.True(t, g.Atomic)
	require.Equal(t, until.Time, g.BackoffUntil)
	require.Equal(t, c.Topology, g.Topology)
	require.Equal(t, c.Taints[1:], g.Template.Taints, "start-up taints are gone when pods come")
}

func TestNewShares(t *testing.T) {
	cases := map[string]struct {
		group       configv1alpha1.NodeGroup
		wantOffered string
		wantErr     string
	}{
		"from the catalogue":            {group: configv1alpha1.NodeGroup{InstanceType: "g6.2xlarge"}, wantOffered: "4"},
		"capacity counts devices":       {group: configv1alpha1.NodeGroup{InstanceType: "g6.2xlarge", Capacity: quantities("nvidia.com/gpu", "1")}, wantOffered: "4"},
		"capacity counts what is lent":  {group: configv1alpha1.NodeGroup{InstanceType: "g6.2xlarge", Capacity: quantities("nvidia.com/gpu", "4")}, wantOffered: "4"},
		"capacity counts neither":       {group: configv1alpha1.NodeGroup{InstanceType: "g6.2xlarge", Capacity: quantities("nvidia.com/gpu", "3")}, wantErr: `nodeGroups[0].capacity[nvidia.com/gpu]: Invalid value: "3": group g: with acceleratorCount 1 and sharing.replicas 4 it must be 1 (devices) or 4 (as offered)`},
		"the count from what is lent":   {group: configv1alpha1.NodeGroup{Accelerator: "l4", Capacity: quantities("cpu", "8", "memory", "32Gi", "nvidia.com/gpu", "4")}, wantOffered: "4"},
		"nothing stands for the device": {group: configv1alpha1.NodeGroup{Accelerator: "l4", AcceleratorCount: new(int64(1)), Capacity: quantities("cpu", "8", "memory", "32Gi")}, wantErr: `add for example nvidia.com/gpu: "4"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.group.Name, tc.group.Sharing.Replicas = "g", 4
			groups, err := nodegroups.New(&configv1alpha1.AutoscalerConfiguration{NodeGroups: []configv1alpha1.NodeGroup{tc.group}})
			if tc.wantErr != "" {
				require.ErrorContains(t, err, tc.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, int64(1), groups[0].AcceleratorCount, "devices are counted once")
			require.Equal(t, tc.wantOffered, amounts(groups[0].Template.Allocatable)["nvidia.com/gpu"])
		})
	}
}

func TestNewOfDRAOffersNoExtendedResource(t *testing.T) {
	g := build(t, configv1alpha1.NodeGroup{Name: "g", InstanceType: "p5.48xlarge", Devices: configv1alpha1.DevicesDRA})[0]
	require.Equal(t, int64(8), g.AcceleratorCount)
	require.Equal(t, "nvidia-h100-80gb", g.Accelerator)
	require.Empty(t, g.AcceleratorResources)
	require.NotContains(t, g.Template.Allocatable, corev1.ResourceName("nvidia.com/gpu"))
	require.False(t, g.GrowsForAny)
}

func TestNewRefuses(t *testing.T) {
	_, err := nodegroups.New(&configv1alpha1.AutoscalerConfiguration{NodeGroups: []configv1alpha1.NodeGroup{
		{Name: "a", InstanceType: "p5.48xlrage"},
		{Name: "b", InstanceType: "refrigerator", Capacity: quantities("cpu", "8")},
		{Name: "c", InstanceType: "g6.2xlarge", Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}}}},
	}})
	require.ErrorContains(t, err, `nodeGroups[0].instanceType: Invalid value: "p5.48xlrage": group a: not in the catalogue`)
	require.ErrorContains(t, err, "did you mean p5.48xlarge")
	require.ErrorContains(t, err, `nodeGroups[1].instanceType: Invalid value: "refrigerator"`)
	require.ErrorContains(t, err, "nodeGroups[2].selector")
}

// price is what a group costs, and whether that is known.
type price struct {
	Amount configv1alpha1.MicroDollars
	Known  bool
}

type priceCase struct {
	groups       []configv1alpha1.NodeGroup
	want         []price
	wantWarnings []string
}

func (tc priceCase) run(t *testing.T) {
	t.Helper()
	groups := build(t, tc.groups...)
	var got []price
	for _, g := range groups {
		got = append(got, price{g.Price, g.PriceKnown})
	}
	require.Empty(t, cmp.Diff(tc.want, got))
	require.Empty(t, cmp.Diff(tc.wantWarnings, nodegroups.Warnings(groups, configv1alpha1.Limits{})))
}

func priced(name string, amount configv1alpha1.MicroDollars) configv1alpha1.NodeGroup {
	g := own(name)
	g.PricePerHour = &amount
	return g
}

func machine(name, instanceType string, capacityType configv1alpha1.CapacityType) configv1alpha1.NodeGroup {
	return configv1alpha1.NodeGroup{Name: name, InstanceType: instanceType, CapacityType: capacityType}
}

func TestNewPrices(t *testing.T) {
	cases := map[string]priceCase{
		"all known": {
			groups: []configv1alpha1.NodeGroup{priced("a", dollar), priced("b", 0)},
			want:   []price{{dollar, true}, {0, true}},
		},
		"an unknown one counts as the dearest, wherever that stands": {
			groups:       []configv1alpha1.NodeGroup{own("a"), priced("b", 2*dollar), priced("c", 98_320_000), priced("d", dollar)},
			want:         []price{{98_320_000, false}, {2 * dollar, true}, {98_320_000, true}, {dollar, true}},
			wantWarnings: []string{"node group a has no price; it counts as dear as the dearest group, $98.32 an hour and node"},
		},
		"spot keeps the on-demand price, which is not a known one": {
			groups: []configv1alpha1.NodeGroup{machine("a", "p5.48xlarge", configv1alpha1.Spot), priced("b", dollar), own("c")},
			want:   []price{{55_040_000, false}, {dollar, true}, {dollar, false}},
			wantWarnings: []string{
				"node group a is spot without pricePerHour; it counts at the on-demand price of $55.04",
				"node group c has no price; it counts as dear as the dearest group, $1.00 an hour and node",
			},
		},
		"spot of a machine without a price": {
			groups:       []configv1alpha1.NodeGroup{machine("a", "a4-highgpu-8g", configv1alpha1.Spot), priced("b", dollar)},
			want:         []price{{dollar, false}, {dollar, true}},
			wantWarnings: []string{"node group a has no price; it counts as dear as the dearest group, $1.00 an hour and node"},
		},
		"a machine of the catalogue without a price": {
			groups:       []configv1alpha1.NodeGroup{machine("a", "a4-highgpu-8g", configv1alpha1.OnDemand), machine("b", "p5.48xlarge", configv1alpha1.Reserved)},
			want:         []price{{55_040_000, false}, {55_040_000, true}},
			wantWarnings: []string{"node group a has no price; it counts as dear as the dearest group, $55.04 an hour and node"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestNewWithoutKnownPrices(t *testing.T) {
	cases := map[string]priceCase{
		"none known": {
			groups:       []configv1alpha1.NodeGroup{own("a"), own("b")},
			want:         []price{{0, false}, {0, false}},
			wantWarnings: []string{"no node group has a price; cost decides nothing"},
		},
		"only spot": {
			groups: []configv1alpha1.NodeGroup{machine("a", "p5.48xlarge", configv1alpha1.Spot), own("b")},
			want:   []price{{55_040_000, false}, {0, false}},
			wantWarnings: []string{
				"node group a is spot without pricePerHour; it counts at the on-demand price of $55.04",
				"node group b has no price, and no group has a certain one; it counts as free",
			},
		},
		"no groups": {},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestWarningsOfLimits(t *testing.T) {
	groups := build(t,
		configv1alpha1.NodeGroup{Name: "a", InstanceType: "p5.48xlarge"},
		configv1alpha1.NodeGroup{Name: "b", InstanceType: "g6.2xlarge"},
		configv1alpha1.NodeGroup{Name: "c", Accelerator: "own", AcceleratorCount: new(int64(1)), PricePerHour: new(dollar),
			Capacity: quantities("cpu", "8", "memory", "32Gi", "example.com/own", "1")},
	)
	cases := map[string]struct {
		limit string
		want  string // After `limits.accelerators: no node group has accelerator `; "" for none.
	}{
		"of a group":                 {limit: "nvidia-l4"},
		"of a group beyond them all": {limit: "own"},
		"of the catalogue":           {limit: "nvidia-b200"},
		"two letters swapped":        {limit: "nvidia-h010-80gb", want: `"nvidia-h010-80gb"; did you mean nvidia-h100-80gb?`},
		"in capitals":                {limit: "NVIDIA-L4", want: `"NVIDIA-L4"; did you mean nvidia-l4?`},
		"a part of the name":         {limit: "H100", want: `"H100"; did you mean nvidia-h100-80gb?`},
		"more than the name":         {limit: "nvidia-l4-24gb", want: `"nvidia-l4-24gb"; did you mean nvidia-l4?`},
		"the resource":               {limit: "nvidia.com/gpu", want: `"nvidia.com/gpu"; did you mean nvidia-h100-80gb, nvidia-l4?`},
		"like nothing":               {limit: "refrigerator", want: `"refrigerator"`},
		"empty":                      {limit: "", want: `""`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var want []string
			if tc.want != "" {
				want = []string{"limits.accelerators: no node group has accelerator " + tc.want}
			}
			got := nodegroups.Warnings(groups, configv1alpha1.Limits{Accelerators: map[string]int64{tc.limit: 1}})
			require.Empty(t, cmp.Diff(want, got))
		})
	}
	t.Run("in the order of names", func(t *testing.T) {
		got := nodegroups.Warnings(groups, configv1alpha1.Limits{Accelerators: map[string]int64{"z9": 1, "x9": 1, "y9": 1}})
		require.Empty(t, cmp.Diff([]string{
			`limits.accelerators: no node group has accelerator "x9"`,
			`limits.accelerators: no node group has accelerator "y9"`,
			`limits.accelerators: no node group has accelerator "z9"`,
		}, got))
	})
}

func TestAccelerators(t *testing.T) {
	const key = "node.kubernetes.io/instance-type"
	cases := map[string]struct {
		node      nodeBuilder
		want      string
		wantCount int64
	}{
		"by the catalogue":             {node: makeNode("a").Label(key, "p5.48xlarge"), want: "nvidia-h100-80gb", wantCount: 8},
		"by the old label":             {node: makeNode("a").Label("beta.kubernetes.io/instance-type", "p5.48xlarge"), want: "nvidia-h100-80gb", wantCount: 8},
		"the new label first":          {node: makeNode("a").Label(key, "g6.2xlarge").Label("beta.kubernetes.io/instance-type", "p5.48xlarge"), want: "nvidia-l4", wantCount: 1},
		"in any case on Azure":         {node: makeNode("a").Label(key, "standard_nd96isr_h100_v5"), want: "nvidia-h100-80gb", wantCount: 8},
		"as allocatable":               {node: makeNode("a").Label(key, "p5.48xlarge").Allocatable("nvidia.com/gpu", "6"), want: "nvidia-h100-80gb", wantCount: 6},
		"an ill device is still there": {node: makeNode("a").Label(key, "p5.48xlarge").Allocatable("nvidia.com/gpu", "7").Capacity("nvidia.com/gpu", "8"), want: "nvidia-h100-80gb", wantCount: 8},
		"the plugin is gone":           {node: makeNode("a").Label(key, "p5.48xlarge").Allocatable("nvidia.com/gpu", "0").Capacity("nvidia.com/gpu", "0"), want: "nvidia-h100-80gb", wantCount: 8},
		"cut into parts":               {node: makeNode("a").Label(key, "p5.48xlarge").Allocatable("nvidia.com/mig-1g.10gb", "56"), want: "nvidia-h100-80gb", wantCount: 8},
		"a machine without":            {node: makeNode("a").Label(key, "Standard_D32s_v5")},
		"an unknown machine":           {node: makeNode("a").Label(key, "mine").Allocatable("nvidia.com/gpu", "8")},
		"no label":                     {node: makeNode("a").Allocatable("nvidia.com/gpu", "8")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, count := nodegroups.Accelerators(tc.node.Obj())
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.wantCount, count)
		})
	}
}

func TestIsAccelerator(t *testing.T) {
	for _, name := range []corev1.ResourceName{"nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "aws.amazon.com/neuroncore", "google.com/tpu"} {
		require.True(t, nodegroups.IsAccelerator(name), name)
	}
	for _, name := range []corev1.ResourceName{"cpu", "vpc.amazonaws.com/efa", "rdma/hca", "nvidia.com/hostdev"} {
		require.False(t, nodegroups.IsAccelerator(name), name)
	}
}

func TestTemplateNode(t *testing.T) {
	c := own("g")
	c.Labels = map[string]string{"team": "a", "rack": "r0"}
	c.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	template := build(t, c)[0].Template
	n := template.Node("g/1", map[string]string{"rack": "r1"})
	require.Equal(t, "g/1", n.Name)
	require.Empty(t, cmp.Diff(map[string]string{
		"kubernetes.io/hostname": "g/1", "rack": "r1", "team": "a", "tidegate.io/node-group": "g"}, n.Labels))
	require.Equal(t, c.Taints, n.Spec.Taints)
	require.Empty(t, cmp.Diff(map[string]string{"cpu": "8", "memory": "32Gi", "pods": "110"}, amounts(n.Status.Allocatable)))
	require.False(t, nodegroups.Unready(n))
	require.Equal(t, "r0", template.Labels["rack"], "the template is not changed by a node of it")
	require.NotContains(t, template.Labels, "kubernetes.io/hostname")
}
