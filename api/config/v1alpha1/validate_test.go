package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// One case or more for each rule: a valid group and what is wrong with it, then the whole complaint.
func TestGroupRules(t *testing.T) {
	const at = "nodeGroups[0] (h100): "
	const labelValue = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
	tests := map[string]struct {
		change string // Replaces the fields of a valid group, as a mapping in flow style.
		want   []string
	}{
		"nameIsLabelValue: cloud's characters": {change: `name: Pool_1.a-b`},
		"nameIsLabelValue: required":           {`name: ""`, []string{"nodeGroups[0]: name: is required"}},
		"nameIsLabelValue: space":              {`name: a b`, []string{`nodeGroups[0] (a b): name: "a b" is not a group's name: ` + labelValue}},
		"nameIsLabelValue: length":             {`name: ` + strings.Repeat("a", 64), []string{`must be no more than 63 `}},
		"sizesAreCounts: minSize":              {`minSize: -1`, []string{at + "minSize: must be at least 0, is -1"}},
		"sizesAreCounts: maxSize":              {`maxSize: -1`, []string{at + "maxSize: must be at least 0, is -1"}},
		"sizesAreCounts: too large":            {`maxSize: 9223372036854775807`, []string{at + "maxSize: must be at most 2147483647, is 9223372036854775807"}},
		"sizesAreCounts: size":                 {`size: -2`, []string{at + "size: must be at least 0, is -2"}},
		"sizesAreCounts: unit":                 {`unit: -1`, []string{at + "unit: must be at least 1, is -1"}},
		"sizesAreCounts: replicas":             {`sharing: {replicas: -4}`, []string{at + "sharing.replicas: must be at least 1, is -4"}},
		"sizesAreCounts: accelerators":         {`acceleratorCount: -8`, []string{at + "acceleratorCount: must be at least 0, is -8"}},
		"minSizeIsAtMostMaxSize":               {`minSize: 17`, []string{at + "maxSize: must be at least minSize, which is 17, is 16"}},
		"sizesAreWholeUnits: minSize":          {`unit: 4, minSize: 2`, []string{at + "minSize: must be a multiple of unit, which is 4, is 2"}},
		"sizesAreWholeUnits: maxSize":          {`unit: 5`, []string{at + "maxSize: must be a multiple of unit, which is 5, is 16"}},
		"priceIsInRange: negative":             {`pricePerHour: -0.5`, []string{at + "pricePerHour: must be at least 0, is -0.5"}},
		"priceIsInRange: most":                 {change: `pricePerHour: 100000`},
		"priceIsInRange: too much":             {`pricePerHour: 100000.01`, []string{at + "pricePerHour: must be at most 100000, is 100000.01"}},
		"capacityTypeIsKnown":                  {`capacityType: Spot`, []string{at + `capacityType: must be one of on-demand, spot, reserved, is "Spot"`}},
		"devicesIsKnown":                       {`devices: gpu`, []string{at + `devices: must be one of plugin, dra, is "gpu"`}},
		"growsForIsKnown":                      {`growsFor: all`, []string{at + `growsFor: must be one of accelerators, any, is "all"`}},
		"acceleratorIsNamed": {`instanceType: "", acceleratorCount: 8, capacity: {cpu: 1, memory: 1Gi}`,
			[]string{at + "accelerator: is required with acceleratorCount where there is no instanceType"}},
		"acceleratorIsCounted": {`instanceType: "", accelerator: nvidia-l4, capacity: {cpu: 1, memory: 1Gi}`,
			[]string{at + "acceleratorCount: is required with accelerator where there is neither an instanceType nor an extended resource in capacity"}},
		"shapeIsKnown: nothing": {`instanceType: ""`, []string{
			at + "capacity[cpu]: is required where there is no instanceType",
			at + "capacity[memory]: is required where there is no instanceType"}},
		"shapeIsKnown: no memory": {`instanceType: "", capacity: {cpu: 1}`, []string{
			at + "capacity[memory]: is required where there is no instanceType"}},
		"shapeIsKnown: pods may be left out": {change: `instanceType: "", capacity: {cpu: 1, memory: 1Gi}`},
		"capacityNamesAreResources: no domain": {`capacity: {gpu: 8}`, []string{
			at + `capacity[gpu]: "gpu" is not a resource's name: must be cpu, memory, pods, ephemeral-storage, hugepages-<size> or have a domain, as nvidia.com/gpu`}},
		"capacityNamesAreResources: characters": {`capacity: {a/b/c: 8}`, []string{`"a/b/c" is not a resource's name: a valid label key`}},
		"capacityNamesAreResources: native":     {change: `capacity: {cpu: 500m, hugepages-2Mi: 1Gi, ephemeral-storage: 1Ti, pods: 250}`},
		"capacityIsInRange: negative":           {`capacity: {cpu: -1}`, []string{at + "capacity[cpu]: must be at least 0, is -1"}},
		"capacityIsInRange: too much":           {`capacity: {memory: 1E}`, []string{at + "capacity[memory]: must be at most 1P, is 1E"}},
		"capacityIsInRange: part of a device":   {`capacity: {nvidia.com/gpu: 500m}`, []string{at + "capacity[nvidia.com/gpu]: must be a whole number, is 500m"}},
		"capacityIsInRange: whole in the end":   {change: `capacity: {nvidia.com/gpu: 8.0, example.com/x: 8000m}`},
		"sharingNeedsPlugin":                    {`devices: dra, sharing: {replicas: 2}`, []string{at + "sharing.replicas: must be 1 with devices: dra, is 2"}},
		"slicesNeedDRA":                         {`resourceSlices: [{driver: d, pool: {name: p}}]`, []string{at + "resourceSlices: must be empty unless devices is dra, has 1"}},
		"labelsAreValid: value":                 {`labels: {team: "a b"}`, []string{at + `labels[team]: "a b" is not a label's value: ` + labelValue}},
		"labelsAreValid: key":                   {`labels: {"a b": x}`, []string{at + `labels[a b]: "a b" is not a label's key: name part must consist of`}},
		"taintsAreValid: effect": {`taints: [{key: a, effect: NoRun}]`, []string{
			at + `taints[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute, is "NoRun"`}},
		"taintsAreValid: no effect": {`taints: [{key: a}]`, []string{
			at + `taints[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute, is ""`}},
		"taintsAreValid: key":   {`taints: [{effect: NoSchedule}]`, []string{at + `taints[0].key: "" is not a label's key: name part must be non-empty`, at}},
		"taintsAreValid: value": {`taints: [{key: a, value: "-", effect: NoSchedule}]`, []string{at + `taints[0].value: "-" is not a label's value: `}},
		"taintsAreUnique": {`taints: [{key: a, value: b, effect: NoSchedule}, {key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]`,
			[]string{at + "taints[2]: has the key and effect of taints[0]"}},
		"startupTaintsAreKeys: key":    {`startupTaints: ["a b"]`, []string{at + `startupTaints[0]: "a b" is not a label's key`}},
		"startupTaintsAreKeys: unique": {`startupTaints: [a, b, a]`, []string{at + `startupTaints[2]: "a" stands here twice, first at [0]`}},
		"selectorIsValid: operator": {`selector: {matchExpressions: [{key: a, operator: Is}]}`, []string{
			at + `selector.matchExpressions[0].operator: invalid value: "Is": not a valid selector operator`}},
		"selectorIsValid: values": {`selector: {matchExpressions: [{key: a, operator: In}]}`, []string{
			at + `selector.matchExpressions[0].values: required value`}},
		"zonesAreUnique: twice":        {`zones: [a, b, a]`, []string{at + `zones[2]: "a" stands here twice, first at [0]`}},
		"zonesAreUnique: empty":        {`zones: [a, ""]`, []string{at + "zones[1]: must not be empty"}},
		"zonesAreUnique: label":        {`zones: ["a b"]`, []string{at + `zones[0]: "a b" is not a label's value: ` + labelValue}},
		"topologyKeysAreUnique: key":   {`topology: [{key: "", nodesPerDomain: 4}]`, []string{at + `topology[0].key: "" is not a label's key`, at}},
		"topologyKeysAreUnique: twice": {`topology: [{key: r, nodesPerDomain: 4}, {key: r, nodesPerDomain: 4}]`, []string{at + `topology[1]: "r" stands here twice, first at [0]`}},
		"topologyLevelsNest: negative": {`topology: [{key: r, nodesPerDomain: -4}]`, []string{at + "topology[0].nodesPerDomain: must be at least 0, is -4"}},
		"topologyLevelsNest: order": {`topology: [{key: rack, nodesPerDomain: 4}, {key: block, nodesPerDomain: 32}]`, []string{
			at + "topology[1].nodesPerDomain: must be at most 4, as many as the domains of the outer level rack hold, is 32"}},
		"topologyLevelsNest: whole group inside": {`topology: [{key: block, nodesPerDomain: 32}, {key: rack, nodesPerDomain: 0}]`, []string{
			at + "topology[1].nodesPerDomain: must not be 0 (the whole group) inside block, whose domains hold 32"}},
		"topologyLevelsNest: past an error": {`topology: [{key: a, nodesPerDomain: 4}, {key: b, nodesPerDomain: 8}, {key: c, nodesPerDomain: 6}]`, []string{
			at + "topology[1].nodesPerDomain: must be at most 4, as many as the domains of the outer level a hold, is 8",
			at + "topology[2].nodesPerDomain: must be at most 4, as many as the domains of the outer level a hold, is 6"}},
		"delayIsNotNegative": {`provisioning: {delay: -6m}`, []string{at + "provisioning.delay: must be at least 0, is -6m0s"}},
		"timeoutIsPositive":  {`provisioning: {timeout: -1s}`, []string{at + "provisioning.timeout: must be more than 0, is -1s"}},
		"availabilityIsInOrder: size": {`available: [{from: 2030-01-01T00:00:00Z, until: 2030-01-02T00:00:00Z, size: -1}]`, []string{
			at + "available[0].size: must be at least 0, is -1"}},
		"availabilityIsInOrder: empty": {`available: [{from: 2030-01-01T00:00:00Z, until: 2030-01-01T00:00:00Z, size: 1}]`, []string{
			at + "available[0].until: must be after from, which is 2030-01-01T00:00:00Z, is 2030-01-01T00:00:00Z"}},
		"availabilityIsInOrder: left out": {`available: [{until: 2030-01-01T00:00:00Z, size: 1}, {from: 2030-01-01T00:00:00Z, size: 1}]`, []string{
			at + "available[0].from: is required", at + "available[1].until: is required"}},
		"availabilityIsInOrder: drain": {`available: [{from: 2030-01-01T00:00:00Z, until: 2030-01-02T00:00:00Z, drainFrom: 2030-01-03T00:00:00Z, size: 1}]`, []string{
			at + "available[0].drainFrom: must be from 2030-01-01T00:00:00Z to 2030-01-02T00:00:00Z, is 2030-01-03T00:00:00Z"}},
		"availabilityDoesNotOverlap: touching": {change: `available: [{from: 2030-01-02T00:00:00Z, until: 2030-01-03T00:00:00Z, size: 1}, ` +
			`{from: 2030-01-01T00:00:00Z, until: 2030-01-02T00:00:00Z, size: 1}]`},
		"availabilityDoesNotOverlap": {`available: [{from: 2030-01-01T00:00:00Z, until: 2030-01-09T00:00:00Z, size: 1}, ` +
			`{from: 2030-01-02T00:00:00Z, until: 2030-01-03T00:00:00Z, size: 1}, {from: 2030-01-04T00:00:00Z, until: 2030-01-05T00:00:00Z, size: 1}]`, []string{
			at + "available[1]: begins at 2030-01-02T00:00:00Z, before available[0] ends at 2030-01-09T00:00:00Z",
			at + "available[2]: begins at 2030-01-04T00:00:00Z, before available[0] ends at 2030-01-09T00:00:00Z"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := header + "nodeGroups:\n- <<: {name: h100, instanceType: p5.48xlarge, minSize: 0, maxSize: 16}\n  <<: {}\n"
			in = strings.Replace(in, "  <<: {}\n", "  "+strings.Join(topLevelFields(tc.change), "\n  ")+"\n", 1)
			requireProblems(t, in, tc.want)
		})
	}
}

func TestConfigurationRules(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"objectiveIsKnown":               {"objective: Cost", []string{`objective: must be one of cost, nodes, priority, is "Cost"`}},
		"scoringIsKnown":                 {"scheduler: {scoring: Most}", []string{`scheduler.scoring: must be one of LeastAllocated, MostAllocated, is "Most"`}},
		"hintsAreKnown":                  {"scheduler: {hints: some}", []string{`scheduler.hints: must be one of nominate, none, is "some"`}},
		"limitsAreCounts: nodes":         {"limits: {maxNodes: -1}", []string{"limits.maxNodes: must be at least 0, is -1"}},
		"limitsAreCounts: cost":          {"limits: {maxCostPerHour: -1.5}", []string{"limits.maxCostPerHour: must be at least 0, is -1.5"}},
		"limitsAreCounts: zero is fine":  {in: "limits: {maxNodes: 0, maxCostPerHour: 0, accelerators: {a: 0}}"},
		"limitsAreCounts: accelerators":  {"limits: {accelerators: {a: -1}}", []string{"limits.accelerators[a]: must be at least 0, is -1"}},
		"limitsAreCounts: name of these": {`limits: {accelerators: {"": 1}}`, []string{"limits.accelerators: has a limit without an accelerator's name"}},
		"namesAreUnique": {"nodeGroups: [{name: a, instanceType: x, minSize: 0, maxSize: 1}, {name: a, instanceType: x, minSize: 0, maxSize: 1}]",
			[]string{"nodeGroups[1] (a): name: is taken by nodeGroups[0]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			requireProblems(t, header+tc.in+"\n", tc.want)
		})
	}
}

// requireProblems compares the complaint, without file and line, by the beginnings of its lines; a wanted text that
// isn't a beginning must be somewhere in the line.
func requireProblems(t *testing.T, in string, want []string) {
	t.Helper()
	_, err := Load([]byte(in), "c.yaml")
	if len(want) == 0 {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, len(want), err.Error())
	for i, line := range lines {
		require.Regexp(t, `^c\.yaml:[0-9]+: `, line)
		if !strings.Contains(line, want[i]) {
			require.Empty(t, cmp.Diff(want[i], line))
		}
	}
}

// topLevelFields splits `a: 1, b: {c: 2, d: 3}` at the commas outside brackets and quotes.
func topLevelFields(flow string) []string {
	var fields []string
	depth, start := 0, 0
	for i, r := range flow {
		switch {
		case strings.ContainsRune("{[", r):
			depth++
		case strings.ContainsRune("}]", r):
			depth--
		case r == ',' && depth == 0:
			fields = append(fields, strings.TrimSpace(flow[start:i]))
			start = i + 1
		}
	}
	return append(fields, strings.TrimSpace(flow[start:]))
}
