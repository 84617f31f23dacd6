package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.." // of the module, seen from this package

// A source is one Go file, whatever system its build tags ask for.
type source struct {
	room    string // its package's path below the module; "." at the root
	floor   int
	name    string // slash path below the module
	full    string
	text    []byte
	lines   int
	test    bool
	program bool // package main
	imports []string
	fset    *token.FileSet
}

// sources reads every Go file of the module. Opening them here, in the test, is
// what makes go test notice when one changes.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, p, d)
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := read(p)
		if err == nil {
			all = append(all, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d Go files below %s: not the module", len(all), root)
	}
	return all
}

func read(p string) (source, error) {
	text, err := os.ReadFile(p)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return source{}, err
	}
	name := filepath.ToSlash(rel)
	f := source{room: path.Dir(name), name: name, full: p, text: text, fset: token.NewFileSet(),
		lines: strings.Count(string(text), "\n"), test: strings.HasSuffix(name, "_test.go")}
	if r, ok := find(f.room); ok {
		f.floor = r.floor
	}
	tree, err := parser.ParseFile(f.fset, p, text, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	f.program = tree.Name.Name == "main"
	for _, imp := range tree.Imports {
		s, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return source{}, err
		}
		f.imports = append(f.imports, s)
	}
	return f, nil
}

// rooms counts the lines of each room, tests left out.
func rooms(files []source) map[string]int {
	n := make(map[string]int)
	for _, f := range files {
		if !f.test {
			n[f.room] += f.lines
		}
	}
	return n
}

func find(path string) (room, bool) {
	for _, r := range house {
		if r.path == path {
			return r, true
		}
	}
	return room{}, false
}

// inside returns the room that an import path names, if it is one of ours.
func inside(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

// outside reports whether an import path is neither ours nor Go's own library.
func outside(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	_, ours := inside(imp)
	return !ours && strings.Contains(first, ".")
}

// within reports whether path is one of the prefixes or below one.
func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// under reports whether room is path, or below it when path ends with a slash.
func under(room, path string) bool {
	return room == path || strings.HasSuffix(path, "/") && strings.HasPrefix(room, path)
}
