package objects

import (
	"strconv"

	"gopkg.in/yaml.v3"
)

// Place returns where the value stands that path leads to: a field, then keys of
// mappings and indices of lists ("0" is the first). Where that is not known, it is
// the place of the nearest value around it, and at last where the metadata begins.
// Line and column are 1-based; a column of 0 means the whole line. It costs a
// reading of the metadata, so it is for telling people about mistakes.
func (it *Item) Place(path ...string) (line, column int) {
	v := validator{it: it}
	at := v.start()
	if len(path) == 0 {
		return at.line, at.col
	}
	if m, ok := it.places[path[0]]; ok {
		at = m
	}
	if len(path) > 1 && it.yaml != nil {
		if root, err := yamlTree(it.Path, it.yaml, MaxMetaSize, it.yamlAt); err == nil && root != nil {
			at = placeIn(root, path, at)
		}
	}
	return at.line, at.col
}

// placeIn follows path down from n, as far as it goes; at is where n is named.
func placeIn(n *yaml.Node, path []string, at mark) mark {
	if len(path) == 0 {
		return at
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Value == path[0] {
				return placeIn(n.Content[i+1], path[1:], mark{k.Line, k.Column})
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(n.Content) {
			return placeIn(n.Content[i], path[1:], mark{n.Content[i].Line, n.Content[i].Column})
		}
	}
	return at
}
