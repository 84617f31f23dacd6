package web

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/testkit"
)

// TestForbiddenURLs: spellings of this machine, its network and its cloud.
func TestForbiddenURLs(t *testing.T) {
	for _, u := range []string{
		"http://127.0.0.1/", "http://127.0.0.1:22/", "http://127.1.2.3/", "https://[::1]/", "http://[::]/", "http://0.0.0.0/", "http://0.1.2.3/",
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/",
		"http://[64:ff9b:1::1]/", "http://[2002:7f00:1::]/", "http://[2001:0:1::1]/", "http://169.254.169.254/latest/meta-data/", "http://169.254.1.1/",
		"http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://168.63.129.16/", "http://192.0.0.192/",
		"http://100.100.100.200/", "http://10.1.2.3/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/", "http://198.18.0.1/",
		"http://224.0.0.1/", "http://240.0.0.1/", "http://255.255.255.255/", "http://203.0.113.9/", "http://[2001:db8::1]/", "http://[4000::1]/", "http://[::a:b]/",
		"http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/", "http://017700000001/", "http://127.0.0.1./",
		"http://1.2.3.4.5/", "http://host.0x1f/", "http://[::1].example.org/",
	} {
		if err := Check(get(u), Options{}); !fault.Is(err, fault.Denied) && !strings.Contains(u, "].") {
			t.Errorf("Check %s: %v", u, err)
		}
		if _, err := Do(context.Background(), get(u), Options{}); !fault.Is(err, fault.Denied) && !strings.Contains(u, "].") {
			t.Errorf("Do %s: %v", u, err)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.1.0.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "::ffff:8.8.8.8"} {
		if s := hosts.Special(netip.MustParseAddr(a)); s != "" {
			t.Errorf("Special(%s) = %q, it is public", a, s)
		}
	}
	if hosts.Special(netip.Addr{}) == "" {
		t.Error("no address is a public one")
	}
}

// TestOwnPublicAddress: a service of this machine that listens on its public address is a
// service of this machine.
func TestOwnPublicAddress(t *testing.T) {
	mine := netip.MustParseAddr("8.8.4.4")
	o := Options{Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("2a00:1450::7"), mine} }}
	for _, u := range []string{"http://8.8.4.4/", "https://8.8.4.4:8443/", "http://[::ffff:8.8.4.4]/", "http://[2a00:1450::7]:5432/"} {
		if _, err := Do(context.Background(), get(u), o); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "this machine's own") {
			t.Errorf("Do %s: %v", u, err)
		}
	}
	e := exchange{o: o}
	if err := e.address("a.example", netip.MustParseAddrPort("8.8.8.8:443"), false); err != nil {
		t.Errorf("another public address: %v", err)
	}
	e.o.Allow = func(string, netip.AddrPort) bool { return true }
	if err := e.address("a.example", netip.AddrPortFrom(mine, 443), false); err != nil {
		t.Errorf("its own, which the policy allows: %v", err)
	}
	// Without Own the system is asked: every address of its interfaces is one of them.
	list, err := net.InterfaceAddrs()
	if err != nil || len(list) == 0 {
		t.Skip("no network interface: ", err)
	}
	if got := own(&Options{}); len(got) != len(list) {
		t.Errorf("own addresses %v, the system says %v", got, list)
	}
}

// names is a real name server on loopback. Each question for a name gets the next
// of its answers, the last one for ever.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			k, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			c.WriteTo(n.answer(buf[:k]), from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

// answer writes a DNS message (RFC 1035, 4.1) with at most one address.
func (n *names) answer(q []byte) []byte {
	var labels []string
	i := 12
	for q[i] != 0 {
		labels = append(labels, string(q[i+1:i+1+int(q[i])]))
		i += 1 + int(q[i])
	}
	kind := binary.BigEndian.Uint16(q[i+1:])
	name := strings.ToLower(strings.Join(labels, "."))
	out := append([]byte{}, q[:i+5]...)
	copy(out[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[name]
	if len(list) == 0 {
		out[3] = 0x83
		return out
	}
	a := netip.MustParseAddr(list[min(n.asked[name], len(list)-1)])
	if kind == 1 && a.Is4() || kind == 28 && a.Is6() {
		n.asked[name]++
		raw := a.AsSlice()
		out[7] = 1
		out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
		out = append(out, raw...)
	}
	return out
}

// TestRebinding: a name leads where its server says, at that moment.
func TestRebinding(t *testing.T) {
	var hits atomic.Int32
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/again", 302)
		}
	}))
	at, _ := url.Parse(u)
	n := &names{asked: map[string]int{}, answers: map[string][]string{
		"local.example.org": {"127.0.0.1"}, "six.example.org": {"::1"}, "mapped.example.org": {"::ffff:127.0.0.1"}, "meta.example.org": {"169.254.169.254"},
		"private.example.org": {"10.0.0.1"}, "nat.example.org": {"64:ff9b::7f00:1"}, "rebind.example.org": {"127.0.0.1", "127.0.0.3"}, "home.example.org": {"127.0.0.1"},
	}}
	o := Options{Resolver: n.resolver(t)}
	for name := range n.answers {
		if _, err := Do(context.Background(), get("http://"+name+":"+at.Port()+"/x"), o); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if hits.Load() != 0 {
		t.Fatalf("%d requests reached the server", hits.Load())
	}
	n.mu.Lock()
	n.asked["rebind.example.org"] = 0
	n.mu.Unlock()
	o.Allow = local
	if _, err := Do(context.Background(), get("http://rebind.example.org:"+at.Port()+"/"), o); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "127.0.0.3") {
		t.Errorf("a name that changed: %v", err)
	}
	if hits.Load() != 1 {
		t.Errorf("%d requests reached the server, want the first only", hits.Load())
	}
	o.Allow = func(host string, to netip.AddrPort) bool { return host == "home.example.org" }
	if res, err := Do(context.Background(), get("http://home.example.org:"+at.Port()+"/x"), o); err != nil || res.Status != 200 {
		t.Errorf("a name that the user allowed: %v", err)
	}
	if _, err := Do(context.Background(), get("http://nowhere.example.org/"), o); !fault.Is(err, fault.Network) {
		t.Errorf("no such name: %v", err)
	}
	o.Allow, o.Deny = local, func(host string, _ netip.AddrPort) bool { return host == "home.example.org" }
	if _, err := Do(context.Background(), get("http://home.example.org:"+at.Port()+"/x"), o); !fault.Is(err, fault.Denied) {
		t.Errorf("a name that the policy refuses: %v", err)
	}
}

// TestRedirects: a server sends its reader elsewhere.
func TestRedirects(t *testing.T) {
	type seen struct{ method, key, own, query, body, auth string }
	var last atomic.Value
	other := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		last.Store(seen{r.Method, r.Header.Get("X-Key"), r.Header.Get("X-Own"), r.URL.RawQuery, string(body), r.Header.Get("Authorization")})
	}))
	var first string
	first = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", 302)
		case "/here":
			body, _ := io.ReadAll(r.Body)
			last.Store(seen{r.Method, r.Header.Get("X-Key"), r.Header.Get("X-Own"), r.URL.RawQuery, string(body), r.Header.Get("Authorization")})
		case "/bounce": // away and back: what was dropped stays dropped
			http.Redirect(w, r, other+"/back", 302)
		default:
			status := 302
			if r.URL.Path == "/307" {
				status = 307
			} else if r.URL.Path == "/303" {
				status = 303
			}
			w.Header().Set("Location", r.Header.Get("X-To"))
			w.WriteHeader(status)
		}
	}))
	o := Options{Secrets: map[string]string{"KEY": "canary-1234"}}
	to := func(method, path, where string) Request {
		r := get(first + path)
		r.Method = method
		r.Header = []Field{{"X-To", Literal(where)}, {"X-Key", Text{{Secret: "KEY"}}}, {"X-Own", Literal("mine")}}
		r.Query = []Field{{"key", Text{{Secret: "KEY"}}}}
		r.Auth = &Basic{Literal("u"), Text{{Secret: "KEY"}}}
		if method == "POST" {
			r.Body = Literal("body")
		}
		return r
	}
	must(t, to("GET", "/302", other+"/there"), o)
	if got, want := last.Load(), (seen{"GET", "", "", "", "", ""}); got != want {
		t.Errorf("the other host got %+v", got)
	}
	must(t, to("POST", "/302", "/here"), o)
	if got := last.Load().(seen); got.method != "GET" || got.key != "canary-1234" || got.own != "mine" || got.body != "" || got.auth == "" || got.query != "key=canary-1234" {
		t.Errorf("the same origin got %+v", got)
	}
	must(t, to("POST", "/307", "/here"), o)
	if got := last.Load().(seen); got.method != "POST" || got.body != "body" {
		t.Errorf("307 to the same origin got %+v", got)
	}
	must(t, to("POST", "/303", other), o)
	if got := last.Load().(seen); got.method != "GET" || got.body != "" {
		t.Errorf("303 elsewhere got %+v", got)
	}
	refused(t, to("POST", "/307", other), o, fault.Denied, "would get its body")
	refused(t, to("GET", "/302", "http://169.254.169.254/latest/"), o, fault.Denied, "169.254.169.254")
	refused(t, to("GET", "/302", "http://[::ffff:10.0.0.1]/"), o, fault.Denied, "private")
	refused(t, to("GET", "/302", "http://user:pw@127.0.0.1/"), o, fault.Denied, "user")
	refused(t, to("GET", "/302", "file:///etc/passwd"), o, fault.Denied, "http or https")
	refused(t, to("GET", "/302", "http://0x7f.1/"), o, fault.Denied, "neither")
	refused(t, get(first+"/loop"), o, fault.Limit, "more than 5 redirects")
	narrow := to("GET", "/302", other)
	narrow.Hosts = nil
	refused(t, narrow, o, fault.Denied, "not among the hosts")
	none := to("GET", "/302", other)
	none.Redirects = 0
	if res := must(t, none, o); res.Status != 302 || res.Header["location"] != other {
		t.Errorf("not followed: %+v", res)
	}

	s := httptest.NewTLSServer(http.RedirectHandler(other, 302))
	defer s.Close()
	tr := s.Client().Transport.(*http.Transport)
	o.Roots = tr.TLSClientConfig.RootCAs
	refused(t, get(s.URL), o, fault.Denied, "from https to http")
}

// TestAwayAndBack: a host that sends its reader away and has it sent back gets no
// secret either.
func TestAwayAndBack(t *testing.T) {
	var first, other string
	var key atomic.Value
	key.Store("")
	first = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, other, 302)
		case "/back":
			http.Redirect(w, r, "/home", 302)
		default:
			key.Store("<" + r.Header.Get("X-Key") + ">")
		}
	}))
	other = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, first+"/back", 302) }))
	r := get(first)
	r.Header = []Field{{"X-Key", Text{{Secret: "KEY"}}}}
	must(t, r, Options{Secrets: map[string]string{"KEY": "canary-1234"}})
	if key.Load() != "<>" {
		t.Errorf("the secret came back with the reader: %s", key.Load())
	}
}

// TestNoProxyUnlessPassed: variables of the environment change nothing.
func TestNoProxyUnlessPassed(t *testing.T) {
	var proxied atomic.Int32
	proxy := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxied.Add(1) }))
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("ALL_PROXY", proxy)
	u := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	must(t, get(u), Options{})
	if proxied.Load() != 0 {
		t.Error("a proxy of the environment was used")
	}
	p, _ := url.Parse(proxy)
	n := &names{asked: map[string]int{}, answers: map[string][]string{}}
	must(t, get("http://anything.example.org/"), Options{Proxy: http.ProxyURL(p), Resolver: n.resolver(t)})
	if proxied.Load() != 1 {
		t.Error("a proxy that was passed was not used")
	}
	refused(t, get("http://10.0.0.1/"), Options{Proxy: http.ProxyURL(p)}, fault.Denied, "private")
	if _, err := Do(context.Background(), get("http://anything.example.org/"), Options{Proxy: http.ProxyURL(p)}); !fault.Is(err, fault.Denied) {
		t.Errorf("a proxy at an address that is refused: %v", err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		list string
		host string
		port uint16
		want bool
	}{
		{"*", "a.b", 1, true}, {"a.b", "a.b", 443, true}, {"a.b", "A.B.", 443, true}, {"a.b", "a.b", 80, false}, {"a.b:80", "a.b", 80, true},
		{"a.b", "x.a.b", 443, false}, {"*.a.b", "x.a.b", 443, true}, {"*.a.b", "a.b", 443, false}, {"*.a.b", "xa.b", 443, false}, {"*.a.b:80", "x.y.a.b", 80, true},
		{"[::1]:80", "::1", 80, true}, {"[::1]", "::1", 443, true}, {"unix", "a", 443, false}, {"", "", 443, true}, {"", "a", 443, false}, {"x a.b", "a.b", 443, true},
	} {
		if got := Covers(strings.Fields(c.list), c.host, c.port); got != (c.want && c.list != "") {
			t.Errorf("Covers(%q, %s, %d) = %v", c.list, c.host, c.port, got)
		}
	}
}
