package mcp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rye-os/rye/fault"
)

// HTTPOptions configure a server over HTTP. Principal is required.
type HTTPOptions struct {
	// Principal returns the name of the client that a bearer token belongs to, or false. Several
	// goroutines call it, once for every request; the token is "" if the request has none.
	Principal func(token string) (name string, ok bool)

	TLS     *tls.Config // nil: plain HTTP
	Proxied bool        // a proxy in front terminates TLS
	Hosts   []string    // more names by which clients reach the server
	Origins []string    // of web pages that may call, besides the server's own

	BodyTime time.Duration // limit for receiving a body; 0 is 30 s
	IdleTime time.Duration // a session without requests for so long ends; 0 is 30 min

	testOnlyAlive time.Duration // between keep-alives on a stream
}

// Bounds of the server over HTTP.
const (
	maxHeader   = 16 << 10               // bytes of a request's head
	headTime    = 10 * time.Second       // limit for receiving it
	keepTime    = time.Minute            // how long an idle connection is kept
	writeTime   = 30 * time.Second       // limit for a client to accept written data
	aliveTime   = 15 * time.Second       // between keep-alives on a stream
	lastTime    = 200 * time.Millisecond // how long a stream outlives its last answer when the server ends
	maxConns    = 1024                   // connections at once
	maxSessions = 64                     // of one account
	readBytes   = 32 << 20               // bytes of large bodies being read for one account
	largeBody   = 64 << 10               // bytes
)

// Listen opens the address of a server. Outside loopback it requires TLS or a proxy with TLS
// (fault.Denied), and a name by which clients reach the server (fault.Usage).
func Listen(addr string, o HTTPOptions) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.New(fault.Usage, "address %q: want one like 127.0.0.1:8765", addr).Advise(listenHere)
	}
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && host != "" && err != nil {
		return nil, fault.New(fault.Usage, "address %q: the host must be an IP address, or localhost", addr).Advise(listenHere)
	}
	if host != "localhost" && !ip.IsLoopback() {
		if o.TLS == nil && !o.Proxied {
			return nil, fault.New(fault.Denied, "address %q: other machines can reach it, so it needs TLS (--tls-cert, --tls-key), or a proxy with TLS (--behind-proxy)", addr).Advise(listenHere)
		}
		if len(o.Hosts) == 0 && (o.Proxied || host == "" || ip.IsUnspecified()) {
			return nil, fault.New(fault.Usage, "address %q: missing host name of the server; give --host", addr).Advise(listenHere)
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.New(fault.Conflict, "listen on %s: %w", addr, err).Advise("choose another port; 0 is a free one")
	}
	return l, nil
}

// listenHere is advice that works on every machine.
const listenHere = "for clients on this machine: --http 127.0.0.1:8765"

// URL returns the address of a server that listens on l.
func (o HTTPOptions) URL(l net.Listener) string {
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + l.Addr().String() + "/mcp"
}

// web is a server over HTTP.
type web struct {
	s       *Server
	o       HTTPOptions
	hosts   []string // accepted values of Host
	origins []string
	streams context.Context // ends when streams must end, before running calls
	work    sync.WaitGroup  // unfinished requests, with or without a waiting client

	mu       sync.Mutex
	accounts map[string]*webAccount
	sessions map[string]*webSession
}

// webAccount is an account with its limits for HTTP.
type webAccount struct {
	*account
	reads *semaphore.Weighted // bytes of large bodies
}

// ServeListener answers clients over HTTP until ctx ends: streamable HTTP at /mcp, in the versions
// with and without sessions, and clients of 2024-11-05 at /sse. When ctx ends, it accepts no more
// connections, gives running calls the time Options.Drain, cancels the rest, waits for them, and
// returns nil. It closes l.
func (s *Server) ServeListener(ctx context.Context, l net.Listener, o HTTPOptions) error {
	w := newWeb(ctx, s, l, o)
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := &http.Server{
		Handler:           w,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headTime,
		IdleTimeout:       keepTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          s.log,
		TLSConfig:         o.TLS,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
	}
	l = limited(l, maxConns)
	if o.TLS != nil {
		l = tls.NewListener(l, o.TLS)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.expire(time.Now())
		case err := <-ended:
			cancel()
			srv.Close()
			return fault.New(fault.Network, "serve HTTP: %w", err)
		case <-ctx.Done():
			w.stop(srv, cancel)
			return nil
		}
	}
}

func newWeb(streams context.Context, s *Server, l net.Listener, o HTTPOptions) *web {
	w := &web{s: s, o: o, streams: streams, accounts: map[string]*webAccount{}, sessions: map[string]*webSession{}}
	if w.o.BodyTime == 0 {
		w.o.BodyTime = 30 * time.Second
	}
	if w.o.IdleTime == 0 {
		w.o.IdleTime = 30 * time.Minute
	}
	if w.o.testOnlyAlive == 0 {
		w.o.testOnlyAlive = aliveTime
	}
	w.hosts, w.origins = ownNames(l.Addr(), o)
	return w
}

// stop ends the server: first idle connections, then running calls.
func (w *web) stop(srv *http.Server, cancel context.CancelFunc) {
	ctx, drained := context.WithTimeout(context.Background(), w.s.o.Drain)
	defer drained()
	if srv.Shutdown(ctx) != nil {
		cancel()
	}
	done := make(chan struct{})
	go func() { w.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	cancel()
	w.endAll()
	<-done
	written, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	_ = srv.Shutdown(written) // cancelled calls still answer; clients that do not read are cut off
	srv.Close()
}

// account returns the account of a client. It lives as long as the server.
func (w *web) account(name string) *webAccount {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.accounts[name]
	if a == nil {
		a = &webAccount{newAccount(name, &w.s.o), semaphore.NewWeighted(readBytes)}
		w.accounts[name] = a
	}
	return a
}

// ownNames returns the accepted values of Host and Origin.
func ownNames(addr net.Addr, o HTTPOptions) (hosts, origins []string) {
	_, port, _ := net.SplitHostPort(addr.String())
	scheme := "http://"
	if o.TLS != nil || o.Proxied {
		scheme = "https://"
	}
	if ip, err := netip.ParseAddrPort(addr.String()); err == nil && !ip.Addr().IsUnspecified() {
		hosts = append(hosts, ip.String())
		if ip.Addr().IsLoopback() {
			hosts = append(hosts, "localhost:"+port, "127.0.0.1:"+port, "[::1]:"+port)
		}
	}
	for _, name := range o.Hosts {
		name = strings.ToLower(name)
		hosts = append(hosts, name, net.JoinHostPort(strings.Trim(name, "[]"), port))
	}
	for _, host := range hosts {
		origins = append(origins, scheme+host)
	}
	for _, one := range o.Origins {
		origins = append(origins, strings.ToLower(strings.TrimSuffix(one, "/")))
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), origins
}

// CheckOrigin refuses a text that is no web origin (fault.Usage).
func CheckOrigin(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.TrimSuffix(text, "/") != u.Scheme+"://"+u.Host {
		return fault.New(fault.Usage, "origin %q: want one like https://app.example.com", text)
	}
	return nil
}

// limited returns a listener with at most so many connections at once; others wait.
func limited(l net.Listener, most int) net.Listener {
	return &limit{Listener: l, room: make(chan struct{}, most), closed: make(chan struct{})}
}

type limit struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func (l *limit) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: c, free: sync.OnceFunc(func() { <-l.room })}, nil
}

func (l *limit) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	free func()
}

func (c *limitedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
