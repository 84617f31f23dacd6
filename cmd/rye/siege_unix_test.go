//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/registrytest"
)

// A siege is where registries are attacked: one honest registry as it was at several times,
// and readers who reach what is made of it by its path, by git http-backend and by git daemon.
// A reader who refused is as before, so one reader meets many attacks.
type siege struct {
	t      *testing.T
	top    string
	alice  *machine // owns acme, holds the root
	origin string   // where alice publishes
	stages map[string]string
	homes  map[string]map[string]file // alice's machine, as it was at a stage
	oscar  *machine                   // was let into acme
	late   string                     // a file that he signed and nobody published

	key, oscarKey trust.Signer
	eve           trust.Signer // nobody's
}

// A side is one way in which a registry is reached, and who reaches it so.
type side struct {
	*siege
	t       *testing.T
	how     string
	dir     string // of what is served
	address string
	web     http.Handler // git http-backend, where it is that
	bob     *machine     // knew three operations, and locked the first version
	carol   *machine     // pinned the registry, has bob's lock, and never asked
	dave    *machine     // pinned the registry and knows nothing of it
	erin    *machine     // saw that oscar's key was revoked
	mates   string       // the lock of somebody who saw four operations
}

// A machine is somebody's computer, which can be set back.
type machine struct {
	*home
	saved map[string]file
}

type file struct {
	data []byte
	mode fs.FileMode
	when time.Time // of its last change; what it was at tells that there was none since
}

func (m *machine) top() string { return filepath.Dir(m.dir) }

// save remembers every file of the machine.
func (m *machine) save() { m.saved = m.files() }

func (m *machine) files() map[string]file {
	m.t.Helper()
	all := map[string]file{}
	err := filepath.WalkDir(m.top(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			all[path] = file{mode: info.Mode()}
			return nil
		}
		if was, ok := m.saved[path]; ok && was.when.Equal(info.ModTime()) && int64(len(was.data)) == info.Size() {
			all[path] = file{was.data, info.Mode(), was.when}
			return nil
		}
		raw, err := os.ReadFile(path)
		all[path] = file{raw, info.Mode(), info.ModTime()}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// changed names the files that came, went or changed since, less what is no
// belief: objects that were fetched and nothing names, and the evidence of a fork.
func (m *machine) changed(before map[string]file) (list []string) {
	m.t.Helper()
	now := m.files()
	for path := range now {
		if was, ok := before[path]; !ok || string(was.data) != string(now[path].data) {
			list = append(list, path)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			list = append(list, path)
		}
	}
	return slices.DeleteFunc(list, func(path string) bool {
		if now[path].mode.IsDir() || before[path].mode.IsDir() {
			return true
		}
		inCache := strings.Contains(path, "/.cache/") && !strings.Contains(path, ".git/refs/")
		return inCache || strings.Contains(path, ".evidence/")
	})
}

// restore sets the machine back to what was saved.
func (m *machine) restore() {
	m.t.Helper()
	now := m.files()
	for path := range now {
		if _, ok := m.saved[path]; !ok {
			if err := os.RemoveAll(path); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(m.saved)) { // a directory before what is in it
		f := m.saved[path]
		if string(now[path].data) == string(f.data) && now[path].mode == f.mode && (f.mode.IsDir() || now[path].when.Equal(f.when)) {
			continue
		}
		err := os.MkdirAll(path, 0o755)
		if !f.mode.IsDir() {
			os.RemoveAll(path)
			err = os.WriteFile(path, f.data, f.mode.Perm())
			os.Chtimes(path, f.when, f.when)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// newReader is somebody who publishes nothing.
func newReader(t *testing.T) *machine {
	h := newHome(t)
	h.write(".ai/rye.yaml", strings.Replace(h.read(".ai/rye.yaml"), "namespace: acme", "namespace: local", 1))
	return &machine{home: h}
}

// newSiege makes the honest registry: a claim and two publications ("three"), and a third
// ("four"), which the attacks spoil.
func newSiege(t *testing.T) *siege {
	t.Helper()
	a := &siege{t: t, top: t.TempDir(), alice: &machine{home: newHome(t)}, stages: map[string]string{}, homes: map[string]map[string]file{}}
	a.origin = filepath.Join(a.top, "origin.git")
	for _, name := range []string{"a", "b"} {
		a.alice.publishable(name, 0)
	}
	a.alice.rye("registry", "init", a.origin, "--name", "main", "--yes")
	a.alice.rye("push", "knowledge:acme/a", "--yes")
	a.alice.rye("push", "knowledge:acme/b", "--yes")
	a.keep("three")
	a.key = loadKey(t, a.alice.home, "default")
	var err error
	if a.eve, err = trust.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	a.stage("four", "three", func() { a.publish("c") })
	return a
}

// changes makes the stages in which keys, owners and versions changed.
func (a *siege) changes() {
	a.t.Helper()
	const c = "acme/knowledge/c@1.0.0"
	a.stage("yanked", "four", func() { a.alice.rye("yank", c, "--reason", "broken") })
	a.stage("deprecated", "four", func() { a.alice.rye("deprecate", c, "--reason", "old") })
	a.stage("taken", "four", func() { a.alice.rye("revoke", c, "--reason", "steals", "--yes") })
	a.stage("stale", "four", func() { a.alice.rye("registry", "checkpoint", "--fresh", "1ms", "--yes") })
	a.stage("vouched", "three", func() { a.alice.rye("registry", "checkpoint", "--fresh", "720h", "--yes") })
	a.stage("overdue", "three", func() { a.alice.rye("registry", "checkpoint", "--fresh", "1ms", "--yes") })
	a.stage("vouched4", "four", func() { a.alice.rye("registry", "checkpoint", "--fresh", "720h", "--yes") })
	a.stage("tool", "three", func() { a.tool("1.0.0", "") })
	a.stage("wider", "tool", func() { a.tool("1.0.1", "# needs:\n#   net: [\"*\"]\n") })
	a.stage("another", "three", func() {
		mallory := newHome(a.t)
		mallory.publishable("a", 0)
		if err := os.RemoveAll(a.origin); err != nil {
			a.t.Fatal(err)
		}
		mallory.rye("registry", "init", a.origin, "--name", "main", "--yes")
		mallory.rye("push", "knowledge:acme/a", "--yes")
	})
	testkit.CopyDir(a.t, a.stages["three"], a.origin)
	a.oscar = newReader(a.t)
	a.oscar.rye("registry", "add", a.origin, "--scope", "acme", "--yes")
	var ask struct{ Request string }
	if err := json.Unmarshal([]byte(a.oscar.rye("registry", "members", "acme", "--join", "--json")), &ask); err != nil || ask.Request == "" {
		a.t.Fatalf("members --join: %v", err)
	}
	a.oscar.publishable("good", 0)
	a.oscar.publishable("bad", 0)
	a.oscar.publishable("late", 0)
	a.late, a.oscarKey = a.oscar.read(".ai/knowledge/acme/late.md"), loadKey(a.t, a.oscar.home, "default")
	key := a.oscarKey.Public().Fingerprint().String()
	a.stage("joined", "three", func() { a.alice.rye("registry", "members", "acme", "--add", ask.Request, "--yes") })
	a.stage("worked", "joined", func() {
		a.oscar.rye("push", "knowledge:acme/good", "--yes")
		a.oscar.rye("push", "knowledge:acme/bad", "--yes")
	})
	a.stage("retired", "worked", func() { a.alice.rye("registry", "members", "acme", "--retire", key, "--yes"); a.publish("d") })
	a.stage("revoked", "worked", func() {
		a.alice.rye("registry", "revoke-key", "acme", key, "--from", "6", "--reason", "stolen", "--yes")
	})
	a.stage("after", "revoked", func() { a.publish("d") })
	a.stage("granted", "three", func() {
		a.alice.rye("registry", "grant", "other", a.oscarKey.Public().Authorized(), "--yes")
	})
	a.stage("transferred", "three", func() { a.alice.rye("registry", "transfer", "acme", ask.Request, "--yes") })
}

func loadKey(t *testing.T, h *home, name string) trust.Signer {
	t.Helper()
	key, err := trust.LoadKey(filepath.Join(strings.TrimSpace(h.rye("where", "config")), "keys", name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publish lets alice publish a new item.
func (a *siege) publish(name string) {
	a.t.Helper()
	a.alice.publishable(name, 0)
	a.alice.rye("push", "knowledge:acme/"+name, "--yes")
}

// tool lets alice publish a version of a tool with needs.
func (a *siege) tool(version, needs string) {
	a.t.Helper()
	a.alice.write(".ai/tools/acme/probe.sh", "#!/usr/bin/env bash\n# version: "+version+"\n# tool_type: bash\n# executor_id: rye/core/runtimes/bash_runtime\n"+
		"# category: acme\n# description: Looks.\n"+needs+"echo probed\n")
	a.alice.rye("sign", "tool:acme/probe")
	a.alice.rye("push", "tool:acme/probe", "--yes")
}

// keep remembers the registry as it is.
func (a *siege) keep(name string) {
	a.t.Helper()
	a.stages[name] = filepath.Join(a.top, name)
	testkit.CopyDir(a.t, a.origin, a.stages[name])
	a.homes[name] = a.alice.files()
}

// stage remembers the registry as alice leaves it who found it as it was at another.
func (a *siege) stage(name, from string, act func()) {
	a.t.Helper()
	a.alice.saved = a.homes[from]
	a.alice.restore()
	testkit.CopyDir(a.t, a.stages[from], a.origin)
	act()
	a.keep(name)
}

// sides are the ways of which this machine has the servers.
func (a *siege) sides(t *testing.T) []*side {
	t.Helper()
	direct := &side{siege: a, how: "path", dir: filepath.Join(a.top, "path.git")}
	direct.address = direct.dir
	web := newForge(t, "reg.git")
	served := &side{siege: a, how: "http-backend", dir: filepath.Join(web.dir, "reg.git"), address: web.URL + "/reg.git", web: web.Config.Handler}
	all := []*side{direct, served}
	if root, address := gitDaemon(t); address != "" {
		all = append(all, &side{siege: a, how: "git daemon", dir: filepath.Join(root, "reg.git"), address: address + "/reg.git"})
	} else {
		t.Log("git daemon is not installed")
	}
	return all
}

// people makes the readers of a side.
func (s *side) people() {
	s.t.Helper()
	testkit.CopyDir(s.t, s.stages["three"], s.dir)
	s.bob, s.carol, s.dave = newReader(s.t), newReader(s.t), newReader(s.t)
	for _, m := range []*machine{s.bob, s.carol, s.dave} {
		m.rye("registry", "add", s.address, "--scope", "acme", "--yes")
	}
	s.bob.rye("add", "acme/knowledge/a", "--yes")
	s.carol.write(".ai/rye.lock", s.bob.read(".ai/rye.lock"))
	s.carol.write(".ai/rye.yaml", swap(s.t, s.carol.read(".ai/rye.yaml"), "\nscopes:", "\ndeps:\n  acme/knowledge/a: ^1.0.0\nscopes:"))
	s.erin = newReader(s.t)
	s.serve("revoked")
	s.erin.rye("registry", "add", s.address, "--scope", "acme", "--yes")
	s.erin.rye("fetch")
	for _, m := range []*machine{s.bob, s.carol, s.dave, s.erin} {
		m.save()
	}
}

// serve serves a stage, and returns it in the hands of the attacker.
func (s *side) serve(stage string) *registrytest.Host {
	s.t.Helper()
	from, ok := s.stages[stage]
	if !ok {
		s.t.Fatalf("no stage %q", stage)
	}
	testkit.CopyDir(s.t, from, s.dir)
	return registrytest.Open(s.t, s.dir)
}

// gitDaemon serves a directory by git's own daemon, until the test ends.
func gitDaemon(t *testing.T) (root, address string) {
	t.Helper()
	where, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", ""
	}
	program := filepath.Join(strings.TrimSpace(string(where)), "git-daemon")
	if _, err := os.Stat(program); err != nil {
		return "", ""
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	root = t.TempDir()
	c := exec.Command(program, "--listen=127.0.0.1", fmt.Sprintf("--port=%d", port), "--base-path="+root, "--export-all",
		"--enable=receive-pack", "--reuseaddr", "--verbose", "--log-destination=stderr", "--timeout=30")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1"}
	errs, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	up := bufio.NewScanner(errs)
	for up.Scan() && !strings.Contains(up.Text(), "Ready to rumble") {
	}
	go io.Copy(io.Discard, errs)
	return root, fmt.Sprintf("git://127.0.0.1:%d", port)
}
