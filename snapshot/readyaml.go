package snapshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// streamBeyond is the size of a YAML document from which its items are read one by one. A
// smaller one is held whole, so that it may use all of YAML (anchors, odd indentation).
const streamBeyond = 4 << 20

// yamlLines yields lines that end in "\n" alone.
type yamlLines struct {
	r    *bufio.Reader
	next int // Number of the next line.
	err  error
	buf  []byte
}

// read returns the next line, valid until the next call, or nil at the end of the input.
func (l *yamlLines) read() []byte {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && err != io.EOF {
			l.err = err
			return nil
		}
		break
	}
	if len(l.buf) == 0 {
		return nil
	}
	l.next++
	line := bytes.TrimSuffix(l.buf, []byte("\n"))
	line = append(bytes.TrimSuffix(line, []byte("\r")), '\n')
	return line
}

// yamlDocument is the document that is being collected.
type yamlDocument struct {
	in      *input
	first   int // Line of its first content; 0 before there is any.
	text    []byte
	at      place
	stream  *listSplitter // Set once the items are read one by one.
	list    itemList
	tooMany bool
}

// readYAML splits the input at "---" and "..." and reads one document at a time.
func (in *input) readYAML(r io.Reader, line int) {
	lines := &yamlLines{r: bufio.NewReaderSize(r, 1<<16), next: line}
	doc := &yamlDocument{in: in}
	for !in.full() {
		number := lines.next
		text := lines.read()
		if text == nil {
			break
		}
		rest, marker := documentMarker(text)
		if marker {
			doc.end()
			doc = &yamlDocument{in: in}
			text = rest
		}
		doc.add(text, number)
	}
	if lines.err != nil {
		in.fail(place{source: in.source, doc: in.docs, line: lines.next}, lines.err)
		return
	}
	if !in.full() {
		doc.end()
	}
}

// documentMarker tells whether a line starts or ends a document. What follows "---" on the
// line belongs to the new document.
func documentMarker(line []byte) (rest []byte, marker bool) {
	if len(line) < 4 || line[3] != ' ' && line[3] != '\t' && line[3] != '\n' {
		return nil, false
	}
	switch string(line[:3]) {
	case "---":
		return append([]byte("   "), line[3:]...), true
	case "...":
		return []byte("\n"), true
	}
	return nil, false
}

func (d *yamlDocument) add(line []byte, number int) {
	if d.first == 0 {
		if content := bytes.TrimSpace(line); len(content) == 0 || content[0] == '#' || line[0] == '%' {
			return // Comments and directives before the content.
		}
		d.first = number
		d.at = d.in.document(number)
	}
	if d.stream != nil {
		d.stream.line(line, number)
		d.flush()
		return
	}
	d.text = append(d.text, line...)
	if len(d.text) > streamBeyond && !d.tooMany {
		d.startStream()
	}
}

// startStream goes over to reading item by item, if the document looks like a list.
func (d *yamlDocument) startStream() {
	s := splitLines(d.text, d.first)
	if !s.inItems || s.failed {
		d.tooMany = true // It will be decoded whole, whatever its size.
		return
	}
	d.stream = s
	d.text = nil
	d.list.found = true
	d.list.meta = headMeta(s.head)
	d.flush()
}

// flush adds the items that are complete.
func (d *yamlDocument) flush() {
	for _, item := range d.stream.take() {
		if d.in.full() {
			return
		}
		d.at.item++
		d.at.line = item.line
		raw, err := itemJSON(item.text)
		if err != nil {
			d.in.fail(d.at, brokenYAML(err))
			continue
		}
		d.list.add(d.in, raw, d.at)
	}
}

func (d *yamlDocument) end() {
	switch {
	case d.first == 0 || d.in.full():
	case d.stream != nil:
		d.stream.finish()
		d.flush()
		d.endStream()
	default:
		d.whole()
	}
}

func (d *yamlDocument) endStream() {
	d.at.item, d.at.line = 0, d.first
	if d.stream.failed {
		d.in.fail(d.at, fmt.Errorf("broken YAML: line %d is neither an item nor a field of the list", d.stream.badLine))
		return
	}
	whole, err := headJSON(d.stream.head)
	if err != nil {
		d.in.fail(d.at, brokenYAML(err))
		return
	}
	d.list.end(d.in, whole, d.at)
}

// whole reads a document that is in memory, item by item if it is a plain list, so that
// messages name the item's line.
func (d *yamlDocument) whole() {
	if d.asItems() {
		return
	}
	raw, err := toJSON(d.text)
	if err != nil {
		d.in.fail(d.at, brokenYAML(err))
		return
	}
	if string(raw) == "null" {
		return
	}
	d.in.wholeList(raw, d.at)
}

// asItems splits the document into items. It adds nothing and returns false unless every
// piece can be decoded on its own.
func (d *yamlDocument) asItems() bool {
	s := splitLines(d.text, d.first)
	s.finish()
	if !s.inItems || s.failed {
		return false
	}
	head, err := headJSON(s.head)
	if err != nil || !strings.HasSuffix(peek(head).kind, "List") {
		return false
	}
	var items []pendingItem
	for i, item := range s.take() {
		raw, err := itemJSON(item.text)
		if err != nil {
			return false
		}
		at := d.at
		at.item, at.line = i+1, item.line
		items = append(items, pendingItem{raw, at})
	}
	d.list.found = true
	d.list.meta = peek(head)
	for _, item := range items {
		if d.in.full() {
			return true
		}
		d.list.add(d.in, item.raw, item.at)
	}
	d.list.end(d.in, head, d.at)
	return true
}

// headMeta reads what is known of a list before its items; a broken head fails later.
func headMeta(head []byte) typeMeta {
	raw, err := headJSON(head)
	if err != nil {
		return typeMeta{}
	}
	return peek(raw)
}

// headJSON converts what is outside the items of a list. Items written there once more, in a
// way that the splitter does not know, must not get lost.
func headJSON(head []byte) ([]byte, error) {
	raw, err := toJSON(head)
	if err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, err
	}
	if _, twice := top["items"]; twice {
		return nil, errors.New("key \"items\" is there twice")
	}
	return raw, nil
}

// toJSON converts one document. The plain block style that kubectl writes takes a short way
// that is some thirty times as fast; anything else goes to the full parser.
func toJSON(text []byte) ([]byte, error) {
	if raw, ok := blockJSON(text); ok {
		return raw, nil
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, nil
	}
	return yaml.YAMLToJSONStrict(text)
}

// itemJSON converts an item that still carries its dash: a list of one.
func itemJSON(text []byte) ([]byte, error) {
	raw, err := toJSON(text)
	if err != nil {
		return nil, err
	}
	if len(raw) < 3 || raw[0] != '[' {
		return nil, errors.New("not a list item")
	}
	return bytes.TrimSpace(raw[1 : len(raw)-1]), nil
}

// brokenYAML joins the parser's message into one line.
func brokenYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
	return fmt.Errorf("broken YAML: %s", text)
}
