//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/trace/openb"
)

// TestTraceComesTrue carries out the plan for a production trace: all of its pods wait at
// once in front of an empty cluster.
func TestTraceComesTrue(t *testing.T) {
	folder := os.Getenv("TIDEGATE_OPENB")
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if os.IsNotExist(err) {
			t.Skipf("no copy of the published trace in %q", folder)
		}
		require.NoError(t, err)
		return text
	}
	pods, nodes := read("openb_pod_list_default.csv"), read("openb_node_list_all_node.csv")
	imported, err := openb.Import(bytes.NewReader(pods), bytes.NewReader(nodes), "pods", "nodes", openb.Options{GPU: openb.Whole})
	require.NoError(t, err)
	var dump bytes.Buffer
	require.NoError(t, openb.WriteDump(&dump, imported.Objects()...))
	text, err := imported.Configuration.Marshal()
	require.NoError(t, err)
	configuration, err := configv1alpha1.Load(text, "configuration")
	require.NoError(t, err)
	s := newScenario(t, dump.Bytes(), configuration, time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))

	c := newCluster(t, startControlPlane(t))
	v := comesTrue(t, c, s)
	t.Log(v.String())
	assert.Empty(t, v.problems)
}
