package docs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/api/v1alpha1"
	"tidegate.io/autoscaler/nodegroups"
	"tidegate.io/autoscaler/plan"
)

// TestGenerated fails when what is generated no longer is what the program says.
func TestGenerated(t *testing.T) {
	out, err := exec.Command("go", "run", "./internal/generate", "-check").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestConfigurationFields requires a row for each field that the file may have.
func TestConfigurationFields(t *testing.T) {
	page := read(t, "configuration.md")
	for _, path := range paths(reflect.TypeFor[configv1alpha1.AutoscalerConfiguration](), "") {
		if !strings.Contains(page, "| `"+path+"` |") {
			t.Errorf("configuration.md has no row for %s", path)
		}
	}
}

// TestPlanFields requires that each field of a plan is described.
func TestPlanFields(t *testing.T) {
	page := read(t, "plan.md")
	for _, path := range paths(reflect.TypeFor[plan.Plan](), "") {
		if !strings.Contains(page, "`"+path+"`") {
			t.Errorf("plan.md does not describe %s", path)
		}
	}
}

// TestExamples loads every configuration on every page. Those that are shown as refused
// must be refused with the text that follows them.
func TestExamples(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	loaded, refused := 0, 0
	for _, page := range append(pages, "../README.md") {
		all := blocks(read(t, page))
		for i, b := range all {
			if !strings.Contains(b.body, "kind: "+configv1alpha1.Kind) {
				continue
			}
			c, err := configv1alpha1.Load([]byte(b.body), "tidegate.yaml")
			if b.language == "yaml refused" {
				refused++
				require.Error(t, err, page)
				assert.Equal(t, strings.TrimSpace(all[i+1].body), err.Error(), page)
				continue
			}
			loaded++
			if assert.NoError(t, err, "%s:\n%s", page, b.body) {
				_, err = nodegroups.New(c)
				assert.NoError(t, err, "%s:\n%s", page, b.body)
			}
		}
	}
	assert.GreaterOrEqual(t, loaded, 10)
	assert.Equal(t, 1, refused)
}

// TestLinks requires that links between pages lead to a file and, with a #, to a heading.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	for _, page := range append(pages, filepath.Join("..", "README.md")) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			text, err := os.ReadFile(target)
			if assert.NoError(t, err, page) && m[2] != "" {
				assert.Contains(t, anchors(string(text)), m[2], "%s links to %s", page, m[0])
			}
		}
	}
}

// reserved are the codes that no rule gives yet; reasons.md says so.
func reserved() []v1alpha1.Code {
	return []v1alpha1.Code{v1alpha1.OffPeak, v1alpha1.DeadlineTooClose, v1alpha1.NotReady}
}

// TestReserved holds the page about reasons to the code: the codes that it calls reserved
// are those that no package gives.
func TestReserved(t *testing.T) {
	var source strings.Builder
	for _, folder := range []string{"nodegroups", "scheduling", "scheduling/gang", "estimator", "plan"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				source.WriteString(read(t, f))
			}
		}
	}
	for _, d := range v1alpha1.CodeDocs() {
		used := regexp.MustCompile(`\bv1alpha1\.` + string(d.Code) + `\b`).MatchString(source.String())
		assert.Equal(t, !slices.Contains(reserved(), d.Code), used, "%s", d.Code)
	}
}

// TestDependencies compares dependencies.md with go.mod, go.tools.mod and the control
// plane of the end-to-end tests.
func TestDependencies(t *testing.T) {
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+\.\S+)(?: \(.*\))? \| (v\S+) \| \S.* \|$`).FindAllStringSubmatch(read(t, "dependencies.md"), -1) {
		rows[m[1]] = m[2]
	}
	direct, all := requirements(read(t, "../go.mod"))
	_, tools := requirements(read(t, "../go.tools.mod"))
	_, controlPlane := requirements(read(t, "../e2e/control-plane/go.mod"))
	assert.Equal(t, direct["k8s.io/kubernetes"], controlPlane["k8s.io/kubernetes"], "the control plane is not of our version")
	maps.Copy(tools, controlPlane)
	for module, version := range direct {
		assert.Equal(t, version, rows[module], "%s in dependencies.md", module)
	}
	for module, version := range rows {
		if v, ok := all[module]; ok {
			assert.Equal(t, v, version, "%s in dependencies.md", module)
			continue
		}
		assert.Equal(t, tools[module], version, "%s in dependencies.md", module)
	}
}

// requirements are the modules that a go.mod file requires with their versions: those
// that are imported directly, and all.
func requirements(text string) (direct, all map[string]string) {
	direct, all = map[string]string{}, map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
		if m[3] == "" {
			direct[m[1]] = m[2]
		}
	}
	return direct, all
}

// paths are the JSON fields of a type and of our types beneath it: "nodeGroups[].name".
func paths(t reflect.Type, prefix string) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			out = append(out, paths(f.Type, prefix)...)
			continue
		}
		path := prefix + name
		element := f.Type
		for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice {
			if element.Kind() == reflect.Slice {
				path += "[]"
			}
			element = element.Elem()
		}
		ours := element.Kind() == reflect.Struct && strings.HasPrefix(element.PkgPath(), "tidegate.io/")
		if !ours || strings.HasSuffix(path, "[]") {
			out = append(out, prefix+name)
		}
		if ours {
			out = append(out, paths(element, path+".")...)
		}
	}
	return out
}

type fenced struct{ language, body string }

// blocks are the fenced blocks of a page, those within lists too.
func blocks(text string) []fenced {
	var out []fenced
	for _, m := range regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$").FindAllStringSubmatch(text, -1) {
		body := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[3], "")
		out = append(out, fenced{m[2], body})
	}
	return out
}

// anchors are the fragments that headings of a page get.
func anchors(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, fmt.Sprintf("#%s", strings.ReplaceAll(kept, " ", "-")))
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
