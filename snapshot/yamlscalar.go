package snapshot

import (
	"bytes"
	"strings"
)

// What an unquoted YAML scalar is.
type plainScalar int

const (
	plainUnsure plainScalar = iota // Ask the full parser.
	plainString
	plainAsJSON // A number, true, false or null, written as in JSON.
)

// classify decides by the first byte: what starts with a letter is a string unless it is one
// of a few words, and what starts with a digit is one only in shapes that cannot be numbers.
func classify(s []byte) plainScalar {
	c := s[0]
	switch {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return classifyWord(s)
	case c == '_' || c == '/' || c == '$' || c == '(':
		return plainString
	case c >= '0' && c <= '9':
		return classifyDigits(s)
	case c == '-' && len(s) > 1:
		return classifyDash(s)
	}
	return plainUnsure
}

func classifyWord(s []byte) plainScalar {
	const longest = len("false")
	if len(s) > longest {
		return plainString
	}
	switch word := string(s); word {
	case "true", "false", "null":
		return plainAsJSON
	default:
		switch strings.ToLower(word) {
		case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
			return plainUnsure
		}
	}
	return plainString
}

// classifyDash knows negative whole numbers and flags such as --verbose.
func classifyDash(s []byte) plainScalar {
	switch c := s[1]; {
	case c >= '1' && c <= '9' && digits(s[1:]) == len(s)-1 && len(s) <= 18:
		return plainAsJSON
	case c >= 'a' && c <= 'z' || c == '-' && len(s) > 2 && s[2] >= 'a' && s[2] <= 'z':
		return plainString
	}
	return plainUnsure
}

func classifyDigits(s []byte) plainScalar {
	n := digits(s)
	switch {
	case n == len(s):
		if s[0] == '0' && n > 1 || n > 17 {
			return plainUnsure
		}
		return plainAsJSON
	case s[0] == '0':
		return plainUnsure
	case isUnit(s[n:]):
		return plainString
	case len(s) == len("00000000-0000-0000-0000-000000000000") && isUUID(s):
		return plainString
	case bytes.Count(s, []byte(".")) == 3 && digits(bytes.ReplaceAll(s, []byte("."), []byte("0"))) == len(s):
		return plainString // An IPv4 address.
	}
	return plainUnsure
}

// digits counts the leading digits.
func digits(s []byte) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func isUnit(s []byte) bool {
	switch string(s) {
	case "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "u", "n", "h", "s":
		return true
	}
	return false
}

func isUUID(s []byte) bool {
	for i, c := range s {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
