package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// locate says which fields of an object that did not decode are to blame. Decoders stop at
// the first and know no path through types with a parser of their own, such as quantities;
// this walks the Go type and the value side by side. It runs only after an error.
func locate(t reflect.Type, raw []byte, cause error) []error {
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return []error{err}
	}
	w := mismatches{}
	w.walk(t, value, "")
	if len(w.errs) == 0 {
		return []error{cause}
	}
	return w.errs
}

type mismatches struct {
	onlyExponents bool // Check nothing but the exponents of quantities.
	errs          []error
}

func (w *mismatches) add(path, format string, args ...any) {
	if !w.onlyExponents && len(w.errs) < maxErrors {
		w.errs = append(w.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
}

func (w *mismatches) walk(t reflect.Type, v any, path string) {
	if v == nil {
		return // null leaves any field as it is.
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		w.parse(t, v, path)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		w.walk(t.Elem(), v, path)
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			w.fields(t, m, path)
			return
		}
		w.add(path, "must be an object, is %s", describe(v))
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			w.add(path, "must be an object, is %s", describe(v))
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			w.walk(t.Elem(), m[k], fmt.Sprintf("%s[%s]", path, k))
		}
	case reflect.Slice:
		w.list(t, v, path)
	default:
		w.scalar(t, v, path)
	}
}

func (w *mismatches) fields(t reflect.Type, m map[string]any, path string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			w.fields(f.Type, m, path)
		default:
			if v, ok := m[name]; ok {
				w.walk(f.Type, v, strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
}

func (w *mismatches) list(t reflect.Type, v any, path string) {
	if t.Elem().Kind() == reflect.Uint8 {
		w.parse(t, v, path) // Bytes are base64 in JSON.
		return
	}
	items, ok := v.([]any)
	if !ok {
		w.add(path, "must be a list, is %s", describe(v))
	}
	for i, item := range items {
		w.walk(t.Elem(), item, fmt.Sprintf("%s[%d]", path, i))
	}
}

func (w *mismatches) scalar(t reflect.Type, v any, path string) {
	fits, want := true, ""
	switch t.Kind() {
	case reflect.String:
		_, fits = v.(string)
		want = "a string"
	case reflect.Bool:
		_, fits = v.(bool)
		want = "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, ok := v.(int64)
		fits = ok && !t.OverflowInt(n)
		want = fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
	if !fits {
		w.add(path, "must be %s, is %s", want, describe(v))
	}
}

// parse tries the type's own parser on the value alone.
func (w *mismatches) parse(t reflect.Type, v any, path string) {
	raw, err := json.Marshal(v)
	if err != nil {
		w.add(path, "%v", err)
		return
	}
	if t == reflect.TypeFor[resource.Quantity]() && hasLongExponent(raw) {
		w.errs = append(w.errs, fmt.Errorf("%s: %s has too large an exponent", path, describe(v)))
		return
	}
	if w.onlyExponents {
		return
	}
	err = json.Unmarshal(raw, reflect.New(t).Interface())
	switch {
	case err == nil:
	case t == reflect.TypeFor[resource.Quantity]():
		w.add(path, "%s is not a quantity", describe(v))
	case errors.As(err, new(*json.UnmarshalTypeError)):
		w.add(path, "must not be %s", describe(v))
	default:
		w.add(path, "%v", err)
	}
}

// describe shows a scalar as written and names the rest.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > 64 {
			return fmt.Sprintf("%q…", v[:64])
		}
		return fmt.Sprintf("%q", v)
	case float64:
		if v == math.Trunc(v) {
			return fmt.Sprintf("%.0f", v)
		}
	}
	return fmt.Sprint(v)
}
