package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manLine is what a line of a page may look like: one of our macros, or text that
// no formatter takes for a request, in ASCII.
var manLine = regexp.MustCompile(`^(\.(TH|SH|SS|TP|PP|nf|fi|RE|RS|BR)( .*)?|[^.'].*)$`)

func TestMan(t *testing.T) {
	pages := Man()
	dir := t.TempDir()
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if !manLine.MatchString(line) || strings.ContainsFunc(line, func(r rune) bool { return r >= 0x7f || r < ' ' }) {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
	for _, s := range commands() {
		if text, ok := pages["rye-"+s.name+".1"]; ok == s.hidden {
			t.Errorf("rye-%s.1: there %v, hidden %v", s.name, ok, s.hidden)
		} else if ok && !strings.Contains(text, roff(s.short)) {
			t.Errorf("rye-%s.1 does not say what the command does", s.name)
		}
		if !s.hidden && !strings.Contains(pages["rye.1"], roff("rye-"+s.name)) {
			t.Errorf("rye.1 does not name rye-%s", s.name)
		}
	}
	lint(t, dir, pages)
}

// lint lets a formatter judge the pages, where there is one.
func lint(t *testing.T, dir string, pages map[string]string) {
	args := []string{"mandoc", "-T", "lint", "-W", "warning"}
	if _, err := exec.LookPath(args[0]); err != nil {
		if args = []string{"groff", "-man", "-ww", "-z", "-Tutf8"}; !inPath(args[0]) {
			t.Log("neither mandoc nor groff here")
			return
		}
	}
	for name := range pages {
		out, err := exec.Command(args[0], append(args[1:len(args):len(args)], filepath.Join(dir, name))...).CombinedOutput()
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
