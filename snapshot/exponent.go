package snapshot

import (
	"reflect"

	kjson "sigs.k8s.io/json"
)

// maxExponentDigits bounds the exponent of quantities. The parser computes 10 to the power of
// it: "1e-2147483647" would keep it busy for hours.
const maxExponentDigits = 2

// exponents refuses quantities with absurd exponents before a parser sees them.
func exponents(t reflect.Type, raw []byte) []error {
	if !hasLongExponent(raw) {
		return nil
	}
	var value any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &value); err != nil {
		return []error{err}
	}
	w := mismatches{onlyExponents: true}
	w.walk(t, value, "")
	return w.errs
}

// hasLongExponent tells whether a number or a string is written with an exponent of more
// digits. It need not be a quantity: "12e345" may be a commit.
func hasLongExponent(raw []byte) bool {
	for i := 1; i < len(raw); i++ {
		if raw[i] != 'e' && raw[i] != 'E' || !isMantissa(raw[i-1]) {
			continue
		}
		end := i + 1
		if end < len(raw) && (raw[end] == '-' || raw[end] == '+') {
			end++
		}
		n := digits(raw[end:])
		if end += n; n <= maxExponentDigits || end < len(raw) && isWordByte(raw[end]) {
			continue
		}
		start := i - 1
		for start > 0 && isMantissa(raw[start-1]) {
			start--
		}
		if start == 0 || !isWordByte(raw[start-1]) {
			return true
		}
	}
	return false
}

func isMantissa(c byte) bool { return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' }

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isMantissa(c)
}
