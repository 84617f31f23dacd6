package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerminalProtectedKey: a life with a passphrase. It is asked for once in a
// process, never shown, and a rotation does not lose it in silence.
func TestTerminalProtectedKey(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := filepath.Join(filepath.Dir(h.key("").Path), "default")
	plain, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := func(exit int, prompt, typed string, args ...string) string {
		t.Helper()
		shown, got := terminal(t, h, prompt, typed, args...)
		if got != exit {
			t.Fatalf("rye %s: exit %d, want %d; shown:\n%s", strings.Join(args, " "), got, exit, shown)
		}
		if strings.Contains(shown, "hunter") {
			t.Fatalf("rye %s shows the passphrase:\n%s", strings.Join(args, " "), shown)
		}
		return shown
	}
	at(2, "passphrase: ", "hunter2\nhunter3\n", "key", "passphrase")
	at(2, "passphrase: ", "\n\n", "key", "passphrase")
	if now, err := os.ReadFile(file); err != nil || string(now) != string(plain) {
		t.Fatalf("a passphrase that was not agreed on changed the file: %v", err)
	}
	at(0, "passphrase: ", "hunter2\nhunter2\n", "key", "passphrase")
	if !strings.Contains(h.rye("key", "list"), "passphrase") {
		t.Error("key list does not say that the key is protected")
	}
	h.rye("new", "knowledge", "acme/style")
	h.fails(6, "sign", "--all")
	if shown := at(0, "passphrase", "hunter2\n", "sign", "--all"); strings.Count(shown, "passphrase of the key") != 1 {
		t.Errorf("asked more than once:\n%s", shown)
	}
	at(6, "passphrase", "wrong\n", "key", "passphrase")
	before := h.key("").Fingerprint
	at(0, "passphrase of", "hunter2\nhunter4\nhunter4\n", "key", "rotate", "--yes")
	if after := h.key("").Fingerprint; after == before || !strings.Contains(h.rye("key", "show"), "passphrase") {
		t.Errorf("rotated %s into %s, which has to be protected, too", before, after)
	}
	at(6, "passphrase of", "hunter2\n", "key", "passphrase", "--remove")
	at(0, "passphrase of", "hunter4\n", "key", "passphrase", "--remove")
	h.rye("new", "knowledge", "acme/other")
	h.rye("sign", "--all")
}

// TestTerminalPins: at a terminal a person is asked, even with --yes, unless the
// fingerprint was given as well; the whole pin is shown.
func TestTerminalPins(t *testing.T) {
	t.Parallel()
	alice, bob := newHome(t), newHome(t)
	k := alice.key("")
	pin := []string{"trust", "pin", k.SSH, "--namespace", "acme", "--namespace", "tools"}
	for _, c := range []struct {
		typed  string
		yes    bool
		exit   int
		pinned bool
	}{
		{"n\n", false, 16, false}, {"\n", true, 16, false}, {"y\n", true, 0, true},
	} {
		args := pin
		if c.yes {
			args = append(args[:len(args):len(args)], "--yes")
		}
		shown, exit := terminal(t, bob, "[y/N]", c.typed, args...)
		if exit != c.exit || !strings.Contains(shown, k.Fingerprint) || !strings.Contains(shown, "for tools/ in the user space") {
			t.Errorf("%q, yes %v: exit %d, want %d; shown:\n%s", c.typed, c.yes, exit, c.exit, shown)
		}
		if got := strings.Contains(bob.rye("trust", "list"), k.Fingerprint); got != c.pinned {
			t.Errorf("%q, yes %v: pinned %v, want %v", c.typed, c.yes, got, c.pinned)
		}
	}
}

// TestTerminalVouches: at a terminal the other signer and the text are shown, and only a
// yes signs.
func TestTerminalVouches(t *testing.T) {
	t.Parallel()
	alice, bob := newHome(t), newHome(t)
	alice.rye("new", "knowledge", "acme/style")
	alice.rye("sign", "--all")
	const path = ".ai/knowledge/acme/style.md"
	bob.write(path, alice.read(path))
	before := bob.read(path)
	for _, c := range []struct {
		typed string
		exit  int
	}{{"n\n", 16}, {"y\n", 0}} {
		shown, exit := terminal(t, bob, "[y/N]", c.typed, "sign", "knowledge:acme/style")
		if exit != c.exit {
			t.Errorf("%q: exit %d, want %d", c.typed, exit, c.exit)
		}
		for _, want := range []string{alice.key("").Fingerprint, "is not accepted here", "+What a reader should know."} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q: the question does not show %q:\n%s", c.typed, want, shown)
			}
		}
		if signed := bob.read(path) != before; signed != (c.exit == 0) {
			t.Errorf("%q: signed %v", c.typed, signed)
		}
	}
	bob.rye("load", "knowledge:acme/style")
}

// TestTerminalRestoresGrants: what a backup permits comes back after a person's yes, and not
// before.
func TestTerminalRestoresGrants(t *testing.T) {
	t.Parallel()
	alice, bob := newHome(t), newHome(t)
	alice.rye("new", "knowledge", "acme/style")
	alice.rye("sign", "--all")
	alice.rye("registry", "init", filepath.Join(t.TempDir(), "registry.git"), "--yes")
	alice.rye("push", "--all")
	alice.rye("fetch")
	k := bob.key("")
	alice.rye("trust", "pin", k.SSH, "--namespace", "tools", "--name", "Bob", "--fingerprint", k.Fingerprint, "--yes")
	file := filepath.Join(t.TempDir(), "backup")
	alice.rye("trust", "backup", file)
	alice.rye("trust", "unpin", "Bob")
	alice.rye("trust", "forget")
	alice.fails(11, "verify")
	// Where the restrictions cannot all be written, nothing is permitted, whatever is typed.
	registries := filepath.Join(alice.variable("HOME"), ".local", "state", "rye", "registries")
	seen, err := filepath.Glob(filepath.Join(registries, "*.seen"))
	if err != nil || len(seen) == 0 {
		t.Fatal(seen, err)
	}
	kept := registries + ".kept"
	if err := os.Rename(registries, kept); err != nil {
		t.Fatal(err)
	}
	for _, name := range seen {
		if err := os.MkdirAll(name+".lock", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	shown, exit := terminal(t, alice, "[y/N]", "y\n", "trust", "restore", file, "--grants")
	if exit == 0 || strings.Contains(alice.rye("trust", "list"), "Bob") {
		t.Errorf("exit %d; shown:\n%s", exit, shown)
	}
	if err := errors.Join(os.RemoveAll(registries), os.Rename(kept, registries)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typed string
		exit  int
	}{{"n\n", 16}, {"\n", 16}, {"y\n", 0}} {
		shown, exit := terminal(t, alice, "[y/N]", c.typed, "trust", "restore", file, "--grants", "--yes")
		if exit != c.exit || !strings.Contains(shown, k.Fingerprint) {
			t.Fatalf("%q: exit %d, want %d; shown:\n%s", c.typed, exit, c.exit, shown)
		}
		if got := strings.Contains(alice.rye("trust", "list"), "Bob"); got != (c.exit == 0) {
			t.Errorf("after %q: Bob is trusted: %v", c.typed, got)
		}
	}
	alice.rye("verify")
}

// TestTerminalExportsEncrypted: an encrypted export needs a person and a passphrase, goes into no
// repository, and comes back as the same key.
func TestTerminalExportsEncrypted(t *testing.T) {
	t.Parallel()
	alice, laptop := newHome(t), newHome(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	alice.fails(16, "key", "export", "--encrypt", "-o", file, "--yes")
	alice.fails(2, "key", "export", "--encrypt", "--yes")
	alice.fails(16, "key", "export", "-o", "in-the-project", "--yes")
	if err := os.Symlink(alice.dir, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	alice.fails(16, "key", "export", "-o", filepath.Join(dir, "elsewhere", "key"), "--yes")
	shown, exit := terminal(t, alice, "[y/N]", "y\nhunter2\nhunter2\n", "key", "export", "--encrypt", "-o", file)
	if exit != 0 {
		t.Fatalf("exit %d; shown:\n%s", exit, shown)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "bm9uZQAAAA") { // "none", the cipher
		t.Fatalf("the file is not encrypted: %v", err)
	}
	laptop.fails(6, "key", "import", file, "second")
	if shown, exit := terminal(t, laptop, "passphrase", "hunter2\n", "key", "import", file, "second"); exit != 0 {
		t.Fatalf("exit %d; shown:\n%s", exit, shown)
	}
	if got, want := laptop.key("second").Fingerprint, alice.key("").Fingerprint; got != want {
		t.Errorf("imported %s, want %s", got, want)
	}
}
