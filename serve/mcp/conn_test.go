package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func TestEnvelope(t *testing.T) {
	o := options(t, &verbs{})
	o.MaxMessage = 4096
	r := newRaw(t, o)
	const call = `"jsonrpc":"2.0","method":"tools/call","params":{"name":"load","arguments":{"item_type":"tool","item_id":"acme/hello"}}`
	for _, c := range []struct {
		line string
		code int // 0: no answer
		id   string
	}{
		{"hello", -32700, "null"},
		{"{", -32700, "null"},
		{"\xff\xfe", -32700, "null"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, "null"},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700, "null"},
		{strings.Repeat("[", 3000), -32700, "null"},

		{`"text"`, -32600, "null"}, {"7", -32600, "null"}, {"null", -32600, "null"}, {"[1,2]", -32600, "null"}, {"[]", -32600, "null"}, {"{}", -32600, "null"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, "null"},
		{strings.Repeat("[", 1500) + strings.Repeat("]", 1500), -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}}`, -32600, "null"},

		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 40) + `,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "1"},
		{`{"id":1,"method":"ping"}`, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, -32600, "1"},

		// What another reader in front could see otherwise.
		{`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/list"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/list"}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","Name":"execute"}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"execute"}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","name":"execute"}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","arguments":{},"Arguments":{"item_id":"a"}}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","argumentſ":{"item_id":"a"}}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","to\u212aen":1,"tas\u212a":1}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","arguments":{"item_id":"a","item_id":"b"}}}`, -32600, "null"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"Elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`, -32600, "null"},

		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, -32601, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}`, -32602, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"pad":"` + strings.Repeat("x", 5000) + `"}}`, -32600, "1"},
		{`{"method":"ping","params":{"id":5,"pad":"` + strings.Repeat(`\"id\":6,{`, 900) + `"},"jsonrpc":"2.0","id" : "last" }`, -32600, `"last"`},
		{`{"method":"ping","params":{"id":5,"pad":"` + strings.Repeat("x", 5000) + `"}}`, -32600, "null"},
		{`{"method":"ping","id":[5],"params":{"pad":"` + strings.Repeat("x", 5000) + `"}}`, -32600, "null"},

		{"", 0, ""}, {"   ", 0, ""}, {"\r", 0, ""},
		{`{"jsonrpc":"2.0","method":"no/such"}`, 0, ""},
		{`{"jsonrpc":"2.0","id":77,"result":{}}`, 0, ""},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, 0, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, 0, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`, 0, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, 0, ""},
	} {
		r.send(c.line)
		if c.code == 0 {
			continue
		}
		if m := r.receive(); m.Error == nil || m.Error.Code != c.code || string(m.ID) != c.id {
			t.Errorf("%.90q: id %s, %+v, want error %d for %s", c.line, m.ID, m.Error, c.code, c.id)
		}
	}
	for _, id := range []string{"1", "-7", `"a"`, `"\u0061\""`, "123456789012345678", `""`} { // 2^53 and more would be rounded
		r.send(`{"id":` + id + `,` + call + `}`)
		if m := r.receive(); string(m.ID) != id || m.Error != nil {
			t.Errorf("id %s: answered to %s, %+v", id, m.ID, m.Error)
		}
	}
	r.initialize("{}")
}

// FuzzEnvelope: a message that is accepted says the same to encoding/json, which folds case
// and takes the last of two; and mcp-go, which uses it, sees the method that was checked.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","arguments":{"a":[1,{"b":null}]}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a\"","result":{"action":"accept","content":{"Approve":true}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"Method":"ping","method" : "x"}`))
	f.Add([]byte(`[{"a":1}, [] ,"x"]`))
	f.Add([]byte(`[{"a":1,"a":2},{"b":1}]`)) // what is wrong with one says nothing of the next
	f.Fuzz(func(t *testing.T, raw []byte) {
		messages, ok := batchOf(raw)
		if ok {
			var same []json.RawMessage
			if err := json.Unmarshal(raw, &same); err != nil || len(messages) != min(len(same), maxBatch+1) {
				t.Fatalf("%q: %d messages, want %d (%v)", raw, len(messages), len(same), err)
			}
		}
		e, bad := parseEnvelope(raw)
		var seeker idSeeker
		seeker.see(raw)
		found := seeker.found()
		if bad != nil {
			return
		}
		var same struct {
			Method string
			ID     json.RawMessage
			Params struct{ Name string }
		}
		_ = json.Unmarshal(raw, &same)
		if same.Method != e.method || e.id != nil && string(same.ID) != string(e.id) {
			t.Errorf("%q: method %q, id %s; encoding/json sees %q, %s", raw, e.method, e.id, same.Method, same.ID)
		}
		if name := e.param("name"); name != same.Params.Name {
			t.Errorf("%q: name %q; encoding/json sees %q", raw, name, same.Params.Name)
		}
		if e.id != nil && found != nil && string(found) != string(e.id) {
			t.Errorf("%q: id %s, found %s", raw, e.id, found)
		}
	})
}

// endless is a line that does not end before size bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// TestTooLongTakesNoMemory: a line is passed over, however long it is.
func TestTooLongTakesNoMemory(t *testing.T) {
	o := options(t, &verbs{})
	o.MaxMessage = 1 << 20
	in := io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"`), &endless{256 << 20},
		strings.NewReader("\"}}\n"+`{"jsonrpc":"2.0","id":8,"method":"ping"}`))
	var before, after runtime.MemStats
	var out strings.Builder
	runtime.ReadMemStats(&before)
	if err := New(o).Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
	if got := out.String(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, "longer than 1048576") || !strings.Contains(got, `"id":8`) {
		t.Errorf("answers: %s", got)
	}
}

// TestPipelined: who sends ten thousand calls before it reads an answer gets ten thousand.
func TestPipelined(t *testing.T) {
	const many = 10_000
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended, written := make(chan error, 1), make(chan struct{})
	go func() { ended <- New(options(t, &verbs{})).Serve(context.Background(), inR, outW) }()
	go func() {
		for i := range many {
			fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"load","arguments":{"item_type":"tool","item_id":"acme/hello"}}}`+"\n", i)
		}
		close(written)
	}()
	<-written
	seen, scan := map[string]bool{}, bufio.NewScanner(outR)
	for len(seen) < many && scan.Scan() {
		var m message
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil || m.Error != nil || m.Result.IsError {
			t.Fatalf("%s (%v)", scan.Text(), err)
		}
		seen[string(m.ID)] = true
	}
	if len(seen) != many {
		t.Errorf("%d answers, want %d", len(seen), many)
	}
	inW.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFullQueueWaits: when the queue is full, the server reads no more, and refuses nothing.
func TestFullQueueWaits(t *testing.T) {
	var ran atomic.Int32
	release := make(chan struct{})
	o := options(t, &verbs{execute: func(context.Context, rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		<-release
		ran.Add(1)
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
	}})
	o.Workers, o.testOnlyRoom = 2, 1<<20
	r := newRaw(t, o)
	r.initialize("{}")
	pad := strings.Repeat("x", 100<<10)
	var sent atomic.Int32
	const many = 30
	go func() {
		for i := range many {
			fmt.Fprintf(r.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"},"_meta":{"pad":%q}}}`+"\n", i, pad)
			sent.Add(1)
		}
	}()
	for old := int32(-1); old != sent.Load() || old < 10; time.Sleep(20 * time.Millisecond) {
		old = sent.Load()
	}
	if n := sent.Load(); n > 12 { // 10 fit, one waits, one is being read
		t.Errorf("%d messages of 100 KiB were taken in", n)
	}
	close(release)
	for range many {
		if m := r.receive(); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
	}
	if n := ran.Load(); n != many {
		t.Errorf("%d calls ran, want %d", n, many)
	}
}

// asking stands for a project in which whatever is executed needs a person.
func asking(wait time.Duration) *verbs {
	return &verbs{execute: func(ctx context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		yes, err := Consent(ctx, rye.Question{Topic: "execute", Text: "Run " + q.Ref.String() + "?", Clients: []string{"t"}, Wait: wait})
		if err == nil && !yes {
			err = fault.New(fault.Denied, "not agreed to")
		}
		if err != nil {
			return nil, err
		}
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
	}}
}

// TestQuestionsHoldNoWorker: a hundred questions that nobody answers keep no other call from
// being answered, nor each other; those that are answered go on; the rest ends by itself.
func TestQuestionsHoldNoWorker(t *testing.T) {
	const many = 100
	o := options(t, asking(time.Second))
	o.Workers = 1
	r := newRaw(t, o)
	r.initialize(`{"elicitation":{}}`)
	questions := map[string]string{} // the id of the question, by the item
	for i := range many {
		r.call("execute", fmt.Sprintf(`{"item_type":"tool","item_id":"a%d"}`, i))
	}
	for range many {
		m := r.receive()
		if m.Method != "elicitation/create" {
			t.Fatalf("got %+v, want a question", m)
		}
		text, _ := m.Params["message"].(string)
		questions[strings.TrimSuffix(strings.TrimPrefix(text, "execute: Run tool:"), "?")] = string(m.ID)
	}
	id := r.call("load", `{"item_type":"tool","item_id":"acme/hello"}`)
	if m := r.receive(); string(m.ID) != id || m.Result.IsError {
		t.Fatalf("a call beside %d questions: %+v", many, m)
	}
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`, questions["a41"]))
	if m := r.receive(); string(m.ID) != "42" || m.Result.IsError {
		t.Errorf("the answered one: %+v", m)
	}
	for range many - 1 {
		if m := r.receive(); m.Result.StructuredContent["code"] != "denied" {
			t.Fatalf("one that nobody answered: %+v", m)
		}
	}
}

// TestTooManyQuestions: more than may rest are not asked, and so cannot fill the room that
// answers need to come in.
func TestTooManyQuestions(t *testing.T) {
	r := newRaw(t, options(t, asking(time.Hour)))
	r.initialize(`{"elicitation":{}}`)
	go func() {
		for i := range mostResting + 50 {
			fmt.Fprintf(r.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a%d"}}}`+"\n", i, i)
		}
	}()
	asked, refused := 0, 0
	for range mostResting + 50 {
		if m := r.receive(); m.Method == "elicitation/create" {
			asked++
		} else if m.Result.StructuredContent["code"] == "denied" {
			refused++
		}
	}
	if asked != mostResting || refused != 50 {
		t.Errorf("%d questions asked, %d refused; want %d and 50", asked, refused, mostResting)
	}
}

// TestQuestionsEndWithTheInput: nobody can answer a question any more when the client has
// closed its side, so it is not waited for.
func TestQuestionsEndWithTheInput(t *testing.T) {
	in := fmt.Sprintf(hello, `{"elicitation":{}}`) + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`
	o := options(t, asking(time.Hour))
	o.Drain = time.Minute
	var out strings.Builder
	began := time.Now()
	if err := New(o).Serve(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second || !strings.Contains(out.String(), `\"denied\"`) {
		t.Errorf("after %v: %s", took, out.String())
	}
}

// TestHeardWhileBusy: with every worker at work and calls waiting, the client's answers and
// cancellations are heard.
func TestHeardWhileBusy(t *testing.T) {
	release := make(chan struct{})
	v := asking(time.Hour)
	ask := v.execute
	v.execute = func(ctx context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		if q.Ref.String() == "tool:ask" {
			return ask(ctx, q)
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return &rye.ExecuteResult{Status: "success", Type: "tool"}, ctx.Err()
	}
	o := options(t, v)
	o.Workers = 1
	r := newRaw(t, o)
	r.initialize(`{"elicitation":{}}`)
	asks := r.call("execute", `{"item_type":"tool","item_id":"ask"}`)
	question := r.receive()
	runs := r.call("execute", `{"item_type":"tool","item_id":"a"}`)
	for range 1000 {
		r.call("load", `{"item_type":"tool","item_id":"acme/hello"}`)
	}
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`, question.ID))
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, runs))
	for i := range 1001 {
		switch m := r.receive(); {
		case string(m.ID) == runs:
			t.Error("the cancelled call was answered")
		case string(m.ID) == asks && (i > 500 || m.Result.IsError):
			t.Errorf("what was agreed to came after %d others: %+v", i, m)
		}
	}
	close(release)
}

func TestBatches(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":%d,"method":"ping"}`
	initialize := func(r *raw, version string) {
		r.send(strings.Replace(fmt.Sprintf(hello, "{}"), "2025-06-18", version, 1))
		r.receive()
	}
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		r := newRaw(t, options(t, &verbs{}))
		initialize(r, version)
		r.send("[" + fmt.Sprintf(ping, 1) + "]")
		if m := r.receive(); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "2025-03-26") {
			t.Errorf("%s: %+v", version, m)
		}
	}
	r := newRaw(t, options(t, &verbs{}))
	initialize(r, "2025-03-26")
	for _, c := range []struct{ batch, ids string }{
		{"[" + fmt.Sprintf(ping, 1) + "," + fmt.Sprintf(ping, 2) + `,{"jsonrpc":"2.0","method":"notifications/initialized"}]`, "1 2"},
		{"[" + fmt.Sprintf(ping, 1) + `,7,{"jsonrpc":"2.0","id":3,"Method":"ping"}]`, "1 null null"},
		{"[" + fmt.Sprintf(hello, "{}") + "]", `"init"`},
		{"[" + fmt.Sprintf(ping, 1) + "," + fmt.Sprintf(ping, 1) + "]", "1 1"},
	} {
		r.send(c.batch)
		var all []message
		if !r.out.Scan() || json.Unmarshal(r.out.Bytes(), &all) != nil {
			t.Fatalf("%s: %s", c.batch, r.out.Text())
		}
		count := map[string]int{}
		for _, m := range all {
			count[string(m.ID)]++
		}
		for _, id := range strings.Fields(c.ids) {
			count[id]--
		}
		for id, n := range count {
			if n != 0 {
				t.Errorf("%s: answered by %s (%s)", c.batch, r.out.Text(), id)
			}
		}
	}
	for _, batch := range []string{"[]", "[" + strings.Repeat("1,", maxBatch) + "1]"} {
		r.send(batch)
		if m := r.receive(); m.Error == nil || m.Error.Code != -32600 {
			t.Errorf("%.20s: %+v", batch, m)
		}
	}
	r.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":9,"result":{}}]`) // no answer
	r.send(fmt.Sprintf(ping, 5))
	if m := r.receive(); string(m.ID) != "5" {
		t.Errorf("%+v", m)
	}
}

// TestAcknowledgementFirst: a subscription says what was agreed on before anything else.
func TestAcknowledgementFirst(t *testing.T) {
	r := newRaw(t, options(t, &verbs{}))
	for i := range 50 {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"subscriptions/listen","params":{%s,"notifications":{}}}`, i, fmt.Sprintf(modern, "{}")))
		first, then := r.receive(), r.receive()
		if first.Method != "notifications/subscriptions/acknowledged" || string(then.ID) != fmt.Sprintf(`"s%d"`, i) {
			t.Fatalf("first %+v, then %+v", first, then)
		}
		meta, _ := first.Params["_meta"].(map[string]any)
		if meta["io.modelcontextprotocol/subscriptionId"] != fmt.Sprintf("s%d", i) {
			t.Errorf("the acknowledgement is of %v", meta)
		}
	}
}

// newRawOf is newRaw for a server that was made already.
func newRawOf(t *testing.T, s *Server) *raw {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	r := &raw{t: t, in: inW, out: bufio.NewScanner(outR)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, inR, outW); outW.Close() }()
	t.Cleanup(func() {
		cancel()
		for r.out.Scan() {
		}
		<-ended
	})
	return r
}

// TestToldInOrder: what a call says comes before its answer, all of it.
func TestToldInOrder(t *testing.T) {
	r := newRawOf(t, conformanceServer(options(t, &verbs{})))
	r.initialize("{}")
	for range 200 {
		id := r.call("test_tool_with_logging", "{}")
		for i := range 4 {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if !r.out.Scan() || json.Unmarshal(r.out.Bytes(), &m) != nil {
				t.Fatalf("message %d: %s", i, r.out.Text())
			}
			if i < 3 && m.Method != "notifications/message" || i == 3 && string(m.ID) != id {
				t.Fatalf("message %d is %s; want three messages and the answer", i, r.out.Text())
			}
		}
	}
}

// TestBroadcasts: what everybody is told reaches a client that introduced itself, and a
// subscription that asked for it, marked as its own, and no subscription that did not.
func TestBroadcasts(t *testing.T) {
	s := conformanceServer(options(t, &verbs{}))
	old := newRawOf(t, s)
	old.initialize("{}")
	s.rpc.DeleteTools("test_simple_text")
	if m := old.receive(); m.Method != "notifications/tools/list_changed" {
		t.Errorf("an old client is told %+v", m)
	}
	r := newSiteOf(t, s, HTTPOptions{Principal: func(string) (string, bool) { return "ann", true }})
	h := head{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := http.DefaultTransport.RoundTrip(r.request(ctx, "POST", "/mcp", h, strings.NewReader(`{"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen","params":{`+
		fmt.Sprintf(modern, "{}")+`,"notifications":{"toolsListChanged":true}}}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	next := func() string {
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	if ack := next(); !strings.Contains(ack, "acknowledged") {
		t.Errorf("first came %s", ack)
	}
	s.rpc.DeletePrompts("test_simple_prompt")
	s.rpc.DeleteTools("test_image_content")
	if got := next(); !strings.Contains(got, "notifications/tools/list_changed") || !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"mine"`) {
		t.Errorf("then came %s", got)
	}
}

// TestMissingIsSaid: what the server lacks stands in the instructions, in both eras, as it is
// at that moment.
func TestMissingIsSaid(t *testing.T) {
	lacks := "There is no project here."
	o := options(t, &verbs{})
	o.Missing = func() []string { return []string{lacks} }
	r := newRaw(t, o)
	for _, line := range []string{fmt.Sprintf(hello, "{}"), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + fmt.Sprintf(modern, "{}") + `}}`} {
		r.send(line)
		if !r.out.Scan() || !strings.Contains(r.out.Text(), lacks) {
			t.Errorf("%s", r.out.Text())
		}
	}
}

// TestNoGrowth: ten thousand calls leave nothing behind.
func TestNoGrowth(t *testing.T) {
	many := 10_000
	if os.Getenv("RYE_SOAK") != "" {
		many = 200_000
	}
	v := &verbs{}
	r := newRaw(t, options(t, v))
	r.initialize("{}")
	calls := func(n int) uint64 {
		for range n {
			r.call("load", `{"item_type":"tool","item_id":"acme/hello"}`)
			r.receive()
		}
		v.mu.Lock()
		v.callers = nil
		v.mu.Unlock()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, routines := calls(500), runtime.NumGoroutine()
	if after := calls(many); after > before+1<<20 {
		t.Errorf("the heap held %d bytes before, and %d after %d calls", before, after, many)
	}
	if n := runtime.NumGoroutine(); n > routines+2 {
		t.Errorf("%d goroutines before, %d after", routines, n)
	}
}

// TestVanishingClients: a hundred clients that go away in the middle of a call, or of a
// message, leave nothing behind.
func TestVanishingClients(t *testing.T) {
	var running atomic.Int32
	v := &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	o := options(t, v)
	o.Log, o.Drain = nil, 10*time.Millisecond
	routines := runtime.NumGoroutine()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- New(o).Serve(context.Background(), inR, outW) }()
			fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}}}`)
			if i%2 == 0 {
				io.WriteString(inW, `{"jsonrpc":"2.0","id":2,"met`)
			}
			outR.Close()
			inW.Close()
			<-ended
		})
	}
	all.Wait()
	if n := running.Load(); n != 0 {
		t.Errorf("%d calls still run", n)
	}
	for range 100 {
		if runtime.NumGoroutine() <= routines+2 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", routines, runtime.NumGoroutine())
}
