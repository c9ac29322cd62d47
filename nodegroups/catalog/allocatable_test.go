package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAllocatable(t *testing.T) {
	cases := map[string]map[corev1.ResourceName]string{
		// 2097152Mi - 157287Mi - 1465Mi - 100Mi.
		"p5.48xlarge": {
			"cpu": "191450m", "memory": "1938300Mi", "ephemeral-storage": "89Gi", "pods": "110",
			"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32",
		},
		// 524288Mi - 39322Mi - 1465Mi - 100Mi.
		"trn1.32xlarge": {
			"cpu": "127610m", "memory": "483401Mi", "ephemeral-storage": "89Gi", "pods": "110",
			"aws.amazon.com/neuron": "16", "aws.amazon.com/neuroncore": "32", "vpc.amazonaws.com/efa": "8",
		},
		// 32768Mi - 2458Mi - 1465Mi - 100Mi.
		"m5.2xlarge": {"cpu": "7910m", "memory": "28745Mi", "ephemeral-storage": "89Gi", "pods": "110"},
		// 16384Mi - 364.672Mi - 2662.4Mi - 100Mi = 13256.928Mi, each part rounded against us.
		"g2-standard-4": {
			"cpu": "3920m", "memory": "13900896533", "ephemeral-storage": "43Gi", "pods": "110", "nvidia.com/gpu": "1",
		},
		// 196608Mi - (3072 + 16 + 64 + 248)Mi - (1024 + 819.2 + 819.2 + 6881.28 + 1310.72)Mi - 100Mi = 182253.6Mi.
		"ct5lp-hightpu-4t": {
			"cpu": "111650m", "memory": "191106750873", "ephemeral-storage": "43Gi", "pods": "110", "google.com/tpu": "4",
		},
		// 1945600Mi - 145920Mi - 2250Mi - 100Mi.
		"Standard_ND96isr_H100_v5": {
			"cpu": "94940m", "memory": "1797330Mi", "ephemeral-storage": "110Gi", "pods": "110", "nvidia.com/gpu": "8",
		},
		// 1894400Mi - 142080Mi - 2250Mi - 100Mi.
		"Standard_ND96isr_MI300X_v5": {
			"cpu": "94940m", "memory": "1749970Mi", "ephemeral-storage": "110Gi", "pods": "110", "amd.com/gpu": "8",
		},
	}
	for name, want := range cases {
		t.Run(name, func(t *testing.T) {
			m, found := Lookup(name)
			require.True(t, found)
			wantList := corev1.ResourceList{}
			for resourceName, quantity := range want {
				wantList[resourceName] = resource.MustParse(quantity)
			}
			require.Empty(t, cmp.Diff(wantList, m.Allocatable()))
		})
	}
}

func TestAllocatableIsLessThanSold(t *testing.T) {
	for _, name := range Names() {
		m, _ := Lookup(name)
		list := m.Allocatable()
		require.Less(t, list.Cpu().MilliValue(), m.CPU*1000, name)
		require.Greater(t, list.Cpu().MilliValue(), m.CPU*960, name)
		require.Less(t, list.Memory().Value(), m.Memory, name)
		require.Greater(t, list.Memory().Value(), m.Memory*3/4, name)
		for resourceName, quantity := range list {
			require.Positive(t, quantity.Sign(), "%s %s", name, resourceName)
		}
	}
}

func TestReservedCPU(t *testing.T) {
	cases := map[string]struct {
		rule func(int64) int64
		want map[int64]int64
	}{
		"stepped": {rule: steppedCPU, want: map[int64]int64{1: 60, 2: 70, 4: 80, 5: 83, 8: 90, 16: 110, 96: 310, 192: 550}},
		"aks":     {rule: aksCPU, want: map[int64]int64{1: 60, 2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740, 96: 1060}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[int64]int64{}
			for cores := range tc.want {
				got[cores] = tc.rule(cores)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestReservedMemory(t *testing.T) {
	cases := map[string]struct {
		got  int64
		want int64
	}{
		"hypervisor, rounded up to a MiB":  {got: hypervisorMemory(2048 * gibibyte), want: 157287 * mebibyte},
		"hypervisor, exact":                {got: hypervisorMemory(1000 * mebibyte), want: 75 * mebibyte},
		"eks":                              {got: eksMemory(), want: 1465 * mebibyte},
		"aks, by pods":                     {got: aksMemory(1900 * gibibyte), want: 2250 * mebibyte},
		"aks, a quarter of a small one":    {got: aksMemory(4 * gibibyte), want: gibibyte},
		"gke, in the first step":           {got: gkeMemory(2 * gibibyte), want: 512 * mebibyte},
		"gke, at a step":                   {got: gkeMemory(4 * gibibyte), want: gibibyte},
		"gke, 128 GiB: 9543.68 MiB":        {got: gkeMemory(128 * gibibyte), want: 10_007_273_800},
		"gke, above 128 GiB":               {got: gkeMemory(228*gibibyte) - gkeMemory(128*gibibyte), want: 2 * gibibyte},
		"kernel, 1024 GiB, capped":         {got: gceKernelMemory(1024 * gibibyte), want: 16*gibibyte + 328*mebibyte},
		"kernel, the cap is at 138.39 GiB": {got: gceKernelMemory(128*gibibyte) - 2*gibibyte - 80*mebibyte, want: 240518169},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.got)
		})
	}
}
