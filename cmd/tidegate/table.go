package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// row is a line of a table: one cell for each column, or a single cell that takes the
// whole width.
type row []string

// column is how a column is drawn.
type column struct {
	width int
	right bool // aligned to the right, as numbers are
}

// table draws rows under a header. Columns are as wide as what they hold; where all of
// them do not fit, the widest give way and their cells wrap. Where a row of one cell comes
// first, such rows are headlines: the header follows the first, and the rest is indented.
func (v *view) table(header []string, rows []row) {
	indent := ""
	if len(rows) > 0 && len(rows[0]) < len(header) {
		indent = "  "
	}
	layout := fitColumns(header, rows, lineWidth-len(indent)-2*len(header))
	head := make(row, 0, len(header))
	for _, h := range header {
		head = append(head, strings.ToUpper(h))
	}
	for _, r := range rows {
		if len(r) < len(header) {
			v.wrapped("  ", r[0])
			continue
		}
		if head != nil {
			v.row(indent, head, layout)
			head = nil
		}
		v.row(indent, r, layout)
	}
}

// row writes one line of a table, or several where a cell wraps.
func (v *view) row(indent string, cells row, layout []column) {
	wrapped := make([][]string, 0, len(cells))
	lines := 0
	for i, c := range cells {
		wrapped = append(wrapped, wrap(clean(c), layout[i].width))
		lines = max(lines, len(wrapped[i]))
	}
	for n := range lines {
		var b strings.Builder
		b.WriteString(indent)
		for i, c := range layout {
			cell := ""
			if n < len(wrapped[i]) {
				cell = wrapped[i][n]
			}
			fill := strings.Repeat(" ", max(c.width-columns(cell), 0))
			if c.right {
				cell, fill = fill, cell
			}
			b.WriteString("  " + cell + fill)
		}
		fmt.Fprintln(v.w, strings.TrimRight(b.String(), " "))
	}
}

// number says whether a cell is a number or money.
func number(cell string) bool {
	return strings.ContainsAny(cell, "0123456789") && strings.Trim(strings.TrimSuffix(cell, "/h"), "+-$.,0123456789") == ""
}

// leastProse is the width that the last column keeps, which holds sentences and times.
const leastProse = 24

// fitColumns lays columns out so that their widths sum up to at most room.
// Worked example: columns that hold 10, 60 and 200 in a room of 100 get 10, 45 and 45.
func fitColumns(header []string, rows []row, room int) []column {
	layout := make([]column, len(header))
	for i, h := range header {
		layout[i] = column{width: columns(h)}
		words, numbers := false, false
		for _, r := range rows {
			if len(r) == len(header) {
				layout[i].width = max(layout[i].width, columns(clean(r[i])))
				numbers = numbers || number(r[i])
				words = words || !number(r[i]) && r[i] != "-"
			}
		}
		layout[i].right = numbers && !words
	}
	total, widest := 0, 0
	for _, c := range layout {
		total += c.width
		widest = max(widest, c.width)
	}
	// Take a column's width from the widest until all fit, from the left one of equals.
	last := len(layout) - 1
	for ; total > room && widest > 1; widest-- {
		for i := range layout {
			if layout[i].width == widest && total > room && (i < last || widest > leastProse) {
				layout[i].width--
				total--
			}
		}
	}
	return layout
}

// wrap breaks text into lines of at most n columns: between words, else after a hyphen,
// slash, dot or comma, else anywhere.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) <= n {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for columns(word) > n {
			at := breakAt(word, n)
			lines = append(lines, word[:at])
			word = word[at:]
		}
		line = word
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// breakAt is the byte at which a word is broken to fill at most n columns.
func breakAt(word string, n int) int {
	used, good := 0, 0
	for i, r := range word {
		used += runeColumns(r)
		if used > n && i > 0 {
			if good > i/2 {
				return good
			}
			return i
		}
		if strings.ContainsRune("-/.,", r) {
			good = i + 1
		}
	}
	return len(word)
}

// columns is how many columns of a terminal the text takes.
func columns(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeColumns(r)
	}
	return sum
}

func runeColumns(r rune) int {
	switch {
	case r < unicode.MaxASCII:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// clean keeps what the input holds from steering the terminal: control characters are
// written as Go escapes.
func clean(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unprintable(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
