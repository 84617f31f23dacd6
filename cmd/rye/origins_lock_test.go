package main_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestOriginLockLies: the origins in a clone's lock are a copy that nothing follows. A lie is listed
// by rye lock verify, and no command contacts, takes or refuses anything because of it.
func TestOriginLockLies(t *testing.T) {
	t.Parallel()
	needGit(t)
	o, evil := newOrigin(t), newOrigin(t)
	h := o.person()
	h.rye("add", o.url+"//skills/pdf", "--yes")
	h.rye("sign", "--all")
	h.rye("lock")
	good := h.read(".ai/rye.lock")
	wants(t, good, "bundle:acme/pdf:\n    source: "+regexp.QuoteMeta(o.url)+"\n    ref: refs/heads/main\n")
	h.rye("lock", "verify")
	commit := o.git("rev-parse", "HEAD")
	other := "bundle:acme/other:\n    source: https://git.example.org/x\n    tree_sha256: " + strings.Repeat("ac", 32) + "\n  "
	for name, lie := range map[string][2]string{
		"source":      {o.url, evil.url},
		"ref":         {"refs/heads/main", "refs/tags/v9"},
		"commit":      {commit, strings.Repeat("a", 40)},
		"path":        {"path: skills/pdf", "path: skills/csv"},
		"another":     {"bundle:acme/pdf:", other + "bundle:acme/pdf:"},
		"its name":    {"bundle:acme/pdf:", "bundle:acme/renamed:"},
		"tree_sha256": {regexp.MustCompile(`tree_sha256: (\S+)`).FindStringSubmatch(good)[1], strings.Repeat("ab", 32)},
	} {
		h.write(".ai/rye.lock", strings.Replace(good, lie[0], lie[1], 1))
		wants(t, h.fails(18, "lock", "verify"), "bundle:acme/(pdf|other|renamed): ", "manifest")
		wants(t, h.rye("show", "bundle:acme/pdf"), regexp.QuoteMeta(o.url+"#main//skills/pdf at "+commit[:12]))
		wants(t, h.rye("outdated"), "acme/bundle/pdf .* ok ")
		h.rye("verify")
		h.status("load", "knowledge:acme/pdf")
		if h.read(".ai/rye.lock") == good {
			t.Errorf("%s: a command that looks mended the lock", name)
		}
		h.rye("update", "--yes")
		h.rye("pull")
		if evil.asked.Load() != 0 {
			t.Fatalf("%s: the lock led to another host", name)
		}
		h.rye("lock")
		if got := h.read(".ai/rye.lock"); got != good {
			t.Errorf("%s: rye lock wrote\n%s", name, got)
		}
	}
	// What no manifest can state is no lock.
	for _, bad := range []string{"https://ada:secret@git.example.org/x", "--upload-pack=x"} {
		h.write(".ai/rye.lock", strings.Replace(good, "source: "+o.url, `source: "`+bad+`"`, 1))
		if out := h.fails(19, "lock", "verify"); strings.Contains(out, "secret") {
			t.Errorf("the refusal shows a password:\n%s", out)
		}
	}
	// A manifest that nobody signed is no evidence: its entry stays with its pins.
	h.write(".ai/rye.lock", good)
	m := h.read(".ai/bundles/acme/pdf/rye.bundle.yaml")
	h.write(".ai/bundles/acme/pdf/rye.bundle.yaml", strings.Replace(m[strings.Index(m, "format:"):], o.url, evil.url, 1))
	h.status("lock")
	if got := h.read(".ai/rye.lock"); strings.Contains(got, evil.url) || !strings.Contains(got, o.url) {
		t.Errorf("an unsigned manifest changed the lock:\n%s", got)
	}
}

// TestStaleFilesAreRemoved: a kill during a host's answer leaves files in rye's own directories. The
// next command that writes removes those that are old enough to be nobody's; one that looks does not.
func TestStaleFilesAreRemoved(t *testing.T) {
	t.Parallel()
	needGit(t)
	o := newOrigin(t)
	h := o.person()
	h.rye("add", o.url+"//skills/pdf", "--yes")
	h.rye("sign", "--all")
	reached, never := make(chan bool, 8), make(chan bool)
	t.Cleanup(func() { close(never) })
	o.skill("pdf", "two")
	o.push("two")
	serve := backend(t, filepath.Dir(o.bare), false)
	hang := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Body = io.NopCloser(bytes.NewReader(body)); !bytes.Contains(body, []byte("command=fetch")) {
			serve.ServeHTTP(w, r)
			return
		}
		reached <- true
		select {
		case <-r.Context().Done():
		case <-never:
		}
	})
	o.lie.Store(&hang)
	cmd := h.command("update", "--yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-reached:
	case <-time.After(60 * time.Second):
		t.Error("rye update asked nothing")
	}
	cmd.Process.Kill()
	if cmd.Wait() == nil {
		t.Fatal("rye update ended by itself")
	}
	o.lie.Store(nil)
	cache := strings.TrimSpace(h.rye("where", "cache"))
	left, err := filepath.Glob(filepath.Join(cache, "rye-add-*"))
	if err != nil || len(left) == 0 {
		t.Fatalf("the kill left nothing in %s (%v), so the test shows nothing", cache, err)
	}
	record, state := filepath.Dir(h.store()), strings.TrimSpace(h.rye("where", "state"))
	stays := []string{filepath.Join(record, ".rye-tmp-young"), filepath.Join(state, "rye-tmp-other")}
	for _, dir := range []string{record, state, cache} {
		left = append(left, filepath.Join(dir, ".rye-tmp-OLD"))
	}
	for _, f := range append(left[len(left)-3:], stays...) {
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, f := range append(left, stays[1]) {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	there := func(when string, want bool, all []string) {
		t.Helper()
		for _, f := range all {
			if _, err := os.Lstat(f); (err == nil) != want {
				t.Errorf("%s: %s: %v, want there: %v", when, f, err, want)
			}
		}
	}
	h.rye("verify")
	h.rye("log")
	there("after looking", true, append(left, stays...))
	h.rye("update", "--yes")
	there("after rye update", false, left)
	there("after rye update", true, stays)
}
