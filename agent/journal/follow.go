package journal

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// State is the state of a thread according to its journal and its lease.
type State string

// The states. StateEnded is permanent.
const (
	StateRunning     State = "running"     // a process holds the lease
	StateSuspended   State = "suspended"   // no process holds it, and the thread recorded why
	StateInterrupted State = "interrupted" // no process holds it, and no final record exists
	StateEnded       State = "ended"       // the journal has a final record
)

// FollowOptions of Follow. The zero value reads every critical record in the journal.
type FollowOptions struct {
	From int64 // the first sequence number; also leaves out earlier droppable records
	Live bool  // include droppable records
	Wait bool  // wait for more, until the thread ends or no process runs it
}

// Follow calls visit with the records of a thread in order, and with o.Wait also with new ones. A
// droppable record follows the critical one that it came after. Follow never shows half a record,
// needs no lease and changes nothing. Its records may not be on the disk yet. Follow ends after the
// final record; without one, it ends when no process holds the lease, or, without o.Wait, when it
// has read all records. The Ending says which. Damage is a *Damage, fault.Integrity. visit may keep
// the record; its error ends Follow. When ctx is done, Follow returns its cause.
//
// On Linux the system reports changes; elsewhere Follow looks every 20 ms.
func Follow(ctx context.Context, dir string, o FollowOptions, visit func(Record) error) (Ending, error) {
	root, err := openDir(dir)
	if err != nil {
		return Ending{}, err
	}
	defer root.Close()
	f := &follower{ctx: ctx, dir: dir, root: root, o: o, visit: visit, chain: Chain{Thread: filepath.Base(dir)}, live: liveLines{root: root}}
	defer f.close()
	if o.Wait {
		err = f.follow()
	} else if err = f.pump(); err == nil {
		err = f.judge()
	}
	return f.end, err
}

// Ending is the state of a thread when Follow ended.
type Ending struct {
	State State
	Final string // the type of the final record; "" without one
	Last  Chain  // after the last record
}

type follower struct {
	ctx   context.Context
	dir   string
	root  *os.Root
	o     FollowOptions
	visit func(Record) error

	file      *os.File // nil until there is a journal
	lines     lines
	chain     Chain
	given     int64 // the last critical record that was visited or left out
	suspended bool  // the last record that starts, resumes or suspends the thread suspends it

	live    liveLines
	pending *Record // droppable, and after a critical record that was not read yet
	stale   bool    // the journal was read to its end while pending waited
	dry     bool    // live.jsonl was read to its end after the last critical records
	end     Ending
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
	f.live.close()
}

// follow reads after each possible change, until the thread ends or no process runs it.
func (f *follower) follow() error {
	w := watch(f.dir) // before the first read, so that it misses no change
	defer w.stop()
	for {
		free, stop := f.untilFree()
		err := f.followRun(w, free)
		stop()
		if err != nil || f.end.State == StateEnded {
			return err
		}
		if err := f.judge(); err != nil || f.end.State != StateRunning {
			return err // otherwise it was resumed meanwhile
		}
	}
}

// followRun reads until the thread ends or its process releases the lease.
func (f *follower) followRun(w *changes, free <-chan error) error {
	for {
		if err := f.pump(); err != nil || f.end.State == StateEnded {
			return err
		}
		select {
		case <-w.C:
		case err := <-free:
			if err != nil {
				return err
			}
			return f.pump() // the records written before the release
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		}
	}
}

// untilFree waits for the lease. stop ends the wait and returns when it has ended.
func (f *follower) untilFree() (free <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(f.ctx)
	c, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		c <- Wait(ctx, f.dir)
	}()
	return c, func() { cancel(); <-done }
}

// judge determines the state of a thread without a final record.
func (f *follower) judge() error {
	f.end.Last = f.chain
	if f.end.State == StateEnded {
		return nil
	}
	alive, _, err := Alive(f.dir)
	switch {
	case alive:
		f.end.State = StateRunning
	case f.suspended:
		f.end.State = StateSuspended
	default:
		f.end.State = StateInterrupted
	}
	return err
}

const batch = 256 // critical records that are read before the droppable ones between them

// pump visits all records that exist now.
func (f *follower) pump() error {
	for {
		had := f.pending != nil
		records, all, err := f.critical()
		f.stale, f.dry = had && all, false
		if err != nil && len(records) == 0 {
			return err
		}
		// A droppable record is written before the critical one that follows it. So all droppable
		// records that belong before these exist by now.
		for _, r := range records {
			if err := f.between(r.Seq - 1); err != nil {
				return err
			}
			if err := f.give(r); err != nil {
				return err
			}
			if IsFinal(r.Type) {
				f.end = Ending{StateEnded, r.Type, f.chain}
				return nil
			}
		}
		if err != nil {
			return err
		}
		if err := f.between(f.chain.Seq); err != nil || len(records) == 0 {
			return err
		}
	}
}

// critical reads some records of the journal, and reports whether it reached the end.
func (f *follower) critical() (some []Record, all bool, err error) {
	if f.file == nil {
		file, err := openPlain(f.root, journalFile, os.O_RDONLY)
		if fault.Is(err, fault.NotFound) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		f.file, f.lines = file, lines{f: file, most: MaxLine}
	}
	size := 0
	for len(some) < batch && size < MaxLine {
		if f.ctx.Err() != nil {
			return nil, false, context.Cause(f.ctx)
		}
		begins := f.lines.at
		line, err := f.lines.next()
		if errors.Is(err, io.EOF) {
			return some, true, f.shrunk()
		}
		var r Record
		if err == nil {
			r, err = f.chain.Next(line)
		}
		if err != nil {
			return some, false, damaged(f.dir, f.file, f.chain, begins, err.Error())
		}
		some, size = append(some, r), size+len(line)
	}
	return some, false, nil
}

// shrunk refuses a journal that is shorter than the part already read.
func (f *follower) shrunk() error {
	st, err := f.file.Stat()
	if err != nil {
		return fault.New(fault.Failed, "read the journal in %s: %w", f.dir, err)
	}
	if st.Size() < f.lines.at {
		return damaged(f.dir, f.file, f.chain, f.lines.at, "records that this process read before are gone")
	}
	return nil
}

// between visits the droppable records that come after the critical records up to last.
func (f *follower) between(last int64) error {
	for f.o.Live && !f.dry {
		if f.pending == nil {
			r, err := f.live.next()
			if f.dry = errors.Is(err, io.EOF); f.dry {
				return nil
			}
			if err != nil {
				return err
			}
			f.pending, f.stale = &r, false
		}
		r := *f.pending
		if r.Seq > last {
			if f.stale && last == f.chain.Seq { // it comes after a record that is missing: damage
				f.pending = nil
				continue
			}
			return nil
		}
		f.pending = nil
		if err := f.give(r); err != nil {
			return err
		}
	}
	return nil
}

// give passes a record to visit.
func (f *follower) give(r Record) error {
	if err := f.ctx.Err(); err != nil {
		return context.Cause(f.ctx)
	}
	if r.Live && r.Seq < f.given {
		return nil // a damaged line in live.jsonl delayed it, and now it is too late
	}
	if !r.Live {
		f.given = r.Seq
		switch r.Type {
		case Suspended:
			f.suspended = true
		case "thread_started", "thread_resumed":
			f.suspended = false
		}
	}
	if r.Seq < f.o.From {
		return nil
	}
	return f.visit(r)
}
