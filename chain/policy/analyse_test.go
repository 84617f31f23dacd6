package policy

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func lines(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(text), "\n") {
		if l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

func TestDangerousCommands(t *testing.T) {
	rows := lines(t, "testdata/dangerous.txt")
	if len(rows) < 50 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, l := range rows {
		label, cmd, _ := strings.Cut(l, " | ")
		for _, found := range [][]Finding{Analyse(cmd, nil, nil), Analyse("", map[string]any{"x": map[string]any{"y": []any{cmd}}}, nil)} {
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Label == label }) {
				t.Errorf("%s: found %v, want %s", cmd, found, label)
			}
		}
	}
}

func TestHarmlessCommands(t *testing.T) {
	rows := lines(t, "testdata/harmless.txt")
	if len(rows) < 40 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, cmd := range rows {
		if found := Analyse(cmd, nil, nil); len(found) > 0 {
			t.Errorf("%s: found %v", cmd, found)
		}
	}
}

func TestAnalyseLists(t *testing.T) {
	found := Analyse("", map[string]any{"argv": []any{"rm", "-rf", "x"}, "n": 1, "b": true}, nil)
	if len(found) != 1 || found[0].Label != "recursive delete" || found[0].Param != "argv" {
		t.Errorf("found %v", found)
	}
	if found := Analyse(strings.Repeat("echo a; ", 100000), nil, nil); len(found) != 1 || found[0].Label != "too long to judge" {
		t.Errorf("found %v", found)
	}
	nested := "rm -r x"
	for range 10 {
		nested = "eval '" + strings.ReplaceAll(nested, "'", `'\''`) + "'"
	}
	if found := Analyse(nested, nil, nil); len(found) == 0 {
		t.Error("nothing found in nested evals")
	}
}

func TestWhatIsDeletedSetsTheTier(t *testing.T) {
	for cmd, want := range map[string]Tier{
		"rm -rf src": T3, "rm -rf ./src": T3, "rm -rf build src": T3, "rm -rf build/../src": T3, "rm -rf /srv/build": T3, "rm -rf /tmp/x": T3, "rm -rf /": T4, "rm -rf /*": T4, "rm -rf ~": T4, "rm -rf $HOME": T4,
		`rm -rf "$HOME/"`: T4, "rm -rf ..": T4, "rm -rf .git": T4, "rm -rf *": T4, "rm -rf --no-preserve-root x": T4, `rm -rf "$UNKNOWN"`: T4,
		"rm -rf /usr/": T4, "rm -rf ./": T4, "rm -rf .": T4,
	} {
		found := Analyse(cmd, nil, nil)
		if len(found) != 1 || found[0].Tier != want {
			t.Errorf("%s: %v, want %s", cmd, found, want)
		}
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, path := range []string{"testdata/dangerous.txt", "testdata/harmless.txt"} {
		for _, l := range lines(f, path) {
			_, cmd, ok := strings.Cut(l, " | ")
			if !ok {
				cmd = l
			}
			f.Add(cmd)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, found := range Analyse(s, map[string]any{"p": s}, nil) {
			if found.Label == "" || found.Tier == T0 || len(found.Text) > 100 {
				t.Errorf("Analyse(%q) found %+v", s, found)
			}
		}
	})
}

func BenchmarkAnalyse(b *testing.B) {
	for b.Loop() {
		Analyse("set -e\nfor f in *.go; do gofmt -l \"$f\"; done\ngit status | grep -v clean", map[string]any{"name": "World", "n": 3}, nil)
	}
}
