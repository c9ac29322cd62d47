package main

import (
	"fmt"
	"strings"
)

// long is a name of n characters.
func long(start string, n int) string {
	return (start + "-" + strings.Repeat("long-name-", 10))[:n-1] + "z"
}

// nothingPending is a cluster where all is well.
func nothingPending() map[string]string {
	return map[string]string{
		"cluster.yaml": nodeText{name: "h100-0", group: "h100", gpus: 8, ready: true}.String() +
			podText{namespace: "train", name: "runs", gpus: 8, node: "h100-0"}.String(),
		"config.yaml": configText(groupText("h100", ", size: 1")),
	}
}

// longNames has names as long as the API server accepts in every column.
func longNames() map[string]string {
	ns := long("ns", 63)
	config := configText(
		groupText(long("group", 60), ", size: 0, topology: [{key: topology.example.com/"+long("rack", 50)+", nodesPerDomain: 2}]"),
		groupText(long("other", 60), ", size: 0, backoffUntil: \"2030-01-01T05:00:00Z\""))
	return map[string]string{
		"cluster.yaml": gangText{namespace: ns, name: long("placed", 60), pods: 2, minimum: 2, gpus: 8}.String() +
			gangText{namespace: ns, name: long("waits", 60), pods: 2, minimum: 3, gpus: 8}.String() +
			gangText{namespace: ns, name: long("refused", 60), pods: 9, minimum: 9, gpus: 8}.String(),
		"config.yaml": config,
	}
}

// manyGroups has thirty groups, none of which can take a gang: some for the same reason,
// some with numbers of their own.
func manyGroups() map[string]string {
	var groups []string
	for i := range 10 {
		groups = append(groups, groupText(fmt.Sprintf("tainted-%d", i), ", size: 0, taints: [{key: example.com/team, value: other, effect: NoSchedule}]"))
	}
	for i := range 10 {
		groups = append(groups, fmt.Sprintf(`{name: small-%d, accelerator: nvidia-l4, acceleratorCount: %d, maxSize: 100, size: 0, pricePerHour: 1, capacity: {cpu: "%d", memory: 64Gi, nvidia.com/gpu: "%d"}}`, i, 1+i%7, 10+i, 1+i%7))
	}
	for i := range 10 {
		groups = append(groups, groupText(fmt.Sprintf("full-%d", i), fmt.Sprintf(", size: %d", i%3)))
	}
	return map[string]string{
		"cluster.yaml": gangText{namespace: "train", name: "large", pods: 41, minimum: 41, gpus: 8}.String(),
		"config.yaml":  configText(groups...),
	}
}

// manyGangs has more gangs of every sort than a screen has lines.
func manyGangs() map[string]string {
	var cluster strings.Builder
	for i := range 60 {
		name := func(sort string) string { return fmt.Sprintf("%s-%02d", sort, i) }
		cluster.WriteString(gangText{namespace: "train", name: name("placed"), pods: 2, minimum: 2, gpus: 1}.String())
		cluster.WriteString(gangText{namespace: "train", name: name("incomplete"), pods: 1 + i%25, minimum: 2 + i%25 + i%2, gpus: 8}.String())
		if i < 30 {
			cluster.WriteString(gangText{namespace: "train", name: name("large"), pods: 40 + i, minimum: 40 + i, gpus: 8}.String())
		}
	}
	return map[string]string{
		"cluster.yaml": cluster.String(),
		"config.yaml":  configText(strings.Replace(groupText("h100", ", size: 0"), "maxSize: 4", "maxSize: 30", 1), groupText("tiny", ", size: 0")),
	}
}

// manyPods has pods in no gang that nobody can serve, and gated ones.
func manyPods() map[string]string {
	var cluster strings.Builder
	for i := range 50 {
		cluster.WriteString(podText{namespace: "batch", name: fmt.Sprintf("huge-%02d", i), gpus: 16}.String())
		cluster.WriteString(podText{namespace: "batch", name: fmt.Sprintf("zone-%02d", i), gpus: 1, selector: "{zone: nowhere}"}.String())
		cluster.WriteString(podText{namespace: "batch", name: fmt.Sprintf("gated-%02d", i), gpus: 1, gated: true}.String())
	}
	cluster.WriteString(podText{namespace: "batch", name: "fits", gpus: 1}.String())
	return map[string]string{"cluster.yaml": cluster.String(), "config.yaml": configText(groupText("h100", ", size: 0"))}
}

// partlyPlaced has a gang whose minimum fits but not all of it.
func partlyPlaced() map[string]string {
	return map[string]string{
		"cluster.yaml": gangText{namespace: "train", name: "elastic", pods: 7, minimum: 3, gpus: 8}.String(),
		"config.yaml":  configText(groupText("h100", ", size: 0")),
	}
}

// trouble has a group below its minimum size, a broken node and a group without a price.
func trouble() map[string]string {
	nowhere := strings.Replace(groupText("unpriced", ", size: 0, capacityType: spot"), ", pricePerHour: 10", "", 1)
	return map[string]string{
		"cluster.yaml": nodeText{name: "broken-0", group: "broken", gpus: 0, ready: false}.String() +
			nodeText{name: "broken-1", group: "broken", gpus: 8, ready: true, labels: ", rack: a"}.String() +
			nodeText{name: "stray", group: "unheard-of", gpus: 8, ready: true}.String() +
			podText{namespace: "train", name: "one", gpus: 1}.String(),
		"config.yaml": configText(
			groupText("minimum", ", minSize: 2, size: 0, unit: 2, provisioning: {delay: 90s}"),
			groupText("broken", ", size: 3, topology: [{key: example.com/row, nodesPerDomain: 0}, {key: example.com/rack, nodesPerDomain: 2}]"), nowhere),
	}
}

// controlCharacters has input that would steer a terminal.
func controlCharacters() map[string]string {
	return map[string]string{
		"cluster.yaml": podText{namespace: "train", name: "evil", gpus: 1, selector: `{zone: "\e[31mred\a"}`}.String(),
		"config.yaml":  configText(groupText("h100", ", size: 0")),
	}
}

// resourceSlices has groups whose devices are in ResourceSlices: a node of the first has
// published its own, the second is known from the catalogue, of the third nothing is.
func resourceSlices() map[string]string {
	slice := `---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: seen-0-gpu}
spec:
  driver: gpu.nvidia.com
  nodeName: seen-0
  pool: {name: seen-0, generation: 3, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {type: {string: gpu}, uuid: {string: GPU-5ee4}, "resource.kubernetes.io/pcieRoot": {string: "pci0000:10"}}
    capacity: {memory: {value: 80Gi}}
  - name: gpu-1
    attributes: {type: {string: gpu}, uuid: {string: GPU-77aa}, "resource.kubernetes.io/pcieRoot": {string: "pci0000:10"}}
    capacity: {memory: {value: 80Gi}}
`
	return map[string]string{
		"cluster.yaml": nodeText{name: "seen-0", group: "seen", ready: true}.String() + slice +
			strings.ReplaceAll(nodeText{name: "seen-1", group: "seen", ready: true}.String(), "2029-12-30T00:00:00Z", "2029-12-31T23:59:00Z"),
		"config.yaml": configText(
			`{name: seen, accelerator: nvidia-h100-80gb, acceleratorCount: 2, devices: dra, maxSize: 4, pricePerHour: 10, capacity: {cpu: "64", memory: 512Gi}}`,
			`{name: catalogued, instanceType: g6e.24xlarge, devices: dra, maxSize: 4}`,
			`{name: unknown, accelerator: own-chip, acceleratorCount: 4, devices: dra, maxSize: 4, pricePerHour: 5, capacity: {cpu: "64", memory: 512Gi}}`),
	}
}
