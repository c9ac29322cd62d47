package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestClusterSources: the answer does not depend on how the dump is handed over.
func TestClusterSources(t *testing.T) {
	files := small()
	documents := strings.Split(strings.TrimPrefix(files["cluster.yaml"], "---\n"), "---\n")
	half := len(documents) / 2
	first, second := strings.Join(documents[:half], "---\n"), strings.Join(documents[half:], "---\n")
	files["dir/b/second.yml"] = second
	files["dir/first.YAML"] = first
	files["dir/notes.txt"] = "not: [yaml"
	files["one.txt"], files["two"] = first, second
	folder(t, files)
	rest := []string{"--config", "config.yaml", "--at", at, "--no-stats", "-o", "json"}
	want := succeed(t, append([]string{"plan", "--cluster", "cluster.yaml"}, rest...)...)
	require.Contains(t, want, "train/large")
	for name, tc := range map[string]struct {
		in   string
		args []string
	}{
		"directory":        {args: []string{"--cluster", "dir"}},
		"several files":    {args: []string{"--cluster", "one.txt", "--cluster=two"}},
		"other order":      {args: []string{"--cluster", "two", "--cluster", "one.txt"}},
		"standard input":   {in: files["cluster.yaml"], args: []string{"--cluster", "-"}},
		"file and input":   {in: second, args: []string{"--cluster", "one.txt", "--cluster", "-"}},
		"device":           {in: second, args: []string{"--cluster", "one.txt", "--cluster", "two", "--cluster", os.DevNull}},
		"below the folder": {args: []string{"--cluster", "dir/b", "--cluster", "dir/first.YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := tidegateReading(t, tc.in, append(append([]string{"plan"}, tc.args...), rest...)...)
			assert.Equal(t, exitOK, r.code, r.err)
			assert.Equal(t, want, r.out)
		})
	}
	t.Run("configuration on standard input", func(t *testing.T) {
		r := tidegateReading(t, files["config.yaml"], "plan", "--cluster", "cluster.yaml", "--config", "-", "--at", at, "--no-stats", "-o", "json")
		assert.Equal(t, want, r.out, r.err)
		r = tidegateReading(t, "kind: [", "plan", "--cluster", "cluster.yaml", "--config", "-")
		assert.Equal(t, exitUsage, r.code)
		assert.Contains(t, r.err, "standard input")
	})
	t.Run("broken standard input", func(t *testing.T) {
		r := tidegateReading(t, "kind: [", "plan", "--cluster", "-", "--config", "config.yaml")
		assert.Equal(t, exitUsage, r.code)
		assert.Contains(t, r.err, "standard input")
	})
}

// TestAt: times are instants, whatever zone they are written in.
func TestAt(t *testing.T) {
	folder(t, small())
	args := []string{"plan", "--cluster", "cluster.yaml", "--config", "config.yaml", "--no-stats", "--at"}
	assert.Equal(t, succeed(t, append(args, at)...), succeed(t, append(args, "2030-01-01T01:00:00+01:00")...))
	before := succeed(t, "nodegroups", "--example")
	assert.Contains(t, before, "Backoff")
	assert.NotContains(t, succeed(t, "nodegroups", "--example", "--at", "2026-12-01T12:30:00Z"), "Backoff", "the example may be asked about another time")
}
