package openb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

// published returns a file of the trace as its publisher ships it. It is not part of
// this repository.
func published(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "openb", name))
	if os.IsNotExist(err) {
		t.Skipf("no copy of the published trace beside the repository: %s", name)
	}
	require.NoError(t, err)
	return data
}

func TestPublishedTrace(t *testing.T) {
	tests := map[string]struct {
		pods, nodes  string
		opts         Options
		want         Counts
		wantWarnings []string
	}{
		"all at once": {
			pods: "openb_pod_list_default.csv", nodes: "openb_node_list_all_node.csv",
			want: Counts{Tasks: 8152, Pending: 8152, Fractional: 3078, Machines: 1523, NodeGroups: 27},
		},
		"all at once, in shares": {
			pods: "openb_pod_list_default.csv", nodes: "openb_node_list_all_node.csv", opts: Options{GPU: Share},
			want: Counts{Tasks: 8152, Pending: 8152, Fractional: 3078, Machines: 1523, NodeGroups: 27},
		},
		"all at once, in parts of devices": {
			pods: "openb_pod_list_default.csv", nodes: "openb_node_list_all_node.csv",
			opts: Options{GPU: Share, Devices: configv1alpha1.DevicesDRA},
			want: Counts{Tasks: 8152, Pending: 8152, Fractional: 3078, Machines: 1523, NodeGroups: 27},
		},
		"with required models": {
			pods: "openb_pod_list_gpuspec10.csv", nodes: "openb_node_list_all_node.csv",
			want: Counts{Tasks: 8152, Pending: 8152, Fractional: 3078, Machines: 1523, NodeGroups: 27},
			// Two ask for 120 CPUs beside a G2, whose machines have 96.
			wantWarnings: []string{"pods that fit no machine that a node group would add for them, even an empty one " +
				"(groups with GPUs grow only for pods that ask for GPUs): 2 (openb-pod-1639, openb-pod-5724)"},
		},
		"without times": {
			pods: "openb_pod_list_multigpu20.csv", nodes: "openb_node_list_all_node.csv",
			want: Counts{Tasks: 8324, Pending: 8324, Fractional: 3078, Machines: 1523, NodeGroups: 27},
		},
		"a busy moment": {
			pods: "openb_pod_list_gpuspec10.csv", nodes: "openb_node_list_all_node.csv", opts: Options{At: new(int64(12_612_138))},
			want: Counts{Tasks: 8152, Absent: 8098, Running: 51, Pending: 3, Fractional: 13, Machines: 1523, NodeGroups: 27},
		},
		"a busy moment, in devices": {
			pods: "openb_pod_list_gpuspec10.csv", nodes: "openb_node_list_all_node.csv",
			opts: Options{At: new(int64(12_612_138)), Devices: configv1alpha1.DevicesDRA},
			want: Counts{Tasks: 8152, Absent: 8098, Running: 51, Pending: 3, Fractional: 13, Machines: 1523, NodeGroups: 27},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pods, nodes := published(t, tc.pods), published(t, tc.nodes)
			result, err := Import(bytes.NewReader(pods), bytes.NewReader(nodes), tc.pods, tc.nodes, tc.opts)
			require.NoError(t, err)
			checkResult(t, result)
			assert.Equal(t, tc.want, result.Counts)
			assert.Equal(t, tc.wantWarnings, result.Warnings)
		})
	}
}

// TestPublishedGPUMachines takes the file of GPU machines alone: its groups never grow
// for the trace's pods without GPUs, and the warning counts them.
func TestPublishedGPUMachines(t *testing.T) {
	pods, nodes := published(t, "openb_pod_list_default.csv"), published(t, "openb_node_list_gpu_node.csv")
	result, err := Import(bytes.NewReader(pods), bytes.NewReader(nodes), "pods", "nodes", Options{})
	require.NoError(t, err)
	assert.Equal(t, 1213, result.Counts.Machines)
	assert.Equal(t, 15, result.Counts.NodeGroups)
	require.Len(t, result.Warnings, 1)
	assert.Contains(t, result.Warnings[0], ": 1088 (")
}
