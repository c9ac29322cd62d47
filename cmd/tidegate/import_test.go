package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A trace with two shapes of machines, and pods that ask for a part of a GPU, for all of a
// machine and for none.
const (
	nodesCSV = `sn,cpu_milli,memory_mib,gpu,model
m1,96000,393216,8,G2
m2,96000,393216,8,G2
m3,32000,262144,0,
`
	podsCSV = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
half,6000,12288,1,460,G2,LS,Running,10,1000,20
big,48000,65536,8,1000,,BE,Pending,15,,
plain,1500,1024,0,0,,Burstable,Running,5,1000,5
`
)

// next is the command line that an import hints at.
func next(t *testing.T, out string) []string {
	t.Helper()
	_, line, found := strings.Cut(out, "\nNext: tidegate ")
	require.True(t, found, out)
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(line), "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestImportOpenb(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		dir  string
		want []string
	}{
		"all pending":     {dir: "out", want: []string{"Wrote 3 pods (3 pending, 0 running; 1 ask for a part of a GPU) and 3 machines of 2 shapes.", "--config out/config.yaml\n"}},
		"a moment":        {dir: "out", args: []string{"--at", "100"}, want: []string{"running", " --at 2023-01-01T00:01:40Z\n"}},
		"shares":          {dir: "out", args: []string{"--gpu", "share"}, want: []string{"3 pending"}},
		"devices":         {dir: "out", args: []string{"--devices", "dra"}, want: []string{"3 pending"}},
		"device parts":    {dir: "out", args: []string{"--devices", "dra", "--gpu", "share"}, want: []string{"3 pending"}},
		"folder to quote": {dir: "my traces/$1", want: []string{"--cluster 'my traces/$1/cluster.json'"}},
		"prices":          {dir: "out", args: []string{"--prices", "prices.yaml"}, want: []string{"Next"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder(t, map[string]string{"pods.csv": podsCSV, "nodes.csv": nodesCSV, "prices.yaml": "G2: 1.5\n"})
			out := succeed(t, append([]string{"import", "openb", "--pods", "pods.csv", "--nodes", "nodes.csv", "-o", tc.dir}, tc.args...)...)
			for _, w := range tc.want {
				assert.Contains(t, out, w)
			}
			entries, err := os.ReadDir(tc.dir)
			require.NoError(t, err)
			require.Len(t, entries, 2, "no temporary files are left")
			assert.Equal(t, "cluster.json", entries[0].Name())
			assert.Equal(t, "config.yaml", entries[1].Name())
			r := tidegate(t, append(next(t, out), "--no-stats")...)
			assert.Equal(t, exitOK, r.code, r.err)
			assert.Contains(t, r.out, "Cost: ")
			assert.Regexp(t, `\d pods? placed`, r.out)
		})
	}
}

func TestImportStandardInput(t *testing.T) {
	folder(t, map[string]string{"pods.csv": podsCSV, "nodes.csv": nodesCSV})
	args := func(pods, nodes, dir string) []string {
		return []string{"import", "openb", "--pods", pods, "--nodes", nodes, "-o", dir}
	}
	succeed(t, args("pods.csv", "nodes.csv", "files")...)
	r := tidegateReading(t, podsCSV, args("-", "nodes.csv", "pods")...)
	require.Equal(t, exitOK, r.code, r.err)
	r = tidegateReading(t, nodesCSV, args("pods.csv", "-", "nodes")...)
	require.Equal(t, exitOK, r.code, r.err)
	for _, name := range []string{"cluster.json", "config.yaml"} {
		want, err := os.ReadFile(filepath.Join("files", name))
		require.NoError(t, err)
		for _, dir := range []string{"pods", "nodes"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		}
	}
	assert.Contains(t, refused(t, args("-", "-", "both")...), "standard input")
	r = tidegateReading(t, "name\nx\n", args("-", "nodes.csv", "bad")...)
	assert.Equal(t, exitUsage, r.code)
	assert.Contains(t, r.err, "standard input")
}

func TestImportRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		args  string
		want  []string
	}{
		"mode":            {args: "--gpu half", want: []string{"gpu", `"half"`, "whole", "share"}},
		"devices":         {args: "--devices gpu", want: []string{"devices", `"gpu"`, "plugin", "dra"}},
		"moment":          {args: "--at -1", want: []string{"-1"}},
		"not a number":    {args: "--at noon", want: []string{"noon", "--at"}},
		"no pods file":    {args: "--pods nowhere.csv", want: []string{"--pods: nowhere.csv: no such file"}},
		"no nodes file":   {args: "--nodes nowhere.csv", want: []string{"--nodes: nowhere.csv: no such file"}},
		"a folder":        {args: "--nodes .", want: []string{"--nodes: .: is a directory"}},
		"column":          {files: map[string]string{"pods.csv": "name,cpu_milli\nx,1\n"}, want: []string{"pods.csv", "column"}},
		"nodes column":    {files: map[string]string{"nodes.csv": "sn\nx\n"}, want: []string{"nodes.csv", "column"}},
		"value":           {files: map[string]string{"nodes.csv": strings.Replace(nodesCSV, "96000", "many", 1)}, want: []string{"nodes.csv", "2", "cpu_milli", "many"}},
		"empty":           {files: map[string]string{"pods.csv": ""}, want: []string{"pods.csv"}},
		"prices":          {files: map[string]string{"prices.yaml": "G2: cheap\n"}, args: "--prices prices.yaml", want: []string{"--prices", "prices.yaml", "cheap"}},
		"no prices file":  {args: "--prices nowhere.yaml", want: []string{"--prices: nowhere.yaml: no such file"}},
		"negative prices": {files: map[string]string{"prices.yaml": "G2: -1\n"}, args: "--prices prices.yaml", want: []string{"prices", "G2"}},
		"not a folder":    {files: map[string]string{"file": ""}, args: "-o file", want: []string{"-o: file: not a directory"}},
		"argument":        {args: "x", want: []string{`"x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"pods.csv": podsCSV, "nodes.csv": nodesCSV}
			maps.Copy(files, tc.files)
			folder(t, files)
			got := refused(t, append(strings.Fields("import openb --pods pods.csv --nodes nodes.csv -o out"), strings.Fields(tc.args)...)...)
			for _, w := range tc.want {
				assert.Contains(t, got, w)
			}
			assert.NoDirExists(t, "out", "nothing is written")
		})
	}
}
