package primitive

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// doored is a shell script in a network of its own, with a server behind each address that says
// its name.
func doored(t *testing.T, script string, names string, at ...string) Call {
	t.Helper()
	c := bash(t, script)
	c.Sandbox.Tier, c.Sandbox.Net, c.Sandbox.Own = S3, true, true
	c.Sandbox.Ports = []uint16{1} // of the lower tiers
	c.Doors.Names = []byte(names)
	for _, a := range at {
		c.Doors.Listen = append(c.Doors.Listen, netip.MustParseAddrPort(a))
	}
	var servers sync.WaitGroup
	t.Cleanup(servers.Wait)
	c.Doors.Serve = func(all []net.Listener) {
		for i, l := range all {
			if l == nil {
				continue
			}
			t.Cleanup(func() { l.Close() })
			servers.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					fmt.Fprintln(conn, "from", at[i])
					conn.Close()
				}
			})
		}
	}
	return c
}

// TestDoors: a program reaches each listener by name and by address, its own servers, and nothing
// else: no service of the machine, no other host, no name outside of its file.
func TestDoors(t *testing.T) {
	needS3(t)
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	own := waiting
	c := doored(t, `
		ask() { if exec 3<>/dev/tcp/$1/$2; then read -r line <&3; echo "$1 $line"; exec 3>&-; else echo "$1 refused"; fi 2>/dev/null; }
		ask db.example 5432; ask db.example 80; ask web.example 80; ask 127.9.0.2 80; ask 198.51.100.7 443; ask fd00::9:1 5432
		ask 127.0.0.1 `+strings.Split(outside.Addr().String(), ":")[1]+`
		ask 192.0.2.1 80; ask other.example 80; ask localhost 22; ask ::1 22
		getent ahostsv4 db.example | head -n 1; getent ahosts web.example | head -n 1
		echo x 2>/dev/null >>/etc/hosts && echo wrote
		[ "$(ls -A / | grep file)" ] && echo left
		cat /etc/hosts; ls -l /proc/self/fd | grep -c socket:
	`, "127.0.0.1 localhost\n127.9.0.1 db.example\nfd00::9:1 db.example\n127.9.0.2 web.example\n", "127.9.0.1:5432", "[fd00::9:1]:5432", "127.9.0.2:80", "198.51.100.7:443", "127.9.0.1:80")
	r := mustRun(t, c)
	got := strings.Split(string(r.Stdout), "\n")
	want := []string{"db.example from 127.9.0.1:5432", "db.example from 127.9.0.1:80", "web.example from 127.9.0.2:80", "127.9.0.2 from 127.9.0.2:80", "198.51.100.7 from 198.51.100.7:443", "fd00::9:1 from [fd00::9:1]:5432",
		"127.0.0.1 refused", "192.0.2.1 refused", "other.example refused", "localhost refused", "::1 refused"}
	if got[0] == "db.example from [fd00::9:1]:5432" { // the name has both
		got[0] = want[0]
	}
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			t.Fatalf("line %d: want %q in\n%s\n%s", i, line, r.Stdout, r.Stderr)
		}
	}
	rest := strings.Join(got[len(want):], "\n")
	for _, line := range []string{"127.9.0.1 ", "127.9.0.2 ", "127.0.0.1 localhost\n127.9.0.1 db.example\n"} {
		if !strings.Contains(rest, line) {
			t.Errorf("want %q in\n%s", line, rest)
		}
	}
	if !strings.HasSuffix(rest, "web.example\n0\n") || strings.Contains(rest, "wrote") || strings.Contains(rest, "left") {
		t.Errorf("its file of names can be written, or it has a descriptor more:\n%s", rest)
	}
	if n := own(outside.(syscall.Conn)); n != 0 {
		t.Errorf("%d connections came to a server outside", n)
	}
	if i := slices.IndexFunc(r.Unbound, func(s string) bool { return strings.Contains(s, "host") || strings.Contains(s, "port") }); i >= 0 {
		t.Errorf("not limited: %s", r.Unbound[i])
	}
}

// TestDoorsOfAnotherUser does the same as an ordinary user, who has no right to low ports.
func TestDoorsOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser can become somebody else")
	}
	dir := forNobody(t)
	cmd := exec.Command(filepath.Join(dir, "primitive.test"), "-test.run", "^TestDoors$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + SafePath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestDoors") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDoorsAreMany: the most listeners fit, one more is refused, and nobody answers where the
// caller takes none.
func TestDoorsAreMany(t *testing.T) {
	needS3(t)
	c := doored(t, `exec 3<>/dev/tcp/127.9.0.1/1249 && cat <&3`, "")
	for port := range 250 {
		c.Doors.Listen = append(c.Doors.Listen, netip.AddrPortFrom(netip.MustParseAddr("127.9.0.1"), uint16(1000+port)))
	}
	c.Doors.Names = nil
	count := 0
	c.Doors.Serve = func(all []net.Listener) {
		count = len(all)
		go func() {
			if conn, err := all[249].Accept(); err == nil {
				io.WriteString(conn, "the last\n")
				conn.Close()
			}
			for _, l := range all {
				l.Close()
			}
		}()
	}
	if r := mustRun(t, c); string(r.Stdout) != "the last\n" || count != 250 {
		t.Errorf("%d listeners: %q, %s", count, r.Stdout, r.Stderr)
	}
	c.Doors.Listen = append(c.Doors.Listen, netip.MustParseAddrPort("127.9.0.2:1"))
	if _, err := Run(t.Context(), c, nil, nil); err == nil || !strings.Contains(err.Error(), "at most 250") {
		t.Errorf("251 listeners: %v", err)
	}
	c.Doors.Listen, c.Doors.Serve = c.Doors.Listen[:1], nil
	c.Argv[4] = `exec 3<>/dev/tcp/127.9.0.1/1000`
	if r := mustRun(t, c); r.Exit == 0 {
		t.Errorf("nobody listens: %+v", r)
	}
}
