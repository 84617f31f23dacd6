package layers

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sessionRoom = module + "/workspace/internal/session"

// TestSessionsDoNotChange refuses, outside the room session, every assignment to a field
// of a Session or a Host or to what one holds, and to a Project that is not a copy made
// by Project.Edit; and every call of Host.Consent, whose way is Host.Ask.
func TestSessionsDoNotChange(t *testing.T) {
	l := loadRooms(t)
	for path, files := range l.files {
		if path != sessionRoom {
			for _, why := range l.judge(t, path, files) {
				t.Error(why)
			}
		}
	}
	if len(l.files) < 7 {
		t.Errorf("only %d packages were looked at", len(l.files))
	}
}

func TestSessionLawBites(t *testing.T) {
	const text = `package p

import (
	"context"
	"maps"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/session"
)

type desk struct{ *session.Session }

func f(d desk, s *session.Session, h *session.Host, fresh *session.Session) {
	s.Lock = nil                       // refused
	d.Trust = nil                      // refused
	h.Offline, h.CacheDir = true, ""   // refused
	s.Host.Offline = true              // refused
	d.Stack.Genesis = ""               // refused
	s.Project.Deps["a"] = "b"          // refused
	delete(d.Project.Deps, "a")        // refused
	maps.Copy(s.Project.Scopes, s.Project.Deps) // refused
	s.Lock.Items["x"] = s.Lock.Items["y"] // refused
	c := s.Project
	c.Namespace = ""                   // refused
	n := *s                            // refused
	e := *s.Project                    // refused
	at := &s.Lock                      // refused
	s.Consent(context.Background(), rye.Question{}) // refused
	_, _, _ = n, e, at

	d.Session = fresh
	p := s.Project.Edit()
	p.Namespace, p.Deps["a"] = "acme", "b"
	delete(p.Deps, "a")
	_, _ = s.Consent == nil, s.Project.Deps["a"]
}
`
	l := loadRooms(t)
	file, err := parser.ParseFile(l.fset, "p.go", strings.ReplaceAll(text, `Items["x"] = s.Lock.Items["y"]`, `Items[rye.Ref{}] = s.Lock.Items[rye.Ref{}]`), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if strings.HasSuffix(line, "// refused") {
			want[fmt.Sprintf("p.go:%d", i+1)] = true
		}
	}
	got := map[string]bool{}
	for _, why := range l.judge(t, "p", []*ast.File{file}) {
		at := strings.Join(strings.SplitN(why, ":", 3)[:2], ":")
		if got[at] = true; !want[at] {
			t.Errorf("%s, which is allowed", why)
		}
	}
	for at := range want {
		if !got[at] {
			t.Errorf("%s is not refused", at)
		}
	}
}

// A loaded is the facade and its rooms, ready to be type-checked one by one.
type loaded struct {
	fset  *token.FileSet
	files map[string][]*ast.File
	imp   types.Importer
}

func loadRooms(t *testing.T) loaded {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./workspace")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -export ./workspace: %v", err)
	}
	l, exports := loaded{fset: token.NewFileSet(), files: map[string][]*ast.File{}}, map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !strings.HasPrefix(p.ImportPath+"/", module+"/workspace/") {
			continue
		}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			l.files[p.ImportPath] = append(l.files[p.ImportPath], f)
		}
	}
	l.imp = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return l
}

// judge says what in a package breaks the rule.
func (l loaded) judge(t *testing.T, path string, files []*ast.File) (all []string) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: l.imp}).Check(path, l.fset, files, info); err != nil {
		t.Fatal(err)
	}
	refuse := func(at ast.Node, what string) {
		if what != "" {
			all = append(all, fmt.Sprintf("%s: %s: a session does not change after it was opened", l.fset.Position(at.Pos()), what))
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					refuse(n, held(info, e))
				}
			case *ast.IncDecStmt:
				refuse(n, held(info, n.X))
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					refuse(n, held(info, n.X))
				}
			case *ast.StarExpr:
				if tv := info.Types[n]; tv.IsValue() && frozen(tv.Type) != "" {
					refuse(n, "a copy of a "+frozen(tv.Type))
				}
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "maps.Copy", "maps.DeleteFunc"}, name) {
					refuse(n, held(info, n.Args[0]))
				}
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Consent" && held(info, sel) != "" {
					refuse(n, "call of Host.Consent in place of Host.Ask")
				}
			}
			return true
		})
	}
	return all
}

// held names the session, host or project that holds what an expression stands for; "" for
// none, and for the copy of a project that Edit returned.
func held(info *types.Info, e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return held(info, e.X)
	case *ast.StarExpr:
		return held(info, e.X)
	case *ast.SelectorExpr:
		sel := info.Selections[e]
		if sel == nil || sel.Kind() != types.FieldVal {
			return ""
		}
		typ := sel.Recv()
		for _, i := range sel.Index() {
			p, pointer := typ.Underlying().(*types.Pointer)
			if pointer {
				typ = p.Elem()
			}
			if name := frozen(typ); name != "" && (pointer || name != "Project") {
				return types.ExprString(e) + " of a " + name
			}
			typ = typ.Underlying().(*types.Struct).Field(i).Type()
		}
		return held(info, e.X)
	}
	return ""
}

// frozen returns the name of a type that does not change; "" for every other.
func frozen(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != sessionRoom || !slices.Contains([]string{"Session", "Host", "Project"}, n.Obj().Name()) {
		return ""
	}
	return n.Obj().Name()
}
