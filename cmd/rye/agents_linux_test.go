package main_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// TestAgentsAreOutOfReach: a tool with "*", and one that names their ports, reaches no agent of its user:
// not by the sockets of files in directories that it may read and write, not by abstract sockets, not by
// the variables that name them, and not rye's own HTTP server, where rye carries the connection.
func TestAgentsAreOutOfReach(t *testing.T) {
	t.Parallel()
	needBash(t)
	testkit.NeedProgram(t, "perl")
	h := newHome(t)
	dir := filepath.Join(h.dir, "run")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	var paths []string
	came := make(chan string, 100)
	listen := func(at string) {
		l, err := net.Listen("unix", at)
		testkit.Must(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				came <- at
				conn.Close()
			}
		}()
		paths = append(paths, at)
	}
	for _, name := range []string{"ssh-agent", "S.gpg-agent", "docker.sock", "bus", "wayland-0", "tmux", "X0", "pulse", "keyring"} {
		listen(filepath.Join(dir, name))
	}
	for _, name := range []string{"dbus", "X"} { // abstract ones belong to the machine's network
		listen(fmt.Sprintf("@rye-test-%s-%d", name, os.Getpid()))
	}
	for name, socket := range map[string]string{"SSH_AUTH_SOCK": "ssh-agent", "GPG_AGENT_INFO": "S.gpg-agent", "DOCKER_HOST": "docker.sock", "DBUS_SESSION_BUS_ADDRESS": "bus", "WAYLAND_DISPLAY": "wayland-0", "TMUX": "tmux", "DISPLAY": "X0", "PULSE_SERVER": "pulse", "XAUTHORITY": "keyring"} {
		h.env = append(h.env, name+"="+filepath.Join(dir, socket))
	}
	h.token("laptop")
	server := h.serveHTTP()
	u, err := url.Parse(server.url)
	testkit.Must(t, err)
	const try = `
trap '' PIPE # the connection may be closed before the request
perl -MSocket -e 'for (@ARGV) { my $a = $_; $a =~ s/^@/\0/; for my $k (SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET) { print "$_ is open\n" if socket(S, PF_UNIX, $k, 0) && connect(S, pack_sockaddr_un($a)) } } print "tried\n"' PATHS
env | grep -E 'SSH_AUTH|GPG_AGENT|DOCKER_HOST|DBUS|WAYLAND|TMUX|DISPLAY|PULSE|XAUTH' && echo "a variable"
for p in PORTS; do
	if exec 3<>/dev/tcp/localhost/$p && printf 'GET /mcp HTTP/1.0\r\n\r\n' >&3 && read -r line <&3; then echo "$p says $line"; else echo "$p is closed"; fi 2>/dev/null; exec 3>&-
done
`
	script := strings.NewReplacer("PATHS", "'"+strings.Join(paths, "' '")+"'", "PORTS", u.Port()+" 2375 2376 6000 6010").Replace(try)
	named := "'localhost:" + strings.Join([]string{u.Port(), "2375", "2376", "6000", "6010"}, "', 'localhost:") + "'"
	h.write(".ai/tools/acme/open.sh", netTool("Open", "{read: [.], write: [run], net: ['*']}", script))
	h.write(".ai/tools/acme/named.sh", netTool("Named", "{read: [.], write: [run], net: ["+named+"]}", script))
	h.rye("sign", "--all")
	for _, name := range []string{"open", "named"} {
		r := h.runIn(nil, "tool:acme/"+name, "--yes")
		if !strings.Contains(r.Data.Stdout, "tried\n") || strings.Contains(r.Data.Stdout, "is open") || strings.Contains(r.Data.Stdout, "a variable") {
			t.Errorf("%s: %s%s\n%s", name, r.Data.Stdout, r.Data.Stderr, r.raw)
		}
		if name == "open" {
			continue // it dials by itself; the server wants a token
		}
		if strings.Contains(r.Data.Stdout, "says") {
			t.Errorf("%s: it reached a port:\n%s", name, r.Data.Stdout)
		}
		for _, want := range []string{"localhost:" + u.Port() + ": port " + u.Port() + " of this machine is rye's own, which no tool reaches", "port 2375 of this machine is Docker's", "port 6000 of this machine is the X server's"} {
			if !strings.Contains(r.raw, want) {
				t.Errorf("%s: the result says no %q:\n%s", name, want, r.raw)
			}
		}
	}
	select {
	case at := <-came:
		t.Errorf("a tool reached %s", at)
	default:
	}
}
