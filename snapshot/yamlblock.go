package snapshot

import (
	"bytes"
	"strconv"
)

// maxBlockDepth bounds the recursion of blockJSON; deeper documents take the long way.
const maxBlockDepth = 64

// blockJSON converts YAML to JSON if it is written in the plain block style of emitters:
// nested mappings and sequences, one scalar a line, no anchors, tags or flow collections but
// {} and []. Whatever it is not certain to read exactly as the full parser does, it leaves
// alone and returns false; a fuzz test compares the two.
func blockJSON(text []byte) ([]byte, bool) {
	for _, c := range text {
		if c < ' ' && c != '\n' || c > '~' {
			return nil, false
		}
	}
	y := &blockParser{text: text, out: make([]byte, 0, len(text))}
	if !y.skipBlank() {
		return nil, false
	}
	if !y.node(y.indent()) || y.skipBlank() {
		return nil, false
	}
	return y.out, true
}

type blockParser struct {
	text []byte
	pos  int // Start of a line between nodes, anywhere in it within one.
	out  []byte

	keys  [][]byte // Of all mappings that are open, innermost last.
	depth int
}

// skipBlank moves to the next line with content, and tells whether there is one. Comments
// within block scalars do not come here.
func (y *blockParser) skipBlank() bool {
	for y.pos < len(y.text) {
		content := y.pos + y.indent()
		switch {
		case content == len(y.text):
			y.pos = content
		case y.text[content] == '\n':
			y.pos = content + 1
		case y.text[content] == '#':
			y.pos = y.lineEnd() + 1
		default:
			return true
		}
	}
	y.pos = len(y.text)
	return false
}

// indent counts the blanks at the position.
func (y *blockParser) indent() int {
	n := 0
	for y.pos+n < len(y.text) && y.text[y.pos+n] == ' ' {
		n++
	}
	return n
}

// lineEnd is the index of the line's end, or of the text's.
func (y *blockParser) lineEnd() int {
	if n := bytes.IndexByte(y.text[min(y.pos, len(y.text)):], '\n'); n >= 0 {
		return y.pos + n
	}
	return len(y.text)
}

// dash tells whether a sequence item starts at index i.
func (y *blockParser) dash(i int) bool {
	return i < len(y.text) && y.text[i] == '-' && (i+1 == len(y.text) || y.text[i+1] == ' ' || y.text[i+1] == '\n')
}

// node reads the collection whose first line, indented by column, is the current one.
func (y *blockParser) node(column int) bool {
	y.depth++
	defer func() { y.depth-- }()
	if y.depth > maxBlockDepth {
		return false
	}
	if y.dash(y.pos + column) {
		return y.sequence(column)
	}
	y.pos += column
	return y.mapping(column)
}

func (y *blockParser) sequence(column int) bool {
	y.out = append(y.out, '[')
	for first := true; ; first = false {
		if !first {
			y.out = append(y.out, ',')
		}
		y.pos += column + 1
		blanks := y.indent()
		y.pos += blanks
		if y.pos >= len(y.text) || y.text[y.pos] == '\n' || y.dash(y.pos) {
			return false
		}
		if !y.item(column, column+1+blanks) {
			return false
		}
		if !y.skipBlank() {
			break
		}
		next := y.indent()
		if next > column {
			return false
		}
		if next < column || !y.dash(y.pos+next) {
			break
		}
	}
	y.out = append(y.out, ']')
	return true
}

// item reads what follows a dash: a mapping that starts on that line, or a scalar.
func (y *blockParser) item(dash, column int) bool {
	if _, _, ok := y.key(); !ok {
		return y.inline(dash, false)
	}
	y.depth++
	defer func() { y.depth-- }()
	return y.depth <= maxBlockDepth && y.mapping(column)
}

// mapping reads fields that start at the column; the position is at the first key.
func (y *blockParser) mapping(column int) bool {
	open := len(y.keys)
	y.out = append(y.out, '{')
	for first := true; ; first = false {
		if !first {
			y.out = append(y.out, ',')
		}
		key, after, ok := y.key()
		if !ok || y.repeated(key, open) {
			return false
		}
		y.keys = append(y.keys, key)
		y.out = append(append(append(y.out, '"'), key...), '"', ':')
		y.pos = after
		if !y.value(column) {
			return false
		}
		if !y.skipBlank() {
			break
		}
		next := y.indent()
		if next > column || next == column && y.dash(y.pos+next) {
			return false
		}
		if next < column {
			break
		}
		y.pos += column
	}
	y.keys = y.keys[:open]
	y.out = append(y.out, '}')
	return true
}

func (y *blockParser) repeated(key []byte, open int) bool {
	for _, k := range y.keys[open:] {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}

// key reads "name:" at the position, of letters, digits and "_./-" only, and returns the
// index after the colon.
func (y *blockParser) key() (key []byte, after int, ok bool) {
	i := y.pos
	for i < len(y.text) && isKeyByte(y.text[i]) {
		i++
	}
	if i == y.pos || i >= len(y.text) || y.text[i] != ':' {
		return nil, 0, false
	}
	if i+1 < len(y.text) && y.text[i+1] != ' ' && y.text[i+1] != '\n' {
		return nil, 0, false
	}
	key = y.text[y.pos:i]
	return key, i + 1, classify(key) == plainString
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/' || c == '-'
}

// value reads what follows a key of a mapping at the column.
func (y *blockParser) value(column int) bool {
	y.pos += y.indent()
	if y.pos < len(y.text) && y.text[y.pos] != '\n' {
		return y.inline(column, true)
	}
	if y.skipBlank() {
		next := y.indent()
		// A sequence may stand in the column of its key.
		if next > column || next == column && y.dash(y.pos+next) {
			return y.node(next)
		}
	}
	y.out = append(y.out, "null"...)
	return true
}

// inline reads a scalar, or an empty collection, that stands on the current line.
func (y *blockParser) inline(parent int, literals bool) bool {
	end := y.lineEnd()
	line := bytes.TrimRight(y.text[y.pos:end], " ")
	y.pos = min(end+1, len(y.text))
	switch line[0] {
	case '"':
		return y.doubleQuoted(line)
	case '\'':
		return y.singleQuoted(line)
	case '{', '[':
		if s := string(line); s != "{}" && s != "[]" {
			return false
		}
		y.out = append(y.out, line...)
		return true
	case '|':
		return literals && y.literal(parent, string(line))
	}
	return y.plain(line)
}

func (y *blockParser) plain(line []byte) bool {
	if bytes.Contains(line, []byte(" #")) || bytes.Contains(line, []byte(": ")) || line[len(line)-1] == ':' {
		return false
	}
	switch classify(line) {
	case plainString:
		y.quote(line)
	case plainAsJSON:
		y.out = append(y.out, line...)
	default:
		return false
	}
	return true
}

// doubleQuoted copies a string of which the escapes mean the same in JSON.
func (y *blockParser) doubleQuoted(line []byte) bool {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			if i >= len(line) || bytes.IndexByte([]byte(`"\nrt`), line[i]) < 0 {
				return false
			}
		case '"':
			if i != len(line)-1 {
				return false
			}
			y.out = append(y.out, line...)
			return true
		}
	}
	return false
}

func (y *blockParser) singleQuoted(line []byte) bool {
	if len(line) < 2 || line[len(line)-1] != '\'' {
		return false
	}
	inner := line[1 : len(line)-1]
	if bytes.IndexByte(inner, '\'') >= 0 {
		return false
	}
	y.quote(inner)
	return true
}

// quote writes printable ASCII as a JSON string.
func (y *blockParser) quote(s []byte) {
	if bytes.IndexByte(s, '"') < 0 && bytes.IndexByte(s, '\\') < 0 {
		y.out = append(append(append(y.out, '"'), s...), '"')
		return
	}
	y.out = strconv.AppendQuote(y.out, string(s))
}

// literal reads a block scalar, "|" or "|-", that starts with a line of content.
func (y *blockParser) literal(parent int, header string) bool {
	if header != "|" && header != "|-" || y.pos >= len(y.text) {
		return false
	}
	column := y.indent()
	if column <= parent || y.pos+column >= len(y.text) || y.text[y.pos+column] == '\n' {
		return false
	}
	var content []byte
	for y.pos < len(y.text) {
		end := y.lineEnd()
		if end == len(y.text) {
			return false // How it ends depends on a line end that is not there.
		}
		line := y.text[y.pos:end]
		indent := min(y.indent(), len(line))
		if indent == len(line) {
			return false // Blank lines count, or not, by what follows.
		}
		if indent < column {
			break
		}
		content = append(append(content, line[column:]...), '\n')
		y.pos = end + 1
	}
	if header == "|-" {
		content = content[:len(content)-1]
	}
	y.out = strconv.AppendQuote(y.out, string(content))
	return true
}
