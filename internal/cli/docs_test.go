package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

var update = flag.Bool("update", false, "rewrite docs/cli and the table of docs/cli.md")

const docs = "../../docs"

// TestDocs compares docs/cli with the command tree.
func TestDocs(t *testing.T) {
	pages := docPages()
	dir := filepath.Join(docs, "cli")
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		compare(t, filepath.Join(dir, name), want)
	}
	have, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range have {
		if _, ok := pages[e.Name()]; !ok {
			t.Errorf("docs/cli/%s: there is no such command", e.Name())
		}
	}
}

func compare(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if *update && string(got) != want {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil || string(got) != want {
		t.Errorf("%s does not say what the program says: go test ./internal/cli -update (%v)", path, err)
	}
}

// The table stands between these lines of docs/cli.md.
const tableBegin, tableEnd = "<!-- exit codes: written by the program -->\n", "<!-- end of exit codes -->\n"

func TestExitTable(t *testing.T) {
	path := filepath.Join(docs, "cli.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s: the lines around the table of exit codes are missing", path)
	}
	compare(t, path, before+tableBegin+"\n"+exitTable()+"\n"+tableEnd+after)
}

// TestEveryCodeHasAMeaning: a code that help does not know cannot be looked up.
func TestEveryCodeHasAMeaning(t *testing.T) {
	known := map[fault.Code]bool{}
	for _, m := range exitMeanings {
		known[m.code] = true
		if m.code != "" && m.code != fault.Failed && m.code.Exit() == 1 {
			t.Errorf("%q is no code of fault", m.code)
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
