package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// What rye prints goes through one door of the command line, internal/cli/out.go, and one of
// what asks and starts things, Screen.Say of internal/app: both show text from outside as
// words.Quote or words.Line has it, and make the lines themselves.

// streams are the files that may name standard output and standard error, and why: they are
// doors, hand the streams on, or speak to a program of rye's at the other end.
var streams = map[string]string{
	"internal/cli/main.go":                  "hands them to the screen; the stack of a crash",
	"internal/app/engine.go":                "hands them to the screen; a build id",
	"internal/app/inside.go":                "a built-in tool's answer, to the run that asked",
	"internal/app/page.go":                  "a page of the web, to the run that asked",
	"internal/app/keyservice.go":            "JSON, to the front",
	"internal/app/serve.go":                 "JSON, to the front",
	"internal/app/threads.go":               "one flat line, to who starts a thread",
	"internal/app/handoff_windows.go":       "hands them to the engine",
	"cmd/rye-engine/mcp.go":                 "hands them to the server",
	"workspace/workspace.go":                "hands them to a helper of the store",
	"chain/primitive/cage/connect_linux.go": "the bytes of a host for the program that asked, and its own arguments, quoted",
	"chain/primitive/cage/main_linux.go":    "constants, where rye did not start it",
	"chain/primitive/cage/main_other.go":    "constants",
	"chain/primitive/probe_linux.go":        "JSON, to the process that probes",
	"chain/primitive/builtin/builtin.go":    "the stack of a crash",
}

// raw are the functions that may print text with its line feeds, and what that text is.
var raw = map[string]string{
	"ask":                 "the answer, which was asked for",
	"keyExport":           "a key",
	"completionCommand":   "a script of rye's own",
	"showResolved":        "YAML that rye encoded",
	"loadCommand":         "the text of an item, byte for byte",
	"printRun":            "what a tool printed, the text of an item",
	"runExecute":          "what a tool prints",
	"threadExport":        "a transcript",
	"exportKnowledge":     "an entry that rye wrote",
	"trustAllowedSigners": "a file for git",
	"advise":              "a file for a forge",
	"printHelp":           "help",
	"help":                "help",
	"printTopic":          "help",
	"printPaste":          "metadata that rye wrote",
}

var (
	lineMakers = map[string]int{"printf": 0, "exactf": 0, "infof": 0, "errorf": 0, "resultf": 1, "line": 0, "Say": 0}
	rawDoors   = []string{"content", "stream", "streamErr", "page", "example"}
	doors      = []string{"internal/cli/out.go", "internal/cli/data.go", "internal/app/screen.go", "internal/app/escape.go"}
	faces      = []string{"internal/cli", "internal/app", "cmd/rye", "cmd/rye-engine"}
)

// leaks returns what of a file prints without a door, as "file:line: what".
func leaks(fset *token.FileSet, file *ast.File, name string) (all []string) {
	if slices.Contains(doors, name) {
		return nil
	}
	room := name[:strings.LastIndex(name, "/")+1]
	face := slices.Contains(faces, strings.TrimSuffix(room, "/"))
	found := func(n ast.Node, what string) {
		all = append(all, fmt.Sprintf("%s:%d: %s", name, fset.Position(n.Pos()).Line, what))
	}
	where := ""
	var look func(ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			where = n.Name.Name
		case *ast.SelectorExpr:
			pkg, _ := n.X.(*ast.Ident)
			switch {
			case pkg != nil && pkg.Name == "os" && (n.Sel.Name == "Stdout" || n.Sel.Name == "Stderr"):
				if streams[name] == "" {
					found(n, "os."+n.Sel.Name)
				}
			case pkg != nil && pkg.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print"):
				if streams[name] == "" {
					found(n, "fmt."+n.Sel.Name)
				}
			case room == "internal/cli/" && (n.Sel.Name == "out" || n.Sel.Name == "err") && isPrinter(n.X):
				found(n, "the printer's own writer")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") && id.Obj == nil {
				found(n, id.Name)
			}
			if id, ok := n.Fun.(*ast.Ident); ok && face && id.Name == "say" && len(n.Args) > 0 && !isConstant(n.Args[0]) {
				found(n, "a format that is no constant")
			}
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !face {
				return true
			}
			pkg, _ := sel.X.(*ast.Ident)
			call := sel.Sel.Name
			at, makes := lineMakers[call]
			switch {
			case pkg != nil && (pkg.Name == "fmt" && strings.HasPrefix(call, "Fprint") || pkg.Name == "io" && (call == "WriteString" || strings.HasPrefix(call, "Copy"))):
				if !isBuffer(n.Args[0]) && streams[name] == "" {
					found(n, pkg.Name+"."+call)
				}
			case strings.HasPrefix(call, "Write") && pkg == nil && room == "internal/cli/" && where != "stdout" && where != "stderr":
				found(n, "."+call+" of a writer")
			case (call == "Out" || call == "Err") && len(n.Args) == 0 && strings.HasSuffix(last(sel.X), "creen") && streams[name] == "":
				found(n, "the screen's own writer")
			case makes && len(n.Args) > at && !isConstant(n.Args[at]):
				found(n, "a format that is no constant")
			case room == "internal/cli/" && slices.Contains(rawDoors, call) && (last(sel.X) == "out" || last(sel.X) == "p") && raw[where] == "":
				found(n, call+" in "+where)
			}
		}
		return true
	}
	ast.Inspect(file, look)
	return all
}

// rawIn returns the functions of a file that print text as it is.
func rawIn(file *ast.File) (all []string) {
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			ast.Inspect(fn, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(rawDoors, sel.Sel.Name) && isPrinter(sel.X) {
					all = append(all, fn.Name.Name)
				}
				return true
			})
		}
	}
	return all
}

// isPrinter reports whether an expression is called as printers are: p, or the out of a task.
func isPrinter(e ast.Expr) bool { return last(e) == "p" || last(e) == "out" }

// last is the last name of an expression such as t.out.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// isBuffer reports whether an argument is the address of a local: a text that is being made.
func isBuffer(e ast.Expr) bool {
	u, ok := e.(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return false
	}
	_, ok = u.X.(*ast.Ident)
	return ok
}

// isConstant reports whether a format holds nothing from outside. One that is handed on is
// checked where it comes from.
func isConstant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return e.Op == token.ADD && isConstant(e.X) && isConstant(e.Y)
	case *ast.Ident:
		return e.Name == "format"
	case *ast.SelectorExpr: // package fault's own constants
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "fault" && strings.HasSuffix(e.Sel.Name, "Line")
	}
	return false
}

func TestPrintingHasOneDoor(t *testing.T) {
	used, doing := map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.room, "internal/tools") {
			continue
		}
		tree, err := parser.ParseFile(f.fset, f.full, f.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(f.text); strings.Contains(s, "os.Std") || strings.Contains(s, "fmt.Print") {
			used[f.name] = true
		}
		for _, fn := range rawIn(tree) {
			doing[fn] = f.room == "internal/cli" || doing[fn]
		}
		for _, l := range leaks(f.fset, tree, f.name) {
			t.Errorf("%s goes round the printer: show it with printf or Say, which quote and escape", l)
		}
	}
	for fn := range raw {
		if !doing[fn] {
			t.Errorf("raw lists %s, which prints nothing as it is", fn)
		}
	}
	for name := range streams {
		if !used[name] {
			t.Errorf("streams lists %s, which names no stream", name)
		}
	}
}

// TestPrintingLawBites: what goes round the printer is found.
func TestPrintingLawBites(t *testing.T) {
	for _, c := range []struct{ name, file, code string }{
		{"standard output", "store/x.go", `os.Stdout.WriteString(name)`},
		{"standard error", "internal/cli/x.go", `fmt.Fprintln(os.Stderr, name)`},
		{"print", "registry/x.go", `fmt.Println(name)`},
		{"builtin", "registry/x.go", `println(name)`},
		{"a writer of the screen", "internal/app/x.go", `fmt.Fprintf(a.Screen.Err(), "%s", name)`},
		{"a writer of the screen, kept", "internal/app/x.go", `w := a.Screen.Out()`},
		{"copied", "cmd/rye-engine/x.go", `io.Copy(w, r)`},
		{"the printer's writer", "internal/cli/x.go", `p.out.WriteString(name)`},
		{"the printer's writer, kept", "internal/cli/x.go", `w := t.out.err`},
		{"another writer", "internal/cli/x.go", `io.WriteString(v.w, name)`},
		{"a format from outside", "internal/cli/x.go", `p.printf(name + "\n")`},
		{"a format from outside, behind a flag", "internal/cli/x.go", `p.resultf(true, name)`},
		{"a format that was made", "internal/cli/x.go", `t.out.infof(fmt.Sprintf("%s", name))`},
		{"raw text", "internal/cli/x.go", `p.content(name)`},
		{"a page that is none of rye's", "internal/cli/x.go", `t.out.page(name)`},
	} {
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, c.file, "package x\nfunc f() {\n"+c.code+"\n}\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := leaks(fset, tree, c.file); len(got) == 0 || !strings.HasPrefix(got[0], c.file+":3: ") {
			t.Errorf("%s: %s: leaks() = %q, want one at %s:3", c.name, c.code, got, c.file)
		}
	}
}
