package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"tidegate.io/autoscaler/nodegroups/catalog"
)

const (
	mebi int64 = 1 << 20
	gibi int64 = 1 << 30
	giga int64 = 1_000_000_000
)

func labels(name, arch string, more ...string) map[string]string {
	m := map[string]string{
		"node.kubernetes.io/instance-type": name, "kubernetes.io/arch": arch, "kubernetes.io/os": "linux",
	}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func TestLookup(t *testing.T) {
	type extra = map[corev1.ResourceName]int64
	cases := map[string]catalog.Machine{
		"p5.48xlarge": {
			Provider: catalog.AWS, Accelerator: "nvidia-h100-80gb", AcceleratorCount: 8, AcceleratorMemory: 81920 * mebi,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{catalog.ResourceEFA: 32},
			CPU: 192, Memory: 2048 * gibi, LocalStorage: 30400 * giga, Architecture: "amd64",
			PricePerHour: 55_040_000, PriceKnown: true, DomainNodes: 1, Labels: labels("p5.48xlarge", "amd64"),
		},
		"p4d.24xlarge": {
			Provider: catalog.AWS, Accelerator: "nvidia-a100-40gb", AcceleratorCount: 8, AcceleratorMemory: 40960 * mebi,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{catalog.ResourceEFA: 4},
			CPU: 96, Memory: 1152 * gibi, LocalStorage: 8000 * giga, Architecture: "amd64",
			PricePerHour: 21_957_642, PriceKnown: true, DomainNodes: 1, Labels: labels("p4d.24xlarge", "amd64"),
		},
		"p6e-gb200.36xlarge": {
			Provider: catalog.AWS, Accelerator: "nvidia-gb200", AcceleratorCount: 4, AcceleratorMemory: 185 * giga,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{catalog.ResourceEFA: 17},
			CPU: 144, Memory: 960 * gibi, LocalStorage: 22500 * giga, Architecture: "arm64",
			DomainNodes: 18, Labels: labels("p6e-gb200.36xlarge", "arm64"),
			Uncertain: []string{"accelerator_memory", "memory", "local_storage", "extra_resources"},
		},
		"trn1.32xlarge": {
			Provider: catalog.AWS, Accelerator: "aws-trainium", AcceleratorCount: 16, AcceleratorMemory: 32 * giga,
			Resource: catalog.ResourceNeuron, ExtraResources: extra{catalog.ResourceEFA: 8, catalog.ResourceNeuronCore: 32},
			CPU: 128, Memory: 512 * gibi, LocalStorage: 7600 * giga, Architecture: "amd64",
			PricePerHour: 21_500_000, PriceKnown: true, DomainNodes: 1, Labels: labels("trn1.32xlarge", "amd64"),
		},
		"trn2u.48xlarge": {
			Provider: catalog.AWS, Accelerator: "aws-trainium2", AcceleratorCount: 16, AcceleratorMemory: 96 * giga,
			Resource: catalog.ResourceNeuron, ExtraResources: extra{catalog.ResourceEFA: 16, catalog.ResourceNeuronCore: 64},
			CPU: 192, Memory: 2048 * gibi, LocalStorage: 7600 * giga, Architecture: "amd64",
			DomainNodes: 4, Labels: labels("trn2u.48xlarge", "amd64"),
		},
		"m5.2xlarge": {
			Provider: catalog.AWS, ExtraResources: extra{}, CPU: 8, Memory: 32 * gibi, Architecture: "amd64",
			PricePerHour: 384_000, PriceKnown: true, DomainNodes: 1, Labels: labels("m5.2xlarge", "amd64"),
		},
		"a4x-highgpu-4g": {
			Provider: catalog.GCP, Accelerator: "nvidia-gb200", AcceleratorCount: 4, AcceleratorMemory: 186 * giga,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{},
			CPU: 140, Memory: 884 * gibi, LocalStorage: 12000 * gibi, Architecture: "arm64", DomainNodes: 18,
			Labels:    labels("a4x-highgpu-4g", "arm64", "cloud.google.com/gke-accelerator", "nvidia-gb200"),
			Uncertain: []string{"accelerator_memory"},
		},
		"a3-megagpu-8g": {
			Provider: catalog.GCP, Accelerator: "nvidia-h100-80gb", AcceleratorCount: 8, AcceleratorMemory: 81920 * mebi,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{},
			CPU: 208, Memory: 1872 * gibi, LocalStorage: 6000 * gibi, Architecture: "amd64", DomainNodes: 1,
			Labels: labels("a3-megagpu-8g", "amd64", "cloud.google.com/gke-accelerator", "nvidia-h100-mega-80gb"),
		},
		"g2-standard-24": {
			Provider: catalog.GCP, Accelerator: "nvidia-l4", AcceleratorCount: 2, AcceleratorMemory: 22888 * mebi,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{},
			CPU: 24, Memory: 96 * gibi, Architecture: "amd64", PricePerHour: 2_110_000, PriceKnown: true, DomainNodes: 1,
			Labels: labels("g2-standard-24", "amd64", "cloud.google.com/gke-accelerator", "nvidia-l4"),
		},
		"ct5lp-hightpu-4t": {
			Provider: catalog.GCP, Accelerator: "google-tpu-v5e", AcceleratorCount: 4, AcceleratorMemory: 16 * giga,
			Resource: catalog.ResourceTPU, ExtraResources: extra{},
			CPU: 112, Memory: 192 * gibi, Architecture: "amd64", PricePerHour: 4_800_000, PriceKnown: true, DomainNodes: 64,
			Labels:    labels("ct5lp-hightpu-4t", "amd64", "cloud.google.com/gke-tpu-accelerator", "tpu-v5-lite-podslice"),
			Uncertain: []string{"price"},
		},
		"Standard_ND96isr_H100_v5": {
			Provider: catalog.Azure, Accelerator: "nvidia-h100-80gb", AcceleratorCount: 8, AcceleratorMemory: 81920 * mebi,
			Resource: catalog.ResourceNvidiaGPU, ExtraResources: extra{},
			CPU: 96, Memory: 1900 * gibi, LocalStorage: 28000 * giga, Architecture: "amd64",
			PricePerHour: 98_320_000, PriceKnown: true, DomainNodes: 1,
			Labels:    labels("Standard_ND96isr_H100_v5", "amd64", "kubernetes.azure.com/accelerator", "nvidia"),
			Uncertain: []string{"local_storage"},
		},
		"Standard_ND96isr_MI300X_v5": {
			Provider: catalog.Azure, Accelerator: "amd-mi300x", AcceleratorCount: 8, AcceleratorMemory: 192 * giga,
			Resource: catalog.ResourceAMDGPU, ExtraResources: extra{},
			CPU: 96, Memory: 1850 * gibi, LocalStorage: 28000 * giga, Architecture: "amd64",
			PricePerHour: 48_000_000, PriceKnown: true, DomainNodes: 1,
			Labels:    labels("Standard_ND96isr_MI300X_v5", "amd64"),
			Uncertain: []string{"local_storage"},
		},
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			want.Name = name
			got, found := catalog.Lookup(name)
			require.True(t, found)
			require.Empty(t, cmp.Diff(want, got))
		})
	}
}

func TestLookupNames(t *testing.T) {
	cases := map[string]struct {
		asked string
		want  string
	}{
		"azure in lower case":        {asked: "standard_nd96isr_h100_v5", want: "Standard_ND96isr_H100_v5"},
		"azure's other name":         {asked: "Standard_ND96asr_A100_v4", want: "Standard_ND96asr_A100_v4"},
		"ec2 in upper case":          {asked: "P5.48XLARGE"},
		"azure without its prefix":   {asked: "ND96isr_H100_v5"},
		"beginning of a name":        {asked: "p5"},
		"nothing":                    {asked: ""},
		"a comment of the data file": {asked: "#"},
		"the header":                 {asked: "name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, found := catalog.Lookup(tc.asked)
			require.Equal(t, tc.want != "", found)
			require.Equal(t, tc.want, got.Name)
		})
	}
}

func TestLookupSharesNothing(t *testing.T) {
	first, _ := catalog.Lookup("p5.48xlarge")
	first.Labels["a"] = "b"
	first.ExtraResources[catalog.ResourceEFA] = 0
	second, _ := catalog.Lookup("p5.48xlarge")
	require.NotContains(t, second.Labels, "a")
	require.Equal(t, int64(32), second.ExtraResources[catalog.ResourceEFA])
}

func TestSuggest(t *testing.T) {
	cases := map[string]struct {
		name string
		want []string
	}{
		"two letters swapped":  {name: "p5.48xlrage", want: []string{"p5.48xlarge", "g5.48xlarge", "p5.4xlarge"}},
		"letter case of ec2":   {name: "TRN1.2xlarge", want: []string{"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"}},
		"cut short":            {name: "p6e-gb", want: []string{"p6e-gb200.36xlarge"}},
		"azure without prefix": {name: "ND96isr_H100_v5", want: []string{"Standard_ND96isr_H100_v5", "Standard_ND96is_H100_v5", "Standard_ND96isr_H200_v5"}},
		"more than three":      {name: "g2-standard", want: []string{"g2-standard-4", "g2-standard-8", "e2-standard-8"}},
		"resembles nothing":    {name: "refrigerator"},
		"nothing":              {name: " "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, catalog.Suggest(tc.name))
		})
	}
}

func BenchmarkLookupLastRow(b *testing.B) {
	for b.Loop() {
		if _, found := catalog.Lookup("Standard_D32s_v5"); !found {
			b.Fatal("not found")
		}
	}
}
