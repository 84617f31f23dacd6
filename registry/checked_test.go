package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store/transport"
)

var settledWith = objects.DigestOf([]byte("what a caller compares with"))

// unchanged asks on a machine as the next process would.
func unchanged(t *testing.T, w *world, m *machine, what objects.Digest, change func(*Options)) (*machine, bool) {
	t.Helper()
	m = m.reopen(w, change)
	same, err := m.Unchanged(w.ctx, what, "acme")
	if err != nil {
		t.Fatal(err)
	}
	return m, same
}

// Where nothing is new that is one request, and nothing is read. Whatever may have changed,
// here or there, is not taken for nothing.
func TestNothingNewIsOneRequest(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
	host := w.meter(t)
	m := w.machine(t).reopen(w, func(o *Options) { o.Transport = transport.Options{Cache: t.TempDir()} })
	w.sync(m, "acme")
	if m, same := unchanged(t, w, m, settledWith, nil); same {
		t.Fatal("nothing was settled, and nothing is new")
	} else {
		w.sync(m, "acme")
		if err := m.look(mustRef("acme/knowledge/one")); err != nil {
			t.Fatal(err)
		}
		m.Settle(settledWith, time.Time{}, "acme")
	}
	host.requests.Store(0)
	noted := m.backdate(t)
	w.now = w.now.Add(time.Hour)
	m, same := unchanged(t, w, m, settledWith, nil)
	if !same || host.requests.Load() != 1 {
		t.Errorf("nothing is new: %v, by %d requests", same, host.requests.Load())
	}
	if m.repo != nil {
		t.Error("the cache was opened for it")
	}
	for _, of := range []string{"", "acme"} {
		if at := m.AskedAt(of); !at.Equal(w.now) {
			t.Errorf("AskedAt(%q) = %v, want %v", of, at, w.now)
		}
	}
	if at := m.notedAt(t); !at.After(noted) {
		t.Errorf("noted at %v, want a time after %v", at, noted)
	}

	if _, same := unchanged(t, w, m, objects.DigestOf([]byte("another lock")), nil); same {
		t.Error("settled with another lock")
	}
	if same, err := m.Unchanged(w.ctx, settledWith, "acme", "other"); err != nil || same {
		t.Errorf("settled with other namespaces: %v", err)
	}
	mirrored := func(o *Options) { o.Mirrors = []string{w.url + "/"} }
	if _, same := unchanged(t, w, m, settledWith, mirrored); same {
		t.Error("an address more is not compared")
	}
	mark := filepath.Join(m.mem.CacheDir(), "rye.settled")
	raw, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", string(raw[:len(raw)/2]), string(raw) + "x"} {
		if err := os.WriteFile(mark, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, same := unchanged(t, w, m, settledWith, nil); same {
			t.Errorf("settled by %q", text)
		}
	}
	if err := os.WriteFile(mark, raw, 0o600); err != nil {
		t.Fatal(err)
	}

	w.publish(w.machine(t), w.ada, "acme/knowledge/two@1.0.0")
	host.requests.Store(0)
	if m, same = unchanged(t, w, m, settledWith, nil); same {
		t.Fatal("a publication is nothing new")
	}
	w.sync(m, "acme")
	if listings := m.Stats().Listings; listings != 1 {
		t.Errorf("branches were listed %d times", listings)
	}
	if m, same = unchanged(t, w, m, settledWith, nil); same {
		t.Error("settled as of an older state")
	}
	os.RemoveAll(m.mem.CacheDir())
	if _, same = unchanged(t, w, m, settledWith, nil); same {
		t.Error("settled without a cache")
	}
}

// backdate sets what is noted of acme's items back by an hour, and returns its time.
func (m *machine) backdate(t *testing.T) time.Time {
	t.Helper()
	at := m.notedAt(t).Add(-time.Hour)
	if err := os.Chtimes(stateFile(m, ".noted/acme.jsonl"), at, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// notedAt returns when the registry was last asked about acme's items.
func (m *machine) notedAt(t *testing.T) time.Time {
	t.Helper()
	n, err := memory.ReadNoted(m.o.StateDir, m.o.ID, "acme")
	if err != nil || n.At.IsZero() {
		t.Fatalf("nothing is noted: %v", err)
	}
	return n.At
}

// Something that another process learned since ends what was settled, although the host
// shows nothing new.
func TestSettledBeforeAnotherProcess(t *testing.T) {
	for name, learn := range map[string]func(*world, *machine) error{
		"the root moved": func(w *world, m *machine) error {
			w.host().rootOp(w.root, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "other", Keys: []trust.PublicKey{w.ada.pub}})
			return m.Sync(w.ctx)
		},
		"an item was looked at": func(_ *world, m *machine) error { return m.look(mustRef("acme/knowledge/one")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oplog.ClaimsGranted)
			w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
			m := w.machine(t)
			w.sync(m, "acme")
			m.Settle(settledWith, time.Time{}, "acme")
			m, same := unchanged(t, w, m, settledWith, nil)
			if !same {
				t.Fatal("not settled")
			}
			other := w.open(t, m.o)
			if err := learn(w, other); err != nil {
				t.Fatal(err)
			}
			other.Close()
			if _, same := unchanged(t, w, m, settledWith, nil); same {
				t.Error("settled by a comparison with less than is known")
			}
		})
	}
}

// A comparison that asked nobody settles nothing.
func TestSettledByNobody(t *testing.T) {
	offline := func(yes bool) func(*Options) { return func(o *Options) { o.Offline = yes } }
	for name, settle := range map[string]func(*world, *machine) *machine{
		"offline": func(w *world, m *machine) *machine {
			m = m.reopen(w, offline(true))
			m.Settle(settledWith, time.Time{}, "acme")
			return m.reopen(w, offline(false))
		},
		"without a cache": func(w *world, m *machine) *machine {
			m = m.reopen(w, nil)
			if err := os.RemoveAll(m.mem.CacheDir()); err != nil {
				w.t.Fatal(err)
			}
			m.Settle(settledWith, time.Time{}, "acme")
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oplog.ClaimsGranted)
			w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
			m := w.machine(t)
			w.sync(m, "acme")
			if _, same := unchanged(t, w, settle(w, m), settledWith, nil); same {
				t.Error("settled")
			}
		})
	}
}

// News of the root alone ends what was settled.
func TestSettledUntilTheRootMoves(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	m.Settle(settledWith, time.Time{}, "acme")
	m, same := unchanged(t, w, m, settledWith, nil)
	if !same {
		t.Fatal("not settled before the root moves")
	}
	if err := w.machine(t).Grant(w.ctx, By{Signer: w.root}, "other", w.ada.pub); err != nil {
		t.Fatal(err)
	}
	if _, same = unchanged(t, w, m, settledWith, nil); same {
		t.Error("settled, although the root has news")
	}
}

// A time until which a namespace is fresh ends what was settled.
func TestSettledUntil(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	m.Settle(settledWith, w.now.Add(time.Hour), "acme")
	m, same := unchanged(t, w, m, settledWith, nil)
	if !same {
		t.Error("not settled before its time")
	}
	w.now = w.now.Add(time.Hour)
	if _, same := unchanged(t, w, m, settledWith, nil); same {
		t.Error("settled after its time")
	}
}

// What a host shows that goes back, or is gone, is not nothing: Sync judges it.
func TestUnchangedIsNoVerdict(t *testing.T) {
	w, h, m := attacked(t)
	m.Settle(settledWith, time.Time{}, "acme")
	s := h.state()
	for name, at := range map[string]func(){
		"set back": func() { h.set(branchPrefix+"acme", stateBefore(h, s)) },
		"gone":     func() { testkit.Git(t, w.dir, "update-ref", "-d", branchPrefix+"acme") },
	} {
		at()
		again, same := unchanged(t, w, m, settledWith, nil)
		if same {
			t.Errorf("%s: unchanged", name)
		}
		if err := again.Sync(w.ctx, "acme"); err == nil {
			t.Errorf("%s: believed", name)
		}
		m = again
	}
}

// A cache that was damaged when the machine went down is made anew, and nothing else is lost.
func TestDamagedCacheIsMadeAnew(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	remembered := stateFile(m, ".seen")
	before, err := os.ReadFile(remembered)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	packs, _ := filepath.Glob(filepath.Join(m.mem.CacheDir(), "objects", "pack", "*.pack"))
	if len(packs) == 0 {
		t.Fatal("no pack in the cache")
	}
	os.Remove(packs[0])
	for path, text := range map[string]string{packs[0]: "", filepath.Join(m.mem.CacheDir(), "rye.boot"): "another run"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m = m.reopen(w, nil)
	w.sync(m, "acme")
	if _, err := m.Select(mustRef("acme/knowledge/one"), mustRange("*")); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(remembered); err != nil || string(after) != string(before) {
		t.Errorf("remembered before:\n%s\nand after:\n%s, %v", before, after, err)
	}
}

// What is remembered is read again when another process wrote it, and only then.
func TestMemoryOfAnotherProcess(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	m := w.machine(t)
	w.publish(m, w.ada, "acme/knowledge/one@1.0.0")
	for i, name := range []string{"two", "three", "four"} {
		other := w.open(t, m.o)
		w.publish(other, w.ada, "acme/knowledge/"+name+"@1.0.0")
		other.Close()
		s, err := m.View("acme")
		if err != nil || s.Seq != uint64(3+i) {
			t.Errorf("after %s: at %d, %v", name, s.Seq, err)
		}
	}
}

// A publisher who is alone asks two things of the host, and one who was overtaken four.
func TestPublishersRequests(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	host := w.meter(t)
	cached := func(o *Options) { o.Transport = transport.Options{Cache: t.TempDir()} }
	ada := w.machine(t).reopen(w, cached)
	w.publish(ada, w.ada, "acme/knowledge/one@1.0.0")
	host.requests.Store(0)
	w.publish(ada, w.ada, "acme/knowledge/one@1.1.0")
	if n := host.requests.Load(); n != 2 {
		t.Errorf("alone: %d requests, want 2", n)
	}
	w.publish(w.machine(t), w.ada, "acme/knowledge/one@1.2.0")
	host.requests.Store(0)
	w.publish(ada, w.ada, "acme/knowledge/one@1.3.0")
	if n := host.requests.Load(); n > 4 {
		t.Errorf("overtaken: %d requests, want at most 4", n)
	}
	testkit.Git(t, w.dir, "fsck", "--strict")
}
