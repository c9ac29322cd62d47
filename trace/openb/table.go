package openb

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// table reads a CSV file whose header says which column is which.
type table struct {
	name    string
	reader  *csv.Reader
	columns map[string]int
}

// row is one record of a table.
type row struct {
	table  *table
	fields []string
	line   int
}

// openTable reads the header. Columns that nobody asks for are ignored: the published
// files differ in which they have.
func openTable(r io.Reader, name string, required ...string) (*table, error) {
	buffered := bufio.NewReader(r)
	// Spreadsheets put a byte order mark in front. Peek's error repeats at the next read.
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3)
	}
	t := &table{name: name, reader: csv.NewReader(buffered), columns: map[string]int{}}
	header, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty: no header line", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, column := range header {
		column = strings.TrimSpace(column)
		if _, seen := t.columns[column]; seen {
			line, _ := t.reader.FieldPos(i)
			return nil, fmt.Errorf("%s: line %d: two columns are named %s", name, line, quoted(column))
		}
		t.columns[column] = i
	}
	for _, column := range required {
		if !t.has(column) {
			return nil, fmt.Errorf("%s: no column %s in the header", name, column)
		}
	}
	return t, nil
}

func (t *table) has(column string) bool {
	_, found := t.columns[column]
	return found
}

// next returns io.EOF, as it is, after the last record.
func (t *table) next() (row, error) {
	fields, err := t.reader.Read()
	if errors.Is(err, io.EOF) {
		return row{}, io.EOF
	}
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", t.name, err)
	}
	line, _ := t.reader.FieldPos(0)
	return row{table: t, fields: fields, line: line}, nil
}

// each hands every record to do, in the order of the file, and refuses a second one with
// the same text in the key column.
func (t *table) each(key string, do func(row) error) error {
	seen := map[string]struct{}{}
	for {
		line, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(line); err != nil {
			return err
		}
		if _, twice := seen[line.text(key)]; twice {
			return line.bad(key, "appears twice")
		}
		seen[line.text(key)] = struct{}{}
	}
}

// text is the cell without surrounding space; "" where the file lacks the column.
func (r row) text(column string) string {
	i, found := r.table.columns[column]
	if !found {
		return ""
	}
	return strings.TrimSpace(r.fields[i])
}

// bad is the error for a cell: file, line, column, value and what is wrong with it.
func (r row) bad(column, problem string) error {
	line := r.line
	if i, found := r.table.columns[column]; found {
		line, _ = r.table.reader.FieldPos(i)
	}
	return fmt.Errorf("%s: line %d, column %s: %s %s", r.table.name, line, column, quoted(r.text(column)), problem)
}

// integer is the cell as a number between least and most.
func (r row) integer(column string, least, most int64) (int64, error) {
	text := r.text(column)
	// Tools that keep columns with gaps as floats write 5 as 5.0. Nothing else is cut off.
	if digits, decimals, found := strings.Cut(text, "."); found && decimals != "" && strings.Trim(decimals, "0") == "" {
		text = digits
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, r.bad(column, "is not a whole number")
	}
	if err != nil || n < least || n > most {
		return 0, r.bad(column, fmt.Sprintf("is not between %d and %d", least, most))
	}
	return n, nil
}

// seconds is the cell as a time of the trace; nil where it is empty or the column is absent.
func (r row) seconds(column string) (*int64, error) {
	if r.text(column) == "" {
		return nil, nil
	}
	n, err := r.integer(column, 0, maxSeconds)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// quoted quotes a value from outside for a message, cut to a readable length.
func quoted(value string) string {
	const most = 80
	if len(value) > most {
		return strconv.Quote(value[:most]) + "…"
	}
	return strconv.Quote(value)
}
