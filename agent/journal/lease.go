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
	slotSize   = 512 // bytes of each of two slots; a disk writes so many at once or not at all
	leaseStamp = time.RFC3339
	readersMay = 2 * time.Second // keep the lock from Take; each reader needs microseconds
)

// Holder is the process that holds a lease, or the last that did. It is for messages and signals:
// only the lock decides which process runs a thread.
type Holder struct {
	Epoch   int64  // how many times the lease was taken; never repeats
	PID     int    // as the holder sees itself
	Started uint64 // of the process, in ticks since the system started; 0 when unknown
	Boot    string // boot id of the system; "" when unknown
	Taken   time.Time
}

// Held is the error of Take when another process holds the lease, fault.Conflict.
type Held struct {
	Dir    string
	Holder Holder // zero when the holder has not written it yet
}

func (h *Held) Error() string {
	if h.Holder.PID == 0 {
		return fmt.Sprintf("the thread in %s is being started by another process", h.Dir)
	}
	return fmt.Sprintf("the thread in %s is run by process %d, since %s", h.Dir, h.Holder.PID, h.Holder.Taken.Format(leaseStamp))
}

// Lease is the right to run a thread. It lasts until Release or until the process dies in any way;
// children do not inherit it. It does not change, and is safe for concurrent use.
type Lease struct {
	dir    string
	thread string
	file   *os.File
	holder Holder
}

// Take takes the lease of the thread in dir, which Make made, for this process. It does not wait:
// when this or another process holds the lease, the error is a *Held, fault.Conflict. The epoch is
// higher than every earlier one, and on the disk when Take returns. now is the current time.
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

// take locks the file. Alive locks it shared for a moment, so take retries while only readers lock
// it.
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

// sign writes the holder into the older slot, so that the newer one survives a crash. When both are
// damaged, the epoch continues from the time in milliseconds, which exceeds any count.
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

// Epoch is the number of times that the lease was taken, including this one. Earlier holders had
// smaller epochs.
func (l *Lease) Epoch() int64 { return l.holder.Epoch }

// Holder is this process.
func (l *Lease) Holder() Holder { return l.holder }

// Thread is the id of the thread.
func (l *Lease) Thread() string { return l.thread }

// Dir is the thread's directory.
func (l *Lease) Dir() string { return l.dir }

// Release releases the lease. Releasing it again is an error.
func (l *Lease) Release() error { return l.file.Close() }

// Alive reports whether a process holds the lease of the thread in dir, and returns the current or
// last holder. It does not prevent another process from taking the lease. The Holder is zero when
// the lease was never taken.
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
	h, _ := lastHolder(f) // Take reports damage
	return !free, h, nil
}

// Wait blocks until no process holds the lease of the thread in dir. On Linux the system wakes it;
// elsewhere it looks every 20 ms. When ctx is done, it returns the cause and leaves nothing
// running.
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

// slot returns one line, padded with spaces.
func (h Holder) slot() []byte {
	b := fmt.Appendf(nil, `{"epoch":%d,"pid":%d,"started":%d,"boot_id":`, h.Epoch, h.PID, h.Started)
	b = quote(b, h.Boot)
	b = fmt.Appendf(b, `,"taken":"%s"`, h.Taken.UTC().Format(leaseStamp))
	sum := sha256.Sum256(b)
	b = append(append(hex.AppendEncode(append(b, sumHead...), sum[:]), `"}`...), '\n')
	return append(bytes.Repeat([]byte{' '}, slotSize-len(b)), b...)
}

// parseSlot reads the output of slot, and refuses anything else.
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

// lastHolder reads the newer slot. An empty file, which was never locked by Take before, gives the
// zero Holder. An error means that neither slot is valid.
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
