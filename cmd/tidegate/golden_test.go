package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// scenarios are inputs and what is typed about them; each has a golden transcript.
func scenarios() map[string]struct {
	files map[string]string
	lines []string
} {
	own := func(lines ...string) []string {
		for i := range lines {
			lines[i] += " --cluster cluster.yaml --config config.yaml --at " + at
		}
		return lines
	}
	return map[string]struct {
		files map[string]string
		lines []string
	}{
		"example-plan":        {lines: []string{"plan --example"}},
		"example-json":        {lines: []string{"plan --example -o json --no-stats"}},
		"example-yaml":        {lines: []string{"plan --example -o yaml --no-stats"}},
		"example-nodegroups":  {lines: []string{"nodegroups --example"}},
		"nodegroups-yaml":     {lines: []string{"nodegroups --example -o yaml"}},
		"resource-slices":     {files: resourceSlices(), lines: own("nodegroups", "nodegroups -o yaml", "explain seen", "explain catalogued", "explain unknown")},
		"explain-gang":        {lines: []string{"explain --example train/llama-70b", "explain --example train/mixtral", "explain --example train/ablation"}},
		"explain-pod":         {lines: []string{"explain --example serve/chat-0", "explain --example train/llama-70b-0", "explain --example web/gateway-0"}},
		"explain-group":       {lines: []string{"explain --example h100", "explain --example h100-spot", "explain --example cpu"}},
		"explain-json":        {lines: []string{"explain --example train/llama-70b -o json"}},
		"help":                {lines: helpLines()},
		"errors":              {files: badFiles(), lines: badLines()},
		"small":               {files: small(), lines: own("plan --no-stats", "nodegroups", "explain train/large")},
		"nothing-pending":     {files: nothingPending(), lines: own("plan", "nodegroups", "explain h100")},
		"no-config":           {files: small(), lines: []string{"plan --cluster cluster.yaml --no-stats --at " + at, "nodegroups --cluster cluster.yaml --at " + at}},
		"long-names":          {files: longNames(), lines: own("plan --no-stats", "nodegroups", "explain "+long("ns", 63)+"/"+long("waits", 60), "explain "+long("group", 60))},
		"many-groups":         {files: manyGroups(), lines: own("plan --no-stats", "explain train/large")},
		"many-gangs":          {files: manyGangs(), lines: own("plan --no-stats", "explain h100")},
		"many-pods":           {files: manyPods(), lines: own("plan --no-stats", "explain h100")},
		"partly-placed":       {files: partlyPlaced(), lines: own("plan --no-stats")},
		"minimum-and-trouble": {files: trouble(), lines: own("plan --no-stats", "nodegroups", "explain broken")},
		"control-characters":  {files: controlCharacters(), lines: own("plan --no-stats")},
		"verbose":             {files: small(), lines: own("nodegroups -v")},
	}
}

func helpLines() []string {
	return []string{"--version", "--help", "plan --help", "nodegroups --help", "explain --help", "import --help", "import openb --help", "help explain"}
}

// TestGolden also checks what holds for all that is for people: nothing is wider than a
// line, ends in blanks or colours what is not a terminal.
func TestGolden(t *testing.T) {
	dir := packageFolder(t)
	machine := regexp.MustCompile(` -o (json|yaml)`)
	for name, tc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			folder(t, tc.files)
			got := transcript(t, tc.lines...)
			golden(t, dir, name, got)
			forPeople := true
			for line := range strings.SplitSeq(got, "\n") {
				assert.NotContains(t, line, "\033")
				switch {
				case strings.HasPrefix(line, "$ "):
					forPeople = !machine.MatchString(line)
				case line == "--- standard error":
					forPeople = false
				case forPeople:
					assert.LessOrEqual(t, columns(line), lineWidth, line)
					assert.Equal(t, strings.TrimRight(line, " \t"), line)
				}
			}
		})
	}
}

// TestGoldenFiles: no golden file outlives its test.
func TestGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	known := scenarios()
	for _, f := range files {
		assert.Contains(t, known, strings.TrimSuffix(filepath.Base(f), ".golden"))
	}
	assert.Len(t, files, len(known))
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		assert.Contains(t, succeed(t, "completion", shell), "tidegate")
	}
	for args, want := range map[string]string{"": "plan\n", "plan --o": "--output", "plan -o ": "yaml\n", "exp": "explain"} {
		fields := strings.Split(strings.TrimSpace("__completeNoDesc "+args), " ")
		if args == "" || strings.HasSuffix(args, " ") {
			fields = append(fields, "")
		}
		r := tidegate(t, fields...)
		assert.Equal(t, exitOK, r.code)
		assert.Contains(t, r.out, want, args)
	}
}

// TestPlanJSON: what scripts rely on is there, of the right sort, and never null.
func TestPlanJSON(t *testing.T) {
	inputs := map[string]map[string]string{
		"small": small(), "nothing": nothingPending(), "partly": partlyPlaced(), "trouble": trouble(), "pods": manyPods(),
		"empty": {"cluster.yaml": "", "config.yaml": configText(groupText("h100", ""))},
	}
	for name, files := range inputs {
		t.Run(name, func(t *testing.T) {
			folder(t, files)
			args := []string{"plan", "--cluster", "cluster.yaml", "--config", "config.yaml", "--at", at}
			checkPlan(t, args)
		})
	}
	t.Run("example", func(t *testing.T) { checkPlan(t, []string{"plan", "--example"}) })
}

func checkPlan(t *testing.T, args []string) {
	t.Helper()
	run := func(more ...string) string {
		r := tidegate(t, append(slices.Clip(args), more...)...)
		require.Equal(t, exitOK, r.code, r.err)
		return r.out
	}
	var p map[string]any
	require.NoError(t, json.Unmarshal([]byte(run("-o", "json")), &p))
	assert.Equal(t, "plan.tidegate.io/v1alpha1", p["apiVersion"])
	assert.Equal(t, "Plan", p["kind"])
	assert.NotEmpty(t, p["time"])
	for _, key := range []string{"scaleUps", "placements", "waiting", "unschedulable", "scaleDowns"} {
		require.IsType(t, []any{}, p[key], key)
		for i, x := range p[key].([]any) {
			require.IsType(t, map[string]any{}, x)
			checkFields(t, fmt.Sprintf("%s[%d]", key, i), x.(map[string]any), fieldsOf(key))
		}
	}
	checkFields(t, "cost", p["cost"].(map[string]any), map[string]any{"before": 0., "after": 0., "lowerBound": 0.})
	checkFields(t, "stats", p["stats"].(map[string]any), map[string]any{"pendingPods": 0., "pendingGangs": 0., "podClasses": 0., "optionsTried": 0., "duration": ""})
	cost := p["cost"].(map[string]any)
	assert.LessOrEqual(t, cost["lowerBound"], cost["after"], "the bound is a bound")

	once := run("-o", "json", "--no-stats")
	assert.Equal(t, once, run("-o", "json", "--no-stats"), "the same input gives the same bytes")
	assert.NotContains(t, once, `"stats"`)
	asJSON, err := yaml.YAMLToJSON([]byte(run("-o", "yaml", "--no-stats")))
	require.NoError(t, err)
	assert.JSONEq(t, once, string(asJSON), "YAML says what JSON says")
	table := run("--no-stats")
	assert.Equal(t, table, run("--no-stats"))
}

// fieldsOf are the fields that each entry of a list has, with a value of their type.
func fieldsOf(list string) map[string]any {
	return map[string]map[string]any{
		"scaleUps":      {"nodeGroup": "", "from": 0., "to": 0., "add": 0., "pricePerHour": 0., "pods": 0., "reason": ""},
		"placements":    {"pod": "", "node": "", "new": true},
		"waiting":       {"gang": "", "reason": "", "message": ""},
		"unschedulable": {"gang": "", "pods": []any{}, "message": "", "nodeGroups": []any{}},
		"scaleDowns":    {"nodeGroup": "", "nodes": []any{}, "reason": "", "savesPerHour": 0.},
	}[list]
}

func checkFields(t *testing.T, where string, got, want map[string]any) {
	t.Helper()
	for field, like := range want {
		assert.IsType(t, like, got[field], "%s.%s", where, field)
	}
}

// TestOtherJSON: the other commands' YAML says what their JSON says.
func TestOtherJSON(t *testing.T) {
	for _, line := range []string{"nodegroups --example", "explain --example train/llama-70b", "explain --example h100", "explain --example serve/chat-0"} {
		args := strings.Fields(line)
		once := succeed(t, append(args, "-o", "json")...)
		require.True(t, json.Valid([]byte(once)))
		assert.Equal(t, once, succeed(t, append(args, "-o", "json")...))
		asJSON, err := yaml.YAMLToJSON([]byte(succeed(t, append(args, "-o", "yaml")...)))
		require.NoError(t, err)
		assert.JSONEq(t, once, string(asJSON), line)
	}
}

// TestNoColor: a file is not a terminal, so nothing that a terminal obeys goes there.
func TestNoColor(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	require.Equal(t, exitOK, run(t.Context(), []string{"plan", "--example"}, streams{in: strings.NewReader(""), out: f, err: f}))
	text, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	assert.NotContains(t, string(text), "\033")
	assert.Contains(t, string(text), "To buy")
}
