package primitive

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestEnvResolversOfRyeOS: each row of RYE OS's table of interpreters,
// and each version manager. The path that comes out is the program's own. A shim that stands first
// on PATH stands for the version that the user chose globally.
func TestEnvResolversOfRyeOS(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the layouts are of Unix")
	}
	home, project := temp(t), temp(t)
	bin := filepath.Dir(plant(t, elf, home, "bin/node"))
	plant(t, elf, home, "bin/python3")
	plant(t, elf, home, "bin/ruby")
	plant(t, elf, project, ".venv/bin/python")
	plant(t, elf, project, "env/bin/python3")
	plant(t, elf, project, "win/Scripts/python.exe")
	plant(t, elf, project, "node_modules/.bin/node")
	plant(t, elf, project, "web/bin/node.exe")
	var shims []string
	for _, s := range []struct{ dir, name string }{
		{".pyenv/shims", "python3"}, {".rbenv/shims", "ruby"}, {".asdf/shims", "node"},
	} {
		shims = append(shims, filepath.Dir(plant(t, shim, home, s.dir, s.name)))
	}
	for _, s := range []struct{ program, link string }{
		{".volta/bin/volta-shim", ".volta/bin/node"}, {".local/bin/mise", ".local/share/mise/shims/python3"}, {".cargo/bin/rustup", ".cargo/bin/ruby"},
	} {
		program, link := plant(t, elf, home, s.program), filepath.Join(home, s.link)
		os.MkdirAll(filepath.Dir(link), 0o755)
		if err := os.Symlink(program, link); err != nil {
			t.Fatal(err)
		}
		shims = append(shims, filepath.Dir(link))
	}
	for _, v := range []string{"3.9.1", "3.12.4"} {
		plant(t, elf, home, ".pyenv/versions", v, "bin/python3")
		plant(t, elf, home, ".rbenv/versions", v, "bin/ruby")
		plant(t, elf, home, ".nvm/versions/node/v"+v, "bin/node")
		plant(t, elf, home, ".asdf/installs/nodejs", v, "bin/node")
		plant(t, elf, home, ".volta/tools/image/node", v, "bin/node")
	}
	plant(t, "3.9.1\n", home, ".pyenv/version")
	plant(t, "3.9.1\n", home, ".rbenv/version")
	plant(t, "3.9\n", home, ".nvm/alias/default")
	plant(t, "python 2.7\nnodejs 3.9.1 system\n", home, ".tool-versions")
	in := Search{Project: project, Consented: true, Home: home, Path: strings.Join(append(shims, bin), ":")}
	manager := func(name, version string) Spec {
		return Spec{Type: "version_manager", Manager: name, Version: version, Fallback: map[string]string{"asdf": "node"}[name]}
	}

	for _, tc := range []struct {
		row  string
		spec Spec
		want string // below home or project; "" is refused as not found
	}{
		{"venv_python: bin/python", Spec{Type: "venv_python"}, ".venv/bin/python"},
		{"venv_python: venv_path, bin/python3", Spec{Type: "venv_python", VenvPath: "env"}, "env/bin/python3"},
		{"venv_python: Scripts/python.exe", Spec{Type: "venv_python", VenvPath: "win"}, "win/Scripts/python.exe"},
		{"venv_python: no hit, fallback", Spec{Type: "venv_python", VenvPath: "none", Fallback: "python3"}, ".pyenv/versions/3.9.1/bin/python3"},
		{"node_modules: .bin/node", Spec{Type: "node_modules"}, "node_modules/.bin/node"},
		{"node_modules: search_paths, node.exe", Spec{Type: "node_modules", SearchPaths: []string{"none", "web/bin"}}, "web/bin/node.exe"},
		{"node_modules: no hit, fallback", Spec{Type: "node_modules", SearchPaths: []string{"none"}, Fallback: "node"}, ".asdf/installs/nodejs/3.9.1/bin/node"},
		{"system_binary: behind the shim of pyenv", Spec{Type: "system_binary", Binary: "python3"}, ".pyenv/versions/3.9.1/bin/python3"},
		{"system_binary: behind the shim of asdf", Spec{Type: "system_binary", Binary: "node"}, ".asdf/installs/nodejs/3.9.1/bin/node"},
		{"system_binary: behind the shim of rbenv", Spec{Type: "system_binary", Binary: "ruby"}, ".rbenv/versions/3.9.1/bin/ruby"},
		{"system_binary: no hit, fallback", Spec{Type: "system_binary", Binary: "none", Fallback: "ruby"}, ".rbenv/versions/3.9.1/bin/ruby"},
		{"system_binary: no hit", Spec{Type: "system_binary", Binary: "none"}, ""},
		{"pyenv: the global one", manager("pyenv", ""), ".pyenv/versions/3.9.1/bin/python3"},
		{"pyenv: version", manager("pyenv", "3.12"), ".pyenv/versions/3.12.4/bin/python3"},
		{"rbenv: the global one", manager("rbenv", ""), ".rbenv/versions/3.9.1/bin/ruby"},
		{"rbenv: version", manager("rbenv", "3.12.4"), ".rbenv/versions/3.12.4/bin/ruby"},
		{"nvm: the default alias", manager("nvm", ""), ".nvm/versions/node/v3.9.1/bin/node"},
		{"nvm: version", manager("nvm", "3.12"), ".nvm/versions/node/v3.12.4/bin/node"},
		{"asdf: the user's .tool-versions", manager("asdf", ""), ".asdf/installs/nodejs/3.9.1/bin/node"},
		{"asdf: version", manager("asdf", "3.12"), ".asdf/installs/nodejs/3.12.4/bin/node"},
		{"volta: the newest", manager("volta", ""), ".volta/tools/image/node/3.12.4/bin/node"},
		{"volta: version", manager("volta", "3.9"), ".volta/tools/image/node/3.9.1/bin/node"},
		{"no such version, and no fallback", manager("pyenv", "4"), ""},
		{"an unknown manager", manager("conda", "3.9.1"), ""},
		{"an unknown type", Spec{Type: "docker"}, ""},
	} {
		want := filepath.Join(home, tc.want)
		if p := filepath.Join(project, tc.want); tc.want != "" {
			if _, err := os.Stat(want); err != nil {
				want = p
			}
		}
		got, err := Interpreter(tc.spec, in)
		switch {
		case tc.want == "" && !fault.Is(err, fault.NotFound):
			t.Errorf("%s: %q, %v, want not found", tc.row, got.Path, err)
		case tc.want != "" && got.Path != want:
			t.Errorf("%s: %q, %v, want %q", tc.row, got.Path, err, want)
		}
	}
}
