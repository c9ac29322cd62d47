package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// lineReader knows at which line each byte offset of what was read lies. It keeps only the
// line ends that no call of line has passed yet, so the memory is that of the reader's buffer.
type lineReader struct {
	r      io.Reader
	offset int64
	ends   []int64
	passed int // Lines before ends[0].
}

func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for i := 0; i < n; i++ {
		next := bytes.IndexByte(p[i:n], '\n')
		if next < 0 {
			break
		}
		i += next
		l.ends = append(l.ends, l.offset+int64(i))
	}
	l.offset += int64(n)
	return n, err
}

// line returns the line of an offset. Offsets of successive calls must not fall.
func (l *lineReader) line(offset int64) int {
	i := 0
	for i < len(l.ends) && l.ends[i] < offset {
		i++
	}
	l.passed += i
	l.ends = l.ends[i:]
	return l.passed
}

// readJSON reads objects until the input ends, or until something else than an object or an
// array begins: then the rest is YAML, as in "{…}\n---\nkind: Pod".
func (in *input) readJSON(r io.Reader, line int) {
	lines := &lineReader{r: r, passed: line}
	dec := json.NewDecoder(lines)
	for !in.full() {
		dec.More() // Moves on to the next value and reads at least its first byte.
		var first [1]byte
		n, _ := dec.Buffered().Read(first[:])
		if n == 0 {
			if _, err := dec.Token(); err != io.EOF {
				in.fail(place{source: in.source}, err)
			}
			return
		}
		at := lines.line(dec.InputOffset())
		if first[0] != '{' && first[0] != '[' {
			in.readYAML(io.MultiReader(dec.Buffered(), lines.r), at)
			return
		}
		d := &jsonDocument{in: in, dec: dec, lines: lines, at: in.document(at)}
		if err := d.read(); err != nil {
			in.fail(d.at, broken(err))
			return
		}
	}
}

// broken explains an error of the decoder.
func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("broken JSON: the input ends in the middle of a value")
	}
	if isSyntax := new(json.SyntaxError); errors.As(err, &isSyntax) {
		return fmt.Errorf("broken JSON: %w", err)
	}
	return err
}

// jsonDocument is one value at the top level, read member by member: if it is a list, its
// items are added one at a time and never held together.
type jsonDocument struct {
	in    *input
	dec   *json.Decoder
	lines *lineReader
	at    place // Of the document, then of the item in work.

	members []byte // All but the items, as "key":value, …
	list    itemList
}

func (d *jsonDocument) read() error {
	open, err := d.dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("must be an object, is a list")
	}
	for d.dec.More() {
		if d.in.full() {
			return nil
		}
		if err := d.member(); err != nil {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return err
	}
	whole := append(append([]byte{'{'}, d.members...), '}')
	d.at.item = 0
	d.list.end(d.in, whole, d.at)
	return nil
}

func (d *jsonDocument) member() error {
	token, err := d.dec.Token()
	if err != nil {
		return err
	}
	name, _ := token.(string)
	if name == "items" && d.mayBeList() {
		return d.items()
	}
	var value json.RawMessage
	if err := d.dec.Decode(&value); err != nil {
		return err
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return err
	}
	if len(d.members) > 0 {
		d.members = append(d.members, ',')
	}
	d.members = append(append(append(d.members, quoted...), ':'), value...)
	return nil
}

func (d *jsonDocument) mayBeList() bool {
	d.list.meta = peek(append(append([]byte{'{'}, d.members...), '}'))
	return d.list.meta.kind == "" || strings.HasSuffix(d.list.meta.kind, "List")
}

func (d *jsonDocument) items() error {
	d.list.found = true
	open, err := d.dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('[') {
		d.list.odd = open != nil // null is an empty list.
		return d.skipRest(open)
	}
	first := d.at.line
	for d.dec.More() {
		if d.in.full() {
			return nil
		}
		var raw json.RawMessage
		d.at.item++
		if err := d.dec.Decode(&raw); err != nil {
			d.at.line = d.lines.line(d.dec.InputOffset())
			return err
		}
		d.at.line = d.lines.line(d.dec.InputOffset() - int64(len(raw)))
		d.list.add(d.in, raw, d.at)
	}
	d.at.line = first
	_, err = d.dec.Token()
	return err
}

// skipRest reads the rest of a value of which the first token was taken.
func (d *jsonDocument) skipRest(open json.Token) error {
	if _, isDelim := open.(json.Delim); !isDelim {
		return nil
	}
	for depth := 1; depth > 0; {
		token, err := d.dec.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}
