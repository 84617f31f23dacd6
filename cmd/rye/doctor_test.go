package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

type finding struct {
	Name string
	OK   bool
	Text string
	Mend string
}

// doctor returns what doctor found, by name. Those about this machine are left out.
func (h *home) doctor(args ...string) map[string]finding {
	h.t.Helper()
	out, _ := h.command(append([]string{"doctor", "--json"}, args...)...).Output() // fails for whatever is not right here
	all := map[string]finding{}
	for line := range strings.Lines(string(out)) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			h.t.Fatalf("rye doctor: %v\n%s", err, out)
		}
		all[f.Name] = f
	}
	if len(all) == 0 {
		h.t.Fatalf("rye doctor says nothing")
	}
	return all
}

// TestDoctorSees is U12: each is broken, found, and mended by the command that is shown.
// venv makes a virtual environment whose program is a link.
func (h *home) venv(t *testing.T, to string) {
	h.write(".venv/pyvenv.cfg", "home = "+filepath.Dir(to)+"\n")
	bin := filepath.Join(h.dir, ".venv", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, filepath.Join(bin, "python")); err != nil {
		t.Fatal(err)
	}
}

func TestDoctorSees(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands shown are for a POSIX shell")
	}
	const record = "record of the project space"
	base := func(t *testing.T) *home {
		h := newHome(t)
		h.rye("new", "knowledge", "acme/style")
		h.rye("sign", "--all")
		for name, f := range h.doctor() {
			switch name {
			case "configuration", "data", "state", "project", "accepted", "key", "trust", record, "record of the user space":
				if !f.OK {
					t.Fatalf("nothing is broken: %+v", f)
				}
			}
		}
		return h
	}
	for _, tc := range []struct {
		name, check string
		spoil       func(t *testing.T, h *home)
		says        string
		mended      bool // by following the command
	}{
		{"no record", record, func(t *testing.T, h *home) { removeAll(t, h.store()) }, "now missing from", false},
		{"record without HEAD", record, func(t *testing.T, h *home) { remove(t, filepath.Join(h.store(), "HEAD")) }, "damaged: no HEAD", false},
		{"record without objects", record, func(t *testing.T, h *home) { removeAll(t, filepath.Join(h.store(), "objects")) }, "", false},
		{"record of garbage", record, func(t *testing.T, h *home) {
			if err := os.WriteFile(filepath.Join(h.store(), "refs", "heads", "spaces", "project"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "refs/heads/spaces/project", false},
		{"record in the tree", "old record", func(t *testing.T, h *home) { h.write(".ai/.rye/store.git/HEAD", "ref: refs/heads/x\n") }, "ignored", true},
		{"environment without its Python", ".venv", func(t *testing.T, h *home) { h.venv(t, "/nowhere/bin/python3") }, "leads to /nowhere, which is missing", false},
		{"environment of a broken Python", ".venv", func(t *testing.T, h *home) {
			broken := filepath.Join(t.TempDir(), "python3")
			if err := os.WriteFile(broken, []byte("\x7fELF"), 0o755); err != nil {
				t.Fatal(err)
			}
			h.venv(t, broken)
		}, "does not start in the sandbox", false},
		{"denied key", "key", func(t *testing.T, h *home) { h.rye("trust", "deny", h.key("").Fingerprint) }, "denied", true},
		{"forgotten key", "key", func(t *testing.T, h *home) {
			remove(t, filepath.Join(h.variable("HOME"), ".config", "rye", "trust.yaml"))
		}, "not one of your keys", true},
		{"project of somebody else's", "accepted", func(t *testing.T, h *home) {
			h.write(".ai/rye.yaml", strings.ReplaceAll(h.read(".ai/rye.yaml"), projectID(h), strings.Repeat("ab", 16)))
		}, "have not accepted", false},
		{"misspelled folder", "folder", func(t *testing.T, h *home) { h.write(".ai/tols/acme/x.sh", attackTool) }, "reads no items", true},
		{"misspelled folder beside the right one", "folder", func(t *testing.T, h *home) { h.write(".ai/knowlege/acme/x.md", "x") }, "reads no items", false},
		{"damaged trust store", "trust", func(t *testing.T, h *home) {
			if err := os.WriteFile(filepath.Join(h.variable("HOME"), ".config", "rye", "trust.yaml"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "format", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := base(t)
			tc.spoil(t, h)
			f := h.doctor()[tc.check]
			if f.OK || !strings.Contains(f.Text, tc.says) || f.Mend == "" {
				t.Fatalf("doctor says %+v", f)
			}
			if !tc.mended {
				return
			}
			h.follows(strings.Fields(f.Mend))
			if f, there := h.doctor()[tc.check]; there && !f.OK {
				t.Errorf("after %+v", f)
			}
		})
	}
	t.Run("places", func(t *testing.T) {
		h := base(t)
		inside := filepath.Join(h.dir, "xdg")
		for variable, name := range map[string]string{"XDG_CONFIG_HOME": "configuration", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"} {
			if f := h.with(variable + "=" + inside).doctor()[name]; f.OK || !strings.Contains(f.Text, "lies in the project") || f.Mend == "" {
				t.Errorf("%s in the project: %+v", variable, f)
			}
		}
	})
	t.Run("status", func(t *testing.T) {
		h := base(t)
		h.write(".ai/.rye/store.git/HEAD", "x")
		out, err := h.command("status").CombinedOutput()
		if err != nil || strings.Count(string(out), ".ai/.rye is ignored") != 1 {
			t.Errorf("rye status: %v\n%s", err, out)
		}
	})
	t.Run("another folder", func(t *testing.T) {
		h := base(t)
		h.write(".ai/pictures/x.png", "x")
		if f := h.doctor()["folder"]; !f.OK || !strings.Contains(f.Text, "pictures") {
			t.Errorf("doctor says %+v", f)
		}
	})
}

// projectID returns the id in the project's rye.yaml.
func projectID(h *home) string {
	h.t.Helper()
	for line := range strings.Lines(h.read(".ai/rye.yaml")) {
		if id, ok := strings.CutPrefix(line, "project: "); ok {
			return strings.TrimSpace(id)
		}
	}
	h.t.Fatal("rye.yaml names no project")
	return ""
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
