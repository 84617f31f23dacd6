package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestEveryCodeHasAMeaning: a code that help does not know cannot be looked up.
func TestEveryCodeHasAMeaning(t *testing.T) {
	known := map[fault.Code]bool{}
	for _, e := range exitMeanings() {
		known[fault.Code(e.Code)] = true
		if e.Status == 1 && e.Code != string(fault.Failed) {
			t.Errorf("%q is no code of fault", e.Code)
		}
	}
	raw, err := os.ReadFile("../../fault/fault.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if _, rest, ok := strings.Cut(line, ` Code = "`); ok {
			if code, _, _ := strings.Cut(rest, `"`); !known[fault.Code(code)] {
				t.Errorf("help exit-codes says nothing about %q", code)
			}
		}
	}
}

// TestEveryCommandIsDescribed: examples first, exit codes always.
func TestEveryCommandIsDescribed(t *testing.T) {
	var visit func([]*spec, []*spec)
	visit = func(path, list []*spec) {
		for _, s := range list {
			p := append(path[:len(path):len(path)], s)
			name := commandName(p)
			switch {
			case s.hidden:
				continue
			case s.short == "" || s.examples == "":
				t.Errorf("%s has no short description or no example", name)
			case strings.HasSuffix(s.short, "."):
				t.Errorf("%s: its short description ends with a period", name)
			case len(s.exits) == 0:
				t.Errorf("%s names no exit codes", name)
			case len(path) == 0 && !has(groups[:], s.group):
				t.Errorf("%s stands under no heading of the overview", name)
			case s.run == nil && len(s.subs) == 0:
				t.Errorf("%s does nothing", name)
			}
			visit(p, s.subs)
		}
	}
	visit(nil, commands())
}
