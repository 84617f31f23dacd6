package memory

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/records"
)

// Denied holds the kept lines of .ai/denied for one project, in one file per signer, so that
// no signer uses the space of another. It is safe for concurrent use.
type Denied struct {
	dir  string // of the files, see docs/format/denied.md
	seen string // the file that notes the last processed text of .ai/denied; it is useless without the others
	old  string // the single file that rye 0.2 kept in this directory's record

	mu     sync.Mutex
	listed bool
	list   []objects.Fingerprint
	raws   map[objects.Fingerprint][]byte // files that were read
	lines  map[objects.Fingerprint]int    // number of their lines, once counted
	before []objects.Taken                // the lines of old
}

// DeniedOf returns the kept lines of .ai/denied for the project at a place. It returns nil if
// there is no data directory, and for a user space.
func DeniedOf(p records.Place) *Denied {
	if p.Shared() == "" {
		return nil
	}
	dir := filepath.Join(p.Shared(), objects.TakenFile)
	return &Denied{dir: dir, seen: filepath.Join(dir, p.Key+".seen"), old: filepath.Join(p.Dir, objects.TakenFile)}
}

// Signers returns the signers with kept lines.
func (k *Denied) Signers() ([]objects.Fingerprint, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.signers()
}

func (k *Denied) signers() ([]objects.Fingerprint, error) {
	if k.listed {
		return k.list, nil
	}
	before, err := k.Older()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(k.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Failed, "read the denials of this project: %w", err)
	}
	var list []objects.Fingerprint
	for _, e := range entries {
		var fp objects.Fingerprint
		if raw, err := hex.DecodeString(e.Name()); err == nil && len(raw) == len(fp) {
			copy(fp[:], raw)
			list = append(list, fp)
		}
	}
	for _, l := range before {
		if !slices.Contains(list, l.Key) {
			list = append(list, l.Key)
		}
	}
	k.listed, k.list, k.before = true, list, before
	k.raws, k.lines = map[objects.Fingerprint][]byte{}, map[objects.Fingerprint]int{}
	return list, nil
}

// Find returns a signer's lines that take a digest back.
func (k *Denied) Find(fp objects.Fingerprint, d objects.Digest) ([]objects.Taken, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	raw, err := k.of(fp)
	if err != nil {
		return nil, err
	}
	all, err := objects.FindTakenKept(raw, d)
	if err != nil {
		return nil, k.damaged(fp, err)
	}
	for _, l := range k.before {
		if l.Key == fp && l.Digest == d {
			all = append(all, l)
		}
	}
	return all, nil
}

// of returns the file of a signer, read once.
func (k *Denied) of(fp objects.Fingerprint) ([]byte, error) {
	if _, err := k.signers(); err != nil {
		return nil, err
	}
	raw, ok := k.raws[fp]
	if ok {
		return raw, nil
	}
	raw, err := k.read(fp)
	if err == nil {
		k.raws[fp] = raw
	}
	return raw, err
}

func (k *Denied) read(fp objects.Fingerprint) ([]byte, error) {
	raw, err := place.Read(k.file(fp), int64(objects.MaxTakenKept))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return raw, err
}

func (k *Denied) file(fp objects.Fingerprint) string {
	return filepath.Join(k.dir, hex.EncodeToString(fp[:]))
}

func (k *Denied) damaged(fp objects.Fingerprint, err error) error {
	return fault.New(fault.CodeOf(err), "read %s: %w", k.file(fp), err).Advise("restore the file from a copy")
}

// Sum digests all lines; it is zero if there are none.
func (k *Denied) Sum() (sum objects.Digest, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.signers()
	if err != nil || len(list) == 0 {
		return sum, err
	}
	text := objects.EncodeTakenKept(k.before)
	for _, fp := range list {
		raw, err := k.of(fp)
		if err != nil {
			return sum, err
		}
		d := objects.DigestOf(raw)
		text = append(append(text, fp[:]...), d[:]...)
	}
	return objects.DigestOf(text), nil
}

// Older reads the lines that rye 0.2 kept for this directory alone.
func (k *Denied) Older() ([]objects.Taken, error) {
	raw, err := place.Read(k.old, objects.MaxTakenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, faults := objects.ParseTakenFile(raw)
	if len(faults) > 0 {
		return nil, fault.New(fault.Integrity, "read %s: line %d: %s", k.old, faults[0].Line, faults[0].Why).Advise("restore the file from a copy")
	}
	return all, nil
}

// dropOld removes lines from the file that rye 0.2 kept. The caller holds the lock.
func (k *Denied) dropOld(drop func(objects.Taken) bool) error {
	all, err := k.Older()
	if err != nil || len(all) == 0 {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(all), drop)
	switch {
	case len(rest) == len(all):
		return nil
	case len(rest) == 0:
		return os.Remove(k.old)
	}
	return place.File(k.old, objects.EncodeTakenKept(rest), 0o600)
}

// sameTaken is the item and digest that a line takes back. For each, one genuine line of a
// signer is enough.
type sameTaken struct {
	ref objects.Ref
	sum objects.Digest
}

// Keep adds new lines of each signer, and returns how many did not fit. old reports whether a
// line of Older is among them; Keep removes those from the old file. genuine verifies a
// signature: Keep calls it only if two lines take back the same, or if there is no space. This
// Denied still returns lines that it read before Keep.
func (k *Denied) Keep(ctx context.Context, lines map[objects.Fingerprint][]objects.Taken, old func(objects.Taken) bool, genuine func(objects.Taken) bool) (left int, err error) {
	unlock, err := k.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for fp, of := range lines {
		n, err := k.keep(fp, of, genuine)
		if left += n; err != nil {
			return left, err
		}
	}
	return left, k.dropOld(old)
}

// keep is Keep for one signer. The caller holds the lock.
func (k *Denied) keep(fp objects.Fingerprint, lines []objects.Taken, genuine func(objects.Taken) bool) (left int, err error) {
	raw, err := k.read(fp)
	if err != nil {
		return 0, err
	}
	all, err := objects.ParseTakenKept(raw)
	if err != nil {
		return 0, k.damaged(fp, err)
	}
	at := make(map[sameTaken]int, len(all)+len(lines))
	for i, l := range all {
		at[sameTaken{l.Ref, l.Digest}] = i
	}
	holds := map[int]bool{} // the verified lines of all
	had, changed := len(all), false
	for _, l := range lines {
		i, ok := at[sameTaken{l.Ref, l.Digest}]
		switch {
		case !ok:
			at[sameTaken{l.Ref, l.Digest}] = len(all)
			all, changed = append(all, l), true
			continue
		case all[i] == l, holds[i]:
			continue
		}
		if holds[i] = genuine(all[i]); !holds[i] && genuine(l) {
			all[i], holds[i], changed = l, true, true
		}
	}
	if len(all) > objects.MaxTakenLines { // lines that were forged in the signer's name make room
		var good []objects.Taken
		for i, l := range all {
			if holds[i] || genuine(l) {
				good = append(good, l)
			} else if i < had {
				changed = true
			}
		}
		left = max(0, len(good)-objects.MaxTakenLines)
		all = good[:len(good)-left]
	}
	if !changed {
		return left, nil
	}
	return left, place.File(k.file(fp), objects.EncodeTakenKept(all), 0o600)
}

// lock creates the directory, which only the user can read, and locks the kept lines against
// other processes.
func (k *Denied) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, err
	}
	if err := place.Owned(k.dir); err != nil {
		return nil, err
	}
	return place.Lock(ctx, filepath.Join(k.dir, "lock"))
}

// Full reports whether a line is not kept because its signer already has the maximum number of
// lines.
func (k *Denied) Full(l objects.Taken) (bool, error) {
	if k == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	raw, err := k.of(l.Key)
	if err != nil {
		return false, err
	}
	n, ok := k.lines[l.Key]
	if !ok {
		n = bytes.Count(raw, []byte("\n"))
		k.lines[l.Key] = n
	}
	if n < objects.MaxTakenLines {
		return false, nil
	}
	same, err := objects.FindTakenKept(raw, l.Digest)
	return !slices.ContainsFunc(same, func(o objects.Taken) bool { return o.Ref == l.Ref }), err
}

// Each calls visit for every kept line.
func (k *Denied) Each(visit func(objects.Taken)) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.signers()
	for _, fp := range list {
		raw, err := k.of(fp)
		if err != nil {
			return err
		}
		lines, _ := objects.ParseTakenFile(raw)
		for _, l := range lines {
			visit(l)
		}
	}
	for _, l := range k.before {
		visit(l)
	}
	return err
}

// Forget reports whether lines that take a digest back were kept, and with do removes them.
func (k *Denied) Forget(ctx context.Context, d objects.Digest, do bool) (had bool, err error) {
	list, err := k.Signers()
	if err != nil {
		return false, err
	}
	of := func(l objects.Taken) bool { return l.Digest == d }
	for _, fp := range list {
		same, err := k.Find(fp, d)
		if err != nil {
			return had, err
		}
		had = had || len(same) > 0
	}
	if !had || !do {
		return had, nil
	}
	unlock, err := k.lock(ctx)
	if err != nil {
		return had, err
	}
	defer unlock()
	for _, fp := range list {
		raw, err := k.read(fp)
		if err != nil {
			return had, err
		}
		all, err := objects.ParseTakenKept(raw)
		if err != nil {
			return had, k.damaged(fp, err)
		}
		if rest := slices.DeleteFunc(slices.Clone(all), of); len(rest) < len(all) {
			if err := place.File(k.file(fp), objects.EncodeTakenKept(rest), 0o600); err != nil {
				return had, err
			}
		}
	}
	if err := k.dropOld(of); err != nil {
		return had, err
	}
	return had, k.See("", 0) // .ai/denied is processed again
}

// Seen returns the count that See stored for the text of .ai/denied.
func (k *Denied) Seen(text string) (left int, ok bool) {
	raw, err := place.Read(k.seen, 1<<10)
	rest, is := strings.CutPrefix(string(raw), text+" ")
	if err != nil || !is {
		return 0, false
	}
	left, err = strconv.Atoi(strings.TrimSuffix(rest, "\n"))
	return left, err == nil
}

// See notes that a text of .ai/denied was processed in this directory, by its digest, and how
// many of its lines did not fit.
func (k *Denied) See(text string, left int) error {
	if _, err := os.Stat(filepath.Dir(k.old)); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever recorded for this directory
	}
	return place.File(k.seen, fmt.Appendf(nil, "%s %d\n", text, left), 0o600)
}
