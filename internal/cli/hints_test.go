package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/app"
)

// TestHintsNameCommands reads every source file for remedies ("rye sign %s") and
// checks that the command and its flags exist: a hint that is refused in turn is
// worse than none.
func TestHintsNameCommands(t *testing.T) {
	tree, seen := commands(), 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != "../.."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			for _, text := range remedies(n) {
				seen++
				if why := checkHint(tree, text); why != "" {
					t.Errorf("%s: hint %q: %s", path, text, why)
				}
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if why := checkNamed(tree, lit.Value); why != "" {
					t.Errorf("%s: %s: %s", path, lit.Value, why)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("only %d hints were found: is this looking in the right place?", seen)
	}
}

// remedies returns the string that a call of Mend, or a field Mend, is given.
func remedies(n ast.Node) []string {
	var from []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Mend", "Advise", "Command", "Advice"}, sel.Sel.Name) && len(n.Args) > 0 {
			from = n.Args[:1]
		}
	case *ast.KeyValueExpr:
		if k, ok := n.Key.(*ast.Ident); ok && (k.Name == "Mend" || k.Name == "Next") {
			from = []ast.Expr{n.Value}
		}
	}
	var out []string
	for _, e := range from {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, s)
				}
			}
			return true
		})
	}
	return out
}

// checkHint looks at each "rye <command>" that a hint tells people to type.
func checkHint(tree []*spec, hint string) string {
	for i, part := range strings.Split(" "+hint, " rye ") {
		before := strings.Split(" "+hint, " rye ")[max(i-1, 0)]
		if i == 0 || i > 1 && !strings.HasSuffix(before, "then") && !strings.HasSuffix(before, "or") && !strings.HasSuffix(before, ",") || i == 1 && before != "" {
			continue // prose about rye
		}
		part, _, _ = strings.Cut(part, ",")
		part, _, _ = strings.Cut(part, "(")
		words := strings.Fields(part)
		if len(words) == 0 || strings.HasPrefix(words[0], "%") {
			continue // composed elsewhere
		}
		inv, err := arrange(tree, globalFlags(&app.Flags{}), words)
		if err != nil {
			return err.Error()
		}
		if last := inv.path[len(inv.path)-1]; last.run == nil && len(words) == 1 && len(last.subs) > 0 {
			return "it needs a subcommand"
		}
	}
	return ""
}

var named = regexp.MustCompile(`\brye((?: [a-z][a-z-]*)+)`)

// checkNamed looks at each command that a text names. A word behind a command that takes none, or
// that has subcommands, is a subcommand.
func checkNamed(tree []*spec, text string) string {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		words := strings.Fields(m[1])
		s := find(tree, words[0])
		for at := 1; s != nil && at < len(words); at++ {
			sub := find(s.subs, words[at])
			if sub == nil && (len(s.subs) > 0 || s.max == 0) && !slices.Contains(sentence, words[at]) {
				return fmt.Sprintf("rye %s has no %s", strings.Join(words[:at], " "), words[at])
			}
			s = sub
		}
	}
	return ""
}

// sentence are words that stand behind a command in a sentence.
var sentence = strings.Fields("and decides instead lists offers pins prints says shows tells that the to")

func TestCheckNamed(t *testing.T) {
	for text, want := range map[string]string{
		"servers are added by rye mcp add":  "rye mcp has no add",
		"rye key nwe makes one":             "rye key has no nwe",
		"rye key new makes one":             "",
		"rye registry list shows those":     "",
		"rye sign it, and rye thread statr": "rye thread has no statr",
		"what rye reads":                    "",
	} {
		if got := checkNamed(commands(), text); got != want {
			t.Errorf("checkNamed(%q) = %q, want %q", text, got, want)
		}
	}
}
