package fault

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/rye-os/rye/internal/words"
)

func TestWrapKeepsCodeAndHint(t *testing.T) {
	inner := New(Untrusted, "unknown key").Mend("rye trust list")
	for name, err := range map[string]error{
		"wrapped":             Wrap(inner, "verify %s", "tool:acme/x"),
		"wrapped by fmt":      fmt.Errorf("verify tool:acme/x: %w", inner),
		"wrapped twice":       Wrap(Wrap(inner, "open"), "verify %s", "tool:acme/x"),
		"wrapped, other hint": Wrap(inner, "verify"),
	} {
		if CodeOf(err) != Untrusted || HintOf(err) != Command("rye trust list") || !errors.Is(err, inner) {
			t.Errorf("%s: code %q, hint %q", name, CodeOf(err), HintOf(err))
		}
	}
	if got, want := Wrap(inner, "verify %s", "100%").Error(), "verify 100%: unknown key"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := HintOf(Wrap(inner, "verify").Advise("ask")); got != Advice("ask") {
		t.Errorf("hint of the outer error: %q", got)
	}
}

func TestHintOfFullDisk(t *testing.T) {
	err := Wrap(fmt.Errorf("write: %w", syscall.ENOSPC), "sign")
	if HintOf(err).IsZero() {
		t.Error("a full disk has no hint")
	}
	if got := HintOf(err.Mend("rye gc")); got != Command("rye gc") {
		t.Errorf("hint %q, want the one that was set", got)
	}
}

func TestHint(t *testing.T) {
	for _, tt := range []struct {
		hint  Hint
		line  string
		words []string
	}{
		{Command("rye sign %s", "tool:acme/x"), "rye sign tool:acme/x", []string{"rye", "sign", "tool:acme/x"}},
		{Command("rye add %s --kind %s", "my file's.sh", "tool"), `rye add 'my file'\''s.sh' --kind tool`, []string{"rye", "add", "my file's.sh", "--kind", "tool"}},
		{Command("rye sign .ai/%s", "a b"), "rye sign '.ai/a b'", []string{"rye", "sign", ".ai/a b"}},
		{CommandOf("rye", "sign", "*", ""), "rye sign '*' ''", []string{"rye", "sign", "*", ""}},
		{CommandOf("rye", "add", "x; rm -rf ~"), "rye add 'x; rm -rf ~'", []string{"rye", "add", "x; rm -rf ~"}},
		{Command("rye sign %s --all", "a\nb\x1b'\\\u202e\xff\t"), `rye sign $'a\nb\033\'\\\342\200\256\377\011' --all`, []string{"rye", "sign", "a\nb\x1b'\\\u202e\xff\t", "--all"}},
		{Command("rye sign %s", "grün $'x'"), `rye sign 'grün $'\''x'\'''`, []string{"rye", "sign", "grün $'x'"}},
		{Command("rye %s%%", "50"), "rye 50%", []string{"rye", "50%"}},
		{Advice("leave out --%s", "offline"), "leave out --offline", nil},
		{Hint{}, "", nil},
	} {
		if got := tt.hint.String(); got != tt.line {
			t.Errorf("String() = %q, want %q", got, tt.line)
		}
		if got := tt.hint.Words(); !slices.Equal(got, tt.words) {
			t.Errorf("%q.Words() = %q, want %q", tt.line, got, tt.words)
		}
		if got, want := tt.hint.IsCommand(), tt.words != nil; got != want {
			t.Errorf("%q.IsCommand() = %t, want %t", tt.line, got, want)
		}
		if got := Decode(tt.hint.Encode()); got != tt.hint {
			t.Errorf("Decode(Encode(%q)) = %#v, want %#v", tt.line, got, tt.hint)
		}
	}
}

// FuzzCommandOf shows that words come back as they went in, whatever they hold.
func FuzzCommandOf(f *testing.F) {
	f.Add("sign", "it's", "")
	f.Add(`\`, "\n", "'")
	f.Add("\x1b[2J", "$'a\n'", "\u202e\xff0\t0")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if want, got := []string{"rye", a, b, c}, CommandOf("rye", a, b, c).Words(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if line := CommandOf("rye", a, b, c).String(); words.Line(line) != line {
			t.Errorf("%q is not shown as it is", line)
		}
	})
}
