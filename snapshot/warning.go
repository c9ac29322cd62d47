package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// warningsPerClass is how many warnings of one sort are listed one by one.
const warningsPerClass = 10

// Warning is something doubtful about the input that does not prevent a decision.
type Warning struct {
	Source  string // The name given to Read; empty for objects added, or if it is in several.
	Object  string // "Pod train/x", or the kind where it is about a whole kind.
	Field   string // "spec.nodeName"; may be empty.
	Message string
}

// String renders the warning as "source: object: field: message", without the empty parts.
func (w Warning) String() string {
	parts := slices.DeleteFunc([]string{w.Source, w.Object, w.Field, w.Message}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// note is a warning with the class by which the noise is limited.
type note struct {
	class string
	Warning
}

func (b *Builder) warn(class string, w Warning) { b.notes = append(b.notes, note{class, w}) }

// compareNotes orders by 1. class, 2. object, 3. source, 4. field, 5. message: all there is.
func compareNotes(a, b note) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.Object, b.Object), cmp.Compare(a.Source, b.Source),
		cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
}

// limit sorts the notes and folds what exceeds warningsPerClass into one line per class.
func limit(notes []note) []Warning {
	sorted := slices.Clone(notes)
	slices.SortFunc(sorted, compareNotes)
	var out []Warning
	for start := 0; start < len(sorted); {
		end := start
		for end < len(sorted) && sorted[end].class == sorted[start].class {
			end++
		}
		for i := start; i < min(end, start+warningsPerClass); i++ {
			out = append(out, sorted[i].Warning)
		}
		if more := end - start - warningsPerClass; more > 0 {
			out = append(out, Warning{
				Object: sorted[start].class, Message: fmt.Sprintf("and %d more like these", more),
			})
		}
		start = end
	}
	return out
}

// skip counts the objects of one kind that are not read.
type skip struct {
	count   int
	sources map[string]bool
	reason  string
}

func (b *Builder) skipKind(title, reason, source string) {
	s := b.skipped[title]
	if s == nil {
		s = &skip{sources: map[string]bool{}, reason: reason}
		b.skipped[title] = s
	}
	s.count++
	s.sources[source] = true
}

// skipNotes has one note per skipped kind. The class starts with a blank, so that they lead.
func (b *Builder) skipNotes() []note {
	var notes []note
	for title, s := range b.skipped { // limit sorts what this collects.
		w := Warning{Object: title, Message: fmt.Sprintf("%s, %s", plural(s.count, "object")+" skipped", s.reason)}
		if len(s.sources) == 1 {
			for source := range s.sources {
				w.Source = source
			}
		}
		notes = append(notes, note{" " + title, w})
	}
	return notes
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
