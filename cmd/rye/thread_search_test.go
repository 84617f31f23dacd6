package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// searches is a call of a thread's model that looks for turns.
func searches(query, scope string) map[string]any {
	return map[string]any{"name": "rye_search", "args": map[string]any{"query": query, "scope": scope}}
}

// turns searches transcripts as the person does, and returns "<thread> <turn>" of each hit.
func (a *threadArena) turns(query string, flags ...string) (hits []string, stderr string) {
	a.t.Helper()
	out, stderr, exit := a.run(append([]string{"search", "--kind", "thread", query, "--json", "--limit", "100"}, flags...)...)
	if exit != 0 {
		a.t.Fatalf("search %s: exit %d %s", query, exit, stderr)
	}
	for line := range strings.Lines(out) {
		var h struct {
			Thread string `json:"thread_id"`
			Turn   int
		}
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			a.t.Fatalf("%q: %v", line, err)
		}
		hits = append(hits, fmt.Sprintf("%s %d", h.Thread, h.Turn))
	}
	return hits, stderr
}

func (a *threadArena) wantTurns(query string, want ...string) {
	a.t.Helper()
	if got, stderr := a.turns(query); strings.Join(got, "; ") != strings.Join(want, "; ") {
		a.t.Errorf("%s: %q, want %q\n%s", query, got, want, stderr)
	}
}

// TestThreadSearchesItself: a thread that may finds what it did in earlier turns, and of nobody
// else anything; without the capability, and for a tool of it, the search is refused.
func TestThreadSearchesItself(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("hello", []any{map[string]any{"say": "the word is swordfish"}})
	a.directive("other", "hello", "")
	a.start("other")
	a.script("looks", []any{
		map[string]any{"say": "I look at the parcel.", "calls": []any{searches("swordfish", "thread")}},
		map[string]any{"say": "And again.", "calls": []any{searches("parcel again", "thread"), searches("parcel", "thread.acme.*"), searches("parcel", "rye.search.thread.other.*")}},
		map[string]any{"say": "done"}})
	a.directive("looks", "looks", `<permissions><search>thread</search></permissions>`)
	r := a.start("looks")
	got := r.results()
	if len(got) != 4 || r.status != "completed" {
		t.Fatalf("%s %s\n%s", r.status, r.why, r.story())
	}
	if v := outputOf(t, got[0]); v["total"] != 0. || strings.Contains(fmt.Sprint(v), "the word is") {
		t.Errorf("of another thread: %v", v)
	}
	v := outputOf(t, got[1])
	hits := v["results"].([]any)
	first, _ := hits[0].(map[string]any)
	if len(hits) != 1 || first["thread_id"] != r.id || first["turn"] != 1. || first["status"] != "running" || !strings.Contains(fmt.Sprint(first["lines"]), "I look at the parcel.") {
		t.Errorf("of itself: %v", v)
	}
	if hint, _ := v["hint"].(map[string]any); hint["tool"] != "rye_execute" {
		t.Errorf("the hint is %v", v["hint"])
	}
	if v := outputOf(t, got[2]); v["total"] != 1. {
		t.Errorf("in its scope: %v", v)
	}
	if v := outputOf(t, got[3]); v["total"] != 0. {
		t.Errorf("in another scope: %v", v)
	}
	for name, c := range map[string]struct{ permissions, want string }{
		"none":  {"", "-"},
		"tools": {`<permissions><search>tool</search></permissions>`, "-"},
		"all":   {`<permissions><search>*</search></permissions>`, "x"},
		"part":  {`<permissions><search>thread.other.*</search></permissions>`, "x"},
	} {
		r, got := a.asked("may"+name, c.permissions, searches("parcel", "thread"))
		if r.allowed() != c.want {
			t.Errorf("%s: %s, want %s: %v", name, r.allowed(), c.want, got)
		} else if c.want == "x" && outputOf(t, got[0])["total"] != 0. {
			t.Errorf("%s: %v", name, got)
		}
	}
	a.tool("asks", "rye: [rye.search.*]", "rye search --kind thread parcel --json 2>&1; echo \"exit $?\"\n")
	r, got = a.asked("tooled", `<permissions><execute><tool>acme.asks</tool></execute><search>*</search></permissions>`, executes("tool", "acme/asks", map[string]any{}))
	if text := fmt.Sprint(got); !strings.Contains(text, "exit 16") || strings.Contains(text, "I look at the parcel") {
		t.Errorf("a tool of a thread: %s %v", r.status, text)
	}
	if out, stderr, _ := a.run("execute", "tool:acme/asks", "--yes"); !strings.Contains(out, "exit 16") || strings.Contains(out, "I look at the parcel") {
		t.Errorf("a tool that a person runs: %s%s", out, stderr)
	}
}

// TestClientSearchesItsThreads: an MCP client finds turns of threads that it started, and no others.
func TestClientSearchesItsThreads(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("one", []any{map[string]any{"say": "one swordfish"}})
	a.directive("one", "one", "")
	persons := a.start("one")
	a.h.lists("test")
	s, _ := a.h.connect(&mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
	}})
	for _, q := range []map[string]any{{"query": "swordfish", "item_type": "thread"}, {"query": "*", "scope": "thread"}, {"query": "thread:" + persons.id, "item_type": "thread"}} {
		if got, failed := call(t, s, "search", q); failed || got["total"] != 0. {
			t.Errorf("a client that started nothing finds %v", got)
		}
	}
	got, _ := call(t, s, "execute", map[string]any{"item_type": "directive", "item_id": "acme/one", "thread": true, "wait_seconds": 50})
	id := got["data"].(map[string]any)["thread_id"]
	got, failed := call(t, s, "search", map[string]any{"query": "swordfish", "item_type": "thread"})
	hits, _ := got["results"].([]any)
	if failed || len(hits) == 0 || strings.Contains(fmt.Sprint(got), persons.id) {
		t.Fatalf("%v", got)
	}
	for _, h := range hits {
		if h := h.(map[string]any); h["type"] != "thread" || h["thread_id"] != id || h["status"] != "completed" || !strings.Contains(fmt.Sprint(h["lines"]), "one swordfish") {
			t.Errorf("%v", h)
		}
	}
	hint := got["hint"].(map[string]any)
	page, failed := call(t, s, hint["tool"].(string), hint["arguments"].(map[string]any))
	if raw, _ := json.Marshal(page); failed || !strings.Contains(string(raw), "one swordfish") {
		t.Errorf("the hint leads to %s", raw)
	}
	if hits, _ := a.turns("swordfish"); len(hits) < 2 || !strings.Contains(fmt.Sprint(hits), persons.id) || !strings.Contains(fmt.Sprint(hits), fmt.Sprint(id)) {
		t.Errorf("the person finds %v", hits)
	}
	if got, failed := call(t, s, "search", map[string]any{"query": "swordfish"}); failed || strings.Contains(fmt.Sprint(got), "thread_id") {
		t.Errorf("without the kind: %v", got)
	}
}

// TestSearchOfHostileThreads: what is wrong with a thread's directory costs the person who searches
// a line, and nothing of the others.
func TestSearchOfHostileThreads(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("one", []any{map[string]any{"say": "one swordfish"}, map[string]any{"say": "two"}})
	a.directive("one", "one", "")
	good, bad, unsigned, gone := a.start("one"), a.start("one"), a.start("one"), a.start("one")
	a.wantTurns("swordfish", gone.id+" 1", unsigned.id+" 1", bad.id+" 1", good.id+" 1")
	top := filepath.Join(filepath.Dir(strings.TrimSpace(a.h.rye("where", "record"))), "threads")

	file := filepath.Join(top, bad.id, "journal.jsonl")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, []byte(strings.Replace(string(raw), "one swordfish", "one trumpeter", 1)))
	description := filepath.Join(top, unsigned.id, "thread.json")
	signed, _ := os.ReadFile(description)
	write(description, []byte(strings.Replace(string(signed), "acme/one", "acme/two", 1)))
	hits, _ := a.turns("swordfish") // what is remembered of it is not what it says now
	if out, stderr, _ := a.run("search", "--kind", "thread", "swordfish"); strings.Contains(fmt.Sprint(hits, out), unsigned.id) || !strings.Contains(stderr, "a turn is left out") {
		t.Errorf("found %v\n%s", hits, stderr)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(top, unsigned.id, "journal.jsonl"), now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(top, gone.id)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		a.wantTurns("swordfish", good.id+" 1")
		_, stderr, _ := a.run("search", "--kind", "thread", "swordfish")
		for _, want := range []string{"thread " + bad.id + " is searched in part: damaged after record", "thread " + unsigned.id + " is not searched: "} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q is not said:\n%s", want, stderr)
			}
		}
		if hits, _ := a.turns("trumpeter"); len(hits) != 0 {
			t.Errorf("what was put into a journal is found: %v", hits)
		}
	}
	// Nobody's word but the journals': not the index's, not the table's, not those of the record.
	cache := filepath.Join(strings.TrimSpace(a.h.rye("where", "cache")), "search")
	err = filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			write(path, []byte("garbage"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	a.wantTurns("swordfish", good.id+" 1")
}

// TestSearchOfADeadThread: what a thread had done when its process was killed is found, and that it
// is interrupted.
func TestSearchOfADeadThread(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("slow", []any{map[string]any{"say": "the sousaphone", "calls": []any{searches("x", "tool")}}, map[string]any{"say": "late", "wait": "10m"}})
	a.directive("slow", "slow", `<permissions><search>tool</search></permissions>`)
	var info struct {
		ID  string `json:"thread_id"`
		Pid int    `json:"pid"`
	}
	if err := json.Unmarshal([]byte(a.h.rye("thread", "start", "directive:acme/slow", "--json")), &info); err != nil {
		t.Fatal(err)
	}
	r := &threadRun{id: info.ID}
	for range 400 {
		if a.read(r); r.count("turn_done") >= 2 {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	a.wantTurns("sousaphone AND status:running", info.ID+" 1")
	p, err := os.FindProcess(info.Pid)
	if err == nil {
		err = p.Signal(syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.run("thread", "wait", info.ID)
	a.wantTurns("sousaphone AND status:interrupted", info.ID+" 1")
	a.wantTurns("sousaphone AND status:running")
}

// TestSearchersAtOnce: several who search while threads run all find what is there, whoever builds
// the index.
func TestSearchersAtOnce(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	a.script("one", []any{map[string]any{"say": "one swordfish"}})
	a.directive("one", "one", "")
	ids := map[string]bool{a.start("one").id: true}
	var wg sync.WaitGroup
	for range 4 {
		before := len(ids)
		outs := make([]string, 3)
		for i := range outs {
			wg.Go(func() {
				cmd := a.h.command("search", "--kind", "thread", "swordfish", "--json", "--limit", "100")
				out, err := cmd.CombinedOutput()
				outs[i] = string(out)
				if err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		ids[a.start("one").id] = true
		wg.Wait()
		for _, out := range outs {
			if n := strings.Count(out, `"thread_id"`); n < before || n > before+1 {
				t.Errorf("%d found of %d:\n%s", n, before, out)
			}
		}
	}
}
