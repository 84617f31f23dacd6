package command

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
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
		`rm -rf "$HOME/"`: T4, "rm -rf ..": T4, "rm -rf .git": T4, "rm -rf *": T4, "rm -rf --no-preserve-root x": T4, `rm -rf "$UNKNOWN"`: T3, `rm -rf "$UNKNOWN/"`: T4,
		"rm -rf /usr/": T4, "rm -rf ./": T4, "rm -rf .": T4,
	} {
		found := Analyse(cmd, nil, nil)
		if len(found) != 1 || found[0].Tier != want {
			t.Errorf("%s: %v, want %s", cmd, found, want)
		}
	}
}

// slow is more processor time than any analysis takes, with the race detector too: the longest
// takes about a second. A busy machine makes it no longer.
const slow = 20 * time.Second

// A text may be made to be expensive. It ends in time, and as a finding.
func TestTextsThatAreMadeToBeExpensive(t *testing.T) {
	again := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for name, src := range map[string]string{
		"brackets":            again("(", maxText),
		"substitutions":       again("$(", maxText),
		"indexes":             again("a[", maxText),
		"sums":                "$((" + again("(", maxText-3),
		"doublings":           "a=xxxxxxxxxxxxxxxx;" + again("a=$a$a$a$a;", 4096) + "eval $a",
		"loops in loops":      strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 60) + "x; " + strings.Repeat("done; ", 60),
		"calls of calls":      "a(){ x;};b(){ a;a;a;a;};c(){ b;b;b;b;};d(){ c;c;c;c;};e(){ d;d;d;d;};f(){ e;e;e;e;};g(){ f;f;f;f;};h(){ g;g;g;g;};i(){ h;h;h;h;};j(){ i;i;i;i;};k(){ j;j;j;j;};k;k;k;k",
		"ifs":                 strings.Repeat("if x; then ", 5000) + "x; " + strings.Repeat("fi; ", 5000),
		"shells in shells":    strings.Repeat("sh -c \"eval $(", 50) + "x" + strings.Repeat(")\"", 50),
		"many words":          again("rm ", maxText),
		"replacements":        "a=" + again("x", 60000) + "; " + again("a=${a//x/xx};", 2000),
		"alternatives":        again("{a,b}", 4096),
		"lists in lists":      "xargs -I a sh -c '" + again("a", 30000) + "' <<< " + again("b", 30000),
		"texts for a program": again("awk 'BEGIN{system(\"x\")}';", maxText),
	} {
		start := testkit.CPUTime()
		found := Analyse(src, nil, nil)
		if d := testkit.CPUTime() - start; d > slow {
			t.Errorf("%s: %v", name, d)
		} else {
			t.Logf("%s: %v, %v", name, d, found)
		}
		if len(found) == 0 && !slices.Contains([]string{"many words", "alternatives", "texts for a program", "lists in lists", "shells in shells"}, name) {
			t.Errorf("%s: nothing found", name)
		}
	}
}

// Many parameters share what one analysis may cost.
func TestManyParametersThatAreMadeToBeExpensive(t *testing.T) {
	src := "a(){ x;};b(){ a;a;a;a;};c(){ b;b;b;b;};d(){ c;c;c;c;};e(){ d;d;d;d;};f(){ e;e;e;e;};g(){ f;f;f;f;};h(){ g;g;g;g;};i(){ h;h;h;h;};j(){ i;i;i;i;};k(){ j;j;j;j;};k"
	params := map[string]any{}
	for i := range 100 {
		params[strconv.Itoa(i)] = src
	}
	start := testkit.CPUTime()
	found := Analyse("", params, nil)
	if d := testkit.CPUTime() - start; d > slow || len(found) != len(params) {
		t.Errorf("%v, %d of %d parameters found", d, len(found), len(params))
	}
}

func TestWhatIsTooDeepIsFound(t *testing.T) {
	var deep any = "rm -rf /"
	for range 40 {
		deep = []any{deep}
	}
	if found := Analyse("", map[string]any{"p": deep}, nil); len(found) == 0 {
		t.Error("nothing found in a deep parameter")
	}
	if found := Analyse(strings.Repeat("nice ", 40)+"rm -rf /", nil, nil); len(found) == 0 {
		t.Error("nothing found")
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, path := range []string{"dangerous.txt", "harmless.txt", "review-dangerous.txt", "review-harmless.txt"} {
		for _, r := range corpus(f, "testdata/corpus/"+path) {
			f.Add(r.cmd)
		}
	}
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
		start := testkit.CPUTime()
		defer func() {
			if d := testkit.CPUTime() - start; d > slow {
				t.Errorf("Analyse(%q) took %v", s, d)
			}
		}()
		for _, found := range Analyse(s, map[string]any{"p": s}, nil) {
			if found.Label == "" || found.Tier == T0 || len(found.Text) > 100 {
				t.Errorf("Analyse(%q) found %+v", s, found)
			}
		}
	})
}

func BenchmarkAnalyseOneLine(b *testing.B) {
	for _, cmd := range []string{"go test ./...", "git status | grep -v clean", "curl -s https://api.example.org/v1/items | jq -r '.[].name' | sort | head", "rm -rf ./build && mkdir -p build/x && cp a.txt build/x/"} {
		b.Run(strings.Fields(cmd)[0], func(b *testing.B) {
			for b.Loop() {
				Analyse(cmd, nil, nil)
			}
		})
	}
}

func BenchmarkAnalyse(b *testing.B) {
	for b.Loop() {
		Analyse("set -e\nfor f in *.go; do gofmt -l \"$f\"; done\ngit status | grep -v clean", map[string]any{"name": "World", "n": 3}, nil)
	}
}

// A parameter that is the name of a file is no command, except where commands stand.
func TestNamesOfFilesAreNoCommands(t *testing.T) {
	if found := Analyse("", map[string]any{"save": "out/worth.txt", "files": []any{"notes.md"}}, nil); len(found) > 0 {
		t.Errorf("the names of files: %v", found)
	}
	if found := Analyse("", map[string]any{"command": "./notes.txt"}, nil); len(found) == 0 {
		t.Error("a document as a command is passed over")
	}
}
