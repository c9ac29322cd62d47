package v1alpha1

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tags that the YAML reader gives to plain values.
const (
	stringTag    = "!!str"
	integerTag   = "!!int"
	floatTag     = "!!float"
	booleanTag   = "!!bool"
	nullTag      = "!!null"
	timestampTag = "!!timestamp"
	mergeTag     = "!!merge"
)

// scalarReader returns what reads a node into a value of into's type, or nil if the type isn't written as one scalar.
func scalarReader(into reflect.Value) func(*yaml.Node) error {
	switch target := into.Addr().Interface().(type) {
	case *MicroDollars:
		return func(n *yaml.Node) error { return assign(target, n, moneyOf) }
	case *resource.Quantity:
		return func(n *yaml.Node) error { return assign(target, n, quantityOf) }
	case *metav1.Time:
		return func(n *yaml.Node) error { return assign(target, n, timeOf) }
	case *metav1.Duration:
		return func(n *yaml.Node) error { return assign(target, n, durationOf) }
	}
	switch into.Kind() {
	case reflect.String:
		return func(n *yaml.Node) error {
			text, err := stringOf(n)
			into.SetString(text)
			return err
		}
	case reflect.Bool:
		return func(n *yaml.Node) error {
			value, err := booleanOf(n)
			into.SetBool(value)
			return err
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return func(n *yaml.Node) error {
			value, err := integerOf(n)
			if err == nil && into.OverflowInt(value) {
				return fmt.Errorf("is too large: %d", value)
			}
			into.SetInt(value)
			return err
		}
	default:
		return nil
	}
}

func assign[T any](target *T, node *yaml.Node, read func(*yaml.Node) (T, error)) error {
	value, err := read(node)
	if err == nil {
		*target = value
	}
	return err
}

func isNull(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Kind == yaml.ScalarNode && n.ShortTag() == nullTag
}

// stringOf refuses numbers and booleans: a label `team: 1` or `gpu: true` that lost its quotes is refused by the API
// server too. Dates are text.
func stringOf(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("must be a string, %s", describe(n))
	}
	switch n.ShortTag() {
	case stringTag, timestampTag:
		return n.Value, nil
	case integerTag, floatTag, booleanTag:
		return "", fmt.Errorf("must be a string, %s: put it in quotes", describe(n))
	default:
		return "", fmt.Errorf("must be a string, %s", describe(n))
	}
}

// booleanOf takes true and false in YAML's three spellings; yes, on and 1 are refused.
func booleanOf(n *yaml.Node) (bool, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == booleanTag {
		switch n.Value {
		case "true", "True", "TRUE":
			return true, nil
		case "false", "False", "FALSE":
			return false, nil
		}
	}
	return false, fmt.Errorf("must be true or false, %s", describe(n))
}

// integerOf takes plain decimals. 010, 0x10 and 1_000 mean different things to different YAML readers.
func integerOf(n *yaml.Node) (int64, error) {
	isNumber := n.Kind == yaml.ScalarNode && (n.ShortTag() == integerTag || n.ShortTag() == floatTag)
	digits := strings.TrimLeft(n.Value, "+-")
	if !isNumber || strings.Trim(digits, "0123456789") != "" || (len(digits) > 1 && digits[0] == '0') {
		return 0, fmt.Errorf("must be a whole number in decimal, %s", describe(n))
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("is too large: %s", shorten(n.Value))
	}
	return value, nil
}

// numberText is the text of a number or a string, from which money and quantities are read digit by digit.
func numberText(n *yaml.Node) (string, bool) {
	tag := n.ShortTag()
	return n.Value, n.Kind == yaml.ScalarNode && (tag == stringTag || tag == integerTag || tag == floatTag)
}

func moneyOf(n *yaml.Node) (MicroDollars, error) {
	text, isText := numberText(n)
	if !isText {
		return 0, fmt.Errorf("%w, %s", errNotMoney, describe(n))
	}
	value, err := parseMoney(text)
	if err != nil {
		return 0, fmt.Errorf("%w, %s", err, describe(n))
	}
	return value, nil
}

func quantityOf(n *yaml.Node) (resource.Quantity, error) {
	text, isText := numberText(n)
	if !isText {
		return resource.Quantity{}, fmt.Errorf("must be a quantity such as 8 or 80Gi, %s", describe(n))
	}
	if !isSaneQuantity(text) {
		return resource.Quantity{}, fmt.Errorf("is out of range: %s", shorten(text))
	}
	value, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, fmt.Errorf("must be a quantity such as 8 or 80Gi, %s", describe(n))
	}
	return value, nil
}

// isSaneQuantity bounds length and exponent. Quantity's arithmetic writes 1e999999999 out in full.
func isSaneQuantity(text string) bool {
	const longest, largest = 40, 18
	if len(text) > longest {
		return false
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[at+1:])
	if errors.Is(err, strconv.ErrRange) {
		return false
	}
	return err != nil || max(exponent, -exponent) <= largest // Not a number: the suffix E or Ei, or none.
}

// timeOf reads RFC3339 into UTC, whatever zone the process runs in. Years are bounded and fractions of seconds
// refused because a metav1.Time could not be written back with them.
func timeOf(n *yaml.Node) (metav1.Time, error) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || (tag != stringTag && tag != timestampTag) {
		return metav1.Time{}, fmt.Errorf("must be a time such as 2030-01-31T20:00:00Z, %s", describe(n))
	}
	value, err := time.Parse(time.RFC3339, n.Value)
	value = value.UTC()
	switch {
	case err != nil:
		return metav1.Time{}, fmt.Errorf("must be a time such as 2030-01-31T20:00:00Z, %s", describe(n))
	case value.Nanosecond() != 0:
		return metav1.Time{}, fmt.Errorf("must be a whole second, %s", describe(n))
	case value.Year() < 1970 || value.Year() > 9999:
		return metav1.Time{}, fmt.Errorf("must be in the years 1970 to 9999, %s", describe(n))
	}
	return metav1.NewTime(value), nil
}

func durationOf(n *yaml.Node) (metav1.Duration, error) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == stringTag {
		if value, err := time.ParseDuration(n.Value); err == nil {
			return metav1.Duration{Duration: value}, nil
		}
	}
	return metav1.Duration{}, fmt.Errorf("must be a duration with a unit such as 6m or 1h30m, %s", describe(n))
}

// describe says what a node is, for the end of a message.
func describe(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		return "is a list"
	case yaml.MappingNode:
		return "is a mapping"
	}
	switch n.ShortTag() {
	case nullTag:
		return "is empty"
	case integerTag, floatTag, booleanTag:
		return "is " + strings.Trim(shorten(n.Value), `"`)
	default:
		return "is " + shorten(n.Value)
	}
}
