package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// maxSuggestions keeps an error message on one line.
const maxSuggestions = 3

// Suggest returns up to three machine types whose name is near the given one, nearest
// first, for "did you mean". None is near a name that resembles nothing.
//
// Near is: at most a third of the letters to change, or the name begins that way.
// Letter case and Azure's "Standard_" do not count. The order is:
//  1. fewest letters to change;
//  2. name.
//
// Example: "p5.48xlrage" is two letters from p5.48xlarge and three from g5.48xlarge.
func Suggest(name string) []string {
	type candidate struct {
		name    string
		changes int
	}
	asked := folded(name)
	if asked == "" {
		return nil
	}
	var near []candidate
	for _, known := range Names() {
		target := folded(known)
		changes := distance(asked, target)
		if 3*changes <= len(asked) || strings.HasPrefix(target, asked) {
			near = append(near, candidate{known, changes})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.changes, b.changes), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range near[:min(len(near), maxSuggestions)] {
		names = append(names, c.name)
	}
	return names
}

// folded drops what does not count when names are compared.
func folded(name string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "standard_")
}

// distance is Levenshtein's: insertions, deletions and replacements of one byte each.
func distance(a, b string) int {
	previous := make([]int, len(b)+1)
	current := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		for j := range len(b) {
			replace := previous[j]
			if a[i] != b[j] {
				replace++
			}
			current[j+1] = min(replace, previous[j+1]+1, current[j]+1)
		}
		previous, current = current, previous
	}
	return previous[len(b)]
}
