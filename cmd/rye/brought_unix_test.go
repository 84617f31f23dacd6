//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unsigned is the tool as another person leaves it, who can write every line but no signature.
func (m *mergers) unsigned(text string) string {
	var lines []string
	for line := range strings.Lines(m.now()) {
		if !strings.Contains(line, "rye:signed:") && !strings.Contains(line, "rye:merged:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "") + text + "\n"
}

// mallory makes a branch from main with an unsigned text in the tool and in a bundle, and with a
// new item.
func (m *mergers) mallory() {
	m.t.Helper()
	m.git("checkout", "-q", "-b", "mallory", "main")
	m.put(m.unsigned("echo evil"))
	m.write(".ai/bundles/acme/kit/data.txt", "evil\n")
	m.write(".ai/knowledge/acme/evil.md", "---\nversion: 1.0.0\ntitle: t\nentry_type: reference\n---\nobey\n")
	m.git("add", "-A")
	m.git("commit", "-qm", "a small thing")
	m.git("checkout", "-q", "main")
}

// TestSignAllShowsWhatOthersWrote: whatever way a text by someone else comes by git, no request for
// many items signs it without a look; and the user's own edits need none.
func TestSignAllShowsWhatOthersWrote(t *testing.T) {
	t.Parallel()
	m := newMergers(t)
	m.write(".ai/bundles/acme/kit/data.txt", "one\n")
	m.rye("sign", ".ai/bundles/acme/kit")
	m.git("add", "-A")
	m.git("commit", "-qm", "a bundle")
	m.mallory()
	m.git("checkout", "-q", "-b", "mine", "main")
	m.git("commit", "-q", "--allow-empty", "-m", "mine")

	skips := func(name string, refs ...string) {
		t.Helper()
		m.fails(16, "sign", "*:*", "--yes")
		for _, args := range [][]string{{"--all"}, {"--all", "--yes"}} {
			said := m.fails(16, append([]string{"sign"}, args...)...)
			for _, ref := range refs {
				if !strings.Contains(said, "skipped  "+ref+": ") || !strings.Contains(said, "rye sign "+refs[0]+"\n") {
					t.Errorf("%s: sign %s does not skip %s:\n%s", name, args, ref, said)
				}
			}
		}
		if strings.Contains(m.now(), "rye:signed:") {
			t.Errorf("%s: signed:\n%s", name, m.now())
		}
		if out := m.rye("sign", "--all", "--dry-run"); !strings.Contains(out, "would-ask  "+refs[0]) {
			t.Errorf("%s: a dry run says\n%s", name, out)
		}
	}
	begin := func(branch string) {
		t.Helper()
		for _, undo := range []string{"merge", "rebase", "cherry-pick", "revert", "am"} {
			m.try(undo, "--abort")
		}
		m.git("reset", "-q", "--hard")
		m.git("clean", "-qfd")
		m.git("checkout", "-q", "-f", "-B", "try", branch)
	}
	const tool, kit, page = "tool:acme/hello", "bundle:acme/kit", "knowledge:acme/evil"

	begin("main")
	m.git("merge", "-q", "--ff-only", "mallory")
	skips("fast-forward", tool, kit, page)
	m.put(m.now() + "echo mine\n")
	skips("an own edit above it", tool, kit, page)
	m.fails(16, "sign", tool)
	m.git("checkout", "-q", "--orphan", "orphan")
	skips("an orphan branch", tool, kit, page)

	begin("mine")
	m.git("merge", "-q", "--no-edit", "mallory")
	skips("merge", tool, kit, page)
	for name, args := range map[string][]string{
		"merge, not finished":   {"merge", "--no-ff", "--no-commit", "mallory"},
		"squash":                {"merge", "--squash", "mallory"},
		"cherry-pick, not made": {"cherry-pick", "--no-commit", "mallory"},
	} {
		begin("mine")
		m.git(args...)
		skips(name, tool, kit, page)
	}
	begin("mallory")
	m.git("commit", "-q", "--amend", "-m", "no page", "--date", "2026-01-01T00:00:00Z")
	m.git("rebase", "-q", "mine")
	skips("rebase", tool, kit, page)
	begin("mine")
	patch := filepath.Join(t.TempDir(), "patch")
	m.git("format-patch", "-q", "-1", "--output", patch, "mallory")
	m.git("am", "-q", patch)
	skips("am", tool, kit, page)

	// The marker of a merge is a line like others.
	begin("main")
	m.edit(2, "echo left")
	m.git("checkout", "-q", "-B", "right", "main")
	m.edit(9, "echo right")
	m.git("merge", "-q", "--no-edit", "try")
	m.put(m.unsigned(""))
	skips("a merge without its marker", tool)

	// Two names of HEAD are one file on a disk that ignores case.
	begin("main")
	blob := strings.TrimSpace(m.git("rev-parse", "mallory:.ai/tools/acme/hello.sh"))
	m.git("update-index", "--add", "--cacheinfo", "100644,"+blob+",.ai/tools/acme/Hello.sh")
	m.git("commit", "-qm", "another case")
	m.put(m.unsigned("echo evil"))
	skips("another case", tool)

	// A worktree has its own operations.
	begin("main")
	tree := filepath.Join(filepath.Dir(m.dir), "tree")
	m.git("worktree", "add", "-q", "-b", "apart", tree, "mine")
	in := *m
	h := *m.home
	h.dir = tree
	in.home, in.tool = &h, filepath.Join(tree, ".ai", "tools", "acme", "hello.sh")
	in.rye("trust", "--yes")
	in.git("merge", "-q", "--no-ff", "--no-commit", "mallory")
	if said := in.fails(16, "sign", "--all"); !strings.Contains(said, "skipped  "+tool+": git has not finished a merge") {
		t.Errorf("a worktree in a merge:\n%s", said)
	}
	m.put(m.unsigned("echo mine"))
	m.rye("sign", "--all") // the other tree is not merging

	// The user's own work.
	begin("main")
	m.put(m.unsigned("echo mine"))
	m.write(".ai/bundles/acme/kit/data.txt", "two\n")
	m.write(".ai/knowledge/acme/new.md", "---\nversion: 1.0.0\ntitle: t\nentry_type: reference\n---\nnew\n")
	if err := os.Chmod(m.tool, 0o755); err != nil {
		t.Fatal(err)
	}
	if out := m.rye("sign", "--all"); strings.Count(out, "signed  ") != 3 {
		t.Errorf("own edits:\n%s", out)
	}
	m.git("add", "-A")
	m.git("commit", "-qm", "all mine")
	m.put(m.unsigned("echo again"))
	if out := m.rye("sign", "--all"); !strings.Contains(out, "signed  "+tool) {
		t.Errorf("after a change of its mode:\n%s", out)
	}
}

// TestSignAllOfTheFirstDay: where the user never signed anything, what git's HEAD has is one list,
// and what it lacks needs no question.
func TestSignAllOfTheFirstDay(t *testing.T) {
	t.Parallel()
	needGit(t)
	h := newHome(t)
	m := &mergers{home: h}
	m.git("init", "-q", "-b", "main")
	h.write(".ai/knowledge/acme/zero.md", "---\nversion: 1.0.0\ntitle: t\nentry_type: reference\n---\nzero\n")
	h.rye("sign", "knowledge:acme/zero", "--dry-run")
	for _, name := range []string{"one", "two", "three"} {
		h.write(".ai/knowledge/acme/"+name+".md", "---\nversion: 1.0.0\ntitle: t\nentry_type: reference\n---\n"+name+"\n")
	}
	m.git("add", ".ai/knowledge/acme/one.md", ".ai/knowledge/acme/two.md", ".ai/knowledge/acme/three.md")
	m.git("commit", "-qm", "before the first signature")
	said := h.fails(16, "sign", "--all")
	if !strings.Contains(said, "hint: rye sign --all --yes\n") || strings.Count(said, "skipped  ") != 3 || !strings.Contains(said, "signed  knowledge:acme/zero") {
		t.Errorf("the first day:\n%s", said)
	}
}

// TestSignAllOfTheFirstDayByList is TestSignAllOfTheFirstDay with the flag that its hint names.
func TestSignAllOfTheFirstDayByList(t *testing.T) {
	t.Parallel()
	needGit(t)
	h := newHome(t)
	m := &mergers{home: h}
	m.git("init", "-q", "-b", "main")
	for _, name := range []string{"one", "two"} {
		h.write(".ai/knowledge/acme/"+name+".md", "---\nversion: 1.0.0\ntitle: t\nentry_type: reference\n---\n"+name+"\n")
	}
	m.git("add", "-A")
	m.git("commit", "-qm", "before the first signature")
	if out := h.rye("sign", "--all", "--yes"); strings.Count(out, "signed  ") != 2 {
		t.Errorf("by the list:\n%s", out)
	}
	m.git("commit", "-qam", "signed")
	shallow := filepath.Join(t.TempDir(), "shallow")
	m.git("clone", "-q", "--depth", "1", "file://"+h.dir, shallow)
	s := *h
	s.dir = shallow
	s.rye("trust", "--yes")
	s.write(".ai/knowledge/acme/one.md", "---\nversion: 1.0.1\ntitle: t\nentry_type: reference\n---\none more\n")
	if out := s.rye("sign", "--all"); !strings.Contains(out, "signed  knowledge:acme/one") {
		t.Errorf("a shallow clone:\n%s", out)
	}
}
