//go:build unix

package main_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/registrytest"
	"github.com/rye-os/rye/store"
)

// A deed is an attack that takes more than one command, or more than one host. Those that are
// real run against git http-backend.
type deed struct {
	n    int
	what string
	real bool
	do   func(t *testing.T, s *side)
}

var deeds = []deed{
	{55, "a mirror shows another operation", true, mirrored},
	{57, "many publish at once", true, concurrent},
	{58, "the host moves the content and not the log", true, torn},
	{59, "a host that never ends", false, endless},
	{70, "a higher version in a registry that is not the scope's", false, confused},
	{75, "an update that may do more", true, widened},
	{78, "addresses that are options or commands", false, addresses},
	{79, "a redirect to another host", false, redirected},
	{80, "a token where it does not belong", true, tokened},
	{81, "a clone that brings a trust store", false, brought},
	{82, "an unsigned file before a system item", false, shadowed},
	{83, "a file swapped while it is verified and run", false, swapped},
	{87, "branches of threads in what is pushed", true, threadsStay},
	{89, "an operation with bytes of it changed at random", true, mutants},
}

// moves lets a machine name another address of a registry wherever it named one, as if it had
// been told of that one.
func (m *machine) moves(t *testing.T, from, to string) {
	t.Helper()
	for path, f := range m.files() {
		if !strings.HasSuffix(path, ".yaml") || !strings.Contains(string(f.data), from) {
			continue
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(f.data), from, to)), f.mode.Perm()); err != nil {
			t.Fatal(err)
		}
	}
}

// publisher is alice at a stage, who publishes to what this side serves.
func (s *side) publisher(t *testing.T, stage string) *machine {
	t.Helper()
	s.serve(stage)
	s.alice.t = t
	s.alice.saved = s.homes[stage]
	s.alice.restore()
	s.alice.moves(t, s.origin, s.address)
	return s.alice
}

func (s *side) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", s.dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func mirrored(t *testing.T, s *side) {
	s.serve("four")
	s.bob.rye("fetch")
	mirror := filepath.Join(t.TempDir(), "mirror.git")
	testkit.CopyDir(t, s.stages["four"], mirror)
	registrytest.Open(t, mirror).Forge(logRef, registrytest.By(t, s.key), func(c *store.Commit) {
		c.Author.Unix++
		c.Committer.Unix++
	})
	s.bob.moves(t, s.address, mirror)
	before := s.bob.files()
	s.bob.fails(15, "fetch")
	if list := s.bob.changed(before); len(list) > 0 {
		t.Errorf("changed: %v", list)
	}
	// It is reported, whatever else is asked and answered, until somebody acted on it.
	s.bob.moves(t, mirror, s.address)
	reports := func(want bool) {
		t.Helper()
		for _, args := range [][]string{{"status"}, {"status", "--all"}, {"audit", "--json"}, {"update", "--yes"}, {"audit"}, {"doctor"}} {
			if out, _ := s.bob.status(args...); strings.Contains(out, "showed two histories") != want {
				t.Errorf("rye %s reports the fork: want %v, says\n%s", strings.Join(args, " "), want, out)
			}
		}
	}
	reports(true)
	kept, err := filepath.Glob(filepath.Join(s.bob.top(), "home", ".local", "state", "rye", "registries", "*.evidence"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("evidence: %v, %v", kept, err)
	}
	if err := os.RemoveAll(kept[0]); err != nil {
		t.Fatal(err)
	}
	reports(false)
}

func concurrent(t *testing.T, s *side) {
	n := 4
	if soak {
		n = 20
	}
	alice := s.publisher(t, "three")
	for i := range n {
		alice.publishable(fmt.Sprintf("x%d", i), 0)
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if out, exit := alice.status("push", fmt.Sprintf("knowledge:acme/x%d", i), "--yes"); exit != 0 {
				t.Errorf("push %d: status %d\n%s", i, exit, out)
			}
		})
	}
	all.Wait()
	s.bob.rye("fetch")
	s.bob.rye("registry", "verify")
	log := s.bob.rye("registry", "log", "acme")
	for i := range n {
		if strings.Count(log, fmt.Sprintf("acme/knowledge/x%d@1.0.0", i)) != 1 {
			t.Errorf("x%d is not there once:\n%s", i, log)
		}
	}
	s.git(t, "fsck", "--strict")
}

func torn(t *testing.T, s *side) {
	alice := s.publisher(t, "three")
	s.git(t, "config", "receive.advertiseAtomic", "false")
	hook := filepath.Join(s.dir, "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ncase \"$1\" in refs/heads/ns/*) exit 1;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	alice.publishable("c", 0)
	log, content := s.git(t, "rev-parse", logRef), s.git(t, "rev-parse", contentRef)
	if out, exit := alice.status("push", "knowledge:acme/c", "--yes"); exit == 0 {
		t.Errorf("a push whose log did not move: %s", out)
	}
	if s.git(t, "rev-parse", logRef) != log || s.git(t, "rev-parse", contentRef) == content {
		t.Error("want the content there and the log as it was")
	}
	s.bob.fails(3, "add", "acme/knowledge/c", "--yes")
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	alice.rye("push", "knowledge:acme/c", "--yes")
	s.bob.rye("add", "acme/knowledge/c", "--yes")
	s.bob.rye("registry", "verify")
	s.git(t, "fsck", "--strict")
}

func endless(t *testing.T, s *side) {
	stop := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			<-stop
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000")
		line := strings.Repeat(pkt(b1+" refs/heads/"+strings.Repeat("x", 200)+"\n"), 100)
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	}))
	t.Cleanup(func() { close(stop); host.Close() })
	before := s.dave.files()
	if out, exit := s.dave.status("registry", "add", host.URL+"/x.git", "--yes", "--scope", "x"); exit != 5 && exit != 20 {
		t.Errorf("endless: status %d\n%s", exit, out)
	}
	if soak { // the bound of silence is a minute
		if out, exit := s.dave.status("registry", "add", host.URL+"/slow.git", "--yes", "--scope", "x"); exit != 5 {
			t.Errorf("slow: status %d\n%s", exit, out)
		}
	}
	if list := s.dave.changed(before); len(list) > 0 {
		t.Errorf("changed: %v", list)
	}
}

func confused(t *testing.T, s *side) {
	s.serve("three")
	mallory, other := newHome(t), filepath.Join(t.TempDir(), "public.git")
	mallory.publishable("a", 99)
	mallory.rye("registry", "init", other, "--open", "--yes")
	mallory.rye("push", "knowledge:acme/a", "--yes")
	s.bob.rye("registry", "add", other, "--name", "public", "--scope", "public", "--yes")
	s.bob.rye("update", "--yes")
	if lock := s.bob.read(".ai/rye.lock"); !strings.Contains(lock, "version: 1.0.0") || strings.Contains(lock, "1.0.99") {
		t.Errorf("taken from elsewhere:\n%s", lock)
	}
	s.bob.fails(16, "registry", "add", other, "--name", "public", "--scope", "*", "--yes")
}

func widened(t *testing.T, s *side) {
	s.serve("tool")
	s.bob.rye("add", "acme/tool/probe", "--yes")
	s.serve("wider")
	before := s.bob.files()
	out := s.bob.fails(16, "update")
	if !strings.Contains(out, "net") {
		t.Errorf("the question does not say what is new:\n%s", out)
	}
	for _, path := range s.bob.changed(before) {
		if !remembers(path) {
			t.Errorf("refusing changed %s", path)
		}
	}
}

func addresses(t *testing.T, s *side) {
	mark := filepath.Join(t.TempDir(), "ran")
	before := s.dave.files()
	for _, address := range []string{"ext::sh -c touch% " + mark, "--upload-pack=touch " + mark, "-oProxyCommand=touch " + mark,
		"ssh://-oProxyCommand=touch" + mark + "/x", "git@-oProxyCommand=touch" + mark + ":x", "fd::3", "http://example.org/x.git", "transport::x"} {
		for _, args := range [][]string{{"registry", "add", "--yes", "--scope", "x", "--", address}, {"add", "--yes", "--", address}} {
			out, exit := s.dave.status(args...)
			if exit != 2 && exit != 3 && exit != 16 {
				t.Errorf("rye %s: status %d\n%s", strings.Join(args, " "), exit, out)
			}
		}
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a command ran")
	}
	if list := s.dave.changed(before); len(list) > 0 {
		t.Errorf("changed: %v", list)
	}
}

const wireToken = "tok-3f9a1c77e2"

// tokenFor is the variable that holds the token for a server on loopback.
func tokenFor(s *httptest.Server) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	return "RYE_TOKEN_127_0_0_1___" + port + "=" + wireToken
}

func redirected(t *testing.T, s *side) {
	var mu sync.Mutex
	asked, told := 0, ""
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		told += r.Header.Get("Authorization")
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer there.Close()
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, strings.Replace(there.URL, "127.0.0.1", "localhost", 1)+r.URL.RequestURI(), http.StatusMovedPermanently)
	}))
	defer here.Close()
	out, exit := s.dave.with(tokenFor(here)).status("registry", "add", here.URL+"/x.git", "--yes", "--scope", "x")
	if exit != 6 || strings.Contains(out, wireToken) {
		t.Errorf("status %d\n%s", exit, out)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked == 0 || told != "" {
		t.Errorf("the other host was asked %d times and told %q", asked, told)
	}
}

func tokened(t *testing.T, s *side) {
	s.serve("three")
	let := false
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != wireToken && r.Header.Get("Authorization") != "Bearer "+wireToken {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		let = true
		s.web.ServeHTTP(w, r)
	}))
	defer gate.Close()
	frank := newReader(t)
	frank.fails(6, "registry", "add", gate.URL+"/reg.git", "--scope", "acme", "--yes")
	inURL := strings.Replace(gate.URL, "://", "://x:"+wireToken+"@", 1) + "/reg.git"
	said, _ := frank.status("registry", "add", inURL, "--scope", "acme", "--yes")
	holder := &machine{home: frank.with(tokenFor(gate))}
	for _, args := range [][]string{{"registry", "add", gate.URL + "/reg.git", "--scope", "acme", "--yes", "--json"},
		{"add", "acme/knowledge/a", "--yes", "--json"}, {"fetch", "--json"}, {"registry", "verify"}, {"registry", "list", "--json"}, {"doctor"}} {
		out, exit := holder.status(args...)
		if exit != 0 && args[0] != "doctor" {
			t.Errorf("rye %s: status %d\n%s", strings.Join(args, " "), exit, out)
		}
		said += out
	}
	if strings.Contains(said, wireToken) {
		t.Errorf("printed: %s", said)
	}
	for path, f := range frank.files() {
		if strings.Contains(string(f.data), wireToken) {
			t.Errorf("written to %s", path)
		}
	}
	if !let {
		t.Error("the token was never sent where it belongs")
	}
}

func brought(t *testing.T, s *side) {
	stranger := newHome(t)
	text := stranger.signed(noteFile, noteRef, attackNote)
	s.dave.write(noteFile, text)
	s.dave.write(".ai/trust.yaml", stranger.trustFile())
	s.dave.write(".ai/config/trust.yaml", stranger.trustFile())
	before := s.dave.trustFile()
	s.dave.fails(11, "load", noteRef)
	if s.dave.trustFile() != before {
		t.Error("what the user believes changed")
	}
}

func shadowed(t *testing.T, s *side) {
	const ref = "tool:rye/core/runtimes/bash_runtime"
	s.dave.rye("load", ref)
	s.dave.write(".ai/tools/rye/core/runtimes/bash_runtime.yaml", "version: \"9.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/subprocess\ncategory: rye/core/runtimes\ndescription: evil\n")
	s.dave.fails(11, "load", ref)
}

func swapped(t *testing.T, s *side) {
	needBash(t)
	s.dave.signed(toolFile, toolRef, attackTool)
	path := filepath.Join(s.dave.dir, filepath.FromSlash(toolFile))
	good := s.dave.read(toolFile)
	evil := strings.Replace(good, "echo it ran", "echo EVIL!!", 1)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.WriteFile(path+".next", []byte([]string{good, evil}[i%2]), 0o644)
			os.Rename(path+".next", path)
		}
	}()
	n := 6
	if soak {
		n = 200
	}
	for range n {
		out, exit := s.dave.status("execute", toolRef)
		if strings.Contains(out, "EVIL!!\n") || exit != 0 && exit != 10 {
			t.Errorf("status %d: %s", exit, out)
		}
	}
	close(stop)
	<-done
}

func threadsStay(t *testing.T, s *side) {
	alice := s.publisher(t, "three")
	r, err := store.Open(alice.store())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, ref := range []string{"refs/heads/threads/t1", "refs/rye/threads/t1"} {
		o := store.CommitOptions{Message: "secret thread\n", Author: store.Ident{Name: "a", Email: "a@a"}, When: time.Unix(1700000000, 0)}
		if _, err := r.Edit(t.Context(), ref, []store.Change{{Path: "turn.json", Data: []byte("private words")}}, o); err != nil {
			t.Fatal(err)
		}
	}
	alice.publishable("c", 0)
	alice.rye("push", "--all", "--yes")
	want := contentRef + "\n" + rootRef + "\n" + logRef + "\n"
	if got := s.git(t, "for-each-ref", "--format=%(refname)"); got != want {
		t.Errorf("refs of the registry: %q, want %q", got, want)
	}
	if got := s.git(t, "log", "--all", "--format=%s"); strings.Contains(got, "secret thread") {
		t.Error("a thread was published")
	}
}

func mutants(t *testing.T, s *side) {
	n := 6
	if soak {
		n = 200
	}
	for i := range n {
		h := s.serve("four")
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		raw := []byte(h.Raw(h.At(logRef)))
		for at := 0; at < 1+i%3; at++ {
			raw[48+rnd.IntN(len(raw)-48)] ^= 1 << rnd.IntN(7) // not in the tree's header: a host would not find that
		}
		h.Set(logRef, h.Put(store.TypeCommit, string(raw)))
		before := s.bob.files()
		out, exit := s.bob.status("fetch")
		if exit == 0 || exit == 1 || strings.Contains(out, "goroutine ") {
			t.Errorf("mutant %d: status %d\n%s\n%s", i, exit, out, raw)
		}
		if list := s.bob.changed(before); len(list) > 0 {
			t.Errorf("mutant %d changed %v", i, list)
		}
		s.bob.restore()
	}
}
