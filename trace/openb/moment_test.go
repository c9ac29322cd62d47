package openb

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodesOf maps the pods of a result to their nodes; "": pending.
func nodesOf(r *Result) map[string]string {
	nodes := map[string]string{}
	for _, pod := range r.Pods {
		nodes[pod.Name] = pod.Spec.NodeName
	}
	return nodes
}

func TestMoment(t *testing.T) {
	tests := map[string]struct {
		at   int64
		want map[string]string
	}{
		"nothing created yet":             {at: 4, want: map[string]string{}},
		"created and scheduled at once":   {at: 5, want: map[string]string{"plain": "m4"}},
		"created, not scheduled":          {at: 10, want: map[string]string{"plain": "m4", "half": ""}},
		"scheduled, never to be":          {at: 20, want: map[string]string{"plain": "m4", "half": "m3", "big": ""}},
		"last second":                     {at: 99, want: map[string]string{"plain": "m4", "half": "m3", "big": ""}},
		"gone in the second of deletion":  {at: 100, want: map[string]string{"half": "m3", "big": ""}},
		"no deletion time means for ever": {at: 5000, want: map[string]string{"big": ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			result := importCSV(t, demandCSV, fleetCSV, Options{At: &tc.at})
			assert.Equal(t, tc.want, nodesOf(result))
			assert.Len(t, result.Nodes, 4)
			assert.Empty(t, result.Warnings)
			assert.Equal(t, 3-len(tc.want), result.Counts.Absent)
			assert.Equal(t, len(tc.want), result.Counts.Running+result.Counts.Pending)
		})
	}
}

func TestMomentObjects(t *testing.T) {
	result := importCSV(t, demandCSV, fleetCSV, Options{At: new(int64(50))})

	epoch := metav1.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	capacity := corev1.ResourceList{
		"cpu": resource.MustParse("96"), "memory": resource.MustParse("384Gi"), "pods": resource.MustParse("256"),
		"nvidia.com/gpu": resource.MustParse("8"),
	}
	want := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "m1", UID: "m1", CreationTimestamp: epoch,
			Labels: map[string]string{
				"kubernetes.io/hostname": "m1", "tidegate.io/node-group": "g2-8x-96c-384g", "openb.tidegate.io/gpu-model": "G2",
			},
		},
		Spec: corev1.NodeSpec{ProviderID: "openb://m1"},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{
				Type: "Ready", Status: "True", Reason: "KubeletReady", LastHeartbeatTime: epoch, LastTransitionTime: epoch,
			}},
		},
	}
	assert.Empty(t, cmp.Diff(want, result.Nodes[0]))
	assert.NotContains(t, result.Nodes[3].Labels, LabelModel)

	started := metav1.Date(2023, 1, 1, 0, 0, 20, 0, time.UTC)
	half := result.Pods[1]
	require.Equal(t, "half", half.Name)
	assert.Empty(t, cmp.Diff(corev1.PodStatus{
		Phase: "Running", StartTime: &started,
		Conditions: []corev1.PodCondition{{Type: "PodScheduled", Status: "True", LastTransitionTime: started}},
	}, half.Status))
	assert.Equal(t, Counts{Tasks: 3, Running: 2, Pending: 1, Fractional: 1, Machines: 4, NodeGroups: 3}, result.Counts)
}

func TestPlaces(t *testing.T) {
	header := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,scheduled_time"
	fleet := lines("sn,cpu_milli,memory_mib,gpu,model",
		"a,8000,8192,8,G2", "b,8000,8192,2,T4", "c,8000,8192,0,", "d,8000,8192,0,")
	tests := map[string]struct {
		pods         []string
		gpu          Mode
		want         map[string]string
		wantWarnings []string
	}{
		"a pod without GPUs takes the first machine without": {
			pods: []string{"p,5000,0,0,0,,0,0", "q,3000,0,0,0,,0,0", "r,1000,0,0,0,,0,0"},
			want: map[string]string{"p": "c", "q": "c", "r": "d"},
		},
		"and one with GPUs only when the others are full": {
			pods: []string{"p,8000,0,0,0,,0,0", "q,8000,0,0,0,,0,0", "r,8000,0,0,0,,0,0"},
			want: map[string]string{"p": "c", "q": "d", "r": "a"},
		},
		"GPUs go where the fewest are left": {
			pods: []string{"p,1000,0,1,1000,,0,0", "q,1000,0,2,1000,,0,0", "r,1000,0,1,1000,,0,0"},
			want: map[string]string{"p": "b", "q": "a", "r": "b"},
		},
		"a required model": {
			pods: []string{"p,1000,0,1,1000,G2,0,0"},
			want: map[string]string{"p": "a"},
		},
		"the earlier scheduled goes first": {
			pods: []string{"p,8000,0,2,1000,T4,0,2", "q,8000,0,2,1000,T4,0,1"},
			want: map[string]string{"p": "", "q": "b"},
			wantWarnings: []string{
				"pods that run at second 9 of the trace but found no free machine here, and are pending instead: 1 (p)",
			},
		},
		"fractions take whole GPUs": {
			pods: []string{"p,1000,0,1,300,T4,0,0", "q,1000,0,1,300,T4,0,0", "r,1000,0,1,300,T4,0,0"},
			want: map[string]string{"p": "b", "q": "b", "r": ""},
			wantWarnings: []string{
				"pods that run at second 9 of the trace but found no free machine here, and are pending instead: 1 (r)",
			},
		},
		"or shares, of several devices together": {
			gpu:  Share,
			pods: []string{"p,1000,0,1,700,T4,0,0", "q,1000,0,1,650,T4,0,0", "r,1000,0,1,510,T4,0,0"},
			want: map[string]string{"p": "b", "q": "b", "r": "b"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pods := lines(append([]string{header}, tc.pods...)...)
			result := importCSV(t, pods, fleet, Options{At: new(int64(9)), GPU: tc.gpu})
			assert.Equal(t, tc.want, nodesOf(result))
			assert.Equal(t, tc.wantWarnings, result.Warnings)
		})
	}
}

func TestPodCountBindsPlaces(t *testing.T) {
	records := []string{"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,scheduled_time"}
	for i := range podsPerNode + 1 {
		records = append(records, "p"+string(rune('a'+i/26))+string(rune('a'+i%26))+",0,0,0,0,0,0")
	}
	result := importCSV(t, lines(records...), lines("sn,cpu_milli,memory_mib,gpu,model", "a,1000,1024,0,"), Options{At: new(int64(0))})
	assert.Equal(t, podsPerNode, result.Counts.Running)
	assert.Equal(t, 1, result.Counts.Displaced)
}

func TestUnservableWarnings(t *testing.T) {
	pods := lines("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec",
		"huge,200000,1,0,0,", "wide,1000,1,9,1000,", "h1,1,1,1,1000,H100", "h2,1,1,1,1000,H100|H200", "h3,1,1,1,1000,H200", "h4,1,1,1,1000,H200",
		"mixed,1,1,1,1000,H100|T4", "fine,1000,1,0,0,",
	)
	result := importCSV(t, pods, fleetCSV, Options{})
	assert.Equal(t, []string{
		"pods that accept only GPU models that no machine of this fleet has: 4 (h1, h2, h3, …)",
		"pods that fit no machine that a node group would add for them, even an empty one (groups with GPUs grow only for pods that ask for GPUs): 2 (huge, wide)",
	}, result.Warnings)

	gpuOnly := lines("sn,cpu_milli,memory_mib,gpu,model", "m1,96000,393216,8,G2")
	result = importCSV(t, lines("name,cpu_milli,memory_mib,num_gpu,gpu_milli", "plain,1000,1,0,0"), gpuOnly, Options{})
	require.Len(t, result.Warnings, 1)
	assert.Contains(t, result.Warnings[0], "1 (plain)")
}

func TestDecisionTime(t *testing.T) {
	assert.Equal(t, time.Date(2023, 1, 2, 0, 0, 1, 0, time.UTC), DecisionTime(Options{At: new(int64(86_401))}))
	assert.Equal(t, time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), DecisionTime(Options{}))
}
