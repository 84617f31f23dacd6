package chain

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rye-os/rye/chain/primitive/web"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// httpTool puts a tool into the project whose configuration is text.
func (w *world) httpTool(id, text string) *Plan {
	w.t.Helper()
	p, body := yamlTool(id, "rye/core/primitives/http_client", text)
	w.add(objects.Project, p, body)
	return w.plan(id)
}

func (w *world) request(p *Plan, params string, vars ...string) (web.Request, error) {
	w.t.Helper()
	checked, err := p.Check([]byte(params))
	if err != nil {
		w.t.Fatal(err)
	}
	in := Inputs{Params: checked, ProjectPath: "/p", Vars: map[string]string{}, Weak: map[string]bool{}}
	for _, kv := range vars {
		name, v, _ := strings.Cut(kv, "=")
		if rest, ok := strings.CutPrefix(name, "weak:"); ok {
			name = rest
			in.Weak[name] = true
		}
		in.Vars[name] = v
	}
	return p.Request(in)
}

const props = `config_schema: {type: object, properties: {user: {}, n: {}, list: {}, data: {}, text: {}, gone: {}}}
`

// TestRequest: a parameter keeps its place, whatever it holds.
func TestRequest(t *testing.T) {
	w := newWorld(t)
	p := w.httpTool("acme/full", props+`
config:
  method: post
  url: https://api.example.org/v1/users/{user}/x-{n}?fixed=1&t={text}#frag
  query: {q: "{text}", many: "{list}", none: "{gone}", both: ["a", "{n}"]}
  headers: {X-Note: "n={text}", X-None: "{gone}"}
  body: {model: small, temperature: 0.5, messages: "{data}", n: "{n}", s: "<{n}>", gone: "{gone}", deep: [{a: "{user}"}, true, null]}
  redirects: 2
  max_bytes: 1000
  timeout: 3
  mode: stream
`)
	evil := `a/../b?x=1&y#z ü"%2e${HOME}{user}`
	quoted, _ := json.Marshal(evil)
	r, err := w.request(p, fmt.Sprintf(`{"user":%s,"n":12345678901234567890,"text":%s,"list":["a&b","c"],"data":[{"role":"user","content":%s}]}`, quoted, quoted, quoted))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	if u.Host != "api.example.org" || u.EscapedPath() != "/v1/users/"+url.PathEscape(evil)+"/x-12345678901234567890" || u.Query().Get("t") != evil || len(u.Query()) != 2 {
		t.Errorf("url %s", r.URL)
	}
	var query []string
	for _, f := range r.Query {
		query = append(query, f.Name+"="+f.Value.String())
	}
	if got, want := strings.Join(query, "|"), "both=a|both=12345678901234567890|many=a&b|many=c|q="+evil; got != want {
		t.Errorf("query %s, want %s", got, want)
	}
	if len(r.Header) != 1 || r.Header[0].Value.String() != "n="+evil {
		t.Errorf("headers %v", r.Header)
	}
	body := r.Body.String()
	if want := `{"deep":[{"a":` + strings.ReplaceAll(string(quoted), `\u0026`, "&") + `},true,null],"messages":[{"content":`; !strings.HasPrefix(body, want) ||
		!strings.Contains(body, `"n":12345678901234567890,"s":"<12345678901234567890>","temperature":0.5}`) || strings.Contains(body, "gone") || !json.Valid([]byte(r.Body.String())) {
		t.Errorf("body %s, want %s", body, want)
	}
	if r.Method != "POST" || r.Type != "application/json" || r.Redirects != 2 || r.MaxBody != 1000 || r.Whole.Seconds() != 3 || !r.Stream || r.Hosts[0] != "*" {
		t.Errorf("request %+v", r)
	}
	for _, bad := range []string{`{"user":"..","n":1}`, `{"user":".","n":1}`, `{"user":"","n":1}`, `{"n":1}`} {
		if r, err := w.request(p, bad); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %s, %v", bad, r.URL, err)
		}
	}
}

func TestRequestBodies(t *testing.T) {
	w := newWorld(t)
	for i, c := range []struct{ config, params, kind, body string }{
		{`form: {a: "{text}", b: x y, c: "{gone}", d: "{list}"}`, `{"text":"1&2","list":["p","q"]}`, "application/x-www-form-urlencoded", "a=1%262&b=x+y&d=p&d=q"},
		{`form: {}`, `{}`, "application/x-www-form-urlencoded", ""},
		{`body: "{params_json}"`, `{"text":"${X} {n}"}`, "application/json", `{"text":"${X} {n}"}`},
		{`body: "{data}"`, `{"data":{"b":[1.10]}}`, "application/json", `{"b":[1.10]}`},
		{`body: "{text}"`, `{"text":"plain"}`, "text/plain; charset=utf-8", "plain"},
		{`body: "{gone}"`, `{}`, "", ""},
		{`body: "say {text} {unknown}"`, `{"text":"{n}"}`, "text/plain; charset=utf-8", "say {n} {unknown}"},
		{`body: [1, "{n}"]`, `{"n":true}`, "application/json", "[1,true]"},
		{`{body: {a: 1}, headers: {content-type: application/ld+json}}`, `{}`, "", `{"a":1}`},
	} {
		if !strings.HasPrefix(c.config, "{") {
			c.config = "{" + c.config + "}"
		}
		config := strings.Replace(c.config, "{", "{url: https://example.org, method: POST, ", 1)
		r, err := w.request(w.httpTool(fmt.Sprintf("acme/b%d", i), props+"config: "+config), c.params)
		if err != nil || r.Body.String() != c.body || r.Type != c.kind {
			t.Errorf("%s: %q %q, %v; want %q %q", c.config, r.Type, r.Body, err, c.kind, c.body)
		}
	}
}

// TestRequestSecrets: what came from outside is named in a request, and is not in it.
func TestRequestSecrets(t *testing.T) {
	w := newWorld(t)
	env := "env_config: {env: {KEY: '', BASE: 'https://api.example.org', VERSION: v1, LINE: 'Key ${KEY}'}}\n"
	p := w.httpTool("acme/secrets", env+`
config:
  url: ${BASE}/x
  method: POST
  headers: {Authorization: "Bearer ${KEY}", X-Line: "${LINE}", X-Version: "${VERSION}", X-Ref: {secret: KEY}}
  query: {k: "${KEY}"}
  body: {k: "a ${KEY} b"}
`)
	r, err := w.request(p, `{}`, "KEY=canary", "OTHER=x")
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%+v %#v", r, r); strings.Contains(shown, "canary") {
		t.Errorf("a secret shows: %s", shown)
	}
	var got []string
	for _, f := range append(r.Header, r.Query...) {
		got = append(got, f.Name+": "+f.Value.String())
	}
	if got, want := strings.Join(got, "|"), "Authorization: Bearer ${KEY}|X-Line: Key ${KEY}|X-Ref: ${KEY}|X-Version: v1|k: ${KEY}"; got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
	if r.URL != "https://api.example.org/x" || r.Body.String() != `{"k":"a ${KEY} b"}` {
		t.Errorf("url %s, body %s", r.URL, r.Body)
	}
	if r, err = w.request(p, `{}`, "KEY=canary", "BASE=https://own.example.org/api"); err != nil || r.URL != "https://own.example.org/api/x" {
		t.Errorf("the user's own address: %s, %v", r.URL, err)
	}
	// A clone brings its .env along. It must not say where the user's key goes.
	if r, err = w.request(p, `{}`, "KEY=canary", "weak:BASE=https://evil.example.org"); !fault.Is(err, fault.Denied) {
		t.Errorf("an address of a project's .env: %s, %v", r.URL, err)
	}

	for i, c := range []struct {
		auth, header, query, basic string
		vars                       string
		code                       fault.Code
	}{
		{auth: "{type: bearer, token: '${KEY}'}", header: "Authorization: Bearer ${KEY}"},
		{auth: "{type: bearer, token: {secret: KEY}}", header: "Authorization: Bearer ${KEY}"},
		{auth: "{type: api_key, key: '${KEY}'}", header: "X-API-Key: ${KEY}"},
		{auth: "{type: api_key, key: '${KEY}', header: x-goog}", header: "x-goog: ${KEY}"},
		{auth: "{type: api_key, key: '${KEY}', query: key}", query: "key: ${KEY}"},
		{auth: "{type: basic, username: me, password: '${KEY}'}", basic: "me:${KEY}"},
		{auth: "{type: none}"},
		{auth: "{type: bearer, token: sk-123}", code: fault.Malformed},
		{auth: "{type: bearer, token: '{user}'}", code: fault.Malformed},
		{auth: "{type: bearer, token: '${KEY}{user}'}", code: fault.Malformed},
		{auth: "{type: bearer, token: '${UNDECLARED}'}", code: fault.Malformed},
		{auth: "{type: bearer, token: {secret: HOME}}", code: fault.Malformed},
		{auth: "{type: bearer, token: {secret: key}}", code: fault.Malformed},
		{auth: "{type: bearer}", code: fault.Malformed},
		{auth: "{type: bearer, tokn: '${KEY}'}", code: fault.Malformed},
		{auth: "{type: digest}", code: fault.Malformed},
		{auth: "{type: api_key, key: '${KEY}', query: a, header: b}", code: fault.Malformed},
		{auth: "{type: basic, password: '${KEY}'}", code: fault.Malformed},
		{auth: "bearer", code: fault.Malformed},
	} {
		p := w.httpTool(fmt.Sprintf("acme/auth%d", i), props+"env_config: {env: {KEY: ''}}\nconfig: {url: 'https://example.org', auth: "+c.auth+"}")
		for _, vars := range [][]string{{"KEY=canary"}, nil} {
			r, err := w.request(p, `{"user":"x"}`, vars...)
			var header, query, basic string
			for _, f := range r.Header {
				header += f.Name + ": " + f.Value.String()
			}
			for _, f := range r.Query {
				query += f.Name + ": " + f.Value.String()
			}
			if r.Auth != nil {
				basic = r.Auth.User.String() + ":" + r.Auth.Password.String()
			}
			if fault.CodeOf(err) != c.code || header != c.header || query != c.query || basic != c.basic {
				t.Errorf("%s: %q %q %q, %v", c.auth, header, query, basic, err)
			}
			if want := map[bool]fault.Code{true: fault.Auth}[vars == nil && header+query+basic != ""]; err == nil && fault.CodeOf(web.Check(r, web.Options{Secrets: map[string]string{"KEY": strings.TrimPrefix(strings.Join(vars, ""), "KEY=")}})) != want {
				t.Errorf("%s with %v: Check is not %q", c.auth, vars, want)
			}
		}
	}
	p = w.httpTool("acme/default", "env_config: {env: {KEY: ''}}\nconfig: {url: 'https://example.org', auth: {type: bearer, token: '${KEY:-none}'}}")
	if r, err := w.request(p, `{}`); err != nil || r.Header[0].Value.String() != "Bearer none" {
		t.Errorf("a default: %+v, %v", r.Header, err)
	}
}

// TestRequestHost: who may say where a request goes.
func TestRequestHost(t *testing.T) {
	w := newWorld(t)
	const any, some, none = "needs: {net: true}\n", "needs: {net: ['a.example.org', 'b.example.org:8080']}\n", "needs: {net: false}\n"
	schema := "config_schema: {type: object, properties: {h: {}, p: {}}}\nenv_config: {env: {TOKEN: '', BASE: 'https://a.example.org'}}\n"
	for i, c := range []struct {
		needs, url, params string
		code               fault.Code
	}{
		{"", "https://a.example.org/{p}", `{"p":"x"}`, ""},
		{"", "https://{h}/", `{"h":"a.example.org"}`, fault.Denied},
		{"", "https://{h}.example.org/", `{"h":"a"}`, fault.Denied},
		{"", "{h}", `{"h":"https://a.example.org/x"}`, fault.Denied},
		{"", "{h}/x", `{"h":"https://a.example.org"}`, fault.Denied},
		{"", "https://a.example.org{h}/", `{"h":"@evil.example.org"}`, fault.Denied},
		{"", "https://a.example.org:{h}/", `{"h":"80"}`, fault.Denied},
		{"", "{p}://a.example.org/", `{"p":"http"}`, fault.Denied},
		{"", "https://{fixed}/", `{}`, ""},
		{"", "https://{fixed}/", `{"fixed":"evil.example.org"}`, fault.Denied},
		{"", "{params_json}", `{"a":"https://"}`, fault.Denied},
		{any, "{h}", `{"h":"https://a.example.org/x"}`, ""},
		{any, "{h}", `{"h":"ftp://a.example.org/x"}`, fault.Usage},
		{any, "{h}", `{"h":"http://127.0.0.1/"}`, fault.Denied},
		{any, "{h}", `{"h":"http://169.254.169.254/latest"}`, fault.Denied},
		{some, "https://{h}/", `{"h":"a.example.org"}`, ""},
		{some, "http://{h}/", `{"h":"b.example.org:8080"}`, ""},
		{some, "https://{h}/", `{"h":"c.example.org"}`, fault.Denied},
		{some, "https://{h}/", `{"h":"a.example.org:444"}`, fault.Denied},
		{some, "https://{h}/", `{"h":"c.example.org/.a.example.org"}`, fault.Denied},
		{some, "https://{h}.example.org/", `{"h":"evil.org/x?y="}`, fault.Denied},
		{some, "https://a.example.org{h}", `{"h":"@evil.org"}`, fault.Usage},
		{some, "https://c.example.org/", `{}`, fault.Denied},
		{none, "https://a.example.org/", `{}`, fault.Denied},
		{"", "https://a.example.org/?k=${TOKEN}", `{}`, fault.Malformed},
		{"", "${BASE}/{p}", `{"p":"x"}`, ""},
		{"", "", `{}`, fault.Malformed},
	} {
		p := w.httpTool(fmt.Sprintf("acme/h%d", i), c.needs+schema+fmt.Sprintf("config: {url: %q, fixed: a.example.org}", c.url))
		r, err := w.request(p, c.params)
		if err == nil {
			err = web.Check(r, web.Options{})
		}
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s%s %s: %s, %v; want %q", c.needs, c.url, c.params, r.URL, err, c.code)
		}
	}
	// A registry's tool that is silent speaks to the host in its own url, and to no other.
	path, text := yamlTool("other/tool", "rye/core/primitives/http_client", "config: {url: 'https://api.other.org/x'}\n")
	w.publish(path, text)
	if r, err := w.request(w.plan("other/tool"), `{}`); err != nil || r.Hosts != nil || web.Check(r, web.Options{}) != nil {
		t.Errorf("hosts %q, %v", r.Hosts, err)
	}
}

func TestRequestRefuses(t *testing.T) {
	w := newWorld(t)
	for i, config := range []string{
		"method: 1", "query: x", "headers: [a]", "headers: {a: [[b]]}", "headers: {a: {b: c}}", "body: a, form: {b: c}", "form: [x]", "redirects: 11", "redirects: -1",
		"redirects: x", "max_bytes: 0", "max_bytes: 67108865", "mode: both", "connect_timeout: 0", "retry: 3", "retry: {max_attempts: 11}", "retry: {max_attempt: 2}",
		"retry: {statuses: [200]}", "retry: {backoff: quick}", "retry: {base: -1}", "retry: {idempotent: 1}",
		"headers: {Authorization: Bearer abc}", "headers: {cookie: a=b}", "headers: {Authorization: 'Bearer {user}'}",
	} {
		p := w.httpTool(fmt.Sprintf("acme/r%d", i), props+"config: {url: 'https://example.org', "+config+"}")
		if r, err := w.request(p, `{"user":"x"}`); !fault.Is(err, fault.Malformed) {
			t.Errorf("%s: %+v, %v", config, r, err)
		}
	}
	p := w.httpTool("acme/header", props+"config: {url: 'https://example.org', headers: {X: '{user}'}}")
	r, err := w.request(p, `{"user":"a\r\nX-Evil: 1"}`)
	if err == nil {
		err = web.Check(r, web.Options{})
	}
	if !fault.Is(err, fault.Usage) {
		t.Errorf("a header in a header: %v", err)
	}
}

// TestHTTPRuntime: the runtime's repetitions are a tool's until it says otherwise.
func TestHTTPRuntime(t *testing.T) {
	w := newWorld(t)
	p, text := yamlTool("acme/run", "rye/core/runtimes/http_runtime", "config: {url: 'https://example.org'}\n")
	w.add(objects.Project, p, text)
	r, err := w.request(w.plan("acme/run"), `{}`)
	if err != nil || r.Retry.Attempts != 3 || r.Whole.Seconds() != 60 || r.Retry.Max.Seconds() != 20 || r.Method != "GET" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReadResponse(t *testing.T) {
	for name, c := range map[string]struct {
		r    web.Response
		ok   bool
		err  string
		data string
	}{
		"json":      {web.Response{Status: 200, Body: []byte(` {"a":1.10} `)}, true, "", `{"body":{"a":1.10},"headers":null,"status_code":200}`},
		"text":      {web.Response{Status: 302, Body: []byte("<a>")}, true, "", `{"body":"<a>","headers":null,"status_code":302}`},
		"cut json":  {web.Response{Status: 200, Body: []byte(`{}`), Truncated: true}, true, "", `{"body":"{}","headers":null,"status_code":200}`},
		"cut rune":  {web.Response{Status: 200, Body: []byte("a\xc3"), Truncated: true}, true, "", `{"body":"a","headers":null,"status_code":200}`},
		"bytes":     {web.Response{Status: 200, Body: []byte{0xff, 0}}, true, "", `{"body_base64":"/wA=","headers":null,"status_code":200}`},
		"not found": {web.Response{Status: 404, Body: []byte("x")}, false, "answered 404 Not Found", `{"body":"x","headers":null,"status_code":404}`},
		"words":     {web.Response{Status: 429, Body: []byte(`{"error":{"message":"slow down"}}`)}, false, "answered 429 Too Many Requests: slow down", `{"body":{"error":{"message":"slow down"}},"headers":null,"status_code":429}`},
		"stream":    {web.Response{Status: 200, Streamed: true, Count: 2, Events: []web.Event{{Type: "message", Data: "x"}}}, true, "", `{"events":[{"event":"message","data":"x"}],"headers":null,"status_code":200,"stream_events_count":2}`},
		"no events": {web.Response{Status: 200, Streamed: true}, true, "", `{"events":[],"headers":null,"status_code":200,"stream_events_count":0}`},
	} {
		got := ReadResponse(&c.r)
		if got.OK != c.ok || got.Error != c.err || string(got.Data) != c.data {
			t.Errorf("%s: %v %q %s", name, got.OK, got.Error, got.Data)
		}
	}
}

// FuzzRequest: no parameter leaves its place in a URL, a header or a body.
func FuzzRequest(f *testing.F) {
	w := newWorld(f)
	p := w.httpTool("acme/fuzz", props+`
config: {url: "https://api.example.org/a/{user}/b?c={text}", query: {q: "{text}"}, headers: {X-A: "v {text}"}, body: {t: "{text}", s: "x{user}y"}, method: PUT}
`)
	f.Add("a/b", "c&d")
	f.Add("..", "\r\nX: y")
	f.Add("${HOME}", `{"user"}`)
	f.Fuzz(func(t *testing.T, user, text string) {
		params, _ := json.Marshal(map[string]string{"user": user, "text": text})
		var sent map[string]string
		if json.Unmarshal(params, &sent) != nil {
			t.Skip()
		}
		user, text = sent["user"], sent["text"]
		checked, err := p.Check(params)
		if err != nil {
			t.Skip()
		}
		r, err := p.Request(Inputs{Params: checked})
		if err != nil {
			return
		}
		u, err := url.Parse(r.URL)
		if err != nil || u.Host != "api.example.org" || u.Fragment != "" || u.User != nil {
			t.Fatalf("%q %q: url %s, %v", user, text, r.URL, err)
		}
		if u.Path != "/a/"+user+"/b" || strings.Count(u.EscapedPath(), "/") != 3 || u.Query().Get("c") != text || len(u.Query()) != 1 {
			t.Fatalf("%q %q: url %s", user, text, r.URL)
		}
		var body map[string]string
		if err := json.Unmarshal([]byte(r.Body.String()), &body); err != nil || len(body) != 2 || body["t"] != text || body["s"] != "x"+user+"y" {
			t.Fatalf("%q %q: body %s, %v", user, text, r.Body, err)
		}
		if err := web.Check(r, web.Options{}); err == nil && strings.ContainsAny(r.Header[0].Value.String(), "\r\n\x00") {
			t.Fatalf("%q: header %q passes", text, r.Header[0].Value)
		}
	})
}
