package v1alpha1

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxDepth bounds nesting. The schema needs a dozen levels; an anchor that contains itself has no end.
	maxDepth = 50
	// aliasBudget is how many nodes aliases may add to a document. Ten nested anchors of ten aliases each would
	// otherwise be ten billion.
	aliasBudget = 1 << 18
)

// decoder copies a YAML tree into Go values and collects every mistake with its line on the way.
//
// It replaces YAML → JSON → encoding/json, which loses the lines, stops at the first wrong type, matches names
// without case and passes every number through a float64.
type decoder struct {
	problems []problem
	lines    map[string]int      // Path of each field that the file sets → its line.
	failed   map[string]struct{} // Paths whose value could not be read.
	broken   map[int]struct{}    // Node groups with a failed path; -1 is everything outside groups.
	fields   map[reflect.Type][]member
	budget   int
	// exhausted is where the budget ended, or nil. What was decoded then is not the document, and no rule may judge it.
	exhausted *problem
}

// member is a field of a struct as JSON sees it.
type member struct {
	name       string
	index      []int
	isOptional bool // May be left out; then null is a way to leave it out.
}

func newDecoder(size int) *decoder {
	return &decoder{
		lines:  map[string]int{},
		failed: map[string]struct{}{},
		broken: map[int]struct{}{},
		fields: map[reflect.Type][]member{},
		// A document has fewer nodes than bytes, plus what its aliases repeat.
		budget: size + aliasBudget,
	}
}

func (d *decoder) document(root *yaml.Node, into *AutoscalerConfiguration) {
	d.value(root, reflect.ValueOf(into).Elem(), nil, 0)
}

// fail records that the value at path could not be read. It returns false, for callers that say so in turn.
func (d *decoder) fail(path *field.Path, line int, format string, args ...any) bool {
	p := problemf(path, format, args...)
	p.line = line
	d.problems = append(d.problems, p)
	d.failed[p.path] = struct{}{}
	d.broken[groupOf(p.path)] = struct{}{}
	return false
}

// refuse adds what the rules found. Where a group has fields that could not be read, rules speak only of fields that
// could: with `maxSzie: 5` refused, "maxSize must be at least minSize" would be noise.
func (d *decoder) refuse(problems []problem) {
	for _, p := range problems {
		_, isBroken := d.broken[groupOf(p.path)]
		_, hasFailed := d.failed[p.path]
		line, isWritten := d.lines[p.path]
		if isBroken && (hasFailed || !isWritten) {
			continue
		}
		p.line = line
		for parent := p.path; p.line == 0 && parent != ""; {
			parent = parent[:max(strings.LastIndexAny(parent, ".["), 0)]
			p.line = d.lines[parent]
		}
		d.problems = append(d.problems, p)
	}
}

func groupOf(path string) int {
	if index, _, isInGroup := splitGroupPath(path); isInGroup {
		return index
	}
	return -1
}

// isWritten says whether the file sets the field to a value that could be read.
func (d *decoder) isWritten(path *field.Path) bool {
	_, isWritten := d.lines[path.String()]
	_, hasFailed := d.failed[path.String()]
	return isWritten && !hasFailed
}

// value decodes one node and says whether it could.
func (d *decoder) value(node *yaml.Node, into reflect.Value, path *field.Path, depth int) bool {
	if !d.spend(1, depth) {
		return d.exhaust(path, node.Line)
	}
	if node.Kind == yaml.AliasNode {
		return d.value(node.Alias, into, path, depth+1)
	}
	if read := scalarReader(into); read != nil {
		if err := read(node); err != nil {
			return d.fail(path, node.Line, "%v", err)
		}
		return true
	}
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		isRead := d.value(node, target.Elem(), path, depth)
		into.Set(target)
		return isRead
	case reflect.Struct:
		return d.structure(node, into, path, depth)
	case reflect.Map:
		return d.mapping(node, into, path, depth)
	case reflect.Slice:
		return d.list(node, into, path, depth)
	default:
		panic(fmt.Sprintf("config: the schema has a %s, which the decoder does not know", into.Type()))
	}
}

// spend takes nodes from the budget and says whether there were enough, and the nesting not too deep.
func (d *decoder) spend(nodes, depth int) bool {
	d.budget -= nodes
	return d.exhausted == nil && d.budget >= 0 && depth <= maxDepth
}

// exhaust remembers the first place that the budget did not reach. The rest of the document isn't looked at.
func (d *decoder) exhaust(path *field.Path, line int) bool {
	if d.exhausted == nil {
		p := problemf(path, "is nested too deeply or repeated too often by aliases")
		p.line = line
		d.exhausted = &p
	}
	return false
}

func (d *decoder) list(node *yaml.Node, into reflect.Value, path *field.Path, depth int) bool {
	if node.Kind != yaml.SequenceNode {
		return d.fail(path, node.Line, "must be a list, %s", describe(node))
	}
	if len(node.Content) == 0 {
		return true // An empty list is nil, so that what is written back reads the same.
	}
	isRead := true
	into.Set(reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content)))
	for i, element := range node.Content {
		at := path.Index(i)
		d.lines[at.String()] = element.Line
		if isNull(element) {
			isRead = d.fail(at, element.Line, "must have a value, is empty")
			continue
		}
		isRead = d.value(element, into.Index(i), at, depth+1) && isRead
	}
	return isRead
}

func (d *decoder) mapping(node *yaml.Node, into reflect.Value, path *field.Path, depth int) bool {
	entries, isRead := d.entries(node, path, path.Key, depth)
	for _, e := range entries {
		at := path.Key(e.key)
		d.lines[at.String()] = e.line
		if isNull(e.value) {
			isRead = d.fail(at, e.line, "must have a value, is empty")
			continue
		}
		element := reflect.New(into.Type().Elem()).Elem()
		if !d.value(e.value, element, at, depth+1) {
			isRead = false
			continue
		}
		if into.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		into.SetMapIndex(reflect.ValueOf(e.key).Convert(into.Type().Key()), element)
	}
	return isRead
}

func (d *decoder) structure(node *yaml.Node, into reflect.Value, path *field.Path, depth int) bool {
	child := func(name string) *field.Path { return path.Child(name) }
	members := d.members(into.Type())
	entries, isRead := d.entries(node, path, child, depth)
	for _, e := range entries {
		at := child(e.key)
		index := slices.IndexFunc(members, func(m member) bool { return m.name == e.key })
		if index < 0 {
			isRead = d.fail(at, e.line, "unknown field%s", didYouMean(e.key, members))
			continue
		}
		known := members[index]
		target := into.FieldByIndex(known.index)
		if isNull(e.value) {
			if !known.isOptional {
				isRead = d.fail(at, e.line, "must have a value, is empty")
			}
			continue
		}
		d.lines[at.String()] = e.line
		isRead = d.value(e.value, target, at, depth+1) && isRead
	}
	return isRead
}

func didYouMean(typed string, members []member) string {
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.name)
	}
	if name := suggest(typed, names); name != "" {
		return ", did you mean " + name + "?"
	}
	return ""
}

// members lists a struct's fields by their JSON names, those of inlined structs among them.
func (d *decoder) members(t reflect.Type) []member {
	if known, isKnown := d.fields[t]; isKnown {
		return known
	}
	var members []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, inlined := range d.members(f.Type) {
				inlined.index = append([]int{i}, inlined.index...)
				members = append(members, inlined)
			}
		case f.IsExported() && name != "" && name != "-":
			kind := f.Type.Kind()
			members = append(members, member{name: name, index: []int{i}, isOptional: strings.Contains(options, "omit") ||
				kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map})
		}
	}
	d.fields[t] = members
	return members
}
