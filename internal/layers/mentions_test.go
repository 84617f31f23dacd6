package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestMentions follows the names of files and of Go identifiers that pages and Go comments
// mention, so that none outlives a rename. The pages are docs/*.md, docs/format/*.md, README.md,
// CONTRIBUTING.md and SECURITY.md; docs/cli is generated.
//
// In a page only text between single backquotes counts, and code fences do not:
//
//   - A path whose first part is a directory of the module has to exist; it may hold stars.
//     Below testdata it may be of any package.
//   - A name such as execute.go has to be some Go file of the module.
//   - package.Name, package.Type.Name and Type.Name have to be declared when the package, or the
//     exported type, is one of the module. A package that is unknown here, such as os, is skipped.
//   - A name that begins with Test, Benchmark or Fuzz has to be declared. A star or an ellipsis
//     behind it stands for the rest of the name.
//   - A name directly before a file, as in `carryOut` (`acts.go`), has to stand in that file.
//
// In a Go comment, where most text is prose, less counts:
//
//   - A path as above that ends in an extension has to exist below the root or the package.
//   - package.Name and package.Type.Name count as in a page, unless the file or a declaration of
//     its package means something else by the first part.
//   - Type.Name counts when Type is an exported type of the comment's package.
//   - The names of tests count as in a page.
func TestMentions(t *testing.T) {
	m := newModuleNames(t)
	t.Run("bites", m.bites)
	for _, f := range m.files {
		for _, c := range f.comments {
			for _, problem := range m.inComment(f, c.text) {
				t.Errorf("%s:%d: %s", f.name, c.line, problem)
			}
		}
	}
	for _, name := range pagesToRead(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range m.inPage(string(text)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// bites shows that the rules refuse.
func (m *moduleNames) bites(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"`store/edit.go` `docs/format/` `workspace/internal/run` `internal/tools/*`", ""},
		{"`store/gone.go`", "store/gone.go"},
		{"`internal/gone`", "internal/gone"},
		{"`gone.go` and `edit.go`", "gone.go"},
		{"`oplog.Apply`, `os.Root`, `trust.Verified`", ""},
		{"`oplog.Gone`", "oplog.Gone"},
		{"`Repo.Edit`, `store.Repo.Edit`, `rye.Client()`", ""},
		{"`Repo.Gone`", "Repo.Gone"},
		{"`store.Repo.Gone`", "store.Repo.Gone"},
		{"`TestNoSuchThing`", "TestNoSuchThing"},
		{"`TestMent*` `TestMent…` `internal/place.OnWait` `testdata/bad`", ""},
		{"`TestNoSuch*`", "TestNoSuch"},
		{"`internal/place.Gone`", "place.Gone"},
		{"`carryOut` (`acts.go`), `Runner.Execute`\n(`execute.go`)", ""},
		{"`carriedOut` (`acts.go`)", "carriedOut"},
		{"```\n`store/gone.go`\n```\n", ""},
	} {
		got := strings.Join(m.inPage(c.text), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	f := m.files[slices.IndexFunc(m.files, func(f namedFile) bool { return f.name == "store/edit.go" })]
	for _, c := range []struct{ text, want string }{
		{"see Repo.Edit, fault.Is, transport.Dial, files.read and docs/format/store.md", ""},
		{"see Repo.Gone", "Repo.Gone"},
		{"see fault.Gone", "fault.Gone"},
		{"docs/format/gone.md", "docs/format/gone.md"},
		{"measured by BenchmarkGone", "BenchmarkGone"},
	} {
		got := strings.Join(m.inComment(f, c.text), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("comment %q: %q, want %q", c.text, got, c.want)
		}
	}
}

// moduleNames is everything in the module that can be mentioned.
type moduleNames struct {
	files    []namedFile
	packages map[string][]*packageNames // by the package's name; many may have the same
	tops     []string                   // directories of the root
	tests    []string                   // declared names that begin with Test, Benchmark or Fuzz
}

// packageNames are the declarations of one package, tests included.
type packageNames struct {
	top     map[string]bool
	members map[string]map[string]bool // of a type: methods and fields
	embeds  map[string][]string        // of a type: the types that it embeds
}

// namedFile is one Go file.
type namedFile struct {
	name     string // slash path below the module
	pkg      *packageNames
	text     []byte
	imports  map[string]string // the file's name of a package -> its path
	comments []commentText
	decls    []ast.Decl
}

type commentText struct {
	line int
	text string
}

func newModuleNames(t *testing.T) *moduleNames {
	t.Helper()
	all := sources(t)
	m := &moduleNames{files: make([]namedFile, len(all)), packages: map[string][]*packageNames{}}
	names := make([]string, len(all))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range all {
		g.Go(func() error {
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, s.full, s.text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			f := namedFile{name: s.name, text: s.text, imports: map[string]string{}, decls: tree.Decls}
			for _, imp := range tree.Imports {
				p := strings.Trim(imp.Path.Value, `"`)
				f.imports[path.Base(p)] = p
				if imp.Name != nil {
					f.imports[imp.Name.Name] = p
				}
			}
			for _, c := range tree.Comments {
				f.comments = append(f.comments, commentText{fset.Position(c.Pos()).Line, c.Text()})
			}
			m.files[i], names[i] = f, strings.TrimSuffix(tree.Name.Name, "_test")
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	rooms := map[string]*packageNames{}
	for i := range m.files {
		f := &m.files[i]
		f.pkg = rooms[path.Dir(f.name)]
		if f.pkg == nil {
			f.pkg = &packageNames{map[string]bool{}, map[string]map[string]bool{}, map[string][]string{}}
			rooms[path.Dir(f.name)] = f.pkg
			m.packages[names[i]] = append(m.packages[names[i]], f.pkg)
		}
		for _, d := range f.decls {
			m.declare(f, d)
		}
		f.decls = nil
	}
	delete(m.packages, "main")
	dirs, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && !strings.HasPrefix(d.Name(), ".") && d.Name() != "bin" && d.Name() != "dist" {
			m.tops = append(m.tops, d.Name())
		}
	}
	return m
}

func (m *moduleNames) declare(f *namedFile, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		m.test(d.Name.Name)
		if d.Recv != nil {
			f.pkg.member(typeName(d.Recv.List[0].Type), d.Name.Name)
			return
		}
		f.pkg.top[d.Name.Name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					f.pkg.top[n.Name] = true
				}
			case *ast.TypeSpec:
				m.test(s.Name.Name)
				f.pkg.top[s.Name.Name] = true
				f.pkg.typ(s.Name.Name, s.Type)
			}
		}
	}
}

// test notes a name that looks like a test's.
func (m *moduleNames) test(name string) {
	if testName.MatchString(name) {
		m.tests = append(m.tests, name)
	}
}

func (p *packageNames) member(typ, name string) {
	if p.members[typ] == nil {
		p.members[typ] = map[string]bool{}
	}
	p.members[typ][name] = true
}

// typ notes the fields and methods that a type's own expression has.
func (p *packageNames) typ(name string, e ast.Expr) {
	p.member(name, "") // a type without members is a type, too
	var fields *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		if of := typeName(e); of != "" {
			p.embeds[name] = append(p.embeds[name], of)
		}
		return
	}
	for _, field := range fields.List {
		if of := typeName(field.Type); len(field.Names) == 0 && of != "" {
			p.member(name, of)
			p.embeds[name] = append(p.embeds[name], of)
		}
		for _, n := range field.Names {
			p.member(name, n.Name)
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// has reports whether package p declares the name, and its member if one is given. The type of
// a variable is not followed. An embedded type is any type of the module with that name; where
// there is none, it is from outside and may have every member.
func (m *moduleNames) has(p *packageNames, name, member string) bool {
	members, isType := p.members[name]
	if !p.top[name] || member == "" || !isType || members[member] {
		return p.top[name]
	}
	for _, of := range p.embeds[name] {
		inside := false
		for _, packages := range m.packages {
			for _, q := range packages {
				if q.members[of] == nil || q == p && of == name {
					continue
				}
				inside = true
				if q.members[of][member] {
					return true
				}
			}
		}
		if !inside {
			return true
		}
	}
	return false
}

// known reports whether one of the packages has the name.
func (m *moduleNames) known(packages []*packageNames, name, member string) bool {
	return slices.ContainsFunc(packages, func(p *packageNames) bool { return m.has(p, name, member) })
}

// otherNames are tests of other projects, by the file whose comments mention them.
var otherNames = map[string][]string{
	"store/gogit/suite_test.go": {"TestObjectStorerTx", "TestDeltaObjectStorer"}, // go-git's suite
}

var (
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	before    = regexp.MustCompile("`([\\w.]+)`\\s+\\(`([\\w./-]+\\.go)`")
	filePath  = regexp.MustCompile(`^[a-zA-Z][\w-]*(/[\w.*-]+)*/?$`)
	goFile    = regexp.MustCompile(`^\w+\.go$`)
	inPackage = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?\b`)
	ofType    = regexp.MustCompile(`(?:^|[^\w.])([A-Z]\w*)\.([A-Z]\w*)\b`)
	testName  = regexp.MustCompile(`\b((?:Test|Benchmark|Fuzz)[A-Z]\w*)([*…]?)`)
	member    = regexp.MustCompile(`^((?:[\w-]+/)+[\w-]+)\.([A-Z]\w*)$`)
	extension = regexp.MustCompile(`(?:^|[\s("'])((?:[\w-]+/)+[\w*-]+\.(?:go|md|yaml|star|sh|txtar|s))\b`)
)

func (m *moduleNames) inPage(text string) (problems []string) {
	text = fence.ReplaceAllString(text, "")
	for _, x := range quoted.FindAllStringSubmatch(text, -1) {
		word := x[1]
		if y := member.FindStringSubmatch(word); y != nil {
			word = path.Base(y[1]) + "." + y[2]
			if !m.there(y[1]) {
				word = y[1]
			}
		}
		switch {
		case filePath.MatchString(word) && strings.Contains(word, "/"):
			if !m.there(word) {
				problems = append(problems, word+" does not exist")
			}
		case goFile.MatchString(word):
			if !slices.ContainsFunc(m.files, func(f namedFile) bool { return path.Base(f.name) == word }) {
				problems = append(problems, "no file is called "+word)
			}
		default:
			problems = append(problems, m.identifiers(word, nil)...)
		}
	}
	for _, x := range before.FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`\b` + x[1][strings.LastIndexByte(x[1], '.')+1:] + `\b`)
		if !slices.ContainsFunc(m.files, func(f namedFile) bool {
			return strings.HasSuffix("/"+f.name, "/"+x[2]) && name.Match(f.text)
		}) {
			problems = append(problems, fmt.Sprintf("%s is not in %s", x[1], x[2]))
		}
	}
	return problems
}

func (m *moduleNames) inComment(f namedFile, text string) (problems []string) {
	for _, x := range extension.FindAllStringSubmatch(text, -1) {
		if !m.there(x[1]) && !exists(path.Join(path.Dir(f.name), x[1])) {
			problems = append(problems, x[1]+" does not exist")
		}
	}
	problems = append(problems, m.identifiers(text, &f)...)
	return slices.DeleteFunc(problems, func(p string) bool {
		return slices.ContainsFunc(otherNames[f.name], func(name string) bool { return strings.HasPrefix(p, name) })
	})
}

// identifiers checks the names in a text, which is of a comment in f or, without f, of a page.
func (m *moduleNames) identifiers(text string, f *namedFile) (problems []string) {
	for _, x := range inPackage.FindAllStringSubmatch(text, -1) {
		packages := m.packages[x[1]]
		if f != nil {
			if p, ok := f.imports[x[1]]; ok && !strings.HasPrefix(p, module) || f.pkg.top[x[1]] {
				continue
			}
		}
		if len(packages) > 0 && !m.known(packages, x[2], x[3]) {
			problems = append(problems, x[0]+" is not declared")
		}
	}
	for _, x := range ofType.FindAllStringSubmatch(text, -1) {
		var packages []*packageNames
		if f != nil {
			packages = []*packageNames{f.pkg}
		} else {
			for _, same := range m.packages {
				packages = append(packages, same...)
			}
		}
		packages = slices.DeleteFunc(packages, func(p *packageNames) bool { return p.members[x[1]] == nil })
		if len(packages) > 0 && !m.known(packages, x[1], x[2]) {
			problems = append(problems, x[1]+"."+x[2]+" is not declared")
		}
	}
	for _, x := range testName.FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(m.tests, func(name string) bool { return name == x[1] || x[2] != "" && strings.HasPrefix(name, x[1]) }) {
			problems = append(problems, x[1]+" is not declared")
		}
	}
	return problems
}

// there reports whether a path is none of the module, by its first part, or exists. The
// directory objects is the module's, and one of every git repository.
func (m *moduleNames) there(name string) bool {
	first, rest, _ := strings.Cut(name, "/")
	if !slices.Contains(m.tops, first) || first == "objects" && (strings.HasPrefix(rest, "pack") || strings.HasPrefix(rest, "info")) || exists(name) {
		return true
	}
	return first == "testdata" && slices.ContainsFunc(m.files, func(f namedFile) bool { return exists(path.Join(path.Dir(f.name), name)) })
}

// exists reports whether the path below the module, which may hold stars, exists.
func exists(name string) bool {
	there, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil && len(there) > 0
}

func pagesToRead(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, pattern := range []string{"docs/*.md", "docs/format/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, filepath.ToSlash(rel))
		}
	}
	if len(pages) < 30 {
		t.Fatalf("found %d pages below %s: not the module", len(pages), root)
	}
	return pages
}
