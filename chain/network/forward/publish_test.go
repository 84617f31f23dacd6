package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rye-os/rye/fault"
)

// freePort is a port of this machine that nobody has.
func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// TestPublish: a published port of this machine's loopback leads to the same port inside, at both
// versions of IP and at no other address. A port that somebody has is refused, and the end frees it.
func TestPublish(t *testing.T) {
	port := freePort(t)
	at := fmt.Sprint("127.0.0.1:", port)
	f, err := New(Options{Publish: []uint16{port}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Publish(); err != nil {
		t.Fatal(err)
	}
	if len(f.Listen()) != 0 {
		t.Errorf("listeners inside: %v", f.Listen())
	}
	other, err := New(Options{Publish: []uint16{port}})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Publish(); !fault.Is(err, fault.Conflict) {
		t.Errorf("Publish of a port in use: %v, want a conflict", err)
	}
	other.Close()
	var up atomic.Bool
	f.Enter(func(ctx context.Context, to uint16) (net.Conn, error) {
		if !up.Load() || to != port {
			return nil, errors.New("connection refused")
		}
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			line := make([]byte, 5)
			io.ReadFull(there, line)
			fmt.Fprintf(there, "%s inside", line)
		}()
		return here, nil
	})
	ask := func(at string) (string, error) {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return "", err
		}
		defer conn.Close()
		io.WriteString(conn, "hello")
		raw, err := io.ReadAll(conn)
		return string(raw), err
	}
	if got, err := ask(at); err == nil {
		t.Errorf("before the server is there: %q, want a reset", got)
	}
	up.Store(true)
	for _, at := range []string{at, fmt.Sprint("[::1]:", port), fmt.Sprint("localhost:", port)} {
		if len(f.outside) < 2 && at[0] == '[' {
			continue // no IPv6 here
		}
		if got, err := ask(at); err != nil || got != "hello inside" {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
	if got, err := ask(fmt.Sprint("127.0.0.2:", port)); err == nil {
		t.Errorf("another address answers: %q", got)
	}
	f.Close()
	if l, err := net.Listen("tcp", at); err != nil {
		t.Errorf("after Close: %v", err)
	} else {
		l.Close()
	}
}

// TestPublishAndReach: a port cannot be both this machine's and the program's.
func TestPublishAndReach(t *testing.T) {
	for need, bad := range map[string]bool{"localhost:5173": true, "127.0.0.1:5173": true, "[::ffff:127.0.0.1]:5173": true, "localhost:5174": false, "example.org:5173": false} {
		_, err := New(Options{Needs: []string{need}, Publish: []uint16{5173}})
		if fault.Is(err, fault.Malformed) != bad {
			t.Errorf("%s: %v", need, err)
		}
	}
}
