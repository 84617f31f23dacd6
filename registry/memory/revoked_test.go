package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// atOnce calls do for several memories of the same files, as several processes would.
func atOnce(t *testing.T, n int, do func(i int, m *Memory) error) *Memory {
	t.Helper()
	first, _ := seen(t)
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = do(i, Open(first.o)) })
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return first
}

func revocationNamed(name string) Revocation {
	id := store.SHA1.Hash(store.TypeBlob, []byte(name))
	return Revocation{List: oplog.AddressOf([]byte(name)), Kept: id, By: trust.PublicKey{}.Fingerprint()}
}

// TestUnreadOfSeveralProcesses: what one process notes or forgets of the lists that no host serves
// leaves alone what the others noted.
func TestUnreadOfSeveralProcesses(t *testing.T) {
	const several, each = 4, 10
	m := atOnce(t, several, func(p int, m *Memory) (err error) {
		gone := revocationNamed(fmt.Sprint("read by ", p))
		err = m.KeepUnread(t.Context(), "acme", nil, []Revocation{gone})
		for i := range each {
			err = errors.Join(err, m.KeepUnread(t.Context(), "acme", []Revocation{gone}, []Revocation{revocationNamed(fmt.Sprint(p, " ", i))}))
		}
		return err
	})
	all, err := m.Missing("acme")
	if err != nil || len(all) != several*each {
		t.Fatalf("%d lists are missing, %v; want %d", len(all), err, several*each)
	}
	for p := range several {
		if slices.Contains(all, revocationNamed(fmt.Sprint("read by ", p))) {
			t.Errorf("process %d read a list, which is still missing", p)
		}
	}
}

// TestSkippedOfSeveralProcesses: a process that read less of a log takes no skipped operation from
// the list of one that read more.
func TestSkippedOfSeveralProcesses(t *testing.T) {
	skipped := func(seq uint64) oplog.Skipped {
		return oplog.Skipped{Position: oplog.Position{Seq: seq, ID: store.SHA1.Hash(store.TypeBlob, nil), Sum: objects.DigestOf(nil)},
			By: trust.PublicKey{}.Fingerprint(), Why: "malformed"}
	}
	const several = 8
	for range 20 {
		m := atOnce(t, several, func(p int, m *Memory) error {
			var done oplog.Replayed
			for seq := range p + 1 {
				done.Skipped = append(done.Skipped, skipped(uint64(4+seq)))
			}
			return m.NoteSkipped(t.Context(), "acme", nil, oplog.Point{}, done)
		})
		if all, err := m.SkippedOf("acme"); err != nil || len(all.List) != several {
			t.Fatalf("%d operations are skipped, %v; want %d", len(all.List), err, several)
		}
	}
}
