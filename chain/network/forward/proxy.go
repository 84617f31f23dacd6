package forward

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of the proxy.
const (
	proxyPort  = 3128
	greeting   = 10 * time.Second // for a request's header
	idle       = time.Minute      // between two requests
	maxHeader  = 64 << 10
	noneOfHTTP = "rye's proxy takes CONNECT, http:// addresses and SOCKS 5"
)

// proxy is the way to hosts that have no address of their own inside: those of a pattern. One port
// takes HTTP and SOCKS 5, which begins with its version.
type proxy struct {
	f       *Forwarder
	coming  chan net.Conn // that speak HTTP
	server  *http.Server
	forward *httputil.ReverseProxy

	mu       sync.Mutex
	over     bool                  // no request begins any more
	handlers sync.WaitGroup        // requests that go on
	conns    map[*counted]struct{} // to hosts
}

func newProxy(f *Forwarder) *proxy {
	p := &proxy{f: f, coming: make(chan net.Conn), conns: map[*counted]struct{}{}}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: greeting, IdleTimeout: idle, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0)}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       rebuild,
		Transport:     &http.Transport{Proxy: p.via, DialContext: p.dial, DisableCompression: true, MaxIdleConnsPerHost: 4, IdleConnTimeout: idle, MaxResponseHeaderBytes: 1 << 20},
		FlushInterval: -1,
		BufferPool:    &buffers,
		ErrorLog:      p.server.ErrorLog,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { answer(w, err) },
	}
	return p
}

// rebuild finishes a request to a host. Only WebSocket may change the protocol: h2c would have the host
// read requests that the proxy does not.
func rebuild(q *httputil.ProxyRequest) {
	q.Out.Host = q.In.URL.Host
	if !strings.EqualFold(q.Out.Header.Get("Upgrade"), "websocket") {
		q.Out.Header.Del("Upgrade")
		q.Out.Header.Del("Connection")
	}
}

// serve accepts connections until the forwarder ends.
func (p *proxy) serve(l net.Listener) {
	p.f.work.Go(func() { p.server.Serve(&front{p, l.Addr()}) })
	p.f.accept(l, p.greet)
}

// close ends what the forwarder's end has not ended, and waits for it.
func (p *proxy) close() {
	p.server.Close()
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.handlers.Wait()
	p.mu.Lock()
	conns := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

// begin reports whether a request may begin, which then ends with handlers.Done.
func (p *proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.handlers.Add(1)
	}
	return !p.over
}

// greet finds out what a connection speaks.
func (p *proxy) greet(conn net.Conn) {
	in := bufio.NewReader(conn)
	conn.SetReadDeadline(time.Now().Add(greeting))
	first, err := in.Peek(1)
	if err != nil {
		conn.Close()
		return
	}
	if first[0] == socksVersion {
		p.f.socks(conn, in)
		return
	}
	conn.SetReadDeadline(time.Time{})
	early, _ := in.Peek(in.Buffered())
	c := &fronted{begun: begun{conn, early}, over: make(chan struct{})}
	select {
	case p.coming <- c:
		select {
		case <-c.over:
		case <-p.f.ctx.Done(): // its connection is closed
		}
	case <-p.f.ctx.Done():
		conn.Close()
	}
}

// fronted is a connection that speaks HTTP.
type fronted struct {
	begun
	once sync.Once
	over chan struct{} // closed when the connection is
}

func (c *fronted) Close() error {
	c.once.Do(func() { close(c.over) })
	return c.begun.Close()
}

// front is the listener of the HTTP server.
type front struct {
	p  *proxy
	at net.Addr
}

func (l *front) Accept() (net.Conn, error) {
	select {
	case c := <-l.p.coming:
		return c, nil
	case <-l.p.f.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *front) Close() error   { return nil }
func (l *front) Addr() net.Addr { return l.at }

// ServeHTTP answers one request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() { // the server itself waits for no handler
		return
	}
	defer p.handlers.Done()
	connect := r.Method == http.MethodConnect
	if !connect && (r.URL.Scheme != "http" || r.URL.Host == "") {
		http.Error(w, noneOfHTTP, http.StatusBadRequest)
		return
	}
	t, err := p.f.requested(r.URL, connect)
	if err != nil {
		answer(w, err)
		return
	}
	if connect {
		p.tunnel(w, t)
		return
	}
	p.forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, t)))
}

// requested returns the target of a request, if the needs allow it.
func (f *Forwarder) requested(u *url.URL, connect bool) (target, error) {
	port := u.Port()
	if port == "" && !connect {
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || u.User != nil {
		return target{}, refusal{noneOfHTTP}
	}
	return f.allowed(u.Hostname(), uint16(n))
}

// tunnel connects a client with a host.
func (p *proxy) tunnel(w http.ResponseWriter, t target) {
	out, err := p.f.reach(t)
	if err != nil {
		answer(w, err)
		return
	}
	conn, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		out.Close()
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Time{})
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		out.Close()
		return
	}
	early, _ := in.Reader.Peek(in.Reader.Buffered())
	p.f.join(&begun{conn, early}, out, t)
}

// answer reports an error to a client. A refusal and a failure have different numbers.
func answer(w http.ResponseWriter, err error) {
	var no refusal
	if errors.As(err, &no) {
		w.Header().Set("X-Proxy-Error", "refused by rye")
		http.Error(w, "rye refused the connection: "+no.why, http.StatusForbidden)
		return
	}
	http.Error(w, "rye could not connect: "+err.Error(), http.StatusBadGateway)
}

// targetKey has the target of a request in its context.
type targetKey struct{}

// via is the user's proxy for a request.
func (p *proxy) via(r *http.Request) (*url.URL, error) {
	t, _ := r.Context().Value(targetKey{}).(target)
	return p.f.via(t), nil
}

// dial connects to the host of a request, or to the user's proxy for it.
func (p *proxy) dial(ctx context.Context, network, to string) (net.Conn, error) {
	t, ok := ctx.Value(targetKey{}).(target)
	if !ok {
		return nil, refusal{noneOfHTTP}
	}
	var conn net.Conn
	var err error
	if via := p.f.via(t); via == nil {
		conn, err = p.f.reach(t)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, network, to)
		p.f.proxied.Store(true)
	}
	if err != nil {
		return nil, err
	}
	c := &counted{Conn: conn}
	end := context.AfterFunc(p.f.ctx, func() { conn.Close() })
	c.over = func(sent, received int64) {
		end()
		p.f.count(t, sent, received)
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	return c, nil
}

// counted is a connection of the proxy's own, whose bytes are counted.
type counted struct {
	net.Conn
	mu             sync.Mutex
	sent, received int64
	once           sync.Once
	over           func(sent, received int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.received += int64(n)
	c.mu.Unlock()
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	c.sent += int64(n)
	c.mu.Unlock()
	return n, err
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over(c.sent, c.received)
	})
	return c.Conn.Close()
}

// Answers of SOCKS 5, RFC 1928.
const (
	socksDone        = 0
	socksForbidden   = 2
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoMethod    = 0xff
)

// socks answers a client that speaks SOCKS 5.
func (f *Forwarder) socks(conn net.Conn, in *bufio.Reader) {
	defer conn.Close()
	t, code, err := f.socksRequest(conn, in)
	if err != nil {
		return // no answer would be understood
	}
	var out net.Conn
	if code == socksDone {
		if out, err = f.reach(t); err != nil {
			code = socksUnreachable
			if errors.As(err, new(refusal)) {
				code = socksForbidden
			}
		}
	}
	_, err = conn.Write([]byte{socksVersion, code, 0, socksV4, 0, 0, 0, 0, 0, 0})
	switch {
	case out == nil:
		return
	case err != nil:
		out.Close()
		return
	}
	conn.SetDeadline(time.Time{})
	early, _ := in.Peek(in.Buffered())
	f.join(&begun{conn, early}, out, t)
}

// socksRequest reads a client's request. An error means that the client speaks something else.
func (f *Forwarder) socksRequest(conn io.Writer, in io.Reader) (t target, code byte, err error) {
	var head [4]byte
	read := func(n int) ([]byte, error) {
		raw := make([]byte, n)
		_, err := io.ReadFull(in, raw)
		return raw, err
	}
	if _, err := io.ReadFull(in, head[:2]); err != nil {
		return t, 0, err
	}
	methods, err := read(int(head[1]))
	if err != nil {
		return t, 0, err
	}
	chosen := byte(socksNoMethod)
	for _, m := range methods {
		if m == socksOpen {
			chosen = socksOpen
		}
	}
	if _, err := conn.Write([]byte{socksVersion, chosen}); err != nil || chosen != socksOpen {
		return t, 0, fmt.Errorf("no method to log in: %w", err)
	}
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return t, 0, err
	}
	size := map[byte]int{socksV4: 4, socksV6: 16}[head[3]]
	if head[3] == socksName {
		one, err := read(1)
		if err != nil {
			return t, 0, err
		}
		size = int(one[0])
	}
	if head[0] != socksVersion || size == 0 {
		return t, 0, errors.New("no request of SOCKS 5")
	}
	raw, err := read(size + 2)
	if err != nil {
		return t, 0, err
	}
	host := string(raw[:size])
	if head[3] != socksName {
		a, _ := netip.AddrFromSlice(raw[:size])
		host = a.String()
	}
	if head[1] != socksConnect {
		return t, socksNoCommand, nil
	}
	if t, err = f.allowed(host, uint16(raw[size])<<8|uint16(raw[size+1])); err != nil {
		return t, socksForbidden, nil
	}
	return t, socksDone, nil
}
