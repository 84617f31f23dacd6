package registry

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/oplog"
)

// turnstile is an ssh to a host that speaks git's protocol 0, where something may happen
// before a conversation about reading begins.
type turnstile struct {
	t   *testing.T
	dir string
}

func newTurnstile(t *testing.T) turnstile {
	t.Helper()
	s := turnstile{t, t.TempDir()}
	for _, p := range []string{"asked", "go"} {
		if err := syscall.Mkfifo(filepath.Join(s.dir, p), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nunset GIT_PROTOCOL\nfor last; do :; done\ncd '" + s.dir + "'\n" +
		"case \"$last\" in *upload-pack*) if [ -e count ]; then n=$(($(cat count) - 1)); echo $n > count\n" +
		"if [ $n = 0 ]; then rm count; echo > asked; read x < go; fi; fi;; esac\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(s.ssh(), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s turnstile) ssh() string { return filepath.Join(s.dir, "ssh") }

// during runs f, and happens before its nth conversation about reading. It reports whether
// there were so many.
func (s turnstile) during(n int, happens, f func()) bool {
	s.t.Helper()
	count := filepath.Join(s.dir, "count")
	if err := os.WriteFile(count, []byte(fmt.Sprintln(n)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	asked, err := os.OpenFile(filepath.Join(s.dir, "asked"), os.O_RDWR, 0) // so that closing it ends reading
	if err != nil {
		s.t.Fatal(err)
	}
	met := make(chan bool)
	go func() {
		line, _ := bufio.NewReader(asked).ReadString('\n')
		if line == "\n" {
			happens()
			os.WriteFile(filepath.Join(s.dir, "go"), []byte("\n"), 0)
		}
		met <- line == "\n"
	}()
	f()
	if os.Remove(count) == nil {
		asked.WriteString("no\n")
	}
	defer asked.Close()
	return <-met
}

// TestContentMovesMeanwhile: a host of protocol 0 without tags gives the content of a version only
// with its whole branch. Where the branch moves after it was listed, the content is fetched from
// where the branch is now, and nothing is fetched twice.
func TestContentMovesMeanwhile(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/first@1.0.0")
	for _, key := range []string{"uploadpack.allowReachableSHA1InWant", "uploadpack.allowFilter"} {
		testkit.Git(t, w.dir, "config", key, "false")
	}
	untag := func() {
		for _, name := range strings.Fields(testkit.Git(t, w.dir, "for-each-ref", "--format=%(refname)", tagsOf("acme"))) {
			testkit.Git(t, w.dir, "update-ref", "-d", name)
		}
	}
	untag()
	direct, between, n, met := w.url, newTurnstile(t), 0, 0
	other := func() {
		url, ssh := w.url, w.ssh
		w.url, w.ssh = direct, ""
		defer func() { w.url, w.ssh = url, ssh }()
		n++
		w.publish(w.machine(t), w.ada, fmt.Sprintf("acme/knowledge/other%d@1.0.0", n))
		untag()
	}
	w.url, w.ssh = "ssh://example.org"+w.dir, between.ssh()
	for k := 1; k < 8; k++ {
		m := w.machine(t)
		read := func() error {
			if err := m.Sync(w.ctx, "acme"); err != nil {
				return err
			}
			rel, err := m.Select(mustRef("acme/knowledge/first"), mustRange("*"))
			if err == nil {
				_, err = m.Fetch(w.ctx, rel)
			}
			return err
		}
		var err error
		if between.during(k, other, func() { err = read() }) {
			met++
		}
		if err != nil {
			t.Errorf("the content moves before request %d: %v", k, err)
		}
		if got := m.Stats().Fetches; got != 3 { // the log, its state and the content
			t.Errorf("the content moves before request %d: %d fetches, want 3", k, got)
		}
	}
	if met < 4 {
		t.Errorf("the content moved %d times", met)
	}
}

// TestBranchMovesMeanwhile: a host of protocol 0 serves only what a ref names now. Where a
// branch moves between any two requests of a reader or a writer, nothing is taken for absent.
func TestBranchMovesMeanwhile(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/first@1.0.0")
	for _, key := range []string{"uploadpack.allowReachableSHA1InWant", "uploadpack.allowFilter"} {
		testkit.Git(t, w.dir, "config", key, "false") // a repository as git init makes it
	}
	direct := w.url
	between, n := newTurnstile(t), 0
	other := func() {
		url, ssh := w.url, w.ssh
		w.url, w.ssh = direct, ""
		defer func() { w.url, w.ssh = url, ssh }()
		n++
		w.publish(w.machine(t), w.ada, fmt.Sprintf("acme/knowledge/other%d@1.0.0", n))
	}
	w.url, w.ssh = "ssh://example.org"+w.dir, between.ssh()
	for what, act := range map[string]func(m *machine, k int) error{
		"read": func(m *machine, _ int) error {
			if err := m.Sync(w.ctx, "acme"); err != nil {
				return err
			}
			rel, err := m.Select(mustRef("acme/knowledge/first"), mustRange("*"))
			if err == nil {
				_, err = m.Fetch(w.ctx, rel)
			}
			return err
		},
		"publish": func(m *machine, k int) error {
			_, err := m.Publish(w.ctx, publication(t, w.ada, fmt.Sprintf("acme/knowledge/mine%d@1.0.0", k)))
			return err
		},
	} {
		met := 0
		for k := 1; k < 12; k++ {
			m := w.machine(t)
			var err error
			if between.during(k, other, func() { err = act(m, k) }) {
				met++
			}
			if err != nil {
				t.Errorf("%s, and the branch moves before request %d: %v", what, k, err)
			}
		}
		if met < 2 {
			t.Errorf("%s: the branch moved %d times", what, met)
		}
		t.Logf("%s: %d", what, met)
	}
}
