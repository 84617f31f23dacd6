package registry

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// changed returns what replaces one text of a message by another.
func changed(old, now string) func(string) string {
	return func(m string) string { return strings.Replace(m, old, now, 1) }
}

// A malformation is an operation by a member that cannot be applied.
type malformation struct {
	op    oplog.Op // the zero value publishes something
	spoil func(*oplog.Op)
	text  func(string) string
	tree  func(oplog.Sink) store.OID
	why   string
}

// malformed are some, as the next of acme's log.
func malformed(w *world) map[string]malformation {
	a := []oplog.Entry{{Ref: mustRef("acme/knowledge/a"), Version: "1.0.0"}}
	long := strings.Repeat("x", oplog.MaxReason+1)
	return map[string]malformation{
		"an operation that nobody knows": {text: strings.NewReplacer("publish acme", "forbid acme", "Rye-Op: publish", "Rye-Op: forbid").Replace, why: `"forbid": is not known`},
		"a later format":                 {text: changed("Rye-Format: 1", "Rye-Format: 2"), why: "this rye reads format 1"},
		"a trailer too many":             {text: func(m string) string { return m + "Rye-Note: hi\n" }, why: "Rye-Note"},
		"two predecessors":               {text: func(m string) string { return m + "Rye-Prev: " + cutTrailer(m, "Rye-Prev") + "\n" }, why: "Rye-Prev is unknown here"},
		"no trailers":                    {text: func(m string) string { return "hello\n\nRye-Prev: " + cutTrailer(m, "Rye-Prev") + "\n" }, why: "want Rye-Format"},
		"a reason that is too long": {op: oplog.Op{Kind: oplog.OpRevoke, Reason: "x", Items: a},
			text: changed(`Rye-Reason: "x"`, `Rye-Reason: "`+long+`"`), why: "want 1 to 600 bytes"},
		"a digest that is none":          {text: changed("Rye-State: sha256:", "Rye-State: sha256:z"), why: "sha256"},
		"another registry":               {spoil: func(op *oplog.Op) { op.Registry[0] ^= 1 }, why: "belongs to registry"},
		"another namespace's genesis":    {spoil: func(op *oplog.Op) { op.Genesis[0] ^= 1 }, why: "begins with"},
		"a gap":                          {spoil: func(op *oplog.Op) { op.Seq++ }, why: "follows position 3"},
		"a position again":               {spoil: func(op *oplog.Op) { op.Seq-- }, why: "follows position 3"},
		"a position of 2^63":             {text: changed("Rye-Seq: 4", "Rye-Seq: 9223372036854775808"), why: "up to 2^53-1"},
		"a time that goes back":          {spoil: func(op *oplog.Op) { op.Time = op.Time.Add(-time.Second) }, why: "before the operation before it"},
		"a root position that goes back": {spoil: func(op *oplog.Op) { op.Root = 1 }, why: "saw the root at 1"},
		"files": {tree: func(put oplog.Sink) store.OID {
			blob, _ := put(store.TypeBlob, []byte("evil"))
			id, _ := oplog.PutTrees(put, map[string]store.OID{"README.md": blob})
			return id
		}, why: "a log holds no files"},
		"a key that is not there":     {op: oplog.Op{Kind: oplog.OpKeyRevoke, Key: newKey("eve").fp(), BadFrom: 1, Reason: "x"}, why: "is not a key of acme"},
		"the last key":                {op: oplog.Op{Kind: oplog.OpKeyRetire, Key: w.ada.fp()}, why: "last active key"},
		"bad from what is to come":    {op: oplog.Op{Kind: oplog.OpKeyRevoke, Key: w.ada.fp(), BadFrom: 9, Reason: "x"}, why: "bad from 9"},
		"a threshold beyond the keys": {op: oplog.Op{Kind: oplog.OpThreshold, Threshold: 3}, why: "threshold 3 of 1"},
		"a void of what is to come":   {op: oplog.Op{Kind: oplog.OpVoid, Void: oplog.Voided{Seq: 4}}, why: "position 4, want 2 to 3"},
	}
}

// cutTrailer returns the value of a trailer.
func cutTrailer(message, key string) string {
	_, rest, _ := strings.Cut(message, key+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestMalformedOperations: a member's operation that cannot be applied has no effect and is
// reported, by who saw the log grow and by who reads it anew. A revocation after it applies.
func TestMalformedOperations(t *testing.T) {
	names := malformed(&world{ada: newKey("ada")})
	for name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			tt := malformed(w)[name]
			if tt.op.Kind == "" {
				tt.op = publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c"))
			}
			h.write(forgery{s: h.state(), by: w.ada, op: tt.op, text: tt.text, tree: tt.tree}, tt.spoil)
			m.skips(t, w, tt.why)
			pub := w.machine(t)
			if err := pub.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/b@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}); err != nil {
				t.Fatal(err)
			}
			m = m.reopen(w, nil)
			w.sync(m, "acme")
			fresh := w.machine(t)
			w.sync(fresh, "acme")
			for who, m := range map[string]*machine{"who saw it": m, "who reads it anew": fresh} {
				s, err := m.View("acme")
				if err != nil || s.Digest() != h.state().Digest() || s.Seq != 5 {
					t.Errorf("%s ends at %d, %v", who, s.Seq, err)
				}
				if list, err := m.Revoked("acme"); err != nil || len(list) != 1 {
					t.Errorf("%s: Revoked = %v, %v; want one version", who, list, err)
				}
				m.reports(t, tt.why)
				if list, err := m.History(w.ctx, "acme", 0); err != nil || len(list) != 5 || !strings.Contains(list[1].Skipped, tt.why) || list[1].Signer != w.ada.fp() {
					t.Errorf("%s: History = %+v, %v", who, list, err)
				}
			}
		})
	}
}

// TestMalformedByOthers: who is no member, or writes into another log, makes no operation of
// this one, whatever its text is. The log is refused from there on.
func TestMalformedByOthers(t *testing.T) {
	unknown := strings.NewReplacer("publish acme", "forbid acme", "Rye-Op: publish", "Rye-Op: forbid").Replace
	for name, tt := range map[string]struct {
		eve   bool
		spoil func(*oplog.Op)
		text  func(string) string
		want  string
	}{
		"a stranger":                        {eve: true, text: unknown, want: "malformed"},
		"another predecessor":               {spoil: func(op *oplog.Op) { op.Prev[0] ^= 1 }, text: unknown, want: "malformed"},
		"no predecessor":                    {text: func(m string) string { return unknown(strings.Replace(m, "Rye-Prev: ", "Rye-Before: ", 1)) }, want: "malformed"},
		"two parents":                       {spoil: func(op *oplog.Op) { op.Parents = append(op.Parents, op.Kept) }, text: unknown, want: "malformed"},
		"another parent":                    {spoil: func(op *oplog.Op) { op.Parents[0] = op.Kept }, text: unknown, want: "untrusted"},
		"a root that is not reached so far": {spoil: func(op *oplog.Op) { op.Root, op.Seq = 99, 9 }, want: "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, h, m := attacked(t)
			by := w.ada
			if tt.eve {
				by = newKey("eve")
			}
			h.write(forgery{s: h.state(), by: by, op: publishOp(h.content(by, "acme/knowledge/c@1.0.0", "c")), text: tt.text}, tt.spoil)
			m.refuses(t, w, tt.want)
		})
	}
	t.Run("a claim", func(t *testing.T) {
		w := newWorld(t, oplog.ClaimsGranted)
		h := w.host()
		h.write(forgery{s: oplog.NewState(h.root(), "acme"), by: w.ada, op: oplog.Op{Kind: oplog.OpClaim, Keys: []oplog.KeyGrant{{Public: w.ada.pub}}}, text: changed("Rye-Root: 2", "Rye-Root: 02")}, nil)
		m := w.machine(t)
		w.sync(m)
		m.refuses(t, w, "malformed")
	})
}

// stolen makes a registry in which bob is a member of acme, whose key a thief has.
func stolen(t *testing.T) (*world, *host, *machine, *testKey) {
	w, h, m := attacked(t)
	bob := newKey("bob")
	addKey(t, w, m, w.ada, bob)
	return w, h, m, bob
}

// spoil writes an operation by a key that cannot be applied.
func (h *host) spoil(by *testKey, n int) {
	h.w.t.Helper()
	s := h.state()
	p := penOf(by)
	for range n {
		op := p.Place(s, oplog.Op{Kind: oplog.OpKeyRetire, Key: newKey("nobody").fp()})
		op.State, op.Kept = s.Catalogue().At(), s.Kept
		id := h.commit(p, emptyTree, op.Parents, op.Message(), op, branchPrefix+"acme")
		raw, _, err := oplog.ReadCommit(&h.repo.Reader, id)
		if err != nil {
			h.w.t.Fatal(err)
		}
		s = s.Past(oplog.Position{Seq: s.Seq + 1, ID: id, Sum: objects.DigestOf(raw)})
	}
}

// TestThiefIsTakenOut: however many malformed operations a thief writes, the owner revokes
// the key, and every reader applies it at once.
func TestThiefIsTakenOut(t *testing.T) {
	w, h, m, bob := stolen(t)
	const many = 70
	h.spoil(bob, many)
	pub := w.machine(t)
	w.sync(pub, "acme")
	if err := changeKeys(w, pub, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpKeyRevoke, Key: bob.fp(), BadFrom: 5, Reason: "stolen"}); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/c@1.0.0")
	fresh := w.machine(t)
	for _, m := range []*machine{m, fresh} {
		w.sync(m, "acme")
		s, err := m.View("acme")
		if err != nil || s.Keys()[1].State != oplog.KeyRevoked {
			t.Fatalf("bob is %s, %v; want revoked", s.Keys()[1].State, err)
		}
		got, err := m.SkippedOf("acme")
		if err != nil || len(got.Open()) != many || got.More != 0 {
			t.Errorf("%d and %d more are reported, %v; want %d", len(got.Open()), got.More, err, many)
		}
		if _, err := m.Examine(w.ctx, "acme"); err != nil {
			t.Error(err)
		}
		if list, err := m.History(w.ctx, "acme", 0); err != nil || len(list) != many+6 || list[2].Skipped == "" || list[2].Seq != many+4 {
			t.Errorf("History = %d operations, %v", len(list), err)
		}
	}
	h.spoil(w.ada, 1) // and at the end of the log
	for range 2 {
		w.sync(fresh, "acme")
		if c, err := fresh.Verify(w.ctx, "acme", false); err != nil || len(c.Missing) > 0 || c.Pruned > 0 {
			t.Errorf("Verify = %+v, %v", c, err)
		}
		fresh = fresh.reopen(w, nil)
		w.publish(fresh, w.ada, "acme/knowledge/d@1.0.0") // once
		h.spoil(w.ada, 1)
	}
	if _, err := fresh.Rebuild(w.ctx, By{Signer: w.ada}, "acme", false); err != nil {
		t.Error(err)
	}
	w.sync(fresh, "acme")
	if c, err := fresh.Verify(w.ctx, "acme", false); err != nil || len(c.Missing) > 0 {
		t.Errorf("after Rebuild, Verify = %+v, %v", c, err)
	}
	testkit.Git(t, w.dir, "fsck", "--strict")
}

// TestStateOfASkippedOperation: what a skipped operation calls the state after it is believed
// by nobody, not by who goes on from it either.
func TestStateOfASkippedOperation(t *testing.T) {
	w, h, m := attacked(t)
	w.look(m)
	old := h.state()
	w.publish(w.machine(t), w.ada, "acme/knowledge/c@1.0.0")
	retire := oplog.Op{Kind: oplog.OpKeyRetire, Key: newKey("nobody").fp()}
	h.write(forgery{s: h.state(), by: w.ada, op: retire}, func(op *oplog.Op) { op.State, op.Kept = old.Catalogue().At(), old.Kept })
	for _, name := range []string{"d", "e"} {
		w.sync(m, "acme")
		if c, err := m.Verify(w.ctx, "acme", false); err != nil || len(c.Missing) > 0 {
			t.Errorf("Verify = %+v, %v", c, err)
		}
		if _, err := m.Select(mustRef("acme/knowledge/c"), mustRange("*")); err != nil {
			t.Error(err)
		}
		m = m.reopen(w, nil)
		w.publish(w.machine(t), w.ada, "acme/knowledge/"+name+"@1.0.0")
	}
}

// TestSkipsAreBounded: the list of skipped operations has an end, and what is beyond it is
// counted, once.
func TestSkipsAreBounded(t *testing.T) {
	w, _, m := attacked(t)
	var done oplog.Replayed
	for i := range oplog.MaxSkipped + 7 {
		sum := objects.DigestOf([]byte{byte(i), byte(i >> 8)})
		done.Skipped = append(done.Skipped, oplog.Skipped{Position: oplog.Position{Seq: uint64(4 + i), ID: store.SHA1.Hash(store.TypeBlob, nil), Sum: sum}, By: w.ada.fp(), Why: strings.Repeat("\U0001f600", oplog.MaxWhy/4)})
	}
	s, err := m.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.mem.NoteSkipped(w.ctx, "acme", nil, s.Point(), done); err != nil {
			t.Fatal(err)
		}
		if got, err := m.SkippedOf("acme"); err != nil || len(got.List) != oplog.MaxSkipped || got.More != 7 {
			t.Fatalf("%d are listed and %d counted, %v", len(got.List), got.More, err)
		}
	}
}

// TestBrokenSkipsStopNothing: the list of skipped operations decides nothing, so that a log goes
// on without it. It is not written over, and reported as what it is.
func TestBrokenSkipsStopNothing(t *testing.T) {
	w, h, m, bob := stolen(t)
	h.spoil(bob, 1)
	w.sync(m, "acme")
	path := stateFile(m, ".skipped/acme")
	if err := os.WriteFile(path, []byte("rye 1\nbroken"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.spoil(bob, 1)
	w.sync(m, "acme")
	_, err := m.SkippedOf("acme")
	wantCode(t, err, fault.Integrity)
	all, err := memory.SkippedIn(m.o.StateDir, m.o.ID)
	if wantCode(t, err, fault.Integrity); len(all) != 1 {
		t.Errorf("SkippedIn = %v", all)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "rye 1\nbroken" {
		t.Errorf("the list is %q now, %v", raw, err)
	}
}

// TestVoid: the owner voids a malformed operation, by its position and digest, and it is
// reported no more. A void of anything else changes nothing.
func TestVoid(t *testing.T) {
	w, h, m, bob := stolen(t)
	h.spoil(bob, 2) // 5 and 6
	w.sync(m, "acme")
	m.reports(t, "is not a key of acme", "is not a key of acme")
	void := func(by *testKey, seq uint64) error {
		op, _, err := m.VoidOp("acme", seq)
		if err != nil {
			return err
		}
		return changeKeys(w, m, By{Signer: by}, op)
	}
	wantCode(t, void(w.ada, 4), fault.Conflict)
	if err := void(w.ada, 5); err != nil { // 7
		t.Fatal(err)
	}
	m.reports(t, "is not a key of acme")
	wantCode(t, void(w.ada, 5), fault.Conflict)

	// A revocation is voided, a void is, and what was voided before.
	if err := m.Mark(w.ctx, oplog.OpRevoke, StatusChange{Names: []string{"acme/knowledge/a@1.0.0"}, Reason: "steals", By: By{Signer: w.ada}}); err != nil {
		t.Fatal(err)
	}
	for _, what := range []oplog.Position{h.at(8), h.at(7), {Seq: 6, ID: store.OID{}, Sum: h.at(8).Sum}} {
		h.write(forgery{s: h.state(), by: bob, op: oplog.Op{Kind: oplog.OpVoid, Void: oplog.Voided{Seq: what.Seq, Sum: what.Sum}}}, nil)
	}
	fresh := w.machine(t)
	for _, m := range []*machine{m, fresh} {
		w.sync(m, "acme")
		m.reports(t, "is not a key of acme", "voids operation 8, which is not malformed", "voids operation 7", "voids operation 6")
		_, err := m.Select(mustRef("acme/knowledge/a"), mustRange("*"))
		wantCode(t, err, fault.Revoked)
	}
	if err := void(w.ada, 9); err != nil { // and so a void that did nothing is known
		t.Fatal(err)
	}
	m.reports(t, "is not a key of acme", "voids operation 7", "voids operation 6")
	// From its beginning the log says the same.
	again := w.machine(t)
	w.sync(again, "acme")
	one, _ := m.SkippedOf("acme")
	two, _ := again.SkippedOf("acme")
	if !slices.Equal(one.List, two.List) {
		t.Errorf("from the beginning %v, as it grew %v", two.List, one.List)
	}
}

// at returns an operation of acme.
func (h *host) at(seq uint64) oplog.Position {
	h.w.t.Helper()
	raws, _, err := oplog.ReadLine(h.w.ctx, &h.repo.Reader, h.ref(branchPrefix+"acme"), store.OID{})
	if err != nil {
		h.w.t.Fatal(err)
	}
	raw := raws[seq-1]
	return oplog.Position{Seq: seq, ID: store.SHA1.Hash(store.TypeCommit, raw), Sum: objects.DigestOf(raw)}
}

// TestVoidByWhom: a void needs as many keys as a change of keys, or the root's word.
func TestVoidByWhom(t *testing.T) {
	w, h, m, bob := stolen(t)
	if err := changeKeys(w, m, By{Signer: w.ada}, oplog.Op{Kind: oplog.OpThreshold, Threshold: 2}); err != nil { // 5
		t.Fatal(err)
	}
	h.spoil(bob, 1) // 6
	w.sync(m, "acme")
	op, _, err := m.VoidOp("acme", 6)
	if err != nil {
		t.Fatal(err)
	}
	eve := newKey("eve")
	wantCode(t, changeKeys(w, m, By{Signer: bob}, op), fault.Untrusted)
	h.write(forgery{s: h.state(), by: bob, op: op}, nil) // 7
	h.write(forgery{s: h.state(), by: eve, op: op}, nil)
	m.refuses(t, w, "untrusted")
	h.set(branchPrefix+"acme", h.at(7).ID)
	w.sync(m, "acme")
	m.reports(t, "1 of 2 keys of acme agreed", "1 of 2 keys of acme agreed")

	agreed, err := m.ProposeOp(w.ctx, "acme", w.ada.pub, op)
	if err == nil {
		err = agreed.Approve(w.ctx, w.ada)
	}
	if err == nil {
		agreed, err = oplog.ParseOpProposal(agreed.Proposal())
	}
	if err == nil {
		_, err = m.CommitOp(w.ctx, By{Signer: bob}, agreed) // 8
	}
	if err != nil {
		t.Fatal(err)
	}
	m.reports(t, "1 of 2 keys of acme agreed")
	if op, _, err = m.VoidOp("acme", 7); err != nil {
		t.Fatal(err)
	}

	carol := newKey("carol")
	if err := m.Grant(w.ctx, By{Signer: w.root}, "acme", carol.pub); err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	if err := changeKeys(w, m, By{Signer: carol}, op); err != nil {
		t.Fatal(err)
	}
	m.reports(t)
	if s, err := m.View("acme"); err != nil || len(s.Keys()) != 2 || s.Owners != 1 {
		t.Errorf("%d keys, owners since %d, %v; want as before", len(s.Keys()), s.Owners, err)
	}
}

// TestCheckpointAfterMalformed: the root vouches for the last operation that has effect, and
// who begins there reads what follows.
func TestCheckpointAfterMalformed(t *testing.T) {
	w, h, m, bob := stolen(t)
	h.spoil(bob, 1) // 5
	w.sync(m, "acme")
	if err := m.Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	fresh := w.machine(t)
	w.sync(fresh, "acme")
	fresh.reports(t, "is not a key of acme")
	if s, err := fresh.View("acme"); err != nil || s.Seq != 5 || s.Last().Seq != 4 {
		t.Errorf("ends at %d, the last with effect at %d, %v", s.Seq, s.Last().Seq, err)
	}
	op, _, err := fresh.VoidOp("acme", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := changeKeys(w, fresh, By{Signer: w.ada}, op); err != nil { // 6
		t.Fatal(err)
	}
	w.publish(fresh, w.ada, "acme/knowledge/c@1.0.0") // 7
	if err := fresh.Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	h.write(forgery{s: h.state(), by: w.ada, op: op}, nil) // again, of what a newcomer does not know
	fresh = w.machine(t)
	w.sync(fresh, "acme")
	fresh.reports(t)
}

// TestCheckpointOfMalformed: a root that vouches for an operation which cannot be read stops
// nobody: the log is read from its beginning.
func TestCheckpointOfMalformed(t *testing.T) {
	w, h, _ := attacked(t)
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e), text: changed("Rye-Op: publish", "Rye-Op: forbid")}, nil)
	s := h.state()
	h.rootOp(w.root, oplog.RootOp{Kind: oplog.OpCheckpoint, Checkpoints: []oplog.Checkpoint{{Namespace: "acme", Seq: s.Seq, Sum: s.Tip, ID: s.At, State: s.Digest()}}})
	fresh := w.machine(t)
	w.sync(fresh, "acme")
	fresh.reports(t, "is not known")
}

// TestMalformedPushIsRefused: a host that judges pushes lets no malformed operation in, and
// goes on after one that was there before.
func TestMalformedPushIsRefused(t *testing.T) {
	w, h, m := attacked(t)
	old := h.ref(branchPrefix + "acme")
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	bad := h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e), text: changed("Rye-Op: publish", "Rye-Op: forbid")}, nil)
	err := Judge(w.ctx, h.repo, []Move{{Ref: branchPrefix + "acme", Old: old, New: bad}}, w.now)
	wantCode(t, err, fault.Malformed)
	w.publish(m, w.ada, "acme/knowledge/d@1.0.0")
	tip := h.ref(branchPrefix + "acme")
	if err := Judge(w.ctx, h.repo, []Move{{Ref: branchPrefix + "acme", Old: bad, New: tip}}, w.now); err != nil {
		t.Error(err)
	}
}

// TestMalformedOnForks: a log that parts from the known one before or at a malformed
// operation is a fork like any other.
func TestMalformedOnForks(t *testing.T) {
	w, h, m, bob := stolen(t)
	base := h.ref(branchPrefix + "acme")
	h.spoil(bob, 1)
	w.sync(m, "acme")
	h.set(branchPrefix+"acme", base)
	m.refuses(t, w, "rollback")
	e := h.content(w.ada, "acme/knowledge/c@1.0.0", "c")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, nil)
	m.refuses(t, w, "fork")
}
