package thread

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/journal"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/agent/loop"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects/trust/token"
)

// thread is what all parts of a process share: what the thread is, and what it did.
type thread struct {
	o      *Options
	d      *Description
	dir    string
	caller rye.Caller  // what the thread's token says
	grant  token.Grant // that token, to be narrowed for tools
	key    ed25519.PrivateKey
	pins   rye.Pins

	lease  *journal.Lease
	epoch  int64 // of this process: younger than that of any before
	accept bool  // a person accepts, now, that something is unknown
	j      *journal.Journal
	limit  rye.ThreadLimits // as raised
	black  *blackener
	copy   *copies

	mu    sync.Mutex // guards h, and the order of records
	h     *history
	began time.Time // the stretch of running time that no record has yet
}

// process runs one thread: it is what the process that holds the lease does. Each of its
// parts does one thing, and all of them write into one journal.
type process struct {
	*thread
	*purse   // holds and pays
	*asker   // asks models
	*hands   // carries out calls
	*scribe  // puts turns on the branch
	*mailbox // hears what others say

	made  *Prepared
	prog  *loop.Program
	hooks []hook
	mark  *os.File // see openMark
}

// newProcess returns the process of the thread in dir, before it has anything.
func newProcess(made *Prepared, dir string) *process {
	t := &thread{o: &made.o, dir: dir, began: made.o.Now()}
	money := &purse{thread: t}
	return &process{thread: t, made: made, purse: money, asker: &asker{thread: t, purse: money}, hands: &hands{t}, scribe: &scribe{t}, mailbox: &mailbox{thread: t, purse: money}}
}

// stop is how the law ends a turn: the loop cannot catch it.
type stop struct {
	reason   string // suspended: limit, approval, auth, network, disk, damage …
	detail   string
	question string
	cancel   bool // the thread is cancelled, and not suspended

	used, most int64 // of a limit
}

func (s *stop) Error() string { return s.reason + ": " + s.detail }

// append writes a record and takes it into the history.
func (p *thread) append(typ string, payload map[string]any, sync bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.appendLocked(typ, payload, sync)
}

func (p *thread) appendLocked(typ string, payload map[string]any, sync bool) error {
	raw, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	testOnlyStep("before " + typ)
	r, err := p.j.Append(journal.Record{Time: p.now(), Turn: p.h.turn, Type: typ, Data: raw}, sync)
	if fault.Is(err, fault.Malformed) { // ours: it is said, where it can be
		return err
	}
	if err != nil {
		return &stop{reason: "disk", detail: err.Error()}
	}
	testOnlyStep("after " + typ)
	if err := p.h.add(r); err != nil {
		return err
	}
	p.copied(r)
	return nil
}

// copied copies a record for people. That it cannot be is said once, and in the journal.
func (p *thread) copied(r journal.Record) {
	if p.copy == nil {
		return
	}
	was := p.copy.failed
	p.copy.record(p.h, r)
	if err := p.copy.failed; err != nil && was == nil {
		_ = p.appendLocked("warning", map[string]any{"text": "the copy in .ai/threads cannot be written: " + err.Error(), "code": "copy"}, false)
	}
}

// testOnlyStep is told of each point at which a process may die.
var testOnlyStep = func(string) {}

// live writes a droppable record.
func (p *thread) live(typ string, payload map[string]any) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return
	}
	p.mu.Lock()
	r := journal.Record{Time: p.now(), Turn: p.h.turn, Type: typ, Data: raw}
	p.mu.Unlock()
	p.j.Live(r)
}

// now never goes back within a thread: what follows is later.
func (p *thread) now() time.Time {
	t := p.o.Now().UTC()
	if last := p.h.last.Time; t.Before(last) {
		return last
	}
	return t
}

// running is how long processes ran this thread, without the time in which it waited or none
// did: what the last record has of it, and the stretch since.
func (p *thread) running() time.Duration { return p.h.running + p.o.Now().Sub(p.began) }

// lap returns the running time for a record, and begins the next stretch with it.
func (p *thread) lap() (ms int64) {
	now := p.o.Now()
	ms = (p.h.running + now.Sub(p.began)).Milliseconds()
	p.began = now
	return ms
}

// Run runs a thread in this process until it ends, waits for a person too long, or is
// stopped. handed is what Spawn was given; ready is called when the lease is held.
func (made *Prepared) Run(ctx context.Context, handed []byte, ready func() error) error {
	hand, err := parseHanded(handed)
	if err != nil {
		return err
	}
	p := newProcess(made, hand.Dir)
	if err := p.open(ctx, hand); err != nil {
		return err
	}
	defer p.close()
	if err := ready(); err != nil {
		return err
	}
	p.copy = openCopies(p.o.Live, p.d.ID, p.h.last.Seq == 0)
	defer p.copy.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.stopped = cancel
	return p.work(ctx)
}

// open takes over the thread, and makes ready what its turns need.
func (p *process) open(ctx context.Context, hand Handed) (err error) {
	if err := p.takeOver(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.caller, err = callerOf(hand, p.d, p.o.Now()); err != nil {
		return err
	}
	if p.grant, err = grantOf(hand); err != nil {
		return err
	}
	// None of these needs the others, and a long journal takes longest.
	var g errgroup.Group
	var loopPart *part
	g.Go(func() error { return p.openJournal(ctx, hand.Accept) })
	g.Go(func() error { return p.openBook(ctx, p.made) })
	g.Go(func() (err error) { loopPart, err = p.openParts(ctx, hand); return err })
	if err = g.Wait(); err != nil {
		return err
	}
	if err = p.compareLedger(ctx); err != nil {
		return err
	}
	return p.pinnedLoop(loopPart, hand.Loop)
}

// takeOver takes the lease, and with it what only its holder may touch: the key and, by
// openJournal, the journal.
func (p *thread) takeOver(ctx context.Context) (err error) {
	if p.lease, err = journal.Take(p.dir, p.o.Now()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.lease.Release()
		}
	}()
	if p.d, err = readDescription(ctx, p.o.Record, p.dir); err != nil {
		return err
	}
	p.limit = p.d.Limits
	if p.key, err = readKey(p.dir, p.d); err != nil {
		return err
	}
	p.pins, err = readPins(p.dir, p.d)
	return err
}

// openJournal reads what the thread did, or begins its journal.
func (p *scribe) openJournal(ctx context.Context, accept bool) (err error) {
	p.h = newHistory(p.dir)
	if b, err := p.o.Record.Branch(ctx, recorder, p.d.ID); err == nil {
		p.h.branched = b.Turns - 1 // the last is compared with the branch
	} // else all turns are put there, and what is there already is passed over
	p.j, err = p.lease.Open(ctx, journal.Options{Visit: p.h.add, Now: p.o.Now, Accept: accept})
	if fault.Is(err, fault.NotFound) {
		p.j, err = p.lease.Create()
	}
	if err != nil {
		return err
	}
	// A lease that was lost counts from 1 again, and the ledger refuses what is older.
	p.accept = accept
	p.epoch = max(p.lease.Epoch(), p.h.epoch+1)
	return p.compareBranch(ctx)
}

// openBook opens the ledger, and makes the nodes that the thread spends under.
func (p *purse) openBook(ctx context.Context, made *Prepared) (err error) {
	if p.book, err = made.ledger(ctx); err != nil {
		return err
	}
	return p.book.Put(ctx, p.nodes()...)
}

// nodeOf is the project's node in the ledger: the key of its record, in which dir lies.
func nodeOf(dir string) string { return filepath.Base(filepath.Dir(filepath.Dir(dir))) }

// none is no cap.
var none = ledger.Amount{Money: ledger.None, Tokens: ledger.None}

// nodes are those above the thread, and its own.
func (p *purse) nodes() []ledger.Node {
	month := p.o.User + "/" + ledger.MonthOf(p.d.started())
	project := month + "/" + nodeOf(p.dir)
	parent := project
	if p.d.Parent != "" {
		parent = p.d.Parent
	}
	return []ledger.Node{
		{ID: p.o.User, Kind: ledger.User, Cap: none},
		{ID: month, Parent: p.o.User, Kind: ledger.Month, Cap: none},
		{ID: project, Parent: month, Kind: ledger.Project, Cap: none},
		{ID: p.d.ID, Parent: parent, Kind: ledger.Thread, Cap: ledger.Amount{Money: p.d.Limits.Spend, Tokens: p.d.Limits.Tokens}},
	}
}

func (p *process) close() {
	if p.mark != nil {
		p.mark.Close()
	}
	if p.book != nil {
		p.book.Close()
	}
	if p.j != nil {
		p.j.Close()
	}
	if p.lease != nil {
		p.lease.Release()
	}
}

// work is the life of the process: what an earlier one left, then turns, then the end.
func (p *process) work(ctx context.Context) error {
	if p.h.final != nil { // what is left to do after the end
		return p.seal(ctx)
	}
	if err := p.recover(ctx); err != nil {
		return p.halt(ctx, err)
	}
	watching, done := context.WithCancel(ctx)
	defer done()
	go p.watch(watching)
	for {
		// What the last turn wanted is done first, also by a process that finds it undone.
		switch p.h.next.Kind {
		case loop.Done, loop.Fail:
			return p.finish(ctx, p.h.next)
		}
		if err := p.goOn(ctx); err != nil {
			return p.halt(ctx, err)
		}
	}
}

// goOn waits, where the last turn wanted that, and runs the next one.
func (p *process) goOn(ctx context.Context) error {
	if p.h.next.Kind == loop.Wait {
		if err := p.within(); err != nil {
			return err
		}
		if err := p.wait(ctx); err != nil || p.h.next.Kind != loop.Wait {
			return err
		}
	}
	if err := p.commitSome(ctx); err != nil {
		return err
	}
	return p.turn(ctx)
}

// turn runs one turn of the loop, or the rest of one that was interrupted.
func (p *process) turn(ctx context.Context) error {
	if p.h.turn == 0 {
		return p.begin(ctx)
	}
	if err := p.inbox(ctx); err != nil {
		return err
	}
	if err := p.within(); err != nil {
		return err
	}
	left := time.Duration(p.limit.Duration)*time.Second - p.running()
	ctx, cancel := context.WithTimeoutCause(ctx, left, usedUp("duration_seconds", p.limit.Duration))
	defer cancel()
	recorded, err := p.h.calls()
	if err != nil {
		return err
	}
	host := &host{p: p, next: len(recorded), failed: failedBefore(recorded)}
	next, err := p.prog.Turn(ctx, host, p.h.state, recorded, host.record, p.bounds())
	if err != nil {
		return cause(ctx, err)
	}
	if missing := p.missing(); next.Kind == loop.Done && len(missing) > 0 {
		next.Kind, next.Detail = loop.Fail, withoutOutputs(missing).Detail
	}
	return p.endTurn(next)
}

// withoutOutputs is the end of a thread that does not have what it was to return.
func withoutOutputs(missing []string) loop.Next {
	return failing("missing_outputs", "the loop ended without the outputs "+strings.Join(missing, ", "))
}

// endTurn records how a turn ended: all that is needed to go on from there.
func (p *process) endTurn(next loop.Next) error {
	return p.append("turn_done", map[string]any{"next": next.Kind, "state": next.State,
		"detail": turnDetail{p.lap(), next.Detail}}, false)
}

// turnDetail is the detail of turn_done.
type turnDetail struct {
	RunningMS int64          `json:"running_ms"` // of all processes of the thread
	Next      map[string]any `json:"next,omitempty"`
}

// cause is why ctx ended, when that is what err says.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return context.Cause(ctx)
	}
	return err
}

// begin is turn 0: the directive becomes the first message, and the loop its first state.
func (p *process) begin(ctx context.Context) error {
	if len(p.h.said) == 0 {
		raw, err := os.ReadFile(filepath.Join(p.dir, instructionsFile))
		if err != nil {
			return err
		}
		if err := p.append("cognition_in", map[string]any{"text": p.black.text(firstMessage(p.d, string(raw))), "role": "user", "source": "directive"}, false); err != nil {
			return err
		}
	}
	state, err := p.prog.Init(ctx, map[string]any{"thread": p.d.ID, "directive": p.d.Directive, "tools": len(offered(p.d)) > 0,
		"outputs": p.d.required(), "limits": p.d.Limits, "config": p.d.LoopConfig}, p.bounds())
	if err != nil {
		return err
	}
	return p.endTurn(loop.Next{Kind: loop.Continue, State: state})
}

// within refuses a turn beyond the limits that are counted in turns and time. Where a
// person is asked whether to go on, a yes allows the next turn; answers of a model are counted apart.
func (p *process) within() error {
	asked := p.h.whether && (p.h.heard || p.h.question != "")
	if int64(p.h.turn) > p.limit.Turns && !asked {
		return usedUp("turns", p.limit.Turns)
	}
	if p.running() >= time.Duration(p.limit.Duration)*time.Second {
		return usedUp("duration_seconds", p.limit.Duration)
	}
	if p.h.cancel != "" {
		return &stop{cancel: true, reason: "cancelled", detail: p.h.cancel}
	}
	return nil
}

// chance is for the jitter of waits.
func chance() float64 { return rand.Float64() }
