package store

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

// logFile reads the file of a log.
func logFile(t testing.TB, r *Repo, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.Dir(), "logs", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// whys returns the messages of a log, oldest first.
func whys(t testing.TB, r *Repo, name string) (all []string) {
	t.Helper()
	moves, err := r.RefLog(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		all = append(all, m.Why)
	}
	return all
}

// TestRefLogIsGits: the same moves, by rye and by git, leave the same logs.
func TestRefLogIsGits(t *testing.T) {
	needGit(t)
	for _, f := range []Format{SHA1, SHA256} {
		t.Run(f.String(), func(t *testing.T) {
			r, g := newRepoFormat(t, f), newRepoFormat(t, f)
			r.Edit(t.Context(), testHead, []Change{put("a", "1")}, opts("one"))
			first, _ := r.Ref(testHead)
			second := mustEdit(t, r, "two  words", put("a", "2"))
			must(t, r.Swap(t.Context(), testHead, second, first, " go\tback\n to  it "))
			must(t, r.Swap(t.Context(), "refs/heads/dead/x", OID{}, first, "make"))
			must(t, r.Swap(t.Context(), "refs/heads/dead/x", first, OID{}, "end"))
			must(t, r.Swap(t.Context(), "refs/heads/y", OID{}, first, ""))
			must(t, r.Swap(t.Context(), "refs/rye/none", OID{}, first, "no branch"))

			var pack strings.Builder
			must(t, r.PackFor(t.Context(), &pack, []OID{second}, nil))
			gitIn(t, g.Dir(), []byte(pack.String()), "unpack-objects", "-q")
			for _, move := range [][]string{
				{"-m", "commit (initial): one", testHead, first.String()},
				{"-m", "commit: two  words", testHead, second.String(), first.String()},
				{"-m", " go\tback\n to  it ", testHead, first.String(), second.String()},
				{"-m", "make", "refs/heads/dead/x", first.String()},
				{"-m", "end", "-d", "refs/heads/dead/x"},
				{"refs/heads/y", first.String()},
				{"-m", "no branch", "refs/rye/none", first.String()},
			} {
				git(t, g.Dir(), append([]string{"update-ref"}, move...)...)
			}
			who := regexp.MustCompile(`[A-Za-z]+ <[^>]*> \d+ \+0000`)
			for _, name := range []string{"HEAD", testHead, "refs/heads/y"} {
				got, want := who.ReplaceAllString(logFile(t, r, name), "WHO"), who.ReplaceAllString(logFile(t, g, name), "WHO")
				if got != want {
					t.Errorf("log of %s:\n%sgit's:\n%s", name, got, want)
				}
			}
			ours, _ := r.RefLogs()
			gits, _ := g.RefLogs()
			if want := []string{"HEAD", testHead, "refs/heads/y"}; !slices.Equal(ours, gits) || !slices.Equal(ours, want) {
				t.Errorf("logs of %q, of git's %q, want %q", ours, gits, want)
			}
			if got := git(t, r.Dir(), "reflog", "--format=%gs"); got != "go back to it\ncommit: two words\ncommit (initial): one" {
				t.Errorf("git reflog: %q", got)
			}
			if got := git(t, r.Dir(), "rev-parse", testHead+"@{1}"); got != second.String() {
				t.Errorf("git finds %s before the last move, want %s", got, second)
			}
			fsck(t, r.Dir())

			git(t, r.Dir(), "update-ref", "-m", "by git", testHead, second.String())
			if got := whys(t, r, testHead); !slices.Equal(got, []string{"commit (initial): one", "commit: two words", "go back to it", "by git"}) {
				t.Errorf("RefLog = %q", got)
			}
		})
	}
}

// TestRefLogKeeps: what only a log names survives rye's and git's packing.
func TestRefLogKeeps(t *testing.T) {
	for _, alone := range []bool{false, true} { // with git repacking in between, or not
		r := newRepo(t)
		first := mustEdit(t, r, "first", put("a", "1"))
		lost := mustEdit(t, r, "lost", put("lost/b", "only there"))
		must(t, r.Swap(t.Context(), testHead, lost, first, "forget"))
		c, err := r.Compact(t.Context(), CompactOptions{})
		if err != nil || c.Left != 0 {
			t.Fatalf("Compact = %+v, %v: the lost commit was not taken in", c, err)
		}
		if gitBin != "" && !alone {
			git(t, r.Dir(), "repack", "-adq")
			git(t, r.Dir(), "gc", "-q", "--prune=now")
			fsck(t, r.Dir())
		}
		next := reopen(t, r)
		moves, err := next.RefLog(testHead)
		if err != nil || len(moves) != 3 || moves[2].Old != lost || moves[2].Why != "forget" {
			t.Fatalf("RefLog = %+v, %v", moves, err)
		}
		commit, err := next.Commit(lost)
		if err != nil {
			t.Fatal(err)
		}
		e, err := next.Lookup(commit.Tree, "lost/b")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := next.Blob(e.ID, 0); err != nil || string(b) != "only there" {
			t.Errorf("Blob = %q, %v", b, err)
		}
	}
}

// TestRefLogExpires: Compact drops what is older than git would keep, unless the
// repository says that it is kept otherwise.
func TestRefLogExpires(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "first", put("a", "1"))
	mustEdit(t, r, "second", put("a", "2"))
	path := filepath.Join(r.Dir(), "logs", "HEAD")
	age := func() {
		lines := strings.SplitAfter(logFile(t, r, "HEAD"), "\n")
		old := regexp.MustCompile(`> \d+ `).ReplaceAllString(lines[0], "> 1500000000 ")
		must(t, os.WriteFile(path, []byte(old+strings.Join(lines[1:], "")), 0o644))
	}
	age()
	for _, dry := range []bool{true, false} {
		c, err := r.Compact(t.Context(), CompactOptions{DryRun: dry})
		if err != nil || c.Moves != 1 {
			t.Fatalf("Compact = %+v, %v, want one old move", c, err)
		}
	}
	if got := whys(t, r, "HEAD"); !slices.Equal(got, []string{"commit: second"}) {
		t.Errorf("HEAD's log = %q", got)
	}
	if got := whys(t, r, testHead); len(got) != 2 {
		t.Errorf("log of the branch = %q", got)
	}
	fsck(t, r.Dir())
	if l := refLocks(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}

	age() // again, where the user decides
	f, err := os.OpenFile(filepath.Join(r.Dir(), "config"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	f.WriteString("[gc]\n\treflogExpire = never\n")
	f.Close()
	if c, err := reopen(t, r).Compact(t.Context(), CompactOptions{}); err != nil || c.Moves != 0 {
		t.Errorf("Compact = %+v, %v, want it to leave the logs to git", c, err)
	}
}

// TestRefLogExpiresLocked: a log whose locks could not be made is left as it is.
func TestRefLogExpiresLocked(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "first", put("a", "1"))
	before := logFile(t, r, "HEAD")
	unlock, err := r.lock(t.Context())
	must(t, err)
	defer unlock()
	defer func() { testOnlyStep = nil }()
	for at := 1; at <= 2; at++ { // the two files that become locks
		steps := 0
		testOnlyStep = func() error {
			if steps++; steps == at {
				return &os.PathError{Op: "open", Path: r.Dir(), Err: syscall.ENOSPC}
			}
			return nil
		}
		if n, err := r.expireLog("HEAD", time.Now().Add(time.Hour)); n != 0 || err == nil {
			t.Errorf("without room for lock %d: dropped %d moves, %v", at, n, err)
		}
		if got := logFile(t, r, "HEAD"); got != before {
			t.Fatalf("without room for lock %d the log became %q", at, got)
		}
	}
}

// TestRefLogRule: which refs get a log is git's setting; one that is there goes on.
func TestRefLogRule(t *testing.T) {
	for _, c := range []struct {
		setting string
		begun   bool // the branch had a log before
		want    string
	}{
		{"true", false, "HEAD " + testHead},
		{"always", false, "HEAD " + testHead + " refs/rye/x"},
		{"false", false, ""},
		{"false", true, testHead},
	} {
		r := newRepo(t)
		b, _ := os.ReadFile(filepath.Join(r.Dir(), "config"))
		text := strings.Replace(string(b), "logAllRefUpdates = true", "logAllRefUpdates = "+c.setting, 1)
		must(t, os.WriteFile(filepath.Join(r.Dir(), "config"), []byte(text), 0o644))
		if c.begun {
			path := filepath.Join(r.Dir(), "logs", filepath.FromSlash(testHead))
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, nil, 0o644))
		}
		r = reopen(t, r)
		id := mustEdit(t, r, "x", put("a", "1"))
		must(t, r.Swap(t.Context(), "refs/rye/x", OID{}, id, ""))
		names, err := r.RefLogs()
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%s: logs of %q, %v, want %q", c.setting, got, err, c.want)
		}
	}
}

// TestRefLogInTheWay: logs of refs that are gone do not keep others from being
// made, and a torn line does not spoil the next.
func TestRefLogInTheWay(t *testing.T) {
	r := newRepo(t)
	id := mustEdit(t, r, "x", put("a", "1"))
	logs := filepath.Join(r.Dir(), "logs", "refs", "heads")
	must(t, os.WriteFile(filepath.Join(logs, "up"), []byte("old"), 0o644))
	must(t, r.Swap(t.Context(), "refs/heads/up/down", OID{}, id, "down"))
	must(t, os.MkdirAll(filepath.Join(logs, "p", "q"), 0o755))
	must(t, os.WriteFile(filepath.Join(logs, "p", "q", "r"), []byte("old"), 0o644))
	must(t, r.Swap(t.Context(), "refs/heads/p", OID{}, id, "p"))
	must(t, r.Swap(t.Context(), "refs/heads/p", id, OID{}, "no p"))
	must(t, r.Swap(t.Context(), "refs/heads/p/q", OID{}, id, "q"))
	names, err := r.RefLogs()
	if want := "HEAD refs/heads/p/q " + testHead + " refs/heads/up/down"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("logs of %q, %v, want %q", names, err, want)
	}

	f, err := os.OpenFile(filepath.Join(logs, "up", "down"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	f.WriteString(id.String()[:20])
	f.Close()
	second := mustEdit(t, r, "y", put("a", "2"))
	must(t, r.Swap(t.Context(), "refs/heads/up/down", id, second, "on"))
	if got := whys(t, r, "refs/heads/up/down"); !slices.Equal(got, []string{"down", "on"}) {
		t.Errorf("log = %q", got)
	}
	fsck(t, r.Dir())
}

// TestRefLogWaitsForHead: HEAD's log is written under HEAD's lock, as git does it.
func TestRefLogWaitsForHead(t *testing.T) {
	r := newRepo(t)
	id := mustEdit(t, r, "x", put("a", "1"))
	lock := filepath.Join(r.Dir(), "HEAD.lock")
	must(t, os.WriteFile(lock, nil, 0o644))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Edit(ctx, testHead, []Change{put("a", "2")}, opts("y")); err == nil {
		t.Error("an edit went on while git held HEAD")
	}
	must(t, r.Swap(t.Context(), "refs/heads/other", OID{}, id, "not HEAD's"))
	must(t, os.Remove(lock))
	mustEdit(t, r, "z", put("a", "3"))
	if got := whys(t, r, "HEAD"); !slices.Equal(got, []string{"commit (initial): x", "commit: z"}) {
		t.Errorf("HEAD's log = %q", got)
	}
}

func TestRefLogRefusesPaths(t *testing.T) {
	if _, err := newRepo(t).RefLog("../HEAD"); !fault.Is(err, fault.Usage) {
		t.Errorf("RefLog(../HEAD): %v", err)
	}
}
