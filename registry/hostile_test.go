package registry

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// host is what somebody who holds the served repository can do: read and write
// every object and ref, without any key of the registry's people.
type host struct {
	w    *world
	repo *store.Repo
}

func (w *world) host() *host {
	w.t.Helper()
	repo, err := store.Open(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { repo.Close() })
	return &host{w, repo}
}

// ref returns where a ref points, zero when it is not there.
func (h *host) ref(name string) store.OID {
	id, _ := h.repo.Ref(name)
	return id
}

func (h *host) set(name string, id store.OID) {
	h.w.t.Helper()
	if err := h.repo.Swap(h.w.ctx, name, h.ref(name), id, "attack"); err != nil {
		h.w.t.Fatal(err)
	}
}

// root and state read what the host serves, as an honest reader would.
func (h *host) root() oplog.Root {
	h.w.t.Helper()
	raws, _, err := oplog.ReadLine(h.w.ctx, &h.repo.Reader, h.ref(mainBranch), store.OID{})
	if err != nil {
		h.w.t.Fatal(err)
	}
	root, _, err := oplog.ReplayRoot(oplog.Root{}, raws, h.w.now, store.SHA1)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return root
}

func (h *host) stateAt(tip store.OID) oplog.State {
	h.w.t.Helper()
	s := oplog.NewState(h.root(), "acme").From(h.blob)
	if tip.IsZero() {
		return s
	}
	raws, _, err := oplog.ReadLine(h.w.ctx, &h.repo.Reader, tip, store.OID{})
	if err != nil {
		h.w.t.Fatal(err)
	}
	if s, _, err = oplog.Replay(h.w.ctx, s, raws, h.w.now); err != nil {
		h.w.t.Fatal(err)
	}
	return s
}

// blob is the source of everything that the host has.
func (h *host) blob(a oplog.Address) ([]byte, error) { return h.repo.Blob(a.ID, oplog.MaxShard) }

func (h *host) state() oplog.State { return h.stateAt(h.ref(branchPrefix + "acme")) }

// forgery is an operation under construction: what a signer, honest or not,
// would write after s, before it is spoilt.
type forgery struct {
	s    oplog.State
	by   *testKey
	op   oplog.Op
	late time.Duration                  // the signer's clock, ahead of ours
	tree func(put oplog.Sink) store.OID // nil: the empty one
	text func(message string) string    // spoils the message before it is signed
}

// write signs the forgery, keeps what it wrote, and moves acme's branch to it.
func (h *host) write(f forgery, spoil func(*oplog.Op)) store.OID {
	h.w.t.Helper()
	p := penOf(f.by)
	p.Now = p.Now.Add(f.late)
	op, w, err := p.TestOnlyForge(f.s, f.op, nil)
	if err != nil {
		h.w.t.Fatal(err)
	}
	if spoil != nil {
		spoil(&op)
	}
	msg := op.Message()
	if f.text != nil {
		msg = f.text(msg)
	}
	tree := emptyTree
	if f.tree != nil {
		tree = f.tree(h.put)
	}
	id := h.commit(p, tree, op.Parents, msg, op, branchPrefix+"acme")
	_, w.Raw, _ = h.repo.Object(id, 0)
	if err := w.Put(f.s, h.put); err != nil {
		h.w.t.Fatal(err)
	}
	return id
}

func (h *host) commit(p oplog.Pen, tree store.OID, parents []store.OID, msg string, op oplog.Op, branch string) store.OID {
	h.w.t.Helper()
	raw, err := p.Commit(context.Background(), tree, parents, msg, op.Time)
	if err != nil {
		h.w.t.Fatal(err)
	}
	id, err := h.put(store.TypeCommit, raw)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.set(branch, id)
	return id
}

func (h *host) put(t store.Type, data []byte) (store.OID, error) {
	return h.repo.Put(h.w.ctx, t, data)
}

// content writes a content commit as a publisher would and returns the entry.
func (h *host) content(by *testKey, name, body string) oplog.Entry {
	h.w.t.Helper()
	e := testEntry(by, name, body)
	var err error
	if e.Commit, err = oplog.PutVersion(h.put, &e, []byte(body)); err != nil {
		h.w.t.Fatal(err)
	}
	return e
}

// rootOp commits an operation to the root as by, checked or not.
func (h *host) rootOp(by *testKey, op oplog.RootOp) {
	h.w.t.Helper()
	p := penOf(by)
	root := h.root()
	op, err := p.RootOperation(root, op)
	if err != nil {
		h.w.t.Fatal(err)
	}
	next, err := root.TestOnlyChange(op)
	if err != nil {
		h.w.t.Fatal(err)
	}
	tree, err := next.Tree(store.SHA1, h.put)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.commit(p, tree, op.Parents, op.Message(), oplog.Op{Envelope: oplog.Envelope{Time: testTime}}, mainBranch)
}

// fetchForged lets the host publish e, whatever its content is, and returns how fetching
// it ends, which must leave nothing behind.
func (m *machine) fetchForged(t *testing.T, h *host, e oplog.Entry) error {
	t.Helper()
	h.write(forgery{s: h.state(), by: h.w.ada, op: publishOp(e)}, nil)
	h.w.sync(m, "acme")
	rel, err := m.Release(e.Ref, e.Version)
	if err != nil {
		t.Fatal(err)
	}
	before := m.snapshot(t)
	_, err = m.Fetch(h.w.ctx, rel)
	if m.snapshot(t) != before {
		t.Error("refused content left something behind")
	}
	return err
}

// memoryOf returns the file of what was verified.
func (m *machine) memoryOf(t *testing.T) string {
	t.Helper()
	return testkit.ReadFile(t, stateFile(m, ".seen"))
}

// refuses checks that a sync is refused with a code, that nothing which it knew
// changed, and that what it knew still serves.
func (m *machine) refuses(t *testing.T, w *world, want string) {
	t.Helper()
	before := m.snapshot(t)
	for range 2 { // a second try finds no half trust left by the first
		err := m.Sync(w.ctx, "acme")
		if got := string(codeOf(err)); got != want {
			t.Errorf("sync: code %q, want %q (%v)", got, want, err)
		}
		if after := m.snapshot(t); after != before {
			t.Errorf("refusing changed what was there:\n%s\nwas\n%s", after, before)
		}
	}
}

// skips checks that a sync reports the last operation of acme as one without effect, and why.
func (m *machine) skips(t *testing.T, w *world, why string) {
	t.Helper()
	before, err := m.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	w.sync(m, "acme")
	w.sync(m, "acme") // the state is read from what was kept
	m.reports(t, why)
	s, err := m.reopen(w, nil).View("acme")
	if err != nil || s.Seq == before.Seq {
		t.Fatalf("View = %d, %v; want more than %d", s.Seq, err, before.Seq)
	}
	if s.Digest() != before.Digest() || !slices.Equal(s.Keys(), before.Keys()) || s.Grant != before.Grant || s.Owners != before.Owners ||
		s.Published != before.Published || s.Threshold != before.Threshold || s.Roles != before.Roles {
		t.Errorf("the state changed: %+v", s)
	}
}

// reports checks which operations of acme are reported as skipped, by why.
func (m *machine) reports(t *testing.T, why ...string) {
	t.Helper()
	got, err := m.SkippedOf("acme")
	open := got.Open()
	if err != nil || len(open) != len(why) {
		t.Fatalf("%d operations are reported, want %d: %v, %v", len(open), len(why), got, err)
	}
	for i := range open {
		if !strings.Contains(open[i].Why, why[i]) {
			t.Errorf("operation %d is reported: %s; want %q", open[i].Seq, open[i].Why, why[i])
		}
	}
}
