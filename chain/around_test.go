package chain

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// around is a world in which there are files beside each tool.
type around struct {
	*world
	files []Source
}

func (a around) Around(context.Context, Link, Deps) ([]Source, error) { return a.files, nil }

// TestAroundIsWhatWasVerified: a file beside a tool is run as it was verified or not at all,
// whoever hands it in.
func TestAroundIsWhatWasVerified(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	data := []byte("x = 1\n")
	for name, tc := range map[string]struct {
		file Source
		code fault.Code // none: it is taken in
	}{
		"as verified":            {Source{Path: "tools/acme/lib.py", Data: data, Sum: objects.DigestOf(data)}, ""},
		"other bytes":            {Source{Path: "tools/acme/lib.py", Data: []byte("x = 2\n"), Sum: objects.DigestOf(data)}, fault.Integrity},
		"no digest":              {Source{Path: "tools/acme/lib.py", Data: data}, fault.Integrity},
		"a path that leads away": {Source{Path: "tools/../../lib.py", Data: data, Sum: objects.DigestOf(data)}, fault.Malformed},
	} {
		p, err := Resolve(t.Context(), around{w, []Source{tc.file}}, tool("acme/hello"))
		switch {
		case tc.code == "" && (err != nil || len(p.Around) != 1):
			t.Errorf("%s: %v", name, err)
		case tc.code != "" && !fault.Is(err, tc.code):
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
}

// TestDepsOfATool: a rule covers the directory of a tool, or the one above it, and never all
// tools, which are others' too.
func TestDepsOfATool(t *testing.T) {
	w := newWorld(t)
	rule := func(id, anchor, deps string) {
		path, text := yamlTool(id, "rye/core/primitives/subprocess", "config: {command: /bin/true}\nanchor: {"+anchor+"}\nverify_deps: {"+deps+"}\n")
		w.add(objects.Project, path, text)
	}
	rule("acme/above", "enabled: true, mode: always, root: tool_parent", "enabled: true, scope: anchor")
	rule("acme/in/above", "enabled: true, mode: always, root: tool_parent", "enabled: true, scope: anchor")
	rule("acme/beside", "enabled: true, mode: always", "enabled: true, scope: anchor, extensions: [.py], exclude_dirs: [config, data]")
	rule("acme/siblings", "enabled: true, mode: always", "enabled: true, scope: tool_siblings")
	rule("acme/never", "enabled: true, mode: never", "enabled: true, scope: anchor")
	rule("acme/off", "enabled: true, mode: always", "enabled: false, scope: anchor")
	for id, want := range map[objects.ID]string{
		"acme/above":    "",
		"acme/in/above": "tools/acme",
		"acme/beside":   "tools/acme",
		"acme/siblings": "tools/acme",
		"acme/never":    "",
		"acme/off":      "",
	} {
		d, ok := w.plan(string(id)).Deps()
		if ok != (want != "") || d.Dir != want {
			t.Errorf("%s: %+v, %t; want %q", id, d, ok, want)
		}
		if d.Recursive != (ok && id != "acme/siblings") {
			t.Errorf("%s: recursive %t", id, d.Recursive)
		}
		if id == "acme/beside" && strings.Join(d.Exclude, " ") != "data" {
			t.Errorf("%s: passed over %q; config can be read by a tool, so it counts", id, d.Exclude)
		}
	}
}

// TestEnvPathsStayInTheRun: where a runtime sets a search path such as PYTHONPATH, only what
// lies in the directory of the run, which was verified, is on it.
func TestEnvPathsStayInTheRun(t *testing.T) {
	w := newWorld(t)
	path, text := yamlTool("acme/paths", "rye/core/primitives/subprocess", `
config: {command: /bin/true}
anchor:
  enabled: true
  mode: always
  env_paths:
    PYTHONPATH: {prepend: ["{run_dir}/lib", "{project_path}", "{run_dir}/../x", "/etc", "{run_dir}/{nothing}"], append: ["{run_dir}"]}
    NODE_PATH: {prepend: ["{project_path}/node_modules"]}
`)
	w.add(objects.Project, path, text)
	p := w.plan("acme/paths")
	in, _ := w.inputs(p, "")
	c, err := p.Call(in)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(in.RunDir, "lib") + string(filepath.ListSeparator) + in.RunDir
	if got, set := c.Env["NODE_PATH"]; c.Env["PYTHONPATH"] != want || set {
		t.Errorf("PYTHONPATH %q, want %q; NODE_PATH %q, want none", c.Env["PYTHONPATH"], want, got)
	}
}
