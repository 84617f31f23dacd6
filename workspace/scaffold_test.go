package workspace_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
)

// TestNewTool: a tool of each language is written, refused, signed, and runs.
func TestNewTool(t *testing.T) {
	for lang, needs := range map[string]string{
		"python": "python3", "python-script": "python3", "bash": "bash", "sh": "bash", "yaml": "bash", "node": "node", "js": "node", "ts": "node", "": "python3",
	} {
		t.Run("lang "+lang, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(needs); err != nil {
				t.Skipf("no %s here", needs)
			}
			if lang == "ts" {
				needNode(t, "22.6")
			}
			p := project(t)
			rep, err := p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: "tool", ID: "hello", Lang: lang, Description: "Say hello."})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.run(rep.Ref, nil)
			wantCode(t, "run unsigned "+rep.Ref, err, fault.Untrusted)
			p.sign(rye.Target(rep.Ref))
			for name, want := range map[string]string{"ada": "hello, ada", "": "hello, world"} {
				var params any
				if name != "" {
					params = map[string]any{"name": name}
				}
				res, err := p.run(rep.Ref, params)
				if err != nil {
					t.Fatalf("%v (%s)", err, fault.HintOf(err).String())
				}
				if res.Status != "success" || !bytes.Contains(res.Data, []byte(want)) {
					t.Errorf("%s %s %s, want %q", res.Status, res.Data, res.Error, want)
				}
				if len(res.Chain) != 3 {
					t.Errorf("chain of %d, want tool, runtime, primitive", len(res.Chain))
				}
			}
			_, err = p.run(rep.Ref, map[string]any{"nobody": "knows"})
			wantCode(t, "run with a parameter that the schema does not know", err, fault.Usage)
		})
	}
}

func needNode(t *testing.T, least string) {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	if v, ok := primitive.ParseVersion(string(out)); err != nil || !ok || !primitive.AtLeast(v, least) {
		t.Skipf("node %s here, %v: want %s", v, err, least)
	}
}

// TestInterpreterMinVersion: a runtime's interpreter that is too old is refused
// before anything of the tool runs, in a dry run too; one that is not, is used.
func TestInterpreterMinVersion(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	p := project(t)
	for version, code := range map[string]fault.Code{`"1.0"`: "", `"3"`: "", `"99.1"`: fault.NotFound, `">=3"`: fault.Malformed, `3.5`: fault.Malformed} {
		p.write("tools/acme/shell.yaml", `version: 1.0.0
tool_type: runtime
executor_id: rye/core/primitives/subprocess
category: acme
description: A shell.
env_config: {interpreter: {type: system_binary, binary: bash, var: RYE_BASH, min_version: `+version+`}}
config: {command: "${RYE_BASH}", args: ["{tool_path}"]}
`)
		p.write("tools/acme/mark.sh", "# version: 1.0.0\n# executor_id: acme/shell\n# description: Says so.\necho ran\n")
		p.sign("tool:acme/shell", "tool:acme/mark")
		ran := false
		for _, dry := range []bool{true, false} {
			_, err := p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/mark"), DryRun: dry, Stdout: func([]byte) { ran = true }})
			if code != "" {
				wantCode(t, "min_version "+version, err, code)
			} else if err != nil {
				t.Errorf("min_version %s: %v", version, err)
			}
			if code == fault.NotFound && (!strings.Contains(err.Error(), "is version 5.") || !strings.Contains(fault.HintOf(err).String(), "install bash 99.1 or later, or set RYE_BASH")) {
				t.Errorf("min_version %s: %v (%s)", version, err, fault.HintOf(err).String())
			}
		}
		if ran != (code == "") {
			t.Errorf("min_version %s: the tool ran: %v", version, ran)
		}
	}
}

// TestNewRuntime: a language that rye does not know is one more YAML file.
func TestNewRuntime(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("no awk here")
	}
	p := project(t)
	rep, err := p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: "tool", ID: "acme/runtimes/awk", Lang: "runtime", Description: "Runs awk."})
	if err != nil {
		t.Fatal(err)
	}
	p.write("tools/acme/greet.awk", `# version: 1.0.0
# executor_id: acme/runtimes/awk
# description: Says hello.
BEGIN { print "hello, " ENVIRON["RYE_PARAM_NAME"] }
`)
	p.sign("tool:acme/greet")
	_, err = p.run("tool:acme/greet", nil)
	wantCode(t, "run on an unsigned runtime", err, fault.Untrusted)
	p.sign(rye.Target(rep.Ref))
	res, err := p.run("tool:acme/greet", map[string]any{"name": "ada"})
	if err != nil || !bytes.Contains(res.Data, []byte("hello, ada")) {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := res.Chain[1].ItemID; got != "acme/runtimes/awk" {
		t.Errorf("the runtime was %s", got)
	}
}

// TestNewOthers: items of the other kinds are valid as they are written, and used.
func TestNewOthers(t *testing.T) {
	p := project(t)
	for _, kind := range []string{"directive", "knowledge", "config"} {
		rep, err := p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: kind, ID: "acme/deep/first", Description: "What it is for."})
		if err != nil {
			t.Fatal(err)
		}
		p.sign(rye.Target(rep.Ref))
		if _, err := p.Load(t.Context(), rye.Terminal(), rye.LoadRequest{Ref: refOf(rep.Ref)}); err != nil {
			t.Errorf("load %s: %v", rep.Ref, err)
		}
		_, err = p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: kind, ID: "acme/deep/first"})
		wantCode(t, "new over what is there", err, fault.Conflict)
		_, err = p.New(t.Context(), rye.Terminal(), rye.NewRequest{Kind: kind, ID: "acme/x", Lang: "bash"})
		wantCode(t, "a language for a "+kind, err, fault.Usage)
	}
	res, err := p.run("directive:acme/deep/first", map[string]any{"subject": "names"})
	if err != nil || !bytes.Contains(res.Data, []byte("Work on names.")) {
		t.Errorf("directive: %+v, %v", res, err)
	}
	for _, q := range []rye.NewRequest{
		{Kind: "tool", ID: "acme/x", Lang: "cobol"},
		{Kind: "gadget", ID: "acme/x"},
		{Kind: "tool", ID: "acme/x", Description: "two\nlines"},
		{Kind: "tool", ID: "acme/x", Description: `a "quote"`},
		{Kind: "directive", ID: "acme/x", Description: "</description>"},
	} {
		_, err := p.New(t.Context(), rye.Terminal(), q)
		wantCode(t, "new", err, fault.Usage)
	}
}
