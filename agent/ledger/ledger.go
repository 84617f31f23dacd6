// Package ledger keeps the budgets and the spending of threads. It is one SQLite file per
// user, shared by every process of the user, with no process of its own.
//
// Nodes form a tree: user, month, project, thread, threads of threads. Before a call of a
// model its worst case is held under a key; the hold must fit the thread and every node
// above it. Afterwards the key is settled with the cost of the call, or released. Held and
// spent amounts count at every node above, in one transaction, so that no moment shows
// money that is nowhere or twice.
//
//	err := l.Hold(ctx, thread, thread+"/7/1", ledger.Amount{Money: 250_000, Tokens: 9_000}, epoch)
//	…the call…
//	over, err := l.Settle(ctx, thread+"/7/1", ledger.Bill{Amount: ledger.Amount{Money: 31_337, Tokens: 4_212}})
//
// Nothing is clamped. A bill above the hold is recorded as overdrawn, up to the user; a
// call with an unknown cost is uncertain, and counts as spent.
//
// docs/format/ledger.md describes the file, and has the SQL that a person can ask it with.
package ledger

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Amount is money and tokens; the two are limited apart from one another. As a cap, a member
// that is None has no limit.
type Amount struct {
	Money  rye.Micros `json:"money"` // millionths of a US dollar
	Tokens int64      `json:"tokens"`
}

const (
	// None, as a member of a cap, is no limit.
	None = -1
	// Most is the largest member of an Amount: a thousand million dollars.
	Most = 1e15
)

// Kinds of nodes. A user has no parent, a month hangs on a user, a project on a month, a
// thread on a project or a thread.
const (
	User    = "user"
	Month   = "month"
	Project = "project"
	Thread  = "thread"
)

// Node is something that can spend, or for which is spent. Sums are of the node and all below it.
type Node struct {
	ID     string // 1 to 200 bytes without control characters, unlike every other of the user
	Parent string // "" of a user
	Kind   string
	Cap    Amount // None: no limit
	Epoch  int64  // the youngest that was told; holds of older ones are refused
	Closed bool   // takes no new holds and no new nodes below it

	Spent     Amount // settled and uncertain
	Uncertain Amount // of Spent: whole holds of calls whose cost nobody knows
	Held      Amount // of calls that are not settled
	Over      Amount // of Spent: what was billed beyond what was held
	Overdrawn bool   // Over is not zero
}

// MonthOf names the month of a time, in UTC: "2026-11".
func MonthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// Exceeded says which node had no room for a hold. It is in the chain of an error with the
// code fault.Limit.
type Exceeded struct {
	Node string // the nearest to the thread that had no room
	Kind string
	What string // money or tokens

	// In millionths of a dollar, or in tokens.
	Cap, Spent, Held, Asked int64
}

// Error says what was asked, and what there was.
func (e *Exceeded) Error() string {
	show := func(n int64) string { return fmt.Sprintf("%d tokens", n) }
	if e.What == "money" {
		show = func(n int64) string { return rye.Micros(n).String() }
	}
	return fmt.Sprintf("%s %s: %s asked for; limit %s, spent %s, held %s", e.Kind, e.Node, show(e.Asked), show(e.Cap), show(e.Spent), show(e.Held))
}

// Options of a ledger.
type Options struct {
	// Boot identifies the start of the machine since which it runs; "" where the system has
	// no such id. See Doubt.
	Boot string
	// Existing refuses to make a ledger that is not there, with fault.NotFound.
	Existing bool
	// Now is the clock for holds, and for bills that have no time; nil is time.Now.
	Now func() time.Time
}

// Doubt is why the ledger may not know what was spent.
type Doubt string

const (
	Sure Doubt = ""
	// New: the file was just made. Threads that ended may have spent in an older one.
	New Doubt = "new"
	// Rebooted: the machine was started since the file was last verified. The last holds
	// before a power cut may be lost; bills are not, unless the disk lied.
	Rebooted Doubt = "rebooted"
)

// Ledger is the open file. It is safe for concurrent use, by this and by other processes.
// Close it before the program ends, so that the next one finds the file tidy; a process that
// is killed loses nothing.
type Ledger struct {
	path string
	o    Options

	turn  chan struct{} // of this process's writers; holds the right to use queue and writer
	queue *queue        // of all processes' writers

	mu    sync.Mutex // guards disk
	disk  *disk      // nil when closed
	doubt Doubt
}

// Open opens the ledger at path, and makes it, 0600, when there is none. Its directory is
// made, 0700; one that is there must be like that, belong to the user, and be no link
// (fault.Auth). A file of a newer version is refused (fault.Stale) and left as it is; one
// that is damaged, too (fault.Integrity): Rebuild mends it.
func Open(ctx context.Context, path string, o Options) (*Ledger, error) {
	l, err := prepare(path, o)
	if err != nil {
		return nil, err
	}
	if l.disk, err = openDisk(ctx, path); err == errBlank {
		err = l.make(ctx)
	}
	if err == nil {
		err = l.read(ctx, func(r reader) error { l.doubt, err = doubtOf(r, o.Boot); return err })
	}
	if err != nil {
		l.Close()
		return nil, fault.Wrap(err, "open the ledger %s", path)
	}
	return l, nil
}

// prepare checks the place of a ledger, and opens nothing but its queue.
func prepare(path string, o Options) (*Ledger, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := os.Lstat(path); o.Existing && os.IsNotExist(err) {
		return nil, fault.New(fault.NotFound, "open the ledger %s: it does not exist, because nothing was spent yet", path)
	}
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	q, err := openQueue(path + ".lock")
	if err != nil {
		return nil, err
	}
	return &Ledger{path: path, o: o, turn: make(chan struct{}, 1), queue: q}, nil
}

// Doubt is why what the ledger says should be compared with the journals, by Rebuild, before
// it is believed; Sure when nothing speaks against it. It says what was so when the ledger
// was opened, and stays so for whoever opens it next until Verified is called.
func (l *Ledger) Doubt() Doubt { return l.doubt }

func doubtOf(r reader, now string) (Doubt, error) {
	var boot string
	err := r.row(`SELECT boot FROM meta`, nil, &boot)
	switch {
	case err != nil:
		return Sure, err
	case boot == neverVerified:
		return New, nil
	case boot != now:
		return Rebooted, nil
	}
	return Sure, nil
}

// neverVerified is the boot id of a new file. No system has it.
const neverVerified = "-"

// Verified records that what the ledger says was compared with the journals since the machine
// was started.
func (l *Ledger) Verified(ctx context.Context) error {
	err := l.change(ctx, durable, func(t *tx) error {
		_, err := t.exec(`UPDATE meta SET boot = ?1`, l.o.Boot)
		return err
	})
	if err != nil {
		return fault.Wrap(err, "verify the ledger")
	}
	l.doubt = Sure
	return nil
}

// Close gives back what the ledger holds. What is under way ends first. Closing twice is one.
func (l *Ledger) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	d := l.disk
	l.disk = nil
	l.mu.Unlock()
	l.queue.close()
	if d == nil {
		return nil
	}
	return d.close()
}
