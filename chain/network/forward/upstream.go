package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rye-os/rye/internal/hosts"
)

// via returns the user's proxy for a host, nil for none. Hosts of this machine and addresses of its
// network are dialled directly; mirrors go where the user's own programs would go.
func (f *Forwarder) via(t target) *url.URL {
	if f.o.Upstream == nil || isLoopback(t.host) || t.addr.IsLoopback() || !t.mirror && hosts.Inside(t.host) != "" {
		return nil
	}
	return f.o.Upstream(t.host, t.port)
}

// through connects to a host through the user's proxy.
func (f *Forwarder) through(ctx context.Context, via *url.URL, t target) (net.Conn, error) {
	port := via.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[via.Scheme]
	}
	if port == "" {
		port = "1080"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(via.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("your proxy %s: %w", via.Redacted(), err)
	}
	end := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	switch via.Scheme {
	case "https":
		secure := tls.Client(conn, &tls.Config{ServerName: via.Hostname(), RootCAs: f.o.Roots, MinVersion: tls.VersionTLS12})
		if err = secure.HandshakeContext(ctx); err == nil {
			conn, err = connect(secure, via, t)
		}
	case "http":
		conn, err = connect(conn, via, t)
	case "socks5", "socks5h":
		err = askSocks(conn, via, t)
	default:
		err = fmt.Errorf("rye does not speak %s", via.Scheme)
	}
	if !end() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("your proxy %s: %w", via.Redacted(), err)
	}
	f.proxied.Store(true)
	return conn, nil
}

// Proxied reports whether the user's proxy made a connection, so that the addresses of its host were
// not checked.
func (f *Forwarder) Proxied() bool { return f.proxied.Load() }

// maxAnswer bounds the answer of a proxy, in bytes.
const maxAnswer = 64 << 10

// connect asks an HTTP proxy for a tunnel.
func connect(conn net.Conn, via *url.URL, t target) (net.Conn, error) {
	q := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.String()}, Host: t.String(), Header: http.Header{}}
	if u := via.User; u != nil {
		password, _ := u.Password()
		auth := http.Request{Header: http.Header{}}
		auth.SetBasicAuth(u.Username(), password)
		q.Header.Set("Proxy-Authorization", auth.Header.Get("Authorization"))
	}
	if err := q.Write(conn); err != nil {
		return conn, err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	res, err := http.ReadResponse(in, q)
	if err != nil {
		return conn, fmt.Errorf("it gave no answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return conn, fmt.Errorf("it refused the connection: status %d", res.StatusCode)
	}
	if n := in.Buffered(); n > 0 { // a server that speaks first
		early, _ := in.Peek(n)
		return &begun{Conn: conn, early: early}, nil
	}
	return conn, nil
}

// begun is a connection whose first bytes were read already.
type begun struct {
	net.Conn
	early []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.early) > 0 {
		n := copy(p, b.early)
		b.early = b.early[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

func (b *begun) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return b.Conn.Close()
}

// Numbers of SOCKS 5, RFC 1928 and 1929.
const (
	socksVersion  = 5
	socksOpen     = 0 // methods
	socksPassword = 2
	socksConnect  = 1 // command
	socksV4       = 1 // kinds of addresses
	socksName     = 3
	socksV6       = 4
)

// askSocks asks a SOCKS proxy for a connection, by name.
func askSocks(conn net.Conn, via *url.URL, t target) error {
	hello := []byte{socksVersion, 1, socksOpen}
	if via.User != nil {
		hello = []byte{socksVersion, 2, socksOpen, socksPassword}
	}
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	var chosen [2]byte
	if _, err := io.ReadFull(conn, chosen[:]); err != nil {
		return err
	}
	switch {
	case chosen == [2]byte{socksVersion, socksOpen}:
	case chosen == [2]byte{socksVersion, socksPassword} && via.User != nil:
		if err := socksLogin(conn, via.User); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it offers no way to log in that rye knows")
	}
	ask := append([]byte{socksVersion, socksConnect, 0, socksName, byte(len(t.host))}, t.host...)
	if _, err := conn.Write(binary.BigEndian.AppendUint16(ask, t.port)); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	if head[0] != socksVersion || head[1] != 0 {
		return fmt.Errorf("it refused the connection: code %d", head[1])
	}
	rest := map[byte]int64{socksV4: 4 + 2, socksV6: 16 + 2}[head[3]]
	if head[3] == socksName {
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return err
		}
		rest = int64(n[0]) + 2
	}
	if rest == 0 {
		return fmt.Errorf("its answer has an unknown kind of address")
	}
	_, err := io.CopyN(io.Discard, conn, rest)
	return err
}

func socksLogin(conn net.Conn, u *url.Userinfo) error {
	password, _ := u.Password()
	if len(u.Username()) > 255 || len(password) > 255 {
		return fmt.Errorf("its user or password is too long")
	}
	ask := append([]byte{1, byte(len(u.Username()))}, u.Username()...)
	ask = append(append(ask, byte(len(password))), password...)
	if _, err := conn.Write(ask); err != nil {
		return err
	}
	var answer [2]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[1] != 0 {
		return fmt.Errorf("it refused the user or the password")
	}
	return nil
}
