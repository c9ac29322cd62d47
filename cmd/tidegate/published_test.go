package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/plan"
)

// TestPublishedTrace imports the openb trace as its publisher ships it, plans all of it
// against empty groups as the README shows, and holds what the README says.
func TestPublishedTrace(t *testing.T) {
	trace := filepath.Join(packageFolder(t), "..", "..", "..", "shared", "data", "openb")
	pods, nodes := filepath.Join(trace, "openb_pod_list_default.csv"), filepath.Join(trace, "openb_node_list_all_node.csv")
	for _, file := range []string{pods, nodes} {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			t.Skipf("no copy of the published trace beside the repository: %s", filepath.Base(file))
		}
	}
	for name, tc := range map[string]struct {
		how []string
		// most is the cost in hundredths of the bound: what was reached when this was written,
		// with room for a better bound or a weaker search, not for a broken one.
		most int64
	}{
		"whole GPUs, plugin": {[]string{"--gpu", "whole"}, 101},                     // 100.24
		"whole GPUs, claims": {[]string{"--gpu", "whole", "--devices", "dra"}, 101}, // 100.24
		// Sums of thousandths do not see that two halves and a bit need two devices.
		"parts of GPUs, claims": {[]string{"--gpu", "share", "--devices", "dra"}, 112}, // 108.5
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			succeed(t, append([]string{"import", "openb", "--pods", pods, "--nodes", nodes, "-o", dir}, tc.how...)...)
			out := succeed(t, "plan", "--cluster", filepath.Join(dir, "cluster.json"), "--config", filepath.Join(dir, "config.yaml"),
				"--at", "2026-12-01T12:00:00Z", "-o", "json")
			var p plan.Plan
			require.NoError(t, json.Unmarshal([]byte(out), &p))
			require.Len(t, p.Placements, 8152)
			require.Empty(t, p.Unschedulable)
			require.Positive(t, p.Cost.LowerBound)
			require.LessOrEqual(t, p.Cost.LowerBound, p.Cost.After)
			require.LessOrEqual(t, int64(p.Cost.After)*100, int64(p.Cost.LowerBound)*tc.most)
		})
	}
}
