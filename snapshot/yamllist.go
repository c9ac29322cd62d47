package snapshot

import "bytes"

// listSplitter cuts a YAML list such as kubectl writes into its items, line by line:
//
//	apiVersion: v1
//	items:
//	- apiVersion: v1
//	  kind: Pod
//	- apiVersion: v1
//	  kind: Pod
//	kind: List
//
// An item starts at a dash in the column of the first dash, and ends at the next one or at a
// line further left, or at one in the same column that is no dash where the list is not
// indented. YAML keeps everything that belongs to an item, block scalars too, further right.
type listSplitter struct {
	head    []byte // The lines of the document outside its items.
	inItems bool   // "items:" was seen.
	ended   bool   // The items are over.
	failed  bool   // A line fits nowhere: badLine.
	badLine int

	column   int // Of the dashes; -1 before the first.
	current  numbered
	complete []numbered
}

// numbered is a piece of text with the line where it starts.
type numbered struct {
	text []byte
	line int
}

func splitLines(text []byte, first int) *listSplitter {
	s := &listSplitter{column: -1}
	for number := first; len(text) > 0 && !s.failed; number++ {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		s.line(text[:end], number)
		text = text[end:]
	}
	return s
}

func (s *listSplitter) line(line []byte, number int) {
	content := bytes.TrimLeft(line, " ")
	indent := len(line) - len(content)
	blank := len(bytes.TrimSpace(content)) == 0
	switch {
	case s.failed:
	case !s.inItems || s.ended:
		if s.ended && startsItems(line) {
			s.fail(number)
			return
		}
		if startsItems(line) {
			s.inItems = true
			return
		}
		s.head = append(s.head, line...)
	case blank || content[0] == '#' && indent <= max(s.column, 0):
		s.current.text = append(s.current.text, line...)
	case isDash(content) && (s.column < 0 || indent == s.column):
		s.finish()
		s.column = indent
		s.current = numbered{text: bytes.Clone(line), line: number}
	case s.column >= 0 && indent > s.column:
		s.current.text = append(s.current.text, line...)
	case indent == 0 && !startsItems(line):
		s.finish()
		s.ended = true
		s.head = append(s.head, line...)
	default:
		s.fail(number)
	}
}

func (s *listSplitter) fail(number int) { s.failed, s.badLine = true, number }

// finish completes the item in work.
func (s *listSplitter) finish() {
	if s.column >= 0 && s.current.line > 0 {
		s.complete = append(s.complete, s.current)
	}
	s.current = numbered{}
}

// take returns the complete items and forgets them.
func (s *listSplitter) take() []numbered {
	out := s.complete
	s.complete = nil
	return out
}

func startsItems(line []byte) bool {
	return bytes.HasPrefix(line, []byte("items:")) && len(bytes.TrimSpace(line)) == len("items:")
}

func isDash(content []byte) bool {
	return content[0] == '-' && len(content) > 1 && (content[1] == ' ' || content[1] == '\n')
}
