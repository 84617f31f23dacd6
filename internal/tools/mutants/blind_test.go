package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestBlindIsUpToDate: each patch still applies to the sources, and the packages that are to
// notice it have tests.
func TestBlindIsUpToDate(t *testing.T) {
	all, err := readBlind(os.DirFS("blind"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.apply(root); err != nil {
			t.Errorf("%s: %v; let the patch in internal/tools/mutants/blind follow the source", m.name, err)
		}
		for _, pkg := range strings.Fields(m.pkg) {
			if tests, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("%s: there are no tests in %s", m.name, pkg)
			}
		}
	}
	if len(all) < 60 {
		t.Errorf("%d patches, want 60 at least", len(all))
	}
}

// aPatch changes one line of the small module.
func aPatch(old, new string) string {
	return "# The sum is wrong.\n# subject: sums\ndiff --git a/x/x.go b/x/x.go\nindex 1..2 100644\n--- a/x/x.go\n+++ b/x/x.go\n" +
		"@@ -1,5 +1,5 @@ package x\n \n func Sum(a, b int) int {\n-" + old + "\n+" + new + "\n }\n \n"
}

func TestParsePatch(t *testing.T) {
	good := aPatch("\treturn a + b", "\treturn a - b")
	want := mutant{file: "x/x.go", patch: good[strings.Index(good, "@@ "):]}
	if m, err := parsePatch(good); err != nil || m != want {
		t.Fatalf("parsePatch = %+v, %v", m, err)
	}
	two := good + "@@ -7,3 +7,4 @@\n func Twice(a int) int {\n+\ta++\n \treturn 2 * a\n }\n"
	m, err := parsePatch(two)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := m.apply(smallModule(t)); err != nil || !strings.Contains(text, "return a - b\n}\n\nfunc Twice(a int) int {\n\ta++\n\treturn") {
		t.Errorf("two hunks give %q, %v", text, err)
	}
	for name, text := range map[string]string{
		"no comment":        strings.TrimPrefix(good, "# The sum is wrong.\n# subject: sums\n"),
		"no hunk":           good[:strings.Index(good, "@@ ")],
		"no change":         aPatch("\treturn a + b", "\treturn a + b"),
		"nothing around":    good + "@@ -0,0 +9,1 @@\n+// more\n",
		"two files":         good + strings.Replace(good, "# The sum is wrong.\n# subject: sums\n", "", 1),
		"a renamed file":    strings.Replace(good, "+++ b/x/x.go", "+++ b/x/y.go", 1),
		"no Go file":        strings.ReplaceAll(good, "x.go", "x.txt"),
		"a line of nothing": strings.Replace(good, "\n \n", "\n\n", 1),
		"no last line feed": good + "\\ No newline at end of file\n",
	} {
		if m, err := parsePatch(text); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestReadBlind(t *testing.T) {
	patch := aPatch("\treturn a + b", "\treturn a - b")
	const table = "# comment\n\n1-a ./x ./y TestA|TestB\n2-b ./x\n"
	dir := func(table string, names ...string) fstest.MapFS {
		files := fstest.MapFS{testsFile: {Data: []byte(table)}}
		for _, name := range names {
			files[name+".patch"] = &fstest.MapFile{Data: []byte(patch)}
		}
		return files
	}
	all, err := readBlind(dir(table, "1-a", "2-b"))
	if err != nil || len(all) != 2 || all[0].name != "1-a" || all[0].pkg != "./x ./y" || all[0].test != "TestA|TestB" || all[1].pkg != "./x" || all[1].test != "" {
		t.Fatalf("readBlind = %+v, %v", all, err)
	}
	for name, files := range map[string]fstest.MapFS{
		"no patch of a line":  dir(table, "1-a"),
		"no line of a patch":  dir(table, "1-a", "2-b", "3-c"),
		"a name twice":        dir(table+"1-a ./x\n", "1-a", "2-b"),
		"no package":          dir("1-a TestA\n", "1-a"),
		"two expressions":     dir("1-a ./x TestA TestB\n", "1-a"),
		"no expression":       dir("1-a ./x (\n", "1-a"),
		"no table":            {"1-a.patch": &fstest.MapFile{Data: []byte(patch)}},
		"a patch of nothing":  {"1-a.patch": &fstest.MapFile{}, testsFile: {Data: []byte("1-a ./x\n")}},
		"a package not below": dir("1-a example.org/x\n", "1-a"),
	} {
		if all, err := readBlind(files); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestJudgeAny: what a run of whole packages printed.
func TestJudgeAny(t *testing.T) {
	bad := errors.New("exit status 1")
	for name, c := range map[string]struct {
		said string
		err  error
		want verdict
		by   string
	}{
		"a failure":             {"=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\tx\t0.1s\n", bad, dead, "TestA"},
		"a failure before time": {"--- FAIL: TestA (0.00s)\npanic: test timed out after 10m0s\nFAIL\tx\t600s\n", bad, dead, "TestA"},
		"out of time":           {"=== RUN   TestA\npanic: test timed out after 10m0s\nFAIL\tx\t600s\n", bad, late, ""},
		"a panic":               {"=== RUN   TestA\npanic: oh\nFAIL\tx\t0.1s\n", bad, dead, "panic"},
		"a deadlock":            {"=== RUN   TestA\nfatal error: all goroutines are asleep - deadlock!\nFAIL\tx\t0.1s\n", bad, dead, "panic"},
		"not built":             {"--- FAIL: TestA (0.00s)\nFAIL\tx [build failed]\n", bad, broken, ""},
		"green":                 {"--- PASS: TestA (0.00s)\nok  \tx\t0.1s\n", nil, survived, ""},
		"nothing ran":           {"testing: warning: no tests to run\nok  \tx\t0.1s\n", nil, broken, ""},
		"not started":           {"", bad, broken, ""},
	} {
		if got, by := judgeAny(c.said, c.err); got != c.want || by != c.by {
			t.Errorf("%s: %s by %q, want %s by %q", name, got, by, c.want, c.by)
		}
	}
}

// TestTryBlind tries patches of a small module: any test may notice them, and only those of
// the packages and the expression that are named run.
func TestTryBlind(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	dir := smallModule(t)
	const sum, wrong = "\treturn a + b", "\treturn a - b"
	write(t, dir, map[string]string{
		"y/y_test.go":               "package y\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n",
		"list/x.txt":                "",
		"blind/noticed.patch":       aPatch(sum, wrong),
		"blind/by-another.patch":    aPatch(sum, wrong),
		"blind/by-a-panic.patch":    aPatch(sum, "\treturn 0 * a * b"),
		"blind/the-same.patch":      aPatch(sum, "\treturn b + a"),
		"blind/not-looked-at.patch": aPatch(sum, wrong),
		"blind/not-chosen.patch":    aPatch(sum, wrong),
		"blind/no-program.patch":    aPatch(sum, "\treturn a +"),
		"blind/no-test.patch":       aPatch(sum, wrong),
		"blind/gone.patch":          aPatch("\treturn a + c", "\treturn a"),
		"blind/" + testsFile: "noticed ./x\nby-another ./y ./x\nby-a-panic ./x ^TestPanics$\nthe-same ./x\nnot-looked-at ./y\n" +
			"not-chosen ./x ^TestPanics$\nno-program ./x\nno-test ./x ^TestNone$\ngone ./x\n",
	})
	var out bytes.Buffer
	dirs := from{list: filepath.Join(dir, "list"), blind: filepath.Join(dir, "blind")}
	if err := run(t.Context(), &out, dirs, "", bench{root: dir, jobs: 2}); err == nil || !strings.Contains(err.Error(), "6 of 9 did not die") {
		t.Errorf("run: %v", err)
	}
	for name, want := range map[string]string{ // after a dead one's packages, what noticed it
		"noticed": "died .*./x TestSum", "by-another": "died .*./y ./x TestSum", "by-a-panic": "died .*./x TestPanics", "the-same": "SURVIVED .*./x ",
		"not-looked-at": "SURVIVED .*./y ", "not-chosen": "SURVIVED .*./x ", "no-program": "BROKEN .*./x ", "no-test": "BROKEN .*./x ", "gone": "STALE .*./x ",
	} {
		how, rest, _ := strings.Cut(want, " .*")
		if !regexp.MustCompile(`(?m)^` + how + ` .* ` + name + ` +` + rest + `$`).MatchString(out.String()) {
			t.Errorf("%s: want %s", name, want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
