package kubesched

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Cycle is one pod's scheduling cycle: what PreFilter learnt about the cluster at the
// time of Begin, and was told since by Added. It is void once a node is added or removed,
// or a pod in any other way.
type Cycle struct {
	cluster *Cluster
	pod     *corev1.Pod
	state   *framework.CycleState
	// only is the set of nodes that PreFilter left; nil for all.
	only sets.Set[string]
	// narrowed names the plugin that left only these.
	narrowed string
}

// PodError says that a plugin cannot make sense of a pod, such as a selector that does
// not parse. No node will do for it, and no other pod is concerned.
type PodError struct {
	Namespace, Name string
	Plugin          string
	Err             error
}

// Error names the pod and the plugin.
func (e *PodError) Error() string {
	return fmt.Sprintf("pod %s/%s: %s: %v", e.Namespace, e.Name, e.Plugin, e.Err)
}

// Unwrap returns what the plugin said.
func (e *PodError) Unwrap() error { return e.Err }

func podError(pod *corev1.Pod, plugin string, err error) error {
	return &PodError{Namespace: pod.Namespace, Name: pod.Name, Plugin: plugin, Err: err}
}

// Begin runs the PreFilter plugins as the framework does. A refusal means that no node
// will do. A PodError is a pod that a plugin cannot make sense of.
func (c *Cluster) Begin(pod *corev1.Pod) (*Cycle, *Refusal, error) {
	return c.begin(pod, c.filters)
}

func (c *Cluster) begin(pod *corev1.Pod, filters []fwk.FilterPlugin) (*Cycle, *Refusal, error) {
	pod = withUID(pod)
	y := &Cycle{cluster: c, pod: pod, state: framework.NewCycleState()}
	skip := sets.New[string]()
	for _, f := range filters {
		p, ok := f.(fwk.PreFilterPlugin)
		if !ok {
			continue
		}
		result, status := p.PreFilter(context.Background(), y.state, pod, c.nodes.infos)
		switch {
		case status.IsSkip():
			skip.Insert(p.Name())
		case status.IsRejected():
			return nil, refusal(p.Name(), status), nil
		case !status.IsSuccess():
			return nil, nil, podError(pod, p.Name(), status.AsError())
		case !result.AllNodes():
			y.narrow(p.Name(), result.NodeNames)
		}
	}
	y.state.SetSkipFilterPlugins(skip)
	return y, nil, nil
}

func (y *Cycle) narrow(plugin string, names sets.Set[string]) {
	y.narrowed = plugin
	if y.only == nil {
		y.only = names
		return
	}
	y.only = y.only.Intersection(names)
}

// Filter runs the Filter plugins in the default order; nil means that the pod fits.
func (y *Cycle) Filter(node string) (*Refusal, error) {
	return y.filter(node, y.cluster.filters)
}

func (y *Cycle) filter(node string, filters []fwk.FilterPlugin) (*Refusal, error) {
	if y.only != nil && !y.only.Has(node) {
		return &Refusal{Plugin: y.narrowed, Reasons: []string{"the pod is bound to other nodes"}}, nil
	}
	info, ok := y.cluster.nodes.get(node)
	if !ok {
		return nil, fmt.Errorf("node %q is not in the session", node)
	}
	for _, f := range filters {
		if y.state.GetSkipFilterPlugins().Has(f.Name()) {
			continue
		}
		status := f.Filter(context.Background(), y.state, y.pod, info)
		if status.IsRejected() {
			return refusal(f.Name(), status), nil
		}
		if !status.IsSuccess() {
			return nil, podError(y.pod, f.Name(), status.AsError())
		}
	}
	return nil, nil
}

// Added tells the cycle that another pod was put on a node since Begin, by the plugins'
// own PreFilter extensions. It returns false when the cycle cannot know what that means
// and must begin anew: a plugin that had nothing to look at may have something now.
func (y *Cycle) Added(pod *corev1.Pod, node string) bool {
	info, ok := y.cluster.nodes.get(node)
	if !ok {
		return false
	}
	p := podInfo(pod)
	if len(p.RequiredAntiAffinityTerms) > 0 && y.state.GetSkipFilterPlugins().Has(InterPodAffinity) {
		return false
	}
	for _, f := range y.cluster.filters {
		pre, ok := f.(fwk.PreFilterPlugin)
		if !ok || y.state.GetSkipFilterPlugins().Has(f.Name()) || pre.PreFilterExtensions() == nil {
			continue
		}
		if status := pre.PreFilterExtensions().AddPod(context.Background(), y.state, y.pod, p, info); !status.IsSuccess() {
			return false
		}
	}
	return true
}

// FilterAll is Filter without stopping at the first plugin that refuses: every refusal,
// in the default order.
func (y *Cycle) FilterAll(node string) ([]Refusal, error) {
	var out []Refusal
	for _, f := range y.cluster.filters {
		r, err := y.filter(node, []fwk.FilterPlugin{f})
		if err != nil {
			return nil, err
		}
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

func refusal(plugin string, status *fwk.Status) *Refusal {
	return &Refusal{Plugin: plugin, Reasons: status.Reasons()}
}

// Reserve puts the pod on a node that Filter accepted, and reserves the volumes chosen
// there, so that the next pod cannot have them.
func (y *Cycle) Reserve(node string) error {
	if y.cluster.volumes != nil && !y.state.GetSkipFilterPlugins().Has(VolumeBinding) {
		if status := y.cluster.volumes.Reserve(context.Background(), y.state, y.pod, node); !status.IsSuccess() {
			return fmt.Errorf("pod %s/%s on node %s: %w", y.pod.Namespace, y.pod.Name, node, status.AsError())
		}
		y.cluster.reserved[string(y.pod.UID)] = y.state
	}
	return y.cluster.AddPod(y.pod, node)
}

// Score returns the weighted sum of the default score plugins, normalised over exactly
// these nodes, in their order. All must have passed Filter in this cycle.
func (y *Cycle) Score(nodes []string) ([]int64, error) {
	infos := make([]fwk.NodeInfo, len(nodes))
	for i, n := range nodes {
		info, ok := y.cluster.nodes.get(n)
		if !ok {
			return nil, fmt.Errorf("node %q is not in the session", n)
		}
		infos[i] = info
	}
	total := make([]int64, len(nodes))
	for _, s := range y.cluster.scores {
		if err := y.addScore(s, infos, total); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func (y *Cycle) addScore(s weighted, infos []fwk.NodeInfo, total []int64) error {
	ctx := context.Background()
	if p, ok := s.plugin.(fwk.PreScorePlugin); ok {
		status := p.PreScore(ctx, y.state, y.pod, infos)
		if status.IsSkip() {
			return nil
		}
		if !status.IsSuccess() {
			return podError(y.pod, s.plugin.Name(), status.AsError())
		}
	}
	scores := make(fwk.NodeScoreList, len(infos))
	for i, info := range infos {
		score, status := s.plugin.Score(ctx, y.state, y.pod, info)
		if !status.IsSuccess() {
			return podError(y.pod, s.plugin.Name(), status.AsError())
		}
		scores[i] = fwk.NodeScore{Name: info.Node().Name, Score: score}
	}
	if e := s.plugin.ScoreExtensions(); e != nil {
		if status := e.NormalizeScore(ctx, y.state, y.pod, scores); !status.IsSuccess() {
			return podError(y.pod, s.plugin.Name(), status.AsError())
		}
	}
	for i := range scores {
		total[i] += scores[i].Score * s.weight
	}
	return nil
}

// Static asks the plugins whose answer depends only on the pod and on the node's
// labels, taints, name and unschedulable flag, for a node that need not be in the
// cluster. It returns every refusal, in the default order.
func (c *Cluster) Static(pod *corev1.Pod, node *corev1.Node) ([]Refusal, error) {
	info := framework.NewNodeInfo()
	info.SetNode(node)
	lone := &Cluster{nodes: newNodeList(), filters: c.filters}
	lone.nodes.add(info)
	var out []Refusal
	for _, f := range c.filters {
		switch f.Name() {
		case NodeName, NodeUnschedulable, TaintToleration, NodeAffinity:
		default:
			continue
		}
		only := []fwk.FilterPlugin{f}
		y, r, err := lone.begin(pod, only)
		if err == nil && r == nil {
			r, err = y.filter(node.Name, only)
		}
		if err != nil {
			return nil, err
		}
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}
