package registry

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// loosen unpacks what a repository holds, so that a test may take single objects away.
func (w *world) loosen() {
	w.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		w.t.Skip("git is not installed")
	}
	packs, _ := filepath.Glob(filepath.Join(w.dir, "objects", "pack", "*.pack"))
	for _, pack := range packs {
		away := filepath.Join(w.t.TempDir(), filepath.Base(pack))
		if err := os.Rename(pack, away); err != nil {
			w.t.Fatal(err)
		}
		os.Remove(strings.TrimSuffix(pack, ".pack") + ".idx")
		in, err := os.Open(away)
		if err != nil {
			w.t.Fatal(err)
		}
		cmd := exec.Command("git", "-C", w.dir, "unpack-objects", "-q")
		cmd.Stdin = in
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
		in.Close()
	}
}

func (w *world) remove(id store.OID) {
	w.t.Helper()
	hex := id.String()
	if err := os.Remove(filepath.Join(w.dir, "objects", hex[:2], hex[2:])); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) verify(m *machine, whole bool) Checked {
	w.t.Helper()
	w.sync(m, "acme")
	c, err := m.Verify(w.ctx, "acme", whole)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// TestVerifyAsksForEveryObject: a version, or a part of the last state, that is gone from the
// host is found by Verify, though whoever asks has a copy (G2).
func TestVerifyAsksForEveryObject(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0", "acme/knowledge/c@1.0.0")
	if got := w.verify(pub, false); got.Operations != 2 || got.Versions != 3 || got.Fetched != 3 || len(got.Missing) != 0 {
		t.Errorf("verify = %+v", got)
	}
	w.publish(pub, w.ada, "acme/knowledge/d@1.0.0")
	if got := w.verify(pub, false); got.Operations != 3 || got.Fetched != 1 || len(got.Missing) != 0 {
		t.Errorf("the second = %+v, want only what is new asked for", got)
	}
	if got := w.verify(pub, true); got.Fetched != 4 {
		t.Errorf("the whole = %+v", got)
	}
	rel, err := pub.Select(mustRef("acme/knowledge/b"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	h := w.host()
	c, err := h.repo.Commit(rel.Commit)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := oplog.OnlyFile(&h.repo.Reader, c.Tree, rel.Path)
	if err != nil {
		t.Fatal(err)
	}
	s := h.state()
	h.repo.Close()
	w.loosen()
	w.remove(blob)
	for name, m := range map[string]*machine{"a publisher": pub, "a fresh machine": w.machine(t)} {
		if got := w.verify(m, true); !slices.Equal(got.Missing, []string{"version acme/knowledge/b@1.0.0"}) {
			t.Errorf("%s: missing %q, want the version", name, got.Missing)
		}
	}
	w.remove(s.Kept)
	m := w.machine(t)
	w.sync(m, "acme")
	if got, err := m.Verify(w.ctx, "acme", false); err == nil && len(got.Missing) < 2 {
		t.Errorf("without the last state: %+v", got)
	}
	off := pub.reopen(w, func(o *Options) { o.Offline = true })
	_, err = off.Verify(w.ctx, "acme", false)
	wantCode(t, err, fault.Offline)
}

// TestVerifyGoesOn: what was had is not asked for again, whatever became of the branch that
// keeps it: that it is named no longer is found, by who had it too. Without the cache
// everything is replayed anew.
func TestVerifyGoesOn(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub, m := w.machine(t), w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/secret@1.0.0")
	first := w.host().ref(contentPrefix + "acme")
	w.verify(m, false)
	if err := pub.Mark(w.ctx, oplog.OpRedact, StatusChange{Names: []string{"acme/knowledge/secret@1.0.0"}, Reason: "a password", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	m = m.reopen(w, nil)
	if got := w.verify(m, false); got.Fetched != 1 || got.Redacted != 1 || got.Operations != 4 || len(got.Missing) != 0 {
		t.Errorf("the second = %+v", got)
	}
	m = m.reopen(w, nil)
	w.sync(m, "acme")
	fetches := m.Stats().Bytes
	if got := w.verify(m, false); got.Fetched != 0 || got.Redacted != 1 || got.Pruned != 0 || len(got.Missing) != 0 {
		t.Errorf("with nothing new = %+v", got)
	}
	if n := m.Stats().Bytes - fetches; n > 0 {
		t.Errorf("with nothing new %d bytes were fetched", n)
	}

	h := w.host()
	whole := h.ref(contentPrefix + "acme")
	h.set(contentPrefix+"acme", first)
	m = m.reopen(w, nil)
	if got := w.verify(m, false); !slices.Contains(got.Missing, "version acme/knowledge/b@1.0.0") || slices.Contains(got.Missing, "version acme/knowledge/a@1.0.0") {
		t.Errorf("set back: %+v", got)
	}
	h.set(contentPrefix+"acme", whole)
	if err := os.RemoveAll(m.mem.CacheDir()); err != nil {
		t.Fatal(err)
	}
	m = m.reopen(w, nil)
	if got := w.verify(m, false); got.Fetched != 2 || got.Redacted != 1 || len(got.Missing) != 0 {
		t.Errorf("without the cache = %+v", got)
	}
}
