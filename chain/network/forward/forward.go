// Package forward carries the connections of a program in a network of its own to the hosts that
// its needs name, and to no other.
//
// Inside that network each named host has an address, and the program's file of names says which.
// The caller makes a listener at each address of Listen, and Serve accepts there. For each
// connection the forwarder resolves the name once, checks the addresses, and dials one that it has
// checked. The program therefore needs no support for proxies, and no name server is in reach.
//
// Hosts that only a pattern names, such as *.example.org, have no address inside. For them there is
// a proxy, which takes HTTP and SOCKS 5 at one port, and which programs find by Env. It matches a
// name before it resolves it, and then does the same. Such hosts are public.
//
// # Addresses
//
// A name that looks public leads to public addresses only, whatever a name server says. A name that
// looks local (db, printer.local, x.internal) also leads to private addresses, because the needs
// name it. An address in the needs leads to itself. localhost leads to this machine's loopback and is
// never resolved. The user's policy can add addresses, and deny any. Ports
// of rye's own servers, and of agents of this machine, are out of reach for all.
//
// # Bounds
//
// A run has at most MaxConns connections at a time, and others wait. A connection has Connect to
// reach its host. It then lasts as long as the run, because databases keep idle ones.
package forward

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
)

// Bounds of one run.
const (
	MaxConns  = 256              // connections at a time
	Connect   = 10 * time.Second // to resolve and reach a host
	HalfOpen  = 10 * time.Minute // for one direction, after the other one has ended
	maxDoors  = 250              // listeners: as many as chain/primitive/cage hands out
	maxReport = 100              // hosts, and refusals, in a report
)

// Options are what a program may reach.
type Options struct {
	Needs   []string // hosts in the form of needs.net
	Mirrors []string // host:port of mirrors that the user set, at whatever address
	Publish []uint16 // ports of this machine's loopback that lead to the same ports inside

	// Allow and Deny are the user's policy about an address that a host leads to. nil is none.
	Allow, Deny func(host string, to netip.AddrPort) bool

	// Ours reports whether a port of this machine is a server of rye's own. nil is none.
	Ours func(port uint16) bool

	// Upstream returns the user's proxy for a host, nil for none. Its scheme is http, https, socks5 or
	// socks5h. The addresses of the host are then the proxy's affair. nil is no proxy. Roots are for
	// https; nil is the system's.
	Upstream func(host string, port uint16) *url.URL
	Roots    *x509.CertPool

	Own    func() []netip.Addr                                            // this machine's addresses; nil asks the system
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)   // nil is the system's resolver
	Dial   func(ctx context.Context, to netip.AddrPort) (net.Conn, error) // nil is TCP
}

// Forwarder carries the connections of one run.
type Forwarder struct {
	o     Options
	doors []door
	names []name

	patterns []pattern // hosts without an address inside
	proxy    *proxy    // for them; nil without patterns. It is at the last door

	ctx   context.Context
	stop  context.CancelFunc
	slots chan struct{}
	work  sync.WaitGroup
	own   func() []netip.Addr

	outside []outside // listeners of Publish
	proxied atomic.Bool
	report
}

// door is one listener, and the host to which it leads.
type door struct {
	at netip.AddrPort // in the program's network
	to target
}

// name is a host's name and its addresses in the program's network.
type name struct {
	host   string
	v4, v6 netip.Addr
}

// New returns the forwarder of a run. It opens nothing. Errors are Malformed for a host that cannot
// be read, and Limit for too many.
func New(o Options) (*Forwarder, error) {
	f := &Forwarder{o: o, slots: make(chan struct{}, MaxConns)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if o.Own == nil {
		o.Own = hosts.Own // where the system cannot list them, only the special ranges are refused
	}
	f.own = sync.OnceValue(o.Own)
	var all []target
	for i, list := range [][]string{o.Needs, o.Mirrors} {
		for _, text := range list {
			if text == "unix" {
				continue
			}
			if p, ok := parsePattern(text); ok {
				f.patterns = append(f.patterns, p)
				continue
			}
			t, err := parse(text)
			if err != nil {
				return nil, err
			}
			t.mirror = i == 1
			all = append(all, t)
		}
	}
	// Addresses come first, so that no name gets one of them.
	slices.SortStableFunc(all, func(a, b target) int { return order(a) - order(b) })
	for _, t := range all {
		f.open(t)
	}
	if len(f.patterns) > 0 {
		f.proxy = newProxy(f)
		f.doors = append(f.doors, door{at: netip.AddrPortFrom(f.unused(names4), proxyPort)})
	}
	for _, port := range o.Publish {
		if slices.ContainsFunc(f.doors, func(d door) bool {
			return d.at.Port() == port && (d.at.Addr() == loopback4 || d.at.Addr() == loopback6)
		}) {
			return nil, fault.New(fault.Malformed, "needs.listen %d: needs.net names the same port of this machine", port)
		}
	}
	if len(f.doors) > maxDoors {
		return nil, fault.New(fault.Limit, "needs.net: %d hosts, ports and mirrors, at most %d", len(all), maxDoors/2)
	}
	return f, nil
}

func order(t target) int {
	if t.addr.IsValid() {
		return 0
	}
	return 1
}

// The addresses of named hosts, 127.9.0.1 and fd72:7965::1 for the first. The first network is
// loopback's, the second one of the private ones (RFC 4193).
var (
	names4 = netip.MustParseAddr("127.9.0.0")
	names6 = netip.MustParseAddr("fd72:7965::")
)

// unused returns the next address of a network for names at which no host stands.
func (f *Forwarder) unused(network netip.Addr) netip.Addr {
	a := network.Next()
	for slices.ContainsFunc(f.doors, func(d door) bool { return d.at.Addr() == a }) {
		a = a.Next()
	}
	return a
}

// open makes the doors to a host.
func (f *Forwarder) open(t target) {
	for _, a := range f.addressesOf(t) {
		at := netip.AddrPortFrom(a, t.port)
		if !slices.ContainsFunc(f.doors, func(d door) bool { return d.at == at }) {
			f.doors = append(f.doors, door{at, t})
		}
	}
}

// addressesOf returns the addresses at which a host stands inside. An address stands for itself.
func (f *Forwarder) addressesOf(t target) []netip.Addr {
	switch {
	case t.addr.IsValid():
		return []netip.Addr{t.addr}
	case t.host == localhost:
		return []netip.Addr{loopback4, loopback6}
	}
	i := slices.IndexFunc(f.names, func(n name) bool { return n.host == t.host })
	if i < 0 {
		i = len(f.names)
		f.names = append(f.names, name{t.host, f.unused(names4), f.unused(names6)})
	}
	return []netip.Addr{f.names[i].v4, f.names[i].v6}
}

// Listen returns the addresses of the listeners in the program's network.
func (f *Forwarder) Listen() (all []netip.AddrPort) {
	for _, d := range f.doors {
		all = append(all, d.at)
	}
	return all
}

// Names returns the program's file of host names (hosts(5)).
func (f *Forwarder) Names() []byte {
	text := []byte("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	for _, n := range f.names {
		for _, a := range []netip.Addr{n.v4, n.v6} {
			text = append(a.AppendTo(text), " "+n.host+"\n"...)
		}
	}
	return text
}

// Serve accepts connections at the listeners, in the order of Listen, until Close. A nil listener is
// skipped.
func (f *Forwarder) Serve(all []net.Listener) {
	for i, l := range all {
		if l == nil {
			continue
		}
		context.AfterFunc(f.ctx, func() { l.Close() })
		f.work.Go(func() {
			if f.proxy != nil && i == len(f.doors)-1 {
				f.proxy.serve(l)
				return
			}
			f.accept(l, func(conn net.Conn) { f.carry(conn, f.doors[i].to) })
		})
	}
}

// Close ends all connections and returns when none is left. A nil Forwarder has none.
func (f *Forwarder) Close() {
	if f == nil {
		return
	}
	f.stop()
	for _, o := range f.outside { // also of a run that never began
		o.Close()
	}
	if f.proxy != nil {
		f.proxy.close()
	}
	f.work.Wait()
}

// accept accepts connections. Beyond MaxConns, it waits for the end of another.
func (f *Forwarder) accept(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if f.ctx.Err() != nil || !passing(err) {
				return
			}
			select { // no descriptor is left for now
			case <-time.After(50 * time.Millisecond):
				continue
			case <-f.ctx.Done():
				return
			}
		}
		select {
		case f.slots <- struct{}{}:
		case <-f.ctx.Done():
			conn.Close()
			return
		}
		f.work.Go(func() {
			defer func() { <-f.slots }()
			defer context.AfterFunc(f.ctx, func() { conn.Close() })()
			serve(conn)
		})
	}
}

// passing reports whether an error of Accept is about one connection, or ends by itself.
func passing(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Temporary() // true for EMFILE and ECONNABORTED
}

// carry connects a program's connection with its host, until both have ended.
func (f *Forwarder) carry(conn net.Conn, t target) {
	defer conn.Close()
	out, err := f.reach(t)
	if err != nil {
		reset(conn)
		return
	}
	f.join(conn, out, t)
}

// join copies in both directions. The end of one direction is passed on, so that protocols with
// half-closed connections work.
func (f *Forwarder) join(in, out net.Conn, t target) {
	sent, received := f.pipe(in, out)
	f.count(t, sent, received)
}

// pipe copies in both directions, and closes out.
func (f *Forwarder) pipe(in, out net.Conn) (sent, received int64) {
	defer out.Close()
	defer context.AfterFunc(f.ctx, func() { out.Close() })()
	var back sync.WaitGroup
	back.Go(func() { received = copyTo(in, out) })
	sent = copyTo(out, in)
	back.Wait()
	return sent, received
}

// reset closes a connection so that its program sees an error and no regular end.
func reset(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	conn.Close()
}

// at is a host with its port, as needs.net writes it.
func at(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
