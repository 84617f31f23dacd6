package registry

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The tests below play the attacks on a log, numbered as in the list that the
// registry was designed against (36 to 69, "log" read as the log of a
// namespace). Each syncs a machine that verified the honest log before, unless
// the attack is on a fresh one, and expects the code and an unchanged memory.
//
// Not here, and why:
//
//	47  staleness: what a checkpoint calls fresh is for whoever reads, see
//	    registry_governance.txtar of cmd/rye
//	59  endless and slow hosts: store/transport tests them; see TestStalledHost
//	62  an item line by a compromised key, never logged: objects/trust
//	    (a revoked bound key counts for nothing)
//	70-89 belong to locks, commands and the other rooms
//
// Through the program and against git's own servers all are in cmd/rye, see TestEveryAttack.

func codeOf(err error) fault.Code { return fault.CodeOf(err) }

// attacked makes a registry with a claim and two publications, and a machine
// that verified them.
func attacked(t *testing.T) (*world, *host, *machine) {
	t.Helper()
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	w.publish(pub, w.ada, "acme/knowledge/a@1.0.0")
	w.publish(pub, w.ada, "acme/knowledge/b@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	return w, w.host(), m
}

func publishOp(e ...oplog.Entry) oplog.Op { return oplog.Op{Kind: oplog.OpPublish, Items: e} }

func TestAttack36OlderTip(t *testing.T) {
	w, h, m := attacked(t)
	h.set(branchPrefix+"acme", stateBefore(h, h.state()))
	m.refuses(t, w, "rollback")
	if _, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*")); err != nil {
		t.Errorf("what was verified no longer serves: %v", err)
	}
	h.set(branchPrefix+"acme", store.OID{})
	m.refuses(t, w, "rollback")
}

// stateBefore returns the tip before s's.
func stateBefore(h *host, s oplog.State) store.OID {
	h.w.t.Helper()
	_, parent, err := oplog.ReadCommit(&h.repo.Reader, s.At)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return parent
}

func TestAttack36CacheLost(t *testing.T) {
	w, h, m := attacked(t)
	if err := os.RemoveAll(m.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	m = m.reopen(w, nil)
	w.sync(m, "acme") // a cache may be deleted at any time
	os.RemoveAll(m.o.CacheDir)
	h.set(branchPrefix+"acme", stateBefore(h, h.state()))
	m = m.reopen(w, nil)
	wantCode(t, m.Sync(w.ctx, "acme"), fault.Rollback)
}

func TestAttack37OlderThanTheLock(t *testing.T) {
	w, h, _ := attacked(t)
	s := h.state()
	h.set(branchPrefix+"acme", stateBefore(h, s))
	m := w.machine(t)
	w.sync(m, "acme") // first contact: the host is believed about when
	wantClaim(t, w, m, s.Seq, s.Tip, ClaimAhead)
	wantClaim(t, w, m, 900, s.Tip, ClaimAhead) // and a lock that lies looks the same
}

// wantClaim compares a point of acme that a lock names with what m verified.
func wantClaim(t *testing.T, w *world, m *machine, seq uint64, sum objects.Digest, want Claim) {
	t.Helper()
	if got, err := m.Compare(w.ctx, "acme", seq, sum); got != want || err != nil {
		t.Errorf("a lock at %d: %q, %v; want %q", seq, got, err, want)
	}
}

func TestAttack38Sibling(t *testing.T) {
	for name, more := range map[string]int{"as long": 1, "longer": 2} {
		t.Run(name, func(t *testing.T) {
			w, h, m := attacked(t)
			s := h.stateAt(stateBefore(h, h.state()))
			for i := range more { // by the owner's own key, as after a theft
				e := h.content(w.ada, "acme/knowledge/evil@1.0."+string(rune('0'+i)), "evil")
				h.write(forgery{s: s, by: w.ada, op: publishOp(e)}, nil)
				s = h.state()
			}
			m.refuses(t, w, "fork")
			kept, err := filepath.Glob(filepath.Join(m.o.StateDir, "*.evidence", "acme-3-*.commit"))
			if err != nil || len(kept) < 2 {
				t.Fatalf("evidence: %v, want both operations", kept)
			}
			for _, path := range kept {
				raw, _ := os.ReadFile(path)
				if _, err := oplog.Parse(raw); err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	t.Run("shorter", func(t *testing.T) {
		w, h, m := attacked(t)
		s := h.state()
		claim := stateBefore(h, h.stateAt(stateBefore(h, s)))
		e := h.content(w.ada, "acme/knowledge/evil@1.0.0", "evil")
		h.write(forgery{s: h.stateAt(claim), by: w.ada, op: publishOp(e)}, nil)
		m.refuses(t, w, "fork")
	})
}

func TestAttack39CutLog(t *testing.T) {
	w, h, m := attacked(t)
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, func(op *oplog.Op) { op.Parents = nil })
	m.refuses(t, w, "malformed")
	fresh := w.machine(t)
	w.sync(fresh)
	fresh.refuses(t, w, "malformed")
}

// TestAttackOperations: one spoilt operation after an honest log that is none of this log, or
// not yet. TestMalformedOperations has those that are.
func TestAttackOperations(t *testing.T) {
	eve := newKey("eve")
	for _, tt := range []struct {
		name  string
		by    *testKey // nil: the owner
		spoil func(*oplog.Op)
		text  func(string) string
		want  string
	}{
		{"42 wrong predecessor", nil, func(op *oplog.Op) { op.Prev[0] ^= 1 }, nil, "integrity"},
		{"43 two parents", nil, func(op *oplog.Op) { op.Parents = append(op.Parents, op.Parents[0]) }, nil, "fork"},
		{"43 its content as a second parent", nil, func(op *oplog.Op) { op.Parents = append(op.Parents, op.Kept) }, nil, "fork"},
		{"44 another state", nil, func(op *oplog.Op) { op.State.Sum[0] ^= 1 }, nil, "integrity"},
		{"44 a state that is not there", nil, func(op *oplog.Op) { op.State = oplog.AddressOf([]byte("nowhere")) }, nil, "network"},
		{"45 a key without the namespace", eve, nil, nil, "untrusted"},
		{"54 root position beyond the root", nil, func(op *oplog.Op) { op.Root = 99 }, nil, "rollback"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			by := w.ada
			if tt.by != nil {
				by = tt.by
			}
			e := h.content(by, "acme/knowledge/c@1.0.0", "c")
			h.write(forgery{s: h.state(), by: by, op: publishOp(e), text: tt.text}, tt.spoil)
			m.refuses(t, w, tt.want)
		})
	}
}

func TestAttack48Future(t *testing.T) {
	w, h, m := attacked(t)
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e), late: time.Hour}, nil)
	m.refuses(t, w, "malformed")
	w.now = w.now.Add(time.Hour) // once the clock gets there it is an honest operation
	w.sync(m, "acme")
}

func TestAttack49MixedContent(t *testing.T) {
	w, h, m := attacked(t)
	good := h.content(w.ada, "acme/knowledge/c@1.0.0", "good")
	for name, tt := range map[string]struct {
		entry func() oplog.Entry
		want  fault.Code
	}{
		"content of another version": {func() oplog.Entry {
			e := testEntry(w.ada, "acme/knowledge/d@1.0.0", "d")
			e.Commit = good.Commit
			return e
		}, fault.Malformed},
		"the right message over other bytes": {func() oplog.Entry {
			e := testEntry(w.ada, "acme/knowledge/e@1.0.0", "promised")
			e.Commit, _ = oplog.PutVersion(h.put, &e, []byte("delivered"))
			return e
		}, fault.Integrity},
		"a second file": {func() oplog.Entry {
			e := testEntry(w.ada, "acme/knowledge/f@1.0.0", "f")
			blob, _ := h.put(store.TypeBlob, []byte("f"))
			dir, _ := oplog.PutTree(h.put, []store.Entry{{Name: "f.md", Mode: store.ModeFile, ID: blob}, {Name: "g.md", Mode: store.ModeFile, ID: blob}})
			mid, _ := oplog.PutTree(h.put, []store.Entry{{Name: "acme", Mode: store.ModeDir, ID: dir}})
			top, _ := oplog.PutTree(h.put, []store.Entry{{Name: "knowledge", Mode: store.ModeDir, ID: mid}})
			raw, _ := oplog.PlainCommit(top, e.ContentMessage(), time.Unix(0, 0))
			e.Commit, _ = h.put(store.TypeCommit, raw)
			return e
		}, fault.Malformed},
		"at another time": {func() oplog.Entry {
			e := testEntry(w.ada, "acme/knowledge/g@1.0.0", "g")
			tree, _ := oplog.PutContent(h.put, e.Path, []byte("g"))
			raw, _ := oplog.PlainCommit(tree, e.ContentMessage(), testTime)
			e.Commit, _ = h.put(store.TypeCommit, raw)
			return e
		}, fault.Malformed},
		"signed": {func() oplog.Entry {
			e := testEntry(w.ada, "acme/knowledge/h@1.0.0", "h")
			tree, _ := oplog.PutContent(h.put, e.Path, []byte("h"))
			raw, _ := penOf(newKey("eve")).Commit(w.ctx, tree, nil, e.ContentMessage(), testTime)
			e.Commit, _ = h.put(store.TypeCommit, raw)
			return e
		}, fault.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, m.fetchForged(t, h, tt.entry()), tt.want)
		})
	}
}

func TestAttack50ContentWithoutLog(t *testing.T) {
	w, h, m := attacked(t)
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.set(contentPrefix+"acme", e.Commit) // where every publisher may write
	w.sync(m, "acme")
	_, err := m.Select(e.Ref, mustRange("*"))
	wantCode(t, err, fault.NotFound)
}

func TestAttack51LogWithoutContent(t *testing.T) {
	w, _, m := attacked(t)
	rel, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	gone := rel
	gone.Commit = store.SHA1.Hash(store.TypeBlob, []byte("nowhere"))
	_, err = m.Fetch(w.ctx, gone)
	wantCode(t, err, fault.Network)
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	_, err = off.Fetch(w.ctx, gone)
	wantCode(t, err, fault.Offline)
}

func TestAttack53AnotherRegistry(t *testing.T) {
	w, _, m := attacked(t)
	o2 := CreateOptions{Name: "Evil", By: By{Signer: newKey("eve")}, TempDir: t.TempDir(), Now: func() time.Time { return testTime }}
	evil := emptyWorld(t)
	if _, err := Create(w.ctx, evil.url, o2); err != nil {
		t.Fatal(err)
	}
	testkit.Git(t, w.dir, "fetch", "-q", evil.url, "+main:main")
	m.refuses(t, w, "untrusted")
	w.machine(t).refuses(t, w, "untrusted")
}

func TestAttack53AnotherClaim(t *testing.T) {
	w := newWorld(t, oplog.ClaimsOpen)
	w.publish(w.machine(t), w.ada, "acme/knowledge/a@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	w.host().set(branchPrefix+"acme", store.OID{})
	w.publish(w.machine(t), newKey("eve"), "acme/knowledge/a@1.0.0")
	m.refuses(t, w, "untrusted")
}

func TestAttack55MirrorShowsAnother(t *testing.T) {
	w, h, m := attacked(t)
	mirror := emptyWorld(t)
	testkit.Git(t, w.dir, "push", "-q", "--mirror", mirror.url)
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, nil)
	w.sync(m, "acme")
	mh := &host{w: w, repo: mirror.host().repo}
	other := mh.content(w.ada, "acme/knowledge/other@1.0.0", "x")
	mh.write(forgery{s: mh.state(), by: w.ada, op: publishOp(other)}, nil)
	m.reopen(w, func(o *Options) { o.URL = mirror.url }).refuses(t, w, "fork")
}

func TestAttack56AnotherTipInALock(t *testing.T) {
	w, h, m := attacked(t)
	s := h.state()
	w.sync(m, "acme")
	wantClaim(t, w, m, 2, h.stateAt(stateBefore(h, s)).Tip, ClaimHolds)
	wantClaim(t, w, m, s.Seq, s.Tip, ClaimHolds)
	bad := s.Tip
	bad[0] ^= 1
	wantClaim(t, w, m, 2, bad, ClaimDiffers)
	wantClaim(t, w, m, s.Seq, bad, ClaimDiffers)
	wantClaim(t, w, m, 0, bad, ClaimDiffers)
	wantClaim(t, w, w.machine(t), 2, bad, ClaimUnknown) // nothing was verified there
	wantClaim(t, w, m.reopen(w, func(o *Options) { o.Offline = true }), 2, bad, ClaimDiffers)
}
