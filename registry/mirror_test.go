package registry

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// another makes a further, empty repository beside the registry's and returns its address.
func (w *world) another(name string) string {
	w.t.Helper()
	repo, err := store.Init(filepath.Join(filepath.Dir(w.dir), name), mainBranch)
	if err != nil {
		w.t.Fatal(err)
	}
	repo.Close()
	return strings.TrimSuffix(w.url, filepath.Base(w.dir)) + name
}

// mirrored makes a registry with two operations, and a mirror of it.
func mirrored(t *testing.T) (w *world, pub *machine, url string) {
	t.Helper()
	w = newWorld(t, oplog.ClaimsGranted)
	pub = w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	url = w.another("mirror.git")
	w.spread(pub, url)
	return w, pub, url
}

func (w *world) spread(m *machine, url string) Spread {
	w.t.Helper()
	w.sync(m, "acme")
	got, err := m.SpreadTo(w.ctx, url, SpreadOptions{Namespaces: []string{"acme"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// asking opens a fresh machine that knows several addresses.
func (w *world) asking(t *testing.T, urls ...string) *machine {
	t.Helper()
	o := w.options(t)
	o.URL, o.Mirrors = urls[0], urls[1:]
	return w.open(t, o)
}

// closed is an address at which nobody answers.
func closed(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/reg.git"
}

func fetchFirst(t *testing.T, w *world, m *machine, name string) error {
	t.Helper()
	rel, err := m.Select(mustRef(name), mustRange("*"))
	if err != nil {
		return err
	}
	_, err = m.Fetch(w.ctx, rel)
	return err
}

func TestMirrorAnswersForOneThatIsDown(t *testing.T) {
	w, _, url := mirrored(t)
	down := closed(t)
	m := w.asking(t, down, url)
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/a"); err != nil {
		t.Fatal(err)
	}
	if notes := m.Notes(); len(notes) != 1 || !strings.Contains(notes[0], down) {
		t.Errorf("notes %q: want one about %s", notes, down)
	}
	alone := w.asking(t, down)
	wantCode(t, alone.Sync(w.ctx, "acme"), fault.Network)
}

// A host that takes the connection and says nothing is passed over like one that is down.
func TestMirrorAnswersForASilentOne(t *testing.T) {
	w, _, url := mirrored(t)
	silent := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-silent:
		case <-r.Context().Done():
		}
	}))
	defer h.Close()
	defer close(silent)
	o := w.options(t)
	o.URL, o.Mirrors, o.Transport.Stall = h.URL+"/reg.git", []string{url}, 200e6
	m := w.open(t, o)
	w.sync(m, "acme")
	if len(m.Notes()) != 1 {
		t.Errorf("notes %q", m.Notes())
	}
}

// What a host lost of the content comes from another, since each object proves itself.
func TestContentComesFromAnyMirror(t *testing.T) {
	w, _, url := mirrored(t)
	empty := w.another("logs.git")
	testkit.Git(t, w.dir, "push", "-q", filepath.Join(filepath.Dir(w.dir), "logs.git"), "main", "ns/acme")
	m := w.asking(t, empty, url)
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/a"); err != nil {
		t.Fatal(err)
	}
	alone := w.asking(t, empty)
	wantCode(t, alone.Sync(w.ctx, "acme"), fault.Network)
}

func TestSurvey(t *testing.T) {
	w, pub, url := mirrored(t)
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	down := closed(t)

	t.Run("a mirror is behind", func(t *testing.T) {
		m := w.asking(t, w.url, url, down)
		w.sync(m, "acme")
		all, err := m.Survey(w.ctx, "acme")
		if err != nil || len(all) != 3 {
			t.Fatalf("%v, %v", all, err)
		}
		if all[0].Problem() != "" || all[1].Problem() != url+" is behind: acme: 2 of 3 operations" || all[2].Down == nil {
			t.Errorf("%q, %q, %q", all[0].Problem(), all[1].Problem(), all[2].Problem())
		}
	})
	t.Run("the first is behind, and another has more", func(t *testing.T) {
		m := w.asking(t, url, w.url)
		w.sync(m, "acme")
		all, err := m.Survey(w.ctx, "acme")
		if err != nil || len(all) != 2 || all[0].Problem() != url+" is behind: acme: 2 of 3 operations" || all[1].Problem() != "" {
			t.Fatalf("%v, %v", all, err)
		}
		if s, err := m.View("acme"); err != nil || s.Seq != 3 {
			t.Errorf("what the other showed is not known: %d, %v", s.Seq, err)
		}
		// From now on the first is behind what this machine saw: the other is asked, and it is said.
		m = m.reopen(w, nil)
		w.sync(m, "acme")
		if notes := m.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "rolled back") {
			t.Errorf("notes %q", notes)
		}
		alone := m.reopen(w, func(o *Options) { o.Mirrors = nil })
		wantCode(t, alone.Sync(w.ctx, "acme"), fault.Rollback)
	})
	t.Run("brought up", func(t *testing.T) {
		got := w.spread(pub, url)
		if !slices.Equal(got.Moved, []string{"refs/heads/content/acme", "refs/heads/ns/acme"}) {
			t.Errorf("moved %v", got.Moved)
		}
		if got = w.spread(pub, url); len(got.Moved) != 0 {
			t.Errorf("moved %v again", got.Moved)
		}
		m := w.asking(t, url)
		w.sync(m, "acme")
		if err := fetchFirst(t, w, m, "acme/knowledge/b"); err != nil {
			t.Fatal(err)
		}
		testkit.Git(t, filepath.Join(filepath.Dir(w.dir), "mirror.git"), "fsck", "--strict", "--full")
	})
}

// Attack 55: a mirror shows another log than the origin.
func TestAttack55MirrorContradicts(t *testing.T) {
	w, pub, url := mirrored(t)
	h := w.host()
	s := h.state()
	e := h.content(w.ada, "acme/knowledge/evil@1.0.0", "evil")
	h.write(forgery{s: s, by: w.ada, op: publishOp(e)}, nil)
	testkit.Git(t, w.dir, "push", "-q", filepath.Join(filepath.Dir(w.dir), "mirror.git"), "ns/acme", "content/acme")
	h.set(branchPrefix+"acme", s.At) // the origin goes another way
	w.publish(pub.reopen(w, nil), w.ada, "acme/knowledge/b@1.0.0")

	m := w.asking(t, w.url, url)
	w.sync(m, "acme")
	before := m.snapshot(t)
	_, err := m.Survey(w.ctx, "acme")
	wantCode(t, err, fault.Fork)
	if !strings.Contains(err.Error(), url) {
		t.Errorf("%v: does not name the mirror", err)
	}
	if after := m.snapshot(t); after != before {
		t.Errorf("what was verified changed:\n%s\n%s", before, after)
	}
	kept, _ := filepath.Glob(filepath.Join(m.o.StateDir, "*.evidence", "acme-3-*.commit"))
	if len(kept) != 2 {
		t.Fatalf("evidence %v, want both operations", kept)
	}
	for _, path := range kept {
		if raw, _ := os.ReadFile(path); len(raw) == 0 {
			t.Errorf("%s is empty", path)
		} else if _, err := oplog.Parse(raw); err != nil {
			t.Error(err)
		}
	}
	wantCode(t, func() error {
		_, err := m.SpreadTo(w.ctx, url, SpreadOptions{Namespaces: []string{"acme"}})
		return err
	}(), fault.Fork)
}

// Attacks 53 and 71: an address at which another registry is.
func TestAttack53LookalikeMirror(t *testing.T) {
	w, _, _ := mirrored(t)
	other := newWorld(t, oplog.ClaimsGranted)
	m := w.asking(t, w.url, other.url)
	w.sync(m, "acme")
	_, err := m.Survey(w.ctx, "acme")
	wantCode(t, err, fault.Untrusted)
	m = w.asking(t, other.url, w.url) // first: nothing is read past it
	wantCode(t, m.Sync(w.ctx, "acme"), fault.Untrusted)
}

// Operations are written to the first address, whoever was read from.
func TestWritingGoesToTheFirst(t *testing.T) {
	w, _, url := mirrored(t)
	m := w.asking(t, w.url, url)
	w.publish(m, w.ada, "acme/knowledge/b@1.0.0")
	behind := w.asking(t, url)
	w.sync(behind, "acme")
	if s, _ := behind.View("acme"); s.Seq != 2 {
		t.Errorf("the mirror is at %d", s.Seq)
	}
	m = w.asking(t, closed(t), url)
	_, err := m.Publish(w.ctx, publication(t, w.ada, "acme/knowledge/c@1.0.0"))
	wantCode(t, err, fault.Network)
}

// A mirror that plain git made is as good.
func TestPlainGitMirror(t *testing.T) {
	w, _, _ := mirrored(t)
	url := w.another("plain.git")
	testkit.Git(t, w.dir, "push", "-q", "--mirror", filepath.Join(filepath.Dir(w.dir), "plain.git"))
	m := w.asking(t, url)
	w.sync(m, "acme")
	if err := fetchFirst(t, w, m, "acme/knowledge/a"); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Verify(w.ctx, "acme", true); err != nil || len(c.Missing) > 0 {
		t.Errorf("%v, %v", c.Missing, err)
	}
}

func TestMirrorsAreBounded(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	o := w.options(t)
	for i := range MaxMirrors + 1 {
		o.Mirrors = append(o.Mirrors, w.url+strings.Repeat("x", i+1))
	}
	_, err := Open(o)
	wantCode(t, err, fault.Limit)
}
