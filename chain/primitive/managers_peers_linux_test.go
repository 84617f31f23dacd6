package primitive

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPeersInterpreters: environments made by the real managers start under S3 and find their
// library.
func TestPeersInterpreters(t *testing.T) {
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers runs this: it makes environments with other people's programs")
	}
	needS3(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	pyenv, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.1*/bin/python3"))
	if len(pyenv) > 2 {
		pyenv = pyenv[:2]
	}
	try := func(name string, spec Spec, in Search, script, want string) {
		in.Home, in.Consented = cmp.Or(in.Home, home), true
		p, err := Interpreter(spec, in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		option := "-c"
		if spec.Type == "node_modules" {
			option = "-p"
		}
		call := Call{Argv: []string{p.Path, option, script}, Temp: temp(t)}
		call.Sandbox.Tier, call.Sandbox.Exec = S3, p.Prefixes
		out, err := Run(t.Context(), call, nil, nil)
		if got := strings.TrimSpace(string(out.Stdout)); err != nil || got != want {
			t.Errorf("%s: %s printed %q, %q, %v, want %q", name, p.Path, got, out.Stderr, err, want)
			return
		}
		t.Logf("%s: %s starts", name, p.Path)
	}
	const imports = "import json, ssl, sqlite3, sys; print('started', sys.prefix != sys.base_prefix)"
	python := Spec{Type: "venv_python"}
	made := func(name string, argv ...string) (project string, ok bool) {
		project = temp(t)
		argv = append(argv, filepath.Join(project, ".venv"))
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Logf("%s: absent: %s: %v, %.80q", name, strings.Join(argv[:len(argv)-1], " "), err, out)
			return "", false
		}
		return project, true
	}
	if len(pyenv) == 0 {
		t.Log("pyenv: absent: no ~/.pyenv/versions/3.1*")
	} else {
		try("pyenv", Spec{Type: "system_binary", Binary: "python3"}, Search{Path: filepath.Join(home, ".pyenv/shims")}, imports, "started False")
	}
	for _, base := range append(pyenv, "/usr/bin/python3") {
		for _, how := range []string{"--symlinks", "--copies"} {
			if project, ok := made("venv", base, "-m", "venv", "--without-pip", how); ok {
				try("venv "+how+" of "+base, python, Search{Project: project}, imports, "started True")
			}
		}
		if project, ok := made("virtualenv", base, "-m", "virtualenv", "-q", "--no-download"); ok {
			try("virtualenv of "+base, python, Search{Project: project}, imports, "started True")
		}
	}
	// Its node is a script that starts the system's, and no interpreter is a script: rye starts the system's.
	if project, ok := made("nodeenv", "nodeenv", "--node=system"); ok {
		try("nodeenv", Spec{Type: "node_modules", SearchPaths: []string{".venv/bin"}, Fallback: "node"}, Search{Project: project}, "'started'", "started")
	}
	if len(pyenv) > 0 {
		if project, ok := mise(t, filepath.Dir(filepath.Dir(pyenv[0]))); ok {
			try("mise", Spec{Type: "system_binary", Binary: "python3"}, Search{Home: project, Path: filepath.Join(project, ".local/share/mise/shims")}, imports, "started False")
		}
	}
	for _, name := range []string{"uv", "conda", "fnm", "volta", "asdf"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("%s: absent: %v", name, err)
		}
	}
}

// mise makes a home whose mise has the Python at a prefix, and a shim of it.
func mise(t *testing.T, prefix string) (home string, ok bool) {
	home = temp(t)
	version := "python@" + filepath.Base(prefix)
	for _, args := range [][]string{{"link", version, prefix}, {"use", "--global", version}, {"reshim"}} {
		cmd := exec.Command("mise", args...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "MISE_OFFLINE=1", "MISE_YES=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("mise: absent: mise %s: %v, %.200q", strings.Join(args, " "), err, out)
			return "", false
		}
	}
	return home, true
}
