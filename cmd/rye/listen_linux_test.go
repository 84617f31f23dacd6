package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// serving is a dev server in Perl, which every system with git has: it answers at two ports.
const serving = `exec perl -MSocket -e '$|=1; for $p (@ARGV) { socket($h{$p},PF_INET,SOCK_STREAM,0) && bind($h{$p},sockaddr_in($p,INADDR_LOOPBACK)) && listen($h{$p},50) or die "$!" }
	print "up\n"; for (1..2) { accept(C,$h{$ARGV[0]}); $l=<C>; syswrite(C,"HTTP/1.0 200 OK\r\n\r\nserved $l"); close C }' `

// TestListen: a browser of this machine reaches a tool's server at the port that its needs name, and at
// no other. A port in use is refused with the tool's name, and the port is free after the run. Every
// place that shows needs shows the port, and a tool that has it is asked about like one with "*".
func TestListen(t *testing.T) {
	t.Parallel()
	needBash(t)
	testkit.NeedProgram(t, "perl")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	port, other := l.Addr().(*net.TCPAddr).Port, 0
	m, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	other = m.Addr().(*net.TCPAddr).Port
	m.Close()
	h := newHome(t)
	h.write(".ai/tools/acme/dev.sh", netTool("Serve", fmt.Sprintf("{listen: [%d]}", port), serving+fmt.Sprint(port, other)+"\n"))
	h.rye("sign", "--all")
	need := fmt.Sprintf("listen %d", port)
	for _, args := range [][]string{{"show", "tool:acme/dev"}, {"run", "tool:acme/dev", "--dry-run", "--yes"}, {"run", "tool:acme/dev", "--dry-run", "--yes", "--json"}, {"policy", "explain", "tool:acme/dev"}} {
		if text := h.rye(args...); !strings.Contains(text, need) {
			t.Errorf("rye %v says no %q:\n%s", args, need, text)
		}
	}
	if text := h.rye("policy", "explain", "tool:acme/dev"); !strings.Contains(text, "t2") || !strings.Contains(text, fmt.Sprintf("it serves at port %d of this machine", port)) {
		t.Errorf("policy explain:\n%s", text)
	}
	out, err := h.command("run", "tool:acme/dev", "--yes").CombinedOutput()
	if code := err.(*exec.ExitError).ExitCode(); code != 4 || !strings.Contains(string(out), fmt.Sprintf("another program serves at port %d of this machine", port)) {
		t.Errorf("a port in use: exit %d\n%s", code, out)
	}
	l.Close()
	var said strings.Builder
	start := func() (*exec.Cmd, *bufio.Reader) {
		cmd := h.command("run", "tool:acme/dev", "--yes")
		stdout, err := cmd.StdoutPipe()
		testkit.Must(t, err)
		cmd.Stderr = &said
		testkit.Must(t, cmd.Start())
		in := bufio.NewReader(stdout)
		if line, err := in.ReadString('\n'); line != "up\n" {
			t.Fatalf("the server says %q, %v\n%s", line, err, said.String())
		}
		return cmd, in
	}
	// A rye that is killed takes the server and the port with it, and a client sees the end.
	cmd, in := start()
	client, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
	testkit.Must(t, err)
	testkit.Must(t, cmd.Process.Kill())
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := client.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client of a killed rye reads %d bytes, %v", n, err)
	}
	client.Close()
	io.Copy(io.Discard, in) // until no process has the pipe
	cmd.Wait()
	said.Reset()
	cmd, in = start()
	if conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", other)); err == nil {
		conn.Close()
		t.Errorf("port %d, which no need names, is reached", other)
	}
	for range 2 {
		conn, err := net.DialTimeout("tcp", fmt.Sprint("127.0.0.1:", port), 5*time.Second)
		testkit.Must(t, err)
		fmt.Fprint(conn, "GET /page HTTP/1.0\r\n")
		text, err := io.ReadAll(conn)
		if conn.Close(); err != nil || !strings.Contains(string(text), "served GET /page") {
			t.Errorf("the browser gets %q, %v", text, err)
		}
	}
	io.Copy(io.Discard, in)
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), fmt.Sprintf("this run serves at localhost:%d", port)) {
		t.Errorf("the run: %v\n%s", err, said.String())
	}
	if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err != nil {
		t.Errorf("after the run: %v", err)
	} else {
		l.Close()
	}
}
