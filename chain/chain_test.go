package chain

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
)

const hello = `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# tool_type: bash
# description: says hello
# config_schema:
#   type: object
#   required: [name]
#   properties:
#     name: {type: string}
#     times: {type: integer, default: 1}
#     big: {type: number}
`

func TestResolve(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	p := w.plan("acme/hello")
	var got []string
	for _, l := range p.Links {
		got = append(got, fmt.Sprintf("%s@%s", l.Ref().ID, l.Space))
	}
	want := "acme/hello@project rye/core/runtimes/bash_runtime@system rye/core/primitives/subprocess@system"
	if strings.Join(got, " ") != want || p.Primitive() != Subprocess {
		t.Errorf("chain %v, want %s", got, want)
	}
}

func TestResolveRefuses(t *testing.T) {
	w := newWorld(t)
	add := func(s objects.Space, id, executor, more string) {
		path, text := yamlTool(id, executor, more)
		w.add(s, path, text)
	}
	const sub = "rye/core/primitives/subprocess"
	for i := range 12 {
		add(objects.Project, fmt.Sprintf("acme/deep%d", i), fmt.Sprintf("acme/deep%d", i+1), "")
	}
	add(objects.Project, "acme/circle", "acme/circle2", "")
	add(objects.Project, "acme/circle2", "acme/circle", "")
	add(objects.Project, "acme/lost", "acme/nowhere", "")
	add(objects.Project, "acme/alone", "", "")
	add(objects.Project, "acme/fake", "", "")
	add(objects.User, "acme/low", "acme/high", "")
	add(objects.Project, "acme/high", sub, "config: {command: /bin/true}")
	add(objects.Project, "acme/giver", "acme/taker", "outputs: [a, b]\n")
	add(objects.Project, "acme/taker", sub, "inputs: [a, c]\nconfig: {command: /bin/true}\n")
	add(objects.Project, "acme/young", "acme/picky", "")
	add(objects.Project, "acme/picky", sub, "child_constraints: {acme/young: {min_version: 2.0.0}}\nconfig: {command: /bin/true}\n")
	add(objects.Project, "acme/noline", sub, "")
	add(objects.Project, "acme/badargs", sub, "config: {command: /bin/true, args: {a: b}}")
	add(objects.Project, "acme/badtime", sub, "config: {command: /bin/true, timeout: -1}")
	for id, want := range map[string]fault.Code{
		"acme/deep0": fault.Limit, "acme/circle": fault.Malformed, "acme/lost": fault.NotFound,
		"acme/nothing": fault.NotFound, "acme/alone": fault.Malformed, "acme/low": fault.NotFound, "acme/giver": fault.Conflict,
		"acme/young": fault.Conflict, "acme/noline": fault.Malformed, "acme/badargs": fault.Malformed, "acme/badtime": fault.Malformed,
	} {
		p, err := Resolve(context.Background(), w, tool(id))
		if fault.CodeOf(err) != want {
			t.Errorf("Resolve(%s) = %v, %v, want %s", id, p, err, want)
		}
	}
	if _, err := Resolve(context.Background(), w, objects.Ref{Kind: objects.Directive, ID: "acme/x"}); !fault.Is(err, fault.Usage) {
		t.Errorf("Resolve of a directive = %v", err)
	}
	// A finder that answers with something else, or from above, is not believed.
	for name, l := range map[string]Link{
		"another item":   w.items[objects.Project][tool("acme/high")],
		"a higher space": {},
	} {
		f := finderFunc(func(at objects.Space, ref objects.Ref) (Link, error) {
			if ref == tool("acme/low") {
				return w.items[objects.User][ref], nil
			}
			if l.Verified.IsZero() {
				return w.items[objects.Project][ref], nil
			}
			return l, nil
		})
		ref := tool("acme/low")
		if name == "another item" {
			ref = tool("acme/alone")
		}
		if _, err := Resolve(context.Background(), f, ref); !fault.Is(err, fault.Denied) && !fault.Is(err, fault.Integrity) {
			t.Errorf("%s: Resolve = %v", name, err)
		}
	}
}

type finderFunc func(objects.Space, objects.Ref) (Link, error)

func (f finderFunc) FindFrom(_ context.Context, at objects.Space, ref objects.Ref) (Link, error) {
	return f(at, ref)
}

// The zero Verified must never get through: it panics rather than run.
func TestNothingUnverifiedIsPlanned(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a link that nobody verified was planned")
		}
	}()
	Resolve(context.Background(), finderFunc(func(objects.Space, objects.Ref) (Link, error) { return Link{}, nil }), tool("acme/x"))
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+"echo hi\n")
	p := w.plan("acme/hello")
	for raw, want := range map[string]string{
		`{"name":"x"}`:                                 `{"name":"x","times":1}`,
		`{"name":"<a&b>","times":2}`:                   `{"name":"<a&b>","times":2}`,
		`{"name":"x","big":12345678901234567890.1}`:    `{"big":12345678901234567890.1,"name":"x","times":1}`,
		`{"name":"x","extra":{"b":1,"a":[true,null]}}`: `{"extra":{"a":[true,null],"b":1},"name":"x","times":1}`,
	} {
		got, err := p.Check([]byte(raw))
		if err != nil || string(got.JSON) != want {
			t.Errorf("Check(%s) = %s, %v, want %s", raw, got.JSON, err, want)
		}
	}
	for _, raw := range []string{``, `{}`, `[]`, `null`, `{"name":1}`, `{"name":"x","times":"many"}`, `{"name":"x"} {}`, `{"name":"x","name":"y"}`,
		`{"name":"x","NAME":"y"}`, `{"name":"x"`, "\xff", strings.Repeat(`{"a":`, 5000)} {
		if got, err := p.Check([]byte(raw)); err == nil {
			t.Errorf("Check(%.40q) = %s, want an error", raw, got.JSON)
		}
	}
}

// inputs for a plan, with a real run directory and interpreter.
func TestBashScript(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/hello.sh", hello+`
echo "$1|$RYE_PARAMS|$RYE_PARAM_NAME|$RYE_PARAM_TIMES|$RYE_PARAM_BIG"
[ "$2" = "$PWD" ] && [ "$2" = "$RYE_PROJECT_PATH" ] && echo same
`)
	r := w.execute("acme/hello", `{"name":"a b","big":0.10}`)
	j := `{"big":0.10,"name":"a b","times":1}`
	if got, want := string(r.Stdout), j+"|"+j+"|a b|1|0.10\nsame\n"; got != want {
		t.Errorf("stdout %q, want %q; stderr %s", got, want, r.Stderr)
	}
}

// RYE OS expanded templates inside parameter values, so a model could ask
// for any secret of the environment (its finding S5).
func TestParameterValuesAreNeverTemplates(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	t.Setenv("MY_SECRET_TOKEN", "canary")
	w := newWorld(t)
	evil := `${MY_SECRET_TOKEN} {tool_path} $HOME $(id) ` + "`id`" + ` '; id; {params_json} ${RYE_BASH:-x}`
	w.add(objects.Project, "tools/acme/hello.sh", hello+`printf %s "$RYE_PARAM_NAME"`)
	p, text := yamlTool("acme/echo", "rye/core/primitives/subprocess", `
config_schema: {type: object, properties: {name: {type: string}}}
config: {command: /usr/bin/printf, args: ["%s", "--x={name}", "--", "{name}"], stdin: "{name}", env: {COPY: "a {name} b"}}
`)
	w.add(objects.Project, p, text)
	quoted, _ := encodeJSON(map[string]any{"name": evil})
	if got := string(w.execute("acme/hello", string(quoted)).Stdout); got != evil {
		t.Errorf("the script got %q", got)
	}
	plan := w.plan("acme/echo")
	in, _ := w.inputs(plan, string(quoted))
	in.Vars = map[string]string{"MY_SECRET_TOKEN": "canary"}
	c, err := plan.Call(in)
	if err != nil {
		t.Fatal(err)
	}
	if c.Argv[2] != "--x="+evil || c.Argv[4] != evil || string(c.Stdin) != evil || c.Env["COPY"] != "a "+evil+" b" {
		t.Errorf("call %q, stdin %q, env %q", c.Argv, c.Stdin, c.Env)
	}
}

func TestArguments(t *testing.T) {
	w := newWorld(t)
	p, text := yamlTool("acme/args", "rye/core/primitives/subprocess", `
config_schema: {type: object, properties: {file: {}, list: {type: array}, opt: {}, n: {type: number}}}
config: {command: /bin/echo, args: ["{file}", "{opt}", "-n", "{n}", "x{opt}y", "{list}", "{unknown}", "{", "--", "{file}"], extra: e}
env_config: {env: {URL: "${URL:-http://default}"}}
`)
	w.add(objects.Project, p, text)
	plan := w.plan("acme/args")
	call := func(params string) ([]string, error) {
		in, _ := w.inputs(plan, params)
		c, err := plan.Call(in)
		return c.Argv, err
	}
	got, err := call(`{"file":"a b","list":["p","q"],"n":-5}`)
	if want := "/bin/echo|a b|-n|-5|xy|p|q|{unknown}|{|--|a b"; err != nil || strings.Join(got, "|") != want {
		t.Errorf("argv %q, %v, want %s", got, err, want)
	}
	if _, err := call(`{"file":"-rf"}`); !fault.Is(err, fault.Usage) || !strings.Contains(fault.HintOf(err).String(), "--") {
		t.Errorf("an option for a file: %v", err)
	}
	if got, err = call(`{"file":{"a":1}}`); err != nil || got[1] != `{"a":1}` {
		t.Errorf("argv %q, %v", got, err)
	}
}

func TestVariablesFromOutside(t *testing.T) {
	w := newWorld(t)
	p, text := yamlTool("acme/env", "rye/core/primitives/subprocess", `
config: {command: /bin/echo, args: ["${URL}", "${TOKEN}", "${HOME}"]}
env_config: {env: {URL: "${URL:-http://default}", PYTHONPATH: "/x", TOKEN: ""}}
`)
	w.add(objects.Project, p, text)
	plan := w.plan("acme/env")
	if got := plan.Declares(); strings.Join(got, " ") != "TOKEN URL" {
		t.Errorf("declares %q", got)
	}
	in, _ := w.inputs(plan, "")
	c, err := plan.Call(in)
	if err != nil || strings.Join(c.Argv[1:], "|") != "http://default||" {
		t.Errorf("argv %q, %v", c.Argv, err)
	}
	in.Vars = map[string]string{"URL": "http://own/{tool_path}${TOKEN}", "TOKEN": "t", "HOME": "/evil", "PYTHONPATH": "/evil", "OTHER": "x"}
	c, err = plan.Call(in)
	if err != nil || strings.Join(c.Argv[1:], "|") != "http://own/{tool_path}${TOKEN}|t|" || c.Env["PYTHONPATH"] != "/x" || c.Env["OTHER"] != "" {
		t.Errorf("argv %q, env %q, %v", c.Argv, c.Env, err)
	}
}

func TestShellTextOfATool(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	w := newWorld(t)
	p, text := yamlTool("acme/text", "rye/core/runtimes/bash_runtime", `
config_schema: {type: object, properties: {tool_path: {}, command: {}, name: {}}}
config:
  command: 'for i in {1..3}; do printf "${i}"; done; echo " {name} $RYE_PARAM_NAME"; [ -n "$1" ]'
`)
	w.add(objects.Project, p, text)
	// Neither a brace nor a parameter of a telling name changes the text.
	r := w.execute("acme/text", `{"name":"n; id","tool_path":"/evil","command":"echo evil"}`)
	if got := string(r.Stdout); got != "123 {name} n; id\n" || r.Exit != 0 {
		t.Errorf("stdout %q, stderr %q", got, r.Stderr)
	}
	if plan := w.plan("acme/text"); !strings.HasPrefix(plan.Script(), "for i in {1..3}") {
		t.Errorf("Script = %q", plan.Script())
	}
	w.add(objects.Project, "tools/acme/hello.sh", hello+"rm -rf x\n")
	if plan := w.plan("acme/hello"); !strings.HasSuffix(plan.Script(), "rm -rf x\n") {
		t.Errorf("Script = %q", plan.Script())
	}
}

const python = `# version: x
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/%s"
__category__ = "acme"
__tool_description__ = "x"
`

func TestPythonScript(t *testing.T) {
	testkit.NeedProgram(t, "python3")
	w := newWorld(t)
	w.add(objects.Project, "tools/acme/script.py", fmt.Sprintf(python, "python_script_runtime")+`
import argparse, json, sys, os
ap = argparse.ArgumentParser()
ap.add_argument("--params"); ap.add_argument("--project-path")
a = ap.parse_args()
print(json.dumps({"params": json.loads(a.params), "cwd": os.getcwd() == a.project_path, "path": "" in sys.path or a.project_path in sys.path}))
`)
	r := w.execute("acme/script", `{"n":12345678901234567890,"s":"ü"}`)
	if got, want := string(r.Stdout), `{"params": {"n": 12345678901234567890, "s": "\u00fc"}, "cwd": true, "path": false}`+"\n"; got != want {
		t.Errorf("stdout %q, want %q; stderr %s", got, want, r.Stderr)
	}
}

func TestPythonFunction(t *testing.T) {
	testkit.NeedProgram(t, "python3")
	w := newWorld(t)
	head := fmt.Sprintf(python, "python_function_runtime")
	w.add(objects.Project, "tools/acme/sync.py", head+`
import sys, json
from dataclasses import dataclass
@dataclass
class C:
    x: int
def execute(params, project_path):
    print("noise")
    return {"success": True, "got": params, "path": "" in sys.path or project_path in sys.path, "c": C(1).x, "name": __name__, "json": json.__file__.startswith(project_path)}
`)
	w.add(objects.Project, "tools/acme/async.py", head+`
import asyncio
async def execute(params, project_path):
    await asyncio.sleep(0)
    return {"async": params["a"]}
`)
	w.add(objects.Project, "tools/acme/nothing.py", head+"def execute(params, project_path):\n    pass\n")
	w.add(objects.Project, "tools/acme/fails.py", head+"def execute(params, project_path):\n    raise ValueError('bad value')\n")
	for id, want := range map[string]string{
		"acme/sync":    `{"success": true, "got": {"a": "${X}"}, "path": false, "c": 1, "name": "sync", "json": false}`,
		"acme/async":   `{"async": "${X}"}`,
		"acme/nothing": `{}`,
	} {
		r := w.execute(id, `{"a":"${X}"}`)
		out := Read(r)
		if !out.OK || string(out.Data) != want {
			t.Errorf("%s: %s, %v, want %s; stderr %s", id, out.Data, out.Error, want, r.Stderr)
		}
	}
	r := w.execute("acme/fails", `{}`)
	if out := Read(r); out.OK || !strings.Contains(out.Error, "ValueError: bad value") {
		t.Errorf("failure: %+v", out)
	}
	// A module of the project must not be imported in place of the library's.
	p := w.plan("acme/sync")
	in, _ := w.inputs(p, `{"a":1}`)
	os.WriteFile(filepath.Join(in.ProjectPath, "json.py"), []byte("raise SystemExit('EVIL')"), 0o600)
	c, err := p.Call(in)
	if err != nil {
		t.Fatal(err)
	}
	res, err := primitive.Run(context.Background(), c, nil, nil)
	if err != nil || res.Exit != 0 {
		t.Errorf("with json.py in the project: %v, %s", err, res.Stderr)
	}
}

func TestReadResult(t *testing.T) {
	for name, tc := range map[string]struct {
		r    primitive.Result
		ok   bool
		err  string
		data string
	}{
		"json":            {primitive.Result{Stdout: []byte(" {\"a\":1}\n")}, true, "", `{"a":1}`},
		"text":            {primitive.Result{Stdout: []byte("hi\n"), Stderr: []byte("w")}, true, "", `{"return_code":0,"stderr":"w","stdout":"hi\n"}`},
		"says no":         {primitive.Result{Stdout: []byte(`{"success":false,"error":"no luck"}`)}, false, "no luck", `{"success":false,"error":"no luck"}`},
		"exit with words": {primitive.Result{Exit: 3, Stderr: []byte("broke\n")}, false, "broke", `{"return_code":3,"stderr":"broke\n","stdout":""}`},
		"exit, no words":  {primitive.Result{Exit: 3}, false, "exit status 3", `{"return_code":3,"stderr":"","stdout":""}`},
		"signal":          {primitive.Result{Exit: 137, Signal: "SIGKILL"}, false, "ended by SIGKILL", `{"return_code":137,"stderr":"","stdout":""}`},
		"two documents":   {primitive.Result{Stdout: []byte("{} {}")}, true, "", `{"return_code":0,"stderr":"","stdout":"{} {}"}`},
		"cut json":        {primitive.Result{Stdout: []byte("[]"), Truncated: true}, true, "", `{"return_code":0,"stderr":"","stdout":"[]"}`},
	} {
		got := Read(tc.r)
		if got.OK != tc.ok || got.Error != tc.err || string(got.Data) != tc.data {
			t.Errorf("%s: Read = %v %q %s", name, got.OK, got.Error, got.Data)
		}
	}
}
