package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// calledBack lists what tools asked of rye in a thread: the number, the verb and what it was about,
// and what came of it.
func (r *threadRun) calledBack() (all []string) {
	for _, e := range r.events {
		p := e.Payload
		switch e.Type {
		case "callback_start":
			all = append(all, fmt.Sprint(p["index"], " ", p["verb"], " ", p["item"]))
		case "callback_result":
			all = append(all, fmt.Sprint(p["index"], " ", p["code"]))
		}
	}
	return all
}

// threadCaller is an arena with tools that call rye back, and a model that runs each of them.
func threadCaller(t *testing.T, permissions string, tools map[string]string) (*threadArena, *threadRun) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no tool is handed a descriptor here")
	}
	a := newThreadArena(t)
	a.tool("step", "", "echo \"stepped at ${RYE_CALL-nothing}\"\n")
	a.tool("deny", "", "echo never\n")
	var turns []any
	for _, name := range sortedKeysOf(tools) {
		needs, body, _ := strings.Cut(tools[name], "\n")
		a.tool(name, needs, body)
		turns = append(turns, map[string]any{"say": "go", "calls": []any{executes("tool", "acme/"+name, map[string]any{})}})
	}
	a.script("model", append(turns, map[string]any{"say": "done"}))
	a.directive("calls", "model", permissions)
	return a, a.start("calls")
}

func sortedKeysOf(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const someTools = `<permissions><execute><tool>acme.step</tool><tool>acme.outer</tool><tool>acme.middle</tool></execute></permissions>`

// TestThreadToolCallsRye: a tool of a thread has what it declares of what the thread has, its
// own tools of that, and all of it is told, in order.
func TestThreadToolCallsRye(t *testing.T) {
	t.Parallel()
	const middle = `read: [.], rye: [rye.execute.tool.acme.*, rye.load.*]
read -r hello <&"$RYE_CALL"; echo "middle $hello"
rye run tool:acme/step; echo "status $?"
rye run tool:acme/outer 2>/dev/null; echo "status $?"
`
	const outer = `read: [.], rye: [rye.execute.tool.acme.step, rye.execute.tool.acme.deny, rye.execute.tool.acme.middle, rye.load.tool.acme.step]
[ "$RYE_PARAM_TEXT" ] && exit 0
read -r hello <&"$RYE_CALL"; echo "outer $hello"
rye run tool:acme/step; echo "status $?"
rye run tool:acme/deny 2>/dev/null; echo "status $?"
rye load tool:acme/step >/dev/null 2>&1; echo "status $?"
rye run tool:acme/middle; echo "status $?"
`
	a, r := threadCaller(t, someTools, map[string]string{"outer": outer})
	res := r.results()
	if len(res) != 1 || r.status != "completed" {
		t.Fatalf("%s\n%s", r.status, r.story())
	}
	// middle is not there yet: it was not signed when the thread began
	out := fmt.Sprint(res[0]["output"])
	if !strings.Contains(out, "stepped at nothing\nstatus 0\nstatus 16\nstatus 16\nstatus 3\n") {
		t.Errorf("%s\n%s", out, r.story())
	}
	a.tool("middle", strings.SplitN(middle, "\n", 2)[0], strings.SplitN(middle, "\n", 2)[1])
	r = a.start("calls")
	out = fmt.Sprint(r.results()[0]["output"])
	want := []string{"1 execute tool:acme/step", "1 ok", "2 execute tool:acme/deny", "2 denied", "3 load tool:acme/step", "3 denied",
		"4 execute tool:acme/middle", "4.1 execute tool:acme/step", "4.1 ok", "4.2 execute tool:acme/outer", "4.2 denied", "4 ok"}
	if got := r.calledBack(); !slices.Equal(got, want) {
		t.Errorf("asked %q\n%s", got, out)
	}
	first, second := helloIn(t, out, "outer "), helloIn(t, out, "middle ")
	if fmt.Sprint(first["may"], first["denied"]) != "[rye.execute.tool.acme.middle rye.execute.tool.acme.step] [rye.execute.tool.acme.deny rye.load.tool.acme.step]" {
		t.Errorf("outer: %v %v", first["may"], first["denied"])
	}
	if fmt.Sprint(second["may"], second["denied"]) != "[rye.execute.tool.acme.middle rye.execute.tool.acme.step] [rye.execute.tool.acme.* rye.load.*]" {
		t.Errorf("middle: %v %v", second["may"], second["denied"])
	}
	for i, hello := range []map[string]any{first, second} {
		blocks := tokenBlocks(t, fmt.Sprint(hello["token"]))
		whose := []string{r.id, r.id + "/tool:acme/outer", r.id + "/tool:acme/outer/tool:acme/middle"}[:i+2]
		for j, b := range blocks {
			if len(blocks) != len(whose) || b["thread"] != whose[j] {
				t.Errorf("block %d of %d is of %v", j, len(blocks), b["thread"])
			}
		}
		last := blocks[len(blocks)-1]
		until, err := time.Parse(time.RFC3339, fmt.Sprint(last["expires"]))
		if err != nil || time.Until(until) > 10*time.Minute || !slices.Equal(list(last["do"]), list(last["delegate"])) {
			t.Errorf("its last block: %v, %v", last, err)
		}
	}
	if r.count("narrowed") != 2 {
		t.Errorf("%d records say what was taken away\n%s", r.count("narrowed"), r.story())
	}
	ordered(t, r)
	if shown := a.h.rye("thread", "log", r.id); !strings.Contains(shown, "  asks  4.1  execute tool:acme/step\n") || !strings.Contains(shown, "        failed: denied\n") {
		t.Errorf("thread log: %s", shown)
	}
	if canonical := a.h.rye("thread", "export", r.id, "--canonical"); strings.Contains(canonical, "callback") {
		t.Errorf("exported: %s", canonical)
	}
}

// list is a list of JSON's as texts.
func list(v any) (all []string) {
	for _, one := range v.([]any) {
		all = append(all, fmt.Sprint(one))
	}
	return all
}

// helloIn finds what rye said first to a tool, which printed it behind a word.
func helloIn(t *testing.T, out, word string) (hello map[string]any) {
	t.Helper()
	_, text, _ := strings.Cut(out, word+"{")
	text, _, _ = strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte("{"+text), &hello); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return hello
}

func tokenBlocks(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	var tok struct {
		Blocks []struct {
			Block map[string]any `json:"block"`
		} `json:"blocks"`
	}
	if err := json.Unmarshal([]byte(text), &tok); err != nil {
		t.Fatalf("token %s: %v", text, err)
	}
	for _, b := range tok.Blocks {
		all = append(all, b.Block)
	}
	return all
}

// ordered fails where a call of a tool does not lie between the start and the end of the call
// that it is in.
func ordered(t *testing.T, r *threadRun) {
	t.Helper()
	running := map[any]bool{}
	for _, e := range r.events {
		switch id := e.Payload["call_id"]; e.Type {
		case "tool_call_start":
			running[id] = true
		case "tool_call_result":
			running[id] = false
		case "callback_start", "callback_result":
			if !running[id] {
				t.Errorf("record %d: %s outside of call %v", e.Seq, e.Type, id)
			}
		}
	}
}

// TestThreadToolAsks: a question of a thread's tool names the tool and its thread, waits for
// nobody, and its answer is for that tool alone.
func TestThreadToolAsks(t *testing.T) {
	t.Parallel()
	a, r := threadCaller(t, "<permissions>*</permissions>", map[string]string{
		"asks": `read: [.], rye: [rye.execute.tool.acme.*, rye.sign.tool.acme.*]
rye run tool:acme/danger; echo "status $?"
rye sign tool:acme/step 2>&1; echo "status $?"
`, "danger": "read: [/etc]\necho risked\n"})
	var inner, own []string
	for _, e := range r.events {
		if q, ok := e.Payload["question"].(string); ok && e.Type == "callback_result" {
			inner = append(inner, q)
		} else if ok && e.Type == "approval_requested" {
			own = append(own, q)
		}
	}
	if len(inner) != 1 || len(own) != 1 || inner[0] == own[0] || strings.Contains(fmt.Sprint(r.results()[0]["output"]), "risked") {
		t.Fatalf("questions of the tool %v, of the thread %v\n%s", inner, own, r.story())
	}
	for id, by := range map[string]string{inner[0]: "thread " + r.id + "/tool:acme/asks", own[0]: "thread " + r.id} {
		if raw, _, _ := a.run("approve", "--json"); !strings.Contains(raw, `"id":"`+id+`"`) || !strings.Contains(raw, `"caller":"`+by+`"`) {
			t.Errorf("question %s is not asked by %s: %s", id, by, raw)
		}
	}
}

// TestThreadTokenIsNoKey: the text of a tool's token, in the hands of another tool, of another
// run, and of whoever reads the transcript, is nothing.
func TestThreadTokenIsNoKey(t *testing.T) {
	t.Parallel()
	a, r := threadCaller(t, someTools, map[string]string{"outer": `read: [.], write: [.], rye: [rye.execute.tool.acme.step]
read -r hello <&"$RYE_CALL"; echo "outer $hello"
[ -e stolen ] || echo "$hello" >stolen
printf '{"id":"a","token":%s,"verb":"execute","params":{"item_type":"tool","item_id":"acme/deny"}}\n' "$(cat stolen)" >&"$RYE_CALL"
read -r answer <&"$RYE_CALL"; echo "$answer"
cat stolen >&"$RYE_CALL"
read -r answer <&"$RYE_CALL"; echo "$answer"
`})
	for range 2 {
		out := fmt.Sprint(r.results()[0]["output"])
		if strings.Count(out, `"code":"malformed"`) != 2 || strings.Contains(out, "never") {
			t.Errorf("%s", out)
		}
		r = a.start("calls")
	}
	hello := helloIn(t, fmt.Sprint(r.results()[0]["output"]), "outer ")
	if token := fmt.Sprint(hello["token"]); len(token) < 500 || regexp.MustCompile(`"(holder|key|seed)"`).MatchString(token) {
		t.Errorf("the token: %s", token)
	}
}

// TestThreadToolIsPinned: what a tool of a thread calls is what the thread began with.
func TestThreadToolIsPinned(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	if runtime.GOOS == "windows" {
		t.Skip("no tool is handed a descriptor here")
	}
	a.tool("step", "", "echo first\n")
	step := a.h.read(".ai/tools/acme/step.sh")
	a.tool("step", "", "echo second\n")
	second := a.h.read(".ai/tools/acme/step.sh")
	a.h.write(".ai/tools/acme/step.sh", step)
	a.h.write("second", second)
	a.h.write("go", "")
	a.tool("outer", "read: [.], write: [.], rye: [rye.execute.tool.acme.*, rye.load.tool.acme.*]", `touch running
while [ -e go ]; do sleep 0.02; done
rye run tool:acme/step; echo "status $?"
rye load tool:acme/step; echo "status $?"
`)
	a.script("model", []any{map[string]any{"say": "go", "calls": []any{executes("tool", "acme/outer", map[string]any{})}}, map[string]any{"say": "done"}})
	a.directive("calls", "model", "<permissions>*</permissions>")
	done := make(chan *threadRun)
	go func() { done <- a.start("calls") }()
	for range 1000 {
		if _, err := os.Stat(filepath.Join(a.h.dir, "running")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	a.h.write(".ai/tools/acme/step.sh", second)
	os.Remove(filepath.Join(a.h.dir, "go"))
	r := <-done
	if out := fmt.Sprint(r.results()[0]["output"]); strings.Contains(out, "second") || strings.Count(out, "status 18") != 2 {
		t.Errorf("%s\n%s", out, r.story())
	}
}

// TestThreadToolIsKilled: a process that dies while its tool waits for what it asked leaves the
// model's call unknown; nothing is done twice.
func TestThreadToolIsKilled(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	if runtime.GOOS == "windows" {
		t.Skip("no tool is handed a descriptor here")
	}
	a.tool("slow", "write: [.]", "echo x >>marks\nsleep 20\necho over >>marks\n")
	a.tool("outer", "read: [.], rye: [rye.execute.tool.acme.slow]", "rye run tool:acme/slow\n")
	a.script("model", []any{map[string]any{"say": "go", "calls": []any{executes("tool", "acme/outer", map[string]any{})}}, map[string]any{"say": "done"}})
	a.directive("calls", "model", "<permissions>*</permissions>")
	out, stderr, exit := a.run("thread", "start", "directive:acme/calls", "--json")
	var info struct {
		ID  string `json:"thread_id"`
		Pid int    `json:"pid"`
	}
	if exit != 0 || json.Unmarshal([]byte(out), &info) != nil {
		t.Fatalf("%s%s", out, stderr)
	}
	marks := filepath.Join(a.h.dir, "marks")
	for range 1000 {
		if _, err := os.Stat(marks); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, err := os.FindProcess(info.Pid); err != nil || p.Kill() != nil {
		t.Fatalf("process %d: %v", info.Pid, err)
	}
	a.gone(info.ID)
	if _, stderr, exit := a.run("thread", "resume", info.ID); exit != 0 {
		t.Fatalf("resume: %s", stderr)
	}
	a.run("thread", "wait", info.ID, "--seconds", "30")
	r := &threadRun{id: info.ID}
	a.read(r)
	raw, _ := os.ReadFile(marks)
	if r.count("callback_start") != 1 || r.count("callback_result") != 0 || r.results()[0]["unknown"] != true || string(raw) != "x\n" {
		t.Errorf("marks %q\n%s", raw, r.story())
	}
}
