package v1alpha1

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	//go:embed testdata/full.yaml
	fullFile string
	//go:embed testdata/minimal.yaml
	minimalFile string
)

const header = "apiVersion: config.tidegate.io/v1alpha1\nkind: AutoscalerConfiguration\n"

func TestLoadSetsDefaults(t *testing.T) {
	got, err := Load([]byte(minimalFile), "cluster.yaml")
	require.NoError(t, err)
	want := &AutoscalerConfiguration{
		TypeMeta:  metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind},
		Objective: ObjectiveCost,
		Scheduler: Scheduler{Scoring: ScoringLeastAllocated, Hints: HintsNominate},
		NodeGroups: []NodeGroup{{
			Name:         "h100",
			InstanceType: "p5.48xlarge",
			Devices:      DevicesPlugin,
			MaxSize:      16,
			CapacityType: OnDemand,
			Unit:         1,
			Sharing:      Sharing{Replicas: 1},
			Provisioning: Provisioning{Timeout: metav1.Duration{Duration: 15 * time.Minute}},
			// The catalogue's part stays empty: accelerator, count, price, capacity, growsFor.
		}},
	}
	require.Empty(t, cmp.Diff(want, got))
	again := *got
	SetDefaults(&again)
	require.Empty(t, cmp.Diff(want, &again), "defaults are set once")
	SetDefaults(nil)
}

func TestLoadReadsEveryField(t *testing.T) {
	c, err := Load([]byte(fullFile), "full.yaml")
	require.NoError(t, err)
	require.Equal(t, MicroDollars(5_000_000_000), *c.Limits.MaxCostPerHour)
	require.Equal(t, map[string]int64{"nvidia-h100-80gb": 512}, c.Limits.Accelerators)

	group := c.NodeGroups[0]
	require.Equal(t, MicroDollars(98_320_000), *group.PricePerHour)
	require.Equal(t, int64(2), *group.Size)
	require.Equal(t, Provisioning{
		Delay:   metav1.Duration{Duration: 6 * time.Minute},
		Timeout: metav1.Duration{Duration: 20 * time.Minute},
		Atomic:  true,
	}, group.Provisioning)
	require.Nil(t, group.BackoffUntil)
	require.Nil(t, group.ResourceSlices)
	gpus := group.Capacity["nvidia.com/gpu"]
	require.True(t, gpus.Equal(resource.MustParse("8")), "a quantity may be a number")
	require.Equal(t, corev1.Taint{Key: "team", Value: "research", Effect: corev1.TaintEffectNoExecute}, group.Taints[1])
	require.Equal(t, time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC), group.Available[1].From.Time, "times are UTC")

	group = c.NodeGroups[1]
	require.Equal(t, time.Date(2030, 1, 1, 0, 10, 0, 0, time.UTC), group.BackoffUntil.Time)
	device := group.ResourceSlices[1].Devices[0]
	require.Equal(t, "1.2.3", *device.Attributes["driverVersion"].VersionValue)
	require.Equal(t, int64(0), *device.Attributes["index"].IntValue)
	memory := device.Capacity["memory"].Value
	require.True(t, memory.Equal(resource.MustParse("80Gi")))
}

func TestLoadAccepts(t *testing.T) {
	tests := map[string]string{
		"no groups":               header + "nodeGroups: []\n",
		"groups left out":         header,
		"a blank section":         header + "limits:\nscheduler:\nnodeGroups:\n",
		"JSON":                    `{"apiVersion":"config.tidegate.io/v1alpha1","kind":"AutoscalerConfiguration","nodeGroups":[]}`,
		"JSON with tabs":          "{\n\t\"apiVersion\":\t\"config.tidegate.io/v1alpha1\",\n\t\"kind\": \"AutoscalerConfiguration\",\n\t\"limits\": {\n\t\t\"maxNodes\": 3\n\t}\n}",
		"markers and comments":    "# before\n---\n" + header + "---\n# after\n",
		"size above maxSize":      minimalFile + "  size: 20\n",
		"a null price":            minimalFile + "  pricePerHour: null\n",
		"null for an option":      minimalFile + "  accelerator:\n  unit:\n",
		"priority below zero":     minimalFile + "  priority: -3\n",
		"price as a string":       minimalFile + "  pricePerHour: \"98.32\"\n",
		"a price of zero":         minimalFile + "  pricePerHour: 0\n",
		"date as a label":         minimalFile + "  labels: {since: 2030-01-01}\n",
		"whole group outside":     minimalFile + "  topology: [{key: a, nodesPerDomain: 0}, {key: b, nodesPerDomain: 4}]\n",
		"equal levels":            minimalFile + "  topology: [{key: a, nodesPerDomain: 4}, {key: b, nodesPerDomain: 4}]\n",
		"whole groups in another": minimalFile + "  topology: [{key: a, nodesPerDomain: 0}, {key: b, nodesPerDomain: 0}]\n",
		"catalogue's accelerator": minimalFile + "  acceleratorCount: 8\n",
		"counted by capacity": header + "nodeGroups:\n- {name: a, minSize: 0, maxSize: 1, accelerator: x, " +
			"capacity: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 8}}\n",
		"aliases": header + "nodeGroups:\n- {name: a, instanceType: x, minSize: 0, maxSize: 1, labels: &l {k: v}}\n" +
			"- {name: b, instanceType: x, minSize: 0, maxSize: 1, labels: *l}\n",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Load([]byte(in), "cluster.yaml")
			require.NoError(t, err)
			require.NotNil(t, got)
		})
	}
}

func TestLoadMergesMappings(t *testing.T) {
	got, err := Load([]byte(header+`nodeGroups:
- &gpu
  name: a
  instanceType: x
  minSize: 1
  maxSize: 4
- <<: *gpu
  name: b
  maxSize: 8
- <<: [{maxSize: 2}, *gpu]
  name: c
`), "cluster.yaml")
	require.NoError(t, err)
	var sizes [][2]int64
	for _, group := range got.NodeGroups {
		sizes = append(sizes, [2]int64{group.MinSize, group.MaxSize})
	}
	require.Equal(t, [][2]int64{{1, 4}, {1, 8}, {1, 2}}, sizes)
}

// Each file's complaint, whole.
func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"nothing":       {"", []string{"c.yaml: holds no configuration"}},
		"only comments": {"# hello\n---\n", []string{"c.yaml: holds no configuration"}},
		"a list": {"- a\n", []string{"c.yaml:1: must be a mapping with apiVersion config.tidegate.io/v1alpha1 " +
			"and kind AutoscalerConfiguration, is a list"}},
		"two documents": {header + "---\n" + header, []string{"c.yaml:4: holds a second document, must hold one"}},
		"not YAML":      {"a: b: c\n", []string{"c.yaml: not valid YAML: mapping values are not allowed in this context"}},
		"not UTF-8":     {"a: \xff\n", []string{"c.yaml: not valid YAML: invalid leading UTF-8 octet"}},
		"another kind, whose fields are not looked at": {"apiVersion: v1\nkind: Pod\nspec: {}\n", []string{
			`c.yaml:1: apiVersion: must be config.tidegate.io/v1alpha1, is "v1"`,
			`c.yaml:2: kind: must be AutoscalerConfiguration, is "Pod"`}},
		"no header": {"nodeGroups: []\n", []string{
			"c.yaml: apiVersion: is required, must be config.tidegate.io/v1alpha1",
			"c.yaml: kind: is required, must be AutoscalerConfiguration"}},
		"unknown fields": {minimalFile + "  maxSzie: 3\n  colour: red\nobjectve: cost\n", []string{
			"c.yaml:8: nodeGroups[0] (h100): maxSzie: unknown field, did you mean maxSize?",
			"c.yaml:9: nodeGroups[0] (h100): colour: unknown field",
			"c.yaml:10: objectve: unknown field, did you mean objective?"}},
		"another case": {minimalFile + "  MaxSize: 3\n", []string{
			"c.yaml:8: nodeGroups[0] (h100): MaxSize: unknown field, did you mean maxSize?"}},
		"unknown field deep down": {minimalFile + "  devices: dra\n  resourceSlices:\n  - driver: d\n    pool: {nmae: x}\n", []string{
			"c.yaml:11: nodeGroups[0] (h100): resourceSlices[0].pool.nmae: unknown field, did you mean name?"}},
		"duplicate keys": {minimalFile + "  maxSize: 3\n  labels: {a: b, a: c}\n", []string{
			"c.yaml:8: nodeGroups[0] (h100): maxSize: is set twice, first in line 7",
			"c.yaml:9: nodeGroups[0] (h100): labels[a]: is set twice, first in line 9"}},
		"duplicate keys in JSON": {`{"apiVersion":"config.tidegate.io/v1alpha1","kind":"AutoscalerConfiguration","nodeGroups":[],"nodeGroups":[]}`,
			[]string{"c.yaml:1: nodeGroups: is set twice, first in line 1"}},
		"wrong types": {minimalFile + `  size: two
  acceleratorCount: 8.0
  unit: 0x10
  priority: 99999999999999999999
  labels: {team: 1, gpu: true}
  zones: us-east-1a
  taints: [NoSchedule]
  provisioning: {delay: 6, atomic: yes}
  backoffUntil: 2030-01-01
  pricePerHour: [1]
  capacity: {cpu: many, memory: 1e99}
`, []string{
			`c.yaml:8: nodeGroups[0] (h100): size: must be a whole number in decimal, is "two"`,
			`c.yaml:9: nodeGroups[0] (h100): acceleratorCount: must be a whole number in decimal, is 8.0`,
			`c.yaml:10: nodeGroups[0] (h100): unit: must be a whole number in decimal, is 0x10`,
			`c.yaml:11: nodeGroups[0] (h100): priority: is too large: "99999999999999999999"`,
			`c.yaml:12: nodeGroups[0] (h100): labels[gpu]: must be a string, is true: put it in quotes`,
			`c.yaml:12: nodeGroups[0] (h100): labels[team]: must be a string, is 1: put it in quotes`,
			`c.yaml:13: nodeGroups[0] (h100): zones: must be a list, is "us-east-1a"`,
			`c.yaml:14: nodeGroups[0] (h100): taints[0]: must be a mapping, is "NoSchedule"`,
			`c.yaml:15: nodeGroups[0] (h100): provisioning.atomic: must be true or false, is "yes"`,
			`c.yaml:15: nodeGroups[0] (h100): provisioning.delay: must be a duration with a unit such as 6m or 1h30m, is 6`,
			`c.yaml:16: nodeGroups[0] (h100): backoffUntil: must be a time such as 2030-01-31T20:00:00Z, is "2030-01-01"`,
			`c.yaml:17: nodeGroups[0] (h100): pricePerHour: must be an amount of dollars such as 98.32, is a list`,
			`c.yaml:18: nodeGroups[0] (h100): capacity[cpu]: must be a quantity such as 8 or 80Gi, is "many"`,
			`c.yaml:18: nodeGroups[0] (h100): capacity[memory]: is out of range: "1e99"`}},
		"money": {header + "limits: {maxCostPerHour: 0.0000001}\nnodeGroups:\n- {name: a, instanceType: x, minSize: 0, maxSize: 0, pricePerHour: .nan}\n",
			[]string{
				"c.yaml:3: limits.maxCostPerHour: must have at most 6 decimals, is 0.0000001",
				"c.yaml:5: nodeGroups[0] (a): pricePerHour: must be an amount of dollars such as 98.32, is .nan"}},
		"times": {minimalFile + `  available:
  - {from: 2030-01-01T00:00:00.5Z, until: 1969-12-31T00:00:00Z, size: 1}
`, []string{
			`c.yaml:9: nodeGroups[0] (h100): available[0].from: must be a whole second, is "2030-01-01T00:00:00.5Z"`,
			`c.yaml:9: nodeGroups[0] (h100): available[0].until: must be in the years 1970 to 9999, is "1969-12-31T00:00:00Z"`}},
		"nulls where a value is needed": {header + "nodeGroups:\n- name: a\n  instanceType: x\n  minSize:\n  maxSize: 1\n  zones: [~]\n  labels: {a: }\n-\n", []string{
			"c.yaml:6: nodeGroups[0] (a): minSize: must have a value, is empty",
			"c.yaml:8: nodeGroups[0] (a): zones[0]: must have a value, is empty",
			"c.yaml:9: nodeGroups[0] (a): labels[a]: must have a value, is empty",
			"c.yaml:10: nodeGroups[1]: must have a value, is empty"}},
		"zeros that defaults would hide": {minimalFile + "  unit: 0\n  sharing: {replicas: 0}\n  provisioning: {timeout: 0s}\n", []string{
			"c.yaml:8: nodeGroups[0] (h100): unit: must be at least 1, is 0",
			"c.yaml:9: nodeGroups[0] (h100): sharing.replicas: must be at least 1, is 0",
			"c.yaml:10: nodeGroups[0] (h100): provisioning.timeout: must be more than 0, is 0s"}},
		"a typo does not cause a second message, other mistakes do": {header + `nodeGroups:
- name: a
  instanceType: x
  minSize: 2
  maxSise: 4
  unit: -1
`, []string{
			"c.yaml:7: nodeGroups[0] (a): maxSise: unknown field, did you mean maxSize?",
			"c.yaml:8: nodeGroups[0] (a): unit: must be at least 1, is -1"}},
		"odd keys": {header + "nodeGroups:\n- {1: a, [b]: c, name: a, instanceType: x, minSize: 0, maxSize: 1}\n", []string{
			"c.yaml:4: nodeGroups[0] (a): has a key that must be a string, is 1: put it in quotes",
			"c.yaml:4: nodeGroups[0] (a): has a key that must be a string, is a list"}},
		"line breaks in names": {minimalFile + "  \"a\\nb\": 1\n", []string{
			`c.yaml:8: nodeGroups[0] (h100): a\nb: unknown field`}},
		"an anchor in itself": {header + "nodeGroups: &a\n- *a\n", []string{
			"c.yaml:3: nodeGroups[0]: must be a mapping, is a list"}},
		"a merge of itself": {header + "nodeGroups:\n- &a\n  <<: *a\n  name: x\n", []string{
			"c.yaml:5: nodeGroups[0]: is nested too deeply or repeated too often by aliases"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Load([]byte(tc.in), "c.yaml")
			require.Error(t, err)
			require.Nil(t, got)
			require.Empty(t, cmp.Diff(tc.want, strings.Split(err.Error(), "\n")))
		})
	}
}

func TestLoadBoundsAliases(t *testing.T) {
	var in strings.Builder
	in.WriteString(header + "limits: {accelerators: {a: 1}}\nnodeGroups:\n")
	in.WriteString("- &g0 {name: a, instanceType: x, minSize: 0, maxSize: 1, zones: &z [z, z, z, z, z, z, z, z, z, z]}\n")
	for range 100_000 {
		in.WriteString("- *g0\n")
	}
	_, err := Load([]byte(in.String()), "c.yaml")
	require.ErrorContains(t, err, "c.yaml:5: nodeGroups[")
	require.Contains(t, err.Error(), "repeated too often by aliases")
	require.NotContains(t, err.Error(), "\n", "nothing else is said of half a document")
}

func TestLoadBoundsItsReport(t *testing.T) {
	_, err := Load([]byte(header+"nodeGroups:\n"+strings.Repeat("- {}\n", 1000)), "c.yaml")
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, maxProblems+1)
	require.Equal(t, "c.yaml:4: nodeGroups[0]: capacity[cpu]: is required where there is no instanceType", lines[0])
	require.Equal(t, "c.yaml: and 2900 more problems", lines[maxProblems])
}

func TestLoadWithoutAName(t *testing.T) {
	_, err := Load(nil, "")
	require.EqualError(t, err, "configuration: holds no configuration")
}

func TestSuggest(t *testing.T) {
	known := []string{"name", "maxSize", "minSize", "zones", "capacityType"}
	tests := map[string]string{
		"maxSzie":       "maxSize",
		"MAXSIZE":       "maxSize",
		"max_size":      "maxSize",
		"capacitytype":  "capacityType",
		"capactyTpe":    "capacityType",
		"zone":          "zones",
		"nmae":          "name",
		"colour":        "",
		"":              "",
		"x":             "",
		"mxSize":        "maxSize",
		"instanceTypes": "",
	}
	for typed, want := range tests {
		require.Equal(t, want, suggest(typed, known), typed)
	}
}
