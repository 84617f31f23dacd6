package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/rye-os/rye/fault"
)

const (
	leaseFile  = "lease"
	slotSize   = 512 // bytes of each of two; a disk writes so much at once or not at all
	leaseStamp = time.RFC3339
	readersMay = 2 * time.Second // hold up who takes a lease; each needs microseconds
)

// Holder is the process that holds a lease, or the last that did. It is for people and for
// signals: only the lock says who runs a thread.
type Holder struct {
	Epoch   int64  // how often the lease was taken; never the same twice
	PID     int    // as the holder sees itself
	Started uint64 // of the process, in ticks since the system started; 0 where nobody says
	Boot    string // of the system; "" where nobody says
	Taken   time.Time
}

// Held is the error of Take where another process holds the lease, fault.Conflict.
type Held struct {
	Dir    string
	Holder Holder // zero where the holder has not written it yet
}

func (h *Held) Error() string {
	if h.Holder.PID == 0 {
		return fmt.Sprintf("the thread in %s is being started by another process", h.Dir)
	}
	return fmt.Sprintf("the thread in %s is run by process %d, since %s", h.Dir, h.Holder.PID, h.Holder.Taken.Format(leaseStamp))
}

// Lease is the right to run a thread. It lasts until Release or the death of the process,
// however it dies; children do not inherit it. It does not change, and is safe for concurrent
// use.
type Lease struct {
	dir    string
	thread string
	file   *os.File
	holder Holder
}

// Take takes the lease of the thread in dir, which Make made, for this process. It does not
// wait: where another process has it, or this one, the error is a *Held, fault.Conflict. The
// epoch is one more than ever before, and on the disk when Take returns. now is the time.
func Take(dir string, now time.Time) (*Lease, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openPlain(root, leaseFile, os.O_RDWR)
	made := fault.Is(err, fault.NotFound)
	if made {
		if f, err = root.OpenFile(leaseFile, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			err = fault.New(fault.Failed, "make the lease in %s: %w", dir, err)
		}
	}
	if err != nil {
		return nil, err
	}
	l := &Lease{dir: dir, thread: filepath.Base(dir), file: f}
	if err := l.take(now); err != nil {
		f.Close()
		return nil, err
	}
	if made {
		if err := syncRoot(root); err != nil {
			f.Close()
			return nil, err
		}
	}
	return l, nil
}

// take locks the file. Who only asks whether it is free locks it shared, for a moment.
func (l *Lease) take(now time.Time) error {
	for waited := time.Duration(0); ; {
		ok, err := tryLock(l.file, true)
		if ok {
			return l.sign(now)
		}
		if err != nil {
			return fault.New(fault.Failed, "lock the lease in %s: %w", l.dir, err)
		}
		if ok, err = tryLock(l.file, false); err != nil {
			return fault.New(fault.Failed, "lock the lease in %s: %w", l.dir, err)
		}
		if !ok || waited > readersMay {
			h, _ := lastHolder(l.file)
			return fault.New(fault.Conflict, "%w", &Held{l.dir, h})
		}
		unlock(l.file)
		pause := time.Duration(rand.Int64N(int64(time.Millisecond)))
		waited += pause
		time.Sleep(pause)
	}
}

// sign writes who holds the lease into the slot that is not the newest: whatever happens
// meanwhile, the other one stays. Where both are damaged the epoch goes on from the time, which
// is more than any count.
func (l *Lease) sign(now time.Time) error {
	was, err := lastHolder(l.file)
	if err != nil {
		was.Epoch = max(1, now.UnixMilli())
	}
	pid, started, boot := self()
	l.holder = Holder{was.Epoch + 1, pid, started, boot, now.UTC().Truncate(time.Second)}
	if _, err := l.file.WriteAt(l.holder.slot(), l.holder.Epoch%2*slotSize); err != nil {
		return fault.New(fault.Failed, "write the lease in %s: %w", l.dir, err)
	}
	if err := datasync(l.file); err != nil {
		return fault.New(fault.Failed, "sync the lease in %s: %w", l.dir, err)
	}
	return nil
}

// Epoch is how often the lease was taken, this time included: what an earlier holder left
// behind has a smaller one.
func (l *Lease) Epoch() int64 { return l.holder.Epoch }

// Holder is this process.
func (l *Lease) Holder() Holder { return l.holder }

// Thread is the id of the thread.
func (l *Lease) Thread() string { return l.thread }

// Dir is the thread's directory.
func (l *Lease) Dir() string { return l.dir }

// Release gives the lease back. A second time it is an error.
func (l *Lease) Release() error { return l.file.Close() }

// Alive reports whether a process holds the lease of the thread in dir, and who, or who did
// last. It takes nothing away from anybody who takes it meanwhile. Where nobody ever took it
// the Holder is zero.
func Alive(dir string) (bool, Holder, error) {
	root, err := openDir(dir)
	if err != nil {
		return false, Holder{}, err
	}
	defer root.Close()
	f, err := openPlain(root, leaseFile, os.O_RDONLY)
	if fault.Is(err, fault.NotFound) {
		return false, Holder{}, nil
	}
	if err != nil {
		return false, Holder{}, err
	}
	defer f.Close()
	free, err := tryLock(f, false)
	if err != nil {
		return false, Holder{}, fault.New(fault.Failed, "look at the lease in %s: %w", dir, err)
	}
	if free {
		unlock(f)
	}
	h, _ := lastHolder(f) // damage is for who takes it
	return !free, h, nil
}

// Wait blocks until nobody holds the lease of the thread in dir, at once where nobody does. On
// Linux the system wakes it; elsewhere it looks every 20 ms. When ctx is done its cause is
// returned, and nothing is left behind.
func Wait(ctx context.Context, dir string) error {
	root, err := openDir(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := openPlain(root, leaseFile, os.O_RDONLY)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := waitLock(ctx, f); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fault.New(fault.Failed, "wait for the thread in %s: %w", dir, err)
	}
	return nil
}

// slot is one line, filled up with spaces.
func (h Holder) slot() []byte {
	b := fmt.Appendf(nil, `{"epoch":%d,"pid":%d,"started":%d,"boot_id":`, h.Epoch, h.PID, h.Started)
	b = quote(b, h.Boot)
	b = fmt.Appendf(b, `,"taken":"%s"`, h.Taken.UTC().Format(leaseStamp))
	sum := sha256.Sum256(b)
	b = append(append(hex.AppendEncode(append(b, sumHead...), sum[:]), `"}`...), '\n')
	return append(bytes.Repeat([]byte{' '}, slotSize-len(b)), b...)
}

// parseSlot reads what slot wrote, and nothing else.
func parseSlot(b []byte) (h Holder, err error) {
	var j struct {
		Epoch   int64  `json:"epoch"`
		PID     int    `json:"pid"`
		Started uint64 `json:"started"`
		Boot    string `json:"boot_id"`
		Taken   string `json:"taken"`
		Sum     string `json:"sum"`
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return h, malformed("lease: %w", err)
	}
	if h.Taken, err = time.Parse(leaseStamp, j.Taken); err != nil {
		return h, malformed("lease: %w", err)
	}
	h.Epoch, h.PID, h.Started, h.Boot = j.Epoch, j.PID, j.Started, j.Boot
	if h.Epoch < 1 || len(h.Boot) > 64 || !bytes.Equal(h.slot(), b) {
		return h, malformed("lease: not in canonical form")
	}
	return h, nil
}

// lastHolder reads the newer slot. A file that is empty, as before it was taken first, has the
// zero Holder; an error means that neither slot can be read.
func lastHolder(f *os.File) (h Holder, err error) {
	raw := make([]byte, 2*slotSize)
	n, err := f.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if n == 0 {
		return Holder{}, nil
	}
	err = malformed("lease: no slot can be read")
	for at := 0; at+slotSize <= n; at += slotSize {
		if s, serr := parseSlot(raw[at : at+slotSize]); serr == nil && s.Epoch > h.Epoch && s.Epoch%2 == int64(at/slotSize) {
			h, err = s, nil
		}
	}
	return h, err
}
