package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

// local lets a test speak to its own servers, and nothing else.
func local(_ string, to netip.AddrPort) bool { return to.Addr() == netip.MustParseAddr("127.0.0.1") }

func get(u string) Request { return Request{Method: "GET", URL: u, Hosts: []string{"*"}, Redirects: 5} }

func do(t *testing.T, r Request, o Options) (*Response, error) {
	t.Helper()
	if o.Allow == nil {
		o.Allow = local
	}
	return Do(context.Background(), r, o)
}

func must(t *testing.T, r Request, o Options) *Response {
	t.Helper()
	res, err := do(t, r, o)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return res
}

func refused(t *testing.T, r Request, o Options, code fault.Code, words string) {
	t.Helper()
	if _, err := do(t, r, o); !fault.Is(err, code) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s %s: %v (%s), want %s with %q", r.Method, r.URL, err, fault.CodeOf(err), code, words)
	}
}

func TestExchange(t *testing.T) {
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.Header().Set("Set-Cookie", "session=1")
		w.WriteHeader(418)
		json.NewEncoder(w).Encode([]any{r.Method, r.RequestURI, r.Header.Get("X-Own"), r.Header.Get("Content-Type"), string(body), r.Header.Get("Cookie"), r.UserAgent()})
	}))
	r := Request{Method: "PUT", URL: u + "/a%2Fb?x=1#frag", Query: []Field{{"q", Literal("ü &=")}}, Header: []Field{{"X-Own", Literal("v")}}, Body: Literal("{}"), Type: "application/json"}
	res := must(t, r, Options{})
	if got, want := string(res.Body), `["PUT","/a%2Fb?x=1\u0026q=%C3%BC+%26%3D","v","application/json","{}","","rye"]`+"\n"; res.Status != 418 || got != want {
		t.Errorf("%d %s, want %s", res.Status, got, want)
	}
	if res.Header["x-two"] != "a, b" || res.Header["set-cookie"] != "" || res.Truncated {
		t.Errorf("response %+v", res)
	}
}

func TestRefusedRequests(t *testing.T) {
	for u, want := range map[string]fault.Code{
		"ftp://example.org/": fault.Usage, "file:///etc/passwd": fault.Usage, "unix:///run/docker.sock": fault.Usage, "//example.org/": fault.Usage,
		"http:example.org": fault.Usage, "http://": fault.Usage, "http:///x": fault.Usage, "https://user:geheim@example.org/": fault.Usage,
		"http://a b/": fault.Usage, "http://a\r\nb/": fault.Usage, "http://a\\@b/": fault.Usage, "http://[fe80::1%25eth0]/": fault.Usage,
		"http://h:0/": fault.Usage, "http://h:99999/": fault.Usage, "http://h:x/": fault.Usage, "": fault.Usage, "https://[::1": fault.Usage,
	} {
		err := Check(get(u), Options{})
		if !fault.Is(err, want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v, want %s", u, err, want)
		}
	}
	for _, r := range []Request{
		{Method: "CONNECT", URL: "https://example.org"}, {Method: "get", URL: "https://example.org"}, {URL: "https://example.org"},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"X", Literal("a\r\nY: b")}}},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"X", Literal("a\x00")}}},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"X Y", Literal("a")}}},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"", Literal("a")}}},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"host", Literal("a")}}},
		{Method: "GET", URL: "https://example.org", Header: []Field{{"Transfer-Encoding", Literal("chunked")}}},
		{Method: "GET", URL: "https://example.org", Query: []Field{{"", Literal("a")}}},
	} {
		if err := Check(r, Options{}); !fault.Is(err, fault.Usage) {
			t.Errorf("%+v: %v, want usage", r, err)
		}
	}
	if err := Check(Request{Method: "GET", URL: "https://example.org:8443/"}, Options{}); err != nil {
		t.Errorf("its own host: %v", err)
	}
	if err := Check(Request{Method: "GET", URL: "https://example.org:8443/", Hosts: []string{"example.org"}}, Options{}); !fault.Is(err, fault.Denied) {
		t.Errorf("another port: %v", err)
	}
}

// TestLimits: answers without end, in every place where they can have none.
func TestLimits(t *testing.T) {
	var sent atomic.Int64
	gone := make(chan struct{}, 8)
	endless := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for r.Context().Err() == nil {
			n, err := w.Write(chunk)
			if sent.Add(int64(n)); err != nil || sent.Load() > 64<<20 {
				break
			}
		}
		gone <- struct{}{}
	}))
	r := get(endless)
	r.MaxBody = 100_000
	if res := must(t, r, Options{}); len(res.Body) != 100_000 || !res.Truncated {
		t.Errorf("%d bytes, truncated %v", len(res.Body), res.Truncated)
	}
	<-gone
	if sent.Load() > 32<<20 {
		t.Errorf("%d bytes were sent to somebody who keeps 100,000", sent.Load())
	}

	huge := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1073741824")
		io.CopyN(w, zeros{}, 1<<30)
	}))
	if res := must(t, get(huge), Options{}); len(res.Body) != DefaultBody || !res.Truncated {
		t.Errorf("1 GB: %d bytes, truncated %v", len(res.Body), res.Truncated)
	}

	bomb := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, 9)
		io.CopyN(z, zeros{}, 64<<20)
		z.Close()
	}))
	r = get(bomb)
	r.MaxBody = 1 << 20
	if res := must(t, r, Options{}); len(res.Body) != 1<<20 || !res.Truncated {
		t.Errorf("gzip bomb: %d bytes, truncated %v", len(res.Body), res.Truncated)
	}

	refused(t, get(raw(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("y", 1000)); err != nil {
				return
			}
		}
	})), Options{}, fault.Network, "")
	refused(t, get(raw(t, func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"); err != nil {
				return
			}
		}
	})), Options{}, fault.Network, "")
	refused(t, get(raw(t, func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n") })), Options{}, fault.Network, "")
	short := get(raw(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") }))
	refused(t, short, Options{}, fault.Network, "unexpected EOF")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// raw is a server that speaks as it likes.
func raw(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4096))
			talk(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func TestTimes(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	silent := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			io.WriteString(w, "x")
			w.(http.Flusher).Flush()
		}
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	for _, c := range []struct {
		path               string
		whole, first, idle time.Duration
		code               fault.Code
		words              string
	}{
		{"/", 30 * time.Millisecond, 0, 0, fault.Limit, "no complete answer within 30ms"},
		{"/begun", 30 * time.Millisecond, 0, 0, fault.Limit, "no complete answer"},
		{"/", time.Minute, 30 * time.Millisecond, 0, fault.Network, "timeout"},
		{"/begun", time.Minute, 0, 30 * time.Millisecond, fault.Network, "no data for 30ms"},
	} {
		r := get(silent + c.path)
		r.Whole, r.First, r.Idle = c.whole, c.first, c.idle
		refused(t, r, Options{}, c.code, c.words)
	}
	for _, path := range []string{"/", "/begun"} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(20*time.Millisecond, cancel)
		if _, err := Do(ctx, get(silent+path), Options{Allow: local}); !fault.Is(err, fault.Interrupt) {
			t.Errorf("%s cancelled: %v", path, err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	refused(t, get("http://"+l.Addr().String()), Options{}, fault.Network, "refused")
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if res := must(t, get(s.URL), Options{Roots: roots}); string(res.Body) != "HTTP/2.0" {
		t.Errorf("body %q", res.Body)
	}
	refused(t, get(s.URL), Options{Roots: x509.NewCertPool()}, fault.Network, "certificate")
	refused(t, get(strings.Replace(s.URL, "127.0.0.1", "localhost", 1)), Options{Roots: roots}, fault.Network, "localhost") // not its name

	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = s.Config.ErrorLog
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	roots.AddCert(old.Certificate())
	refused(t, get(old.URL), Options{Roots: roots}, fault.Network, "protocol version")
}

const canary = "sk-canary/+%\"1234"

// TestSecrets: a secret reaches its server and nothing else.
func TestSecrets(t *testing.T) {
	var seen atomic.Value
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		user, pass, _ := r.BasicAuth()
		seen.Store(strings.Join([]string{r.Header.Get("X-Key"), r.URL.Query().Get("key"), string(body), user, pass}, "|"))
		w.Header().Set("X-Echo", r.Header.Get("X-Key")+r.RequestURI)
		fmt.Fprintf(w, "%v %s %s", r.Header, r.RequestURI, body) // repeats what it was told
	}))
	r := get(u + "/p?a=b")
	r.Method, r.Type = "POST", "application/json"
	r.Header = []Field{{"X-Key", Text{{Literal: "Key "}, {Secret: "KEY"}}}}
	r.Query = []Field{{"key", Text{{Secret: "KEY"}}}}
	r.Body = Text{{Literal: `{"k":"`}, {Secret: "KEY", As: JSON}, {Literal: `"}`}}
	r.Auth = &Basic{User: Literal("me"), Password: Text{{Secret: "KEY"}}}
	o := Options{Secrets: map[string]string{"KEY": canary}}
	res := must(t, r, o)
	if got, want := seen.Load(), "Key "+canary+"|"+canary+`|{"k":"sk-canary/+%\"1234"}|me|`+canary; got != want {
		t.Errorf("the server saw %s, want %s", got, want)
	}
	shown, _ := json.Marshal([]any{r, res})
	for _, text := range []string{string(shown), fmt.Sprintf("%+v %#v", r, r), fmt.Sprintf("%+v", res), string(res.Body)} {
		if strings.Contains(text, "canary") || strings.Contains(text, "bWU6c2s") {
			t.Errorf("a secret shows: %s", text)
		}
	}
	if !strings.Contains(string(res.Body), "[secret KEY]") || !strings.Contains(res.Header["x-echo"], "[secret KEY]") {
		t.Errorf("not redacted: %s %v", res.Body, res.Header)
	}
	o.Secrets = nil
	refused(t, r, o, fault.Auth, "secret KEY is not set")
}

func TestSecretsInErrors(t *testing.T) {
	o := Options{Secrets: map[string]string{"KEY": canary}}
	with := func(u string) Request {
		r := get(u)
		r.Header = []Field{{"X-Key", Text{{Secret: "KEY"}}}}
		r.Query = []Field{{"key", Text{{Secret: "KEY"}}}}
		return r
	}
	var back string
	back = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "gopher://"+r.URL.Query().Get("key"))
		w.WriteHeader(302)
	}))
	for _, u := range []string{back, "http://127.0.0.1:1/", raw(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 "+canary+"\r\n\r\n") })} {
		_, err := do(t, with(u), o)
		if err == nil || strings.Contains(fmt.Sprintf("%+v", err), "canary") || strings.Contains(fault.HintOf(err).String(), "canary") {
			t.Errorf("%s: %v", u, err)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: below: %v", u, err)
			}
		}
	}
	// In clear over the public network: refused before a byte is sent.
	r := with("http://192.0.9.1/")
	refused(t, r, o, fault.Denied, "in clear")
	proxy, _ := url.Parse(back)
	o.Proxy = http.ProxyURL(proxy)
	refused(t, r, o, fault.Denied, "proxy in clear")
}

func TestRetry(t *testing.T) {
	var n atomic.Int32
	var after atomic.Value
	after.Store("")
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := after.Load().(string); v != "" {
			w.Header().Set("Retry-After", v)
		}
		if n.Add(1) < 4 {
			w.WriteHeader(503)
		}
		io.WriteString(w, "end")
	}))
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var waits []time.Duration
	o := Options{Now: func() time.Time { return now }, Jitter: func() float64 { return 0.5 },
		Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); now = now.Add(d); return nil }}
	for name, c := range map[string]struct {
		method, after string
		retry         Retry
		whole         time.Duration
		status, sent  int
		waits         string
	}{
		"none":            {"GET", "", Retry{}, 0, 503, 1, "[]"},
		"exponential":     {"GET", "", Retry{Attempts: 5}, 0, 200, 4, "[750ms 1.5s 3s]"},
		"fixed":           {"GET", "", Retry{Attempts: 5, Fixed: true}, 0, 200, 4, "[750ms 750ms 750ms]"},
		"bounded":         {"GET", "", Retry{Attempts: 5, Max: 1200 * time.Millisecond}, 0, 200, 4, "[750ms 900ms 900ms]"},
		"attempts":        {"DELETE", "", Retry{Attempts: 2}, 0, 503, 2, "[750ms]"},
		"post":            {"POST", "", Retry{Attempts: 5}, 0, 503, 1, "[]"},
		"post, declared":  {"POST", "", Retry{Attempts: 5, Repeatable: true}, 0, 200, 4, "[750ms 1.5s 3s]"},
		"other status":    {"GET", "", Retry{Attempts: 5, Statuses: []int{500}}, 0, 503, 1, "[]"},
		"seconds":         {"GET", "2", Retry{Attempts: 5}, 0, 200, 4, "[2s 2s 2s]"},
		"date":            {"GET", "Fri, 20 Nov 2026 12:00:07 GMT", Retry{Attempts: 3}, 0, 503, 3, "[7s 0s]"},
		"patience":        {"GET", "61", Retry{Attempts: 5}, 2 * time.Minute, 503, 1, "[]"},
		"no number":       {"GET", "-3", Retry{Attempts: 2}, 0, 503, 2, "[750ms]"},
		"out of all time": {"GET", "99999999999999999999", Retry{Attempts: 5}, 0, 503, 1, "[]"},
		"time is up":      {"GET", "20", Retry{Attempts: 5}, 30 * time.Second, 503, 2, "[20s]"},
	} {
		n.Store(0)
		after.Store(c.after)
		waits = []time.Duration{}
		now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		r := get(u)
		r.Method, r.Retry, r.Whole = c.method, c.retry, c.whole
		res := must(t, r, o)
		if res.Status != c.status || int(n.Load()) != c.sent || fmt.Sprint(waits) != c.waits {
			t.Errorf("%s: status %d, sent %d, waits %v; want %d, %d, %s", name, res.Status, n.Load(), waits, c.status, c.sent, c.waits)
		}
	}
	// A request that never left may be sent again, whatever it is; one that left may not.
	waits = nil
	r := get("http://127.0.0.1:1/")
	r.Method, r.Retry.Attempts = "POST", 3
	if _, err := do(t, r, o); !fault.Is(err, fault.Network) || len(waits) != 2 {
		t.Errorf("refused connection: %v, waits %v", err, waits)
	}
	waits = nil
	r.URL = raw(t, func(net.Conn) {})
	if _, err := do(t, r, o); !fault.Is(err, fault.Network) || len(waits) != 0 {
		t.Errorf("a post that was read: %v, waits %v", err, waits)
	}
	waits = nil
	r.URL = "http://127.0.0.2:1/"
	if _, err := do(t, r, o); !fault.Is(err, fault.Denied) || len(waits) != 0 {
		t.Errorf("a refused address: %v, waits %v", err, waits)
	}
}

// TestPages: what a page says is worked out by whoever was given, only where it is a page
// and that was asked for; and a secret that only the text spells out is taken out of it.
func TestPages(t *testing.T) {
	kind := "text/html; charset=latin1"
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, "<p>hun<b></b>ter2</p>")
	}))
	var asked []Page
	o := Options{Secrets: map[string]string{"PW": "hunter2"}, Page: func(_ context.Context, p Page) ([]byte, error) {
		asked = append(asked, p)
		return []byte("hunter2\n"), nil
	}}
	r := get(u)
	r.Header = []Field{{"X-Key", Text{{Secret: "PW"}}}}
	for _, c := range []struct {
		format       Format
		kind, want   string
		asks, asText bool
	}{
		{"", "text/html", "<p>hun<b></b>ter2</p>", false, false},
		{HTML, "text/html", "<p>hun<b></b>ter2</p>", false, false},
		{Markdown, "application/json", "<p>hun<b></b>ter2</p>", false, false},
		{Markdown, "text/html; charset=latin1", "[secret PW]\n", true, false},
		{AsText, "application/xhtml+xml", "[secret PW]\n", true, true},
	} {
		r.Convert, kind, asked = c.format, c.kind, nil
		if got := string(must(t, r, o).Body); got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.format, c.kind, got, c.want)
		}
		if (len(asked) == 1) != c.asks || c.asks && (asked[0].Markdown == c.asText || asked[0].Base != u) {
			t.Errorf("%s of %s: asked %+v", c.format, c.kind, asked)
		}
	}
	r.Convert, o.Page = AsText, nil
	refused(t, r, o, fault.Failed, "cannot turn a page into text")
}
