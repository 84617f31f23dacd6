package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

// git asks plain git about the project's record.
func (h *home) git(args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", h.store()}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestBlameAndPatchesBesideGit: of an item that was edited and signed again and again, each line
// is from the commit that git blame says, and rye log -p has the hunks of git log -p.
func TestBlameAndPatchesBesideGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH to compare with")
	}
	h := newHome(t)
	const head = "---\nid: guide\ntitle: Guide\nversion: 1.%d.0\nentry_type: reference\ncategory: acme\n---\n"
	chapter := func(n int) string {
		return fmt.Sprintf("## Chapter %d\n\nIt says %d.\n\n- first\n- second\n\n", n, n)
	}
	all := func(from, to int) (text string) {
		for n := from; n <= to; n++ {
			text += chapter(n)
		}
		return text
	}
	for n, body := range []string{
		all(1, 8),
		all(1, 3) + chapter(9) + all(4, 8),              // a chapter between others, of lines that they have too
		all(1, 2) + all(4, 8) + chapter(3),              // one moved to the end, one gone
		strings.Replace(all(1, 8), "says 5", "is 5", 1), // back, but for a line
		all(1, 4) + "\n" + all(5, 8) + "the end\n",
	} {
		h.write(".ai/knowledge/acme/guide.md", fmt.Sprintf(head, n)+body)
		h.rye("sign", "knowledge:acme/guide")
	}

	var got []rye.LogEntry
	d := json.NewDecoder(strings.NewReader(h.rye("log", "-p", "knowledge:acme/guide", "--json")))
	for d.More() {
		var e rye.LogEntry
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 5 {
		t.Fatalf("%d entries, want one for each version", len(got))
	}
	for _, e := range got {
		want := gitHunks(h.git("show", "--no-show-signature", "--format=", "-p", e.Commit, "--", "knowledge/acme/guide.md"))
		if len(e.Changes) != 1 || strings.Join(e.Changes[0].Lines, "\n") != want {
			t.Errorf("commit %s: %+v\ngit has\n%s", e.Commit, e.Changes, want)
		}
	}

	var lines []rye.BlameLine
	d = json.NewDecoder(strings.NewReader(h.rye("blame", "knowledge:acme/guide", "--json")))
	for d.More() {
		var l rye.BlameLine
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	theirs := strings.Split(strings.TrimSuffix(h.git("blame", "--root", "-s", "-l", "HEAD", "--", "knowledge/acme/guide.md"), "\n"), "\n")
	if len(lines) != len(theirs) {
		t.Fatalf("%d lines, git has %d", len(lines), len(theirs))
	}
	for i, l := range lines {
		id, rest, _ := strings.Cut(theirs[i], " ")
		if _, text, _ := strings.Cut(rest, ") "); l.Commit != strings.TrimPrefix(id, "^") || l.Text != text && text != "" {
			t.Errorf("line %d is from %s, %q; git says %s", l.Line, l.Commit, l.Text, theirs[i])
		}
		if l.State != "signed" || l.Signer == "" || l.SignedIn != l.Commit || l.RecordedBy == "" || !strings.HasPrefix(l.Version, "1.") {
			t.Errorf("line %d: %+v", l.Line, l)
		}
	}
}

// gitHunks takes the heads of files off, and what stands behind the numbers of a hunk.
func gitHunks(patch string) string {
	_, hunks, _ := strings.Cut("\n"+strings.TrimSuffix(patch, "\n"), "\n@@ ")
	var out []string
	for _, line := range strings.Split("@@ "+hunks, "\n") {
		if strings.HasPrefix(line, "@@ ") {
			line = line[:strings.Index(line[3:], " @@")+6]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
