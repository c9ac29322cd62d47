package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// errTooMany ends a list of errors that was cut.
var errTooMany = errors.New("more errors follow; these are the first 20")

// Read adds the objects of one dump. The source names it in messages, as a file name does.
// It returns the errors of up to 20 objects together, and then the builder cannot be built.
func (b *Builder) Read(r io.Reader, source string) error {
	in := &input{b: b, source: source}
	in.read(r)
	return b.failed(in.errs)
}

// input is one Read in progress.
type input struct {
	b      *Builder
	source string
	docs   int // Documents seen; the last one is the current.
	errs   []error
}

func (in *input) full() bool { return len(in.errs) > maxErrors }

func (in *input) fail(at place, err error) {
	in.errs = append(in.errs, fmt.Errorf("%s: %w", at, err))
}

// document starts the next document of the source.
func (in *input) document(line int) place {
	in.docs++
	return place{source: in.source, doc: in.docs, line: line}
}

func (in *input) read(r io.Reader) {
	buf := bufio.NewReaderSize(r, 1<<16)
	if bom, _ := buf.Peek(3); bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		_, _ = buf.Discard(len(bom)) // Peek has read them.
	}
	line := 1
	for {
		c, err := buf.ReadByte()
		if err != nil {
			if err != io.EOF {
				in.fail(place{source: in.source}, err)
			}
			return
		}
		switch c {
		case '\n':
			line++
			continue
		case ' ', '\t', '\r':
			continue
		}
		_ = buf.UnreadByte() // Cannot fail right after ReadByte.
		if c == '{' || c == '[' {
			in.readJSON(buf, line)
			return
		}
		in.readYAML(buf, line)
		return
	}
}

// typeMeta is what an item of a typed list inherits.
type typeMeta struct{ apiVersion, kind string }

// object adds one object, given as JSON.
func (in *input) object(raw []byte, at place, inherited typeMeta) {
	in.errs = append(in.errs, in.b.addRaw(raw, at, inherited)...)
}

// addRaw decodes one object of valid JSON and adds it.
func (b *Builder) addRaw(raw []byte, at place, inherited typeMeta) []error {
	tm := peek(raw)
	if tm.apiVersion == "" && tm.kind == "" {
		tm = inherited
	}
	if tm.kind == "" || tm.apiVersion == "" {
		field := "kind"
		if tm.kind != "" {
			field = "apiVersion"
		}
		return []error{fmt.Errorf("%s: %s: %s: is required", at, title(raw, cmp.Or(tm.kind, "object")), field)}
	}
	gv, err := schema.ParseGroupVersion(tm.apiVersion)
	if err != nil {
		return []error{fmt.Errorf("%s: %s: apiVersion: %q is not a group and a version", at, title(raw, tm.kind), tm.apiVersion)}
	}
	k := b.kinds.byGroupKind[schema.GroupKind{Group: gv.Group, Kind: tm.kind}]
	if k == nil {
		b.skipKind(tm.apiVersion+" "+tm.kind, "no decision reads this kind", at.source)
		return nil
	}
	if !slices.Contains(k.versions, gv.Version) {
		want := schema.GroupVersion{Group: k.group, Version: k.versions[0]}
		b.skipKind(tm.apiVersion+" "+tm.kind, "the version that is read is "+want.String(), at.source)
		return nil
	}
	decode := b.decode
	if !k.typed() {
		decode = b.decodeCustom
	}
	o, errs := decode(k, raw, at, tm)
	if len(errs) > 0 {
		for i, err := range errs {
			errs[i] = fmt.Errorf("%s: %s: %w", at, title(raw, k.title()), err)
		}
		return errs
	}
	return b.add(k, o, at)
}

// decode makes the Go struct of a typed kind. Fields that it does not have become warnings.
func (b *Builder) decode(k *kind, raw []byte, at place, tm typeMeta) (object, []error) {
	if strings.Contains(tm.apiVersion, "alpha") {
		var generic map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &generic); err != nil {
			return nil, []error{err}
		}
		alphaGroup(generic)
		converted, err := json.Marshal(generic)
		if err != nil {
			return nil, []error{err}
		}
		raw = converted
	}
	o := k.blank()
	if errs := exponents(reflect.TypeOf(o).Elem(), raw); len(errs) > 0 {
		return nil, errs
	}
	strict, err := kjson.UnmarshalStrict(raw, o)
	if err != nil {
		return nil, locate(reflect.TypeOf(o).Elem(), raw, err)
	}
	if errs := b.strict(k, o, at, strict); len(errs) > 0 {
		return nil, errs
	}
	if err := writable(o, raw); err != nil {
		return nil, []error{err}
	}
	b.strings.object(o)
	return o, nil
}

// strict sorts out what a strict decoder objects to: a field given twice has lost one of its
// values, an unknown field is worth a warning.
func (b *Builder) strict(k *kind, o object, at place, objections []error) []error {
	var errs []error
	for _, err := range objections {
		var f kjson.FieldError
		switch {
		case !errors.As(err, &f):
			errs = append(errs, err)
		case strings.HasPrefix(err.Error(), "unknown field"):
			b.warnUnknown(k, o, at, f.FieldPath())
		default:
			errs = append(errs, fmt.Errorf("%s: is there twice", f.FieldPath()))
		}
	}
	return errs
}

// writable refuses times that a time zone moves out of the years which JSON can hold.
func writable(o object, raw []byte) error {
	if !bytes.Contains(raw, []byte(`"9999-12-31T`)) && !bytes.Contains(raw, []byte(`"0000-01-01T`)) {
		return nil
	}
	out, err := json.Marshal(o)
	if err != nil {
		return err
	}
	again := reflect.New(reflect.TypeOf(o).Elem()).Interface()
	if err := json.Unmarshal(out, again); err != nil {
		return fmt.Errorf("a time is out of range: %w", err)
	}
	return nil
}

func (b *Builder) warnUnknown(k *kind, o object, at place, path string) {
	namespace := o.GetNamespace()
	if !k.cluster && namespace == "" {
		namespace = "default"
	}
	b.warn(k.title()+" "+withoutIndices(path), Warning{
		Source: at.source, Object: label(k.title(), namespace, o.GetName()), Field: path,
		Message: "unknown field, ignored",
	})
}

// withoutIndices turns spec.containers[3].foo into spec.containers[].foo.
func withoutIndices(path string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(path, "[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("[]")
		_, path, _ = strings.Cut(rest, "]")
	}
}

// decodeCustom makes an unstructured object, of which the metadata at least is well-formed.
func (b *Builder) decodeCustom(_ *kind, raw []byte, _ place, tm typeMeta) (object, []error) {
	var meta metav1.PartialObjectMetadata
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &meta); err != nil {
		return nil, locate(reflect.TypeFor[metav1.PartialObjectMetadata](), raw, err)
	}
	u := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
		return nil, []error{err}
	}
	wholeNumbers(u.Object)
	u.SetAPIVersion(tm.apiVersion)
	u.SetKind(tm.kind)
	return u, nil
}

// wholeNumbers turns floats such as 2.0 into integers, in place: they are written without
// the point, and would not come back as floats.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = wholeNumbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case float64:
		const exact = 1 << 53 // Beyond, floats skip integers.
		if v == math.Trunc(v) && math.Abs(v) <= exact {
			return int64(v)
		}
	}
	return v
}

// title names an object that could not be decoded, as far as its metadata goes.
func title(raw []byte, kindTitle string) string {
	var top struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		return kindTitle
	}
	name, _ := top.Metadata["name"].(string)
	namespace, _ := top.Metadata["namespace"].(string)
	return label(kindTitle, namespace, name)
}
