package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace"
)

// file puts a file into the project, outside of .ai or in it.
func (p *person) file(name, text string) {
	p.t.Helper()
	testkit.WriteFile(p.t, filepath.Join(p.dir, filepath.FromSlash(name)), text, 0o644)
}

func stdout(t *testing.T, res *rye.ExecuteResult) string {
	t.Helper()
	var data struct{ Stdout string }
	if err := json.Unmarshal(res.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.Stdout
}

const declaring = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Show what it was given
# env_config: {env: {API_URL: "none", TOKEN: "none", NODE_ENV: "signed"}}
echo "url=$API_URL token=$TOKEN"; echo "node=$NODE_ENV"
env | cut -d= -f1 | sort | tr '\n' ' '
`

func TestEnvFilesNeedConsent(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/show.sh", declaring)
	p.sign("tool:acme/show")
	show := func(what string, want fault.Code) string {
		t.Helper()
		p.asks = nil
		res, err := p.run("tool:acme/show", nil)
		wantCode(t, what, err, want)
		if err != nil {
			return ""
		}
		return stdout(t, res)
	}
	p.yes = false
	if out := show("no .env", ""); !strings.HasPrefix(out, "url=none token=none\n") {
		t.Errorf("without .env: %q", out)
	}
	p.file(".env", "UNDECLARED=1\n")
	if show("a .env without anything declared", ""); len(p.asks) != 0 {
		t.Errorf("asked about a file that sets nothing declared: %+v", p.asks)
	}
	p.file(".env", "API_URL=http://one\nTOKEN=hunter2\nUNDECLARED=1\nNODE_ENV=evil\nLD_PRELOAD=/tmp/evil.so\nPYTHONPATH=/tmp\nNODE_OPTIONS=-r\nGIT_DIR=/tmp\nPATH=/tmp\nBASH_ENV=/tmp/x\n")
	show("not agreed to", fault.Denied)
	if len(p.asks) != 1 || p.asks[0].Mend.String() != "rye policy allow tool:acme/show --env" {
		t.Fatalf("asked %+v", p.asks)
	}
	p.yes = true
	out := show("agreed to", "")
	if !strings.HasPrefix(out, "url=http://one token=hunter2\n") {
		t.Errorf("with consent: %q", out)
	}
	if !strings.Contains(out, "node=signed") {
		t.Errorf("a file filled NODE_ENV: %q", out)
	}
	for _, name := range []string{"UNDECLARED", "LD_PRELOAD ", "PYTHONPATH", "NODE_OPTIONS", "GIT_DIR", "BASH_ENV"} {
		if strings.Contains(out, name) {
			t.Errorf("%s reached the tool: %q", name, out)
		}
	}
	p.yes = false
	if show("asked once", ""); len(p.asks) != 0 {
		t.Errorf("asked again: %+v", p.asks)
	}
	if _, err := p.Execute(t.Context(), rye.Client(), rye.ExecuteRequest{Ref: refOf("tool:acme/show")}); err != nil {
		t.Errorf("an MCP client, after the user agreed: %v", err)
	}
	p.file(".env", "API_URL=http://one\nTOKEN=hunter3\nNEW=1\n")
	show("changed since", fault.Denied)
	said := strings.Join(p.asks[0].Lines, "\n") + p.asks[0].Text
	for _, want := range []string{"Changed since your approval", "TOKEN changed", "NEW is new", "UNDECLARED is gone"} {
		if !strings.Contains(said, want) {
			t.Errorf("the question does not say %q: %s", want, said)
		}
	}
	if strings.Contains(said, "hunter") || strings.Contains(said, "API_URL changed") {
		t.Errorf("the question shows a value, or says too much: %s", said)
	}
	kept, err := os.ReadFile(filepath.Join(p.o.ConfigDir, workspace.ConsentFile))
	if err != nil || strings.Contains(string(kept), "hunter") {
		t.Errorf("kept: %s, %v", kept, err)
	}
	if _, err := p.Policy().Consent(t.Context(), rye.Terminal(), rye.PolicyConsentRequest{Ref: refOf("tool:acme/show"), Env: true}); err != nil {
		t.Fatal(err)
	}
	if out := show("allowed by command", ""); !strings.Contains(out, "token=hunter3") {
		t.Errorf("after rye policy allow --env: %q", out)
	}
	if _, err := p.Policy().Consent(t.Context(), rye.Terminal(), rye.PolicyConsentRequest{Ref: refOf("tool:acme/show"), Env: true, Forget: true}); err != nil {
		t.Fatal(err)
	}
	show("taken back", fault.Denied)
}

func TestEnvFilesInOrder(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/show.sh", declaring)
	p.sign("tool:acme/show")
	home := filepath.Join(p.home, ".ai")
	os.MkdirAll(home, 0o755)
	os.WriteFile(filepath.Join(home, ".env"), []byte("API_URL=user\nTOKEN=user\n"), 0o644)
	for _, step := range []struct{ file, text, want string }{
		{"", "", "url=user token=user\n"},
		{".ai/.env", "API_URL=ai\n", "url=ai token=user\n"},
		{".env", "API_URL=dot\n", "url=dot token=user\n"},
		{".env.local", "TOKEN=local\n", "url=dot token=local\n"},
	} {
		if step.file != "" {
			p.file(step.file, step.text)
		}
		res, err := p.run("tool:acme/show", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := stdout(t, res); !strings.HasPrefix(got, step.want) {
			t.Errorf("with %s: %q, want %q", step.file, got, step.want)
		}
	}
	if len(p.asks) != 4 {
		t.Errorf("asked %d times for four files", len(p.asks))
	}
}

func TestEnvFilesThatAreNone(t *testing.T) {
	p := project(t)
	p.write("tools/acme/show.sh", declaring)
	p.sign("tool:acme/show")
	out := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(out, []byte("API_URL=x\n"), 0o600)
	if err := os.Symlink(out, filepath.Join(p.dir, ".env")); err != nil {
		t.Skip("symbolic links are not allowed here: ", err)
	}
	_, err := p.run("tool:acme/show", nil)
	wantCode(t, "a link that leads out of the project", err, fault.Denied)
	os.Remove(filepath.Join(p.dir, ".env"))
	os.Mkdir(filepath.Join(p.dir, ".env"), 0o755)
	_, err = p.run("tool:acme/show", nil)
	wantCode(t, "a directory", err, fault.Malformed)
	os.Remove(filepath.Join(p.dir, ".env"))
	p.file(".env", "API_URL=1\nrm -rf /\n")
	_, err = p.run("tool:acme/show", nil)
	wantCode(t, "no assignments", err, fault.Malformed)
	if strings.Contains(err.Error(), "rm -rf") || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error: %v", err)
	}
	p.file(".env", "API_URL=1\n")
	os.Chmod(filepath.Join(p.o.ConfigDir), 0o755)
	os.WriteFile(filepath.Join(p.o.ConfigDir, workspace.ConsentFile), []byte("consent: 1\n"), 0o600)
	os.Chmod(filepath.Join(p.o.ConfigDir, workspace.ConsentFile), 0o666)
	_, err = p.run("tool:acme/show", nil)
	wantCode(t, "agreements that others may write", err, fault.Auth)
}

// venv makes a virtual environment as python -m venv does, without pip.
func venv(t *testing.T, p *person) {
	t.Helper()
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip("no /usr/bin/python3")
	}
	bin := filepath.Join(p.dir, ".venv", "bin")
	os.MkdirAll(bin, 0o755)
	os.MkdirAll(filepath.Join(p.dir, ".venv", "lib", filepath.Base(python), "site-packages"), 0o755)
	if err := os.Symlink(python, filepath.Join(bin, "python")); err != nil {
		t.Fatal(err)
	}
	p.file(".venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n")
}

func TestProjectInterpreterNeedsConsent(t *testing.T) {
	p := project(t)
	venv(t, p)
	p.write("tools/acme/where.py", `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "acme"
__tool_description__ = "Say which Python this is"
import sys
print(sys.prefix)
`)
	p.sign("tool:acme/where")
	p.yes = false
	_, err := p.run("tool:acme/where", nil)
	wantCode(t, "an interpreter in the project", err, fault.Denied)
	if len(p.asks) != 1 || p.asks[0].Mend.String() != "rye policy allow tool:acme/where --interpreter" || !strings.Contains(strings.Join(p.asks[0].Lines, "\n"), "not its packages") {
		t.Fatalf("asked %+v", p.asks)
	}
	if _, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/where"), DryRun: true}); fault.CodeOf(err) != fault.Denied {
		t.Errorf("a dry run: %v", err)
	}
	p.yes = true
	where := func(what string) string {
		t.Helper()
		res, err := p.run("tool:acme/where", nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return strings.TrimSpace(stdout(t, res))
	}
	real, _ := filepath.EvalSymlinks(p.dir)
	if got := where("agreed to"); got != filepath.Join(real, ".venv") && got != filepath.Join(p.dir, ".venv") {
		t.Errorf("sys.prefix %q", got)
	}
	p.yes, p.asks = false, nil
	where("agreed to before")
	if len(p.asks) != 0 {
		t.Errorf("asked again: %+v", p.asks)
	}
	// What Python runs at each start is part of what was agreed to.
	site, _ := filepath.Glob(filepath.Join(p.dir, ".venv/lib/python*/site-packages"))
	os.WriteFile(filepath.Join(site[0], "evil.pth"), []byte("import os\n"), 0o644)
	_, err = p.run("tool:acme/where", nil)
	wantCode(t, "a file that Python runs at its start was added", err, fault.Denied)
	if len(p.asks) != 1 || !strings.Contains(strings.Join(p.asks[0].Lines, "\n"), "evil.pth is new") {
		t.Errorf("asked %+v", p.asks)
	}
	os.Remove(filepath.Join(site[0], "evil.pth"))
	// Another program behind the same link.
	os.Remove(filepath.Join(p.dir, ".venv/bin/python"))
	p.file(".venv/bin/python", "\x7fELF evil")
	os.Chmod(filepath.Join(p.dir, ".venv/bin/python"), 0o755)
	p.asks = nil
	_, err = p.run("tool:acme/where", nil)
	wantCode(t, "another program", err, fault.Denied)
	if len(p.asks) != 1 || !strings.Contains(strings.Join(p.asks[0].Lines, "\n"), "program changed") {
		t.Errorf("asked %+v", p.asks)
	}
	// Who names an interpreter has decided.
	p.asks, p.o.Interpreters = nil, map[string]string{"RYE_PYTHON": "/usr/bin/python3"}
	p.enter(p.dir)
	if got := where("RYE_PYTHON"); strings.Contains(got, ".venv") || len(p.asks) != 0 {
		t.Errorf("with RYE_PYTHON: prefix %q, asked %+v", got, p.asks)
	}
}

// TestAgreementsLapse: what was agreed to in a directory is not agreed to in another that
// came to have its path, not even after that was written to.
func TestAgreementsLapse(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/show.sh", declaring)
	p.sign("tool:acme/show")
	p.file(".env", "TOKEN=hunter2\n")
	if _, err := p.run("tool:acme/show", nil); err != nil {
		t.Fatal(err)
	}
	p.asks, p.yes = nil, false
	if _, err := p.run("tool:acme/show", nil); err != nil || len(p.asks) != 0 {
		t.Fatalf("the same directory: %v, asked %+v", err, p.asks)
	}
	first, err := records.StampOf(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.Born == 0 {
		t.Skip("no birth times are kept here: nobody can tell")
	}
	aside := p.dir + ".aside"
	if err := os.Rename(p.dir, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.dir, os.DirFS(aside)); err != nil {
		t.Fatal(err)
	}
	p.enter(p.dir)
	lapsed := func(when string) {
		t.Helper()
		p.asks = nil
		_, err := p.run("tool:acme/show", nil)
		wantCode(t, when, err, fault.Denied)
		if len(p.asks) != 1 || !strings.Contains(strings.Join(p.asks[0].Lines, "\n"), "the directory was replaced") {
			t.Errorf("%s: asked %+v", when, p.asks)
		}
	}
	lapsed("a directory that was made again")
	p.write("tools/acme/other.sh", greet)
	p.sign("tool:acme/other") // the record knows the new directory from here on
	lapsed("after it was written to")
	p.yes = true
	if _, err := p.run("tool:acme/show", nil); err != nil {
		t.Fatal(err)
	}
	p.asks, p.yes = nil, false
	if _, err := p.run("tool:acme/show", nil); err != nil || len(p.asks) != 0 {
		t.Errorf("agreed to anew: %v, asked %+v", err, p.asks)
	}
}
