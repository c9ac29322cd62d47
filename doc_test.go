package autoscaler_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const leastSentences = 3

// TestDocumentation requires that a reader can start anywhere: each package says in its
// doc.go what it is for, with an example, and each exported name says what it is.
func TestDocumentation(t *testing.T) {
	documented := map[string]bool{}
	first := map[string]source{}
	for _, s := range repository(t) {
		if s.isTest() {
			continue
		}
		if _, seen := first[s.folder]; !seen {
			first[s.folder] = s
		}
		if s.name == "doc.go" {
			documented[s.folder] = true
			for _, missing := range checkPackageDoc(s) {
				t.Errorf("package %s: doc.go %s", s.folder, missing)
			}
		}
		for _, v := range checkNames(s) {
			t.Errorf("%s: %s", v.at, v.text)
		}
	}
	for folder := range first {
		if !documented[folder] {
			t.Errorf("package %s: has no doc.go", folder)
		}
	}
}

// checkPackageDoc returns what a package's comment lacks.
func checkPackageDoc(s source) []string {
	text := s.file.Doc.Text()
	if strings.TrimSpace(text) == "" {
		return []string{"has no package comment"}
	}
	var missing []string
	if n := sentences(text); n < leastSentences {
		missing = append(missing, fmt.Sprintf("has %d sentences, want at least %d", n, leastSentences))
	}
	if !hasExample(text) {
		missing = append(missing, `has neither the word "Example" nor an indented block`)
	}
	return missing
}

// sentences counts the ends of sentences in the running text; code does not count.
func sentences(text string) int {
	var prose strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, " ") {
			prose.WriteString(line)
		}
	}
	plain := strings.NewReplacer("e.g.", "", "i.e.", "", "etc.", "", "vs.", "").Replace(prose.String())
	return len(regexp.MustCompile(`[.!?][")']*(\s|$)`).FindAllString(plain, -1))
}

func hasExample(text string) bool {
	if regexp.MustCompile(`(?i)\bexample\b`).MatchString(text) {
		return true
	}
	return slices.ContainsFunc(new(comment.Parser).Parse(text).Content, func(b comment.Block) bool {
		_, isCode := b.(*comment.Code)
		return isCode
	})
}

// checkNames returns the exported names of a file that have no comment. Names that
// nobody else can import are free: those of commands and of internal packages.
func checkNames(s source) []violation {
	if s.file.Name.Name == "main" || strings.Contains("/"+s.folder+"/", "/internal/") || ast.IsGenerated(s.file) {
		return nil
	}
	var found []violation
	require := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		has := func(d *ast.CommentGroup) bool { return strings.TrimSpace(d.Text()) != "" }
		if name.IsExported() && !slices.ContainsFunc(docs, has) {
			found = append(found, s.violation(name.Pos(), "export %s without a comment because names are read before code", name.Name))
		}
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if receiverIsExported(d) {
				require(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch v := spec.(type) {
				case *ast.TypeSpec:
					require(v.Name, d.Doc, v.Doc, v.Comment)
				case *ast.ValueSpec:
					for _, name := range v.Names {
						require(name, d.Doc, v.Doc, v.Comment)
					}
				}
			}
		}
	}
	return found
}

// receiverIsExported is true of plain functions too.
func receiverIsExported(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.ParenExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return false
		}
	}
}

func TestDocumentationMessages(t *testing.T) {
	packageDocs := map[string]struct {
		text string
		want []string
	}{
		"complete, with a block": {"// Package plan is one. It is two. It is three:\n//\n//\tplan.Decide()\n//\n// That was it.\npackage plan", nil},
		"complete, with a word":  {"// Package plan is one. It is two.\n//\n// Example: three (so it is.)\npackage plan", nil},
		"none":                   {"package plan", []string{"has no package comment"}},
		"short": {
			"// Package plan decides, e.g. at night. It is version 1.2 of it.\npackage plan",
			[]string{"has 2 sentences, want at least 3", `has neither the word "Example" nor an indented block`},
		},
	}
	for name, tc := range packageDocs {
		t.Run("package, "+name, func(t *testing.T) {
			if got := checkPackageDoc(parse(t, "plan/doc.go", tc.text)); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}

	names := map[string]struct {
		file, text string
		want       []string
	}{
		"function":                    {"plan/x.go", "package plan\nfunc Decide() {}\nfunc decide() {}", []string{"Decide"}},
		"method":                      {"plan/x.go", "package plan\nfunc (p *Plan[T]) Digest() {}\nfunc (p plan) Digest() {}", []string{"Digest"}},
		"type and field":              {"plan/x.go", "package plan\ntype Plan struct{ Field int }", []string{"Plan"}},
		"group with a comment":        {"plan/x.go", "package plan\n// The colours.\nconst (\n\tRed = 1\n\tBlue = 2\n)", nil},
		"group without":               {"plan/x.go", "package plan\nconst (\n\tRed = 1 // like blood\n\tBlue = 2\n)", []string{"Blue"}},
		"directive is not a comment":  {"plan/x.go", "package plan\n//go:embed x\nvar X string", []string{"X"}},
		"internal packages are free":  {"scheduling/internal/kubesched/x.go", "package kubesched\nfunc Run() {}", nil},
		"commands are free":           {"cmd/tidegate/main.go", "package main\nfunc Run() {}", nil},
		"generated packages are free": {"api/v1alpha1/zz_generated.deepcopy.go", "// Code generated by x. DO NOT EDIT.\n\npackage v1alpha1\nfunc F() {}", nil},
	}
	for name, tc := range names {
		t.Run("names, "+name, func(t *testing.T) {
			s := parse(t, tc.file, tc.text)
			var want []string
			for _, n := range tc.want {
				want = append(want, s.violation(token.NoPos, "export %s without a comment because names are read before code", n).text)
			}
			var got []string
			for _, v := range checkNames(s) {
				got = append(got, v.text)
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
