package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/internal/hosts"
)

// reach connects to a host, and reports why it cannot.
func (f *Forwarder) reach(t target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(f.ctx, Connect)
	defer cancel()
	conn, err := f.dial(ctx, t)
	if err != nil && f.ctx.Err() == nil {
		f.miss(t, err)
	}
	return conn, err
}

// refusal is why a host may not be reached. Every other error is a failure of the network.
type refusal struct{ why string }

func (r refusal) Error() string { return r.why }

var unnamed = refusal{"its needs do not name it"}

// dial resolves a host once, and connects to the first of its addresses that is allowed and answers.
func (f *Forwarder) dial(ctx context.Context, t target) (net.Conn, error) {
	if via := f.via(t); via != nil {
		return f.through(ctx, via, t)
	}
	all, err := f.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	var refused, failed error
	for i, a := range all {
		to := netip.AddrPortFrom(a, t.port)
		if err := f.check(t, to); err != nil {
			refused = err
			continue
		}
		conn, err := f.try(ctx, to, len(all)-i)
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	if failed == nil {
		failed = refused
	}
	return nil, failed
}

// try connects to one address, in its part of the time that is left.
func (f *Forwarder) try(ctx context.Context, to netip.AddrPort, left int) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(time.Until(end)/time.Duration(left), time.Second))
		defer cancel()
	}
	if f.o.Dial != nil {
		return f.o.Dial(ctx, to)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // the address of this machine says nothing
	}
	return conn, err
}

// maxAddresses bounds the addresses of one name.
const maxAddresses = 16

// resolve returns the addresses of a host.
func (f *Forwarder) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	switch {
	case t.addr.IsValid():
		return []netip.Addr{t.addr}, nil
	case isLoopback(t.host):
		return []netip.Addr{loopback4, loopback6}, nil
	}
	lookup := f.o.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	name := t.host
	if strings.Contains(name, ".") {
		name += "." // as it is, without the domains that the system would try behind it
	}
	all, err := lookup(ctx, name)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) {
			return nil, fmt.Errorf("its name was not resolved: %s", dns.Err)
		}
		return nil, err
	}
	for i, a := range all {
		all[i] = a.Unmap().WithZone("")
	}
	return all[:min(len(all), maxAddresses)], nil
}

// check returns why the address of a host may not be reached.
func (f *Forwarder) check(t target, to netip.AddrPort) error {
	kind := hosts.Special(to.Addr())
	own := slices.Contains(f.own(), to.Addr())
	if kind == "" && own {
		kind = ownKind
	}
	if own || to.Addr().IsLoopback() {
		if err := f.never(to); err != nil {
			return err
		}
	}
	switch {
	case f.o.Deny != nil && f.o.Deny(t.host, to):
		return refusal{fmt.Sprintf("the policy denies %s", to)}
	case kind == "", t.admits(to.Addr(), kind):
		return nil
	case f.o.Allow != nil && f.o.Allow(t.host, to):
		return nil
	}
	if t.addr.IsValid() {
		return refusal{fmt.Sprintf("it is a %s address", kind)}
	}
	return refusal{fmt.Sprintf("its name leads to %s, a %s address", to.Addr(), kind)}
}

const ownKind = "local (this machine's own)"

// admits reports whether a host that the needs name may lead to an address of a special kind.
func (t target) admits(to netip.Addr, kind string) bool {
	switch {
	case t.public:
		return false
	case t.mirror, t.addr == to:
		return true
	case isLoopback(t.host):
		return to.IsLoopback()
	}
	return hosts.Inside(t.host) != "" && (kind == ownKind || strings.HasPrefix(kind, "private") || strings.HasPrefix(kind, "shared"))
}

// copyTo copies until the end of from, and passes the end on. A program that has closed its
// connection looks like one that still reads, so the other direction then has a limit.
func copyTo(to, from net.Conn) int64 {
	buf := buffers.Get()
	n, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buf)
	buffers.Put(buf)
	if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		c.CloseWrite()
		to.SetReadDeadline(time.Now().Add(HalfOpen))
	} else { // one side broke off, and the other one has to see that
		to.Close()
		from.Close()
	}
	return n
}

// buffers are for copies of 64 KB, loopback's largest segment. Copies hide that connections can splice:
// on loopback splice(2) took two to three times as long. One bare relay needed for 16 MB over one
// connection 4.5 ms at best with 64 KB, 5.6 with 32 KB and 12.9 with splice (Linux 6.18, two processors).
var buffers bufferPool

type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if p, ok := b.pool.Get().(*[64 << 10]byte); ok {
		return p[:]
	}
	return new([64 << 10]byte)[:]
}

func (b *bufferPool) Put(buf []byte) { b.pool.Put((*[64 << 10]byte)(buf)) }
