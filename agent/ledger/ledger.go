// Package ledger keeps the budgets and the spending of threads. It is one SQLite file per
// user, shared by every process of the user, with no process of its own.
//
// Nodes form a tree: user, month, project, thread, threads of threads. Before a call of a model,
// its highest possible cost is held under a key; the hold must fit the thread and every node above
// it. Afterwards the key is settled with the cost of the call, or released. Held and spent amounts
// count at every node above, in one transaction, so that money is never missing or counted twice.
//
//	err := l.Hold(ctx, thread, thread+"/7/1", ledger.Amount{Money: 250_000, Tokens: 9_000}, epoch)
//	…the call…
//	over, err := l.Settle(ctx, thread+"/7/1", ledger.Bill{Amount: ledger.Amount{Money: 31_337, Tokens: 4_212}})
//
// Nothing is clamped. A bill above the hold is recorded as overdrawn on all nodes up to the user; a
// call with an unknown cost is uncertain, and counts as spent.
//
// docs/format/ledger.md describes the file, and has SQL queries for users.
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

// Amount is money and tokens; each is limited separately. In a cap, a member that is None has no
// limit.
type Amount struct {
	Money  rye.Micros `json:"money"` // millionths of a US dollar
	Tokens int64      `json:"tokens"`
}

const (
	// None, as a member of a cap, is no limit.
	None = -1
	// Most is the largest member of an Amount: a billion dollars, or 1e15 tokens.
	Most = 1e15
)

// Kinds of nodes. A user has no parent. The parent of a month is a user, of a project a month, and
// of a thread a project or another thread.
const (
	User    = "user"
	Month   = "month"
	Project = "project"
	Thread  = "thread"
)

// Node is a user, month, project or thread with a budget. Its sums include all nodes below it.
type Node struct {
	ID     string // 1 to 200 bytes without control characters, unique in the ledger
	Parent string // "" for a user
	Kind   string
	Cap    Amount // None: no limit
	Epoch  int64  // the highest seen; holds of lower epochs are refused
	Closed bool   // takes no new holds and no new nodes below it

	Spent     Amount // settled and uncertain
	Uncertain Amount // of Spent: whole holds of calls with an unknown cost
	Held      Amount // of calls that are not settled yet
	Over      Amount // of Spent: the part of bills above their holds
	Overdrawn bool   // Over is not zero
}

// MonthOf names the month of a time, in UTC: "2026-11".
func MonthOf(t time.Time) string { return t.UTC().Format("2006-01") }

// Exceeded says which node had no room for a hold. Errors with the code fault.Limit have it in
// their chain.
type Exceeded struct {
	Node string // the node without room that is nearest to the thread
	Kind string
	What string // money or tokens

	// In millionths of a dollar, or in tokens.
	Cap, Spent, Held, Asked int64
}

// Error names the amount asked for, and the limit, spent and held amounts of the node.
func (e *Exceeded) Error() string {
	show := func(n int64) string { return fmt.Sprintf("%d tokens", n) }
	if e.What == "money" {
		show = func(n int64) string { return rye.Micros(n).String() }
	}
	return fmt.Sprintf("%s %s: %s asked for; limit %s, spent %s, held %s", e.Kind, e.Node, show(e.Asked), show(e.Cap), show(e.Spent), show(e.Held))
}

// Options of a ledger.
type Options struct {
	// Boot identifies the current start of the machine; "" where the system has no such id. See
	// Doubt.
	Boot string
	// Existing refuses, with fault.NotFound, to make a ledger when there is none.
	Existing bool
	// Now is the clock for holds, and for bills without a time; nil means time.Now.
	Now func() time.Time
}

// Doubt is a reason why the ledger may lack spending.
type Doubt string

const (
	Sure Doubt = ""
	// New: the file was just made. An older file may have had the spending of threads that have
	// ended.
	New Doubt = "new"
	// Rebooted: the machine was started after the file was last verified. A power cut may have lost
	// the last holds. It loses no bills, unless the disk reported a sync that it did not make.
	Rebooted Doubt = "rebooted"
)

// Ledger is the open file. It is safe for concurrent use, also by other processes. Close it before
// the program ends, so that the next process finds the log copied into the file. A process that is
// killed loses nothing.
type Ledger struct {
	path string
	o    Options

	turn  chan struct{} // of this process's writers; holds the right to use queue and writer
	queue *queue        // of all processes' writers

	mu    sync.Mutex // guards disk
	disk  *disk      // nil when closed
	doubt Doubt
}

// Open opens the ledger at path, and makes it with mode 0600 when there is none. It makes the
// directory with mode 0700. An existing directory must have that mode, belong to the user, and be
// no link (fault.Auth). Open refuses a file of a newer version (fault.Stale) and a damaged one
// (fault.Integrity), and changes neither. Rebuild repairs a damaged file.
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

// prepare checks the place of a ledger, and opens only its queue.
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

// Doubt is a reason to compare the ledger with the journals, by Rebuild, before its sums are
// trusted; Sure without such a reason. It is determined when the ledger is opened. The next process
// that opens the ledger gets the same reason, until Verified is called.
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

// Verified records that the ledger was compared with the journals after the last start of the
// machine.
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

// Close closes the ledger after the running change. Closing it again does nothing.
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
