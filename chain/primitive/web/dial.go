package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
)

// hopKey marks, in the context of one request, that the request carries a secret in clear text.
type hopKey struct{}

func (e *exchange) transport() *http.Transport {
	return &http.Transport{
		Proxy:                  e.o.Proxy,
		DialContext:            e.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.o.Roots},
		TLSHandshakeTimeout:    e.Connect,
		ResponseHeaderTimeout:  e.First,
		MaxResponseHeaderBytes: MaxHeader,
		MaxIdleConns:           2,
		ForceAttemptHTTP2:      true, // a custom dialer turns it off
	}
}

// dial connects to a name or address. ControlContext checks each address just before it is
// dialled, after all lookups. So the checked address is the one that is connected to.
func (e *exchange) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	clear := ctx.Value(hopKey{}) != nil
	d := net.Dialer{Timeout: e.Connect, Resolver: e.o.Resolver,
		ControlContext: func(_ context.Context, _, to string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(to)
			if err != nil {
				return fault.New(fault.Denied, "http: %s resolves to %q, which is not an address", host, to)
			}
			return e.address(host, ap, clear)
		}}
	return d.DialContext(ctx, "tcp", addr)
}

// address checks one address.
func (e *exchange) address(host string, to netip.AddrPort, clear bool) error {
	to = netip.AddrPortFrom(to.Addr().Unmap().WithZone(""), to.Port())
	kind := hosts.Special(to.Addr())
	if kind == "" && slices.Contains(own(&e.o), to.Addr()) {
		kind = "local (it is this machine's own)"
	}
	switch {
	case e.o.Deny != nil && e.o.Deny(host, to):
		return fault.New(fault.Denied, "http: %s (%s) is refused by the policy", host, to)
	case kind != "" && (e.o.Allow == nil || !e.o.Allow(host, to)):
		return fault.New(fault.Denied, "http: %s resolves to %s, a %s address", host, to, kind).
			Advise("if tools may reach it: net: {allow: [%q]}, in your policy.yaml, whose first line is policy: 1; rye where config shows its directory", to.String())
	case kind == "" && clear:
		return fault.New(fault.Denied, "http: a secret would cross the network in clear to %s", host).Advise("use https")
	}
	return nil
}

// own lists the addresses of this machine. If the system cannot list them, only the special
// ranges are refused.
func own(o *Options) []netip.Addr {
	if o.Own != nil {
		return o.Own()
	}
	return hosts.Own()
}
