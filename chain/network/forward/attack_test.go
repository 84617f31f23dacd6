package forward

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// zone is a name server's answers, by name: "CNAME x" or addresses.
type zone map[string]string

// serveNames is a name server over UDP on loopback. It returns a resolver that asks only there, by the
// protocol. Every answer has the time to live 0.
func serveNames(t *testing.T, z zone) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(z.answer(buf[:n]), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers a question (RFC 1035). A chain of aliases is in one answer, as name servers give it.
func (z zone) answer(q []byte) []byte {
	name, end := "", 12
	for end < len(q) && q[end] != 0 {
		name += string(q[end+1:end+1+int(q[end])]) + "."
		end += 1 + int(q[end])
	}
	kind := binary.BigEndian.Uint16(q[end+1:])
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	var records [][]byte
	known := z[name] != ""
	for {
		alias, ok := strings.CutPrefix(z[name], "CNAME ")
		if !ok {
			break
		}
		records = append(records, record(name, 5, packed(alias)))
		name = alias
	}
	for _, text := range strings.Fields(z[name]) {
		a := netip.MustParseAddr(text)
		if a.Is4() && kind == 1 {
			records = append(records, record(name, 1, a.AsSlice()))
		} else if a.Is6() && kind == 28 {
			records = append(records, record(name, 28, a.AsSlice()))
		}
	}
	flags := uint16(0x8180)
	if !known {
		flags |= 3 // no such name
	}
	out := slices.Clone(q[:2])
	for _, n := range []uint16{flags, 1, uint16(len(records)), 0, 0} {
		out = binary.BigEndian.AppendUint16(out, n)
	}
	out = append(out, q[12:end+5]...)
	return append(out, bytes.Join(records, nil)...)
}

func packed(name string) (out []byte) {
	for label := range strings.SplitSeq(name, ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return append(out, 0)
}

func record(name string, kind uint16, data []byte) []byte {
	out := binary.BigEndian.AppendUint16(packed(name), kind)
	out = append(out, 0, 1, 0, 0, 0, 0) // IN, for no time
	return append(binary.BigEndian.AppendUint16(out, uint16(len(data))), data...)
}

// TestNameServer: a real name server's aliases and addresses lead where the rules say, however long the
// chain of aliases is and whichever form an address has.
func TestNameServer(t *testing.T) {
	r := serveNames(t, zone{
		"ok.example.org": "93.184.215.14", "alias.example.org": "CNAME ok.example.org", "six.example.org": "2606:2800:21f::14",
		"in.example.org": "CNAME a.evil.test", "a.evil.test": "CNAME b.evil.test", "b.evil.test": "10.0.0.5",
		"loop.example.org": "CNAME loopback.evil.test", "loopback.evil.test": "127.0.0.1", "meta.example.org": "CNAME m.evil.test", "m.evil.test": "169.254.169.254",
		"mapped.example.org": "::ffff:127.0.0.1", "mapped10.example.org": "::ffff:10.0.0.5", "nat64.example.org": "64:ff9b::7f00:1", "local6.example.org": "::1 fd00::1 fe80::1",
		"both.example.org": "10.0.0.5 93.184.215.14", "zero.example.org": "0.0.0.0", "self.example.org": "93.184.215.1", "db": "CNAME db.evil.test", "db.evil.test": "10.0.0.5", "cloud": "CNAME m.evil.test",
		"10.0.0.5.example.org": "93.184.215.14",
	})
	for host, want := range map[string]string{
		"ok.example.org": "93.184.215.14:443", "alias.example.org": "93.184.215.14:443", "ALIAS.example.org.": "93.184.215.14:443", "six.example.org": "[2606:2800:21f::14]:443",
		"both.example.org": "93.184.215.14:443", "10.0.0.5.example.org": "93.184.215.14:443", "db": "10.0.0.5:443",
		"in.example.org": "its name leads to 10.0.0.5, a private address", "loop.example.org": "its name leads to 127.0.0.1, a loopback address", "meta.example.org": "a cloud metadata address",
		"mapped.example.org": "its name leads to 127.0.0.1, a loopback address", "mapped10.example.org": "a private address", "nat64.example.org": "a loopback address", "local6.example.org": "address",
		"zero.example.org": "its name leads to 0.0.0.0, a this machine address", "self.example.org": "this machine's own", "cloud": "a cloud metadata address",
		"none.example.org": "its name was not resolved: no such host",
	} {
		w := &world{}
		f, err := New(Options{Needs: []string{host, "*.example.org"}, Dial: w.dial, Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("93.184.215.1")} },
			Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) { return r.LookupNetIP(ctx, "ip", name) }})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := f.reach(f.doors[0].to)
		got := strings.Join(w.dialed, " ")
		if err != nil {
			got += err.Error()
		} else {
			conn.Close()
		}
		if got != want && (err == nil || !strings.Contains(got, want) || len(w.dialed) > 0) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
		f.Close()
		w.work.Wait()
	}
}

// TestSmuggling: what reaches a host is one request in one form, whatever two servers could read into the
// client's bytes. A request of which the proxy is not sure reaches nobody.
func TestSmuggling(t *testing.T) {
	const to = "POST http://a.example.org/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
	const hidden = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, text := range map[string]string{
		"length before chunks":      to + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunks before length":      to + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"two encodings":             to + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"encodings in a list":       to + "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + hidden,
		"a folded encoding":         to + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + hidden,
		"a folded header":           to + "X: a\r\n b: c\r\nContent-Length: 0\r\n\r\n" + hidden,
		"an encoding after a tab":   to + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + hidden,
		"a control in an encoding":  to + "Transfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n\r\n" + hidden,
		"line feeds alone":          strings.ReplaceAll(to, "\r\n", "\n") + "Content-Length: 0\n\n" + hidden,
		"a line feed in a header":   to + "X: a\nGET /smuggled HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		"a return in a header":      to + "X: a\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n" + hidden,
		"a length with a sign":      to + "Content-Length: +0\r\n\r\n" + hidden,
		"lengths in a list":         to + "Content-Length: 0, 0\r\n\r\n" + hidden,
		"a negative length":         to + "Content-Length: -1\r\n\r\n" + hidden,
		"a chunk of a huge length":  to + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n" + hidden,
		"a chunk with line feeds":   to + "Transfer-Encoding: chunked\r\n\r\n0\n\n" + hidden,
		"a chunk's extension":       to + "Transfer-Encoding: chunked\r\n\r\n0;\ngarbage\r\n\r\n" + hidden,
		"a trailer":                 to + "Transfer-Encoding: chunked\r\nTrailer: Host\r\n\r\n0\r\nHost: smuggled\r\n\r\n",
		"a blank in an address":     "GET http://a.example.org/ /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"a line end in an address":  "GET http://a.example.org/%0d%0aHost:%20smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"two hosts":                 "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nHost: smuggled\r\nConnection: close\r\n\r\n",
		"a host in two spellings":   "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nHOST: smuggled\r\nConnection: close\r\n\r\n",
		"a header before the first": "GET http://a.example.org/ HTTP/1.1\r\n Host: smuggled\r\nHost: a\r\nConnection: close\r\n\r\n",
		"an upgrade to HTTP/2":      "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
	} {
		var raw bytes.Buffer
		var mu sync.Mutex
		w, f, at := served(t, Options{Needs: []string{"*:80"}}, public)
		w.serve = func(c net.Conn) {
			in := bufio.NewReader(io.TeeReader(c, &locked{&mu, &raw}))
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			io.Copy(io.Discard, in)
		}
		said(t, at, text)
		f.Close()
		w.work.Wait()
		if raw.Len() == 0 {
			continue // refused
		}
		head, _, _ := strings.Cut(raw.String(), "\r\n\r\n")
		sent := bufio.NewReader(&raw)
		r, err := http.ReadRequest(sent)
		if err != nil {
			t.Errorf("%s: the host gets %q, %v", name, head, err)
			continue
		}
		io.Copy(io.Discard, r.Body)
		rest, _ := io.ReadAll(sent)
		lengths, chunks := strings.Count(strings.ToLower(head), "\r\ncontent-length:"), strings.Count(strings.ToLower(head), "\r\ntransfer-encoding:")
		if len(rest) > 0 || lengths+chunks > 1 || r.Host != "a.example.org" || strings.Contains(strings.ReplaceAll(head, "\r\n", ""), "\n") || strings.Contains(head, "\r\n ") || strings.Contains(head, "\r\n\t") || strings.HasPrefix(r.URL.Path, "/smuggled") || r.Header.Get("Upgrade") != "" {
			t.Errorf("%s: the host gets %q, and then %q", name, head, rest)
		}
	}
}

// locked is a writer for several goroutines.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// TestTunnelIsOpaque: a tunnel carries any protocol to the one host that it was asked for. A request to
// the proxy inside it is the host's to read, and the proxy follows none.
func TestTunnelIsOpaque(t *testing.T) {
	for _, inner := range []string{"SSH-2.0-client\r\n\x00\x01\xff", "CONNECT localhost:80 HTTP/1.1\r\nHost: x\r\n\r\n", "GET HTTP://other.org/ HTTP/1.1\r\nHost: x\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x03\x09localhost\x00\x50", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} {
		for way, ask := range map[string]string{"CONNECT": "CONNECT a.example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", "SOCKS": "\x05\x01\x00\x05\x01\x00\x03\x0da.example.org\x01\xbb"} {
			w, f, at := served(t, Options{Needs: []string{"*.example.org"}}, public)
			w.serve = func(c net.Conn) {
				raw, _ := io.ReadAll(c)
				fmt.Fprintf(c, "got %q", raw)
			}
			if got := said(t, at, ask+inner); !strings.HasSuffix(got, fmt.Sprintf("got %q", inner)) {
				t.Errorf("%s of %q: %q", way, inner, got)
			}
			f.Close()
			if dialed := strings.Join(w.dialed, " "); dialed != "93.184.215.14:443" {
				t.Errorf("%s of %q: dialled %s", way, inner, dialed)
			}
		}
	}
}

// TestEndInTheMiddle: when the forwarder ends while connections last, clients see the end at once, later
// ones are refused, and nothing is dialled any more.
func TestEndInTheMiddle(t *testing.T) {
	w, f, at := served(t, Options{Needs: []string{"*:80"}}, public)
	arrived := make(chan struct{}, 8)
	w.serve = func(c net.Conn) {
		c.Read(make([]byte, 1))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhalf")
		arrived <- struct{}{}
		io.Copy(io.Discard, c)
	}
	ended := make(chan error, 3)
	for _, ask := range []string{"CONNECT a.example.org:80 HTTP/1.1\r\nHost: a\r\n\r\nx", "\x05\x01\x00\x05\x01\x00\x03\x0da.example.org\x00\x50x", "GET http://a.example.org/ HTTP/1.1\r\nHost: a\r\n\r\n"} {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, ask)
		go func() {
			_, err := io.Copy(io.Discard, conn)
			ended <- err
		}()
		<-arrived
	}
	begun := time.Now()
	f.Close()
	for range 3 {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("a client still waits")
		}
	}
	if d := time.Since(begun); d > 2*time.Second {
		t.Errorf("the end took %v", d)
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		conn.Close()
		t.Error("somebody still listens")
	}
	if len(w.dialed) != 3 {
		t.Errorf("dialled %v", w.dialed)
	}
	if uses := f.Uses(); len(uses) != 1 || uses[0].Conns != 3 || uses[0].Received < 3*4 {
		t.Errorf("the report has %+v", uses)
	}
}

// TestUpstream: each kind of a user's proxy is used with its password, over TLS where its address says
// so. A refusal, a wrong password and a foreign certificate are named, and never the password.
func TestUpstream(t *testing.T) {
	const password = "s3cr3t of bob"
	asked := make(chan string, 10)
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		login := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		if _, p, _ := login.BasicAuth(); p != password {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		asked <- r.Method + " " + r.Host
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nfar")
	})
	plain, secure := httptest.NewServer(front), httptest.NewTLSServer(front)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	plain.Config.ErrorLog, secure.Config.ErrorLog = nil, nil
	socks, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socks.Close() })
	go func() {
		for {
			conn, err := socks.Accept()
			if err != nil {
				return
			}
			go serveSocks(conn, "bob", password, asked)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	login := url.UserPassword("bob", password)
	for _, tc := range []struct {
		scheme, at string
		user       *url.Userinfo
		roots      *x509.CertPool
		why        string // "" is reached
	}{
		{"http", plain.Listener.Addr().String(), login, roots, ""},
		{"https", secure.Listener.Addr().String(), login, roots, ""},
		{"socks5", socks.Addr().String(), login, nil, ""},
		{"socks5h", socks.Addr().String(), login, nil, ""},
		{"http", plain.Listener.Addr().String(), url.UserPassword("bob", "wr0ng"), roots, "it refused the connection: status 407"},
		{"https", secure.Listener.Addr().String(), url.UserPassword("bob", "wr0ng"), roots, "it refused the connection: status 407"},
		{"https", secure.Listener.Addr().String(), login, x509.NewCertPool(), "certificate signed by unknown authority"},
		{"https", plain.Listener.Addr().String(), login, roots, "tls: "},
		{"socks5", socks.Addr().String(), url.UserPassword("bob", "wr0ng"), nil, "it refused the user or the password"},
		{"socks5", socks.Addr().String(), nil, nil, "it offers no way to log in that rye knows"},
		{"ftp", socks.Addr().String(), login, nil, "rye does not speak ftp"},
		{"http", "127.0.0.1:9", login, nil, "refused"},
	} {
		via := &url.URL{Scheme: tc.scheme, Host: tc.at, User: tc.user}
		w := &world{}
		f, err := New(Options{Needs: []string{"far.example.org"}, Upstream: func(string, uint16) *url.URL { return via }, Roots: tc.roots, Lookup: w.lookup, Dial: w.dial})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := f.reach(f.doors[0].to)
		switch {
		case err == nil && tc.why == "":
			raw := make([]byte, 3)
			if _, err := io.ReadFull(conn, raw); err != nil || string(raw) != "far" || <-asked != "CONNECT far.example.org:443" || !f.Proxied() {
				t.Errorf("%s: %q, %v", tc.scheme, raw, err)
			}
			conn.Close()
		case err == nil:
			conn.Close()
			t.Errorf("%s with %s: connected, want %q", tc.scheme, tc.user, tc.why)
		case tc.why == "" || !strings.Contains(err.Error(), tc.why) || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "wr0ng") || !strings.Contains(err.Error(), tc.at):
			t.Errorf("%s: %v, want %q", tc.scheme, err, tc.why)
		}
		if f.Close(); len(w.asked)+len(w.dialed) > 0 {
			t.Errorf("%s: asked %v and dialled %v beside the proxy", tc.scheme, w.asked, w.dialed)
		}
	}
}

// serveSocks is a SOCKS 5 server (RFC 1928) that wants a password (RFC 1929).
func serveSocks(conn net.Conn, user, password string, asked chan<- string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	text := func(n byte) string {
		raw := make([]byte, n)
		io.ReadFull(in, raw)
		return string(raw)
	}
	one := func() byte { return text(1)[0] }
	one()
	if !strings.Contains(text(one()), "\x02") {
		conn.Write([]byte{5, 0xff})
		return
	}
	conn.Write([]byte{5, 2})
	one()
	if u, p := text(one()), text(one()); u != user || p != password {
		conn.Write([]byte{1, 1})
		return
	}
	conn.Write([]byte{1, 0})
	if text(4) != "\x05\x01\x00\x03" {
		return
	}
	host := text(one())
	port := text(2)
	asked <- fmt.Sprintf("CONNECT %s:%d", host, binary.BigEndian.Uint16([]byte(port)))
	conn.Write([]byte{5, 0, 0, 3, 4, 'a', '.', 'b', 'c', 0, 80})
	io.WriteString(conn, "far")
}
