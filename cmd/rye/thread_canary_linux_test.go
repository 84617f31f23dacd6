package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecretCanary: a thread has a real key, and the host that it goes to repeats it wherever
// it can: in the words of the model, cut in the middle, in names and arguments, in headers and
// errors. The key is then in no file, no argument, no environment and on no screen.
func TestSecretCanary(t *testing.T) {
	t.Parallel()
	a := newThreadArena(t)
	m := newModelHost(t)
	a.h.env = append(a.h.env, "HOSTILE_KEY="+hostKey)
	a.binds("secrets: {HOSTILE_KEY: {hosts: [" + m.address() + "]}}\n")
	quoted, _ := json.Marshal(hostKey)
	inJSON := strings.Trim(string(quoted), `"`)
	held := make(chan struct{}) // the answer waits while the process is looked at
	looked := make(chan struct{})
	m.answer = func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("request-id", hostKey)
		w.Header().Set("X-Echo", hostKey)
		switch m.asked.Load() {
		case 1:
			if q.Header.Get("x-api-key") != hostKey {
				t.Errorf("the host got %q", q.Header.Get("x-api-key"))
			}
			close(held)
			<-looked
			var pieces []string
			for _, c := range hostKey {
				pieces = append(pieces, string(c))
			}
			pieces = append(pieces, "and ", hostKey[:7], hostKey[7:]+" and "+base64.StdEncoding.EncodeToString([]byte(hostKey)), " end")
			answers(w, pieces, []obj{{"id": hostKey, "name": "rye_execute", "raw": `{"item_type":"tool","item_id":"acme/echo","parameters":{"text":"` + inJSON + `"}}`},
				{"id": "2", "name": hostKey, "raw": "{}"}, {"id": "3", "name": "rye_search", "raw": `{"query":"` + inJSON + `","` + inJSON + `":1}`}}, 100, 50)
		case 2:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(529)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"overloaded_error","message":"your key %s is wrong"}}`, inJSON)
		case 3:
			w.Header().Set("Content-Type", "text/event-stream")
			event(w, "error", obj{"type": "error", "error": obj{"type": "overloaded_error", "message": "key " + hostKey}})
		default:
			w.WriteHeader(400)
			fmt.Fprintf(w, "<html>key %s", hostKey)
		}
	}
	a.tool("echo", "", "env; echo \"$1\"; tr '\\0' '\\n' < /proc/self/environ; cat\n")
	a.provider("echoing", m.config(nil))
	a.directive("canary", "echoing", `<permissions>*</permissions><limits turns="4" duration_seconds="20"/>`)
	started := a.h.rye("thread", "start", "directive:acme/canary", "--json")
	var info struct {
		ID  string `json:"thread_id"`
		Pid int    `json:"pid"`
	}
	if err := json.Unmarshal([]byte(started), &info); err != nil || info.Pid == 0 {
		t.Fatalf("%v: %s", err, started)
	}
	var shown, events bytes.Buffer
	follow := a.h.command("thread", "follow", info.ID)
	follow.Stdout, follow.Stderr = &shown, &shown
	records := a.h.command("thread", "follow", info.ID, "--events")
	records.Stdout, records.Stderr = &events, &events
	for _, c := range []*exec.Cmd{follow, records} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-held:
	case <-time.After(30 * time.Second):
		t.Error("the host was not asked")
		close(held)
	}
	hardened(t, info.Pid)
	close(looked)
	_ = follow.Wait()
	_ = records.Wait()
	r := &threadRun{id: info.ID}
	a.read(r)
	final := r.events[len(r.events)-1]
	t.Logf("%d records, the last is %s %v; %d bytes on the screen", len(r.events), final.Type, final.Payload, shown.Len())
	if final.Type != "thread_error" && final.Type != "thread_suspended" {
		t.Errorf("it ended otherwise: %s", r.story())
	}
	if !strings.Contains(shown.String(), "[secret]") || !strings.Contains(r.raw, "[secret]") {
		t.Errorf("nothing was blackened: %s", shown.String())
	}
	out, _, _ := a.run("thread", "show", info.ID)
	export, _, _ := a.run("thread", "export", info.ID)
	canonical, _, _ := a.run("thread", "export", info.ID, "--canonical")
	knowledge := a.h.rye("thread", "export", info.ID, "--knowledge", "acme/canary")
	entry, _ := os.ReadFile(filepath.Join(a.h.dir, ".ai/knowledge/acme/canary.md"))
	if !strings.Contains(string(entry), "[secret]") {
		t.Errorf("knowledge of it: %s%.2000s", knowledge, entry)
	}
	page := a.h.rye("execute", "tool:rye/agent/threads/read_transcript", "-p", "thread_id="+info.ID, "-p", "bytes:=48000")
	found := a.h.rye("execute", "tool:rye/agent/threads/search", "-p", "thread_id="+info.ID, "-p", "words=key")
	turns := a.h.rye("search", "--kind", "thread", "key secret overloaded", "--limit", "100")
	if !strings.Contains(turns, info.ID) {
		t.Errorf("the search among transcripts finds nothing: %s", turns)
	}
	if hits := a.h.rye("search", "--kind", "thread", "5517"); hits != "" {
		t.Errorf("the secret is found: %s", hits)
	}
	for name, text := range map[string]string{"search --kind thread": turns, "knowledge": string(entry), "read_transcript": page, "search": found, "follow": shown.String(), "follow --events": events.String(), "log": r.raw, "show": out, "export": export, "canonical": canonical, "start": started} {
		for _, form := range []string{hostKey, inJSON, base64.StdEncoding.EncodeToString([]byte(hostKey)), hostKey[3:14]} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows the secret: %.300q", name, text[max(0, strings.Index(text, form)-100):])
			}
		}
	}
	a.nowhere(hostKey)
	a.packed(hostKey)
}

// hardened looks at the process of a thread as another process of its user, or root, would.
func hardened(t *testing.T, pid int) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	for _, name := range []string{"cmdline", "environ"} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err == nil && bytes.Contains(raw, []byte(hostKey[3:14])) {
			t.Errorf("%s of the thread's process holds the secret", name)
		}
	}
	limits, err := os.ReadFile(filepath.Join(dir, "limits"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "Max core file size") && (f[4] != "0" || f[5] != "0") {
			t.Errorf("a core may be written: %s", line)
		}
	}
	// What is not dumpable belongs to root (proc(5)), whoever runs it; root sees no difference.
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(dir, "environ"), &st); err != nil || os.Getuid() != 0 && st.Uid != 0 {
		t.Errorf("its process can be traced: %v, owner %d", err, st.Uid)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte(hostKey[3:14])) {
			t.Errorf("%s holds the secret", path)
		}
	}
}

// packed looks into every object of the project's record.
func (a *threadArena) packed(secret string) {
	a.t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", a.h.store()}, args...)...).Output()
		if err != nil {
			a.t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	all := git("cat-file", "--batch-all-objects", "--batch")
	if !strings.Contains(all, "[secret]") || strings.Contains(all, secret) || strings.Contains(all, secret[3:14]) {
		a.t.Errorf("the record holds the secret, or nothing of the thread (%d bytes)", len(all))
	}
}
