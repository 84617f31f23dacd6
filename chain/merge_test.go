package chain

import (
	"testing"

	"github.com/rye-os/rye/objects"
)

// TestConfigMergeOfRyeOS: each step by which RYE OS merges and fills a
// configuration, and what rye does there.
func TestConfigMergeOfRyeOS(t *testing.T) {
	w := newWorld(t)
	tool := func(name, arg string) *Plan {
		t.Helper()
		p, text := yamlTool("acme/"+name+"-rt", "rye/core/primitives/subprocess", `
config: {command: /bin/echo, args: [`+arg+`], env: {BASE: runtime, OVER: runtime}, cwd: /, map: {a: 1, b: 2}, word: runtime, plain: runtime}
env_config: {env: {NEAR: "runtime", DEF: "${NONE:-fallback}", GONE: "${NONE}", DIRTY: "clean"}}
`)
		w.add(objects.Project, p, text)
		p, text = yamlTool("acme/"+name, "acme/"+name+"-rt", `
config_schema: {type: object, properties: {p: {}, word: {}}}
config: {env: {OVER: tool, MINE: tool}, map: {b: 3}, timeout: 7}
env_config: {env: {NEAR: "tool"}}
`)
		w.add(objects.Project, p, text)
		return w.plan("acme/" + name)
	}
	for i, tc := range []struct{ row, arg, params, want string }{
		{"1 the primitive first, the tool last, a parameter before both", `"{word}"`, `{"word":"param"}`, "param"},
		{"1 a key that no parameter bears is the configuration's", `"{plain}"`, `{}`, "runtime"},
		{"1 shallow: the tool's mapping replaces the runtime's", `"x{map}"`, `{}`, `x{"b":3}`},
		{"1 params_json holds the parameters and no reserved name", `"{params_json}"`, `{"p":1}`, `{"p":1}`},
		{"2 ${NAME:-default}", `"${DEF}"`, `{}`, "fallback"},
		{"2 missing is empty", `"x${GONE}y"`, `{}`, "xy"},
		{"2 only upper-case names", `"x${lower}"`, `{}`, "x${lower}"},
		{"2 the nearest to the tool wins; RYE OS's primitive did", `"${NEAR}"`, `{}`, "tool"},
		{"2 no shell, so nothing is quoted", `"${DIRTY}"`, `{}`, "a b;$(id)"},
		{"3 unknown stays", `"x{nobody}"`, `{}`, "x{nobody}"},
		{"3 exactly {name} is one argument", `"{p}"`, `{"p":"a b"}`, "a b"},
		{"3 one pass: what is filled in is never looked at again", `"x{p}"`, `{"p":"{word} ${NEAR} {params_json}"}`, "x{word} ${NEAR} {params_json}"},
		{"5 nor by the primitive", `"--a={p}"`, `{"p":"${DIRTY}{p}"}`, "--a=${DIRTY}{p}"},
	} {
		plan := tool("t"+string(rune('a'+i)), tc.arg)
		in, _ := w.inputs(plan, tc.params)
		in.Vars = map[string]string{"DIRTY": "a b;$(id)"}
		c, err := plan.Call(in)
		if err != nil || len(c.Argv) != 2 || c.Argv[1] != tc.want {
			t.Errorf("%s: %q, %v, want %q", tc.row, c.Argv, err, tc.want)
			continue
		}
		if c.Argv[0] != "/bin/echo" || c.Dir != "/" || c.Env["BASE"] != "runtime" || c.Env["OVER"] != "tool" || c.Env["MINE"] != "tool" || c.Timeout.Seconds() != 7 {
			t.Errorf("%s: merged to %q in %s with %v, %s", tc.row, c.Argv, c.Dir, c.Env, c.Timeout)
		}
	}
}
