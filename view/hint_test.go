package view

import (
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

	"github.com/rye-os/rye/fault"
)

func TestHint(t *testing.T) {
	for _, c := range []struct {
		hint fault.Hint
		want string // JSON
	}{
		{fault.Hint{}, `null`},
		{fault.Command("rye sign %s", "tool:acme/x"), `{"tool":"rye_sign","arguments":{"item_id":"acme/x","item_type":"tool"}}`},
		{fault.Command("rye sign --space user %s", "tool:acme/x"), `{"tool":"rye_sign","arguments":{"item_id":"acme/x","item_type":"tool","source":"user"}}`},
		{fault.Command("rye load %s", "config:acme/x"), `{"tool":"rye_load","arguments":{"item_id":"acme/x","item_type":"config"}}`},
		{fault.Command("rye run %s", "tool:acme/x"), `{"tool":"rye_execute","arguments":{"item_id":"acme/x","item_type":"tool"}}`},
		{fault.Command("rye search %s --kind tool", "list files"), `{"tool":"rye_search","arguments":{"item_type":"tool","query":"list files"}}`},
		{fault.Advice("rye thread log %s --from 7", "01k9"), `{"tool":"rye_execute","arguments":{"item_id":"rye/agent/threads/read_transcript","item_type":"tool","parameters":{"from":7,"thread_id":"01k9"}}}`},
		{fault.Advice("rye show %s", "tool:acme/x"), `{"tool":"rye_load","arguments":{"item_id":"acme/x","item_type":"tool"}}`},
		{fault.Advice("rye list --kind directive shows the directives"), `{"tool":"rye_search","arguments":{"item_type":"directive","query":"*"}}`},
		{fault.Advice("rye list"), `{"tool":"rye_search","arguments":{"query":"*"}}`},
		// Not the call that it looks like.
		{fault.Command("rye sign --upgrade %s", "tool:acme/x"), `"a person can run: rye sign --upgrade tool:acme/x"`},
		{fault.Command("rye sign .ai/%s", "tools/acme/pack"), `"a person can run: rye sign .ai/tools/acme/pack"`},
		{fault.Command("rye sign %s --yes", "tool:acme/x"), `"a person can run: rye sign tool:acme/x --yes"`},
		{fault.Command("rye run %s --pinned", "tool:acme/x"), `"a person can run: rye run tool:acme/x --pinned"`},
		{fault.Command("rye -C %s sign %s", "/home/ann", "tool:acme/x"), `"a person can run: rye -C /home/ann sign tool:acme/x"`},
		{fault.Command("rye sign %s %s", "tool:a/x", "tool:a/y"), `"a person can run: rye sign tool:a/x tool:a/y"`},
		{fault.Advice("rye run %s -p %s=...", "directive:acme/x", "to"), `"for a person: rye run directive:acme/x -p to=..."`},
		{fault.Command("rye policy allow %s", "tool:acme/x"), `"a person can run: rye policy allow tool:acme/x"`},
		{fault.Command("rye approve %s", "01k"), `"a person can run: rye approve 01k; then make the same call again"`},
		{fault.Command("rye new %s %s", "tool", "acme/x"), `"call rye_sign with its whole text as content, for a person to approve"`},
		{fault.Command("chmod 600 %s", "k"), `"a person can run: chmod 600 k"`},
		{fault.Advice("leave out --offline"), `"for a person: leave out --offline"`},
		{fault.Advice("make room on the disk"), `"make room on the disk"`},
		{fault.Advice("write needs: {read: [.]} to have that"), `"write needs: {read: [.]} to have that"`},
	} {
		if got := JSON(Hint(c.hint, "rye_")); got != c.want {
			t.Errorf("%q: %s, want %s", c.hint, got, c.want)
		}
	}
}

// TestHintsHaveAForm: no hint that is written anywhere gives a model a command, or a flag,
// that it does not have.
func TestHintsHaveAForm(t *testing.T) {
	n := 0
	for _, h := range writtenHints(t) {
		n++
		if why := unfit(h); why != "" {
			t.Errorf("%q: %s", h, why)
		}
	}
	if n < 300 {
		t.Errorf("only %d hints were found", n)
	}
}

// verb finds what of a format stands for an argument.
var verb = regexp.MustCompile(`%(\[\d+\])?[a-z]`)

// writtenHints are the hints in the sources of rye, with tool:acme/x for every argument.
func writtenHints(t *testing.T) (all []fault.Hint) {
	t.Helper()
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"testdata", ".git", "internal/tools"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if h, ok := writtenHint(n); ok {
				all = append(all, h)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func writtenHint(n ast.Node) (fault.Hint, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return fault.Hint{}, false
	}
	name, ok := call.Fun.(*ast.SelectorExpr)
	lit, isText := call.Args[0].(*ast.BasicLit)
	if !ok || !isText {
		return fault.Hint{}, false
	}
	format, err := strconv.Unquote(lit.Value)
	if err != nil {
		return fault.Hint{}, false
	}
	text := strings.ReplaceAll(verb.ReplaceAllString(format, "tool:acme/x"), "%%", "%")
	switch name.Sel.Name {
	case "Mend", "Command":
		return fault.CommandOf(strings.Fields(text)...), true
	case "Advise", "Advice":
		return fault.Advice("%s", text), true
	}
	return fault.Hint{}, false
}

// unfit says what is wrong with a hint as a model reads it; "" for nothing.
func unfit(h fault.Hint) string {
	switch m := Hint(h, "").(type) {
	case Call:
		for name, value := range m.Arguments {
			if text, _ := value.(string); text == "" || strings.HasPrefix(text, "-") {
				return "its argument " + name + " is none"
			}
		}
	case string:
		person := strings.HasPrefix(m, "a person can run: ") || strings.HasPrefix(m, "for a person: ")
		if !person && (regexp.MustCompile(`(^|\s)--[a-z]`).MatchString(m) || strings.Contains(" "+m, " rye ") || strings.Contains(m, " -p ")) {
			return "it names what a model does not have: " + m
		}
		if !person && h.IsCommand() && !strings.HasPrefix(m, "call ") {
			return "a command is no sentence"
		}
	}
	return ""
}
