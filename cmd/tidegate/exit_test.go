package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tidegate.io/autoscaler/plan"
)

// badFiles is input with mistakes.
func badFiles() map[string]string {
	files := small()
	files["broken.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: x\nspec: [\n"
	files["field.yaml"] = "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: train}\nspec: {containers: 7}\n"
	files["negative.yaml"] = configText(groupText("h100", ", minSize: 9"), groupText("a100", ", pricePerHuor: 1"))
	files["machine.yaml"] = configText("{name: a, instanceType: p5.48xlrage, maxSize: 1}", "{name: b, accelerator: nvidia-l4, acceleratorCount: 1, maxSize: 1, capacity: {cpu: 1, memory: 1Gi}}")
	files["kind.yaml"] = "apiVersion: v1\nkind: ConfigMap\n"
	files["empty/readme.md"] = "nothing to read"
	return files
}

// badLines is bad usage of every sort.
func badLines() []string {
	return []string{
		"plna", "plan x", "plan --nope", "plan -z", "nodegroups x", "import nope", "import openb", "completion bsh", "help plna",
		"plan", "nodegroups", "explain train/small",
		"plan --example -o xml", "plan --example -o", "plan --example --at yesterday", "plan --example --at 2030-01-01",
		"plan --cluster nowhere.yaml", "plan --cluster cluster.yaml --config nowhere.yaml", "plan --cluster empty", "plan --cluster broken.yaml",
		"plan --cluster cluster.yaml --config .",
		"plan --cluster field.yaml", "plan --cluster cluster.yaml --config broken.yaml", "plan --cluster cluster.yaml --config negative.yaml",
		"plan --cluster cluster.yaml --config machine.yaml", "nodegroups --cluster cluster.yaml --config machine.yaml",
		"explain --cluster cluster.yaml --config machine.yaml train/small",
		"plan --cluster cluster.yaml --config kind.yaml", "plan --cluster config.yaml --config cluster.yaml",
		"plan --example --cluster cluster.yaml", "plan --example --config config.yaml",
		"plan --cluster - --cluster -", "plan --cluster - --config -", "nodegroups --cluster - --config -",
		"explain --example", "explain --example a b", "explain --example nobody", "explain --example train/llama", "explain --example train/finetune-0",
		"import openb --pods nowhere.csv --nodes nowhere.csv -o out",
	}
}

// TestBadUsage: exit code 2, a message and no result; and the message names the place.
func TestBadUsage(t *testing.T) {
	folder(t, badFiles())
	for _, line := range badLines() {
		refused(t, strings.Fields(line)...)
	}
	for line, want := range map[string][]string{
		"plan --cluster broken.yaml":                         {"broken.yaml: document 1 (line 1): broken YAML: line 3"},
		"plan --cluster field.yaml":                          {"field.yaml", "train/x", "containers"},
		"plan --cluster cluster.yaml --config negative.yaml": {"negative.yaml:4", "nodeGroups[0] (h100): maxSize: must be at least minSize", "negative.yaml:5", "pricePerHuor", "pricePerHour"},
		"plan --cluster cluster.yaml --config machine.yaml": {
			"tidegate: machine.yaml: nodeGroups[0].instanceType: Invalid value: \"p5.48xlrage\"", "did you mean", "p5.48xlarge",
			"\nmachine.yaml: nodeGroups[1].capacity: Required value",
		},
		"plan --cluster nowhere.yaml":                          {"--cluster: nowhere.yaml: no such file"},
		"plan --cluster cluster.yaml --config nowhere.yaml":    {"--config: nowhere.yaml: no such file"},
		"plan --cluster empty":                                 {"--cluster: empty holds no .yaml or .json file"},
		"plan --example --at yesterday":                        {"--at", "RFC3339", `"yesterday"`},
		"plan --example -o xml":                                {"-o", `"xml"`, "table, json or yaml"},
		"plan":                                                 {"--cluster", "--example"},
		"plan --nope":                                          {"--nope", "tidegate plan --help"},
		"explain --example train/llama":                        {"did you mean train/llama-70b?"},
		"plan --cluster - --config -":                          {"standard input"},
		"import openb --pods nowhere.csv --nodes n.csv -o out": {"--pods: nowhere.csv: no such file"},
	} {
		got := refused(t, strings.Fields(line)...)
		for _, w := range want {
			assert.Contains(t, got, w, line)
		}
	}
}

func TestFailOnUnschedulable(t *testing.T) {
	folder(t, small())
	args := []string{"plan", "--cluster", "cluster.yaml", "--config", "config.yaml", "--at", at, "--no-stats"}
	for _, format := range []string{"table", "json", "yaml"} {
		plain := tidegate(t, append(args, "-o", format)...)
		assert.Equal(t, exitOK, plain.code)
		failed := tidegate(t, append(args, "-o", format, "--fail-on-unschedulable")...)
		assert.Equal(t, exitUnschedulable, failed.code)
		assert.Equal(t, plain.out, failed.out, "the result is written all the same")
		assert.Equal(t, "tidegate: some pods get no node (--fail-on-unschedulable)\n", failed.err)
	}
	folder(t, nothingPending())
	succeed(t, append(args, "--fail-on-unschedulable")...)
}

// TestWaitingIsNotUnschedulable: pods that wait for their gang do not fail a script.
func TestWaitingIsNotUnschedulable(t *testing.T) {
	files := small()
	files["cluster.yaml"] = gangText{namespace: "train", name: "young", pods: 1, minimum: 2, gpus: 1}.String()
	folder(t, files)
	assert.Contains(t, succeed(t, "plan", "--cluster", "cluster.yaml", "--config", "config.yaml", "--fail-on-unschedulable", "--at", at), "GangIncomplete")
}

// TestWarnings go to standard error, results to standard output.
func TestWarnings(t *testing.T) {
	files := small()
	files["cluster.yaml"] += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: train}\n"
	folder(t, files)
	for _, command := range []string{"plan --no-stats", "nodegroups", "explain train/large"} {
		args := append(strings.Fields(command), "--cluster", "cluster.yaml", "--at", at)
		r := tidegate(t, append(args, "-o", "json")...)
		assert.Equal(t, exitOK, r.code, r.err)
		assert.Contains(t, r.err, "warning: ")
		assert.Contains(t, r.err, "ConfigMap")
		assert.Contains(t, r.err, "no --config")
		assert.NotContains(t, r.out, "warning: ")
	}
	r := tidegateReading(t, "", "plan", "--cluster", "-", "--config", "config.yaml")
	assert.Equal(t, exitOK, r.code)
	assert.Contains(t, r.err, "holds no nodes and no pods")
}

func TestInternalErrors(t *testing.T) {
	folder(t, map[string]string{"pods.csv": podsCSV, "nodes.csv": nodesCSV})
	for _, line := range []string{
		"plan --example", "plan --example -o json", "nodegroups --example", "explain --example h100",
		"import openb --pods pods.csv --nodes nodes.csv -o out",
	} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(line), streams{in: strings.NewReader(""), out: failingWriter{}, err: &stderr})
		assert.Equal(t, exitInternal, code, line)
		assert.Contains(t, stderr.String(), "internal error: write the result: short write")
	}
}

// TestBugs: what a decision refuses is the user's input only where it says so.
func TestBugs(t *testing.T) {
	f := inputFlags{config: "config.yaml"}
	var internal internalError
	require.ErrorAs(t, f.decided(errors.New("broken invariant")), &internal)
	require.ErrorAs(t, f.decided(asPanic("broken invariant")), &internal)
	require.NoError(t, f.decided(nil))
	for _, err := range []error{
		&plan.InputError{Err: errors.New("wrong")}, &plan.InputError{Err: &plan.SubjectError{Text: "nobody"}}, fmt.Errorf("%w while deciding", errInterrupted),
	} {
		assert.NotErrorAs(t, f.decided(err), &internal)
	}
	require.EqualError(t, f.decided(&plan.InputError{Err: errors.New("wrong")}), "config.yaml: wrong")
	require.EqualError(t, f.decided(&plan.InputError{Err: &plan.SubjectError{Text: "nobody"}}), "nobody", "the configuration has no part in it")
}

// TestPanics: a bug is an internal error and not, as Go has it, exit code 2.
func TestPanics(t *testing.T) {
	_, err := await(t.Context(), streams{}, "deciding", func() (int, error) { panic("broken invariant") })
	var internal internalError
	require.ErrorAs(t, err, &internal)
	assert.Contains(t, err.Error(), "broken invariant")
	assert.Contains(t, err.Error(), "exit_test.go", "the stack")

	var out bytes.Buffer
	assert.Equal(t, exitInternal, run(t.Context(), []string{"plan", "--cluster", "-"}, streams{in: panicking{}, out: &out, err: &out}))
	assert.Contains(t, out.String(), "internal error: read too much")
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("read too much") }

// TestInterrupt: Ctrl-C ends every command at once, even one that waits for input that
// never comes, and says that nothing was changed.
func TestInterrupt(t *testing.T) {
	endless, _ := io.Pipe()
	for line, doing := range map[string]string{
		"plan --example":                     "reading the input",
		"nodegroups --example":               "reading the input",
		"explain --example h100":             "reading the input",
		"plan --cluster -":                   "reading the input",
		"import openb --pods - --nodes n -o": "reading the trace",
	} {
		for _, late := range []bool{false, true} {
			if late && !strings.Contains(line, " - ") && !strings.HasSuffix(line, " -") {
				continue
			}
			args := strings.Fields(line)
			if args[0] == "import" {
				args = append(args, t.TempDir())
			}
			ctx, cancel := context.WithCancel(t.Context())
			if late {
				// While it reads.
				time.AfterFunc(10*time.Millisecond, cancel)
			} else {
				cancel()
			}
			var out, stderr bytes.Buffer
			code := run(ctx, args, streams{in: endless, out: &out, err: &stderr})
			cancel()
			assert.Equal(t, exitInternal, code)
			assert.Empty(t, out.String())
			assert.Equal(t, "tidegate: interrupted while "+doing+"; nothing was changed\n", stderr.String())
		}
	}
}

// TestInterruptedDecision: an interrupt does not wait for a decision that takes long.
func TestInterruptedDecision(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	started := make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	_, err := await(ctx, streams{err: io.Discard}, "deciding", func() (int, error) {
		close(started)
		<-never
		return 0, errors.New("too late")
	})
	require.ErrorIs(t, err, errInterrupted)
	assert.EqualError(t, err, "interrupted while deciding; nothing was changed")
}
