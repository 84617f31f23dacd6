//go:build unix

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// calling is a person with tools that call rye back.
func calling(t *testing.T) *home {
	t.Helper()
	needBash(t)
	h := newHome(t)
	h.bash("step", "{}", "echo \"step [$RYE_PARAM_X] at ${RYE_CALL-nothing}\"\necho aside >&2\n")
	h.bash("fails", "{}", "echo broken >&2\nexit 3\n")
	return h
}

// bash writes and signs tool:acme/<name>, a script with these needs.
func (h *home) bash(name, needs, body string) {
	h.t.Helper()
	h.write(".ai/tools/acme/"+name+".sh", `#!/usr/bin/env bash
# version: 1.0.0
# tool_type: bash
# executor_id: rye/core/runtimes/bash_runtime
# category: acme
# description: A tool.
# config_schema: {type: object, properties: {x: {type: string}}}
# needs: `+needs+"\n"+body)
	h.rye("sign", "tool:acme/"+name)
}

// python is bash whose body is Python's; rye is there to be spoken to, line by line.
func (h *home) python(name, needs, body string) {
	h.t.Helper()
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		h.t.Skip(err)
	}
	h.bash(name, needs, "exec /usr/bin/python3 - <<'END'\n"+`import json, os, socket, sys, time
s = socket.socket(fileno=int(os.environ["RYE_CALL"]))
f = s.makefile("r")
hello = json.loads(f.readline())
def say(text): s.sendall(text if isinstance(text, bytes) else text.encode())
def hear():
    try: line = f.readline()
    except ConnectionResetError: line = ""
    return json.loads(line) if line else None
def call(verb, **params):
    try: say(json.dumps({"id": "1", "verb": verb, "params": params}) + "\n")
    except OSError: return None
    return hear()
def word(a): return "nothing" if a is None else a["error"]["code"] if "error" in a else "ok"
`+body+"END\n")
}

const ofAcme = "{read: [.], rye: [rye.execute.tool.acme.*, rye.load.tool.acme.*, rye.search.*]}"

// TestToolCallsRye: within a tool that may, rye does what it does elsewhere, with the same
// output and the same status.
func TestToolCallsRye(t *testing.T) {
	t.Parallel()
	h := calling(t)
	for i, args := range []string{"execute tool:acme/step -p x=1", "execute tool:acme/step -p x=1 --json", "run tool acme/step", "execute tool:acme/fails", "execute tool:acme/step -p y=1",
		"execute tool:acme/none", "execute tool:acme/step --dry-run", "load tool:acme/step", "load tool:acme/none", "search step --scope tool.acme.*", "search"} {
		name := fmt.Sprintf("caller%d", i)
		h.bash(name, ofAcme, "rye "+args+"\necho \"status $?\" >&2\n")
		var out, errs, wantOut, wantErrs bytes.Buffer
		cmd := h.command("execute", "tool:acme/"+name)
		cmd.Stdout, cmd.Stderr = &out, &errs
		inside := cmd.Run()
		cmd = h.with("RYE_RUN=").command(strings.Fields(args)...)
		cmd.Stdout, cmd.Stderr = &wantOut, &wantErrs
		_ = cmd.Run()
		fmt.Fprintf(&wantErrs, "status %d\n", cmd.ProcessState.ExitCode())
		if strings.Contains(args, "--json") {
			for _, b := range []*bytes.Buffer{&out, &wantOut} { // times differ
				text := regexp.MustCompile(`"(duration_ms|timings|time|verdict)":(\{[^}]*\}|"[^"]*"|[0-9.]+)`).ReplaceAllString(b.String(), "")
				b.Reset()
				b.WriteString(text)
			}
		}
		if inside != nil || out.String() != wantOut.String() || said(errs.String()) != said(wantErrs.String()) {
			t.Errorf("rye %s: %v\n%s\n%s\n, elsewhere\n%s\n%s", args, inside, &out, said(errs.String()), &wantOut, said(wantErrs.String()))
		}
	}
}

// TestToolShowsAnItem: what rye show knows of an item, as far as who loads it knows it.
func TestToolShowsAnItem(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.bash("shows", ofAcme, "rye show tool:acme/step; rye show tool:acme/step --all; rye show tool:acme/none; exit 0\n")
	out, err := h.command("execute", "tool:acme/shows").CombinedOutput()
	if text := said(string(out)); err != nil || !strings.Contains(text, "tool:acme/step  signed\n  space        project\n") || strings.Count(text, "rye.show") != 1 || !strings.Contains(text, "acme/none: not found") {
		t.Errorf("%v\n%s", err, text)
	}
}

// said is standard error without what a machine says of its sandbox.
func said(text string) string {
	return regexp.MustCompile(`(?m)^rye: not limited here: .*\n`).ReplaceAllString(text, "")
}

// TestCallbackIsShown: a person sees what a tool calls rye for, wherever they see its needs.
func TestCallbackIsShown(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.bash("back", "{rye: [rye.execute.tool.acme.*]}", "true\n")
	for _, args := range []string{"show tool:acme/back", "execute tool:acme/back --dry-run", "policy explain tool:acme/back"} {
		if out := h.rye(strings.Fields(args)...); !strings.Contains(out, "net nothing; rye rye.execute.tool.acme.*") {
			t.Errorf("rye %s: %s", args, out)
		}
	}
}

// TestToolCallsRyeAtOnce: processes of one tool share the connection, and one that dies within
// a call is in nobody's way.
func TestToolCallsRyeAtOnce(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.bash("many", ofAcme, `printf '{"id":"half","verb":"exe' >&"$RYE_CALL"
printf '\n{"id":"late","verb":"execute","params":{"item_type":"tool","item_id":"acme/step","parameters":{"x":"unread"}}}\n' >&"$RYE_CALL"
for i in 1 2 3 4 5 6; do rye run tool:acme/step -p x=$i & done
wait
`)
	out := h.rye("execute", "tool:acme/many")
	for i := 1; i <= 6; i++ {
		if strings.Count(out, fmt.Sprintf("step [%d] at nothing\n", i)) != 1 {
			t.Errorf("%d: %s", i, out)
		}
	}
}

// TestCallbackExample runs the program of docs/format/callback.md.
func TestCallbackExample(t *testing.T) {
	t.Parallel()
	h := calling(t)
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip(err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "format", "callback.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```python\n")
	text, _, ok := strings.Cut(text, "```\n")
	if !ok {
		t.Fatal("there is no program")
	}
	h.bash("example", ofAcme, "exec /usr/bin/python3 - <<'END'\n"+text+"END\n")
	want := "['rye.execute.tool.acme.*', 'rye.load.tool.acme.*', 'rye.search.*']\n{'return_code': 0, 'stderr': 'aside\\n', 'stdout': 'step [1] at nothing\\n'}\ndenied\n"
	if out := h.rye("execute", "tool:acme/example"); out != want {
		t.Errorf("%s, want %s", out, want)
	}
}

// TestCallbackNotDeclared: a tool that declares nothing is handed nothing, and a variable that
// it sets leads nowhere.
func TestCallbackNotDeclared(t *testing.T) {
	t.Parallel()
	h := calling(t)
	for name, needs := range map[string]string{"silent": "{sandbox: S1}", "other": "{read: [.]}", "empty": "{read: [.], rye: []}"} {
		h.bash(name, needs, `echo "at ${RYE_CALL-nothing}"
for fd in 3 4 5 6 7 8 9; do [ -S /proc/$$/fd/$fd ] && echo "socket $fd"; done
exec 3<>/dev/null
for at in 3 0 1 2 99 -1 x ""; do RYE_CALL=$at `+program("rye")+` execute tool:acme/step 2>/dev/null; done
exit 0
`)
		if out := h.rye("execute", "tool:acme/"+name); out != "at nothing\n" {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// callAttack is a tool that is not content with what it may.
type callAttack struct {
	name, needs, body string
	want              string // of its output; "" is eleven statuses, none of which is 0
}

func callAttacks() []callAttack {
	return []callAttack{
		{"more than it declares", "{rye: [rye.execute.tool.acme.step]}", `print(hello["may"], hello["denied"])
for verb, kind, id in [("execute", "tool", "acme/step"), ("execute", "tool", "acme/fails"), ("execute", "tool", "rye/bash/bash"), ("load", "tool", "acme/step"), ("load", "config", "rye/agent"), ("sign", "tool", "acme/step")]:
    print(verb, id, word(call(verb, item_type=kind, item_id=id)))
print("search", word(call("search", query="step")))
`, `['rye.execute.tool.acme.step'] []
execute acme/step ok
execute acme/fails denied
execute rye/bash/bash denied
load acme/step denied
load rye/agent denied
sign acme/step denied
search denied
`},
		{"more than it can have", "{rye: [rye.sign.tool.acme.*, rye.sign.*, rye.execute.tool.acme.*]}", `print(hello["may"], hello["denied"], repr(hello["token"]))
print(word(call("sign", item_type="tool", item_id="acme/step")))
`, "['rye.execute.tool.acme.*'] ['rye.sign.tool.acme.*', 'rye.sign.*'] ''\ndenied\n"},
		{"what is no verb", "{rye: [rye.execute.*, rye.load.*, rye.search.*, rye.sign.*]}", `for verb in ["thread.start", "thread", "policy.allow", "trust.pin", "key.new", "approve", "init", "", "EXECUTE", "execute "]:
    print(word(call(verb, item_type="tool", item_id="acme/step")), end=" ")
`, strings.Repeat("usage ", 10)},
		{"other commands", "{read: [.], rye: [rye.execute.*, rye.load.*, rye.search.*, rye.sign.*]}", `import subprocess
for args in ["thread start directive:acme/x", "policy allow tool:acme/step", "trust", "key new second", "approve 01", "lock", "list", "add x", "load tool:acme/step --to user", "sign --all", "mcp"]:
    r = subprocess.run(["rye"] + args.split(), pass_fds=[s.fileno()], stdin=subprocess.DEVNULL, capture_output=True)
    print(r.returncode, end=" ")
`, ""},
		{"lines that are none", ofAcme, `good = {"id": "g", "verb": "search", "params": {"query": "step"}}
for line in ["{", "[]", "null", "7", '"x"', "{}", '{"id":"a"}', '{"id":"a","verb":"search"}', '{"id":"a","verb":"search","params":[]}', '{"id":"a","verb":"search","params":{},"more":1}',
    '{"id":"a","id":"a","verb":"search","params":{}}', '{"id":"a","verb":"search","params":{"query":"a","query":"b"}}', '{"id":"a","verb":"search","params":{"QUERY":"a"}}', '{"id":7,"verb":"search","params":{}}',
    '{"id":"","verb":"search","params":{}}', '{"id":"a b","verb":"search","params":{}}', '{"id":"' + 65 * "a" + '","verb":"search","params":{}}', '{"id":"a","verb":"execute","params":{"item_type":"tool"}}',
    '{"id":"a","verb":"execute","params":{"item_type":"tool","item_id":"../../etc/passwd"}}', '{"id":"a","verb":"execute","params":{"item_type":"tool","item_id":"acme/step","thread":true}}',
    '{"id":"a","verb":"execute","params":{"item_type":"tool","item_id":"acme/step","pins":{}}}', '{"id":"a","verb":"load","params":{"item_type":"tool","item_id":"acme/step","destination":"user"}}',
    '{"id":"a","verb":"search","params":{"limit":-1}}', '{"id":"a","verb":"search","params":{"limit":1e99}}', 100000 * "[" , b"\xff\xfe", b"\x00\x00", '{"id":"a","verb":"search","params":{}} {}']:
    say(line); say("\n")
    a = hear()
    if a is None or a["error"]["code"] not in ("malformed", "usage", "limit"): print(line[:60], a)
    say("\n\n" + json.dumps(good) + "\n")
    a = hear()
    if a is None or a["id"] != "g" or "result" not in a: print("after", line[:60], a)
print("over")
`, "over\n"},
		{"too many", ofAcme, `got = [word(call("none")) for _ in range(260)]
print(got.count("usage"), got[256:])
`, "256 ['limit', 'nothing', 'nothing', 'nothing']\n"},
		{"too many, without waiting", ofAcme, `import threading
def push():
    try:
        for _ in range(100000): say('{"id":"a","verb":"none","params":{}}\n')
    except OSError: pass
threading.Thread(target=push, daemon=True).start()
n = 0
while hear(): n += 1
print(n)
`, "257\n"},
		{"nothing but newlines", ofAcme, `try:
    for _ in range(10000): say(1000 * "\n")
    print("took all")
except OSError: print("closed", hear())
`, "closed None\n"},
		{"a line of a gigabyte", ofAcme, `try:
    for _ in range(1024): say(1048576 * "x")
    print("took all")
except OSError: print("closed")
a = hear()
print(word(a), word(hear()))
`, "closed\nlimit nothing\n"},
		{"half a line", ofAcme, `say('{"id":"a","verb":"exec')
print("over")
`, "over\n"},
		{"hearing nothing", ofAcme, `for i in range(200): say(json.dumps({"id": str(i), "verb": "load", "params": {"item_type": "tool", "item_id": "acme/step"}}) + "\n")
print("over")
`, "over\n"},
		{"closing at once", ofAcme, `s.shutdown(socket.SHUT_RDWR)
print("over")
`, "over\n"},
		{"descriptors as words", ofAcme, `import array
s.sendmsg([b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", 200 * [1]))])
print(word(call("search", query="step")))
`, "ok\n"},
		{"one that calls itself", ofAcme, `a = call("execute", item_type="tool", item_id="acme/attack", parameters={"x": "1"})
print("%s;" % word(a), a.get("result", {}).get("data", {}).get("stdout", a.get("error", {}).get("message")))
`, "ok; ok; ok; ok; limit; execute tool:acme/attack: 6 nested tool calls, at most 5 allowed\n\n\n\n\n"},
	}
}

// TestHostileCallers: what a tool does with the connection costs the run, and nobody else.
func TestHostileCallers(t *testing.T) {
	t.Parallel()
	h := calling(t)
	for _, a := range callAttacks() {
		t.Run(a.name, func(t *testing.T) {
			h.t = t
			h.python("attack", a.needs, a.body)
			cmd := h.command("execute", "tool:acme/attack")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			begun := time.Now()
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; peak > 700<<10 && peak < 1<<40 { // before its start a process has what this one has
				t.Errorf("rye held %d KiB", peak)
			}
			if a.want == "" {
				if len(strings.Fields(string(out))) != 11 || strings.Contains(" "+string(out), " 0 ") {
					t.Errorf("statuses %s\n%s", out, stderr.String())
				}
			} else if string(out) != a.want {
				t.Errorf("%s\nwant %s\n%s", out, a.want, stderr.String())
			}
		})
	}
}

// TestCallbackEndsWithItsRun: nothing that a tool asked for goes on behind the tool, and a child
// that keeps the connection speaks to nobody.
func TestCallbackEndsWithItsRun(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.bash("slow", "{write: [.]}", "echo begun >begun\nsleep 30\necho ended >ended\n")
	h.python("leaves", "{read: [.], write: [.], rye: [rye.execute.tool.acme.*]}", `say('{"id":"a","verb":"execute","params":{"item_type":"tool","item_id":"acme/slow"}}\n')
while not os.path.exists("begun"): time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    time.sleep(1)
    try: say('{"id":"b","verb":"execute","params":{"item_type":"tool","item_id":"acme/step"}}\n')
    except OSError: os._exit(0)
    open("spoke", "w").close()
    os._exit(0)
print("left")
`)
	begun := time.Now()
	if out := h.rye("execute", "tool:acme/leaves"); out != "left\n" || time.Since(begun) > 15*time.Second {
		t.Errorf("%s after %s", out, time.Since(begun))
	}
	time.Sleep(1500 * time.Millisecond)
	for _, name := range []string{"ended", "spoke"} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if out, _ := exec.Command("pgrep", "-f", filepath.Join(h.dir, ".ai")).Output(); len(out) > 0 {
		t.Errorf("still there: %s", out)
	}
}

// TestCallbackOfAClient: a client's tool has what the client has, of what it declares.
func TestCallbackOfAClient(t *testing.T) {
	t.Parallel()
	h := calling(t)
	h.python("back", "{rye: [rye.execute.tool.acme.*, rye.sign.tool.acme.*]}", `print(hello["may"], hello["denied"], word(call("execute", item_type="tool", item_id="acme/step")), word(call("execute", item_type="tool", item_id="rye/bash/bash", parameters={"command": "id"})))
`)
	s, _ := h.connect(nil)
	got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/back"})
	if !strings.Contains(fmt.Sprint(got), "['rye.execute.tool.acme.*', 'rye.sign.tool.acme.*'] [] ok denied") {
		t.Errorf("%v", got)
	}
	path := filepath.Join(strings.TrimSpace(h.rye("where", "config")), "policy.yaml")
	if err := os.WriteFile(path, []byte("policy: 1\ncallers:\n  mcp: [rye.execute.tool.acme.back]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range []func() string{
		func() string {
			got, _ := call(t, s, "execute", map[string]any{"item_type": "tool", "item_id": "acme/back"})
			return fmt.Sprint(got)
		},
		func() string { return h.rye("execute", "tool:acme/back") },
	} {
		if got := run(); !strings.Contains(got, "denied denied") {
			t.Errorf("narrowed by the policy: %s", got)
		}
	}
}

// TestCallbackOfEveryVerb: no directory can declare every verb for its tools.
func TestCallbackOfEveryVerb(t *testing.T) {
	t.Parallel()
	h := calling(t)
	for _, needs := range []string{"rye.*", "rye.*.tool.acme.*", "rye.thread.start", "rye.key.new"} {
		h.write(".ai/tools/acme/every.sh", strings.Replace(attackTool, "# description", "# needs: {rye: ["+needs+"]}\n# description", 1))
		if out := h.fails(19, "sign", "tool:acme/every"); !strings.Contains(out, "rye: ") {
			t.Errorf("%s: %s", needs, out)
		}
	}
}
