package layers

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// makers are the functions of package fault that take a message, with the place of its format.
// What failed and why come from New and Wrap, the next command or advice from Mend and Advise.
var makers = map[string]int{"New": 1, "Wrap": 1, "Mend": 0, "Advise": 0, "Command": 0, "Advice": 0}

// mostWords bounds a part of a message: the text between two colons or semicolons.
const mostWords = 25

// malformed says what is wrong with the form of a message, or "".
func malformed(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[utf8.RuneLen(first):])
	switch {
	case unicode.IsUpper(first) && unicode.IsLower(second):
		return "begins with a capital: it may stand behind a colon"
	case strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "..."):
		return "ends with a full stop: a hint may follow"
	case strings.TrimSpace(text) != text || strings.Contains(text, "\n"):
		return "begins or ends with a blank, or has two lines"
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ':' }) {
		if n := len(strings.Fields(part)); n > mostWords {
			return fmt.Sprintf("has %d words in one part, at most %d", n, mostWords)
		}
	}
	return ""
}

// messagesOf returns the constant messages of a file by their places.
func (f source) messagesOf(t *testing.T, do func(place, text string)) {
	ast.Inspect(f.tree(t), func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		at, ok := makers[sel.Sel.Name]
		if x, is := sel.X.(*ast.Ident); sel.Sel.Name == "New" && (!is || x.Name != "fault") || !ok || at >= len(call.Args) {
			return true
		}
		if lit, ok := call.Args[at].(*ast.BasicLit); ok {
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "" {
				do(f.fset.Position(lit.Pos()).String(), text)
			}
		}
		return true
	})
}

// TestMessagesHaveOneForm: every message says what failed, then why, then what to do, in parts that
// are read once.
func TestMessagesHaveOneForm(t *testing.T) {
	n := 0
	for _, f := range sources(t) {
		if f.test || strings.HasPrefix(f.room, "internal/tools") {
			continue
		}
		f.messagesOf(t, func(place, text string) {
			n++
			if why := malformed(text); why != "" {
				t.Errorf("%s: %q %s", place, text, why)
			}
		})
	}
	if n < 1000 {
		t.Errorf("%d messages were found: the test looks for them in the wrong way", n)
	}
	for _, bad := range []string{"Not found", "it ends.", " it", "two\nlines", "it is " + strings.Repeat("very ", mostWords) + "long: yes"} {
		if malformed(bad) == "" {
			t.Errorf("%q is taken for well-formed", bad)
		}
	}
}
