package v1alpha1

import (
	"slices"
	"strings"
)

// suggest is the known name that a mistyped one most likely meant, or "".
// maxsize and maxSzie give maxSize; a third of the letters may differ, two at most.
func suggest(typed string, known []string) string {
	const longest = 64 // No field's name is near it; bounds the work.
	if len(typed) > longest {
		return ""
	}
	best, least := "", min(len(typed)/3, 2)+1
	for _, name := range slices.Sorted(slices.Values(known)) {
		distance := editDistance(strings.ToLower(typed), strings.ToLower(name))
		if distance < least {
			best, least = name, distance
		}
	}
	return best
}

// editDistance counts the letters to insert, delete, replace or swap with a neighbour to turn a into b.
func editDistance(a, b string) int {
	// rows[i][j] is the distance of the first i bytes of a and the first j of b.
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := 1
			if a[i-1] == b[j-1] {
				replace = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
