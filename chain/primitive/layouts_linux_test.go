package primitive

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// houses is a home and a project, in which a layout puts programs, files and links.
type houses struct {
	t             *testing.T
	home, project string
	program       string // stands for each interpreter: a shell, which can read a library
}

func newHouses(t *testing.T) *houses {
	h := &houses{t: t, home: temp(t), project: temp(t)}
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(shell)
	if err != nil {
		t.Fatal(err)
	}
	h.program = filepath.Join(h.home, "program")
	if err := os.WriteFile(h.program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

// at expands ~ to the home and . to the project.
func (h *houses) at(path string) string {
	switch {
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(h.home, path[2:])
	case strings.HasPrefix(path, "./"):
		return filepath.Join(h.project, path[2:])
	}
	return path
}

// put makes what a line says: "path", a program; "path -> text", a link; "path = text", a file.
func (h *houses) put(lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		path, to, isLink := strings.Cut(line, " -> ")
		path, text, isFile := strings.Cut(path, " = ")
		path = h.at(path)
		os.MkdirAll(filepath.Dir(path), 0o755)
		var err error
		switch {
		case isLink:
			err = os.Symlink(h.at(to), path)
		case isFile:
			err = os.WriteFile(path, []byte(strings.ReplaceAll(text, "~", h.home)+"\n"), 0o755)
		default:
			err = os.Link(h.program, path)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

const (
	uvPython  = "~/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu"
	uvMinor   = "~/.local/share/uv/python/cpython-3.12-linux-x86_64-gnu"
	pyenvHome = "~/.pyenv/versions/3.12.4"
	nodeLib   = "/lib/node_modules/npm/index = echo started"
	pythonLib = "/lib/python3.12/os.py = echo started"
)

// TestLayouts: the interpreter of each manager starts under S3 and reads its library, although the
// tool needs nothing.
func TestLayouts(t *testing.T) {
	needS3(t)
	venv := Spec{Type: "venv_python", Fallback: "python3"}
	python, node := Spec{Type: "system_binary", Binary: "python3"}, Spec{Type: "system_binary", Binary: "node"}
	for name, c := range map[string]struct {
		put  []string
		spec Spec
		path string // PATH
		want string // what the interpreter reads
	}{
		"venv of the system": {[]string{"./.venv/bin/python -> python3", "./.venv/bin/python3 -> /usr/bin/bash", "./.venv/pyvenv.cfg = home = /usr/bin", "./.venv" + pythonLib},
			venv, "", "./.venv/lib/python3.12/os.py"},
		"uv venv": {[]string{uvPython + "/bin/python3.12", uvPython + pythonLib, uvMinor + " -> cpython-3.12.4-linux-x86_64-gnu",
			"./.venv/bin/python -> " + uvMinor + "/bin/python3.12", "./.venv/bin/python3 -> python", "./.venv/pyvenv.cfg = home = " + uvMinor + "/bin"},
			venv, "", uvMinor + "/lib/python3.12/os.py"},
		"uv on PATH": {[]string{uvPython + "/bin/python3.12", uvPython + pythonLib, uvMinor + " -> cpython-3.12.4-linux-x86_64-gnu",
			"~/.local/bin/python3.12 -> " + uvMinor + "/bin/python3.12", "~/.local/bin/python3 -> python3.12"},
			python, "~/.local/bin", uvPython + "/lib/python3.12/os.py"},
		"venv of pyenv": {[]string{pyenvHome + "/bin/python3.12", pyenvHome + "/bin/python3 -> python3.12", pyenvHome + pythonLib,
			"./.venv/bin/python3 -> " + pyenvHome + "/bin/python3", "./.venv/bin/python -> python3", "./.venv/pyvenv.cfg = home = " + pyenvHome + "/bin"},
			venv, "", pyenvHome + "/lib/python3.12/os.py"},
		"venv of copies": {[]string{pyenvHome + "/bin/python3.12", pyenvHome + pythonLib, "./.venv/bin/python", "./.venv/pyvenv.cfg = home = " + pyenvHome + "/bin"},
			venv, "", pyenvHome + "/lib/python3.12/os.py"},
		"venv elsewhere, by a link": {[]string{"./.venv -> ~/.virtualenvs/p", "~/.virtualenvs/p/bin/python -> " + pyenvHome + "/bin/python3.12", pyenvHome + "/bin/python3.12", pyenvHome + pythonLib,
			"~/.virtualenvs/p/pyvenv.cfg = home = " + pyenvHome + "/bin", "~/.virtualenvs/p" + pythonLib},
			venv, "", "~/.virtualenvs/p/lib/python3.12/os.py"},
		"pyenv": {[]string{"~/.pyenv/shims/python3 = #!/bin/sh", "~/.pyenv/version = 3.12.4", pyenvHome + "/bin/python3.12", pyenvHome + "/bin/python3 -> python3.12", pyenvHome + pythonLib},
			python, "~/.pyenv/shims", pyenvHome + "/lib/python3.12/os.py"},
		"pyenv-virtualenv": {[]string{"~/.pyenv/shims/python3 = #!/bin/sh", "~/.pyenv/version = work", pyenvHome + "/bin/python3", pyenvHome + pythonLib,
			"~/.pyenv/versions/work -> 3.12.4/envs/work", pyenvHome + "/envs/work/bin/python3 -> " + pyenvHome + "/bin/python3", pyenvHome + "/envs/work/pyvenv.cfg = home = " + pyenvHome + "/bin", pyenvHome + "/envs/work" + pythonLib},
			python, "~/.pyenv/shims", "~/.pyenv/versions/work/lib/python3.12/os.py"},
		"conda": {[]string{"~/miniconda3/envs/data/bin/python3.12", "~/miniconda3/envs/data/bin/python3 -> python3.12", "~/miniconda3/envs/data" + pythonLib},
			python, "~/miniconda3/envs/data/bin", "~/miniconda3/envs/data/lib/python3.12/os.py"},
		"fnm": {[]string{"~/run/fnm_multishells/1_2 -> ~/.local/share/fnm/aliases/default", "~/.local/share/fnm/aliases/default -> ../node-versions/v20.9.0/installation",
			"~/.local/share/fnm/node-versions/v20.9.0/installation/bin/node", "~/.local/share/fnm/node-versions/v20.9.0/installation" + nodeLib},
			node, "~/run/fnm_multishells/1_2/bin", "~/.local/share/fnm/node-versions/v20.9.0/installation/lib/node_modules/npm/index"},
		"nvm": {[]string{"~/.nvm/current -> versions/node/v20.9.0", "~/.nvm/versions/node/v20.9.0/bin/node", "~/.nvm/versions/node/v20.9.0" + nodeLib},
			node, "~/.nvm/current/bin", "~/.nvm/versions/node/v20.9.0/lib/node_modules/npm/index"},
		"volta": {[]string{"~/.volta/bin/volta-shim", "~/.volta/bin/node -> volta-shim", `~/.volta/tools/user/platform.json = {"node": {"runtime": "20.9.0", "npm": null}}`,
			"~/.volta/tools/image/node/20.9.0/bin/node", "~/.volta/tools/image/node/20.9.0" + nodeLib},
			node, "~/.volta/bin", "~/.volta/tools/image/node/20.9.0/lib/node_modules/npm/index"},
		"asdf": {[]string{"~/.asdf/shims/node = #!/bin/sh", "~/.tool-versions = nodejs 20.9.0", "~/.asdf/installs/nodejs/20.9.0/bin/node", "~/.asdf/installs/nodejs/20.9.0" + nodeLib},
			node, "~/.asdf/shims", "~/.asdf/installs/nodejs/20.9.0/lib/node_modules/npm/index"},
		"mise": {[]string{"~/.local/bin/mise", "~/.local/share/mise/shims/node -> ~/.local/bin/mise", "~/.config/mise/config.toml = [tools]\npython = \"3.12\"\nnode = [\"20\", \"18\"]",
			"~/.local/share/mise/installs/node/20 -> ./20.9.0", "~/.local/share/mise/installs/node/20.9.0/bin/node", "~/.local/share/mise/installs/node/20.9.0" + nodeLib},
			node, "~/.local/share/mise/shims", "~/.local/share/mise/installs/node/20.9.0/lib/node_modules/npm/index"},
		"a script is skipped": {[]string{"~/.local/bin/python3 = #!/bin/sh", "~/opt/bin/python3", "~/opt" + pythonLib},
			python, "~/.local/bin:~/opt/bin", "~/opt/lib/python3.12/os.py"},
		"back out of a directory": {[]string{"~/opt/x/y = ", "~/.local/bin/python3 -> ~/opt/x/../z/bin/python3", "~/opt/z/bin/python3 -> python3.12", "~/opt/z/bin/python3.12", "~/opt/z" + pythonLib},
			python, "~/.local/bin", "~/opt/z/lib/python3.12/os.py"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouses(t)
			h.put(c.put...)
			var path []string
			for _, dir := range filepath.SplitList(c.path) {
				path = append(path, h.at(dir))
			}
			p, err := Interpreter(c.spec, Search{Project: h.project, Consented: true, Home: h.home, Path: strings.Join(append(path, "/nowhere"), ":")})
			if err != nil {
				t.Fatal(err)
			}
			out, err := h.run(p, ". "+h.at(c.want))
			if err != nil || out.Exit != 0 || string(out.Stdout) != "started\n" {
				t.Errorf("%s: %d, %q, %q, %v; prefixes %q", p.Path, out.Exit, out.Stdout, out.Stderr, err, p.Prefixes)
			}
		})
	}
}

func (h *houses) run(p Program, script string) (Result, error) {
	call := Call{Argv: []string{p.Path, "-c", script}, Temp: temp(h.t)}
	call.Sandbox.Tier, call.Sandbox.Exec = S3, p.Prefixes
	return Run(context.Background(), call, nil, nil)
}

// TestLayoutAttacks: the links and texts of a project show nothing of the user's but a program and
// the installation of an interpreter.
func TestLayoutAttacks(t *testing.T) {
	needS3(t)
	for name, c := range map[string]struct {
		put   []string
		code  fault.Code // "" starts
		never string     // nothing at or below it is in view
	}{
		"a link to a secret":             {[]string{"~/.ssh/id = key", "./.venv/bin/python -> ~/.ssh/id"}, "", "~/.ssh/other"},
		"a link to data":                 {[]string{"~/.ssh/id_data = key", "./.venv/bin/python -> ~/.ssh/config"}, fault.NotFound, ""},
		"a link to a script":             {[]string{"~/bin/s = #!/bin/sh", "./.venv/bin/python -> ~/bin/s"}, fault.NotFound, ""},
		"a loop":                         {[]string{"./.venv/bin/python -> python3", "./.venv/bin/python3 -> python"}, fault.NotFound, ""},
		"a loop of directories":          {[]string{"./.venv -> ./a", "./a -> ./.venv"}, fault.NotFound, ""},
		"a directory":                    {[]string{"~/x/y = ", "./.venv/bin/python -> ~/x"}, fault.NotFound, ""},
		"a program beside a library":     {[]string{"~/bin/prog", "~/lib/secret = key", "./.venv/bin/python -> ~/bin/prog"}, "", "~/lib"},
		"a prefix that all share":        {[]string{"~/.local/bin/prog", "~/.local/lib/secret = key", "~/.local" + pythonLib, "./.venv/bin/python -> ~/.local/bin/prog"}, "", "~/.local/lib/secret"},
		"the home as a prefix":           {[]string{"~/bin/prog", "~/lib/secret = key", "~" + pythonLib, "./.venv/bin/python -> ~/bin/prog"}, "", "~/lib/secret"},
		"home names a directory":         {[]string{"~/.ssh/lib/id = key", "~/.ssh/bin/x = ", "./.venv/bin/python", "./.venv/pyvenv.cfg = home = ~/.ssh/bin"}, "", "~/.ssh"},
		"home names the home":            {[]string{"~/lib/secret = key", "./.venv/bin/python", "./.venv/pyvenv.cfg = home = ~"}, "", "~/lib"},
		"the library is a link":          {[]string{"~/.ssh/id = key", "./.venv/bin/python", "./.venv/lib -> ~/.ssh", "./.venv/pyvenv.cfg = home = /usr/bin"}, "", "~/.ssh"},
		"an installation with a link":    {[]string{"~/.ssh/id = key", "./x/bin/python3", "./x/lib/python3.12 -> ~/.ssh", "~/.ssh/os.py = ", "./.venv/bin/python", "./.venv/pyvenv.cfg = home = ~/x/bin"}, "", "~/.ssh"},
		"pyvenv.cfg is a link":           {[]string{"~/.ssh/id = home = ~/.ssh/bin", "./.venv/bin/python", "./.venv/pyvenv.cfg -> ~/.ssh/id"}, "", "~/.ssh"},
		"through a directory of secrets": {[]string{"~/.ssh/bin/l -> /usr/bin/bash", "~/.ssh/lib/id = key", "./.venv/bin/python -> ~/.ssh/bin/l"}, "", "~/.ssh/lib"},
		"hidden":                         {[]string{"~/hidden/bin/prog", "./.venv/bin/python -> ~/hidden/bin/prog"}, "", "~/hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouses(t)
			h.put(c.put...)
			if strings.HasPrefix(name, "a link to a secret") { // the worst case: it is a program
				os.Remove(h.at("~/.ssh/id"))
				h.put("~/.ssh/id", "~/.ssh/other/key = key")
			}
			p, err := Interpreter(Spec{Type: "venv_python"}, Search{Project: h.project, Consented: true, Home: h.home})
			if fault.CodeOf(err) != c.code {
				t.Fatalf("Interpreter = %+v, %v, want %q", p, err, c.code)
			}
			if err != nil {
				return
			}
			if !p.Project {
				t.Error("it is no program of the project, so rye asks no one")
			}
			call := Call{Argv: []string{p.Path}}
			call.Sandbox.Exec, call.Sandbox.Hide = p.Prefixes, []string{h.at("~/hidden")}
			if i := slices.IndexFunc(view(&call), func(m cage.Mount) bool {
				return m.Kind != cage.Gone && (within(m.Path, h.at(c.never)) || m.Kind != cage.Tmpfs && m.Kind != cage.Link && within(h.at(c.never), m.Path))
			}); i >= 0 {
				t.Errorf("the view has %+v", view(&call)[i])
			}
		})
	}
}

func FuzzManagerFiles(f *testing.F) {
	f.Add("[tools]\nnode = [\"20\"]\n")
	f.Add(`{"node": {"runtime": "20.9.0"}}`)
	f.Add("home = /usr/bin\nversion = 3.12\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range []string{miseVersion(text, "node"), voltaVersion(text)} {
			for _, p := range versions(t.TempDir(), v, "node") {
				t.Errorf("%q names %s", text, p)
			}
		}
		homeOf(text)
	})
}
