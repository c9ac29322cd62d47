package v1alpha1

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxProblems bounds the report: more lines than this help nobody.
const maxProblems = 100

// problem is one mistake in the file.
type problem struct {
	path    string // As field.Path writes it; empty: the whole document.
	line    int    // 0: unknown.
	message string // What is wrong, to be read after the path.
}

func problemf(path *field.Path, format string, args ...any) problem {
	return problem{path: pathText(path), message: fmt.Sprintf(format, args...)}
}

// pathText is path.String(), with nothing for the document itself.
func pathText(path *field.Path) string {
	if path == nil {
		return ""
	}
	return path.String()
}

// joinProblems makes one error of all problems, in the file's order, one line each; nil if there are none.
// Equal problems (one anchor used twice, say) are reported once.
func joinProblems(file string, problems []problem, groups []NodeGroup) error {
	sorted := slices.SortedFunc(slices.Values(problems), func(a, b problem) int {
		return cmp.Or(
			cmp.Compare(a.line, b.line),       // 1. The file's order.
			cmp.Compare(a.path, b.path),       // 2. The field.
			cmp.Compare(a.message, b.message), // 3. The text; equal texts are one problem.
		)
	})
	sorted = slices.Compact(sorted)
	var lines []error
	for _, p := range sorted[:min(len(sorted), maxProblems)] {
		lines = append(lines, errors.New(p.text(file, groups)))
	}
	if more := len(sorted) - maxProblems; more > 0 {
		lines = append(lines, fmt.Errorf("%s: and %d more problems", printable(file), more))
	}
	return errors.Join(lines...)
}

// text is "file:line: nodeGroups[0] (h100): maxSize: message".
func (p problem) text(file string, groups []NodeGroup) string {
	if file == "" {
		file = "configuration"
	}
	if p.line > 0 {
		file += ":" + strconv.Itoa(p.line)
	}
	parts := []string{file}
	index, rest, isInGroup := splitGroupPath(p.path)
	switch {
	case isInGroup:
		group := groupPath(index).String()
		if index < len(groups) && groups[index].Name != "" {
			group += " (" + groups[index].Name + ")"
		}
		parts = append(parts, group)
		if rest != "" {
			parts = append(parts, rest)
		}
	case p.path != "":
		parts = append(parts, p.path)
	}
	return printable(strings.Join(append(parts, p.message), ": "))
}

func groupPath(index int) *field.Path {
	return field.NewPath("nodeGroups").Index(index)
}

// splitGroupPath splits nodeGroups[3].taints[0].key into 3 and taints[0].key.
func splitGroupPath(path string) (index int, rest string, isInGroup bool) {
	path, isInGroup = strings.CutPrefix(path, "nodeGroups[")
	if !isInGroup {
		return 0, "", false
	}
	number, rest, _ := strings.Cut(path, "]")
	index, err := strconv.Atoi(number)
	return index, strings.TrimPrefix(rest, "."), err == nil
}

// printable keeps a message on one line whatever the file holds.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

// shorten quotes text from the file for a message, its beginning if it is long.
func shorten(text string) string {
	const most = 60
	runes := []rune(text)
	if len(runes) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(string(runes[:most])) + "…"
}
