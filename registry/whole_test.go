package registry

import (
	"fmt"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
)

// names lists what Offers shows of acme.
func (m *machine) offers(w *world) (names []string, c Coverage, err error) {
	c, err = m.Offers(w.ctx, "acme", func(e *oplog.Entry) error { names = append(names, e.Name()); return nil })
	return names, c, err
}

func (m *machine) whole(w *world, most int64) (Coverage, error) {
	return m.Whole(w.ctx, "acme", most, nil)
}

// TestWholeCatalogue: everything is brought once, an unchanged part is not asked for again, and
// what is here is told without the network.
func TestWholeCatalogue(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	ada, m := w.machine(t), w.machine(t)
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprintf("acme/knowledge/k%d@1.0.0", i))
	}
	w.sync(ada, "acme")
	w.publish(ada, w.ada, all...)
	w.sync(m, "acme")
	c, err := m.whole(w, 1<<20)
	if err != nil || !c.Complete() || c.Have < 20 || c.Received == 0 {
		t.Fatalf("whole: %+v, %v", c, err)
	}
	fetches := m.Stats().Fetches
	if c, err = m.whole(w, 1<<20); err != nil || c.Received != 0 || m.Stats().Fetches != fetches {
		t.Errorf("again: received %d in %d fetches, %v", c.Received, m.Stats().Fetches-fetches, err)
	}
	w.publish(ada, w.ada, "acme/knowledge/more@1.0.0")
	w.sync(m, "acme")
	if c, err = m.whole(w, 1<<20); err != nil || !c.Complete() || c.Received > 8<<10 {
		t.Errorf("one more: %+v, %v", c, err)
	}
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	names, c, err := off.offers(w)
	if err != nil || len(names) != 41 || !c.Complete() || c.Seq != 3 {
		t.Errorf("offline: %d names, %+v, %v", len(names), c.Seq, err)
	}
	if off.AskedAt("acme").IsZero() {
		t.Error("nobody knows when the registry was asked")
	}
}

// TestWholeIsBounded: no more is received than was allowed, what is missing is said, and the
// next call goes on there.
func TestWholeIsBounded(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	ada, m := w.machine(t), w.machine(t)
	w.sync(ada, "acme")
	w.publish(ada, w.ada, "acme/knowledge/a@1.0.0", "acme/knowledge/b@1.0.0", "acme/knowledge/c@1.0.0")
	w.sync(m, "acme")
	_, err := m.whole(w, 200)
	if err != nil && !fault.Is(err, fault.Limit) {
		t.Fatal(err)
	}
	names, c, err := m.offers(w)
	if err != nil || c.Complete() || len(names) != 0 {
		t.Fatalf("within 200 bytes: %q, %d of %d, %v", names, c.Have, c.Shards, err)
	}
	if c, err = m.whole(w, 1<<20); err != nil || !c.Complete() {
		t.Errorf("went on: %d of %d, %v", c.Have, c.Shards, err)
	}
}

// TestWholeRefusesLines: a line by a key that was not there cannot follow from the log. Parts that
// are forged or hidden: TestAttack49ForgedParts, TestAttack51HiddenParts.
func TestWholeRefusesLines(t *testing.T) {
	w, h, m := attacked(t)
	eve := newKey("eve")
	h.forge(publishOp(h.content(w.ada, "acme/knowledge/c@1.0.0", "c")), func(s oplog.State, d oplog.TestOnlyDraft) {
		bad := testEntry(eve, "acme/knowledge/evil@1.0.0", "evil")
		bad.Publisher, bad.Seq, bad.Time, bad.Status = eve.fp(), s.Seq, s.Time, oplog.StatusOK
		d.Put(&bad)
	})
	w.sync(m, "acme")
	if _, err := m.whole(w, 1<<20); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.offers(w)
	wantCode(t, err, fault.Integrity)
}

// TestSyncEachGoesOn: what is wrong with one namespace is told, and the next is read.
func TestSyncEachGoesOn(t *testing.T) {
	w, h, m := attacked(t)
	h.set(branchPrefix+"acme", stateBefore(h, h.state()))
	told := map[string]error{}
	err := m.SyncEach(w.ctx, []string{"acme", "other"}, func(ns string, err error) error { told[ns] = err; return nil })
	if err != nil || len(told) != 2 || told["other"] != nil {
		t.Fatalf("%v, %v", told, err)
	}
	wantCode(t, told["acme"], fault.Rollback)
}
