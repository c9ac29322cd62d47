package openb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fleetCSV has three shapes: two G2 machines, one T4, one without GPUs.
const fleetCSV = `sn,cpu_milli,memory_mib,gpu,model
m2,96000,393216,8,G2
m1,96000,393216,8,G2
m3,104000,524288,2,T4
m4,32000,262144,0,
`

// demandCSV has a GPU fraction, a whole machine, a CPU pod and one that nobody scheduled.
const demandCSV = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
half,6000,12288,1,460,G2|T4|T4,LS,Running,10,1000,20
big,48000,65536,8,1000,,BE,Pending,15,,
plain,1500,0,0,0,,Burstable,Failed,5,100,5
`

func importCSV(t *testing.T, pods, nodes string, opts Options) *Result {
	t.Helper()
	result, err := Import(strings.NewReader(pods), strings.NewReader(nodes), "pods.csv", "nodes.csv", opts)
	require.NoError(t, err)
	return result
}

// lines is a CSV table: a header and records.
func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }
