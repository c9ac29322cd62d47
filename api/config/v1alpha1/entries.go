package v1alpha1

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// entry is one key of a mapping with its value.
type entry struct {
	key   string
	line  int
	value *yaml.Node
}

// entries lists a mapping's own keys in their order, then those that it merges (`<<: *defaults`) and does not set.
// child makes the path of a key. A key that is set twice is reported, and the first value kept.
func (d *decoder) entries(node *yaml.Node, path *field.Path, child func(string) *field.Path, depth int) ([]entry, bool) {
	if node.Kind != yaml.MappingNode {
		return nil, d.fail(path, node.Line, "must be a mapping, %s", describe(node))
	}
	isRead := true
	var entries []entry
	var merged []*yaml.Node
	firstLine := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.ShortTag() == mergeTag {
			merged = append(merged, value)
			continue
		}
		text, err := stringOf(key)
		if err != nil {
			isRead = d.fail(path, key.Line, "has a key that %v", err)
			continue
		}
		if line, isTwice := firstLine[text]; isTwice {
			isRead = d.fail(child(text), key.Line, "is set twice, first in line %d", line)
			continue
		}
		firstLine[text] = key.Line
		entries = append(entries, entry{key: text, line: key.Line, value: value})
	}
	for _, source := range merged {
		more, isMerged := d.merge(source, path, child, depth+1)
		isRead = isRead && isMerged
		for _, e := range more {
			if _, isSet := firstLine[e.key]; !isSet {
				firstLine[e.key] = e.line
				entries = append(entries, e)
			}
		}
	}
	return entries, isRead
}

// merge lists the keys that one `<<` brings: those of a mapping, or of a list of mappings, the first of which wins.
func (d *decoder) merge(source *yaml.Node, path *field.Path, child func(string) *field.Path, depth int) ([]entry, bool) {
	if !d.spend(1+len(source.Content), depth) {
		return nil, d.exhaust(path, source.Line)
	}
	switch source.Kind {
	case yaml.AliasNode:
		return d.merge(source.Alias, path, child, depth+1)
	case yaml.MappingNode:
		return d.entries(source, path, child, depth)
	case yaml.SequenceNode:
		isRead := true
		var all []entry
		for _, element := range source.Content {
			more, isMerged := d.merge(element, path, child, depth+1)
			all, isRead = append(all, more...), isRead && isMerged
		}
		return all, isRead
	default:
		return nil, d.fail(path, source.Line, "has a << that is not a mapping, %s", describe(source))
	}
}
