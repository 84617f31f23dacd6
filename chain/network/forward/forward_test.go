package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
)

// world is name servers, and servers that answer with the address at which they were dialled.
type world struct {
	mu     sync.Mutex
	names  map[string][]string // answers by name, one list for each question; the last one stays
	asked  []string
	dialed []string
	serve  func(net.Conn) // nil says the address and closes
	work   sync.WaitGroup
}

func (w *world) lookup(_ context.Context, name string) (all []netip.Addr, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, name)
	key := strings.TrimSuffix(name, ".")
	answers := w.names[key]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	for _, a := range strings.Fields(answers[0]) {
		all = append(all, netip.MustParseAddr(a))
	}
	if len(answers) > 1 {
		w.names[key] = answers[1:]
	}
	return all, nil
}

func (w *world) dial(_ context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed = append(w.dialed, to.String())
	if to.Port() == 9 {
		return nil, errors.New("connection refused")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	there, err := l.Accept()
	if err != nil {
		return nil, err
	}
	w.work.Go(func() {
		defer there.Close()
		if w.serve != nil {
			w.serve(there)
			return
		}
		fmt.Fprint(there, to)
	})
	return here, nil
}

// started is a forwarder whose listeners are at this machine's loopback.
func started(t *testing.T, w *world, o Options) (f *Forwarder, reach func(at string) (string, error)) {
	t.Helper()
	if o.Lookup == nil {
		o.Lookup, o.Dial = w.lookup, w.dial
	}
	if o.Own == nil {
		o.Own = func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("93.184.215.1")} }
	}
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); w.work.Wait() })
	doors := map[netip.AddrPort]string{}
	var all []net.Listener
	for _, a := range f.Listen() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		all, doors[a] = append(all, l), l.Addr().String()
	}
	f.Serve(all)
	return f, func(at string) (string, error) {
		a, err := inside(f, at)
		if err != nil {
			return "", err
		}
		if doors[a] == "" {
			return "", fmt.Errorf("nobody listens at %s", a)
		}
		conn, err := net.Dial("tcp", doors[a])
		if err != nil {
			return "", err
		}
		defer conn.Close()
		raw, err := io.ReadAll(conn)
		return string(raw), err
	}
}

// inside resolves host:port as a program does, by its file of names.
func inside(f *Forwarder, at string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddrPort(at); err == nil {
		return a, nil
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for line := range strings.Lines(string(f.Names())) {
		if w := strings.Fields(line); w[1] == host {
			return netip.ParseAddrPort(net.JoinHostPort(w[0], port))
		}
	}
	return netip.AddrPort{}, fmt.Errorf("no address for %s", host)
}

// TestNamedHosts: each named host has an address of its own, so two of them share a port. What the
// needs do not name has no address, and an address stands for itself.
func TestNamedHosts(t *testing.T) {
	w := &world{names: map[string][]string{"a.example.org": {"93.184.215.14"}, "b.example.org": {"2606:2800:21f::1 93.184.215.15"}, "db": {"10.1.2.3"}, "intra.local": {"100.64.0.9"}}}
	f, reach := started(t, w, Options{Needs: []string{"A.example.org.", "b.example.org", "b.example.org:8443", "db:5432", "localhost:6379", "10.9.9.9:22", "[fd00::7]:22", "127.9.0.1:80", "intra.local:80", "unix"}})
	for at, want := range map[string]string{
		"a.example.org:443": "93.184.215.14:443", "b.example.org:443": "[2606:2800:21f::1]:443", "b.example.org:8443": "[2606:2800:21f::1]:8443",
		"db:5432": "10.1.2.3:5432", "localhost:6379": "127.0.0.1:6379", "10.9.9.9:22": "10.9.9.9:22", "[fd00::7]:22": "[fd00::7]:22", "127.9.0.1:80": "127.9.0.1:80", "intra.local:80": "100.64.0.9:80",
	} {
		if got, err := reach(at); got != want || err != nil {
			t.Errorf("%s leads to %q, %v; want %s", at, got, err, want)
		}
	}
	for _, at := range []string{"a.example.org:80", "b.example.org:22", "c.example.org:443", "10.9.9.8:22"} {
		if got, err := reach(at); err == nil {
			t.Errorf("%s leads to %q", at, got)
		}
	}
	if text := string(f.Names()); !strings.HasPrefix(text, "127.0.0.1 localhost\n") || !strings.Contains(text, "127.9.0.2 a.example.org\nfd72:7965::1 a.example.org\n") {
		t.Errorf("its names:\n%s", text)
	}
	for _, name := range w.asked {
		if strings.Contains(name, ".") != strings.HasSuffix(name, ".") {
			t.Errorf("%q was asked, to which the system may add a domain", name)
		}
	}
	f.Close()
	uses := f.Uses()
	if len(uses) != 9 || uses[0] != (Use{Host: "10.9.9.9", Port: 22, Conns: 1, Received: int64(len("10.9.9.9:22"))}) {
		t.Errorf("uses: %+v", uses)
	}
}

// TestWhereNamesLead: whatever a name server says, a public name leads to public addresses, and
// nothing at all leads to loopback, to the cloud's metadata or to this machine, unless the needs or
// the user's policy say the address.
func TestWhereNamesLead(t *testing.T) {
	allow := func(host string, to netip.AddrPort) bool {
		return to.Addr().String() == "10.7.7.7" && host == "split.example.org"
	}
	deny := func(host string, to netip.AddrPort) bool { return to.Addr().String() == "93.184.215.66" }
	for _, tc := range []struct{ need, answer, want, why string }{
		{"x.example.org", "127.0.0.1", "", "loopback"},
		{"x.example.org", "::1", "", "loopback"},
		{"x.example.org", "10.0.0.1", "", "private"},
		{"x.example.org", "192.168.0.1", "", "private"},
		{"x.example.org", "fd00::1", "", "private"},
		{"x.example.org", "169.254.169.254", "", "metadata"},
		{"x.example.org", "168.63.129.16", "", "metadata"},
		{"x.example.org", "100.100.100.200", "", "shared"},
		{"x.example.org", "fe80::1", "", "link-local"},
		{"x.example.org", "0.0.0.0", "", "this machine"},
		{"x.example.org", "224.0.0.1", "", "multicast"},
		{"x.example.org", "::ffff:10.0.0.1", "", "private"},
		{"x.example.org", "::ffff:127.0.0.1", "", "loopback"},
		{"x.example.org", "64:ff9b::a9fe:a9fe", "", "metadata"},
		{"x.example.org", "64:ff9b::7f00:1", "", "loopback"},
		{"x.example.org", "2002:7f00:1::", "", "6to4"},
		{"x.example.org", "::7f00:1", "", "not public"},
		{"x.example.org", "93.184.215.1", "", "this machine's own"},
		{"x.example.org", "93.184.215.66", "", "the policy denies"},
		{"x.example.org", "10.0.0.1 93.184.215.14", "93.184.215.14:443", ""},
		{"split.example.org", "10.7.7.7", "10.7.7.7:443", ""},
		{"other.example.org", "10.7.7.7", "", "private"},
		{"db", "10.0.0.1", "10.0.0.1:443", ""},
		{"db", "127.0.0.1", "", "loopback"},
		{"db", "169.254.169.254", "", "metadata"},
		{"db", "fe80::1", "", "link-local"},
		{"x.internal", "169.254.169.254", "", "metadata"},
		{"x.localhost", "10.0.0.1", "127.0.0.1:443", ""},
		{"169.254.169.254", "", "169.254.169.254:443", ""},
		{"[::ffff:10.0.0.1]", "", "10.0.0.1:443", ""},
	} {
		w := &world{names: map[string][]string{strings.ToLower(tc.need): {tc.answer}}}
		f, _ := started(t, w, Options{Needs: []string{tc.need}, Allow: allow, Deny: deny})
		conn, err := f.reach(f.doors[0].to)
		if got := strings.Join(w.dialed, " "); got != tc.want {
			t.Errorf("%s with %s: dialled %q, want %q (%v)", tc.need, tc.answer, got, tc.want, err)
		}
		if conn != nil {
			conn.Close()
		}
		misses := f.Misses()
		if tc.want == "" && (len(misses) != 1 || !misses[0].Refused || !strings.Contains(misses[0].Why, tc.why)) || tc.want != "" && len(misses) != 0 {
			t.Errorf("%s with %s: %+v, want %q", tc.need, tc.answer, misses, tc.why)
		}
	}
}

// TestRebinding: the second answer of a name server counts for nothing in a connection, and each
// connection is checked by its own answer.
func TestRebinding(t *testing.T) {
	w := &world{names: map[string][]string{"x.example.org": {"93.184.215.14", "127.0.0.1", "93.184.215.14 127.0.0.1"}}}
	f, reach := started(t, w, Options{Needs: []string{"x.example.org:9", "x.example.org"}})
	if got, err := reach("x.example.org:443"); got != "93.184.215.14:443" {
		t.Errorf("first: %q, %v", got, err)
	}
	if got, err := reach("x.example.org:443"); got != "" {
		t.Errorf("second: %q, %v", got, err)
	}
	if got, err := reach("x.example.org:9"); got != "" { // the public one is down
		t.Errorf("third: %q, %v", got, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != 3 || strings.Join(w.dialed, " ") != "93.184.215.14:443 93.184.215.14:9" {
		t.Errorf("asked %d times, dialled %v", len(w.asked), w.dialed)
	}
	misses := f.Misses()
	if len(misses) != 2 || !misses[0].Refused || misses[1].Refused {
		t.Errorf("misses: %+v", misses)
	}
}

// TestHalfOpen: the end of what a program sends reaches the server, and the answer comes after it.
func TestHalfOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			raw, _ := io.ReadAll(conn)
			conn.Write(bytes.ToUpper(raw))
			conn.Close()
		}
	}()
	f, err := New(Options{Needs: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.Serve([]net.Listener{door})
	defer f.Close()
	conn, err := net.Dial("tcp", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := strings.Repeat("half open ", 100_000)
	go func() {
		io.WriteString(conn, text)
		conn.(*net.TCPConn).CloseWrite()
	}()
	raw, err := io.ReadAll(conn)
	if err != nil || string(raw) != strings.ToUpper(text) {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	f.Close()
	if u := f.Uses(); len(u) != 1 || u[0].Sent != int64(len(text)) || u[0].Received != int64(len(text)) {
		t.Errorf("uses: %+v", u)
	}
}

// TestManyConnections: at most MaxConns are open at a time, the others wait and are served, and
// Close ends those that hang.
func TestManyConnections(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	w := &world{names: map[string][]string{"x.example.org": {"93.184.215.14"}}, serve: func(c net.Conn) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		buf := make([]byte, 1)
		if _, err := io.ReadFull(c, buf); err == nil && buf[0] == 'x' {
			c.Write([]byte("y"))
		}
		mu.Lock()
		open--
		mu.Unlock()
	}}
	f, _ := started(t, w, Options{Needs: []string{"x.example.org"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.work.Go(func() { f.accept(l, func(c net.Conn) { f.carry(c, f.doors[0].to) }) })
	context.AfterFunc(f.ctx, func() { l.Close() })
	var conns sync.WaitGroup
	for range 1000 {
		conns.Go(func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(30 * time.Second))
			conn.Write([]byte("x"))
			if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	conns.Wait()
	if most > MaxConns {
		t.Errorf("%d at a time", most)
	}
	for range 300 { // these say nothing
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	done := make(chan struct{})
	go func() { f.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for a connection")
	}
}

func TestHostsThatAreNone(t *testing.T) {
	for _, need := range []string{"", ":443", "a b", "a:0", "a:65536", "a:x", "*", "*.", "*x.org", "*:0", "*.*.org", "a..b", "0x7f000001", "127.1", "2130706433", "0.0.0.0", "[::]:80", "224.0.0.1", "255.255.255.255", "[fe80::1%eth0]:80", "a@b", "a/b", "ä.example", "a:1:2"} {
		if f, err := New(Options{Needs: []string{need}}); !fault.Is(err, fault.Malformed) {
			t.Errorf("%q: %v, %v", need, f, err)
		}
	}
	var many []string
	for i := range 126 {
		many = append(many, fmt.Sprintf("h%d.example.org", i))
	}
	if _, err := New(Options{Needs: many}); !fault.Is(err, fault.Limit) {
		t.Errorf("126 hosts: %v", err)
	}
	if f, err := New(Options{Needs: many[:125]}); err != nil || len(f.Listen()) != 250 {
		t.Errorf("125 hosts: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"example.org", "example.org:8443", "[::1]:80", "10.0.0.1", "*.x", "A.b.:1", "[::ffff:1.2.3.4]:5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(one.String())
		if err != nil || again != one {
			t.Errorf("%q: %+v comes back as %+v, %v", text, one, again, err)
		}
	})
}
