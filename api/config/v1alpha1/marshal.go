package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Marshal writes the configuration as YAML that Load reads back to an equal configuration, if it is a valid one.
// Fields come in the order of the types; apiVersion and kind need not be set. It does not validate.
func (c *AutoscalerConfiguration) Marshal() ([]byte, error) {
	if c == nil {
		return nil, errors.New("no configuration to marshal")
	}
	whole := *c
	whole.APIVersion, whole.Kind = APIVersion, Kind
	if whole.NodeGroups == nil {
		whole.NodeGroups = []NodeGroup{}
	}
	asJSON, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	// JSON is YAML: only its style differs.
	var document yaml.Node
	if err := yaml.Unmarshal(asJSON, &document); err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	restyle(&document)
	apiVersionFirst(document.Content[0])
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(&document); err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("marshal configuration: %w", err)
	}
	return out.Bytes(), nil
}

// apiVersionFirst swaps the first two fields: metav1.TypeMeta has kind before apiVersion, files have it after.
func apiVersionFirst(root *yaml.Node) {
	fields := root.Content
	fields[0], fields[1], fields[2], fields[3] = fields[2], fields[3], fields[0], fields[1]
}

// restyle turns JSON's braces and quotes into YAML's blocks and plain words, where these can't be misread.
func restyle(n *yaml.Node) {
	switch {
	case n.Kind == yaml.ScalarNode && isPlainWord(n.Value):
		n.Style = 0
	case n.Kind != yaml.ScalarNode && len(n.Content) > 0:
		n.Style = 0
	}
	for _, child := range n.Content {
		restyle(child)
	}
}

// isPlainWord says whether every YAML reader, old and new, takes the unquoted text for a string.
func isPlainWord(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if text == "" || !strings.Contains(letters, text[:1]) || strings.Trim(text, letters+"0123456789-_./") != "" {
		return false
	}
	notStrings := []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
	return !slices.Contains(notStrings, strings.ToLower(text))
}
