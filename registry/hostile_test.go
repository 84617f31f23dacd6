package registry

import (
	"context"
	"testing"
	"time"

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
func (h *host) root() Root {
	h.w.t.Helper()
	raws, _, err := readLine(h.w.ctx, &h.repo.Reader, h.ref(mainBranch), store.OID{})
	if err != nil {
		h.w.t.Fatal(err)
	}
	root, _, err := replayRoot(Root{}, raws, h.w.now, store.SHA1)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return root
}

func (h *host) stateAt(tip store.OID) State {
	h.w.t.Helper()
	s := NewState(h.root(), "acme")
	if tip.IsZero() {
		return s
	}
	raws, _, err := readLine(h.w.ctx, &h.repo.Reader, tip, store.OID{})
	if err != nil {
		h.w.t.Fatal(err)
	}
	if s, err = replay(s, raws, h.w.now, store.SHA1); err != nil {
		h.w.t.Fatal(err)
	}
	return s
}

func (h *host) state() State { return h.stateAt(h.ref(branchPrefix + "acme")) }

// forgery is an operation under construction: what a signer, honest or not,
// would write after s, before it is spoilt.
type forgery struct {
	s    State
	by   *testKey
	op   Op
	late time.Duration                        // the signer's clock, ahead of ours
	tree func(next State, put sink) store.OID // nil: the state's own
	text func(message string) string          // spoils the message before it is signed
}

// write signs the forgery and moves acme's branch to it.
func (h *host) write(f forgery, spoil func(*Op)) store.OID {
	h.w.t.Helper()
	p := penOf(f.by)
	p.now = p.now.Add(f.late)
	op := p.place(f.s, f.op)
	next, err := f.s.step(op)
	if err != nil {
		next = f.s
	}
	op.State = next.Digest()
	if spoil != nil {
		spoil(&op)
	}
	tree := h.putTree(next)
	if f.tree != nil {
		tree = f.tree(next, h.put)
	}
	msg := op.Message()
	if f.text != nil {
		msg = f.text(msg)
	}
	return h.commit(p, tree, op.Parents, msg, op, branchPrefix+"acme")
}

func (h *host) commit(p pen, tree store.OID, parents []store.OID, msg string, op Op, branch string) store.OID {
	h.w.t.Helper()
	raw, err := p.commit(context.Background(), tree, parents, msg, op.Time)
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

func (h *host) putTree(s State) store.OID {
	h.w.t.Helper()
	id, err := s.tree(store.SHA1, h.put)
	if err != nil {
		h.w.t.Fatal(err)
	}
	return id
}

// content writes a content commit as a publisher would and returns the entry.
func (h *host) content(by *testKey, name, body string) Entry {
	h.w.t.Helper()
	e := testEntry(by, name, body)
	tree, err := putContent(h.put, e.Path, []byte(body))
	if err != nil {
		h.w.t.Fatal(err)
	}
	raw, err := penOf(by).commit(h.w.ctx, tree, nil, contentMessage(&e), testTime)
	if err != nil {
		h.w.t.Fatal(err)
	}
	if e.Commit, err = h.put(store.TypeCommit, raw); err != nil {
		h.w.t.Fatal(err)
	}
	return e
}

// rootOp commits an operation to the root as by, checked or not.
func (h *host) rootOp(by *testKey, op RootOp) {
	h.w.t.Helper()
	p := penOf(by)
	root := h.root()
	op, err := p.rootOperation(root, op)
	if err != nil {
		h.w.t.Fatal(err)
	}
	next := root
	if err := next.change(op); err != nil {
		h.w.t.Fatal(err)
	}
	tree, err := next.tree(store.SHA1, h.put)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.commit(p, tree, op.Parents, op.Message(), Op{Envelope: Envelope{Time: testTime}}, mainBranch)
}

// fetchForged lets the host publish e, whatever its content is, and returns how fetching
// it ends, which must leave nothing behind.
func (m *machine) fetchForged(t *testing.T, h *host, e Entry) error {
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
