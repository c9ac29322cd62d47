package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// result is what a command line did.
type result struct {
	code     int
	out, err string
}

// tidegate runs a command line with nothing on standard input.
func tidegate(t *testing.T, args ...string) result {
	t.Helper()
	return tidegateReading(t, "", args...)
}

// tidegateReading runs a command line that may read standard input.
func tidegateReading(t *testing.T, in string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, streams{in: strings.NewReader(in), out: &out, err: &err})
	return result{code: code, out: out.String(), err: err.String()}
}

// succeed runs a command line that must succeed without a word on standard error, and
// returns its output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	r := tidegate(t, args...)
	require.Equal(t, exitOK, r.code, r.err)
	require.Empty(t, r.err)
	return r.out
}

// refused runs a command line that must end as bad usage or bad input, without a result,
// and returns what it says.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	r := tidegate(t, args...)
	assert.Equal(t, exitUsage, r.code, "%v", args)
	assert.Empty(t, r.out, "a refusal is not a result")
	assert.True(t, strings.HasPrefix(r.err, "tidegate: "), r.err)
	assert.NotContains(t, r.err, "internal error")
	return r.err
}

// folder makes a temporary folder with files the working directory, so that command lines
// and messages hold short names.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	t.Chdir(dir)
}

// took is the one thing in the output that differs between runs.
var took = regexp.MustCompile(`(Decided in|pods? in) [0-9.]+(ns|µs|ms|s)`)

// tried is how much was searched: it changes with every change to the search, and says
// nothing about the command line.
var tried = regexp.MustCompile(`\d+ options? looked at`)

// transcript is what a user sees who types the command lines one after the other.
func transcript(t *testing.T, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\n")
		}
		r := tidegate(t, strings.Fields(line)...)
		b.WriteString(strings.TrimRight("$ tidegate "+line, " ") + "\n" + r.out)
		if r.err != "" {
			b.WriteString("--- standard error\n" + r.err)
		}
		if r.code != exitOK {
			b.WriteString("--- exit code " + string(rune('0'+r.code)) + "\n")
		}
	}
	return tried.ReplaceAllString(took.ReplaceAllString(b.String(), "${1} DURATION"), "N options looked at")
}

// golden compares text with testdata/NAME.golden, which is in dir, the folder of this package.
func golden(t *testing.T, dir, name, got string) {
	t.Helper()
	path := filepath.Join(dir, "testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
	}
}

// packageFolder is the folder of this package, before a test leaves it.
func packageFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	return dir
}

// failingWriter is a full disk.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }
