package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

func TestRootHoldsWords(t *testing.T) {
	for _, f := range sources(t) {
		if f.room != "." || f.test {
			continue
		}
		for _, d := range f.tree(t).Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				t.Errorf("%s declares a variable: the vocabulary has no state", f.name)
			}
		}
	}
}

// tree parses the whole file.
func (f source) tree(t *testing.T) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(f.fset, f.full, f.text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
