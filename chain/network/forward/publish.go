package forward

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"

	"github.com/rye-os/rye/fault"
)

// outside is a listener at this machine's loopback for a port inside.
type outside struct {
	net.Listener
	port uint16
}

// Publish listens at the ports of Options.Publish, on this machine's loopback alone. A program that
// connects before Enter waits. An error is Conflict for a port that another program has.
func (f *Forwarder) Publish() error {
	for _, port := range f.o.Publish {
		for _, a := range []netip.Addr{loopback4, loopback6} {
			l, err := net.Listen("tcp", netip.AddrPortFrom(a, port).String())
			switch {
			case err == nil:
				f.outside = append(f.outside, outside{l, port})
			case a == loopback6 && !errors.Is(err, syscall.EADDRINUSE): // this machine has no IPv6
			case errors.Is(err, syscall.EADDRINUSE):
				return fault.New(fault.Conflict, "needs.listen %d: another program serves at port %d of this machine", port, port).
					Advise("end that program, or state another port in needs.listen; ss -ltnp shows it")
			default:
				if op, ok := errors.AsType[*net.OpError](err); ok {
					err = op.Err
				}
				return fault.New(fault.Denied, "needs.listen %d: %w", port, err)
			}
		}
	}
	return nil
}

// Enter accepts connections at the published ports, until Close. dial connects to a port inside.
func (f *Forwarder) Enter(dial func(ctx context.Context, port uint16) (net.Conn, error)) {
	for _, o := range f.outside {
		f.work.Go(func() { f.accept(o, func(conn net.Conn) { f.admit(conn, o.port, dial) }) })
	}
}

// admit joins a connection from outside with the program's server. Nobody listens there yet, or any
// more, where the program refuses it.
func (f *Forwarder) admit(conn net.Conn, port uint16, dial func(ctx context.Context, port uint16) (net.Conn, error)) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(f.ctx, Connect)
	defer cancel()
	in, err := dial(ctx, port)
	if err != nil {
		reset(conn)
		return
	}
	f.pipe(conn, in)
}
