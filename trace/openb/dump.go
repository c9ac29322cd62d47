package openb

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// WriteDump writes objects as a JSON List, one object to a line, as commands that take a
// cluster dump read it. The order of objs makes no difference to the bytes. Only one
// object is encoded at a time.
func WriteDump(w io.Writer, objs ...runtime.Object) error {
	items, err := sortedItems(objs)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(w)
	// A bufio.Writer keeps its first error and Flush returns it.
	_, _ = buffered.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i, item := range items {
		line, err := json.Marshal(item.object)
		if err != nil {
			return fmt.Errorf("encode %s: %w", item, err)
		}
		if i > 0 {
			_ = buffered.WriteByte(',')
		}
		_ = buffered.WriteByte('\n')
		if _, err := buffered.Write(line); err != nil {
			return fmt.Errorf("write dump: %w", err)
		}
	}
	_, _ = buffered.WriteString("\n]}\n")
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write dump: %w", err)
	}
	return nil
}

// dumpItem is an object with the key that it is sorted by.
type dumpItem struct {
	kind, namespace, name string
	object                runtime.Object
}

func (i dumpItem) String() string { return fmt.Sprintf("%s %s/%s", i.kind, i.namespace, i.name) }

func sortedItems(objs []runtime.Object) ([]dumpItem, error) {
	items := make([]dumpItem, 0, len(objs))
	for n, object := range objs {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, fmt.Errorf("dump object %d: %w", n, err)
		}
		item := dumpItem{
			kind:      object.GetObjectKind().GroupVersionKind().Kind,
			namespace: accessor.GetNamespace(),
			name:      accessor.GetName(),
			object:    object,
		}
		if item.kind == "" {
			return nil, fmt.Errorf("dump object %d: %s/%s has no kind", n, item.namespace, item.name)
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b dumpItem) int {
		return cmp.Or(
			strings.Compare(a.kind, b.kind),           // 1. Kind.
			strings.Compare(a.namespace, b.namespace), // 2. Namespace.
			strings.Compare(a.name, b.name),           // 3. Unique name in both.
		)
	})
	return items, nil
}
