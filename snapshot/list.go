package snapshot

import (
	"encoding/json"
	"errors"
	"strings"
)

// itemList takes the items of one list as they come, from JSON or from YAML. Items that name
// no kind need the list's: those that come before it are kept until the end.
type itemList struct {
	meta    typeMeta // Of the list, as far as known.
	found   bool     // There is a member named items.
	odd     bool     // It is no array, or holds something else than objects.
	added   bool     // Some items named their own kind and were added.
	pending []pendingItem
}

type pendingItem struct {
	raw []byte
	at  place
}

func (l *itemList) add(in *input, raw []byte, at place) {
	switch {
	case len(raw) == 0 || raw[0] != '{':
		l.odd = true
	case peek(raw) != typeMeta{}:
		l.added = true
		l.item(in, raw, at)
	case l.meta.kind != "" && l.meta.apiVersion != "":
		l.item(in, raw, at)
	default:
		l.pending = append(l.pending, pendingItem{raw, at})
	}
}

func (l *itemList) item(in *input, raw []byte, at place) {
	if strings.HasSuffix(peek(raw).kind, "List") {
		in.fail(at, errors.New("a list inside a list is not read"))
		return
	}
	in.object(raw, at, l.inherited())
}

// inherited is what the items of a typed list are: PodList holds Pods.
func (l *itemList) inherited() typeMeta {
	if l.meta.kind == "List" {
		return typeMeta{}
	}
	return typeMeta{l.meta.apiVersion, strings.TrimSuffix(l.meta.kind, "List")}
}

// end takes all but the items, when the whole document has been read.
func (l *itemList) end(in *input, whole []byte, at place) {
	l.meta = peek(whole)
	switch {
	case !l.found:
		l.alone(in, whole, at)
	case !strings.HasSuffix(l.meta.kind, "List"):
		// An object that happens to have a member of that name: the items were none.
		if l.added || l.meta.kind == "" {
			in.fail(at, errors.New("kind: has items, so it must be List or end in List"))
			return
		}
		in.object(whole, at, typeMeta{})
	case l.odd:
		in.fail(at, errors.New("items: must be a list of objects"))
	default:
		for _, p := range l.pending {
			if in.full() {
				return
			}
			l.item(in, p.raw, p.at)
		}
	}
}

// alone adds a document that is an object and not a list.
func (l *itemList) alone(in *input, whole []byte, at place) {
	if l.meta.kind == "List" {
		return // Of a list without items nothing is lost.
	}
	in.object(whole, at, typeMeta{})
}

// wholeList adds a document that is in memory already: a list or not.
func (in *input) wholeList(raw []byte, at place) {
	if raw[0] != '{' {
		in.fail(at, errors.New("must be an object"))
		return
	}
	l := itemList{meta: peek(raw)}
	if !strings.HasSuffix(l.meta.kind, "List") {
		l.alone(in, raw, at)
		return
	}
	var top struct {
		Items json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &top); err != nil {
		in.fail(at, err)
		return
	}
	var each []json.RawMessage
	l.found = top.Items != nil
	if l.found && json.Unmarshal(top.Items, &each) != nil {
		l.odd = true
	}
	for i, item := range each {
		if in.full() {
			return
		}
		at.item = i + 1
		l.add(in, item, at)
	}
	at.item = 0
	l.end(in, raw, at)
}
