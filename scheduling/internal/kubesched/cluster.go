package kubesched

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Scoring is NodeResourcesFit's scoring strategy.
type Scoring string

// The scoring strategies that clusters use.
const (
	LeastAllocated Scoring = Scoring(config.LeastAllocated)
	MostAllocated  Scoring = Scoring(config.MostAllocated)
)

// Names of the plugins whose refusals callers tell apart.
const (
	NodeName           = names.NodeName
	NodeUnschedulable  = names.NodeUnschedulable
	TaintToleration    = names.TaintToleration
	NodeAffinity       = names.NodeAffinity
	NodePorts          = names.NodePorts
	NodeResourcesFit   = names.NodeResourcesFit
	VolumeRestrictions = names.VolumeRestrictions
	NodeVolumeLimits   = names.NodeVolumeLimits
	VolumeBinding      = names.VolumeBinding
	VolumeZone         = names.VolumeZone
	PodTopologySpread  = names.PodTopologySpread
	InterPodAffinity   = names.InterPodAffinity
)

// filterOrder is the default profile's order of the filter plugins that this package
// runs. Two of the default profile are left out: NodeDeclaredFeatures, because imagined
// nodes declare no kubelet features, and DynamicResources, because devices are allocated
// beside the filters.
func filterOrder() []string {
	return []string{
		NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit,
		VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity,
	}
}

// Cluster is an imagined cluster in front of the plugins. It is not safe for concurrent
// use.
type Cluster struct {
	nodes    *nodeList
	csi      csiNodes
	filters  []fwk.FilterPlugin
	scores   []weighted
	volumes  fwk.ReservePlugin
	reserved map[string]fwk.CycleState // by pod UID: what VolumeBinding must undo
}

type weighted struct {
	plugin fwk.ScorePlugin
	weight int64
}

// Refusal says which plugin keeps a pod off a node, in the plugin's own words.
type Refusal struct {
	Plugin  string
	Reasons []string
}

// New builds the plugins of the default profile over an empty cluster.
func New(objects Objects, scoring Scoring) (*Cluster, error) {
	factory, err := newFactory(objects)
	if err != nil {
		return nil, fmt.Errorf("index objects for the scheduler plugins: %w", err)
	}
	c := &Cluster{nodes: newNodeList(), csi: csiNodes{}, reserved: map[string]fwk.CycleState{}}
	for _, n := range objects.CSINodes {
		c.csi[n.Name] = n
	}
	h := &handle{nodes: c.nodes, factory: factory, csi: c.csi}
	if objects.Devices != nil {
		h.resolver = objects.Devices.resolver
	}
	return c, c.build(h, scoring)
}

// build makes each plugin with the arguments of the default profile.
func (c *Cluster) build(h *handle, scoring Scoring) error {
	defaults, err := latest.Default()
	if err != nil {
		return fmt.Errorf("default scheduler configuration: %w", err)
	}
	args := map[string]config.PluginConfig{}
	for _, p := range defaults.Profiles[0].PluginConfig {
		args[p.Name] = p
	}
	if fit, ok := args[NodeResourcesFit].Args.(*config.NodeResourcesFitArgs); ok {
		fit.ScoringStrategy.Type = config.ScoringStrategyType(scoring)
	}
	registry := plugins.NewInTreeRegistry()
	built := map[string]fwk.Plugin{}
	get := func(name string) (fwk.Plugin, error) {
		if p, ok := built[name]; ok {
			return p, nil
		}
		p, err := newPlugin(registry, name, args[name], h)
		if err == nil {
			built[name] = p
		}
		return p, err
	}
	for _, name := range filterOrder() {
		p, err := get(name)
		if err != nil {
			return err
		}
		c.filters = append(c.filters, p.(fwk.FilterPlugin))
	}
	c.volumes, _ = built[VolumeBinding].(fwk.ReservePlugin)
	for _, e := range defaults.Profiles[0].Plugins.MultiPoint.Enabled {
		if e.Name == names.DynamicResources {
			continue
		}
		p, err := get(e.Name)
		if err != nil {
			continue // Plugins without a part in filtering or scoring need a live scheduler.
		}
		if s, ok := p.(fwk.ScorePlugin); ok {
			c.scores = append(c.scores, weighted{plugin: s, weight: int64(max(e.Weight, 1))})
		}
	}
	return nil
}

func newPlugin(registry frameworkruntime.Registry, name string, arg config.PluginConfig, h *handle) (p fwk.Plugin, err error) {
	factory, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("kube-scheduler has no plugin %q", name)
	}
	switch name {
	case names.DefaultPreemption, names.DefaultBinder, names.GangScheduling, names.TopologyPlacementGenerator,
		names.PodGroupPodsCount, names.PrioritySort, names.SchedulingGates, names.NodeDeclaredFeatures:
		return nil, fmt.Errorf("plugin %s has no part in filtering or scoring", name)
	}
	if p, err = factory(context.Background(), arg.Args, h); err != nil {
		return nil, fmt.Errorf("build scheduler plugin %s: %w", name, err)
	}
	return p, nil
}

// AddNode adds an empty node. csi gives its volume limits and may be nil.
func (c *Cluster) AddNode(node *corev1.Node, csi *storagev1.CSINode) {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	c.nodes.add(info)
	if csi != nil {
		c.csi[node.Name] = csi
	}
}

// RemoveNode forgets a node and all that is on it.
func (c *Cluster) RemoveNode(name string) {
	if info, ok := c.nodes.get(name); ok {
		for _, p := range info.Pods {
			c.nodes.count(p.(*framework.PodInfo), -1)
		}
	}
	c.nodes.remove(name)
	delete(c.csi, name)
}

// AddPod puts a pod on a node without asking whether it fits, as for pods that run.
func (c *Cluster) AddPod(pod *corev1.Pod, node string) error {
	info, ok := c.nodes.get(node)
	if !ok {
		return fmt.Errorf("pod %s/%s: node %q is not in the session", pod.Namespace, pod.Name, node)
	}
	p := podInfo(pod)
	info.AddPodInfo(p)
	c.nodes.count(p, 1)
	return nil
}

// podInfo parses the pod's affinity as far as it parses: the scheduler, too, lives with
// pods that the API server let through.
func podInfo(pod *corev1.Pod) *framework.PodInfo {
	// The error concerns terms that do not parse; the others are in the result.
	p, _ := framework.NewPodInfo(withUID(pod))
	return p
}

// Parses says whether the terms that the pod has about other pods make sense.
func Parses(pod *corev1.Pod) bool {
	_, err := framework.NewPodInfo(pod)
	return err == nil
}

// withUID is the pod with a UID, by which the plugins tell pods apart: hand-written dumps
// have none.
func withUID(pod *corev1.Pod) *corev1.Pod {
	if pod.UID != "" {
		return pod
	}
	c := *pod
	c.UID = types.UID(pod.Namespace + "/" + pod.Name)
	return &c
}

// RemovePod takes a pod off a node, and gives back the volumes reserved for it.
func (c *Cluster) RemovePod(pod *corev1.Pod, node string) error {
	info, ok := c.nodes.get(node)
	if !ok {
		return fmt.Errorf("pod %s/%s: node %q is not in the session", pod.Namespace, pod.Name, node)
	}
	pod = withUID(pod)
	if err := info.RemovePod(klog.Background(), pod); err != nil {
		return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	c.nodes.count(podInfo(pod), -1)
	if state, ok := c.reserved[string(pod.UID)]; ok {
		c.volumes.Unreserve(context.Background(), state, pod, node)
		delete(c.reserved, string(pod.UID))
	}
	return nil
}
