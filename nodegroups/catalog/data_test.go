package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// TestEveryRow is what makes Lookup's panic impossible in a release.
func TestEveryRow(t *testing.T) {
	for _, tab := range tables() {
		t.Run(string(tab.provider), func(t *testing.T) {
			headers := 0
			for line := range strings.Lines(tab.text) {
				if strings.TrimSpace(line) == header {
					headers++
				}
			}
			require.Equal(t, 1, headers, "the file's header is the one that the parser expects")
			for line := range rows(tab.text) {
				m, err := parseMachine(tab.provider, line)
				require.NoError(t, err)
				requirePlausible(t, m)
			}
		})
	}
}

func requirePlausible(t *testing.T, m Machine) {
	t.Helper()
	require.NotEmpty(t, m.Name)
	require.Equal(t, strings.TrimSpace(m.Name), m.Name)
	require.Equal(t, m.Provider == Azure, strings.HasPrefix(m.Name, "Standard_"), m.Name)
	require.Contains(t, []string{"amd64", "arm64"}, m.Architecture, m.Name)
	require.Positive(t, m.CPU, m.Name)
	require.GreaterOrEqual(t, m.Memory, 16*gibibyte, m.Name)
	require.Zero(t, m.Memory%gibibyte, m.Name)
	require.GreaterOrEqual(t, m.DomainNodes, int64(1), m.Name)

	// 1 GiB a core is less, and 32 GiB more, than any of these machines has.
	perCore := m.Memory / m.CPU
	require.Greater(t, perCore, gibibyte, m.Name)
	require.Less(t, perCore, 32*gibibyte, m.Name)

	require.Equal(t, m.PriceKnown, m.PricePerHour > 0, m.Name)
	if m.Accelerator == "" {
		require.Zero(t, m.AcceleratorCount, m.Name)
		require.Zero(t, m.AcceleratorMemory, m.Name)
		require.Empty(t, m.Resource, m.Name)
		require.Empty(t, m.ExtraResources, m.Name)
		require.True(t, m.PriceKnown, m.Name)
		require.Len(t, m.Labels, 3, m.Name)
	} else {
		require.Positive(t, m.AcceleratorCount, m.Name)
		require.LessOrEqual(t, m.AcceleratorCount, int64(16), m.Name)
		require.GreaterOrEqual(t, m.AcceleratorMemory, int64(16_000_000_000), m.Name)
		require.NotEmpty(t, m.Resource, m.Name)
	}
	if m.PriceKnown && m.Accelerator != "" {
		perDevice := int64(m.PricePerHour) / m.AcceleratorCount
		require.Greater(t, perDevice, int64(300_000), m.Name)
		require.Less(t, perDevice, int64(30_000_000), m.Name)
	}
	for name, n := range m.ExtraResources {
		require.Positive(t, n, m.Name)
		require.Contains(t, []corev1.ResourceName{ResourceEFA, ResourceNeuronCore}, name, m.Name)
	}
	require.Equal(t, m.Name, m.Labels[corev1.LabelInstanceTypeStable])
	require.Equal(t, m.Architecture, m.Labels[corev1.LabelArchStable])
	require.Equal(t, "linux", m.Labels[corev1.LabelOSStable])
	if m.Provider == GCP && m.Accelerator != "" {
		require.Len(t, m.Labels, 4, m.Name)
	}
	slices.Sort(m.Uncertain)
	require.Len(t, slices.Compact(m.Uncertain), len(m.Uncertain), m.Name)
}

// TestSameDeviceSameMemory guards limits and sizing by accelerator name: one name is
// one device everywhere, unless a row says that its figure is doubtful.
func TestSameDeviceSameMemory(t *testing.T) {
	memory := map[string]int64{}
	for _, name := range Names() {
		m, found := Lookup(name)
		require.True(t, found, name)
		if m.Accelerator == "" || slices.Contains(m.Uncertain, "accelerator_memory") {
			continue
		}
		if known, seen := memory[m.Accelerator]; seen {
			require.Equal(t, known, m.AcceleratorMemory, name)
		}
		memory[m.Accelerator] = m.AcceleratorMemory
	}
	require.NotEmpty(t, memory)
}

func TestNames(t *testing.T) {
	names := Names()
	require.True(t, slices.IsSorted(names))
	folded := map[string]string{}
	for _, name := range names {
		key := strings.ToLower(name)
		require.Empty(t, folded[key], "%s and %s are told apart by letter case only", folded[key], name)
		folded[key] = name
	}
	for _, name := range []string{
		"g4dn.metal", "g2-standard-32", "g4-standard-384", "ct5l-hightpu-8t", "Standard_NG32adms_V620_v1", "m7i.16xlarge",
	} {
		require.Contains(t, names, name)
	}
	for _, name := range []string{"g6f.large", "Standard_NV6ads_A10_v5", "Standard_NC64ds_xl_RTXPRO6000BSE_v6"} {
		require.NotContains(t, names, name, "fractions of a GPU are left out")
	}
}

func TestParseRefusesBrokenRows(t *testing.T) {
	good := map[string]string{
		"name": "x1", "accelerator": "nvidia-l4", "accelerator_count": "1", "accelerator_memory": "22888Mi",
		"cpu": "4", "memory": "16Gi", "architecture": "amd64", "price": "0.5", "domain_nodes": "1",
	}
	cases := map[string]struct {
		column, value, want string
	}{
		"sound row":              {column: "price", value: "0.123456"},
		"word for a number":      {column: "cpu", value: "four", want: "column cpu"},
		"fraction of a device":   {column: "accelerator_count", value: "0.5", want: "column accelerator_count"},
		"no quantity":            {column: "memory", value: "lots", want: "column memory"},
		"below a micro-dollar":   {column: "price", value: "0.1234567", want: "not a multiple"},
		"fraction of a byte":     {column: "local_storage", value: "1500m", want: "not a multiple"},
		"unknown vendor":         {column: "accelerator", value: "acme-1", want: "unknown vendor acme"},
		"label without value":    {column: "labels", value: "key=", want: "not key=value"},
		"resource without count": {column: "extra_resources", value: "vpc.amazonaws.com/efa=x", want: "column extra_resources"},
		"unknown column":         {column: "uncertain", value: "weight", want: `no column "weight"`},
		"field too many":         {column: "uncertain", value: "price,price", want: "14 fields, want 13"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var fields []string
			for column := range strings.SplitSeq(header, ",") {
				value := good[column]
				if column == tc.column {
					value = tc.value
				}
				fields = append(fields, value)
			}
			_, err := parseMachine(AWS, strings.Join(fields, ","))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}
