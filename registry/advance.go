package registry

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/memory"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// How often a change is tried again: maxLost if other publishers were faster, since each time one
// of them made progress; maxTries if the outcome of a push is unknown.
const (
	maxLost  = 32 // half a minute with the pauses between them
	maxTries = 8
)

// By names the author of operations.
type By struct {
	Signer trust.Signer
	Who    store.Ident // commit author; zero: the namespace's. A forge shows "Verified" only for an address it knows.
}

func (r *Registry) pen(by By, namespace string) oplog.Pen {
	who := cmp.Or(by.Who, store.Ident{Name: namespace, Email: namespace + "@rye.invalid"})
	return oplog.Pen{Signer: by.Signer, Who: who, Now: r.o.Now(), Format: store.SHA1}
}

// A change is a requested change of a namespace.
type change struct {
	namespace string
	by        By
	dry       bool

	// plan returns the operations to append to the log as it stands now, none if they are done
	// already. It is called again if other publishers were faster.
	plan func(s oplog.State) ([]oplog.Op, error)
	// as changes the state to look at, to rehearse a change that another one must precede; nil: no
	// change.
	as func(s oplog.State) oplog.State
	// check may refuse the state after the operations, before anything is sent; nil: allow all.
	check func(after oplog.State) error
	// prepare begins to make the objects that the planned operations refer to; nil: none. It may be
	// called again, and then makes only new ones.
	prepare func(ctx context.Context, p oplog.Pen, b *store.Batch, ops []oplog.Op) preparation
	// refs lists the items of the operations. nil means any: the whole catalogue is then fetched,
	// and every change list compared, before planning.
	refs []objects.Ref
	// wants lists the planned operations: what they drop is not fetched.
	wants []oplog.Op
}

// A preparation makes objects while operations are made.
type preparation struct {
	ready func(i int) error   // completes operation i after adding its objects to the batch
	end   func()              // always called, on success and on failure
	made  func() *[]store.OID // the versions made so far, with all their objects
}

// advanced is the result of a change.
type advanced struct {
	state oplog.State
	ops   int
	tries int
}

// advance appends to a namespace's log: sync, plan, write, then one ref update that holds only if
// the log still ends as planned. If it does not, advance starts again.
func (r *Registry) advance(ctx context.Context, c change) (advanced, error) {
	if r.o.Offline {
		return advanced{}, fault.New(fault.Offline, "change namespace %s: offline", c.namespace)
	}
	to := toWrite
	if c.dry {
		to = toTry
	}
	var lost error                           // the error of the last try
	var at store.OID                         // where the log stood then
	shortest := time.Duration(math.MaxInt64) // the shortest duration of a try, as without rivals
	for try := 1; ; try++ {
		begun := time.Now()
		s, err := r.tipFor(ctx, to, c.namespace, c.wants)
		if err != nil {
			return advanced{}, errors.Join(err, lost)
		}
		if rejected(lost) && !fault.Is(lost, fault.Conflict) && s.At == at {
			return advanced{}, lost // no other publisher was faster: the host refuses the push
		}
		if s, err = r.lookAt(ctx, s, c.refs, c.wants); err != nil {
			return advanced{}, err
		}
		if c.as != nil {
			s = c.as(s)
		}
		ops, err := c.plan(s)
		if err != nil {
			return advanced{}, err
		}
		if c.dry || len(ops) == 0 {
			done, err := r.pen(c.by, c.namespace).Rehearse(s, ops)
			if err == nil {
				err = c.allows(done)
			}
			return advanced{state: done, ops: len(ops), tries: try}, err
		}
		next, err := r.append(ctx, s, c, ops)
		if err == nil {
			r.repo.Tidy(ctx, store.CompactOptions{Packs: true}) // each publication is a pack
			return advanced{state: next, ops: len(ops), tries: try}, nil
		}
		if !mayRetry(err, try) {
			return advanced{}, err
		}
		lost, at = err, s.At
		shortest = min(shortest, time.Since(begun))
		if err := pause(ctx, try, shortest); err != nil {
			return advanced{}, err
		}
	}
}

// allows calls check, if there is one.
func (c *change) allows(after oplog.State) error {
	if c.check == nil {
		return nil
	}
	return c.check(after)
}

// mayRetry reports whether to retry: a rival was faster, or the outcome of the push is unknown.
func mayRetry(err error, try int) bool {
	return rejected(err) && try <= maxLost || fault.Is(err, fault.Network) && try <= maxTries
}

func rejected(err error) bool {
	var rej *transport.RejectedError
	return errors.As(err, &rej)
}

// How long a publisher waits after losing a race: up to the duration of a try on this host, times
// the likely number of rivals. With shorter pauses all would meet again, and on a slow host each
// meeting costs everyone a whole try.
const (
	leastPause = 15 * time.Millisecond
	mostPause  = 4 * time.Second
	mostRivals = 3 // doublings: eight tries by rivals
)

// pause waits a random time that grows with the tries and the duration of a try.
func pause(ctx context.Context, try int, took time.Duration) error {
	most := min(max(took, leastPause)<<min(try-1, mostRivals), mostPause)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(rand.Int64N(int64(most)))):
		return nil
	}
}

// current returns the namespace after a sync, judged by the newest root. It may be unclaimed.
func (r *Registry) current(ctx context.Context, namespace string) (oplog.State, error) {
	m, root, err := r.known(ctx)
	if err != nil {
		return oplog.State{}, err
	}
	if _, seen := m[namespace]; !seen {
		return r.unclaimed(root, namespace), nil
	}
	s, err := r.load(namespace, m)
	return s.WithRoot(root), err
}

// tipFor returns a namespace after a sync, for planned operations. If they drop operations that
// cannot be derived, the state need not be readable.
func (r *Registry) tipFor(ctx context.Context, to purpose, ns string, wants []oplog.Op) (oplog.State, error) {
	if oplog.DropsAny(wants) {
		return r.beyond(ctx, to, ns)
	}
	if err := r.syncFrom(ctx, to, []string{ns}, allMust); err != nil {
		return oplog.State{}, err
	}
	return r.current(ctx, ns)
}

// lookAt fetches the parts of the catalogue that a change reads. It returns the state that planned
// operations follow; if they drop others, the state without these.
func (r *Registry) lookAt(ctx context.Context, s oplog.State, refs []objects.Ref, wants []oplog.Op) (oplog.State, error) {
	if refs == nil {
		x, err := r.examineAs(ctx, s, r.mem.Had(s).At, s.Planned(wants...).Keys())
		if err == nil && oplog.DropsAny(wants) {
			s = s.Derived(x.State)
		}
		return s, err
	}
	if err := r.bringLists(ctx, s); err != nil {
		return s, err
	}
	return s, r.bringShards(ctx, s, oplog.ShardsOf(refs))
}

// append writes the operations after s and pushes them. Their objects go to the content branch,
// which is pushed first; the one update of the log decides.
func (r *Registry) append(ctx context.Context, s oplog.State, c change, ops []oplog.Op) (oplog.State, error) {
	repo, err := r.writing()
	if err != nil {
		return oplog.State{}, err
	}
	p := r.pen(c.by, c.namespace)
	b := repo.NewBatch()
	defer b.Discard()
	prep := preparation{func(int) error { return nil }, func() {}, func() *[]store.OID { return new([]store.OID) }}
	if c.prepare != nil {
		prep = c.prepare(ctx, p, b, ops)
	}
	defer prep.end()
	var gone []revoked.Version
	var done oplog.Replayed
	next := s
	tip := r.contentTip(c.namespace)
	keep := keeping{p: p, put: lasting(b), tip: tip}
	tags := map[string]store.OID{}
	line := []store.OID{store.SHA1.Hash(store.TypeTree, nil)}
	for i := range ops {
		if err := prep.ready(i); err != nil {
			return oplog.State{}, err
		}
		w, err := p.Operation(ctx, next, ops[i])
		if err != nil {
			return oplog.State{}, err
		}
		before := next
		if i == 0 && oplog.DropsAny(c.wants) {
			before = before.Unkept() // no host has the state before this operation
		}
		if err := w.Put(before, lasting(b)); err != nil {
			return oplog.State{}, err
		}
		done.Ops = append(done.Ops, w.Op)
		keep.add(w.After, ops[i].Items)
		if memory.RefusesForGood(ops[i].Kind) && w.Changes != nil {
			rows, err := oplog.ParseShard(w.Changes)
			if err != nil {
				return oplog.State{}, err
			}
			gone = append(gone, memory.RevokedRows(c.namespace, rows, c.by.Signer.Public().Fingerprint())...)
		}
		next = w.After
		line = append(line, next.At)
		if s.Under().Tags {
			tagsFor(tags, next, ops[i])
		}
	}
	if err := c.allows(next); err != nil {
		return oplog.State{}, err
	}
	content, err := keep.merge(ctx, next)
	if err != nil {
		return oplog.State{}, err
	}
	versions := prep.made() // including versions from an earlier try
	objects := slices.Concat(b.Objects(), *versions)
	if err := b.Flush(ctx); err != nil {
		return oplog.State{}, err
	}
	defer b.Release()
	to, err := r.writtenAt(ctx, c.namespace)
	if err != nil {
		return oplog.State{}, err
	}
	ready := r.beside(c.namespace, next.Point())
	defer func() { ready().Discard() }()
	both := []transport.Update{
		{Name: contentOf(c.namespace), Old: tip, New: content},
		{Name: branchOf(c.namespace), Old: s.At, New: next.At},
	}
	if s.Under().Tags {
		err = pushTagged(ctx, to, repo, tagged{both[0], both[1], tagsOf(c.namespace), tags, objects, line})
	} else {
		err = to.remote.PushObjects(ctx, repo, both, objects)
	}
	if err != nil {
		return oplog.State{}, err
	}
	if err := r.mem.RememberRevoked(ctx, c.namespace, gone); err != nil {
		return oplog.State{}, err
	}
	if err := r.mem.NoteSkipped(ctx, c.namespace, &repo.Reader, s.Point(), done); err != nil {
		return oplog.State{}, err
	}
	return next, r.keepPrepared(ctx, repo, next, ready())
}

// beside prepares the memory of a log at p while the caller waits for a host. The result ends the
// work and returns it.
func (r *Registry) beside(namespace string, p oplog.Point) func() place.Ready {
	done := make(chan place.Ready, 1)
	go func() { done <- r.mem.Prepare(namespace, p) }()
	return sync.OnceValue(func() place.Ready { return <-done })
}

// lasting returns a sink that adds to a batch and packs commits small, because every reader of a
// log receives all of them.
func lasting(b *store.Batch) oplog.Sink {
	return func(t store.Type, data []byte) (store.OID, error) {
		if t != store.TypeCommit {
			return b.Add(t, data)
		}
		o, err := store.SHA1.PackKept(t, data)
		if err != nil {
			return store.OID{}, err
		}
		return o.ID(), b.AddPacked(o)
	}
}
