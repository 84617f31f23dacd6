package words

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		name, s string
		most    int
		want    string
	}{
		{"empty", "", 3, ""},
		{"as long as allowed", "abc", 3, "abc"},
		{"one byte more", "abcd", 3, "abc..."},
		{"nothing is kept", "abcd", 0, "..."},
		{"the first byte of a character", "abä", 3, "ab..."},
		{"two bytes of a character", "ab\u20ac", 4, "ab..."},
		{"three bytes of a character", "ab\U0001F600", 5, "ab..."},
		{"before a character", "abcä", 3, "abc..."},
		{"after a character", "aäb", 3, "aä..."},
		{"within the first character", "\U0001F600", 2, "..."},
		{"no UTF-8 stays", "a\xffbcd", 4, "a\xffbc..."},
		{"only the middles of characters", "\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80..."},
	} {
		if got := Clip(c.s, c.most); got != c.want {
			t.Errorf("%s: Clip(%q, %d) = %q, want %q", c.name, c.s, c.most, got, c.want)
		}
	}
	long := strings.Repeat("x", 81)
	if got, want := Brief(long), long[:80]+"..."; got != want {
		t.Errorf("Brief(81 bytes) = %q, want %q", got, want)
	}
	if got := Brief(long[:80]); got != long[:80] {
		t.Errorf("Brief(80 bytes) = %q, want the same", got)
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", 1000: "1000 files"} {
		if got := Plural(n, "file"); got != want {
			t.Errorf("Plural(%d, %q) = %q, want %q", n, "file", got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for s, want := range map[string]string{"": "", "one": "one", "one\ntwo\n": "one", "\ntwo": ""} {
		if got := FirstLine(s); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"zażółć 日本 🌾", "zażółć 日本 🌾"},
		{"\x1b[31m", `\u001b[31m`},
		{"a\r\nb\rc", "a\nb" + `\u000d` + "c"},
		{"\u202e\u200b\ufeff", `\u202e\u200b\ufeff`},
		{"\U000e0041", `\udb40\udc41`},
		{"\u009b1m\x7f", `\u009b1m\u007f`},
		{"\xff\xfe", `\xff\xfe`},
		{"\ufffd", "\ufffd"},
		{"\u3164\u2800\U000e0101", `\u3164\u2800\udb40\udd01`},
		{"heart \u2764\ufe0f", "heart \u2764\ufe0f"},
		{"soft\u00adhyphen", `soft\u00adhyphen`},
	} {
		if got := Printable(c.in); got != c.want {
			t.Errorf("Printable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		mistakes int
		ok       bool
	}{
		{"hello", "hello", 0, true},
		{"helo", "hello", 1, true},
		{"hlelo", "hello", 1, true},
		{"hellllo", "hello", 2, true},
		{"deplyo", "deploy", 1, true},
		{"cat", "car", 1, true},
		{"cat", "dog", 3, false},
		{"hello", "world", 4, false},
		{"ab", "ac", 0, false},
		{strings.Repeat("x", 101), strings.Repeat("x", 101), 0, false},
	} {
		if n, ok := Near(c.a, c.b); n != c.mistakes && ok || ok != c.ok {
			t.Errorf("Near(%q, %q) = %d, %v, want %d, %v", c.a, c.b, n, ok, c.mistakes, c.ok)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line          string
		columns, hang int
		want          string
	}{
		{"short", 20, 4, "short"},
		{"no columns are known", 0, 4, "no columns are known"},
		{"one two three four", 10, 2, "one two\n  three\n  four"},
		{"  set in at its beginning", 12, 4, "  set in at\n    its\n    beginning"},
		{"a tool:acme/a-name-that-is-wider-than-that b", 12, 2, "a\n  tool:acme/a-name-that-is-wider-than-that\n  b"},
		{"\x1b[32msigned\x1b[0m  tool:a/b", 16, 4, "\x1b[32msigned\x1b[0m  tool:a/b"},
		{"日本語 日本語 日本語", 8, 0, "日本語\n日本語\n日本語"},
		{"ends with a space ", 17, 2, "ends with a space"},
	} {
		got := Wrap(c.line, c.columns, c.hang)
		if got != c.want {
			t.Errorf("Wrap(%q, %d, %d) = %q, want %q", c.line, c.columns, c.hang, got, c.want)
		}
	}
}

// FuzzWrap: a line loses nothing but spaces, and is never wider than it has to be.
func FuzzWrap(f *testing.F) {
	f.Add("one two three", 7, 2)
	f.Add("  \x1b[1mbold\x1b[0m  and 日本", 4, 1)
	f.Fuzz(func(t *testing.T, line string, columns, hang int) {
		columns, hang = columns%200, max(0, hang)%40
		got := Wrap(line, columns, hang)
		bare := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		if bare(got) != bare(line) {
			t.Fatalf("Wrap(%q) = %q", line, got)
		}
		for _, part := range strings.Split(got, "\n") {
			if columns > 0 && !strings.Contains(line, "\n") && Width(part) > columns && strings.Contains(strings.Trim(part, " "), " ") && !strings.Contains(part, "\x1b") {
				t.Fatalf("Wrap(%q, %d, %d) has the part %q", line, columns, hang, part)
			}
		}
	})
}

func TestLastLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one line", "one line"},
		{"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    1/0\nZeroDivisionError: division by zero\n\n", "ZeroDivisionError: division by zero"},
		{"/a.js:1\nthrow new Error('x')\n^\n\nError: x\n    at Object.<anonymous> (/a.js:1:7)\n\nNode.js v22.1.0\n", "Error: x"},
		{"bash: line 1: nope: command not found\r\n", "bash: line 1: nope: command not found"},
		{"  only\n  set in\n", "set in"},
	} {
		if got := LastLine(c.text); got != c.want {
			t.Errorf("LastLine(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
