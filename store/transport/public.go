package transport

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
)

// A remote is inside if its host belongs to this machine, its network or its cloud. A person may
// name such a host. An address that came from elsewhere may not, and neither may a redirect from a
// public host: otherwise a stranger could reach what only this machine can.

// mustBePublic refuses the name of a host that is inside.
func mustBePublic(host string) error {
	if why := hosts.Inside(host); why != "" {
		return fault.New(fault.Denied, "%q is not a public host (%s), and no person named it", host, why)
	}
	return nil
}

// publicAddress refuses to connect to a resolved address that is inside.
func publicAddress(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if why := hosts.Special(at.Addr()); why != "" {
		return fault.New(fault.Denied, "the host leads to %s, which is not a public address (%s)", at.Addr(), why)
	}
	return nil
}

// dialPublic connects only to public addresses, where the remote or a redirect must not lead inside.
// An HTTP proxy of the user may be anywhere, and then the addresses behind it are not checked.
func (d *httpDialer) dialPublic(plain *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		dialer := *plain
		if d.guarded() && strings.EqualFold(strings.TrimSuffix(host, "."), strings.TrimSuffix(d.host(), ".")) {
			dialer.Control = publicAddress
		}
		return dialer.DialContext(ctx, network, address)
	}
}

// guarded reports whether the present address must be public.
func (d *httpDialer) guarded() bool {
	return d.r.o.Public || d.away && hosts.Inside(d.r.t.host) == ""
}

// host returns the host of the present address.
func (d *httpDialer) host() string {
	t, err := parseTarget(d.base)
	if err != nil {
		return ""
	}
	return t.host
}

// resolvePublic refuses a host whose name leads inside, before a program that resolves it again. So
// a name server may still give the program another answer.
func (r *Remote) resolvePublic(ctx context.Context) error {
	if !r.o.Public {
		return nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", r.t.host)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if why := hosts.Special(a); why != "" {
			return fault.New(fault.Denied, "the host leads to %s, which is not a public address (%s)", a, why)
		}
	}
	return nil
}
