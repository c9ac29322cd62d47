package devices

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	resourcev1 "k8s.io/api/resource/v1"
)

// reads are the device attributes that selectors and constraints may look at.
type reads struct {
	ids map[string]bool // identifiers, without the domain
	all bool            // some expression might read any
}

// newReads looks through CEL expressions and attribute names of constraints. An expression
// that uses attributes in another way than by a constant name might read all of them.
//
// Worked example: device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA")
// reads productName; device.attributes["gpu.nvidia.com"].exists(a, true) reads all.
func newReads(expressions []string, constraints []resourcev1.FullyQualifiedName) reads {
	r := reads{ids: map[string]bool{}}
	for _, c := range constraints {
		r.ids[identifier(string(c))] = true
	}
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.ClearMacros())
	if err != nil {
		r.all = true
		return r
	}
	seen := map[string]bool{}
	for _, x := range expressions {
		if seen[x] {
			continue
		}
		seen[x] = true
		parsed, issues := env.Parse(x)
		if issues.Err() != nil {
			continue // It matches nothing: the allocator refuses to compile it.
		}
		r.walk(parsed.NativeRep().Expr())
	}
	return r
}

// identifier is a qualified name without its domain.
func identifier(name string) string {
	return name[strings.LastIndexByte(name, '/')+1:]
}

// walk visits an expression. What is understood ends in one attribute by a constant name;
// a mention of the attributes in any other place reads all.
func (r *reads) walk(e ast.Expr) {
	if r.all {
		return
	}
	if key, operand, ok := member(e); ok {
		if _, inner, ok := member(operand); ok && isAttributes(inner) {
			r.ids[identifier(key)] = true
			return
		}
	}
	if isAttributes(e) {
		r.all = true
		return
	}
	for _, child := range children(e) {
		r.walk(child)
	}
}

// member takes x.key, x["key"] and their optional forms apart, and "key" in x.
func member(e ast.Expr) (key string, operand ast.Expr, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().FieldName(), e.AsSelect().Operand(), true
	case ast.CallKind:
		c := e.AsCall()
		at, of := 1, 0
		switch c.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
		case operators.In, operators.OldIn:
			at, of = 0, 1
		default:
			return "", nil, false
		}
		if len(c.Args()) != 2 || c.Args()[at].Kind() != ast.LiteralKind {
			return "", nil, false
		}
		s, isString := c.Args()[at].AsLiteral().(types.String)
		return string(s), c.Args()[of], isString
	default:
		return "", nil, false
	}
}

// isAttributes says whether the expression is device.attributes.
func isAttributes(e ast.Expr) bool {
	key, operand, ok := member(e)
	return ok && key == "attributes" && operand.Kind() == ast.IdentKind && operand.AsIdent() == "device"
}

func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		out := e.AsCall().Args()
		if e.AsCall().IsMemberFunction() {
			out = append([]ast.Expr{e.AsCall().Target()}, out...)
		}
		return out
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	default:
		return nil
	}
}

// attribute says whether any selector or constraint may look at an attribute.
func (r *reads) attribute(name resourcev1.QualifiedName) bool {
	return r.all || r.ids[identifier(string(name))]
}
