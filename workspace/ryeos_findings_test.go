package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace"
)

// Findings about RYE OS, by their numbers in its review: S are security
// findings, rows are what did not work as shipped. Those about its signatures are
// in legacy_test.go.

func python(body string) string {
	return `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "acme"
__tool_description__ = "A test"
` + body
}

func needPython(t testing.TB, p *person) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no /usr/bin/python3")
	}
	p.o.Interpreters = map[string]string{"RYE_PYTHON": "/usr/bin/python3"}
	p.enter(p.dir)
}

// S5: parameter values were expanded as templates, so a model's argument fetched
// secrets.
func TestFindingS5ParametersAreNoTemplates(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	t.Setenv("MY_SECRET_TOKEN", "canary")
	p := project(t)
	p.write("tools/acme/echo.sh", `#!/usr/bin/env bash
# version: 1.0.0
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: Say it back
# config_schema: {type: object, properties: {text: {type: string}}}
printf '%s\n' "$RYE_PARAM_TEXT" "$1"
`)
	p.sign("tool:acme/echo")
	evil := "${MY_SECRET_TOKEN} {project_path} ${RYE_BASH} $(id) `id` '; id; {params_json}"
	res, err := p.run("tool:acme/echo", map[string]any{"text": evil})
	if err != nil {
		t.Fatal(err)
	}
	out := stdout(t, res)
	var back struct{ Text string }
	first, second, _ := strings.Cut(out, "\n")
	json.Unmarshal([]byte(second), &back)
	if first != evil || back.Text != evil || strings.Contains(out, "canary") || strings.Contains(out, "uid=") {
		t.Errorf("the tool got %q, sent was %q", out, evil)
	}
}

// S9: a path with dots passed a rule for its beginning and ran something else.
func TestFindingS9NoWayAroundByDots(t *testing.T) {
	p := project(t)
	ran := filepath.Join(p.dir, "ran")
	p.write("tools/acme/bash.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\ntouch "+ran+"\n")
	p.sign("tool:acme/bash")
	internal := rye.Program("thread", "rye.execute.tool.rye.agent.threads.internal.*")
	for _, id := range []string{"rye/agent/threads/internal/../../../../acme/bash", "rye/agent/threads/internal/..%2f../acme/bash",
		"rye/agent/threads/internal//../acme/bash", "rye/agent/threads/internal/./bash", `rye\agent\threads\internal\..\bash`} {
		_, err := p.Execute(t.Context(), internal, rye.ExecuteRequest{Ref: rye.Ref{Kind: objects.Tool, ID: objects.ID(id)}}) // by hand: ParseRef refuses it
		if c := fault.CodeOf(err); c != fault.Usage && c != fault.NotFound && c != fault.Denied {
			t.Errorf("%s: %v (%s)", id, err, c)
		}
	}
	_, err := p.Execute(t.Context(), internal, rye.ExecuteRequest{Ref: refOf("tool:acme/bash")})
	wantCode(t, "what the caller does not hold", err, fault.Denied)
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran")
	}
}

// S12: config directories were excluded from verification, and read by tools.
func TestFindingS12ConfigDirectoriesAreVerified(t *testing.T) {
	p := project(t)
	needPython(t, p)
	p.write("tools/acme/pack/__init__.py", python(""))
	p.write("tools/acme/pack/main.py", strings.Replace(python("import os\nprint(open(os.path.join(os.path.dirname(__file__), 'config', 'rules.yaml')).read())\n"), `"acme"`, `"acme/pack"`, 1))
	p.write("tools/acme/pack/config/rules.yaml", "version: \"1.0.0\"\ntool_type: data\ncategory: acme/pack/config\ndescription: Rules\nconfig: {allow: none}\n")
	p.write("tools/acme/pack/__init__.py", strings.Replace(python(""), `"acme"`, `"acme/pack"`, 1))
	if _, err := p.Sign(t.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{rye.Target(filepath.Join(p.dir, ".ai/tools/acme/pack"))}}); err != nil {
		t.Fatal(err)
	}
	res, err := p.run("tool:acme/pack/main", nil)
	if err != nil || !strings.Contains(stdout(t, res), "allow: none") {
		t.Fatalf("%+v, %v", res, err)
	}
	p.write("tools/acme/pack/config/rules.yaml", "version: \"1.0.0\"\ntool_type: data\ncategory: acme/pack/config\ndescription: Rules\nconfig: {allow: all}\n")
	_, err = p.run("tool:acme/pack/main", nil)
	wantCode(t, "a changed file below config", err, fault.Integrity)
}

// S13: a dry run of an unsigned tool said that everything was in order.
func TestFindingS13DryRunVerifies(t *testing.T) {
	p := project(t)
	p.write("tools/acme/x.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\ntrue\n")
	dry := func() (*rye.ExecuteResult, error) {
		return p.Execute(t.Context(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/x"), DryRun: true})
	}
	_, err := dry()
	wantCode(t, "unsigned", err, fault.Untrusted)
	p.sign("tool:acme/x")
	if res, err := dry(); err != nil || res.Status != "validation_passed" {
		t.Errorf("signed: %+v, %v", res, err)
	}
	p.write("tools/acme/x.sh", p.read("tools/acme/x.sh")+"id\n")
	_, err = dry()
	wantCode(t, "changed", err, fault.Integrity)
}

// S14: every tool got the whole environment, and no limits.
func TestFindingS14CleanEnvironmentAndLimits(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	t.Setenv("LD_PRELOAD", "")
	p := project(t)
	p.write("tools/acme/env.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\n"+
		"env | cut -d= -f1 | sort | tr '\\n' ' '; echo; ulimit -c; ulimit -n; head -c 100000000 /dev/zero | tr '\\0' x\n")
	p.sign("tool:acme/env")
	res, err := p.run("tool:acme/env", nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(stdout(t, res), "\n", 4)
	for _, name := range strings.Fields(lines[0]) {
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG", "RYE_PARAMS", "RYE_PROJECT_PATH", "RYE_RUN", "PWD", "SHLVL", "_", "OLDPWD":
		default:
			t.Errorf("variable %s reached the tool", name)
		}
	}
	if res.Metadata.Sandbox >= "S1" && (lines[1] != "0" || lines[2] != "1024") {
		t.Errorf("limits %q", lines[1:3])
	}
	if !res.Metadata.Truncated || len(lines[3]) > 5<<20 {
		t.Errorf("kept %d bytes of output", len(lines[3]))
	}
}

// Row 12: node tools, .sh tools and stubs of MCP servers could not run: no metadata,
// no arguments, a path that did not exist. Stubs are made where MCP servers are
// managed; here it is that every runtime of the library runs its tool with its
// parameters.
func TestRow12EveryRuntimeRunsItsTool(t *testing.T) {
	hash := "# version: 1.0.0\n# executor_id: rye/core/runtimes/%s\n# category: acme\n# description: Greet\n# config_schema: {type: object, properties: {name: {type: string}}}\n"
	slash := strings.ReplaceAll(hash, "# ", "// ")
	for name, tc := range map[string]struct{ needs, file, text string }{
		"bash": {"bash", "bash.sh", "#!/usr/bin/env bash\n" + fmt.Sprintf(hash, "bash_runtime") + `echo "{\"hello\": \"$RYE_PARAM_NAME\"}"`},
		"sh":   {"sh", "sh.sh", "#!/bin/sh\n" + fmt.Sprintf(hash, "sh_runtime") + `echo "{\"hello\": \"$RYE_PARAM_NAME\"}"`},
		"node": {"node", "node.mjs", fmt.Sprintf(slash, "node_runtime") + `console.log(JSON.stringify({hello: JSON.parse(process.argv[2]).name}))`},
		"yaml": {"bash", "yaml.yaml", "version: \"1.0.0\"\ntool_type: shell\nexecutor_id: rye/core/runtimes/bash_runtime\ncategory: acme\ndescription: Greet\n" +
			"config_schema: {type: object, properties: {name: {type: string}}}\nconfig:\n  command: |\n    echo \"{\\\"hello\\\": \\\"$RYE_PARAM_NAME\\\"}\"\n"},
		"script":   {"python3", "script.py", python("import json, sys\nprint(json.dumps({'hello': json.loads(sys.argv[sys.argv.index('--params') + 1])['name']}))\n")},
		"function": {"python3", "function.py", strings.Replace(python("def execute(params, project_path):\n    return {'hello': params['name']}\n"), "script_runtime", "function_runtime", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(tc.needs); err != nil {
				t.Skip("no " + tc.needs)
			}
			p := project(t)
			p.write("tools/acme/"+tc.file, tc.text+"\n")
			ref := "tool:acme/" + strings.TrimSuffix(tc.file, filepath.Ext(tc.file))
			p.sign(rye.Target(ref))
			res, err := p.run(ref, map[string]any{"name": "ann"})
			var data struct{ Hello string }
			if err == nil {
				json.Unmarshal(res.Data, &data)
			}
			if err != nil || data.Hello != "ann" {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// Row 14: documented and absent were, among others, orphan detection, child
// policies, concurrency caps, key revocation and a command line. What is about
// threads belongs to them; here is what execution does of it.
func TestRow14WhatWasOnlyDocumented(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	p := project(t)
	p.write("tools/acme/x.sh", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# category: acme\n# description: x\ntrue\n")
	p.sign("tool:acme/x")
	t.Run("a caller's policy", func(t *testing.T) {
		os.WriteFile(filepath.Join(p.o.ConfigDir, workspace.PolicyFile), []byte("policy: 1\ncallers: {child: [rye.search.*]}\n"), 0o600)
		defer os.Remove(filepath.Join(p.o.ConfigDir, workspace.PolicyFile))
		_, err := p.Execute(t.Context(), rye.Program("child", "rye.execute.*"), rye.ExecuteRequest{Ref: refOf("tool:acme/x")})
		wantCode(t, "a child beyond its policy", err, fault.Denied)
	})
	t.Run("key revocation", func(t *testing.T) {
		found, err := p.Show(t.Context(), rye.Terminal(), rye.ShowRequest{Ref: refOf("tool:acme/x"), All: false})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Trust().Deny(t.Context(), rye.Terminal(), rye.TrustDenyRequest{Subject: found[0].Signer, Reason: "lost"}); err != nil {
			t.Fatal(err)
		}
		_, err = p.run("tool:acme/x", nil)
		if c := fault.CodeOf(err); c != fault.Revoked && c != fault.Untrusted {
			t.Errorf("a denied key: %v (%s)", err, c)
		}
	})
}

// Row 15: the first project of a long-lived server decided for all others, and an
// order that changed from start to start decided which file was meant.
func TestRow15ProjectsOfOneProcessAreApart(t *testing.T) {
	testkit.NeedProgram(t, "bash")
	say := func(text string) string {
		return "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: acme/shell\n# category: acme\n# description: x\necho " + text + " \"$1\"\n"
	}
	runtime := func(arg string) string {
		return "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: acme\ndescription: A shell\n" +
			"env_config: {interpreter: {type: system_binary, binary: bash, var: RYE_BASH}}\nconfig: {command: \"${RYE_BASH}\", args: [\"{tool_path}\", " + arg + "]}\n"
	}
	var all []*person
	for i := range 3 {
		p := project(t)
		p.write("tools/acme/x.sh", say(fmt.Sprint("project", i)))
		p.write("tools/acme/shell.yaml", runtime(fmt.Sprint("arg", i)))
		p.sign("tool:acme/x", "tool:acme/shell")
		all = append(all, p)
	}
	for round := range 3 {
		for i, p := range all {
			res, err := p.run("tool:acme/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := strings.TrimSpace(stdout(t, res)), fmt.Sprintf("project%d arg%d", i, i); got != want {
				t.Errorf("round %d: %q, want %q", round, got, want)
			}
		}
	}
	// Two files of one id: always the same answer, and never a guess.
	p := all[0]
	p.write("tools/acme/x.py", python(""))
	for range 5 {
		_, err := p.Execute(context.Background(), rye.Terminal(), rye.ExecuteRequest{Ref: refOf("tool:acme/x")})
		wantCode(t, "two files of one id", err, fault.Conflict)
	}
}
