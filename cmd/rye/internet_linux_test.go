package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// internet is two machines with a wire between them: one where rye runs, and one that has every
// other address. Its public addresses exist nowhere else.
type internet struct {
	t           *testing.T
	here, there int // processes that hold the networks
}

const (
	hereAddress = "93.184.215.1" // rye's machine
	webAddress  = "93.184.215.14"
	dbAddress   = "93.184.215.15"
	webAddress6 = "2606:2800:21f::14"
	privateHost = "10.1.2.3"
	metadata    = "169.254.169.254"
)

// newInternet makes the networks. names are the lines of /etc/hosts on rye's machine, which asks
// the machine at webAddress for every other name.
func newInternet(t *testing.T, names ...string) *internet {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only the superuser can lay a wire between two networks")
	}
	for _, p := range []string{"unshare", "nsenter", "ip"} {
		testkit.NeedProgram(t, p)
	}
	if !namespaces() {
		t.Skip("no namespaces here")
	}
	in := &internet{t: t}
	dir := t.TempDir()
	hosts, servers := filepath.Join(dir, "hosts"), filepath.Join(dir, "resolv.conf")
	testkit.WriteFile(t, hosts, "127.0.0.1 localhost\n::1 localhost\n"+strings.Join(names, "\n")+"\n", 0o644)
	testkit.WriteFile(t, servers, "nameserver "+webAddress+"\noptions timeout:1 attempts:1\n", 0o644)
	in.there = in.hold("unshare", "-n")
	in.here = in.hold("unshare", "-n", "-m")
	in.do(in.here, "sh", "-ec", fmt.Sprintf(`
		mount --bind %[1]s /etc/hosts
		mount --bind %[2]s "$(readlink -f /etc/resolv.conf)"
		ip link set lo up
		ip link add wire type veth peer name far netns %[3]d
		ip addr add %[4]s/24 dev wire
		ip addr add 2606:2800:21f::1/64 dev wire nodad
		ip link set wire up`, hosts, servers, in.there, hereAddress))
	in.do(in.there, "sh", "-ec", fmt.Sprintf(`
		ip link set lo up
		for a in %s/24 %s/24 %s/32 %s/32; do ip addr add $a dev far; done
		ip addr add %s/64 dev far nodad
		ip link set far up`, webAddress, dbAddress, privateHost, metadata, webAddress6))
	in.do(in.here, "sh", "-ec", "ip route add default via "+webAddress+"; ip -6 route add default via "+webAddress6)
	return in
}

// hold keeps namespaces until the end of the test.
func (in *internet) hold(args ...string) (pid int) {
	in.t.Helper()
	cmd := exec.Command(args[0], append(args[1:], "sh", "-c", "echo; exec cat")...)
	stdin, err := cmd.StdinPipe()
	testkit.Must(in.t, err)
	stdout, err := cmd.StdoutPipe()
	testkit.Must(in.t, err)
	testkit.Must(in.t, cmd.Start())
	in.t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		in.t.Fatal(err)
	}
	return cmd.Process.Pid
}

func inNetwork(pid int) []string { return []string{"nsenter", "-t", strconv.Itoa(pid), "-n", "-m"} }

// do runs a command in a network.
func (in *internet) do(pid int, args ...string) string {
	in.t.Helper()
	cmd := exec.Command("nsenter", append(inNetwork(pid)[1:], args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		in.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// move has a command run on rye's machine.
func (in *internet) move(cmd *exec.Cmd) *exec.Cmd {
	in.t.Helper()
	path, err := exec.LookPath("nsenter")
	testkit.Must(in.t, err)
	// Another mount namespace begins at its root.
	cmd.Args = append(append(inNetwork(in.here), "sh", "-c", `cd "$0" && exec "$@"`, cmd.Dir, cmd.Path), cmd.Args[1:]...)
	cmd.Path = path
	return cmd
}

// says serves at an address: it reads the first line of a connection, and says its own address.
func (in *internet) says(pid int, at string) (came func() int) {
	in.t.Helper()
	l := testkit.ListenIn(in.t, pid, at)
	count := make(chan int, 1)
	count <- 0
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count <- <-count + 1
			go func() {
				defer conn.Close()
				bufio.NewReader(io.LimitReader(conn, 4096)).ReadString('\n')
				text := "this is " + at + "\n"
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(text), text)
			}()
		}
	}()
	return func() int { n := <-count; count <- n; return n }
}
