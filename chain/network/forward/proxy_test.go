package forward

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// served is a world whose servers answer each HTTP request with what they got, and its proxy.
func served(t *testing.T, o Options, names map[string][]string) (w *world, f *Forwarder, at string) {
	t.Helper()
	w = &world{names: names}
	w.serve = func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(r.Body)
			text := fmt.Sprintf("%s %s host=%s body=%s %v", r.Method, r.RequestURI, r.Host, body, r.Header)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		}
	}
	o.Lookup, o.Dial, o.Own = w.lookup, w.dial, func() []netip.Addr { return nil }
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); w.work.Wait() })
	var all []net.Listener
	for range f.Listen() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	f.Serve(all)
	return w, f, all[len(all)-1].Addr().String()
}

var public = map[string][]string{"a.example.org": {"93.184.215.14"}, "deep.a.example.org": {"93.184.215.15"}, "example.org": {"93.184.215.16"}, "other.org": {"93.184.215.17"}, "in.example.org": {"10.0.0.1"}, "db": {"10.0.0.2"}}

// said writes bytes to the proxy and returns all that it answers. A client that closes its side of a
// plain request has gone away.
func said(t *testing.T, at, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, text)
	if !strings.Contains(text, "http://") {
		conn.(*net.TCPConn).CloseWrite()
	}
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	var b bytes.Buffer
	if _, err := io.Copy(&b, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q: still open after %q", text, b.String())
	}
	return b.String()
}

// TestProxyMatches: a name is matched before it is resolved, in every way to ask, and what leads
// inward is refused whoever asks for it.
func TestProxyMatches(t *testing.T) {
	for _, tc := range []struct {
		host string
		port uint16
		want string // where it leads; "" is refused
	}{
		{"a.example.org", 443, "93.184.215.14:443"},
		{"A.EXAMPLE.org.", 443, "93.184.215.14:443"},
		{"deep.a.example.org", 443, "93.184.215.15:443"},
		{"example.org", 443, ""},
		{"badexample.org", 443, ""},
		{"a.example.org", 80, "93.184.215.14:80"},
		{"a.example.org", 22, ""},
		{"a.example.org.evil.org", 443, ""},
		{"a.example.org..", 443, ""},
		{"other.org", 80, "93.184.215.17:80"},
		{"other.org", 443, ""},
		{"in.example.org", 443, ""},
		{"db", 443, ""},
		{"db", 5432, "10.0.0.2:5432"},
		{"localhost", 80, ""},
		{"127.0.0.1", 80, ""},
		{"127.1", 80, ""},
		{"0x7f000001", 80, ""},
		{"0.0.0.0", 80, ""},
		{"::1", 80, ""},
		{"::ffff:127.0.0.1", 80, ""},
		{"169.254.169.254", 80, ""},
		{"93.184.215.99", 80, "93.184.215.99:80"},
		{"93.184.215.99", 443, ""},
	} {
		for _, way := range []string{"CONNECT", "SOCKS", "GET"} {
			w, f, at := served(t, Options{Needs: []string{"*.example.org", "*:80", "db:5432"}}, public)
			joined := net.JoinHostPort(tc.host, fmt.Sprint(tc.port))
			var got string
			switch way {
			case "CONNECT":
				got = said(t, at, "CONNECT "+joined+" HTTP/1.1\r\nHost: elsewhere\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
			case "SOCKS":
				ask := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(tc.host))}, tc.host...)
				got = said(t, at, string(append(ask, byte(tc.port>>8), byte(tc.port)))+"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			case "GET":
				got = said(t, at, "GET http://"+joined+"/path HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n\r\n")
			}
			if dialed := strings.Join(w.dialed, " "); dialed != tc.want || strings.Contains(got, " host=") != (tc.want != "") {
				t.Errorf("%s %s: dialled %q, want %q; answer %q", way, joined, dialed, tc.want, got)
			}
			if tc.want == "" && len(w.asked) > 0 && tc.host != "in.example.org" && tc.host != "localhost" {
				t.Errorf("%s %s: asked a name server for %q", way, joined, w.asked)
			}
			f.Close()
		}
	}
}

// TestRebuilt: a request that is no tunnel is written anew. Headers for the proxy are gone, the
// address names the host, and what two servers may read differently is refused or made one.
func TestRebuilt(t *testing.T) {
	_, f, at := served(t, Options{Needs: []string{"*:80"}}, public)
	got := said(t, at, "POST http://a.example.org/p?q=1 HTTP/1.1\r\nHost: other.org\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nX-Kept: yes\r\nConnection: close, X-Gone\r\nX-Gone: 1\r\nContent-Length: 4\r\n\r\nbody")
	if !strings.Contains(got, "POST /p?q=1 host=a.example.org body=body") || !strings.Contains(got, "X-Kept") || strings.Contains(got, "Proxy") || strings.Contains(got, "c2VjcmV0") || strings.Contains(got, "X-Gone") || strings.Contains(got, "Forwarded") {
		t.Errorf("rebuilt: %q", got)
	}
	for name, text := range map[string]string{
		"two lengths":           "POST http://a.example.org/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
		"a length and chunks":   "POST http://a.example.org/ HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET http://other.org/smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
		"an unknown encoding":   "POST http://a.example.org/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"a space before :":      "GET http://a.example.org/ HTTP/1.1\r\nHost : smuggled\r\n\r\n",
		"two hosts":             "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"no address":            "GET /smuggled HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
		"https in clear":        "GET https://a.example.org/smuggled HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
		"a file":                "GET file:///etc/passwd HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
		"a user":                "GET http://a@a.example.org/smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"a tunnel to a path":    "CONNECT /smuggled HTTP/1.1\r\nHost: a.example.org:80\r\n\r\n",
		"a tunnel without port": "CONNECT a.example.org HTTP/1.1\r\nHost: a.example.org:80\r\n\r\n",
		"a long header":         "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + strings.Repeat("smuggled", 20_000) + "\r\n\r\n",
		"HTTP/2":                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"SOCKS 4":               "\x04\x01\x00\x50\x5d\xb8\xd7\x0e\x00",
		"SOCKS with a password": "\x05\x01\x02",
		"SOCKS that listens":    "\x05\x01\x00\x05\x02\x00\x01\x5d\xb8\xd7\x0e\x00\x50",
		"SOCKS over UDP":        "\x05\x01\x00\x05\x03\x00\x01\x5d\xb8\xd7\x0e\x00\x50",
		"SOCKS without a name":  "\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50",
		"TLS":                   "\x16\x03\x01\x00\x05hello",
		"nothing":               "",
	} {
		if got := said(t, at, text); strings.Contains(got, "smuggled") || strings.Contains(got, "200 OK") && name != "a length and chunks" {
			t.Errorf("%s: %q", name, got)
		}
	}
	f.Close()
	for _, u := range f.Uses() {
		if u.Host != "a.example.org" || u.Port != 80 {
			t.Errorf("it also reached %+v", u)
		}
	}
}

// TestRedirect: the proxy follows no redirect. The client does, and asks again.
func TestRedirect(t *testing.T) {
	w, _, at := served(t, Options{Needs: []string{"*.example.org:80"}}, public)
	w.serve = func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n")
		}
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: at}), DisableKeepAlives: true}}
	res, err := client.Get("http://a.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "rye refused the connection") || strings.Join(w.dialed, " ") != "93.184.215.14:80" {
		t.Errorf("%d %s, dialled %v", res.StatusCode, text, w.dialed)
	}
}

// TestProxyUses: the report has the bytes of every way, and a refusal names the host.
func TestProxyUses(t *testing.T) {
	_, f, at := served(t, Options{Needs: []string{"*.example.org:80"}}, public)
	said(t, at, "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	said(t, at, "CONNECT deep.a.example.org:80 HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
	said(t, at, "CONNECT evil.org:80 HTTP/1.1\r\nHost: a\r\n\r\n")
	f.Close()
	uses := f.Uses()
	if len(uses) != 2 || uses[0].Host != "a.example.org" || uses[0].Sent < 30 || uses[0].Received < 60 || uses[1].Host != "deep.a.example.org" || uses[1].Sent != 27 || uses[1].Received < 60 {
		t.Errorf("uses: %+v", uses)
	}
	if m := f.Misses(); len(m) != 1 || m[0] != (Miss{Host: "evil.org", Port: 80, Why: "its needs do not name it", Refused: true, Unnamed: true}) {
		t.Errorf("misses: %+v", m)
	}
}

// TestSlowClients: clients that say nothing, or little, hold a place for a bounded time only, and
// the end of the run ends them.
func TestSlowClients(t *testing.T) {
	_, f, at := served(t, Options{Needs: []string{"*:80"}}, public)
	for _, text := range []string{"", "\x05", "\x05\x01\x00", "GET http://a.exa", "CONNECT a.example.org:80 HTTP/1.1\r\n", "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\n\r\n"} {
		for range 40 {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, text)
		}
	}
	done := make(chan struct{})
	go func() { f.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a client")
	}
}

func FuzzSocks(f *testing.F) {
	f.Add([]byte("\x05\x01\x00\x05\x01\x00\x03\x0da.example.org\x01\xbb"))
	f.Add([]byte("\x05\x02\x00\x02\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50"))
	one, err := New(Options{Needs: []string{"*.example.org"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, code, err := one.socksRequest(io.Discard, bytes.NewReader(raw))
		if err == nil && code == socksDone && (got.port != 443 || !strings.HasSuffix(got.host, ".example.org") || got.addr.IsValid()) {
			t.Errorf("%q leads to %+v", raw, got)
		}
	})
}
