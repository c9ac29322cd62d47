package nodegroups_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
)

type labels map[string]string

// labelCase is what a group that says site=north learns from its nodes.
type labelCase struct {
	nodes []nodeBuilder
	want  labels // Beside the group's own.
}

func (tc labelCase) run(t *testing.T) {
	t.Helper()
	c := own("g")
	c.Labels = map[string]string{"site": "north"}
	var nodes []*corev1.Node
	for _, b := range tc.nodes {
		nodes = append(nodes, b.Obj())
	}
	want := map[string]string{nodegroups.LabelNodeGroup: "g", "site": "north"}
	maps.Copy(want, tc.want)
	require.Empty(t, cmp.Diff(want, observe(t, c, nodes...).Template.Labels))
}

// node is a ready node of group g with these labels, too.
func node(name string, l labels) nodeBuilder {
	b := makeReady(name, "g")
	maps.Copy(b.n.Labels, l)
	return b
}

// TestLearnFromTheOnlyNode: what machines set is learnt, what a hand set is not.
func TestLearnFromTheOnlyNode(t *testing.T) {
	made := labels{
		"nvidia.com/gpu.product": "H100", "amd.com/gpu.family": "AI", "feature.node.kubernetes.io/pci-10de.present": "true",
		"node.kubernetes.io/instance-type": "mine", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
		"beta.kubernetes.io/os": "linux", "cloud.google.com/gke-nodepool": "p", "eks.amazonaws.com/nodegroup": "n",
		"k8s.amazonaws.com/accelerator": "h100", "karpenter.sh/nodepool": "k", "karpenter.k8s.aws/instance-gpu-count": "8",
		"kubernetes.azure.com/agentpool": "p", "aws.amazon.com/neuron.present": "true", "google.com/tpu.version": "v5",
		"topology.kubernetes.io/region": "r",
	}
	all := labels{
		"team": "vision", "example.com/fabric": "f1", "node-role.kubernetes.io/gpu": "", "kubernetes.io/role": "x", "not-nvidia.com/gpu": "x",
	}
	maps.Copy(all, made)
	labelCase{nodes: []nodeBuilder{node("a", all)}, want: made}.run(t)
}

func TestLearnLabels(t *testing.T) {
	cases := map[string]labelCase{
		"two nodes: all on which they agree": {
			nodes: []nodeBuilder{
				node("a", labels{"team": "vision", "nvidia.com/gpu.product": "H100", "stage": "one", "only-a": "", "role": ""}),
				node("b", labels{"team": "vision", "nvidia.com/gpu.product": "H200", "stage": "two", "only-b": "x", "role": ""}),
			},
			want: labels{"team": "vision", "role": ""},
		},
		"three nodes of which one differs": {
			nodes: []nodeBuilder{node("a", labels{"team": "x", "k": "v"}), node("b", labels{"team": "x", "k": "v"}), node("c", labels{"team": "y", "k": "v"})},
			want:  labels{"k": "v"},
		},
		"nodes that are not ready teach nothing": {
			nodes: []nodeBuilder{
				node("a", labels{"team": "x", "nvidia.com/gpu.product": "H100"}),
				node("b", labels{"team": "x", "nvidia.com/gpu.product": "none"}).Condition(corev1.ConditionFalse),
			},
			want: labels{"nvidia.com/gpu.product": "H100"},
		},
		"no ready node": {nodes: []nodeBuilder{node("a", labels{"nvidia.com/gpu.product": "H100"}).Deleted()}},
		"never a place in the network": {
			nodes: []nodeBuilder{
				node("a", places()), node("b", places()),
			},
		},
		"not of the only node either": {nodes: []nodeBuilder{node("a", places())}},
		"the configuration wins": {
			nodes: []nodeBuilder{node("a", labels{"site": "south", "k": "v"}), node("b", labels{"site": "south", "k": "v"})},
			want:  labels{"k": "v"},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

func TestLearnNoNodesOwnLabels(t *testing.T) {
	cases := map[string]labelCase{
		"never one node's own": {
			nodes: []nodeBuilder{
				node("a", labels{"kubernetes.io/hostname": "h", "nvidia.com/gfd.timestamp": "1893456000", "k1": "a", "k2": "uid-a", "k3": "i-0abc", "k4": "b"}).IDs("uid-a", "aws:///z1/i-0abc"),
				node("b", labels{"kubernetes.io/hostname": "h", "nvidia.com/gfd.timestamp": "1893456000", "k1": "a", "k2": "uid-a", "k3": "i-0abc", "k4": "b"}).IDs("uid-b", "aws:///z1/i-0def"),
			},
		},
		"nor of the only one": {
			nodes: []nodeBuilder{node("a", labels{"nvidia.com/name": "a", "karpenter.sh/claim": "uid-a", "alpha.eksctl.io/instance-id": "i-0abc",
				"nvidia.com/id": "id-a", "alpha.eksctl.io/nodegroup-name": "n"}).IDs("uid-a", "aws:///z1/i-0abc")},
			want: labels{"nvidia.com/id": "id-a", "alpha.eksctl.io/nodegroup-name": "n"},
		},
		"a whole provider id": {nodes: []nodeBuilder{node("a", labels{"nvidia.com/id": "i-0abc"}).IDs("uid-a", "i-0abc")}},
		"a number is no instance": {
			nodes: []nodeBuilder{node("a", labels{"nvidia.com/gpu.count": "8"}).IDs("uid-a", "azure:///subscriptions/s/virtualMachines/8")},
			want:  labels{"nvidia.com/gpu.count": "8"},
		},
		"an empty value names no node": {
			nodes: []nodeBuilder{node("a", labels{"nvidia.com/gpu": ""})},
			want:  labels{"nvidia.com/gpu": ""},
		},
	}
	for name, tc := range cases {
		t.Run(name, tc.run)
	}
}

// places are labels that say where a node is.
func places() map[string]string {
	return map[string]string{
		"topology.kubernetes.io/zone": "z1", "failure-domain.beta.kubernetes.io/zone": "z1", "topology.kubernetes.io/rack": "r1",
		"topology.k8s.aws/network-node-layer-3": "nn-1", "cloud.google.com/gce-topology-block": "b1",
		"cloud.google.com/gke-tpu-partition-2x2x4-id": "p1", "nvidia.com/gpu.clique": "c.1", "topology.ebs.csi.aws.com/zone": "z1",
	}
}

func TestLearnTopology(t *testing.T) {
	const key = "example.com/fabric"
	whole := []configv1alpha1.TopologyLevel{{Key: key, NodesPerDomain: 0}}
	node := func(name string) nodeBuilder { return node(name, nil) }
	cases := map[string]struct {
		topology []configv1alpha1.TopologyLevel
		said     string // The group's label, "" for none.
		nodes    []nodeBuilder
		want     string // The template's label, "" for none.
	}{
		"all agree":                {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "f1"), node("b").Label(key, "f1")}, want: "f1"},
		"the only node":            {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "f1")}, want: "f1"},
		"they differ":              {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "f1"), node("b").Label(key, "f2")}},
		"one has none":             {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "f1"), node("b")}},
		"another is not ready yet": {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "f1"), makeNode("b").Group("g")}, want: "f1"},
		"none is ready":            {topology: whole, nodes: []nodeBuilder{makeNode("a").Group("g").Label(key, "f1")}},
		"the configuration says":   {topology: whole, said: "f0", nodes: []nodeBuilder{node("a").Label(key, "f1")}, want: "f0"},
		"one node's own name":      {topology: whole, nodes: []nodeBuilder{node("a").Label(key, "a")}},
		"domains of a number of nodes": {topology: []configv1alpha1.TopologyLevel{{Key: key, NodesPerDomain: 4}},
			nodes: []nodeBuilder{node("a").Label(key, "f1"), node("b").Label(key, "f1")}},
		"the outer of two levels": {topology: append(whole, configv1alpha1.TopologyLevel{Key: "rack", NodesPerDomain: 4}),
			nodes: []nodeBuilder{node("a").Label(key, "f1").Label("rack", "r1")}, want: "f1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := own("g")
			c.Topology = tc.topology
			if tc.said != "" {
				c.Labels = map[string]string{key: tc.said}
			}
			var nodes []*corev1.Node
			for _, b := range tc.nodes {
				nodes = append(nodes, b.Obj())
			}
			want := map[string]string{nodegroups.LabelNodeGroup: "g"}
			if tc.want != "" {
				want[key] = tc.want
			}
			require.Empty(t, cmp.Diff(want, observe(t, c, nodes...).Template.Labels))
		})
	}
	t.Run("a known key of the network, too", func(t *testing.T) {
		c := own("g")
		c.Topology = []configv1alpha1.TopologyLevel{{Key: "nvidia.com/gpu.clique"}}
		s := observe(t, c, node("a").Label("nvidia.com/gpu.clique", "c.1").Obj())
		require.Equal(t, "c.1", s.Template.Labels["nvidia.com/gpu.clique"])
	})
}

// TestLearnVolumeZone: volumes ask for a zone by their driver's own key.
func TestLearnVolumeZone(t *testing.T) {
	const key = "topology.ebs.csi.aws.com/zone"
	c := own("g")
	c.Zones = []string{"z1"}
	require.Equal(t, "z1", observe(t, c, makeReady("a", "g").Label(key, "z1").Obj()).Template.Labels[key])
	require.NotContains(t, observe(t, c, makeReady("a", "g").Label(key, "z2").Obj()).Template.Labels, key)
	c.Zones = []string{"z1", "z2"}
	require.NotContains(t, observe(t, c, makeReady("a", "g").Label(key, "z1").Obj()).Template.Labels, key)
}

func TestLearnResources(t *testing.T) {
	c := gpus("g")
	c.Capacity = quantities("cpu", "100")
	s := observe(t, c,
		makeReady("a", "g").Allocatable("cpu", "90", "memory", "1900000Mi", "nvidia.com/gpu", "7", "pods", "250", "rdma/hca", "8").Obj(),
		makeReady("b", "g").Allocatable("cpu", "90", "memory", "1930000Mi", "nvidia.com/gpu", "8", "ephemeral-storage", "80Gi").Obj(),
		makeReady("c", "g").Allocatable("memory", "1Gi").Age(0).Obj(), // without accelerators: broken, not a new shape
	)
	want := map[string]string{
		"cpu":                   "100",       // is declared
		"memory":                "1900000Mi", // the least of the ready
		"ephemeral-storage":     "80Gi",      // of the one that shows any
		"pods":                  "110",       // never corrected upwards
		"nvidia.com/gpu":        "8",         // the accelerator is trusted
		"vpc.amazonaws.com/efa": "32",        // no node shows any
	}
	require.Empty(t, cmp.Diff(want, amounts(s.Template.Allocatable)))
	require.Equal(t, []string{"catalogue: p5.48xlarge", "configuration: capacity", "learnt from ready nodes such as a"}, s.Template.Sources)
}

// TestLearnFromNodeWithoutLabels: a selector may match a node that has no labels at all.
func TestLearnFromNodeWithoutLabels(t *testing.T) {
	c := own("g")
	c.Selector = &metav1.LabelSelector{}
	n := makeNode("a").Condition(corev1.ConditionTrue).Obj()
	n.Labels = nil
	require.Equal(t, map[string]string{nodegroups.LabelNodeGroup: "g"}, observe(t, c, n).Template.Labels)
}
