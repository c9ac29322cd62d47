package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// moneyDecimals is how many decimals of a dollar a MicroDollars holds.
const moneyDecimals = 6

var (
	errNotMoney     = errors.New("must be an amount of dollars such as 98.32")
	errTooPrecise   = errors.New("must have at most 6 decimals")
	errTooMuchMoney = errors.New("is more than can be counted")
)

// String is the amount in dollars with no more decimals than it needs: "98.32".
func (m MicroDollars) String() string {
	sign, micros := "", uint64(m)
	if m < 0 {
		sign, micros = "-", -micros // Unsigned, so that the least int64 has an opposite.
	}
	decimals := strings.TrimRight(fmt.Sprintf("%0*d", moneyDecimals, micros%1e6), "0")
	if decimals != "" {
		decimals = "." + decimals
	}
	return sign + strconv.FormatUint(micros/1e6, 10) + decimals
}

// Dollars is the exact amount for people, with at least two decimals: "$24.10", "$0.8064".
func (m MicroDollars) Dollars() string {
	s := m.String()
	switch dot := strings.IndexByte(s, '.'); {
	case dot < 0:
		s += ".00"
	case len(s)-dot == 2:
		s += "0"
	}
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		return "-$" + rest
	}
	return "$" + s
}

// MarshalJSON writes a number of dollars, the shortest that is exact.
func (m MicroDollars) MarshalJSON() ([]byte, error) {
	return []byte(m.String()), nil
}

// UnmarshalJSON reads a number of dollars, or a string that holds one. Nothing is rounded: what micro-dollars can't
// hold is an error. null changes nothing, as for every JSON number.
func (m *MicroDollars) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	parsed, err := parseMoney(text)
	if err != nil {
		return fmt.Errorf("%w, is %s", err, shorten(text))
	}
	*m = parsed
	return nil
}

// parseMoney reads decimal text, with an exponent or without: "98.32", "-1", ".5", "1e2".
// It works on digits alone, so that 0.1 is a tenth: 1.0000001 is refused, 1.0000000 is 1.
func parseMoney(text string) (MicroDollars, error) {
	number, err := splitDecimal(text)
	if err != nil {
		return 0, err
	}
	digits := strings.TrimLeft(number.digits, "0")
	if digits == "" {
		return 0, nil
	}
	significant := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(significant) + moneyDecimals + number.exponent
	if zeros < 0 {
		return 0, errTooPrecise
	}
	if len(significant)+zeros > len("9223372036854775807") {
		return 0, errTooMuchMoney
	}
	micros, err := strconv.ParseInt(number.sign+significant+strings.Repeat("0", zeros), 10, 64)
	if err != nil {
		return 0, errTooMuchMoney
	}
	return MicroDollars(micros), nil
}

// decimal is sign, digits × 10^exponent.
type decimal struct {
	sign, digits string
	exponent     int
}

// splitDecimal takes decimal text apart. The exponent is bounded, so that sums with it are safe.
func splitDecimal(text string) (decimal, error) {
	var number decimal
	switch {
	case strings.HasPrefix(text, "-"):
		number.sign, text = "-", text[1:]
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent, err := strconv.ParseInt(text[at+1:], 10, 16)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return decimal{}, errors.New("has too large an exponent")
		case err != nil:
			return decimal{}, errNotMoney
		}
		number.exponent, text = int(exponent), text[:at]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	number.digits = whole + fraction
	number.exponent -= len(fraction)
	if number.digits == "" || strings.Trim(number.digits, "0123456789") != "" {
		return decimal{}, errNotMoney
	}
	return number, nil
}
