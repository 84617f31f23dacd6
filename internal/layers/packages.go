package layers

import (
	"errors"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is one package of the module with the sentence that its comment begins with.
type Package struct {
	Path    string // below the module, with slashes; "." is the module's root
	Summary string // the first sentence without "Package x", or "Command x"
}

// maxSummary bounds the first sentence of a package comment, in words.
const maxSummary = 40

// Packages reads the comment of every package below root, the directory of a module, and
// returns the packages by path. Modules inside the module, tests and testdata are left out.
// Each package has exactly one comment. It begins with one sentence, "Package x ..." or
// "Command x ...", which ends with a period and is at most maxSummary words long. The error
// names every package for which this is not so.
func Packages(root string) ([]Package, error) {
	texts := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, name, d)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		room := filepath.ToSlash(rel)
		found := texts[room]
		if tree.Doc != nil {
			found = append(found, comment(tree.Name.Name, room, tree.Doc.Text()))
		}
		texts[room] = found // of a package without a comment, too
		return nil
	})
	var all []Package
	problems := []error{err}
	for room, found := range texts {
		switch {
		case len(found) != 1:
			problems = append(problems, fmt.Errorf("package %s has %d comments, want 1", room, len(found)))
		case found[0] == "":
			problems = append(problems, fmt.Errorf("the comment of package %s does not begin with a sentence about it of at most %d words", room, maxSummary))
		default:
			all = append(all, Package{room, found[0]})
		}
	}
	slices.SortFunc(all, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return all, errors.Join(problems...)
}

// comment returns the summary in the text of a package comment, or "".
func comment(name, room, text string) string {
	begin := "Package " + name + " "
	if name == "main" {
		begin = "Command " + path.Base(room) + " "
	}
	summary, ok := strings.CutPrefix(new(doc.Package).Synopsis(text), begin)
	if !ok || !strings.HasSuffix(summary, ".") || len(strings.Fields(summary)) > maxSummary {
		return ""
	}
	return strings.TrimSuffix(summary, ".")
}

// skipDir leaves out directories that hold no packages of the module.
func skipDir(root, name string, d fs.DirEntry) error {
	if name == root {
		return nil
	}
	if strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "vendor", "bin", "dist"}, d.Name()) {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}
