package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"tools/acme/deploy.sh", "tools/acme/deploy.sh"},
		{"a b", "a b"},
		{`C:\tools\acme`, `C:\tools\acme`},
		{`says "hi"`, `says "hi"`},
		{"zażółć 日本 🌾 ❤\ufe0f", "zażółć 日本 🌾 ❤\ufe0f"},
		{"\ufffd", "\ufffd"},
		{"x\nok  tool:acme/deploy", `"x\nok  tool:acme/deploy"`},
		{"a\tb\rc\a\b\v\f", `"a\tb\rc\a\b\v\f"`},
		{"\x1b[2J", `"\033[2J"`},
		{"\x00\x7f", `"\000\177"`},
		{"\u0085\u009b", `"\302\205\302\233"`},
		{"a\u202eb", `"a\342\200\256b"`},
		{"a\u2028b", `"a\342\200\250b"`},
		{"\xff\xc3", `"\377\303"`},
		{`"a\nb"`, `"\"a\\nb\""`},
		{`"`, `"\""`},
		{" a", `" a"`},
		{"a ", `"a "`},
		{" ", `" "`},
		{"a  SHA256:x", `"a  SHA256:x"`},
		{"a \u00a0b", "\"a \u00a0b\""},
		{"\u3000a", "\"\u3000a\""},
		{"a\u3000b", "a\u3000b"},
		{"a \\\n", `"a \\\n"`},
	} {
		if got := Quote(c.in); got != c.want {
			t.Errorf("Quote(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// unquoted is what Quote made text of. Git reads its own names so.
func unquoted(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	text = text[1 : len(text)-1]
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' {
			b.WriteByte(c)
			continue
		}
		i++
		if at := strings.IndexByte("abtnvfr", text[i]); at >= 0 {
			b.WriteByte('\a' + byte(at))
		} else if text[i] == '"' || text[i] == '\\' {
			b.WriteByte(text[i])
		} else {
			b.WriteByte((text[i]-'0')<<6 | (text[i+1]-'0')<<3 | (text[i+2] - '0'))
			i += 2
		}
	}
	return b.String()
}

// FuzzQuote: what is shown is one line in which nothing is hidden, no column ends, and from
// which the text can be had again.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"a\nb", `"`, `"\\"`, "a  b", "\xff\u202e\u0085", "ä ", "\\033"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Quote(s)
		if back := unquoted(got); back != s {
			t.Fatalf("Quote(%q) = %q, which stands for %q", s, got, back)
		}
		if strings.ContainsFunc(got, Hidden) || strings.ContainsAny(got, "\n\t") || !utf8.ValidString(got) {
			t.Fatalf("Quote(%q) = %q", s, got)
		}
		if got != s && !strings.HasPrefix(got, `"`) || got == s && strings.Contains(s, "  ") {
			t.Fatalf("Quote(%q) = %q", s, got)
		}
		if l := Line(s); strings.ContainsFunc(l, Hidden) || strings.Contains(l, "\n") || !utf8.ValidString(l) {
			t.Fatalf("Line(%q) = %q", s, l)
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"read a: no such file":  "read a: no such file",
		"  set in,\twith a tab": "  set in,\twith a tab",
		`"a" is no kind`:        `"a" is no kind`,
		"read a\r\nok  b":       `read a\r\nok  b`,
		"\x1b[2J\u202e\xff":     `\u001b[2J\u202e\xff`,
		"":                      "",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	a, b := errors.New("read a\nok  b"), errors.New("read \x1bc")
	both := errors.Join(a, b)
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"one", a, []string{`read a\nok  b`}},
		{"joined", both, []string{`read a\nok  b`, `read \u001bc`}},
		{"joined twice", errors.Join(both, errors.New("d")), []string{`read a\nok  b`, `read \u001bc`, "d"}},
		{"wrapped by nothing", fmt.Errorf("%w", both), []string{`read a\nok  b`, `read \u001bc`}},
		{"joined below words", fmt.Errorf("gc \n: %w", both), []string{`gc \n: read a\nok  b; read \u001bc`}},
		{"two in one sentence", fmt.Errorf("%w\n, %w", a, b), []string{`read a\nok  b\n, read \u001bc`}},
	} {
		if got := Lines(c.err); !slices.Equal(got, c.want) {
			t.Errorf("%s: Lines() = %q, want %q", c.name, got, c.want)
		}
	}
}
