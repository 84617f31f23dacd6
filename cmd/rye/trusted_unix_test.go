//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// config is the person's configuration directory.
func (h *home) config() string { return filepath.Join(h.variable("HOME"), ".config", "rye") }

// believer is a person with a file of each kind that decides about trust: their key, one
// retired with its list, a pin, a policy, and an agreement.
func believer(t *testing.T) *home {
	needBash(t)
	h := newHome(t)
	h.rye("new", "tool", "acme/hello", "--lang", "bash")
	h.rye("sign", "--all")
	h.rye("key", "rotate", "--yes")
	h.rye("policy", "allow", "tool:acme/hello")
	h.write(".env", "WORD=hello\n")
	h.write(".ai/tools/acme/say.sh", strings.Replace(attackTool, "# category", "# env_config: {env: {WORD: none}}\n# category", 1))
	h.rye("sign", "tool:acme/say")
	h.rye("policy", "allow", "tool:acme/say", "--env")
	return h
}

// TestFilesOfOthersAreNotBelieved is T16: trust, keys, policy, agreements and lists count
// only where nobody else can have written them.
func TestFilesOfOthersAreNotBelieved(t *testing.T) {
	t.Parallel()
	const stranger = 12345
	h := believer(t)
	kept, err := filepath.Glob(filepath.Join(h.config(), "kept", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	h.rye("verify", "tool:acme/hello") // by its list
	store := h.store()
	for _, tc := range []struct {
		name, path string
		status     int
		args       []string
	}{
		{"trust", filepath.Join(h.config(), "trust.yaml"), 6, []string{"verify", "tool:acme/hello"}},
		{"policy", filepath.Join(h.config(), "policy.yaml"), 6, []string{"execute", "tool:acme/hello"}},
		{"agreements", filepath.Join(h.config(), "consent.yaml"), 6, []string{"execute", "tool:acme/say"}},
		{"key", filepath.Join(h.config(), "keys", "default"), 6, []string{"sign", "--all"}},
		{"directory of keys", filepath.Join(h.config(), "keys"), 6, []string{"sign", "--all"}},
		{"list", kept[0], 12, []string{"verify", "tool:acme/hello"}},
		{"directory", h.config(), 6, []string{"verify", "tool:acme/hello"}},
		{"record", filepath.Dir(store), 6, []string{"verify", "tool:acme/hello"}},
		{"record, looked at", filepath.Dir(store), 6, []string{"log"}},
		{"store of the record", store, 6, []string{"status"}},
		{"record, written", store, 6, []string{"sign", "--all"}},
		{"directory above", filepath.Dir(h.config()), 6, []string{"trust", "list"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, err := os.Stat(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() == 0 {
				if err := os.Chown(tc.path, stranger, stranger); err != nil {
					t.Fatal(err)
				}
				said := h.fails(tc.status, tc.args...)
				if !strings.Contains(said, "belongs to user 12345") || tc.status == 6 && !strings.Contains(said, "hint: ") {
					t.Errorf("another's: %s", said)
				}
				if err := os.Chown(tc.path, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(tc.path, st.Mode().Perm()|0o002); err != nil {
				t.Fatal(err)
			}
			said := h.fails(tc.status, tc.args...)
			if !strings.Contains(said, "others may") || tc.status == 6 && !strings.Contains(said, "chmod ") {
				t.Errorf("one that others may write: %s", said)
			}
			if err := os.Chmod(tc.path, st.Mode().Perm()); err != nil {
				t.Fatal(err)
			}
			h.rye("execute", "tool:acme/hello")
		})
	}
}

// TestOrdinaryUserIsTold is T16 for a person who is not root and finds root's own files,
// which are believed, and another's, which are not.
func TestOrdinaryUserIsTold(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("giving files away takes root")
	}
	h := believer(t)
	h.ordinary()
	h.rye("trust", "--yes") // another user begins with nothing
	trust := filepath.Join(h.config(), "trust.yaml")
	if err := os.Chown(trust, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(trust, 0o644); err != nil {
		t.Fatal(err)
	}
	h.rye("verify", "tool:acme/hello")
	if err := os.Chown(trust, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if said := h.fails(6, "verify", "tool:acme/hello"); !strings.Contains(said, "hint: if it is yours: sudo chown 65534 "+trust) {
		t.Error(said)
	}
}

// TestConfigurationInAProject: what a clone or a branch brings is nobody's configuration.
func TestConfigurationInAProject(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.rye("new", "knowledge", "acme/style")
	h.rye("sign", "--all")
	testkit.CopyDir(t, h.config(), filepath.Join(h.dir, "xdg", "rye"))
	in := h.with("XDG_CONFIG_HOME=" + filepath.Join(h.dir, "xdg"))
	for _, args := range [][]string{{"verify"}, {"trust", "list"}, {"key", "list"}, {"sign", "--all"}, {"status"}} {
		if said := in.fails(6, args...); !strings.Contains(said, "lies in the project") || !strings.Contains(said, "hint: ") {
			t.Errorf("rye %s: %s", strings.Join(args, " "), said)
		}
	}
	if out := in.fails(1, "doctor"); !strings.Contains(out, "lies in the project") {
		t.Errorf("doctor does not see it:\n%s", out)
	}

	// A link does not hide it.
	link := filepath.Join(filepath.Dir(h.dir), "link")
	if err := os.Symlink(filepath.Join(h.dir, "xdg"), link); err != nil {
		t.Fatal(err)
	}
	h.with("XDG_CONFIG_HOME="+link).fails(6, "verify")

	// Beside the project, in one checkout with it.
	top := filepath.Dir(h.dir)
	if err := os.Rename(filepath.Join(h.dir, "xdg"), filepath.Join(top, "xdg")); err != nil {
		t.Fatal(err)
	}
	beside := h.with("XDG_CONFIG_HOME=" + filepath.Join(top, "xdg"))
	beside.rye("verify")
	if err := os.Mkdir(filepath.Join(top, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said := beside.fails(6, "verify"); !strings.Contains(said, "git checkout") || !strings.Contains(said, "hint: ") {
		t.Error(said)
	}
	if err := os.Mkdir(filepath.Join(h.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	beside.rye("verify") // the project is a checkout of its own

	// No configuration directory is empty; that none is known is said.
	fresh := h.with("XDG_CONFIG_HOME=" + filepath.Join(t.TempDir(), "new"))
	fresh.fails(11, "verify")
	fresh.rye("trust", "list")
	h.write("trust.yaml", h.readAt(filepath.Join(h.config(), "trust.yaml")))
	if said := h.with("HOME=", "XDG_CONFIG_HOME=").fails(6, "verify"); !strings.Contains(said, "no configuration directory") {
		t.Error(said)
	}
}
