package v1alpha1

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// FuzzLoad: whatever the bytes, Load returns a configuration or an error of whole lines, never both or neither, and
// what Marshal writes loads as an equal configuration.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		fullFile,
		minimalFile,
		header,
		"",
		"---\n---\n",
		"- a\n",
		"{\"apiVersion\":\t1}",
		minimalFile + "  maxSzie: 3\n",
		minimalFile + "  maxSize: -1\n",
		minimalFile + "  pricePerHour: 1e2\n  labels: {on: \"off\", \"1\": \"2\"}\n",
		minimalFile + "  capacity: {cpu: 1e3, memory: 1.5Gi, a/b: 0.0000000001E}\n",
		minimalFile + "  available: [{from: 1970-01-01T00:00:00+14:00, until: 9999-12-31T23:59:59-14:00, size: 1}]\n",
		minimalFile + "  provisioning: {delay: 1.5h, timeout: 1ns}\n",
		minimalFile + "  instanceType: \"\\u2028\\t\\x07 é\"\n",
		header + "nodeGroups: &a\n- *a\n- <<: *a\n",
		header + "nodeGroups:\n- !!binary aGVsbG8=\n- !x {}\n- ? [a]\n  : b\n",
	} {
		f.Add([]byte(seed))
	}
	line := regexp.MustCompile(`^file\.yaml(:[0-9]+)?: .`)
	f.Fuzz(func(t *testing.T, data []byte) {
		configuration, err := Load(data, "file.yaml")
		if err != nil {
			require.Nil(t, configuration)
			for text := range strings.SplitSeq(err.Error(), "\n") {
				require.Regexp(t, line, text)
			}
			return
		}
		require.NotNil(t, configuration)
		written, err := configuration.Marshal()
		require.NoError(t, err)
		again, err := Load(written, "file.yaml")
		require.NoError(t, err, string(written))
		require.Empty(t, cmp.Diff(configuration, again))
	})
}
