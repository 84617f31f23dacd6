package workspace_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust/token"
	"github.com/rye-os/rye/workspace"
)

// The clock of these tests begins at the beginning of 2026.
var year = [2]time.Time{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}

func machineKey() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32)) }

func threadBlock(thread string, do, deny []string) token.Block {
	return token.Block{ID: "b", Thread: thread, Project: "p", Audience: "rye", NotBefore: year[0], Expires: year[1], Do: do, Delegate: do, Deny: deny}
}

// mint gives a thread what is listed.
func mint(t testing.TB, do, deny []string) token.Grant {
	t.Helper()
	g, err := token.Mint(machineKey(), threadBlock("t1", do, deny), bytes.NewReader(bytes.Repeat([]byte{2}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// callerOf is the caller that a token makes of whoever holds its key.
func callerOf(t testing.TB, g token.Grant) rye.Caller {
	t.Helper()
	nonce := make([]byte, token.MinNonce)
	proof, err := g.Token.Prove(g.Key, nonce)
	if err != nil {
		t.Fatal(err)
	}
	all := g.Token.Blocks()
	last := all[len(all)-1]
	v, err := token.Verify(g.Token, token.Want{Root: func(k ed25519.PublicKey) bool { return k.Equal(machineKey().Public()) }, Now: year[0],
		Thread: last.Thread, Parent: last.Parent, Project: "p", Audience: "rye", Nonce: nonce, Proof: proof})
	if err != nil {
		t.Fatal(err)
	}
	return rye.Thread(v)
}

func thread(t testing.TB, do, deny []string) rye.Caller { return callerOf(t, mint(t, do, deny)) }

// expiring is a thread whose time is over when the clock of these tests begins.
type expiring struct{ rye.ThreadToken }

func (expiring) Expires() time.Time { return year[0] }

func (expiring) Thread() string { return "t1" }
func (expiring) Parent() string { return "" }
func (expiring) Do() []string   { return []string{"rye.*"} }
func (expiring) Deny() []string { return nil }

func TestThreadIsNobodyElse(t *testing.T) {
	if c := rye.Thread(token.Verified{}); !c.IsZero() {
		t.Errorf("a token that was not verified makes the caller %q", c.Name())
	}
	if c := rye.Thread(nil); !c.IsZero() {
		t.Errorf("no token makes the caller %q", c.Name())
	}
	c := thread(t, []string{"rye.*"}, []string{"rye.sign.*"})
	if c.Name() != "thread" || c.Thread() != "t1" || c.Who() != "thread t1" || c.IsPerson() || c.IsInside() || c.IsZero() {
		t.Errorf("the thread is %+v", c)
	}
	if got := c.Denied(); !slices.Equal(got, []string{"rye.sign.*"}) {
		t.Errorf("Denied() = %q", got)
	}
	for _, other := range []rye.Caller{rye.Terminal(), rye.Client(), rye.Inside(), rye.Program("thread", "rye.*")} {
		if other.Thread() != "" || other.Denied() != nil || other.Who() != other.Name() {
			t.Errorf("%s is the thread %q", other.Name(), other.Thread())
		}
	}
}

// What is done with threads takes capabilities of its own.
func TestMay(t *testing.T) {
	now := year[0].Add(time.Hour)
	for _, tc := range []struct {
		name string
		c    rye.Caller
		verb string
		want fault.Code
	}{
		{"a person", rye.Terminal(), "thread.start", ""},
		{"a client", rye.Client(), "thread.start", ""},
		{"a client", rye.Client(), "thread.send", fault.Denied},
		{"a rye within a run", rye.Inside(), "thread.start", fault.Denied},
		{"a program that may", rye.Program("robot", "rye.thread.start"), "thread.start", ""},
		{"a program that may something else", rye.Program("robot", "rye.thread.list"), "thread.start", fault.Denied},
		{"nobody", rye.Caller{}, "thread.start", fault.Denied},
		{"a thread that declares nothing of it", thread(t, []string{"rye.execute.*"}, nil), "thread.start", fault.Denied},
		{"a thread that declares it", thread(t, []string{"rye.thread.start"}, nil), "thread.start", ""},
		{"a thread that declares all of it", thread(t, []string{"rye.thread.*"}, nil), "thread.send", ""},
		{"a thread that is denied it", thread(t, []string{"rye.thread.*"}, []string{"rye.thread.start"}), "thread.start", fault.Denied},
		{"a thread that declares everything", thread(t, []string{"rye.*"}, nil), "trust.allow", fault.Denied},
		{"a thread that expired", rye.Thread(expiring{}), "thread.start", fault.Denied},
		{"a program with a pattern of verbs", rye.Program("robot", "rye.key.*"), "key.list", fault.Malformed},
	} {
		if err := tc.c.May(tc.verb, now); fault.CodeOf(err) != tc.want {
			t.Errorf("%s, %s: %v, want %q", tc.name, tc.verb, err, tc.want)
		}
	}
}

// kinds are a project with two items of each kind, of which threads shall not have one.
func kinds(t *testing.T) *person {
	p := project(t)
	for _, name := range []string{"greet", "secret"} {
		p.write("tools/acme/"+name+".sh", strings.Replace(greet, "hello", name, 1))
		p.write("knowledge/acme/"+name+".md", "---\nname: "+name+"\ntitle: T\nversion: 1.0.0\nentry_type: reference\ncategory: acme\nauthor: ann\ncreated_at: 2026-01-02T03:04:05Z\ntags: [a]\n---\nText.\n")
		p.write("directives/acme/"+name+".md", "---\nname: "+name+"\nversion: 1.0.0\ndescription: Do it.\ncategory: acme\nauthor: ann\n---\nDo it.\n")
		p.write("config/acme/"+name+".yaml", "version: 1.0.0\ncategory: acme\nlimit: 1\n")
		for _, k := range objects.Kinds {
			p.sign(rye.Target(string(k) + ":acme/" + name))
		}
	}
	p.asks = nil
	return p
}

// tryAll does all that may be done to an item, and returns how each went.
func tryAll(t *testing.T, p *person, c rye.Caller, ref rye.Ref) map[string]error {
	t.Helper()
	all := map[string]error{}
	_, all["load"] = p.Load(t.Context(), c, rye.LoadRequest{Ref: ref})
	_, all["execute"] = p.Execute(t.Context(), c, rye.ExecuteRequest{Ref: ref})
	_, all["sign"] = p.Sign(t.Context(), c, rye.SignRequest{Targets: []rye.Target{rye.Target(ref.String())}})
	res, err := p.Search(t.Context(), c, rye.SearchRequest{Space: "project"})
	if err == nil && !slices.ContainsFunc(res.Results, func(h rye.Hit) bool { return h.Ref == ref.String() }) {
		err = fault.New(fault.Denied, "it is not found")
	}
	all["search"] = err
	return all
}

func TestDenialsOfAThreadWin(t *testing.T) {
	p := kinds(t)
	for _, k := range objects.Kinds {
		for _, tc := range []struct {
			name     string
			do, deny []string
			greet    bool // may use that one
		}{
			{"nothing declared", nil, nil, false},
			{"one denied within everything", []string{"rye.*"}, []string{"rye.*." + string(k) + ".acme.secret"}, true},
			{"one denied that is held by name", []string{"rye.*." + string(k) + ".acme.secret", "rye.*.acme.greet"}, []string{"rye.*secret"}, true},
			{"everything held and denied", []string{"rye.*"}, []string{"rye.*"}, false},
			{"what is held is something else", []string{"rye.*.tool.acme.sec", "rye.*.tool.acmeevil.*"}, nil, false},
		} {
			c := thread(t, tc.do, tc.deny)
			for _, name := range []string{"greet", "secret"} {
				for verb, err := range tryAll(t, p, c, rye.Ref{Kind: k, ID: objects.ID("acme/" + name)}) {
					if verb == "execute" && k == objects.Config && tc.greet && name == "greet" {
						continue // nobody executes a configuration
					}
					if may := tc.greet && name == "greet"; may == fault.Is(err, fault.Denied) || may && err != nil {
						t.Errorf("%s: %s %s:acme/%s: %v", tc.name, verb, k, name, err)
					}
				}
			}
		}
	}
	if len(p.asks) != 0 {
		t.Errorf("asked: %+v", p.asks)
	}
}

// A name that leads elsewhere is no name, whatever it begins with.
func TestCrookedNamesPassNoGate(t *testing.T) {
	p := kinds(t)
	for _, id := range []objects.ID{
		"rye/agent/threads/internal/../../../bash/bash", "rye/agent/threads/internal/../../../../acme/secret", "acme/../acme/secret", "acme//secret",
		"./acme/secret", "acme/./secret", "acme/secret/", "/acme/secret", "acme.secret", "acme/secret.sh", "ACME/secret", "acme/Secret", "acme\\secret", "acme/secret\x00", "acme/*", "", "..",
	} {
		for name, c := range map[string]rye.Caller{
			"of the original's exempt prefix": thread(t, []string{"rye.*.tool.rye.agent.threads.*"}, nil),
			"denied the one item":             thread(t, []string{"rye.*"}, []string{"rye.*.tool.acme.secret", "rye.*.rye.bash.*"}),
		} {
			for verb, err := range tryAll(t, p, c, rye.Ref{Kind: objects.Tool, ID: id}) {
				if err == nil {
					t.Errorf("%s %q by a thread %s: done", verb, id, name)
				}
			}
		}
	}
}

// What a parent may not delegate a child has not, whatever it asks for and writes.
func TestAChildIsNeverWider(t *testing.T) {
	p := kinds(t)
	g := mint(t, []string{"rye.execute.tool.acme.greet", "rye.search.tool.acme.greet"}, nil)
	asked := threadBlock("t2", []string{"rye.*"}, nil)
	asked.Parent = "t1"
	child, err := g.Token.Narrow(g.Key, asked, bytes.NewReader(bytes.Repeat([]byte{3}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if len(child.Taken) == 0 {
		t.Error("nobody is told what it does not get")
	}
	c := callerOf(t, child)
	if c.Thread() != "t2" || c.Parent() != "t1" {
		t.Errorf("the child is %s, of %s", c.Who(), c.Parent())
	}
	for verb, err := range tryAll(t, p, c, refOf("tool:acme/secret")) {
		wantCode(t, verb+" by a child", err, fault.Denied)
	}
	got := tryAll(t, p, c, refOf("tool:acme/greet"))
	if got["execute"] != nil || got["search"] != nil || !fault.Is(got["load"], fault.Denied) || !fault.Is(got["sign"], fault.Denied) {
		t.Errorf("what its parent delegates: %v", got)
	}
	wide := bytes.Replace(child.Token.Encode(), []byte(`"do":["rye.execute.tool.acme.greet"`), []byte(`"do":["rye.*","rye.execute.tool.acme.greet"`), 1)
	forged, err := token.Parse(wide)
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.Verify(forged, token.Want{Root: func(ed25519.PublicKey) bool { return true }, Now: year[0], Thread: "t1", Project: "p", Audience: "rye"})
	wantCode(t, "a token that was written wider", err, fault.Integrity)
	if !rye.Thread(v).IsZero() {
		t.Error("it makes a caller")
	}
}

// A thread is at most as free as an MCP client: what a client is asked about, or narrowed by,
// so is a thread.
func TestAThreadIsAsFreeAsAClient(t *testing.T) {
	everything := []string{"rye.*"}
	t.Run("the policy's callers", func(t *testing.T) {
		for _, name := range []string{"mcp", "thread"} {
			p := kinds(t)
			policyOf(t, p, "callers: {"+name+": [rye.load.*, rye.search.knowledge]}\n")
			got := tryAll(t, p, thread(t, everything, nil), refOf("tool:acme/greet"))
			if got["load"] != nil || !fault.Is(got["execute"], fault.Denied) || !fault.Is(got["sign"], fault.Denied) || !fault.Is(got["search"], fault.Denied) {
				t.Errorf("callers.%s does not narrow a thread: %v", name, got)
			}
		}
		p := kinds(t)
		policyOf(t, p, "callers: {mcp: [rye.load.*]}\n")
		_, err := p.Search(t.Context(), rye.Inside(), rye.SearchRequest{})
		wantCode(t, "search by a rye within a run that a client may have started", err, fault.Denied)
	})
	t.Run("secrets", func(t *testing.T) {
		p := greeter(t)
		p.yes = false
		raw, err := json.Marshal(map[string]string{"name": ".env"})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []rye.Caller{rye.Client(), thread(t, everything, nil)} {
			_, err := p.Execute(t.Context(), c, rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), Params: raw})
			wantCode(t, "a secret's name, by "+c.Who(), err, fault.Denied)
		}
		if len(p.asks) != 2 || !slices.Contains(p.asks[1].Lines, "asked by     thread t1") {
			t.Errorf("asked: %+v", p.asks)
		}
	})
	t.Run("hosts", func(t *testing.T) {
		var seen atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
		defer srv.Close()
		p := project(t)
		policyOf(t, p, "net: {allow: [127.0.0.1]}\n")
		p.write("tools/acme/get.yaml", `version: 1.0.0
tool_type: http
executor_id: rye/core/primitives/http_client
category: acme
description: Get a page.
needs: {net: true}
config_schema: {type: object, properties: {url: {type: string}}}
config: {url: "{url}"}
`)
		p.sign("tool:acme/get")
		p.yes, p.asks = false, nil
		raw, err := json.Marshal(map[string]string{"url": srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range []rye.Caller{rye.Client(), thread(t, everything, nil)} {
			_, err := p.Execute(t.Context(), c, rye.ExecuteRequest{Ref: refOf("tool:acme/get"), Params: raw})
			wantCode(t, "a host that nobody agreed to, by "+c.Who(), err, fault.Denied)
			if len(p.asks) != i+1 || !strings.Contains(p.asks[i].Text, "a new host for this project") {
				t.Errorf("%s was asked %+v", c.Who(), p.asks)
			}
		}
		if seen.Load() != 0 {
			t.Error("a request was sent")
		}
	})
	t.Run("children", func(t *testing.T) {
		p := greeter(t)
		p.yes = false
		g := mint(t, everything, nil)
		kid, err := g.Token.Narrow(g.Key, threadBlock("t2", everything, nil), bytes.NewReader(bytes.Repeat([]byte{3}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		if got := tryAll(t, p, callerOf(t, g), refOf("tool:acme/greet"))["execute"]; got != nil {
			t.Errorf("a thread without a parent: %v", got)
		}
		_, err = p.Execute(t.Context(), callerOf(t, kid), rye.ExecuteRequest{Ref: refOf("tool:acme/greet")})
		wantCode(t, "t1 by a child, which sub_agent_policy asks about", err, fault.Denied)
		if len(p.asks) != 1 {
			t.Errorf("asked: %+v", p.asks)
		}
	})
}

func policyOf(t *testing.T, p *person, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.o.ConfigDir, "policy.yaml"), []byte("policy: 1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// One thread's questions push out no other's, a yes to one is none to the next, and what it
// is told is no command: it does not answer them.
func TestQuestionsOfThreadsAreApart(t *testing.T) {
	p := deaf(t)
	p.looks = true
	p.Workspace = workspace.Open(p.o)
	g := mint(t, []string{"rye.execute.*"}, nil)
	run := func(c rye.Caller, to string) error {
		raw, err := json.Marshal(map[string]string{"name": to})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Execute(t.Context(), c, rye.ExecuteRequest{Ref: refOf("tool:acme/greet"), Params: raw})
		return err
	}
	one := callerOf(t, g)
	b := threadBlock("t9", []string{"rye.execute.*"}, nil)
	o, err := token.Mint(machineKey(), b, bytes.NewReader(bytes.Repeat([]byte{4}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	other := callerOf(t, o)
	refused := run(one, "x")
	wantCode(t, "what is asked about", refused, fault.Denied)
	if h := fault.HintOf(refused); h.IsCommand() || !strings.Contains(h.String(), "a person must answer") {
		t.Errorf("the thread is told %q", h)
	}
	for i := range 33 {
		wantCode(t, "another's", run(other, fmt.Sprint(i)), fault.Denied)
	}
	var id string
	for _, q := range p.open() {
		if q.Caller == "thread t1" {
			id = q.ID
		}
	}
	if id == "" {
		t.Fatal("the question of the first was pushed out")
	}
	if _, err := p.Policy().Answer(t.Context(), one, rye.AnswerRequest{ID: id}); !fault.Is(err, fault.Denied) {
		t.Errorf("the thread answers its own question: %v", err)
	}
	if _, err := p.Policy().Answer(t.Context(), rye.Terminal(), rye.AnswerRequest{ID: id}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the same by another thread", run(other, "x"), fault.Denied)
	if err := run(one, "x"); err != nil {
		t.Errorf("after a yes: %v", err)
	}
}
