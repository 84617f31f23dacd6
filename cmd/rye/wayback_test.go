package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// hintOf runs a command that must fail with a status, and returns the command that it
// shows as the way out.
func (h *home) hintOf(status int, args ...string) []string {
	h.t.Helper()
	said := h.fails(status, args...)
	for line := range strings.Lines(said) {
		if hint, ok := strings.CutPrefix(strings.TrimSpace(line), "rye: hint: "); ok {
			words := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(hint))
			if words[0] != "rye" && words[0] != "mv" {
				h.t.Fatalf("rye %s: the hint is no command: %s", strings.Join(args, " "), hint)
			}
			return words
		}
	}
	h.t.Fatalf("rye %s: no hint:\n%s", strings.Join(args, " "), said)
	return nil
}

// follows runs a hint as it was printed.
func (h *home) follows(words []string) {
	h.t.Helper()
	if words[0] == "rye" {
		h.rye(words[1:]...)
		return
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = h.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// TestWayBack is U11: each state that a newcomer gets into by accident shows a command,
// and following what is shown, one after the other, leads out of it.
func TestWayBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the hints name mv")
	}
	needBash(t)
	signedTool := func(t *testing.T) (*home, string) {
		h := newHome(t)
		h.rye("new", "tool", "acme/hello", "--lang", "bash")
		h.rye("sign", "--all")
		return h, filepath.Join(h.variable("HOME"), ".config", "rye")
	}
	verify := []string{"verify", "tool:acme/hello"}

	t.Run("trust store gone", func(t *testing.T) {
		h, config := signedTool(t)
		remove(t, filepath.Join(config, "trust.yaml"))
		if out := h.rye("status"); !strings.Contains(out, "your key at ") {
			t.Errorf("status takes the user for a stranger:\n%s", out)
		}
		h.follows(h.hintOf(11, "execute", "tool:acme/hello"))
		if said := h.fails(11, "execute", "tool:acme/hello"); !strings.Contains(said, "was not accepted") {
			t.Errorf("the key is not believed again:\n%s", said)
		}
	})
	for name, text := range map[string]string{"emptied": "", "damaged": "{{{", "half": "own:\n"} {
		t.Run("trust store "+name, func(t *testing.T) {
			h, config := signedTool(t)
			path := filepath.Join(config, "trust.yaml")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			h.follows(h.hintOf(19, verify...))
			kept, err := filepath.Glob(path + ".damaged-*")
			if err != nil || len(kept) != 1 || h.readAt(kept[0]) != text {
				t.Errorf("the damaged store was not kept: %v", kept)
			}
			if got := h.hintOf(11, "execute", "tool:acme/hello"); got[1] != "key" {
				t.Errorf("the way on is %q", got)
			}
			h.follows(h.hintOf(11, "sign", "--all"))
			h.rye("key", "list")
		})
	}
	t.Run("newer trust store", func(t *testing.T) {
		h, config := signedTool(t)
		if err := os.WriteFile(filepath.Join(config, "trust.yaml"), []byte("format: 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if said := h.fails(19, verify...); !strings.Contains(said, "hint: install a newer rye") {
			t.Error(said)
		}
	})
	t.Run("key damaged", func(t *testing.T) {
		h, config := signedTool(t)
		key := filepath.Join(config, "keys", "default")
		if err := os.WriteFile(key, []byte("garbage\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := h.rye("key", "list"); !strings.Contains(out, "damaged") {
			t.Errorf("key list does not say it:\n%s", out)
		}
		h.write(toolFile, strings.Replace(h.read(toolFile), "hello", "hullo", 1))
		h.follows(h.hintOf(19, "sign", "--all")) // aside
		h.lostKey()
		h.rye("sign", "--all")
		h.rye("execute", "tool:acme/hello")
		if left, _ := filepath.Glob(filepath.Join(config, "default.damaged-*")); len(left) != 1 {
			t.Errorf("the damaged key was not kept: %v", left)
		}
	})
	t.Run("key lost", func(t *testing.T) {
		h, config := signedTool(t)
		remove(t, filepath.Join(config, "keys", "default"))
		h.rye("execute", "tool:acme/hello") // it is still known to be the user's
		h.rye("new", "knowledge", "acme/style")
		h.lostKey()
		h.rye("sign", "--all")
		h.rye("execute", "tool:acme/hello")
	})
	t.Run("user space", func(t *testing.T) {
		h, _ := signedTool(t)
		user := h.variable("HOME")
		if err := os.MkdirAll(filepath.Join(user, ".ai", "tools", "acme"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(user, ".ai", "tools", "acme", "mine.sh"), []byte(attackTool), 0o644); err != nil {
			t.Fatal(err)
		}
		inProject := h.hintOf(3, "sign", "tool:acme/mine")
		if hint := h.hintOf(11, "execute", "tool:acme/mine"); strings.Join(hint, " ") != strings.Join(inProject, " ") {
			t.Errorf("execute says %q, sign says %q", hint, inProject)
		}
		h.follows(inProject)
		h.rye("execute", "tool:acme/mine")
	})
	t.Run("typing mistake", func(t *testing.T) {
		h, _ := signedTool(t)
		for _, args := range [][]string{{"load", "tool:acme/helo"}, {"execute", "tool:acme/hlelo"}, {"show", "tool:other/hello"}} {
			if hint := h.hintOf(3, args...); strings.Join(hint, " ") != "rye show tool:acme/hello" {
				t.Errorf("rye %s: the hint is %q", strings.Join(args, " "), hint)
			} else {
				h.follows(hint)
			}
		}
		if hint := h.hintOf(3, "load", "tool:acme/nothinglikeit"); strings.Join(hint, " ") != "rye list" {
			t.Errorf("the hint is %q", hint)
		}
		// Search takes the way itself: it answers with what is near, and marks that as a guess.
		out, err := h.command("search", "helo").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "?  tool:acme/hello") || !strings.Contains(string(out), "no item has that word; similar words:") {
			t.Errorf("rye search helo: %v\n%s", err, out)
		}
		if out := h.rye("search", "hello"); !strings.Contains(out, "tool:acme/hello") {
			t.Errorf("rye search hello:\n%s", out)
		}
	})
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func (h *home) readAt(path string) string {
	h.t.Helper()
	return testkit.ReadFile(h.t, path)
}

// lostKey reads the page that the refusal names, and makes another key.
func (h *home) lostKey() {
	h.t.Helper()
	if said := h.fails(3, "sign", "--all"); !strings.Contains(said, "rye help lost-key") || !strings.Contains(said, "rye key new") {
		h.t.Errorf("the page is not named: %s", said)
	}
	h.rye("help", "lost-key")
	h.rye("key", "new")
}
