package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Load reads one configuration document (YAML or JSON), sets defaults and checks it. name is the file's name for
// messages. The error, if any, lists every mistake, in the file's order, one line each.
func Load(data []byte, name string) (*AutoscalerConfiguration, error) {
	// 1. One document, as a tree that knows its lines.
	root, found := parseDocument(data)
	if found != nil {
		return nil, joinProblems(name, []problem{*found}, nil)
	}
	// 2. The right kind of document: the fields of another kind would only drown the message.
	if found := checkHeader(root); len(found) > 0 {
		return nil, joinProblems(name, found, nil)
	}
	// 3. Every field, strictly.
	configuration := &AutoscalerConfiguration{}
	d := newDecoder(len(data))
	d.document(root, configuration)
	if d.exhausted != nil {
		return nil, joinProblems(name, []problem{*d.exhausted}, configuration.NodeGroups)
	}
	// 4. Zeros that the defaults would hide.
	d.refuse(writtenZeros(configuration, d.isWritten))
	// 5. Defaults, then the rules.
	SetDefaults(configuration)
	d.refuse(validate(configuration))
	if err := joinProblems(name, d.problems, configuration.NodeGroups); err != nil {
		return nil, err
	}
	return configuration, nil
}

// parseDocument returns the root of the only document that is not empty.
func parseDocument(data []byte) (*yaml.Node, *problem) {
	// YAML has no tabs between tokens, JSON has. In valid JSON a bare tab can't stand anywhere else.
	if bytes.IndexByte(data, '\t') >= 0 && json.Valid(data) {
		data = bytes.ReplaceAll(data, []byte("\t"), []byte(" "))
	}
	var root *yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		err := documents.Decode(&document)
		switch {
		case errors.Is(err, io.EOF) && root == nil:
			return nil, &problem{message: "holds no configuration"}
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, syntaxProblem(err)
		}
		content := document.Content[0]
		if content.ShortTag() == nullTag {
			continue
		}
		if root != nil {
			return nil, &problem{line: content.Line, message: "holds a second document, must hold one"}
		}
		root = content
	}
}

// syntaxProblem takes the line out of "yaml: line 3: did not find expected key".
func syntaxProblem(err error) *problem {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if count, _ := fmt.Sscanf(message, "line %d:", &line); count == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return &problem{line: line, message: "not valid YAML: " + message}
}

// checkHeader refuses documents of another version or kind.
func checkHeader(root *yaml.Node) []problem {
	if root.Kind != yaml.MappingNode {
		return []problem{{line: root.Line, message: fmt.Sprintf("must be a mapping with apiVersion %s and kind %s, %s",
			APIVersion, Kind, describe(root))}}
	}
	var problems []problem
	for _, want := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		path := field.NewPath(want.key)
		key, value := lookUp(root, want.key)
		switch {
		case key == nil:
			problems = append(problems, problemf(path, "is required, must be %s", want.value))
		case value.Kind != yaml.ScalarNode || value.Value != want.value:
			wrong := problemf(path, "must be %s, %s", want.value, describe(value))
			wrong.line = key.Line
			problems = append(problems, wrong)
		}
	}
	return problems
}

// lookUp finds a key of a mapping, and its value.
func lookUp(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// writtenZeros finds fields where 0 in memory means "left out" and the file says 0: a `timeout: 0s` must not
// silently become 15m.
func writtenZeros(c *AutoscalerConfiguration, isWritten func(*field.Path) bool) []problem {
	var problems []problem
	for i, group := range c.NodeGroups {
		path := groupPath(i)
		for _, zero := range []struct {
			path    *field.Path
			isZero  bool
			message string
		}{
			{path.Child("unit"), group.Unit == 0, "must be at least 1, is 0"},
			{path.Child("sharing", "replicas"), group.Sharing.Replicas == 0, "must be at least 1, is 0"},
			{path.Child("provisioning", "timeout"), group.Provisioning.Timeout.Duration == 0, "must be more than 0, is 0s"},
		} {
			if zero.isZero && isWritten(zero.path) {
				problems = append(problems, problemf(zero.path, "%s", zero.message))
			}
		}
	}
	return problems
}
