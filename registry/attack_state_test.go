package registry

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// The attacks on what a log names and does not hold: states, lists, shards, change lists
// and the branch that keeps them.

// forge lets acme's log end in an operation that is honest but for the state that it names.
func (h *host) forge(op oplog.Op, change func(s oplog.State, d oplog.TestOnlyDraft)) {
	h.w.t.Helper()
	h.forgeState(h.w.ada, op, func(s *oplog.State, d oplog.TestOnlyDraft) { change(*s, d) })
}

// forgeState is forge by anybody, for what else a state says, too: its keys.
func (h *host) forgeState(by *testKey, op oplog.Op, change func(s *oplog.State, d oplog.TestOnlyDraft)) {
	h.w.t.Helper()
	s, p := h.state(), penOf(by)
	op, w, err := p.TestOnlyForge(s, op, change)
	if err != nil {
		h.w.t.Fatal(err)
	}
	id := h.commit(p, emptyTree, op.Parents, op.Message(), op, branchPrefix+"acme")
	_, w.Raw, _ = h.repo.Object(id, 0)
	if err := w.Put(s, h.put); err != nil {
		h.w.t.Fatal(err)
	}
}

// TestAttack44StatesThatDoNotFollow: an owner who signs a state that is not what the
// operations lead to. Whoever saw the line notices at once; whoever did not notices when
// every change list is applied.
func TestAttack44StatesThatDoNotFollow(t *testing.T) {
	rewrite := func(h *host) func(oplog.State, oplog.TestOnlyDraft) {
		return func(s oplog.State, d oplog.TestOnlyDraft) {
			old, err := d.Get(mustRef("acme/knowledge/a"), "1.0.0")
			if err != nil {
				h.w.t.Fatal(err)
			}
			e := *old
			e.Sum = objects.DigestOf([]byte("other"))
			d.Put(&e)
		}
	}
	lose := func(h *host) func(oplog.State, oplog.TestOnlyDraft) {
		return func(s oplog.State, d oplog.TestOnlyDraft) {
			other := testEntry(h.w.ada, "acme/knowledge/a@2.0.0", "a")
			other.Publisher, other.Seq, other.Time, other.Status = h.w.ada.fp(), s.Seq, s.Time, oplog.StatusOK
			if err := d.Replace(mustRef("acme/knowledge/a"), "1.0.0", &other); err != nil {
				h.w.t.Fatal(err)
			}
		}
	}
	smuggle := func(h *host) func(oplog.State, oplog.TestOnlyDraft) {
		return func(s oplog.State, d oplog.TestOnlyDraft) {
			e := testEntry(h.w.ada, "acme/knowledge/evil@1.0.0", "evil")
			e.Publisher, e.Seq, e.Time, e.Status = h.w.ada.fp(), s.Seq, s.Time, oplog.StatusOK
			d.Put(&e)
		}
	}
	for name, tt := range map[string]struct {
		change func(*host) func(oplog.State, oplog.TestOnlyDraft)
		looked string // an item that tells whoever saw it; "" none
	}{
		"a version rewritten": {rewrite, "acme/knowledge/a"},
		"a version lost":      {lose, "acme/knowledge/a"},
		"a version smuggled":  {smuggle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			w.look(m)
			e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
			h.forge(publishOp(e), tt.change(h))
			w.sync(m, "acme")
			if tt.looked != "" {
				before := m.snapshot(t)
				wantCode(t, m.look(mustRef(tt.looked)), fault.Integrity)
				if m.snapshot(t) != before {
					t.Error("refusing changed what was there")
				}
			}
			for _, m := range []*machine{m, w.machine(t)} {
				w.sync(m, "acme")
				_, err := m.Examine(w.ctx, "acme")
				wantCode(t, err, fault.Integrity)
				err = changeKeys(w, m, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: w.ada.fp(), BadFrom: h.state().Seq, Reason: "x"})
				wantCode(t, err, fault.Integrity) // whoever would cement it looks first
			}
		})
	}
}

// TestAttackKeysOfAState: an owner signs a state that names a key which no operation added.
func TestAttackKeysOfAState(t *testing.T) {
	w, h, m := attacked(t)
	fresh, eve := w.machine(t), newKey("eve")
	h.forgeState(w.ada, publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c")), func(s *oplog.State, _ oplog.TestOnlyDraft) {
		*s = s.WithKeys(append(s.Keys(), oplog.Key{Public: eve.pub, Added: s.Seq, By: w.ada.fp(), State: oplog.KeyActive}))
	})
	m.refuses(t, w, "integrity")
	wantCode(t, fresh.Sync(w.ctx, "acme"), fault.Integrity)
}

// TestAttackLineByAnEndedKey: a state, signed by an owner, that credits versions to a key
// which may sign no more, or gives it back what was revoked.
func TestAttackLineByAnEndedKey(t *testing.T) {
	w, h, m := attacked(t)
	bob := newKey("bob")
	pub, by := w.machine(t), By{Signer: w.ada}
	proof, _ := oplog.Prove(w.ctx, bob, w.id.ID, "acme", h.state().Genesis)
	for _, op := range []oplog.Op{{Kind: oplog.OpKeyAdd, Keys: []oplog.KeyGrant{{Public: bob.pub, Proof: proof}}}} {
		if err := changeKeys(w, pub, by, op); err != nil {
			t.Fatal(err)
		}
	}
	w.publish(pub, bob, "acme/knowledge/good@1.0.0") // 5
	if err := changeKeys(w, pub, by, oplog.Op{Kind: oplog.OpKeyRetire, Key: bob.fp()}); err != nil {
		t.Fatal(err)
	}
	late := h.content(w.ada, "acme/knowledge/late@1.0.0", "late")
	late.Author, late.Publisher, late.Seq, late.Time, late.Status = bob.fp(), bob.fp(), 5, testTime, oplog.StatusOK
	h.forge(publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c")), func(_ oplog.State, d oplog.TestOnlyDraft) { d.Put(&late) })
	w.sync(m, "acme")
	rel, err := m.Release(mustRef("acme/knowledge/good"), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(w.ctx, rel); err != nil {
		t.Errorf("what a retired key published: %v", err)
	}
	if got, err := m.Logged(w.ctx, "acme"); err != nil || len(got[bob.fp()]) != 1 || got[bob.fp()][0] != rel.Sum {
		t.Errorf("logged = %v, %v", got, err)
	}
	rel, err = m.Release(late.Ref, "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Fetch(w.ctx, rel)
	wantCode(t, err, fault.Integrity)
}

// TestAttackRevocationTakenBack: a state in which a revoked version, or one by a key that was
// revoked from before it on, is called good again.
func TestAttackRevocationTakenBack(t *testing.T) {
	w, h, m := attacked(t)
	pub := w.machine(t)
	if err := pub.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/a@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	w.look(m)
	if list, err := m.Revoked("acme"); err != nil || len(list) != 1 {
		t.Fatalf("revoked = %v, %v", list, err)
	}
	h.forge(publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c")), func(_ oplog.State, d oplog.TestOnlyDraft) {
		old, _ := d.Get(mustRef("acme/knowledge/a"), "1.0.0")
		e := *old
		e.Status, e.Reason = oplog.StatusOK, ""
		d.Put(&e)
	})
	w.sync(m, "acme")
	wantCode(t, m.look(mustRef("acme/knowledge/a")), fault.Integrity)
	// It stays refused, whatever becomes of the cache.
	if err := os.RemoveAll(m.o.CacheDir); err != nil {
		t.Fatal(err)
	}
	m = m.reopen(w, nil)
	w.sync(m, "acme")
	if list, err := m.Revoked("acme"); err != nil || len(list) != 1 || list[0].Name != "acme/knowledge/a@1.0.0" {
		t.Errorf("revoked = %v, %v", list, err)
	}
}

// lying serves a registry in which some blobs are others, or are not there.
func (w *world) lying(m *machine, blobs map[store.OID][]byte) *machine {
	w.t.Helper()
	honest := &githost.Server{Root: filepath.Dir(w.dir)}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		body := readBody(w.t, q)
		for id, raw := range blobs {
			if !bytes.Contains(body, []byte("want "+id.String())) {
				continue
			}
			rw.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			if raw == nil {
				rw.Write([]byte(pktLine("ERR upload-pack: not our ref " + id.String())))
				return
			}
			rw.Write([]byte("000dpackfile\n" + pktLine("\x01"+string(packOf(store.TypeBlob, raw))) + "0000"))
			return
		}
		honest.ServeHTTP(rw, q)
	}))
	w.t.Cleanup(srv.Close)
	return m.reopen(w, func(o *Options) { o.URL = srv.URL + "/" + filepath.Base(w.dir) })
}

// TestAttack49ForgedParts: a host that sends another root list, list, shard or change list
// than the log names, by its git id; and one that hides it. SHA-1 is taken for broken: the
// host is believed to find other bytes of the same id, which the test plays by having the
// log name the digest of one and the id of the other.
func TestAttack49ForgedParts(t *testing.T) {
	evil := []byte("evil\n")
	forged := oplog.AddressOf(evil).ID
	swap := func(a *oplog.Address) { a.ID = forged }
	for name, tt := range map[string]struct {
		spoil           func(*oplog.Op)
		code            string // of the sync
		revoked, unread int    // versions and lists that are remembered all the same
	}{
		// The log says who revokes, and its change list what: that holds whatever became of the state.
		"root list": {spoil: func(op *oplog.Op) { swap(&op.State) }, code: "integrity", revoked: 1},
		// Nobody knows what is revoked, and that keeps nobody from reading on.
		"change list": {spoil: func(op *oplog.Op) { swap(&op.Changes.Address) }, unread: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, m := attacked(t)
			if _, err := h.put(store.TypeBlob, evil); err != nil {
				t.Fatal(err)
			}
			before := m.memoryOf(t)
			revoke := oplog.Op{Kind: oplog.OpRevoke, Reason: "x", Items: []oplog.Entry{{Ref: mustRef("acme/knowledge/a"), Version: "1.0.0"}}}
			h.write(forgery{s: h.state(), by: w.ada, op: revoke}, tt.spoil)
			for range 2 {
				if err := m.Sync(w.ctx, "acme"); string(codeOf(err)) != tt.code {
					t.Errorf("sync: code %q, want %q (%v)", codeOf(err), tt.code, err)
				}
				list, err := m.Revoked("acme")
				if err != nil || len(list) != tt.revoked {
					t.Errorf("Revoked = %v, %v; want %d versions", list, err, tt.revoked)
				}
				if n, err := m.Unread("acme"); err != nil || n != tt.unread {
					t.Errorf("Unread = %d, %v; want %d", n, err, tt.unread)
				}
			}
			if after := m.memoryOf(t); tt.code != "" && after != before {
				t.Errorf("a refused state moved the memory:\n%s\nwas\n%s", after, before)
			}
		})
	}
	t.Run("list", func(t *testing.T) { forgedBelow(t, evil, false) })
	t.Run("shard", func(t *testing.T) { forgedBelow(t, evil, true) })
}

// forgedBelow has a list name a forged shard, or the root list a forged list.
func forgedBelow(t *testing.T, evil []byte, shards bool) {
	w, h, m := attacked(t)
	if _, err := h.put(store.TypeBlob, evil); err != nil {
		t.Fatal(err)
	}
	ref := mustRef("acme/knowledge/a")
	i := oplog.ShardOf(ref)
	s := h.state()
	h.write(forgery{s: s, by: w.ada, op: publishOp(h.content(w.ada, "acme/knowledge/a@2.0.0", "c"))}, func(op *oplog.Op) {
		_, written, err := penOf(w.ada).TestOnlyForge(s, *op, nil)
		if err != nil {
			t.Fatal(err)
		}
		blobs := map[oplog.Address]string{} // what goes out with it
		if err := written.Put(s, func(_ store.Type, raw []byte) (store.OID, error) {
			at := oplog.AddressOf(raw)
			blobs[at] = string(raw)
			return at.ID, nil
		}); err != nil {
			t.Fatal(err)
		}
		instead := func(list oplog.Address, was, now oplog.Address) oplog.Address {
			line := func(a oplog.Address) string { return " " + a.Sum.Hex() + " " + a.ID.String() + "\n" }
			raw := []byte(strings.Replace(blobs[list], line(was), line(now), 1))
			if string(raw) == blobs[list] {
				t.Fatalf("%s does not name %s", list.ID, was.ID)
			}
			h.put(store.TypeBlob, raw)
			return oplog.AddressOf(raw)
		}
		lists, err := written.After.Catalogue().Lists([]byte{i})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := written.After.Catalogue().Shards([]byte{i})
		if err != nil {
			t.Fatal(err)
		}
		list := lists[0]
		if shards {
			list = instead(list, parts[0], oplog.Address{Sum: parts[0].Sum, ID: oplog.AddressOf(evil).ID})
		} else {
			list.ID = oplog.AddressOf(evil).ID
		}
		op.State = instead(op.State, lists[0], list)
	})
	w.sync(m, "acme") // the log and its root list are whole
	before := m.snapshot(t)
	wantCode(t, m.look(ref), fault.Integrity)
	_, err := m.whole(w, 1<<20)
	wantCode(t, err, fault.Integrity)
	if names, _, _ := m.offers(w); slices.Contains(names, "acme/knowledge/a@2.0.0") {
		t.Errorf("kept %q", names)
	}
	if m.snapshot(t) != before {
		t.Error("refusing changed what was there")
	}
}

// TestAttack51HiddenParts: what a log promises and the host does not hold is an error of the
// network, and nothing that was known before is lost by it.
func TestAttack51HiddenParts(t *testing.T) {
	w, h, m := attacked(t)
	w.sync(m, "acme")
	w.publish(w.machine(t), w.ada, "acme/knowledge/c@1.0.0")
	s := h.state()
	i := oplog.ShardOf(mustRef("acme/knowledge/c"))
	lists, err := s.Catalogue().Lists([]byte{i})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := s.Catalogue().Shards([]byte{i})
	if err != nil {
		t.Fatal(err)
	}
	h.set(contentPrefix+"acme", store.OID{}) // so that asking for all of it does not help
	m2 := w.lying(m, map[store.OID][]byte{s.Catalogue().At().ID: nil})
	m2.refuses(t, w, "network")
	for _, id := range []store.OID{lists[0].ID, parts[0].ID} {
		m2 = w.lying(m2, map[store.OID][]byte{id: nil})
		w.sync(m2, "acme")
		wantCode(t, m2.look(mustRef("acme/knowledge/c")), fault.Network)
		_, err := m2.whole(w, 1<<20)
		wantCode(t, err, fault.Network)
	}
	m2 = m2.reopen(w, func(o *Options) { o.URL = w.url })
	if _, err := m2.Select(mustRef("acme/knowledge/c"), mustRange("*")); err != nil {
		t.Errorf("afterwards, from an honest host: %v", err)
	}
}

// TestAttack51HiddenRootList: a log whose last state no host serves is refused, each time, and
// is no floor, so that the host may set it back. What it revokes is remembered all the same.
func TestAttack51HiddenRootList(t *testing.T) {
	w, h, m := attacked(t)
	pub := w.machine(t)
	if err := pub.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/a@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	good := h.ref(branchPrefix + "acme")
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, func(op *oplog.Op) { op.State = oplog.AddressOf([]byte("nowhere")) })
	before := m.memoryOf(t)
	for range 2 {
		wantCode(t, m.Sync(w.ctx, "acme"), fault.Network)
		if list, err := m.Revoked("acme"); err != nil || len(list) != 1 {
			t.Errorf("Revoked = %v, %v; want one version", list, err)
		}
		if m.memoryOf(t) != before {
			t.Error("it moved the memory")
		}
	}
	h.set(branchPrefix+"acme", good)
	w.sync(m, "acme")
}

// TestAttack51HiddenCheckpoint: a newcomer whom the root sends to a state that no host serves
// reads the log from its beginning.
func TestAttack51HiddenCheckpoint(t *testing.T) {
	w, h, m := attacked(t)
	s := h.state()
	if err := m.Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	w.publish(m, w.ada, "acme/knowledge/c@1.0.0")
	h.set(contentPrefix+"acme", store.OID{}) // so that asking for all of it does not help
	fresh := w.lying(w.machine(t), map[store.OID][]byte{s.Catalogue().At().ID: nil})
	w.sync(fresh, "acme")
	if got, err := fresh.View("acme"); err != nil || got.Seq != 4 {
		t.Errorf("ends at %d, %v; want 4", got.Seq, err)
	}
}

// TestAttackContentRewound: the branch of the content proves nothing. Set back, set to
// something else or taken away, it costs what it keeps and never adds anything; the next
// publication goes on from it.
func TestAttackContentRewound(t *testing.T) {
	w, h, m := attacked(t)
	tip := h.ref(contentPrefix + "acme")
	c, err := h.repo.Commit(tip)
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]store.OID{"rewound": c.Parent(), "another": h.ref(mainBranch), "gone": {}} {
		t.Run(name, func(t *testing.T) {
			h.set(contentPrefix+"acme", id)
			m = m.reopen(w, nil)
			w.sync(m, "acme")
			if _, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*")); err != nil {
				t.Error(err)
			}
			w.publish(w.machine(t), w.ada, "acme/knowledge/"+name+"@1.0.0")
			testkit.Git(t, w.dir, "fsck", "--strict")
		})
	}
}

// TestHostOfNamedObjectsOnly: a host that serves only what a ref names is asked for the
// branch of the content as a whole.
func TestHostOfNamedObjectsOnly(t *testing.T) {
	w, h, m := attacked(t)
	honest := &githost.Server{Root: filepath.Dir(w.dir)}
	named := func(id string) bool {
		for _, ref := range []string{mainBranch, branchPrefix + "acme", contentPrefix + "acme"} {
			if h.ref(ref).String() == id {
				return true
			}
		}
		return false
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		for _, want := range strings.Split(string(readBody(t, q)), "want ")[1:] {
			if !named(want[:40]) {
				rw.Header().Set("Content-Type", "application/x-git-upload-pack-result")
				rw.Write([]byte(pktLine("ERR upload-pack: not our ref " + want[:40])))
				return
			}
		}
		honest.ServeHTTP(rw, q)
	}))
	t.Cleanup(srv.Close)
	m = w.machine(t).reopen(w, func(o *Options) { o.URL = srv.URL + "/" + filepath.Base(w.dir) })
	w.sync(m, "acme")
	rel, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(w.ctx, rel); err != nil {
		t.Error(err)
	}
}
