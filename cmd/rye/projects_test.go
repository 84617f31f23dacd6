package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const denyAll = "policy: 1\ndeny: [rye.execute.*]\n"

// another makes one more project of the same person, and returns its directory.
func (h *home) another(name string) string {
	h.t.Helper()
	dir := filepath.Join(filepath.Dir(h.dir), name)
	h.rye("init", dir, "--namespace", strings.ReplaceAll(name, "/", "-"))
	return dir
}

// writeTo calls the library's tool that writes a file, and returns the answer's code; "" is
// success.
func writeTo(t *testing.T, s *mcp.ClientSession, project string) (code, said string) {
	t.Helper()
	args := map[string]any{"item_type": "tool", "item_id": "rye/file-system/write", "parameters": map[string]any{"path": "planted.txt", "content": "x"}}
	if project != "" {
		args["project_path"] = project
	}
	got, _ := call(t, s, "execute", args)
	raw, _ := json.Marshal(got)
	code, _ = got["code"].(string)
	return code, string(raw)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestServerHasItsProjects: a server that may execute nothing was given the path of another
// project, and wrote there and read its secrets.
func TestServerHasItsProjects(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(".ai/policy.yaml", denyAll)
	b := h.another("b")
	if err := os.WriteFile(filepath.Join(b, ".env"), []byte("TOKEN=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// What a model can put anywhere: a project of its own making, also inside of its own.
	raw, err := os.ReadFile(filepath.Join(b, ".ai", "rye.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	third, nested := filepath.Join(t.TempDir(), "third"), filepath.Join(h.dir, "sub")
	for _, dir := range []string{third, nested} {
		if err := os.MkdirAll(filepath.Join(dir, ".ai"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".ai", "rye.yaml"), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(b, link); err != nil {
		link = b
	}
	plain, _ := h.connect(nil)
	listed, _ := h.connect(nil, "--project", b, "--project", third)
	for _, c := range []struct {
		name    string
		s       *mcp.ClientSession
		path    string
		refused string
	}{
		{"its own", plain, "", "the policy refuses"},
		{"its own, by name", plain, h.dir, "the policy refuses"},
		{"below its own", plain, filepath.Join(h.dir, ".ai", ".."), "the policy refuses"},
		{"another", plain, b, "does not serve that project"},
		{"another, relative", plain, "../b", "does not serve that project"},
		{"another, by a link", plain, link, "does not serve that project"},
		{"made by hand", plain, third, "does not serve that project"},
		{"nested", plain, nested, "does not serve that project"},
		{"no such directory", plain, filepath.Join(b, "nothing"), "does not serve that project"},
		{"everything", plain, "/", "does not serve that project"},
		{"listed", listed, b, "the policy refuses"},
		{"listed, by a link", listed, link, "the policy refuses"},
		{"listed, made by hand", listed, third, "the policy refuses"},
		{"nested, others listed", listed, nested, "does not serve that project"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, said := writeTo(t, c.s, c.path); code != "denied" || !strings.Contains(said, c.refused) {
				t.Errorf("%s, want %q", said, c.refused)
			}
			got, _ := call(t, c.s, "execute", map[string]any{"item_type": "tool", "item_id": "rye/file-system/read", "project_path": c.path,
				"parameters": map[string]any{"path": filepath.Join(b, ".env")}})
			if raw, _ := json.Marshal(got); strings.Contains(string(raw), "hunter2") || got["code"] != "denied" {
				t.Errorf("read another project's .env: %s", raw)
			}
		})
	}
	for _, dir := range []string{h.dir, b, third, nested} {
		if exists(filepath.Join(dir, "planted.txt")) {
			t.Errorf("something was written in %s", dir)
		}
	}
}

// TestServerListsProjects: what its user listed is served, under both policies.
func TestServerListsProjects(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	b, c := h.another("b"), h.another("c")
	if err := os.WriteFile(filepath.Join(c, ".ai", "policy.yaml"), []byte(denyAll), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := h.connect(nil, "--project", "../b", "--project", c)
	if code, said := writeTo(t, s, b); code != "" || !exists(filepath.Join(b, "planted.txt")) {
		t.Errorf("listed: %s", said)
	}
	if code, said := writeTo(t, s, ""); code != "" || !exists(filepath.Join(h.dir, "planted.txt")) {
		t.Errorf("its own: %s", said)
	}
	if code, said := writeTo(t, s, c); code != "denied" || exists(filepath.Join(c, "planted.txt")) {
		t.Errorf("listed, with a policy of its own: %s", said)
	}
	serve, _ := h.connect(nil, "serve", "--project", b)
	if code, said := writeTo(t, serve, b); code != "" {
		t.Errorf("mcp serve: %s", said)
	}
	// The server's own policy is read at each call.
	h.write(".ai/policy.yaml", denyAll)
	if code, said := writeTo(t, s, b); code != "denied" {
		t.Errorf("after its own policy had changed: %s", said)
	}
}

// TestServerProjectMadeLater: a server that was started before there was a project serves
// the one that is made there, and keeps the one that it has.
func TestServerProjectMadeLater(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	top := h.dir
	h.dir = filepath.Join(filepath.Dir(top), "later")
	if err := os.MkdirAll(filepath.Join(h.dir, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, _ := h.connect(nil)
	if code, said := writeTo(t, s, ""); code == "" {
		t.Errorf("without a project: %s", said)
	}
	if code, said := writeTo(t, s, top); code != "denied" {
		t.Errorf("another project: %s", said)
	}
	h.rye("init", "--namespace", "later")
	if code, said := writeTo(t, s, ""); code != "" || !exists(filepath.Join(h.dir, "planted.txt")) {
		t.Errorf("made later: %s", said)
	}
	if code, said := writeTo(t, s, h.dir); code != "" {
		t.Errorf("made later, by name: %s", said)
	}
	// A project that appears between a server's directory and its project is not taken for it.
	h.dir = filepath.Join(h.dir, "deep")
	deep, _ := h.connect(nil)
	h.rye("init", h.dir, "--namespace", "deep")
	if code, said := writeTo(t, deep, ""); code != "" || exists(filepath.Join(h.dir, "planted.txt")) {
		t.Errorf("its own, after a nested one was made: %s", said)
	}
	if code, said := writeTo(t, deep, "."); code != "denied" || exists(filepath.Join(h.dir, "planted.txt")) {
		t.Errorf("the nested one: %s", said)
	}
}

// TestNestedProjectIsNotFreer: in a project within a project both policies hold, for a
// person, too.
func TestNestedProjectIsNotFreer(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	outer := h.dir
	sub := filepath.Join(outer, "sub")
	h.rye("init", sub, "--namespace", "sub")
	h.dir = filepath.Join(sub)
	write := func() (string, int) {
		cmd := h.command("execute", "tool:rye/file-system/write", "-p", "path=x.txt", "-p", "content=x")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, exit := write(); exit != 0 {
		t.Fatalf("without a policy: %s", out)
	}
	for _, c := range []struct{ outer, inner string }{
		{denyAll, ""}, {denyAll, "policy: 1\n"}, {"", denyAll}, {"policy: 1\ntool_overrides: {rye/file-system/*: t4}\n", "policy: 1\ntool_overrides: {rye/file-system/*: t0}\n"},
		{"policy: 1\nnonsense: 1\n", ""},
	} {
		for dir, text := range map[string]string{outer: c.outer, sub: c.inner} {
			if err := os.WriteFile(filepath.Join(dir, ".ai", "policy.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, exit := write(); exit != 16 && exit != 19 {
			t.Errorf("outer %q, inner %q: %d, %s", c.outer, c.inner, exit, out)
		}
	}
}
