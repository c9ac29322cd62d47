package snapshot

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// sameAsFullParser fails if the short way reads a text otherwise than the full parser.
func sameAsFullParser(t *testing.T, text []byte) bool {
	got, ok := blockJSON(text)
	if !ok {
		return false
	}
	want, err := yaml.YAMLToJSONStrict(text)
	require.NoError(t, err, "the full parser refuses what the short way read as %s", got)
	var gotValue, wantValue any
	require.NoError(t, json.Unmarshal(got, &gotValue), "%s", got)
	require.NoError(t, json.Unmarshal(want, &wantValue))
	require.Empty(t, cmp.Diff(wantValue, gotValue))
	return true
}

func TestBlockJSON(t *testing.T) {
	tests := map[string]struct {
		text string
		ok   bool
	}{
		"nested":                      {"a:\n  b:\n  - c: 1\n    d: x\n  - e\n  f:\n    g: {}\n    h: []\n", true},
		"comments and blank lines":    {"# a\na: 1\n\n  # b\nb:\n\n  c: d\n", true},
		"null":                        {"a:\nb: null\nc:\n  d:\n", true},
		"quoted":                      {"a: \"x\\\"y\\n: #\"\nb: 'it: # \\'\nc: \"\"\n", true},
		"words":                       {"a: true\nb: truer\nc: Always\nd: none\ne: off-peak\n", true},
		"quantities":                  {"a: 8\nb: 15500m\nc: 16Gi\nd: -3\ne: 10.0.0.1\n", true},
		"flags":                       {"- --a=b\n- -v\n- http://x/y\n- a b  \n", true},
		"literal":                     {"a: |\n  {\"x\": 1}\n    # no comment\nb: |-\n  y\nc: 1\n", true},
		"sequence under a dash":       {"-  a: 1\n   b:\n   - 2\n", true},
		"old words":                   {"a: yes\n", false},
		"other case":                  {"a: True\n", false},
		"octal":                       {"a: 010\n", false},
		"exponent":                    {"a: 1e3\n", false},
		"float":                       {"a: 1.5\n", false},
		"time":                        {"a: 2030-01-01T00:00:00Z\n", false},
		"tilde":                       {"a: ~\n", false},
		"anchor":                      {"a: &x 1\nb: *x\n", false},
		"tag":                         {"a: !!str 1\n", false},
		"flow":                        {"a: {b: c}\n", false},
		"folded":                      {"a: >\n  b\n", false},
		"plain over two lines":        {"a: b\n  c\nd: e\n", false},
		"quoted over two lines":       {"a: \"b\n  c\"\n", false},
		"repeated key":                {"a: 1\nb: 2\na: 3\n", false},
		"key that is a word":          {"on: 1\n", false},
		"comment after a value":       {"a: b # c\n", false},
		"colon within":                {"a: b: c\n", false},
		"tab":                         {"a:\tb\n", false},
		"not ASCII":                   {"a: ü\n", false},
		"literal with a blank line":   {"a: |\n  b\n\n  c\n", false},
		"literal without a line end":  {"a: |\n  b", false},
		"uneven indentation":          {"a:\n    b: 1\n  c: 2\n", false},
		"scalar":                      {"a\n", false},
		"dash in a mapping":           {"a: 1\n- b\n", false},
		"merge":                       {"a:\n  <<: b\n", false},
		"sequence within a sequence":  {"- - a\n", false},
		"single quote within":         {"a: 'it''s'\n", false},
		"text after the closing mark": {"a: \"b\" c\n", false},
		"nothing":                     {"", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.ok, sameAsFullParser(t, []byte(tc.text)))
		})
	}
}

func FuzzBlockJSON(f *testing.F) {
	f.Add([]byte("a:\n  b:\n  - c: 1\n    d: x\n  - e\n  f:\n    g: {}\n    h: []\n"))
	f.Add([]byte("a: |\n  {\"x\": 1}\nb: |-\n  y\nc: 1\n"))
	f.Add([]byte("- --a=b\n- 10.0.0.1\n- 3f2c9a44-5d5f-4d3a-9b1e-000000000000\n- 16Gi\n- 'x'\n"))
	f.Add([]byte("-  a: true\n   b:\n   - -2\n# c\n\nd"))
	f.Fuzz(func(t *testing.T, in []byte) { sameAsFullParser(t, in) })
}
