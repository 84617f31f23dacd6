package primitive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
)

// upWriter reports the first line of a program.
type upWriter struct{ up chan struct{} }

func (w *upWriter) Write(p []byte) (int, error) {
	if w.up != nil && bytes.Contains(p, []byte("up\n")) {
		close(w.up)
		w.up = nil
	}
	return len(p), nil
}

// server is a program of Perl, which every system with git has. It answers three connections at a port.
const server = `exec perl -MSocket -e '$|=1; for $p (5173, 5174) { socket($h{$p},PF_INET,SOCK_STREAM,0) && bind($h{$p},sockaddr_in($p,INADDR_LOOPBACK)) && listen($h{$p},50) or die "$!" }
	print "up\n"; for (1..3) { accept(C,$h{5173}); $l=<C>; syswrite(C,"served $l"); close C }'`

// TestWayIn: rye connects to a server inside, in the network that no other process reaches. A port
// without a server refuses, and the way ends with the run.
func TestWayIn(t *testing.T) {
	needS3(t)
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl here, which is the server inside")
	}
	c := bash(t, server)
	c.Sandbox.Tier, c.Sandbox.Listen = S3, []uint16{5173}
	c.Doors.Serve = func([]net.Listener) {}
	w := &upWriter{up: make(chan struct{})}
	up := w.up
	var dial func(ctx context.Context, port uint16) (net.Conn, error)
	done := make(chan string)
	c.Doors.Enter = func(d func(ctx context.Context, port uint16) (net.Conn, error)) {
		dial = d
		go func() {
			<-up
			var said strings.Builder
			if conn, err := d(context.Background(), 5175); err == nil {
				fmt.Fprint(&said, "somebody at 5175; ")
				conn.Close()
			}
			for i := range 3 {
				conn, err := d(context.Background(), 5173)
				if err != nil {
					fmt.Fprint(&said, err)
					break
				}
				fmt.Fprintln(conn, i)
				raw, err := io.ReadAll(conn)
				fmt.Fprint(&said, string(raw), err, ";")
				conn.Close()
			}
			done <- said.String()
		}()
	}
	r, err := Run(t.Context(), c, w, nil)
	if err != nil || r.Exit != 0 {
		t.Fatalf("Run: %v, exit %d: %s", err, r.Exit, r.Stderr)
	}
	if got, want := <-done, "served 0\n<nil>;served 1\n<nil>;served 2\n<nil>;"; got != want {
		t.Errorf("the way in gave %q, want %q", got, want)
	}
	if conn, err := dial(t.Context(), 5173); err == nil {
		conn.Close()
		t.Error("the way in is open after the run")
	}
}

// TestTunnel: rye-cage inside reaches a host over the proxy for ssh, and says what the proxy refuses.
// A program of SSH finds it by GIT_SSH_COMMAND, which only rye sets.
func TestTunnel(t *testing.T) {
	needS3(t)
	c := doored(t, `
		echo "$GIT_SSH_COMMAND"
		`+ConnectPath+` connect 127.9.0.1:3128 ok.example.org 22 </dev/null 2>&1
		`+ConnectPath+` connect 127.9.0.1:3128 no.example.org 22 </dev/null 2>&1; echo "exit $?"
		`+ConnectPath+` connect 127.9.0.1:3129 ok.example.org 22 </dev/null 2>&1; echo "exit $?"
		`+ConnectPath+` connect 127.9.0.1:3128 ok.example.org 0 </dev/null 2>&1; echo "exit $?"
		`+ConnectPath+` connect 127.9.0.1:3128 '' 22 </dev/null 2>&1; echo "exit $?"
		echo x 2>/dev/null >`+ConnectPath+` && echo wrote
	`, "127.0.0.1 localhost\n", "127.9.0.1:3128")
	c.Doors.Tunnel = netip.MustParseAddrPort("127.9.0.1:3128")
	c.Doors.Serve = func(all []net.Listener) {
		t.Cleanup(func() { all[0].Close() })
		go func() {
			for {
				conn, err := all[0].Accept()
				if err != nil {
					return
				}
				ask := make([]byte, 5+3+len("ok.example.org")+2)
				io.ReadFull(conn, ask)
				if !bytes.Contains(ask, append([]byte("\x03\x0eok.example.org"), 0, 22)) {
					conn.Write([]byte{5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
				} else {
					conn.Write([]byte{5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
					io.WriteString(conn, "SSH-2.0-here\n")
				}
				conn.Close()
			}
		}()
	}
	r := mustRun(t, c)
	want := "ssh -o ProxyCommand='/run/rye-cage connect 127.9.0.1:3128 %h %p'\nSSH-2.0-here\n" +
		"rye-cage: reach \"no.example.org\": rye refused the connection; the result of the run says why\nexit 1\n" +
		"rye-cage: reach \"ok.example.org\": rye's proxy: connection refused\nexit 1\n" +
		"rye-cage: reach \"ok.example.org\": port \"0\": want a number from 1 to 65535\nexit 1\n" +
		"rye-cage: reach \"\": want a name of 1 to 255 bytes\nexit 1\n"
	if got := string(r.Stdout); got != want {
		t.Errorf("got\n%s%s\nwant\n%s", got, r.Stderr, want)
	}
}
