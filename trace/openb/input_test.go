package openb

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
)

func TestHeaderDecidesColumns(t *testing.T) {
	pods := "\ufeff" + lines(`gpu_milli, num_gpu ,extra,"name",memory_mib,cpu_milli,scheduled_time`,
		"1000.0,2,x, p ,1024,6000,7.00", "0,0,,q,1024,500,")
	nodes := lines("model,gpu,memory_mib,cpu_milli,sn", "G2,8,393216,96000,m1", ",0,1000,1500,m2")
	result := importCSV(t, pods, nodes, Options{})
	require.Len(t, result.Pods, 2)
	assert.Equal(t, "p", result.Pods[0].Name)
	assert.Equal(t, int64(2), result.Pods[0].Spec.Containers[0].Resources.Requests.Name("nvidia.com/gpu", resource.DecimalSI).Value())
	assert.Empty(t, result.Pods[0].Labels)
	assert.Equal(t, "cpu-1500m-1000mi", result.Configuration.NodeGroups[0].Name)
}

func TestBadInput(t *testing.T) {
	const podHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time"
	const nodeHeader = "sn,cpu_milli,memory_mib,gpu,model"
	tests := map[string]struct {
		pods, nodes string // "": a valid table
		opts        Options
		want        string
	}{
		"no header":           {pods: "\n", want: "pods.csv: empty: no header line"},
		"missing column":      {nodes: "sn,cpu_milli,memory_mib,gpu\n", want: "nodes.csv: no column model in the header"},
		"column twice":        {pods: "name,cpu_milli,name\n", want: `pods.csv: line 1: two columns are named "name"`},
		"short line":          {pods: podHeader + "\na,1,1\n", want: "pods.csv: record on line 2: wrong number of fields"},
		"open quote":          {pods: podHeader + "\n\"a,1,1\n", want: `pods.csv: parse error on line 2, column 8: extraneous or missing " in quoted-field`},
		"no machines":         {nodes: nodeHeader + "\n", want: "nodes.csv: no machines below the header"},
		"number":              {pods: podHeader + "\na,1,1,0,0,,,\nb,six,1,0,0,,,\n", want: `pods.csv: line 3, column cpu_milli: "six" is not a whole number`},
		"half a number":       {pods: podHeader + "\na,1.5,1,0,0,,,\n", want: `pods.csv: line 2, column cpu_milli: "1.5" is not a whole number`},
		"empty number":        {pods: podHeader + "\na,,1,0,0,,,\n", want: `pods.csv: line 2, column cpu_milli: "" is not a whole number`},
		"negative":            {pods: podHeader + "\na,1,-1,0,0,,,\n", want: `pods.csv: line 2, column memory_mib: "-1" is not between 0 and 10000000000`},
		"beyond 64 bits":      {pods: podHeader + "\na,1,99999999999999999999,0,0,,,\n", want: `pods.csv: line 2, column memory_mib: "99999999999999999999" is not between 0 and 10000000000`},
		"more than a GPU":     {pods: podHeader + "\na,1,1,1,1001,,,\n", want: `pods.csv: line 2, column gpu_milli: "1001" is not between 0 and 1000`},
		"part of no GPU":      {pods: podHeader + "\na,1,1,0,500,,,\n", want: `pods.csv: line 2, column gpu_milli: "500" is given, but num_gpu is 0`},
		"nothing of a GPU":    {pods: podHeader + "\na,1,1,1,0,,,\n", want: `pods.csv: line 2, column gpu_milli: "0" asks for nothing of each GPU, but num_gpu is not 0`},
		"empty model":         {pods: podHeader + "\na,1,1,1,1000,G2|,,\n", want: `pods.csv: line 2, column gpu_spec: "G2|" has an empty model name`},
		"long model":          {pods: podHeader + "\na,1,1,1,1000,aaaaaaaaaaaaaaaaaaaaa,,\n", want: `pods.csv: line 2, column gpu_spec: "aaaaaaaaaaaaaaaaaaaaa" has a model name of more than 20 bytes`},
		"pod name":            {pods: podHeader + "\nA_b,1,1,0,0,,,\n", want: `pods.csv: line 2, column name: "A_b" is no name for a pod: `},
		"pod twice":           {pods: podHeader + "\na,1,1,0,0,,,\na,1,1,0,0,,,\n", want: `pods.csv: line 3, column name: "a" appears twice`},
		"qos":                 {pods: podHeader + "\na,1,1,0,0,,L S,\n", want: `pods.csv: line 2, column qos: "L S" is no label value: `},
		"far future":          {pods: podHeader + "\na,1,1,0,0,,,3153600001\n", want: `pods.csv: line 2, column creation_time: "3153600001" is not between 0 and 3153600000`},
		"long value":          {pods: podHeader + "\na," + strings.Repeat("x", 100) + ",1,0,0,,,\n", want: `pods.csv: line 2, column cpu_milli: "` + strings.Repeat("x", 80) + `"… is not a whole number`},
		"node name":           {nodes: nodeHeader + "\nM,1,1,0,\n", want: `nodes.csv: line 2, column sn: "M" is no name for a node: `},
		"node twice":          {nodes: nodeHeader + "\nm,1,1,0,\nm,1,1,0,\n", want: `nodes.csv: line 3, column sn: "m" appears twice`},
		"no CPU":              {nodes: nodeHeader + "\nm,0,1,0,\n", want: `nodes.csv: line 2, column cpu_milli: "0" is not between 1 and 1000000000`},
		"model without GPU":   {nodes: nodeHeader + "\nm,1,1,0,G2\n", want: `nodes.csv: line 2, column model: "G2" is given, but gpu is 0`},
		"GPU without model":   {nodes: nodeHeader + "\nm,1,1,1,\n", want: `nodes.csv: line 2, column model: "" is empty, but gpu is not 0`},
		"GPU without price":   {nodes: nodeHeader + "\nm,1000,1024,1,G1\n", want: `nodes.csv: column model: no default price for "G1"; give one for it or for node group g1-1x-1c-1g`},
		"moment without date": {opts: Options{At: new(int64(1))}, pods: podHeader + "\na,1,1,0,0,,,\n", want: `pods.csv: line 2, column creation_time: "" is empty, but a moment of the trace is asked for`},
		"moment, no dates":    {opts: Options{At: new(int64(1))}, pods: "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", want: "pods.csv: no column creation_time in the header, so no pod can be dated; leave out the moment to take them all at once"},
		"at":                  {opts: Options{At: new(int64(-1))}, want: "at: -1 is not a second of the trace (0 to 3153600000)"},
		"mode":                {opts: Options{GPU: "half"}, want: `gpu: "half" is neither "whole" nor "share"`},
		"devices":             {opts: Options{Devices: "gpu"}, want: `devices: "gpu" is neither "plugin" nor "dra"`},
		"size":                {opts: Options{MaxSize: "some"}, want: `maxSize: "some" is neither "unlimited" nor "fleet"`},
		"price of nothing":    {opts: Options{Prices: map[string]configv1alpha1.MicroDollars{"g2": 1}}, want: `prices: "g2" is neither a GPU model nor a node group of this fleet; known: G2, T4, cpu-32c-256g, g2-8x-96c-384g, t4-2x-104c-512g`},
		"negative price":      {opts: Options{Prices: map[string]configv1alpha1.MicroDollars{"G2": -1}}, want: `prices: "G2": -1 micro-dollars per hour is not between 0 and 100000000000`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pods, nodes := tc.pods, tc.nodes
			if pods == "" {
				pods = demandCSV
			}
			if nodes == "" {
				nodes = fleetCSV
			}
			result, err := Import(strings.NewReader(pods), strings.NewReader(nodes), "pods.csv", "nodes.csv", tc.opts)
			require.Error(t, err)
			assert.Nil(t, result)
			if strings.HasSuffix(tc.want, ": ") { // The rest is Kubernetes' own wording.
				assert.True(t, strings.HasPrefix(err.Error(), tc.want), "got %s", err)
			} else {
				assert.Equal(t, tc.want, err.Error())
			}
		})
	}
}

func TestReadErrorsAreKept(t *testing.T) {
	broken := errors.New("disk is gone")
	_, err := Import(iotest.ErrReader(broken), strings.NewReader(fleetCSV), "pods.csv", "nodes.csv", Options{})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "pods.csv: ")
	cut := io.MultiReader(strings.NewReader(fleetCSV), iotest.ErrReader(broken))
	_, err = Import(strings.NewReader(demandCSV), cut, "pods.csv", "nodes.csv", Options{})
	require.ErrorIs(t, err, broken)
}

func TestModelSlugsAreUnique(t *testing.T) {
	assert.Equal(t,
		map[string]string{"A_B": "a-b", "G2": "g2", "a.b": "a-b-2", "g2": "g2-2", "g2-2": "g2-2-2"},
		modelSlugs([]string{"g2-2", "g2", "G2", "a.b", "A_B", "G2"}))
}

func TestUnlimitedIsAPowerOfTen(t *testing.T) {
	groups := groupMachines([]machine{{name: "m", shape: shape{cpuMilli: 1, memoryMiB: 1}}})
	for pods, want := range map[int]int64{0: 10_000, 10_000: 10_000, 10_001: 100_000, 100_001: 1_000_000} {
		configuration, err := configure(groups, pods, "nodes.csv", Options{MaxSize: Unlimited})
		require.NoError(t, err)
		assert.Equal(t, want, configuration.NodeGroups[0].MaxSize)
	}
}
