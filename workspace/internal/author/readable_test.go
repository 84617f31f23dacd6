package author

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func TestReadable(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want fault.Code
		out  int // lines
	}{
		{"plain", []string{"+echo hello", "-\tx"}, "", 2},
		{"a line ending from elsewhere", []string{"+echo\r"}, "", 1},
		{"as wide as shown", []string{strings.Repeat("x", foldAt)}, "", 1},
		{"wider", []string{strings.Repeat("x", foldAt+1)}, "", 2},
		{"wide letters", []string{strings.Repeat("日", foldAt/2+1)}, "", 2},
		{"tabs", []string{strings.Repeat("\t", foldAt/8+1)}, "", 2},
		{"as long as shown", []string{strings.Repeat("x", maxWidth)}, "", 7},
		{"longer", []string{strings.Repeat("x", maxWidth+1)}, fault.Limit, 0},
		{"too many when folded", repeated(strings.Repeat("x", maxWidth), 100), fault.Limit, 0},
		{"no UTF-8", []string{"\xff"}, fault.Denied, 0},
		{"an escape", []string{"\x1b[2J"}, fault.Denied, 0},
		{"a soft hyphen", []string{"e\u00adcho"}, fault.Denied, 0},
	} {
		got, err := readable(c.in)
		if fault.CodeOf(err) != c.want || len(got) != c.out {
			t.Errorf("%s: %d lines, %v, want %d, %q", c.name, len(got), err, c.out, c.want)
		}
	}
}

func repeated(s string, n int) (all []string) {
	for range n {
		all = append(all, s)
	}
	return all
}

// FuzzReadable: what is shown is all of the text, in order, and nothing of it is hidden.
func FuzzReadable(f *testing.F) {
	f.Add("+echo hello" + strings.Repeat(" ", 300) + "; rm\n")
	f.Add("\u202e\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		shown, err := readable(lines)
		if err != nil {
			return
		}
		var all, want strings.Builder
		for _, l := range shown {
			if len(l) > 4*foldAt+10 || !utf8.ValidString(l) || words.Printable(l) != l {
				t.Fatalf("shows %q", l)
			}
			all.WriteString(strings.TrimPrefix(l, "  … "))
		}
		for _, l := range lines {
			want.WriteString(strings.TrimSuffix(l, "\r"))
		}
		if !strings.Contains(text, "  … ") && all.String() != want.String() {
			t.Fatalf("%q is shown as %q", want.String(), all.String())
		}
	})
}
