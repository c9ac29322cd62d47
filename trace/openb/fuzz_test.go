package openb

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

// FuzzImport feeds arbitrary bytes as both tables. Import may refuse them, but never
// panics, and what it accepts holds together.
func FuzzImport(f *testing.F) {
	f.Add(demandCSV, fleetCSV, int64(50), false, false)
	f.Add(demandCSV, fleetCSV, int64(-1), true, false)
	f.Add(demandCSV, fleetCSV, int64(50), true, true)
	f.Add("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,1\n", "sn,cpu_milli,memory_mib,gpu,model\nm,1000000000,10000000000,1024,T4\n", int64(-1), true, true)
	f.Add("\xef\xbb\xbf\"a\nb\",\r\n", "\xff\x00,", int64(1)<<62, false, true)
	f.Fuzz(func(t *testing.T, pods, nodes string, at int64, share, claims bool) {
		opts := Options{GPU: Whole}
		if share {
			opts.GPU = Share
		}
		if claims {
			opts.Devices = dra
		}
		if at >= 0 {
			opts.At = &at
		}
		result, err := Import(strings.NewReader(pods), strings.NewReader(nodes), "pods.csv", "nodes.csv", opts)
		if err != nil {
			require.Nil(t, result)
			return
		}
		checkResult(t, result)
		var dump bytes.Buffer
		require.NoError(t, WriteDump(&dump, result.Objects()...))
	})
}

// checkResult checks what holds of every result: names are unique and legal, counts add
// up, and no node is asked for more than it offers.
func checkResult(t *testing.T, r *Result) {
	t.Helper()
	names := map[string]struct{}{}
	for i, g := range r.Configuration.NodeGroups {
		names[g.Name] = struct{}{}
		require.Empty(t, validation.IsDNS1123Label(g.Name))
		require.GreaterOrEqual(t, int64(*g.PricePerHour), int64(0))
		require.LessOrEqual(t, r.Machines[i].Count, g.MaxSize)
		require.Equal(t, g.Name, r.Machines[i].NodeGroup)
	}
	require.Len(t, names, len(r.Configuration.NodeGroups))
	require.Equal(t, r.Counts.Tasks, r.Counts.Absent+r.Counts.Running+r.Counts.Pending)
	require.Len(t, r.Pods, r.Counts.Running+r.Counts.Pending)
	checkClaims(t, r)

	type free map[string]int64
	rooms := map[string]free{}
	for _, node := range r.Nodes {
		rooms[node.Name] = free{}
		for name, quantity := range node.Status.Allocatable {
			rooms[node.Name][string(name)] = quantity.MilliValue()
		}
	}
	for _, pod := range r.Pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		room := rooms[pod.Spec.NodeName]
		require.NotNil(t, room)
		for name, quantity := range pod.Spec.Containers[0].Resources.Requests {
			room[string(name)] -= quantity.MilliValue()
		}
		room["pods"] -= 1000
		for name, left := range room {
			require.GreaterOrEqual(t, left, int64(0), "%s on %s", name, pod.Spec.NodeName)
		}
	}
}
