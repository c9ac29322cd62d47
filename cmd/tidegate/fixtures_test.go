package main

import (
	"fmt"
	"strings"
)

// at is the decision time of tests on inputs of their own.
const at = "2030-01-01T00:00:00Z"

// podText is a pending pod that asks for GPUs.
type podText struct {
	namespace, name string
	gang            string // PodGroup; empty: none
	gpus            int
	node            string // bound to
	cpu             string // empty: 1
	selector        string
	gated           bool
}

func (p podText) String() string {
	if p.cpu == "" {
		p.cpu = "1"
	}
	spec := ""
	if p.gang != "" {
		spec += fmt.Sprintf("  schedulingGroup: {podGroupName: %s}\n", p.gang)
	}
	if p.node != "" {
		spec += fmt.Sprintf("  nodeName: %s\n", p.node)
	}
	if p.selector != "" {
		spec += fmt.Sprintf("  nodeSelector: %s\n", p.selector)
	}
	if p.gated {
		spec += "  schedulingGates: [{name: example.com/quota}]\n"
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, creationTimestamp: "2029-12-31T00:00:00Z"}
spec:
%s  containers:
  - {name: main, resources: {requests: {cpu: %q, nvidia.com/gpu: "%d"}}}
`, p.name, p.namespace, spec, p.cpu, p.gpus)
}

// gangText is a PodGroup and its pods.
type gangText struct {
	namespace, name string
	pods, minimum   int
	gpus            int
	topology        string // required key
}

func (g gangText) String() string {
	var b strings.Builder
	topology := ""
	if g.topology != "" {
		topology = fmt.Sprintf("  schedulingConstraints: {topology: [{key: %s}]}\n", g.topology)
	}
	fmt.Fprintf(&b, `---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: %s, namespace: %s, creationTimestamp: "2029-12-31T00:00:00Z"}
spec:
  schedulingPolicy: {gang: {minCount: %d}}
%s`, g.name, g.namespace, g.minimum, topology)
	for i := range g.pods {
		// The pods of a gang with the longest name have shorter names: both have a limit.
		b.WriteString(podText{namespace: g.namespace, name: fmt.Sprintf("%s-%d", g.name, i), gang: g.name, gpus: g.gpus}.String())
	}
	return b.String()
}

// nodeText is a node of a group.
type nodeText struct {
	name, group string
	gpus        int
	ready       bool
	labels      string // further labels, ", key: value"
}

func (n nodeText) String() string {
	ready := "False"
	if n.ready {
		ready = "True"
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: Node
metadata:
  name: %s
  creationTimestamp: "2029-12-30T00:00:00Z"
  labels: {tidegate.io/node-group: %s, kubernetes.io/hostname: %s%s}
status:
  allocatable: {cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: "%d"}
  conditions: [{type: Ready, status: %q}]
`, n.name, n.group, n.name, n.labels, n.gpus, ready)
}

// configText is a configuration of groups, one line of YAML each.
func configText(groups ...string) string {
	return "apiVersion: config.tidegate.io/v1alpha1\nkind: AutoscalerConfiguration\nnodeGroups:\n- " + strings.Join(groups, "\n- ") + "\n"
}

// groupText is a group of machines with eight GPUs; more are further fields.
func groupText(name, more string) string {
	return fmt.Sprintf(`{name: %s, accelerator: nvidia-h100-80gb, acceleratorCount: 8, maxSize: 4, pricePerHour: 10, capacity: {cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}%s}`, name, more)
}

// small is an input on which every command answers: a gang that gets new nodes and one
// that is too large.
func small() map[string]string {
	return map[string]string{
		"cluster.yaml": gangText{namespace: "train", name: "small", pods: 2, minimum: 2, gpus: 8}.String() +
			gangText{namespace: "train", name: "large", pods: 9, minimum: 9, gpus: 8}.String(),
		"config.yaml": configText(groupText("h100", ", size: 0")),
	}
}
