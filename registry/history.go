package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// LogEntry describes one operation of a history, for people.
type LogEntry struct {
	Seq    uint64 // its position, as in RevokeKey
	Time   time.Time
	Signer objects.Fingerprint
	Text   string // the subject: "publish acme/tool/hello@1.4.0"
	Reason string // "" when none
	Commit store.OID

	Skipped string // why it has no effect; "" if it has one
	Voided  uint64 // the operation that voided it; 0 for none
	Dropped uint64 // the key-revoke that dropped its changes; 0 for none
	wrote   bool   // its change list is not empty
}

// History returns the operations of a namespace ("" for the root's) as last synced, newest first,
// at most limit (0: all).
func (r *Registry) History(ctx context.Context, namespace string, limit int) ([]LogEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.mem.Recall()
	if err != nil {
		return nil, err
	}
	p := m[namespace]
	repo := r.reading()
	if p.Seq == 0 || repo == nil {
		return nil, fault.New(fault.NotFound, "history of the %s: was never synced, or has no owner", oplog.LogName(namespace)).Advise("rye fetch brings it, if the registry has it")
	}
	var skips oplog.Skips
	var s oplog.State
	if namespace != "" {
		if skips, err = r.mem.SkippedOf(namespace); err != nil {
			return nil, err
		}
		if s, err = r.load(namespace, m); err != nil {
			return nil, err
		}
	}
	var out []LogEntry
	want, seq := p.Sum, p.Seq
	for id := p.Tip; !id.IsZero() && (limit == 0 || len(out) < limit); {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		raw, parent, err := oplog.ReadCommit(&repo.Reader, id)
		if oplog.CutOff(err) && len(out) > 0 {
			break // the cache begins at a checkpoint
		}
		if err != nil {
			return nil, err
		}
		if objects.DigestOf(raw) != want {
			return nil, fault.New(fault.Integrity, "history of the %s: commit %s differs from the verified one", oplog.LogName(namespace), id)
		}
		e, prev, err := logEntry(namespace, raw)
		if err != nil && namespace != "" { // the log was verified, so the operation was skipped
			e.Text, e.Skipped, err = "malformed", oplog.WhySkipped(err), nil
		}
		if i, skipped := skips.Find(seq); skipped {
			k := &skips.List[i]
			e.Signer, e.Skipped, e.Voided = k.By, k.Why, k.Voided
		}
		if err != nil {
			return nil, fmt.Errorf("history of the %s: %w", oplog.LogName(namespace), err)
		}
		if k, ok := s.Key(e.Signer); ok && e.Skipped == "" && k.Within(seq) && e.wrote {
			e.Dropped = k.Since
		}
		e.Seq = seq
		out = append(out, e)
		id, want, seq = parent, prev, seq-1
	}
	return out, nil
}

// logEntry reads an operation and the digest of its predecessor. For a malformed operation it
// returns the time of signing together with the error.
func logEntry(namespace string, raw []byte) (e LogEntry, prev objects.Digest, err error) {
	c, err := store.ParseCommit(raw)
	if err != nil {
		return e, prev, err
	}
	if prev, err = oplog.PrevOf(c); err != nil {
		return e, prev, err
	}
	e = LogEntry{Commit: oplog.CommitID(c), Time: time.Unix(c.Committer.Unix, 0).UTC()}
	if namespace == "" {
		op, err := oplog.ParseRoot(raw)
		if err == nil {
			e = entryOf(&op.Envelope, op.Seq, op.Subject())
		}
		return e, prev, err
	}
	op, err := oplog.Parse(raw)
	if err == nil {
		e = entryOf(&op.Envelope, op.Seq, op.Subject())
		e.Reason, e.wrote = op.Reason, op.Changes.Count > 0
	}
	return e, prev, err
}

// entryOf returns the entry of a parsed operation.
func entryOf(e *oplog.Envelope, seq uint64, text string) LogEntry {
	return LogEntry{Seq: seq, Time: e.Time, Signer: e.Signer.Fingerprint(), Text: text, Commit: e.ID}
}

// AgeOf returns a function for the time since which a version was certainly available: the later of
// the time in the log and the time when this machine first saw it.
func (r *Registry) AgeOf(namespace string) (func(*oplog.Entry) time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mem.AgeOf(namespace)
}

// VersionsOf returns all versions of an item in any status, oldest first, as last synced. Call Look
// first.
func (r *Registry) VersionsOf(ref objects.Ref) ([]oplog.Entry, error) {
	s, err := r.View(ref.ID.Namespace())
	if err != nil {
		return nil, err
	}
	return s.Versions(ref)
}
