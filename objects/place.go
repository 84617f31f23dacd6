package objects

import (
	"strconv"

	"gopkg.in/yaml.v3"
)

// Place returns the place of the value that path leads to: a field, then keys of
// mappings and indices of lists ("0" is the first). If it is unknown, the result is the
// place of the nearest value around it or, last, the beginning of the metadata. Line
// and column are 1-based; a column of 0 means the whole line. Place parses the
// metadata again, so use it only to report mistakes.
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

// placeIn follows path down from n as far as possible; at is the place of n's name.
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
