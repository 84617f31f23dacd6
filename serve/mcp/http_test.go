package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// site is a server over HTTP, which knows the tokens of ann and of bob.
type site struct {
	t    testing.TB
	url  string // without a path
	host string
	stop func() error // ends it gracefully, and returns what it ended with
}

func newSite(t testing.TB, o Options, ho HTTPOptions) *site {
	t.Helper()
	return newSiteOf(t, New(o), ho)
}

func newSiteOf(t testing.TB, server *Server, ho HTTPOptions) *site {
	t.Helper()
	if ho.Principal == nil {
		ho.Principal = func(token string) (string, bool) {
			name, ok := map[string]string{"token-of-ann": "ann", "token-of-bob": "bob"}[token]
			return name, ok
		}
	}
	l, err := Listen("127.0.0.1:0", ho)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.ServeListener(ctx, l, ho) }()
	s := &site{t: t, url: strings.TrimSuffix(ho.URL(l), "/mcp"), host: l.Addr().String()}
	s.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(20 * time.Second):
			return fmt.Errorf("the server did not end")
		}
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// head is a header for a request; "-" takes a usual one away.
type head map[string]string

func (s *site) request(ctx context.Context, method, path string, h head, body io.Reader) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	usual := head{"Authorization": "Bearer token-of-ann", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	for _, from := range []head{usual, h} {
		for name, value := range from {
			switch {
			case value == "-":
				r.Header.Del(name)
			case name == "Host":
				r.Host = value
			default:
				r.Header.Set(name, value)
			}
		}
	}
	return r
}

// do makes a request and returns what came of it.
func (s *site) do(method, path string, h head, body string) (*http.Response, string) {
	s.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(s.request(s.t.Context(), method, path, h, strings.NewReader(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, string(text)
}

const loadCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"load","arguments":{"item_type":"tool","item_id":"acme/hello"}%s}}`

// modernLoad is a call of load from 2026-07-28 on, and its headers.
func modernLoad() (head, string) {
	return head{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "load"}, fmt.Sprintf(loadCall, ","+fmt.Sprintf(modern, "{}"))
}

// initialize begins a session and returns its id.
func (s *site) initialize(h head, capabilities string) string {
	s.t.Helper()
	res, text := s.do("POST", "/mcp", h, fmt.Sprintf(hello, capabilities))
	id := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || len(id) != 32 || res.Header.Get("Content-Type") != "application/json" {
		s.t.Fatalf("initialize: %s, session %q: %s", res.Status, id, text)
	}
	return id
}

// bearer adds a token to an SDK client's requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *site) connect(token string, o *sdk.ClientOptions, old bool) *sdk.ClientSession {
	s.t.Helper()
	web := &http.Client{Transport: bearer(token)}
	var by sdk.Transport = &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: web}
	if old {
		by = &sdk.SSEClientTransport{Endpoint: s.url + "/sse", HTTPClient: web}
	}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, o).Connect(s.t.Context(), by, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// TestOfficialClientOverHTTP: calls, errors, progress, questions and cancellation, by
// streamable HTTP and by the transport of 2024-11-05.
func TestOfficialClientOverHTTP(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("old=%v", old), func(t *testing.T) {
			began, stopped := make(chan struct{}), make(chan struct{})
			v := asking(time.Hour)
			ask := v.execute
			v.execute = func(ctx context.Context, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
				switch q.Ref.String() {
				case "tool:slow":
					close(began)
					<-ctx.Done()
					close(stopped)
					return nil, ctx.Err()
				case "tool:says":
					q.Stdout([]byte("half\n"))
				default:
					return ask(ctx, q)
				}
				return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
			}
			progress := make(chan string, 1)
			yes := true
			s := newSite(t, options(t, v), HTTPOptions{}).connect("token-of-ann", &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) { progress <- n.Params.Message },
				ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": yes}}, nil
				},
			}, old)
			args := func(id string) map[string]any { return map[string]any{"item_type": "tool", "item_id": id} }
			if got, isError := callTool(t, s, "load", args("acme/hello")); isError || got["text"] != "print(1)\n" {
				t.Errorf("load: %v", got)
			}
			if got, isError := callTool(t, s, "load", args("acme/nothing")); !isError || got["code"] != "not_found" {
				t.Errorf("load: %v", got)
			}
			p := &sdk.CallToolParams{Name: "execute", Arguments: args("says")}
			p.SetProgressToken("p")
			if res, err := s.CallTool(t.Context(), p); err != nil || res.IsError || <-progress != "half" {
				t.Errorf("execute with progress: %+v, %v", res, err)
			}
			if got, isError := callTool(t, s, "execute", args("a")); isError {
				t.Errorf("agreed to, yet: %v", got)
			}
			yes = false
			if got, isError := callTool(t, s, "execute", args("a")); !isError || got["code"] != "denied" {
				t.Errorf("not agreed to, yet: %v", got)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-began; cancel() }()
			if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "execute", Arguments: args("slow")}); err == nil {
				t.Error("a cancelled call succeeded")
			}
			select {
			case <-stopped:
			case <-time.After(20 * time.Second):
				t.Error("a cancelled call goes on")
			}
		})
	}
}

// TestDoor: of everything that a request can say about where it comes from and who sends it,
// exactly one combination passes.
func TestDoor(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{Origins: []string{"https://app.example.com"}})
	_, port, _ := net.SplitHostPort(s.host)
	h, body := modernLoad()
	try := func(more head) (*http.Response, string) {
		all := head{}
		for _, from := range []head{h, more} {
			for k, v := range from {
				all[k] = v
			}
		}
		return s.do("POST", "/mcp", all, body)
	}
	type value struct {
		text string
		good bool
	}
	hosts := []value{{s.host, true}, {"localhost:" + port, true}, {"[::1]:" + port, true}, {"LOCALHOST:" + port, true},
		{"evil.example.com", false}, {"evil.example.com:" + port, false}, {"127.0.0.1", false}, {"127.0.0.1:1", false}, {"localhost.evil.example.com:" + port, false}, {"127.0.0.1:" + port + "@evil", false}}
	origins := []value{{"-", true}, {"http://" + s.host, true}, {"http://localhost:" + port, true}, {"https://app.example.com", true},
		{"null", false}, {"https://evil.example.com", false}, {"http://localhost:1", false}, {"https://localhost:" + port, false}, {"https://app.example.com.evil.org", false}, {"http://app.example.com", false}, {"file://", false}}
	tokens := []value{{"Bearer token-of-ann", true}, {"bearer token-of-bob", true},
		{"-", false}, {"Bearer", false}, {"Bearer ", false}, {"Bearer token-of-eve", false}, {"Basic token-of-ann", false}, {"token-of-ann", false}, {"Bearer token-of-ann x", false}}
	for _, host := range hosts {
		for _, origin := range origins {
			for _, token := range tokens {
				res, text := try(head{"Host": host.text, "Origin": origin.text, "Authorization": token.text})
				want := 200
				switch {
				case strings.Contains(host.text, "@"): // net/http refuses it
					want = 400
				case !host.good || !origin.good:
					want = 403
				case !token.good:
					want = 401
				}
				if res.StatusCode != want && !(want == 400 && res.StatusCode == 403) || (res.StatusCode == 200) != strings.Contains(text, "print(1)") {
					t.Errorf("Host %q, Origin %q, Authorization %q: %s, want %d: %s", host.text, origin.text, token.text, res.Status, want, text)
				}
				if asks := res.Header.Get("WWW-Authenticate"); (want == 401) != strings.HasPrefix(asks, "Bearer") || strings.Contains(asks, "resource_metadata") {
					t.Errorf("%d: WWW-Authenticate %q", want, asks)
				}
				if allows := res.Header.Get("Access-Control-Allow-Origin"); allows != "" && (allows != origin.text || !origin.good) {
					t.Errorf("Origin %q: allowed is %q", origin.text, allows)
				}
			}
		}
	}
	if res, _ := try(head{"Sec-Fetch-Site": "cross-site"}); res.StatusCode != 403 {
		t.Errorf("from another site, without an Origin: %s", res.Status)
	}
	for _, path := range []string{"/", "/mcp/", "/mcpx", "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp", "/.well-known/openid-configuration", "/register", "/authorize"} {
		for _, method := range []string{"GET", "POST"} {
			res, text := s.do(method, path, head{"Authorization": "-"}, "{}")
			if res.StatusCode != 404 || !json.Valid([]byte(text)) || res.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s %s: %s %s", method, path, res.Status, text)
			}
		}
	}
	res, _ := s.do("OPTIONS", "/mcp", head{"Authorization": "-", "Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}, "")
	if res.StatusCode != 204 || !strings.Contains(res.Header.Get("Access-Control-Allow-Headers"), "Authorization") || res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" {
		t.Errorf("a listed page asks first: %s %v", res.Status, res.Header)
	}
	if res, _ := s.do("OPTIONS", "/mcp", head{"Authorization": "-", "Origin": "https://evil.example.com", "Access-Control-Request-Method": "POST"}, ""); res.StatusCode != 403 || res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another page asks first: %s", res.Status)
	}
	r := s.request(t.Context(), "POST", "/mcp", h, strings.NewReader(body))
	r.Header.Add("Authorization", "Bearer token-of-bob")
	if res, err := http.DefaultTransport.RoundTrip(r); err != nil || res.StatusCode != 400 {
		t.Errorf("two tokens: %v %v", res, err)
	}
	for _, h := range []head{{"Content-Type": "text/plain"}, {"Content-Type": "-"}, {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json; charset=utf-16"}} {
		if res, _ := try(h); res.StatusCode != 415 {
			t.Errorf("%v: %s", h, res.Status)
		}
	}
	for _, h := range []head{{"Accept": "application/json"}, {"Accept": "text/event-stream"}, {"Accept": "text/html"}} {
		if res, _ := try(h); res.StatusCode != 406 {
			t.Errorf("%v: %s", h, res.Status)
		}
	}
}

// TestHeadersAgree: what the headers of a request say is what it does, or it is refused.
func TestHeadersAgree(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{})
	usual, body := modernLoad()
	for _, c := range []struct {
		name   string
		h      head
		body   string
		status int
		code   int
	}{
		{"agree", nil, "", 200, 0},
		{"another method", head{"Mcp-Method": "tools/list"}, "", 400, -32020},
		{"no method", head{"Mcp-Method": "-"}, "", 400, -32020},
		{"another tool", head{"Mcp-Name": "execute"}, "", 400, -32020},
		{"no tool", head{"Mcp-Name": "-"}, "", 400, -32020},
		{"a tool in base64", head{"Mcp-Name": "=?base64?bG9hZA==?="}, "", 200, 0},
		{"another tool in base64", head{"Mcp-Name": "=?base64?c2lnbg==?="}, "", 400, -32020},
		{"another version", head{"Mcp-Protocol-Version": "2026-07-29"}, "", 400, -32020},
		{"no version", head{"Mcp-Protocol-Version": "-"}, "", 400, -32020},
		{"a version of before in the header", head{"Mcp-Protocol-Version": "2025-06-18"}, "", 400, -32020},
		{"no version in the body", nil, strings.Replace(body, "2026-07-28", "2025-06-18", 1), 400, -32020},
		{"nothing in the body", nil, fmt.Sprintf(loadCall, ""), 400, -32602},
		{"a version that nobody knows", head{"Mcp-Protocol-Version": "2027-01-01"}, strings.Replace(body, "2026-07-28", "2027-01-01", 1), 400, -32022},
		{"the tool under another case", nil, strings.Replace(body, `"name":"load"`, `"name":"load","Name":"execute"`, 1), 400, -32600},
		{"no such method", head{"Mcp-Method": "no/such", "Mcp-Name": "-"}, `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + fmt.Sprintf(modern, "{}") + `}}`, 404, -32601},
		{"an answer to no question", nil, `{"jsonrpc":"2.0","id":1,"result":{}}`, 400, -32600},
		{"a batch", nil, "[" + body + "]", 400, -32600},
		{"no JSON", nil, "{", 400, -32700},
		{"a notification", head{"Mcp-Method": "notifications/cancelled", "Mcp-Name": "-"}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, 0},
		{"a notification under another name", head{"Mcp-Name": "-"}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 400, -32020},
	} {
		h := head{}
		for _, from := range []head{usual, c.h} {
			for k, v := range from {
				h[k] = v
			}
		}
		if c.body == "" {
			c.body = body
		}
		res, text := s.do("POST", "/mcp", h, c.body)
		var m message
		_ = json.Unmarshal([]byte(text), &m) // of 202 there is none
		code := 0
		if m.Error != nil {
			code = m.Error.Code
		}
		if res.StatusCode != c.status || code != c.code || res.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s %s; want %d and code %d", c.name, res.Status, text, c.status, c.code)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if res, _ := s.do(method, "/mcp", head{"Mcp-Protocol-Version": "2026-07-28"}, ""); res.StatusCode != 405 {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
}

// TestSessions: a session is its account's, ends when it is told to or when nobody uses it,
// and there are not too many.
func TestSessions(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{})
	bob := head{"Authorization": "Bearer token-of-bob"}
	id := s.initialize(nil, "{}")
	call := fmt.Sprintf(loadCall, "")
	for _, c := range []struct {
		name, method string
		h            head
		status       int
	}{
		{"in it", "POST", head{"Mcp-Session-Id": id}, 200},
		{"with the version agreed on", "POST", head{"Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-06-18"}, 200},
		{"with another version, as the conformance suite sends it", "POST", head{"Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-03-26"}, 200},
		{"with a version that is none", "POST", head{"Mcp-Session-Id": id, "Mcp-Protocol-Version": "1.0"}, 400},
		{"without a session", "POST", nil, 400},
		{"with an invented one", "POST", head{"Mcp-Session-Id": strings.Repeat("0", 32)}, 404},
		{"by another client", "POST", head{"Mcp-Session-Id": id, "Authorization": bob["Authorization"]}, 404},
		{"listened to by another client", "GET", head{"Mcp-Session-Id": id, "Authorization": bob["Authorization"]}, 404},
		{"ended by another client", "DELETE", head{"Mcp-Session-Id": id, "Authorization": bob["Authorization"]}, 404},
		{"listened to as JSON", "GET", head{"Mcp-Session-Id": id, "Accept": "application/json"}, 406},
		{"ended", "DELETE", head{"Mcp-Session-Id": id}, 204},
		{"after its end", "POST", head{"Mcp-Session-Id": id}, 404},
	} {
		if res, text := s.do(c.method, "/mcp", c.h, call); res.StatusCode != c.status {
			t.Errorf("%s: %s %s, want %d", c.name, res.Status, text, c.status)
		}
	}
	first := s.initialize(nil, "{}")
	other := s.initialize(bob, "{}")
	seen := map[string]bool{}
	for range maxSessions {
		seen[s.initialize(nil, "{}")] = true
	}
	if len(seen) != maxSessions {
		t.Errorf("%d ids for %d sessions", len(seen), maxSessions)
	}
	if res, _ := s.do("POST", "/mcp", head{"Mcp-Session-Id": first}, call); res.StatusCode != 404 {
		t.Errorf("the session that was used longest ago, when there are too many: %s", res.Status)
	}
	if res, _ := s.do("POST", "/mcp", head{"Mcp-Session-Id": other, "Authorization": bob["Authorization"]}, call); res.StatusCode != 200 {
		t.Errorf("another client's session, when one has too many: %s", res.Status)
	}
	kept := s.initialize(nil, "{}")
	for range maxSessions { // one that is refused is no session, so that none has to make room
		if res, text := s.do("POST", "/mcp", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`); res.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(text, `"error"`) {
			t.Fatalf("initialize with a number as version: %s %s", res.Status, text)
		}
	}
	if res, _ := s.do("POST", "/mcp", head{"Mcp-Session-Id": kept}, call); res.StatusCode != 200 {
		t.Errorf("a session, after others were refused: %s", res.Status)
	}
	w := newWeb(t.Context(), New(options(t, &verbs{})), mustListen(t), HTTPOptions{})
	a := w.newSession(t.Context(), w.account("ann"), false)
	w.expire(time.Now().Add(29 * time.Minute))
	if w.find(a.c.id, w.account("ann"), false) == nil {
		t.Error("it ended too early")
	}
	w.expire(time.Now().Add(31 * time.Minute))
	if w.find(a.c.id, w.account("ann"), false) != nil {
		t.Error("a session that nobody uses does not end")
	}
}

func mustListen(t testing.TB) net.Listener {
	t.Helper()
	l, err := Listen("127.0.0.1:0", HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestPrincipalsAreApart: the state of one client's question is worth nothing to another, nor
// can it answer the other's.
func TestPrincipalsAreApart(t *testing.T) {
	v := asking(time.Hour)
	s := newSite(t, options(t, v), HTTPOptions{})
	h := head{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute"}
	call := func(token, extra string) message {
		h["Authorization"] = "Bearer " + token
		_, text := s.do("POST", "/mcp", h, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"},`+
			fmt.Sprintf(modern, `{"elicitation":{}}`)+extra+`}}`)
		var m message
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return m
	}
	state := call("token-of-ann", "").Result.RequestState
	yes := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}}`, state)
	if m := call("token-of-bob", yes); !m.Result.IsError || m.Result.StructuredContent["code"] != "denied" {
		t.Errorf("bob with ann's state: %+v", m)
	}
	state = call("token-of-ann", "").Result.RequestState
	if m := call("token-of-ann", fmt.Sprintf(`,"requestState":%q,"inputResponses":{"approval":{"action":"accept","content":{"approve":true}}}`, state)); m.Result.IsError {
		t.Errorf("ann with ann's state: %+v", m)
	}
	call("token-of-bob", "")
	names := map[string]bool{}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.callers {
		names[c.Who()] = true
		if c.Name() != "mcp" || c.IsPerson() {
			t.Errorf("called on behalf of %q", c.Name())
		}
	}
	if !names["mcp ann"] || !names["mcp bob"] {
		t.Errorf("callers %v", names)
	}
}

// TestLargeBodies: what is longer than a message may be is refused before it is read, or at
// the byte that is too many.
func TestLargeBodies(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{})
	h, _ := modernLoad()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, size := range []int64{1 << 30, -1} {
		r := s.request(t.Context(), "POST", "/mcp", h, &endless{1 << 30})
		r.ContentLength = size
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			continue // the server closed the connection while it was being written to
		}
		res.Body.Close()
		if res.StatusCode != 413 {
			t.Errorf("a body of %d bytes: %s", size, res.Status)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
	conn, err := net.Dial("tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nX: %s\r\n\r\n", s.host, strings.Repeat("x", 2*maxHeader))
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "431") {
		t.Errorf("a long head: %q, %v", line, err)
	}
	stated, err := net.Dial("tcp", s.host)
	if err != nil {
		t.Fatal(err)
	}
	defer stated.Close()
	fmt.Fprintf(stated, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-of-ann\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", s.host, 1<<30)
	stated.SetReadDeadline(time.Now().Add(20 * time.Second))
	if line, err := bufio.NewReader(stated).ReadString('\n'); err != nil || !strings.Contains(line, "413") {
		t.Errorf("a body that is stated and not sent: %q, %v", line, err)
	}
	if res, _ := s.do("POST", "/mcp", head{"Authorization": "-"}, strings.Repeat("x", 1<<20)); res.StatusCode != 401 {
		t.Errorf("a body without a token: %s", res.Status)
	}
}

// TestSlowBody: whoever sends slowly is waited for only so long, and holds up nobody.
func TestSlowBody(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{BodyTime: 200 * time.Millisecond})
	h, body := modernLoad()
	var slow []net.Conn
	for range 50 {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-of-ann\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", s.host)
		slow = append(slow, conn)
	}
	if res, text := s.do("POST", "/mcp", h, body); res.StatusCode != 200 {
		t.Errorf("beside slow ones: %s %s", res.Status, text)
	}
	for _, conn := range slow {
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "408") {
			t.Fatalf("a slow body: %q, %v", line, err)
		}
	}
}

// TestManyOverHTTP: 200 clients at once, in both eras, get all their answers.
func TestManyOverHTTP(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{})
	h, body := modernLoad()
	id := s.initialize(nil, "{}")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var answered atomic.Int32
	for i := range 200 {
		all.Go(func() {
			for j := range 5 {
				h, body := h, body
				if i%2 == 0 {
					h, body = head{"Mcp-Session-Id": id}, strings.Replace(fmt.Sprintf(loadCall, ""), `"id":1`, fmt.Sprintf(`"id":%d`, 10*i+j), 1)
				}
				res, err := client.Do(s.request(t.Context(), "POST", "/mcp", h, strings.NewReader(body)))
				if err != nil {
					t.Error(err)
					return
				}
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if bytes.Contains(text, []byte("print(1)")) {
					answered.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := answered.Load(); n != 1000 {
		t.Errorf("%d answers, want 1000", n)
	}
}

// TestVanishingHTTPClients: a hundred clients that go away in the middle of a call, in every
// way to call, leave no call, no session's stream and no goroutine behind.
func TestVanishingHTTPClients(t *testing.T) {
	var running atomic.Int32
	v := &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	o := options(t, v)
	o.Workers = 200
	s := newSite(t, o, HTTPOptions{})
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":{"item_type":"tool","item_id":"a"}%s}}`
	id := s.initialize(nil, "{}")
	routines := runtime.NumGoroutine()
	var conns []net.Conn
	for i := range 100 {
		conn, err := net.Dial("tcp", s.host)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		h, body := "Mcp-Session-Id: "+id+"\r\n", fmt.Sprintf(call, i, "")
		switch i % 4 {
		case 1:
			h, body = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: execute\r\n", fmt.Sprintf(call, i, ","+fmt.Sprintf(modern, "{}"))
		case 2:
			fmt.Fprintf(conn, "GET /sse HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-of-ann\r\n\r\n", s.host)
			continue
		case 3:
			fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-of-ann\r\nMcp-Session-Id: %s\r\n\r\n", s.host, id)
			continue
		}
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer token-of-ann\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", s.host, len(body), h, body)
	}
	for begun := time.Now(); running.Load() < 50 && time.Since(begun) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	if n := running.Load(); n != 50 {
		t.Errorf("%d calls run, want 50", n)
	}
	for _, conn := range conns {
		conn.Close()
	}
	for range 2000 {
		if running.Load() == 0 && runtime.NumGoroutine() <= routines+3 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d calls run; %d goroutines before, %d after", running.Load(), routines, runtime.NumGoroutine())
}

// TestHTTPEnds: when it is told to end, the server takes no more, lets calls answer for a
// while, ends streams at once, and cancels what takes too long.
func TestHTTPEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		drain time.Duration
		want  string
	}{
		{"a call that ends", 10 * time.Second, `\"status\":\"success\"`},
		{"a call that does not", 50 * time.Millisecond, "cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			began, release := make(chan struct{}), make(chan struct{})
			o := options(t, &verbs{execute: func(ctx context.Context, _ rye.ExecuteRequest) (*rye.ExecuteResult, error) {
				close(began)
				select {
				case <-release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return &rye.ExecuteResult{Status: "success", Type: "tool"}, nil
			}})
			o.Drain = c.drain
			s := newSite(t, o, HTTPOptions{})
			s.connect("token-of-bob", nil, false) // with a stream open
			_, body := modernLoad()
			answer := make(chan string, 1)
			go func() {
				h := head{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "execute"}
				res, err := http.DefaultTransport.RoundTrip(s.request(context.Background(), "POST", "/mcp", h, strings.NewReader(strings.Replace(body, `"load"`, `"execute"`, 1))))
				if err != nil {
					answer <- err.Error()
					return
				}
				text, _ := io.ReadAll(res.Body)
				answer <- string(text)
			}()
			<-began
			ended := make(chan error, 1)
			go func() { ended <- s.stop() }()
			for {
				conn, err := net.Dial("tcp", s.host)
				if err != nil {
					break
				}
				conn.Close()
				time.Sleep(time.Millisecond)
			}
			if c.drain > time.Second {
				close(release)
			}
			if got := <-answer; !strings.Contains(got, c.want) && !(c.want == "cancelled" && strings.Contains(got, "EOF")) {
				t.Errorf("answer %s, want %s", got, c.want)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSubscriptionOverHTTP: the stream begins with the acknowledgement, is tagged, and ends with the server.
func TestSubscriptionOverHTTP(t *testing.T) {
	s := newSite(t, options(t, &verbs{}), HTTPOptions{})
	h := head{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
	res, text := s.do("POST", "/mcp", h, `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{`+fmt.Sprintf(modern, "{}")+`,"notifications":{}}}`)
	ack, result := strings.Index(text, "notifications/subscriptions/acknowledged"), strings.Index(text, `"result"`)
	if res.Header.Get("Content-Type") != "text/event-stream" || ack < 0 || result < ack {
		t.Errorf("%v %s", res.Header, text)
	}
}

// TestTakenAway: a token that was taken away counts for no request more, and ends the streams
// that it opened.
func TestTakenAway(t *testing.T) {
	var gone atomic.Bool
	s := newSite(t, options(t, &verbs{}), HTTPOptions{testOnlyAlive: 10 * time.Millisecond, Principal: func(token string) (string, bool) { return "ann", !gone.Load() }})
	id := s.initialize(nil, "{}")
	res, err := http.DefaultTransport.RoundTrip(s.request(t.Context(), "GET", "/mcp", head{"Mcp-Session-Id": id}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 3)); err != nil { // a sign of life
		t.Fatal(err)
	}
	gone.Store(true)
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error(err)
	}
	if res, _ := s.do("POST", "/mcp", head{"Mcp-Session-Id": id}, fmt.Sprintf(loadCall, "")); res.StatusCode != 401 {
		t.Errorf("%s", res.Status)
	}
}

// TestListen: beyond this machine only with TLS, or with a proxy that has it, and a name.
func TestListen(t *testing.T) {
	cert := HTTPOptions{TLS: selfSigned(t)}
	for _, c := range []struct {
		addr string
		o    HTTPOptions
		code fault.Code // "" is good
	}{
		{"127.0.0.1:0", HTTPOptions{}, ""}, {"localhost:0", HTTPOptions{}, ""}, {"127.0.0.2:0", HTTPOptions{}, ""},
		{"0.0.0.0:0", HTTPOptions{}, fault.Denied}, {":0", HTTPOptions{}, fault.Denied}, {"[::]:0", HTTPOptions{}, fault.Denied}, {"192.0.2.1:0", HTTPOptions{}, fault.Denied},
		{"0.0.0.0:0", cert, fault.Usage}, {"0.0.0.0:0", HTTPOptions{Proxied: true}, fault.Usage},
		{"0.0.0.0:0", HTTPOptions{TLS: cert.TLS, Hosts: []string{"rye.example.com"}}, ""},
		{"0.0.0.0:0", HTTPOptions{Proxied: true, Hosts: []string{"rye.example.com"}}, ""},
		{"8765", HTTPOptions{}, fault.Usage}, {"example.com:0", cert, fault.Usage},
	} {
		l, err := Listen(c.addr, c.o)
		if l != nil {
			l.Close()
		}
		if (err == nil) != (c.code == "") || err != nil && fault.CodeOf(err) != c.code {
			t.Errorf("%s %+v: %v, want %q", c.addr, c.o, err, c.code)
		}
	}
}

// FuzzHTTP: whatever the headers and the body are, the answer is one of this server's, and
// the server goes on.
func FuzzHTTP(f *testing.F) {
	h, body := modernLoad()
	for _, m := range []string{"POST", "GET", "DELETE", "OPTIONS"} {
		f.Add(m, "/mcp", h["Mcp-Protocol-Version"], h["Mcp-Method"], h["Mcp-Name"], "", "application/json", []byte(body))
		f.Add(m, "/messages?sessionId=x", "", "", "", "0123", "application/json", []byte("[]"))
	}
	w := newWeb(f.Context(), New(options(f, &verbs{})), mustListen(f), HTTPOptions{Principal: func(string) (string, bool) { return "ann", true }})
	f.Fuzz(func(t *testing.T, method, path, version, mcpMethod, name, session, kind string, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.hosts[0], bytes.NewReader(body))
		if err != nil || method == "GET" {
			return // a stream does not end by itself
		}
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(path, "?")
		for k, v := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": mcpMethod, "Mcp-Name": name, "Mcp-Session-Id": session, "Content-Type": kind} {
			r.Header[k] = []string{v}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		rw := &recorder{header: http.Header{}}
		w.ServeHTTP(rw, r.WithContext(ctx))
		if rw.status == 0 || rw.status == 500 || ctx.Err() != nil {
			t.Errorf("%s %s: status %d (%v)", method, path, rw.status, ctx.Err())
		}
		if rw.header.Get("Content-Type") == "application/json" && !json.Valid(rw.body.Bytes()) {
			t.Errorf("%s is no JSON", rw.body.Bytes())
		}
	})
}

// recorder is a ResponseWriter without a connection.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}
func (r *recorder) Write(b []byte) (int, error) { r.WriteHeader(200); return r.body.Write(b) }
func (r *recorder) Flush()                      {}

func BenchmarkHTTPCall(b *testing.B) {
	s := newSite(b, options(b, &verbs{}), HTTPOptions{})
	h, body := modernLoad()
	for b.Loop() {
		if res, text := s.do("POST", "/mcp", h, body); res.StatusCode != 200 {
			b.Fatal(text)
		}
	}
}
