// Package journal keeps what a thread did, durable and in order: its records, the lease
// that names their writer, and the inbox by which others reach it.
// docs/format/transcript.md is normative.
//
// The directory of a thread is named by the thread's id and is accessible to its user only:
//
//	journal.jsonl       critical records, each bound to the one before it by SHA-256
//	journal.bad-<n>     bytes that were cut off its end
//	live.jsonl          droppable records: parts of a text as they come
//	lease               locked by the process that runs the thread, for as long as it lives
//	inbox/<ulid>.json   messages that wait
//	artifacts/<sha256>  values that are too large for a record
//
// A record is one line, written at once (broken here for the page):
//
//	{"seq":12,"timestamp":"2026-11-22T10:00:00.123456Z","thread_id":"01kdyak348041061050r3gg28a",
//	"turn":3,"event_type":"warning","payload":{"text":"…"},"sum":"<64 hex digits>"}
//
// Only the holder of the lease opens a journal for writing: Open takes the Lease. Read and
// Follow take none, and change nothing.
package journal

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// Bounds of a journal.
const (
	MaxLine    = 1 << 20  // bytes of a critical record, with its newline
	MaxInline  = 64 << 10 // bytes of a payload; larger ones move members into artifacts
	MaxJournal = 1 << 30  // bytes of journal.jsonl
)

const journalFile = "journal.jsonl"

// Journal is the journal of a thread, open for writing. It is safe for concurrent use.
type Journal struct {
	lease *Lease
	root  *os.Root
	file  *os.File

	mu       sync.Mutex // guards the fields below, and writing
	chain    Chain
	size     int64           // bytes; a whole number of lines
	failed   error           // why every further write is refused
	consumed map[string]bool // ids of messages
	live     liveFile

	syncing sync.Mutex
	synced  int64 // the last sequence number on the disk; guarded by syncing
}

// Options of Open. The zero value is sensible.
type Options struct {
	// Visit is called with each verified record in order, including the records that Open adds. It
	// may keep the record. Its error ends Open.
	Visit func(Record) error

	// Now is the time for records that Open adds; nil means time.Now.
	Now func() time.Time

	// Accept means that a person accepted the loss of the bytes from the damage on. Open cuts them
	// off and keeps them, as it does with a torn tail unasked.
	Accept bool
}

// Create makes the journal of a new thread, in the directory of the lease. An existing journal is
// fault.Conflict.
func (l *Lease) Create() (*Journal, error) {
	root, err := openDir(l.dir)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(journalFile, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		root.Close()
		if errors.Is(err, os.ErrExist) {
			return nil, fault.New(fault.Conflict, "create a journal in %s: it exists already", l.dir)
		}
		return nil, fault.New(fault.Failed, "create a journal in %s: %w", l.dir, err)
	}
	j := &Journal{lease: l, root: root, file: f, chain: Chain{Thread: l.thread}, consumed: map[string]bool{}}
	j.live.open(root, l.thread, 0)
	if err := syncRoot(root); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Open verifies the journal in the directory of the lease, and opens it for writing. It cuts off a
// torn tail, which a crash leaves, keeps it as journal.bad-<n>, and records this as
// journal_repaired. Any other mismatch is a *Damage, fault.Integrity: the records before it were
// visited, and the file stays unchanged unless o.Accept is set. A record of an unknown type is
// fault.Malformed. A missing journal is fault.NotFound. Memory is bounded by the longest record.
func (l *Lease) Open(ctx context.Context, o Options) (*Journal, error) {
	root, err := openDir(l.dir)
	if err != nil {
		return nil, err
	}
	f, err := openPlain(root, journalFile, os.O_RDWR|os.O_APPEND)
	if err != nil {
		root.Close()
		return nil, err
	}
	j := &Journal{lease: l, root: root, file: f, consumed: map[string]bool{}}
	if err := j.recover(ctx, o); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Append writes a record, of which it takes Time, Turn, Type and Data, and returns it as written.
// With sync, the record and all before it are on the disk when Append returns; some types are
// always synced (docs/format/transcript.md). Without sync, the record survives the death of the
// process. It survives a power cut once a later record was synced.
//
// The payload must follow the table of types (fault.Malformed). If it has more than MaxInline
// bytes, its largest members move into artifacts, which are on the disk before the record.
// Payload.Value reads them back.
//
// An error means that nothing was appended. A partial line is cut off again, so appending works
// again once a full disk has room. If the cut or a sync fails, every later Append fails too: the
// content of the disk is unknown until the journal is opened again. After a final record Append
// refuses all.
func (j *Journal) Append(r Record, sync bool) (Record, error) {
	data, err := j.fit(r)
	if err != nil {
		return Record{}, err
	}
	r.Data = data
	if r, err = j.write(r); err != nil {
		return Record{}, err
	}
	if sync || typeOf(r.Type).synced {
		if err := j.sync(r.Seq); err != nil {
			return Record{}, err
		}
	}
	return r, nil
}

// write appends one line by one write.
func (j *Journal) write(r Record) (Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed != nil {
		return Record{}, j.failed
	}
	chain := j.chain
	line, r, err := chain.Add(r)
	if err != nil {
		return Record{}, err
	}
	if j.size+int64(len(line)) > MaxJournal {
		return Record{}, fault.New(fault.Limit, "append to the journal of %s: larger than %d bytes", chain.Thread, MaxJournal)
	}
	if st, err := j.file.Stat(); err != nil || st.Size() != j.size {
		j.failed = fault.New(fault.Integrity, "append to the journal of %s: its size changed outside of this process", chain.Thread)
		return Record{}, j.failed
	}
	if _, err := j.file.Write(line); err != nil {
		err = fault.New(fault.Failed, "append to the journal of %s: %w", chain.Thread, err)
		if cut := j.truncate(j.size); cut != nil {
			j.failed = err
		}
		return Record{}, err
	}
	j.chain, j.size = chain, j.size+int64(len(line))
	return r, nil
}

// truncate cuts off the bytes behind size. It opens the file again, because Windows cannot truncate
// a file that is open for appending.
func (j *Journal) truncate(size int64) error {
	f, err := openPlain(j.root, journalFile, os.O_WRONLY)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// sync waits until the record with that number is on the disk. Concurrent callers share one sync.
func (j *Journal) sync(seq int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= seq {
		return nil
	}
	j.mu.Lock()
	last, failed := j.chain.Seq, j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	if err := datasync(j.file); err != nil {
		// The system may have dropped the bytes that it could not write, and may report it only
		// once.
		failed = fault.New(fault.Failed, "sync the journal of %s: %w", j.lease.thread, err)
		j.mu.Lock()
		j.failed = failed
		j.mu.Unlock()
		return failed
	}
	j.synced = last
	return nil
}

// Sync waits until every appended record is on the disk.
func (j *Journal) Sync() error { return j.sync(j.Chain().Seq) }

// Chain returns the thread, and the number and digest of the last line.
func (j *Journal) Chain() Chain {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.chain
}

// Digest is the digest of the last line, which covers all lines before it.
func (j *Journal) Digest() [32]byte { return j.Chain().Sum }

// Dir is the thread's directory.
func (j *Journal) Dir() string { return j.lease.dir }

// Close closes the journal. It does not release the lease.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live.close()
	j.failed = fault.New(fault.Failed, "append to the journal of %s: it is closed", j.chain.Thread)
	err := j.file.Close()
	if rerr := j.root.Close(); err == nil {
		err = rerr
	}
	return err
}
