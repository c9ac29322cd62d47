package openb

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

func TestImportConfiguration(t *testing.T) {
	cpuGroup := func() configv1alpha1.NodeGroup {
		return configv1alpha1.NodeGroup{
			Name: "cpu-32c-256g", MaxSize: 10_000,
			PricePerHour: new(configv1alpha1.MicroDollars(32*33_174 + 256*4_446)),
			Capacity: corev1.ResourceList{
				"cpu": resource.MustParse("32"), "memory": resource.MustParse("256Gi"), "pods": resource.MustParse("256"),
			},
		}
	}
	gpuGroup := func() configv1alpha1.NodeGroup {
		return configv1alpha1.NodeGroup{
			Name: "g2-8x-96c-384g", MaxSize: 10_000, Accelerator: "openb-g2", AcceleratorCount: new(int64(8)),
			PricePerHour: new(configv1alpha1.MicroDollars(10_891_968)), // The package comment's example.
			Labels:       map[string]string{LabelModel: "G2"},
			Capacity: corev1.ResourceList{
				"cpu": resource.MustParse("96"), "memory": resource.MustParse("384Gi"), "pods": resource.MustParse("256"),
				"nvidia.com/gpu": resource.MustParse("8"),
			},
		}
	}
	tests := map[string]struct {
		opts    Options
		wantCPU func(*configv1alpha1.NodeGroup)
		wantGPU func(*configv1alpha1.NodeGroup)
	}{
		"all at once": {},
		"shares": {
			opts: Options{GPU: Share},
			wantGPU: func(g *configv1alpha1.NodeGroup) {
				g.Sharing.Replicas = 10
				g.Capacity["nvidia.com/gpu"] = resource.MustParse("80")
			},
		},
		"a moment has the fleet's size": {
			opts:    Options{At: new(int64(50))},
			wantCPU: func(g *configv1alpha1.NodeGroup) { g.Size, g.MaxSize = new(int64(1)), 1 },
			wantGPU: func(g *configv1alpha1.NodeGroup) { g.Size, g.MaxSize = new(int64(2)), 2 },
		},
		"a moment of a fleet that may grow": {
			opts:    Options{At: new(int64(50)), MaxSize: Unlimited},
			wantCPU: func(g *configv1alpha1.NodeGroup) { g.Size = new(int64(1)) },
			wantGPU: func(g *configv1alpha1.NodeGroup) { g.Size = new(int64(2)) },
		},
		"no more than the fleet": {
			opts:    Options{MaxSize: Fleet},
			wantCPU: func(g *configv1alpha1.NodeGroup) { g.MaxSize = 1 },
			wantGPU: func(g *configv1alpha1.NodeGroup) { g.MaxSize = 2 },
		},
		"price of a model": {
			opts: Options{Prices: map[string]configv1alpha1.MicroDollars{"G2": 1_000_000}},
			wantGPU: func(g *configv1alpha1.NodeGroup) {
				g.PricePerHour = new(configv1alpha1.MicroDollars(12_891_968))
			},
		},
		"price of a group wins": {
			opts: Options{Prices: map[string]configv1alpha1.MicroDollars{"G2": 1_000_000, "g2-8x-96c-384g": 7, "cpu-32c-256g": 0}},
			wantCPU: func(g *configv1alpha1.NodeGroup) {
				g.PricePerHour = new(configv1alpha1.MicroDollars(0))
			},
			wantGPU: func(g *configv1alpha1.NodeGroup) {
				g.PricePerHour = new(configv1alpha1.MicroDollars(7))
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wantCPU, wantGPU := cpuGroup(), gpuGroup()
			if tc.wantCPU != nil {
				tc.wantCPU(&wantCPU)
			}
			if tc.wantGPU != nil {
				tc.wantGPU(&wantGPU)
			}
			result := importCSV(t, demandCSV, fleetCSV, tc.opts)
			configuration := result.Configuration
			assert.Equal(t, metav1.TypeMeta{APIVersion: "config.tidegate.io/v1alpha1", Kind: "AutoscalerConfiguration"}, configuration.TypeMeta)
			require.Len(t, configuration.NodeGroups, 3)
			assert.Empty(t, cmp.Diff(wantCPU, configuration.NodeGroups[0]))
			assert.Empty(t, cmp.Diff(wantGPU, configuration.NodeGroups[1]))
			assert.Equal(t, "t4-2x-104c-512g", configuration.NodeGroups[2].Name)
			assert.Equal(t, []Machines{{"cpu-32c-256g", 1}, {"g2-8x-96c-384g", 2}, {"t4-2x-104c-512g", 1}}, result.Machines)
		})
	}
}

// TestImportConfigurationLoads: what is written as a file reads back as the same groups.
func TestImportConfigurationLoads(t *testing.T) {
	for name, opts := range map[string]Options{
		"all at once":                  {},
		"a moment":                     {At: new(int64(50))},
		"shares":                       {GPU: Share},
		"devices":                      {Devices: configv1alpha1.DevicesDRA},
		"parts of devices at a moment": {GPU: Share, Devices: configv1alpha1.DevicesDRA, At: new(int64(50))},
	} {
		t.Run(name, func(t *testing.T) {
			want := importCSV(t, demandCSV, fleetCSV, opts).Configuration
			written, err := want.Marshal()
			require.NoError(t, err)
			got, err := configv1alpha1.Load(written, "tidegate.yaml")
			require.NoError(t, err)
			configv1alpha1.SetDefaults(want)
			assert.Empty(t, cmp.Diff(want, got))
		})
	}
}

func TestImportPods(t *testing.T) {
	pod := func(name string, second int, phase, qos string) *corev1.Pod {
		return &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "openb", UID: types.UID(name),
				CreationTimestamp: metav1.Date(2023, 1, 1, 0, 0, second, 0, time.UTC),
				Labels:            map[string]string{"openb.tidegate.io/phase": phase, "openb.tidegate.io/qos": qos},
			},
			Spec: corev1.PodSpec{
				RestartPolicy: "Always", SchedulerName: "default-scheduler",
				Containers: []corev1.Container{{Name: "main", Image: "example/openb"}},
			},
			Status: corev1.PodStatus{Phase: "Pending"},
		}
	}
	gpus := func(pod *corev1.Pod, milli, count string) {
		pod.Annotations = map[string]string{"openb.tidegate.io/gpu-milli": milli}
		resources := &pod.Spec.Containers[0].Resources
		resources.Requests["nvidia.com/gpu"] = resource.MustParse(count)
		resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(count)}
	}
	big, half, plain := pod("big", 15, "Pending", "BE"), pod("half", 10, "Running", "LS"), pod("plain", 5, "Failed", "Burstable")
	big.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("48"), "memory": resource.MustParse("64Gi")}
	half.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("6"), "memory": resource.MustParse("12Gi")}
	plain.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m")}
	half.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "openb.tidegate.io/gpu-model", Operator: "In", Values: []string{"G2", "T4"}},
		}}},
	}}}
	gpus(big, "1000", "8")
	gpus(half, "460", "1")
	assert.Empty(t, cmp.Diff([]*corev1.Pod{big, half, plain}, importCSV(t, demandCSV, fleetCSV, Options{}).Pods))
	assert.Empty(t, cmp.Diff([]*corev1.Pod{big, half, plain}, importCSV(t, demandCSV, fleetCSV, Options{GPU: Whole}).Pods))

	gpus(big, "1000", "80")
	gpus(half, "460", "5")
	assert.Empty(t, cmp.Diff([]*corev1.Pod{big, half, plain}, importCSV(t, demandCSV, fleetCSV, Options{GPU: Share}).Pods))
}

func TestImportIgnoresOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shuffled := func(csv string) string {
		records := strings.Split(strings.TrimSpace(csv), "\n")
		random.Shuffle(len(records)-1, func(i, j int) { records[i+1], records[j+1] = records[j+1], records[i+1] })
		return lines(records...)
	}
	for name, opts := range map[string]Options{
		"plugin":  {At: new(int64(50))},
		"devices": {At: new(int64(50)), GPU: Share, Devices: configv1alpha1.DevicesDRA},
	} {
		t.Run(name, func(t *testing.T) { sameOfAnyOrder(t, shuffled, random, opts) })
	}
}

// sameOfAnyOrder imports shuffled tables and dumps shuffled objects.
func sameOfAnyOrder(t *testing.T, shuffled func(string) string, random *rand.Rand, opts Options) {
	t.Helper()
	want := importCSV(t, demandCSV, fleetCSV, opts)
	var wantDump bytes.Buffer
	require.NoError(t, WriteDump(&wantDump, want.Objects()...))
	for range 20 {
		got := importCSV(t, shuffled(demandCSV), shuffled(fleetCSV), opts)
		require.Empty(t, cmp.Diff(want, got))
		objects := got.Objects()
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		var dump bytes.Buffer
		require.NoError(t, WriteDump(&dump, objects...))
		require.Equal(t, wantDump.String(), dump.String())
	}
}
