package autoscaler_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "tidegate.io/autoscaler"

// The folders with exemptions.
const (
	// kubesched is the one folder that touches kube-scheduler's code: see
	// docs/decisions.md, 2.
	kubesched = "scheduling/internal/kubesched"

	// drawn draws random clusters for tests. It decides nothing and no decision can import
	// it, so it may use a source of random numbers, started with a seed.
	drawn = "scheduling/internal/drawn"
)

// row says which of our packages the packages of a folder may import. It holds for the
// folders beneath too, unless they have a row of their own, and lets them import each
// other. An entry that ends in /... means the folder and all beneath it.
type row struct {
	folder    string
	mayImport []string
	because   string
}

func importTable() []row {
	return []row{
		{".", nil, "the root is only a map"},
		{"api/v1alpha1", nil, "the shared nouns stand below everything else"},
		{"api/config/v1alpha1", []string{"api/v1alpha1"}, "the configuration file knows only the shared nouns"},
		{"checkpoint", []string{"api/..."}, "what an interruption costs follows from the job alone"},
		{"nodegroups/catalog", []string{"api/..."}, "the catalog describes machines, whatever groups are made of them"},
		{"nodegroups", []string{"api/...", "nodegroups/catalog"}, "a node group does not know the cluster or the work that waits"},
		{"capacity", []string{"api/...", "nodegroups", "checkpoint"}, "when capacity exists does not depend on the work that wants it"},
		{"snapshot", []string{"api/...", "nodegroups"}, "a snapshot is what decisions are made from, so it knows none of them"},
		{"scheduling", []string{"api/...", "nodegroups", "snapshot"}, "whether a gang fits does not depend on what it would cost"},
		{drawn, []string{"api/...", "nodegroups"}, "random clusters are drawn without knowing the code that they test"},
		{"estimator", []string{"api/...", "nodegroups", "scheduling/...", "snapshot"}, "the estimator answers plan's question and does not know why it is asked"},
		{"consolidation", []string{"api/...", "checkpoint", "estimator", "nodegroups", "scheduling/...", "snapshot"}, "consolidation proposes and plan chooses"},
		{"plan", []string{"api/...", "capacity", "checkpoint", "consolidation", "estimator", "nodegroups/...", "scheduling/...", "snapshot"}, "a plan is made without the world that carries it out"},
		{"cloudprovider", []string{"api/...", "nodegroups"}, "a cloud does as it is told and knows no plan"},
		{"controller", []string{"api/...", "cloudprovider", "plan", "snapshot"}, "the live loop only observes, applies and reports"},
		{"simulate", []string{"api/...", "checkpoint", "nodegroups", "plan", "snapshot"}, "the simulation runs the decision code through its front door"},
		{"trace", []string{"api/...", "snapshot"}, "an importer only turns a trace into a dump"},
		{"cmd/tidegate", []string{"..."}, "the command line may use everything"},
		{"e2e", []string{"..."}, "end-to-end tests may use everything"},
		{"docs", []string{"api/...", "plan"}, "documents are written from what users see"},
	}
}

// pureFolders hold the packages that decide: the same input gives the same bytes.
func pureFolders() []string {
	return []string{"api", "checkpoint", "nodegroups", "capacity", "snapshot", "scheduling", "estimator", "consolidation", "plan"}
}

// ban forbids packages from outside. Folders under except may import them all the same.
type ban struct {
	packages []string
	because  string
	except   string
}

// pureBans hold for the pure packages, their tests aside.
func pureBans() []ban {
	return []ban{
		{[]string{"context", "k8s.io/client-go/..."}, "a pure package never waits and has no client", kubesched},
		{[]string{"k8s.io/klog/..."}, "a pure package returns what it found and the edge logs it", kubesched},
		{[]string{"log", "log/slog"}, "a pure package returns what it found and the edge logs it", ""},
		{[]string{"os/...", "net", "net/http/..."}, "a pure package is given values, readers and writers", ""},
		{[]string{"math/rand/v2"}, "the same snapshot gives the same plan", drawn},
		{[]string{"math/rand", "crypto/rand", "k8s.io/apimachinery/pkg/util/rand"}, "the same snapshot gives the same plan", ""},
		{[]string{"sync/..."}, "one goroutine makes a decision, so there is nothing to lock", ""},
		{[]string{"github.com/prometheus/..."}, "a pure package has no metrics and the edge counts what a plan says", ""},
	}
}

// bans hold for every package, tests included.
func bans() []ban {
	return []ban{
		{[]string{"k8s.io/kubernetes/..."}, "its Go API changes with every release and one package absorbs that", kubesched},
	}
}

// source is one parsed file of the repository.
type source struct {
	folder string // slash-separated, from the root
	name   string
	file   *ast.File
	fset   *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.name, "_test.go") }
func (s source) isPure() bool {
	return slices.ContainsFunc(pureFolders(), func(f string) bool { return within(s.folder, f) })
}

// violation is one broken rule, as "package X must not … because …".
type violation struct {
	at   token.Position
	text string
}

func (s source) violation(at token.Pos, format string, args ...any) violation {
	return violation{s.fset.Position(at), "package " + s.folder + " must not " + fmt.Sprintf(format, args...)}
}

// check returns all that is wrong with one file.
func check(s source) []violation {
	found := checkImports(s)
	if s.isPure() {
		found = append(found, checkClock(s)...)
		if !s.isTest() {
			found = append(found, checkGoroutines(s)...)
			found = append(found, checkDeclarations(s)...)
		}
	}
	return found
}

func checkImports(s source) []violation {
	var found []violation
	own, listed := rowOf(s.folder)
	if !listed {
		found = append(found, s.violation(s.file.Package, "exist without a row in the import table because its place has to be stated"))
	}
	for _, spec := range s.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // go/parser accepts only quoted strings.
		}
		if ours, ok := strings.CutPrefix(target, module+"/"); ok {
			if listed && !s.isTest() && !own.allows(ours) {
				found = append(found, s.violation(spec.Pos(), "import %s because %s", ours, own.because))
			}
			continue
		}
		rules := bans()
		if s.isPure() && !s.isTest() {
			rules = append(rules, pureBans()...)
		}
		for _, b := range rules {
			if matchesAny(b.packages, target) && (b.except == "" || !within(s.folder, b.except)) {
				found = append(found, s.violation(spec.Pos(), "import %s because %s", target, b.because))
			}
		}
	}
	return found
}

// checkClock finds time.Now and its like, whether called or handed on as a value.
func checkClock(s source) []violation {
	name := importName(s.file, "time")
	if name == "" {
		return nil
	}
	var found []violation
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains([]string{"Now", "Since", "Until"}, sel.Sel.Name) {
			found = append(found, s.violation(sel.Pos(), "read the clock with time.%s because the time is an argument", sel.Sel.Name))
		}
		return true
	})
	return found
}

func checkGoroutines(s source) []violation {
	var found []violation
	ast.Inspect(s.file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			found = append(found, s.violation(g.Pos(), "start a goroutine because the order of two would decide"))
		}
		return true
	})
	return found
}

// checkDeclarations finds package state: variables that can change, and init functions.
func checkDeclarations(s source) []violation {
	var found []violation
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				found = append(found, s.violation(d.Pos(), "declare func init because importing a package must change nothing"))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || d.Tok != token.VAR || isEmbed(d.Doc) || isEmbed(v.Doc) {
					continue
				}
				for i, name := range v.Names {
					if !isFixed(v, i) {
						found = append(found, s.violation(name.Pos(), "declare var %s because package state that can change outlives a decision", name.Name))
					}
				}
			}
		}
	}
	return found
}

// isFixed says whether variable i of a declaration cannot sensibly change: an interface
// assertion, an error to compare with, or a compiled pattern.
func isFixed(v *ast.ValueSpec, i int) bool {
	if v.Names[i].Name == "_" {
		return true
	}
	if len(v.Values) != len(v.Names) {
		return false
	}
	call, ok := v.Values[i].(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile"}, pkg.Name+"."+sel.Sel.Name)
}

func isEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// importName is the name under which a file uses a package: "" where it does not.
func importName(file *ast.File, target string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value != strconv.Quote(target) {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(target)
	}
	return ""
}

// rowOf finds the row of the folder itself or of the nearest folder above it.
func rowOf(folder string) (row, bool) {
	var best row
	var listed bool
	for _, r := range importTable() {
		if within(folder, r.folder) && (!listed || len(r.folder) > len(best.folder)) {
			best, listed = r, true
		}
	}
	return best, listed
}

func (r row) allows(target string) bool {
	other, _ := rowOf(target)
	return other.folder == r.folder || matchesAny(r.mayImport, target)
}

// within says whether folder is parent or lies beneath it. The root holds only itself.
func within(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

// matchesAny compares a package with names, some of which end in /... for a whole tree.
func matchesAny(patterns []string, target string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		tree, isTree := strings.CutSuffix(p, "/...")
		return p == "..." || target == p || isTree && within(target, tree)
	})
}

// repository parses every Go file of the module, in the order of their paths.
func repository(t *testing.T) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != "." && isForeign(file, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" || strings.HasPrefix(entry.Name(), ".") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sources = append(sources, parse(t, filepath.ToSlash(file), string(text)))
		return nil
	})
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	return sources
}

// isForeign says whether a folder holds no packages of this module.
func isForeign(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil || name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func parse(t *testing.T, file, text string) source {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse %s: %v", file, err)
	}
	return source{folder: path.Dir(file), name: path.Base(file), file: parsed, fset: fset}
}

func TestArchitecture(t *testing.T) {
	for _, s := range repository(t) {
		for _, v := range check(s) {
			t.Errorf("%s: %s", v.at, v.text)
		}
	}
}

// TestArchitectureMessages feeds the checker sources that break a rule, so that a rule
// which catches nothing is noticed.
func TestArchitectureMessages(t *testing.T) {
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"ours, against the direction": {
			"plan/decide.go", `package plan; import "tidegate.io/autoscaler/controller"`,
			[]string{"package plan must not import controller because a plan is made without the world that carries it out"},
		},
		"ours, in the direction": {
			"plan/decide.go", `package plan; import ("tidegate.io/autoscaler/estimator"; "tidegate.io/autoscaler/scheduling/gang")`, nil,
		},
		"ours, with a row of its own": {
			"snapshot/read.go", `package snapshot; import ("tidegate.io/autoscaler/nodegroups"; "tidegate.io/autoscaler/nodegroups/catalog")`,
			[]string{"package snapshot must not import nodegroups/catalog because a snapshot is what decisions are made from, so it knows none of them"},
		},
		"ours, upwards inside one folder": {
			"api/v1alpha1/x.go", `package v1alpha1; import "tidegate.io/autoscaler/api/config/v1alpha1"`,
			[]string{"package api/v1alpha1 must not import api/config/v1alpha1 because the shared nouns stand below everything else"},
		},
		"ours, from a folder without a row": {
			"scheduling/gang/read.go", `package gang; import ("tidegate.io/autoscaler/api/v1alpha1"; "tidegate.io/autoscaler/estimator")`,
			[]string{"package scheduling/gang must not import estimator because whether a gang fits does not depend on what it would cost"},
		},
		"no row": {
			"misc/x.go", `package misc`,
			[]string{"package misc must not exist without a row in the import table because its place has to be stated"},
		},
		"the world": {
			"estimator/x.go", `package estimator; import ("context"; "math/rand/v2"; "os")`,
			[]string{
				"package estimator must not import context because a pure package never waits and has no client",
				"package estimator must not import math/rand/v2 because the same snapshot gives the same plan",
				"package estimator must not import os because a pure package is given values, readers and writers",
			},
		},
		"the world, in a test":           {"estimator/x_test.go", `package estimator; import ("context"; "os")`, nil},
		"the world, at the edge":         {"cmd/tidegate/main.go", `package main; import ("context"; "os"; "time"); var now = time.Now`, nil},
		"what kubesched alone may":       {"scheduling/internal/kubesched/x.go", `package kubesched; import ("context"; "k8s.io/client-go/informers"; "k8s.io/kubernetes/pkg/scheduler/framework")`, nil},
		"what kubesched may not, either": {"scheduling/internal/kubesched/x.go", `package kubesched; import "sync"`, []string{"package scheduling/internal/kubesched must not import sync because one goroutine makes a decision, so there is nothing to lock"}},
		"what drawn alone may":           {"scheduling/internal/drawn/x.go", `package drawn; import ("math/rand/v2"; "tidegate.io/autoscaler/nodegroups")`, nil},
		"what drawn may not, either": {
			"scheduling/internal/drawn/x.go", `package drawn; import ("crypto/rand"; "tidegate.io/autoscaler/scheduling/internal/kubesched")`,
			[]string{
				"package scheduling/internal/drawn must not import crypto/rand because the same snapshot gives the same plan",
				"package scheduling/internal/drawn must not import scheduling/internal/kubesched because random clusters are drawn without knowing the code that they test",
			},
		},
		"random clusters, in a decision": {
			"scheduling/x.go", `package scheduling; import "tidegate.io/autoscaler/scheduling/internal/drawn"`,
			[]string{"package scheduling must not import scheduling/internal/drawn because whether a gang fits does not depend on what it would cost"},
		},
		"random clusters, in a test": {"scheduling/x_test.go", `package scheduling; import "tidegate.io/autoscaler/scheduling/internal/drawn"`, nil},
		"kube-scheduler elsewhere, even in a test": {
			"plan/x_test.go", `package plan; import "k8s.io/kubernetes/pkg/scheduler"`,
			[]string{"package plan must not import k8s.io/kubernetes/pkg/scheduler because its Go API changes with every release and one package absorbs that"},
		},
		"the clock": {
			"plan/x.go", `package plan; import clock "time"; func f() { _ = clock.Since(clock.Now()) }`,
			[]string{
				"package plan must not read the clock with time.Since because the time is an argument",
				"package plan must not read the clock with time.Now because the time is an argument",
			},
		},
		"the clock, in a test": {
			"plan/x_test.go", `package plan; import "time"; var now = time.Now`,
			[]string{"package plan must not read the clock with time.Now because the time is an argument"},
		},
		"a goroutine": {
			"capacity/x.go", `package capacity; func f() { go f() }`,
			[]string{"package capacity must not start a goroutine because the order of two would decide"},
		},
		"package state": {
			"nodegroups/catalog/x.go", `package catalog; var machines = map[string]int{}; func init() { machines["a"] = 1 }`,
			[]string{
				"package nodegroups/catalog must not declare var machines because package state that can change outlives a decision",
				"package nodegroups/catalog must not declare func init because importing a package must change nothing",
			},
		},
		"variables that stay as they are": {
			"nodegroups/catalog/x.go", "package catalog\nvar ErrUnknown = errors.New(\"unknown\")\nvar _ I = T{}\n//go:embed machines.yaml\nvar machines []byte\nvar (\n\tpattern = regexp.MustCompile(`a`)\n)", nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range check(parse(t, tc.file, tc.text)) {
				got = append(got, v.text)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got:\n\t%s\nwant:\n\t%s", strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
		})
	}
}
