package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxErrors is how many errors of one Read or Add are collected before it gives up.
const maxErrors = 20

// Builder collects objects, in any order, until Build. The zero value is not usable.
type Builder struct {
	kinds   registry
	entries map[key]*entry
	copies  map[key]*copies
	skipped map[string]*skip
	notes   []note
	strings intern
	err     error // The first Read or Add that failed; Build returns it.
}

type key struct {
	kind            *kind
	namespace, name string
}

type entry struct {
	object object
	at     place
}

// copies counts the exact duplicates of one object.
type copies struct {
	count   int
	sources map[string]bool
}

// place is where an object stands in the input.
type place struct {
	source          string // Empty for objects added from Go.
	doc, item, line int
}

func (p place) name() string { return cmp.Or(p.source, "added") }

// String renders "cluster.yaml: document 1, item 57 (line 3400)".
func (p place) String() string {
	switch {
	case p.doc == 0:
		return p.name()
	case p.item == 0:
		return fmt.Sprintf("%s: document %d (line %d)", p.source, p.doc, p.line)
	}
	return fmt.Sprintf("%s: document %d, item %d (line %d)", p.source, p.doc, p.item, p.line)
}

// NewBuilder returns an empty Builder.
func NewBuilder() *Builder {
	return &Builder{
		kinds:   newRegistry(),
		entries: map[key]*entry{},
		copies:  map[key]*copies{},
		skipped: map[string]*skip{},
		strings: intern{},
	}
}

// Add takes objects and typed lists of them. It copies what it changes and shares the rest,
// so the objects must not be changed afterwards; objects of a watch cache qualify.
func (b *Builder) Add(objs ...runtime.Object) error {
	var errs []error
	for _, o := range objs {
		if len(errs) >= maxErrors {
			errs = append(errs, errTooMany)
			break
		}
		errs = append(errs, b.addAny(o)...)
	}
	return b.failed(errs)
}

func (b *Builder) addAny(o runtime.Object) []error {
	if v := reflect.ValueOf(o); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return []error{errors.New("added: an object is nil")}
	}
	if meta.IsListType(o) {
		var errs []error
		err := meta.EachListItem(o, func(item runtime.Object) error {
			errs = append(errs, b.addAny(item)...)
			return nil
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("added: %T: %w", o, err))
		}
		return errs
	}
	at := place{}
	if k := b.kinds.byType[reflect.TypeOf(o)]; k != nil {
		shallow := reflect.New(reflect.TypeOf(o).Elem())
		shallow.Elem().Set(reflect.ValueOf(o).Elem())
		return b.add(k, shallow.Interface().(object), at)
	}
	// The detour over JSON gives the rest the same checks as objects read from a dump.
	raw, err := json.Marshal(o)
	if err != nil {
		return []error{fmt.Errorf("added: %T: %w", o, err)}
	}
	return b.addRaw(raw, at, typeMeta{})
}

// add takes over an object whose top level belongs to the builder.
func (b *Builder) add(k *kind, o object, at place) []error {
	if o.GetName() == "" {
		return []error{fmt.Errorf("%s: %s: metadata.name: is required", at, label(k.title(), o.GetNamespace(), ""))}
	}
	if k.typed() {
		o.GetObjectKind().SetGroupVersionKind(k.groupKind().WithVersion(k.versions[0]))
	}
	b.scope(k, o, at)
	trim(o)
	setDefaults(o)
	if errs := validate(o); len(errs) > 0 {
		for i, err := range errs {
			errs[i] = fmt.Errorf("%s: %s: %w", at, identify(k, o), err)
		}
		return errs
	}
	for _, field := range cutHuge(o) {
		b.warn(k.title()+" amounts", Warning{
			Source: at.source, Object: identify(k, o), Field: field,
			Message: "is more than can be added up, taken as 10^15 (of CPU, millicores)",
		})
	}
	if err := b.store(k, o, at); err != nil {
		return []error{err}
	}
	return nil
}

// scope gives namespaced objects a namespace and takes it from the others.
func (b *Builder) scope(k *kind, o object, at place) {
	switch {
	case !k.cluster && o.GetNamespace() == "":
		o.SetNamespace("default")
	case k.cluster && o.GetNamespace() != "":
		b.warn(k.title()+" metadata.namespace", Warning{
			Source: at.source, Object: label(k.title(), "", o.GetName()), Field: "metadata.namespace",
			Message: fmt.Sprintf("%q dropped, the kind is cluster-scoped", o.GetNamespace()),
		})
		o.SetNamespace("")
	}
}

// store keeps the object unless one of its name is there already: the same collapses, and
// anything else is an error, because nothing tells which of the two is right.
func (b *Builder) store(k *kind, o object, at place) error {
	id := key{k, o.GetNamespace(), o.GetName()}
	old := b.entries[id]
	if old == nil {
		b.entries[id] = &entry{o, at}
		return nil
	}
	same, err := equal(old.object, o)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", at, identify(k, o), err)
	}
	if !same {
		return fmt.Errorf("%s: %s: differs from the object of that name in %s", at, identify(k, o), old.at)
	}
	c := b.copies[id]
	if c == nil {
		c = &copies{count: 1, sources: map[string]bool{old.at.source: true}}
		b.copies[id] = c
	}
	c.count++
	c.sources[at.source] = true
	// Which of the sources is named in warnings must not depend on their order.
	old.at.source = min(old.at.source, at.source)
	return nil
}

func equal(a, b object) (bool, error) {
	left, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	right, err := json.Marshal(b)
	return bytes.Equal(left, right), err
}

// Build checks references and returns the snapshot. It fails if any Read or Add did. The
// builder may be filled further and built again; earlier snapshots do not change.
func (b *Builder) Build() (*Snapshot, error) {
	if b.err != nil {
		return nil, fmt.Errorf("incomplete input: %w", b.err)
	}
	s := &Snapshot{groups: b.groups()}
	resolvePriorities(s.groups)
	s.fill()
	notes := slices.Concat(b.notes, b.skipNotes(), b.copyNotes(), b.references(s))
	s.warnings = limit(notes)
	return s, nil
}

func (b *Builder) groups() []group {
	byKind := map[*kind][]object{}
	for id, e := range b.entries { // sortGroups orders what this collects.
		byKind[id.kind] = append(byKind[id.kind], e.object)
	}
	var out []group
	for k, objects := range byKind {
		out = append(out, group{k, objects})
	}
	sortGroups(out)
	return out
}

func (b *Builder) copyNotes() []note {
	var notes []note
	for id, c := range b.copies {
		w := Warning{Object: label(id.kind.title(), id.namespace, id.name)}
		var names []string
		for _, source := range slices.Sorted(maps.Keys(c.sources)) {
			names = append(names, cmp.Or(source, "added"))
		}
		w.Message = fmt.Sprintf("given %d times, all the same", c.count)
		if len(names) == 1 {
			w.Source = b.entries[id].at.source
		} else {
			w.Message += " (" + strings.Join(names, ", ") + ")"
		}
		notes = append(notes, note{id.kind.title() + " duplicates", w})
	}
	return notes
}

// failed joins the errors of one call and remembers the first that went wrong.
func (b *Builder) failed(errs []error) error {
	if len(errs) > maxErrors {
		errs = append(errs[:maxErrors:maxErrors], errTooMany)
	}
	err := errors.Join(errs...)
	if b.err == nil {
		b.err = err
	}
	return err
}

var _ object = &unstructured.Unstructured{}
