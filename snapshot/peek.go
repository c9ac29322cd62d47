package snapshot

import (
	"bytes"
	"encoding/json"
)

// peek finds apiVersion and kind at the top level of an object of valid JSON, and stops when
// it has both: in what kubectl writes they stand first. Decoding a struct instead would read
// every object twice.
func peek(raw []byte) typeMeta {
	var tm typeMeta
	i := bytes.IndexByte(raw, '{') + 1
	for i > 0 && i < len(raw) && (tm.apiVersion == "" || tm.kind == "") {
		switch raw[i] {
		case '"':
			end := skipString(raw, i)
			name := raw[i+1 : end-1]
			start := end + 1 + bytes.IndexByte(raw[end:], ':')
			i = skipValue(raw, start)
			switch string(name) {
			case "apiVersion":
				tm.apiVersion = stringValue(raw[start:i])
			case "kind":
				tm.kind = stringValue(raw[start:i])
			}
		case '}':
			return tm
		default:
			i++
		}
	}
	return tm
}

// stringValue is empty for anything but a string.
func stringValue(raw []byte) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return ""
	}
	return s
}

// skipString returns the index after the string that starts at i.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// skipValue returns the index after the value that starts at or behind i: that of the comma
// or brace that ends it.
func skipValue(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
