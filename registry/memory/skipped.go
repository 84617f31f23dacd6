package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// Skipped operations are recorded beside the verified points of their log, and reported until they
// are voided. The list decides nothing.

// skippedPath is <state>/<64 hex of the identity>.skipped/<namespace>.
func (r *Memory) skippedPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".skipped", namespace)
}

// skipsText returns the list as stored.
func skipsText(k oplog.Skips) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rye %d\nup-to %d\nmore %d\n", oplog.FormatVersion, k.UpTo, k.More)
	for _, s := range k.List {
		fmt.Fprintf(&b, "%d %d %s %s %s %s\n", s.Seq, s.Voided, s.ID, s.Sum, s.By, strconv.QuoteToASCII(s.Why))
	}
	return b.String()
}

// parseSkips reads the output of skipsText, and nothing else.
func parseSkips(text string) (k oplog.Skips, err error) {
	for i, line := range slices.Collect(strings.Lines(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch i {
		case 0:
		case 1:
			k.UpTo, err = strconv.ParseUint(strings.TrimPrefix(line, "up-to "), 10, 64)
		case 2:
			k.More, err = strconv.ParseUint(strings.TrimPrefix(line, "more "), 10, 64)
		default:
			var s oplog.Skipped
			s, err = parseSkipped(line)
			k.List = append(k.List, s)
		}
		if err != nil {
			return oplog.Skips{}, fault.New(fault.Malformed, "line %d: %w", i+1, err)
		}
	}
	if skipsText(k) != text {
		return oplog.Skips{}, fault.New(fault.Malformed, "it is not in canonical form")
	}
	return k, nil
}

func parseSkipped(line string) (s oplog.Skipped, err error) {
	f := strings.SplitN(line, " ", 6)
	if len(f) != 6 {
		return s, fault.New(fault.Malformed, "%d words, want 6", len(f))
	}
	var errs [6]error
	s.Seq, errs[0] = strconv.ParseUint(f[0], 10, 64)
	s.Voided, errs[1] = strconv.ParseUint(f[1], 10, 64)
	s.ID, errs[2] = store.ParseOID(f[2])
	s.Sum, errs[3] = objects.ParseDigest(f[3])
	s.By, errs[4] = objects.ParseFingerprint(f[4])
	s.Why, errs[5] = strconv.Unquote(f[5])
	return s, errors.Join(errs[:]...)
}

// skipsOf returns the skipped operations of a namespace.
func (r *Memory) skipsOf(namespace string) (oplog.Skips, error) {
	path := r.skippedPath(namespace)
	raw, err := place.Read(path, oplog.MaxSkipped<<11)
	if errors.Is(err, fs.ErrNotExist) {
		return oplog.Skips{}, nil
	}
	if err != nil {
		return oplog.Skips{}, fault.New(fault.Failed, "read the skipped operations: %w", err)
	}
	k, err := parseSkips(string(raw))
	if err != nil {
		return k, fault.New(fault.Integrity, "read the skipped operations, %s: %w", path, err).
			Advise("look at the file; without it, rye no longer reports them")
	}
	return k, nil
}

// NoteSkipped records which operations after base had no effect, and which were voided. A void of
// an operation with effect changes nothing, and is recorded itself. rd holds the available part of
// the log. A damaged list stays as it is: commands that report it fail, but no log waits for that.
func (r *Memory) NoteSkipped(ctx context.Context, namespace string, rd oplog.Reader, base oplog.Point, done oplog.Replayed) error {
	all, err := r.withSkipped(namespace, rd, base, done)
	if err != nil || len(all.List) == 0 {
		return unlessBroken(err)
	}
	unlock, err := place.Lock(ctx, memoryPath(r.o.StateDir, r.o.ID)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have noted others since.
	if all, err = r.withSkipped(namespace, rd, base, done); err != nil {
		return unlessBroken(err)
	}
	return place.File(r.skippedPath(namespace), []byte(skipsText(all)), 0o600)
}

func unlessBroken(err error) error {
	if fault.Is(err, fault.Integrity) {
		return nil
	}
	return err
}

// withSkipped returns the list of a namespace with the operations after base that had no effect.
func (r *Memory) withSkipped(namespace string, rd oplog.Reader, base oplog.Point, done oplog.Replayed) (oplog.Skips, error) {
	all, err := r.skipsOf(namespace)
	if err != nil {
		return all, err
	}
	before, first := all.UpTo, uint64(0)
	skipped := done.Skipped
	take := func(until uint64) {
		for ; len(skipped) > 0 && skipped[0].Seq < until; skipped = skipped[1:] {
			if skipped[0].Seq > before {
				all.Add(skipped[0])
			}
			all.UpTo = max(all.UpTo, skipped[0].Seq)
		}
	}
	for i := range done.Ops {
		op := &done.Ops[i]
		take(op.Seq)
		all.UpTo = max(all.UpTo, op.Seq)
		if op.Kind != oplog.OpVoid || op.Seq <= before || all.Void(op.Void, op.Seq) {
			continue
		}
		if first == 0 {
			first = oplog.FirstAtHand(rd, base)
		}
		if op.Void.Seq >= first { // otherwise unknown here: the log was read from a checkpoint on
			all.Add(oplog.Skipped{Position: oplog.Position{Seq: op.Seq, ID: op.ID, Sum: op.Sum}, By: op.Signer.Fingerprint(),
				Why: fmt.Sprintf("voids operation %d, which is not malformed", op.Void.Seq)})
		}
	}
	take(math.MaxUint64)
	return all, nil
}

// SkippedOf returns the operations of a namespace that have no effect, as last synced.
func (r *Memory) SkippedOf(namespace string) (oplog.Skips, error) {
	if err := oplog.CheckNamespace(namespace); err != nil {
		return oplog.Skips{}, err
	}
	return r.skipsOf(namespace)
}

// SkippedIn returns the operations without effect, by namespace, that a state directory holds for a
// registry. It reads no cache and needs no network. A damaged list is an error, returned with the
// other lists.
func SkippedIn(stateDir string, id objects.Digest) (map[string]oplog.Skips, error) {
	r := &Memory{o: Options{StateDir: stateDir, ID: id}}
	list, err := os.ReadDir(filepath.Dir(r.skippedPath("-")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "list the skipped operations: %w", err)
	}
	all := map[string]oplog.Skips{}
	var errs []error
	for _, e := range list {
		if oplog.CheckNamespace(e.Name()) != nil {
			continue // left behind by a killed process
		}
		one, err := r.skipsOf(e.Name())
		all[e.Name()], errs = one, append(errs, err)
	}
	return all, errors.Join(errs...)
}

// MayVoid refuses to void an operation that is not reported (Conflict).
func (r *Memory) MayVoid(namespace string, what oplog.Voided) error {
	all, err := r.skipsOf(namespace)
	if err != nil {
		return err
	}
	i, found := all.Find(what.Seq)
	switch {
	case !found || all.List[i].Sum != what.Sum:
		return fault.New(fault.Conflict, "void operation %d of %s: it is not malformed", what.Seq, namespace)
	case all.List[i].Voided > 0:
		return fault.New(fault.Conflict, "void operation %d of %s: operation %d voided it", what.Seq, namespace, all.List[i].Voided)
	}
	return nil
}
