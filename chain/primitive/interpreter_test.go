package primitive

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// plant puts a program (any file that is no script) or a script at path.
func plant(t *testing.T, text string, parts ...string) string {
	t.Helper()
	p := filepath.Join(parts...)
	testkit.WriteFile(t, p, text, 0o755)
	return p
}

const elf, shim = "\x7fELF program", "#!/usr/bin/env bash\nexec pyenv exec\n"

func TestInterpreter(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the layouts are of Unix")
	}
	home, project := temp(t), temp(t)
	shims := filepath.Dir(plant(t, shim, home, ".pyenv/shims/python3"))
	plant(t, elf, home, ".pyenv/versions/3.9.1/bin/python3")
	plant(t, elf, home, ".pyenv/versions/3.12.4/bin/python3")
	plant(t, "3.9.1\n", home, ".pyenv/version")
	plant(t, elf, home, ".nvm/versions/node/v18.2.0/bin/node")
	plant(t, elf, home, ".nvm/versions/node/v20.9.0/bin/node")
	plant(t, "20\n", home, ".nvm/alias/default")
	bin := filepath.Dir(plant(t, elf, home, "usr/bin/python3"))
	os.Symlink("python3", filepath.Join(bin, "python"))
	venv := plant(t, elf, project, ".venv/bin/python")
	plant(t, elf, project, "node_modules/.bin/node")
	noexec := plant(t, elf, home, "noexec/bin/python3")
	os.Chmod(noexec, 0o644)
	path := strings.Join([]string{"relative/bin", shims, filepath.Dir(noexec), bin}, ":")
	python := Spec{Type: "venv_python", Var: "RYE_PYTHON", Fallback: "python3"}

	for name, tc := range map[string]struct {
		spec Spec
		in   Search
		want string
		code fault.Code
	}{
		"venv with consent":         {python, Search{Project: project, Consented: true, Path: path}, venv, ""},
		"venv without consent":      {python, Search{Project: project, Path: path}, bin + "/python3", ""},
		"only a venv, no consent":   {Spec{Type: "venv_python"}, Search{Project: project, Path: path}, "", fault.Denied},
		"activated venv on PATH":    {Spec{Type: "system_binary", Binary: "python"}, Search{Project: project, Path: project + "/.venv/bin"}, "", fault.Denied},
		"venv path that leaves":     {Spec{Type: "venv_python", VenvPath: "../../../usr"}, Search{Project: project, Consented: true}, "", fault.NotFound},
		"shim is passed over":       {Spec{Type: "system_binary", Binary: "python3"}, Search{Path: path}, bin + "/python3", ""},
		"only a shim":               {Spec{Type: "system_binary", Binary: "python3"}, Search{Path: shims}, "", fault.NotFound},
		"variable":                  {python, Search{Vars: map[string]string{"RYE_PYTHON": bin + "/python"}, Path: path}, bin + "/python", ""},
		"variable names a shim":     {python, Search{Vars: map[string]string{"RYE_PYTHON": shims + "/python3"}, Path: path}, "", fault.NotFound},
		"variable is relative":      {python, Search{Vars: map[string]string{"RYE_PYTHON": "python3"}, Path: path}, "", fault.NotFound},
		"pyenv global version":      {Spec{Type: "version_manager", Manager: "pyenv"}, Search{Home: home}, home + "/.pyenv/versions/3.9.1/bin/python3", ""},
		"pyenv named version":       {Spec{Type: "version_manager", Manager: "pyenv", Version: "3.12"}, Search{Home: home}, home + "/.pyenv/versions/3.12.4/bin/python3", ""},
		"pyenv version that leaves": {Spec{Type: "version_manager", Manager: "pyenv", Version: "../.."}, Search{Home: home}, "", fault.NotFound},
		"nvm alias":                 {Spec{Type: "version_manager", Manager: "nvm"}, Search{Home: home}, home + "/.nvm/versions/node/v20.9.0/bin/node", ""},
		"node_modules":              {Spec{Type: "node_modules"}, Search{Project: project, Consented: true}, project + "/node_modules/.bin/node", ""},
		"nothing":                   {Spec{Type: "system_binary", Binary: "cobol"}, Search{Path: path}, "", fault.NotFound},
		"fallback with a slash":     {Spec{Fallback: "./python3"}, Search{Path: path}, "", fault.NotFound},
	} {
		got, err := Interpreter(tc.spec, tc.in)
		if got.Path != tc.want || fault.CodeOf(err) != tc.code {
			t.Errorf("%s: Interpreter = %q, %v, want %q, %s", name, got.Path, err, tc.want, tc.code)
		}
		if err == nil && got.Project != strings.HasPrefix(got.Path, project) {
			t.Errorf("%s: Project = %v", name, got.Project)
		}
	}
}

// TestInterpreterThroughALink: a name on the path that leads into the project is a program
// of the project, whichever way it goes there.
func TestInterpreterThroughALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	home, project := temp(t), temp(t)
	inside := plant(t, elf, project, "tools/prog")
	outside := plant(t, elf, home, "usr/bin/prog")
	link := func(to string, parts ...string) string {
		at := filepath.Join(parts...)
		os.MkdirAll(filepath.Dir(at), 0o755)
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(at)
	}
	alias := filepath.Join(temp(t), "alias")
	link(project, alias)
	for name, c := range map[string]struct {
		path    string
		project string
		theirs  bool
	}{
		"a link to a file":            {link(inside, home, "a/prog"), project, true},
		"a link to a link":            {link(filepath.Join(home, "a/prog"), home, "b/prog"), project, true},
		"a relative link":             {link("../a/prog", home, "c/prog"), project, true},
		"a link of the directory":     {filepath.Join(link(filepath.Join(project, "tools"), home, "d"), "d"), project, true},
		"through the project, out":    {link(filepath.Join(link(outside, project, "out/prog"), "prog"), home, "e/prog"), project, true},
		"the project by another name": {link(inside, home, "f/prog"), alias, true},
		"elsewhere":                   {link(outside, home, "g/prog"), project, false},
	} {
		spec := Spec{Type: "system_binary", Binary: "prog"}
		if _, err := Interpreter(spec, Search{Project: c.project, Path: c.path}); fault.Is(err, fault.Denied) != c.theirs {
			t.Errorf("%s: %v", name, err)
		}
		if p, err := Interpreter(spec, Search{Project: c.project, Path: c.path, Consented: true}); err != nil || p.Project != c.theirs {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestInterpreterDoesNotOpenTheHome(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the layouts are of Unix")
	}
	home := temp(t)
	plant(t, elf, home, "bin/python3")
	p, err := Interpreter(Spec{Fallback: "python3"}, Search{Path: home + "/bin"})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.Prefixes, home) || !slices.Contains(p.Prefixes, home+"/lib") {
		t.Errorf("prefixes %q", p.Prefixes)
	}
}

func TestNaturalLess(t *testing.T) {
	in := []string{"3.9", "3.12.1", "3.12", "3.2", "v20", "v9"}
	slices.SortFunc(in, func(a, b string) int {
		if naturalLess(a, b) {
			return -1
		}
		return 1
	})
	if got := strings.Join(in, " "); got != "3.2 3.9 3.12 3.12.1 v9 v20" {
		t.Errorf("sorted %s", got)
	}
}
