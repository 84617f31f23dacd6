package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

const root = "../../.."

// TestListIsUpToDate: each mutant can be made from the sources as they are, and its test is
// there. Whoever changes one of the lines changes the list.
func TestListIsUpToDate(t *testing.T) {
	all, err := read(os.DirFS("list"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.apply(root); err != nil {
			t.Errorf("%s: %v; mend it in internal/tools/mutants/list", m.name, err)
		}
		if err := m.tested(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if len(all) < 60 {
		t.Errorf("%d mutants, want 60 at least", len(all))
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "mutant a\nfile x.go\ntest ./x TestA\n--- old\nold\n--- new\nnew\n--- end\n"
	if all, err := parse("# one\n\n" + good + "\n" + good); err != nil || len(all) != 2 || all[0] != (mutant{name: "a", file: "x.go", pkg: "./x", test: "TestA", old: "old\n", new: "new\n"}) {
		t.Fatalf("parse = %+v, %v", all, err)
	}
	for name, text := range map[string]string{
		"no end":           strings.TrimSuffix(good, "--- end\n"),
		"no name":          strings.Replace(good, "mutant a\n", "", 1),
		"no file":          strings.Replace(good, "file x.go\n", "", 1),
		"no test":          strings.Replace(good, "test ./x TestA\n", "", 1),
		"a package alone":  strings.Replace(good, " TestA", "", 1),
		"no old text":      strings.Replace(good, "old\n--- new", "--- new", 1),
		"no change":        strings.Replace(good, "\nnew\n", "\nold\n", 1),
		"an unknown field": "why not\n" + good,
		"a field twice":    "mutant b\n" + good,
	} {
		if all, err := parse(text); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// smallModule makes a module of one package, whose tests notice some of what breaks it.
func smallModule(t *testing.T) (dir string) {
	dir = t.TempDir()
	write(t, dir, map[string]string{
		"go.mod": "module example.org/x\n\ngo 1.26\n",
		"x/x.go": "package x\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\nfunc Twice(a int) int {\n\treturn 2 * a\n}\n",
		"x/x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 2) != 4 {\n\t\tt.Error()\n\t}\n}\n\n" +
			"func TestSkips(t *testing.T) {\n\tif Sum(2, 3) != 5 {\n\t\tt.Skip()\n\t}\n}\n\nfunc TestPanics(t *testing.T) {\n\t_ = make([]int, Sum(1, 0))[0]\n}\n",
	})
	return dir
}

// write writes files below a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		testkit.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), text, 0o644)
	}
}

// TestTry tries mutants of a small module: one that its test notices, and each kind of one
// that was not noticed.
func TestTry(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	dir := smallModule(t)
	list := filepath.Join(dir, "list")
	if err := os.Mkdir(list, 0o755); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	add := func(name, test, old, new string) {
		text.WriteString("mutant " + name + "\nfile x/x.go\ntest ./x " + test + "\n--- old\n" + old + "\n--- new\n" + new + "\n--- end\n")
	}
	const sum = "\treturn a + b"
	add("noticed", "TestSum", sum, "\treturn a - b")
	add("noticed-by-a-panic", "TestPanics", sum, "\treturn 0 * a * b")
	add("the-same", "TestSum", sum, "\treturn b + a")
	add("another-place", "TestSum", "\treturn 2 * a", "\treturn 3 * a")
	add("no-program", "TestSum", sum, "\treturn a +")
	add("no-test", "TestNone", sum, "\treturn a - b")
	add("skipped", "TestSkips", sum, "\treturn a - b")
	add("gone", "TestSum", "\treturn a + c", "\treturn a")
	if err := os.WriteFile(filepath.Join(list, "x.txt"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), &out, from{list: list}, "", bench{root: dir, jobs: 2})
	if err == nil || !strings.Contains(err.Error(), "6 of 8 did not die") {
		t.Errorf("run: %v", err)
	}
	for name, want := range map[string]verdict{
		"noticed": dead, "noticed-by-a-panic": dead, "the-same": survived, "another-place": survived,
		"no-program": broken, "no-test": broken, "skipped": broken, "gone": stale,
	} {
		if !regexp.MustCompile(`(?m)^` + string(want) + ` .* ` + name + ` `).MatchString(out.String()) {
			t.Errorf("%s: want it %s", name, want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
	out.Reset()
	if err := run(t.Context(), &out, from{list: list}, "^noticed", bench{root: dir, jobs: 1}); err != nil {
		t.Errorf("where all die: %v\n%s", err, out.String())
	}
	if now, err := os.ReadFile(filepath.Join(dir, "x", "x.go")); err != nil || !bytes.Contains(now, []byte(sum)) {
		t.Errorf("the source was touched: %s, %v", now, err)
	}
}

// TestLine: how a result looks, and what a surviving test printed.
func TestLine(t *testing.T) {
	r := result{mutant: mutant{name: "a", pkg: "./x", test: "TestA"}, verdict: survived, took: time.Second, said: "one\ntwo\n"}
	if got := r.line(false); strings.Contains(got, "one") || !strings.Contains(got, "SURVIVED") {
		t.Error(got)
	}
	if got := r.line(true); !strings.HasSuffix(got, "\n\tone\n\ttwo") {
		t.Error(got)
	}
}
