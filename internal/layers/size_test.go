package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The house stays a house by numbers: a root that holds words only, a facade that reads
// straight down, rooms and types that fit in a head.
const (
	mostRootFiles   = 10
	mostFacadeLines = 15   // of a method of the facade, from its func to its brace
	mostRoomLines   = 3200 // of code, of a room of the facade
	mostMethods     = 25   // of a type
)

// large lists the types that had more methods when the rule was made. A number here may
// only get smaller.
var large = map[string]int{
	"store/space.Layer":   60,
	"store/space.Stack":   42,
	"store.Repo":          77,
	"store.diskObjects":   33,
	"store.files":         56,
	"registry.Registry":   50,
	"objects/trust.Store": 83,
	"store.pack":          26,
	"objects.parser":      36,
	"chain.Plan":          39,
}

func TestRootHoldsWords(t *testing.T) {
	n := 0
	for _, f := range sources(t) {
		if f.room != "." || f.test {
			continue
		}
		n++
		for _, d := range f.tree(t).Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				t.Errorf("%s declares a variable: the vocabulary has no state", f.name)
			}
		}
	}
	if n > mostRootFiles {
		t.Errorf("the root holds %d Go files, at most %d", n, mostRootFiles)
	}
}

func TestFacadeIsShort(t *testing.T) {
	methods := 0
	for _, f := range sources(t) {
		if f.room != "workspace" || f.test {
			continue
		}
		for _, d := range f.tree(t).Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			methods++
			if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > mostFacadeLines {
				t.Errorf("%s: %s has %d lines, at most %d: what it does belongs into a room", f.name, fn.Name.Name, n, mostFacadeLines)
			}
		}
	}
	if methods < 50 {
		t.Errorf("only %d methods were found: is this looking in the right place?", methods)
	}
}

func TestTypesFitInAHead(t *testing.T) {
	count := map[string]int{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, d := range f.tree(t).Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && len(fn.Recv.List) == 1 {
				count[f.room+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for name, n := range count {
		if most := max(mostMethods, large[name]); n > most {
			t.Errorf("%s has %d methods, at most %d", name, n, most)
		}
	}
	for name, n := range large {
		if count[name] < n {
			t.Errorf("%s has %d methods now: lower its number, or take it off the list", name, count[name])
		}
		if strings.HasPrefix(name, "workspace") || strings.HasPrefix(name, "..") {
			t.Errorf("%s may not be on the list", name)
		}
	}
}

// receiver names the type of a method's receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprint(e)
}

func TestRoomsOfTheFacade(t *testing.T) {
	code, imports := map[string]int{}, map[string][]string{}
	for _, f := range sources(t) {
		if !strings.HasPrefix(f.room, "workspace/internal/") || f.test {
			continue
		}
		code[f.room] += codeLines(f.text)
		for _, imp := range f.imports {
			if in, ok := inside(imp); ok && !slices.Contains(imports[f.room], in) {
				imports[f.room] = append(imports[f.room], in)
			}
		}
	}
	for room, n := range code {
		t.Logf("%-28s %5d lines of code", room, n)
		if n > mostRoomLines {
			t.Errorf("%s has %d lines of code, at most %d", room, n, mostRoomLines)
		}
		by := 0
		for other := range code {
			if slices.Contains(imports[other], room) {
				by++
			}
		}
		if all := by == len(code)-1; all != (room == "workspace/internal/session") {
			t.Errorf("%s is imported by %d of %d other rooms: session, and no other, is what all share", room, by, len(code)-1)
		}
	}
}

// codeLines counts the lines that hold a token other than a comment.
func codeLines(text []byte) int {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for i := range strings.Count(lit, "\n") + 1 {
			lines[first+i] = true
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
