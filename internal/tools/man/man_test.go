package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/cli"
)

// manLine is what a line of a page may look like: one of our macros, or text that
// no formatter takes for a request, in ASCII.
var manLine = regexp.MustCompile(`^(\.(TH|SH|SS|TP|PP|nf|fi|RE|RS|BR)( .*)?|[^.'].*)$`)

func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	n, err := write(dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	m := cli.Tree()
	if len(names) != n || n != len(m.Commands)+1 {
		t.Errorf("%d pages, %d files, %d commands", n, len(names), len(m.Commands))
	}
	text := map[string]string{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text[filepath.Base(name)] = string(raw)
		for i, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
			if !manLine.MatchString(line) || strings.ContainsFunc(line, func(r rune) bool { return r >= 0x7f || r < ' ' }) {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
	for _, c := range m.Commands {
		if !strings.Contains(text[pageName(c)+".1"], roff(c.Short)) {
			t.Errorf("%s.1 does not say what the command does", pageName(c))
		}
		for _, sub := range c.Subs {
			if !strings.Contains(text[pageName(c)+".1"], "\n.SS "+roff(sub.Name)+"\n") {
				t.Errorf("%s.1 has nothing on %s", pageName(c), sub.Name)
			}
		}
		if !strings.Contains(text["rye.1"], roff(pageName(c))) {
			t.Errorf("rye.1 does not name %s", pageName(c))
		}
	}
	lint(t, names)
}

// TestManRefuses: where a file stands in the way there is no manual, and an error.
func TestManRefuses(t *testing.T) {
	if _, err := write("man_test.go/x"); err == nil {
		t.Error("a manual was written below a file")
	}
}

// lint lets a formatter judge the pages, where there is one.
func lint(t *testing.T, names []string) {
	args := []string{"mandoc", "-T", "lint", "-W", "warning"}
	if _, err := exec.LookPath(args[0]); err != nil {
		if args = []string{"groff", "-man", "-ww", "-z", "-Tutf8"}; !inPath(args[0]) {
			t.Log("neither mandoc nor groff here")
			return
		}
	}
	for _, name := range names {
		out, err := exec.Command(args[0], append(args[1:len(args):len(args)], name)...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s %s: %v\n%s", args[0], name, err, out)
		}
	}
}

func inPath(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

func TestRoff(t *testing.T) {
	for in, want := range map[string]string{
		"rye add --kind": `rye add \-\-kind`,
		`a\b`:            `a\eb`,
		"<path…>":        `<path\[u2026]>`,
		"it's ^1.2":      `it\(aqs \(ha1.2`,
	} {
		if got := roff(in); got != want {
			t.Errorf("roff(%q) = %q, want %q", in, got, want)
		}
	}
	if got := guarded(".ai"); got != `\&.ai` {
		t.Errorf("guarded(.ai) = %q", got)
	}
}
