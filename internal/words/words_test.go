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
