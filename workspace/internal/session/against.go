package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
)

const (
	maxKept     = 1000           // kept lines against one key, of each kind
	maxKeptFile = 16 << 20       // bytes
	maxAhead    = 24 * time.Hour // that a line's time may be in the future
	maxAgainst  = 20             // reported lines
	removedKept = "removed"      // the file in which removals are kept
)

// against holds the lines against keys of namespaces: removals in allowed_signers and denials
// in .ai/denied-keys, and the kept lines for every directory of this project.
type against struct {
	here, kept []objects.Dismissal
	notes      []string // lines without effect, and the reasons
}

// of returns the lines of a kind.
func of(kind objects.DismissalKind, all []objects.Dismissal) (some []objects.Dismissal) {
	for _, l := range all {
		if l.Kind == kind {
			some = append(some, l)
		}
	}
	return some
}

// fileOf names the file below .ai with the lines of a kind.
func fileOf(kind objects.DismissalKind) string {
	if kind == objects.SignerRemoved {
		return SignersFile
	}
	return objects.DeniedKeysFile
}

// read takes the lines from a file's text, and the kept ones, into a new session. A malformed
// line has no effect, and is noted.
func (a *against) read(s *Session, kind objects.DismissalKind, raw []byte) (*trust.Dismissed, error) {
	lines, bad := objects.ParseDismissals(kind, raw)
	for _, b := range bad {
		a.note(fmt.Sprintf(".ai/%s line %d has no effect: %s", fileOf(kind), b.N, b.Why))
	}
	var here []objects.Dismissal
	for _, l := range lines {
		if l.At.After(s.Now().Add(maxAhead)) {
			a.note(fmt.Sprintf(".ai/%s has no effect against %s in %s/: its line is dated %s, in the future", fileOf(kind), l.Signer, l.Namespace, l.At.Format(time.DateOnly)))
			continue
		}
		here = append(here, l)
	}
	kept, err := readKeptLines(s.keptAgainst(kind), kind)
	if err != nil {
		return nil, err
	}
	a.here, a.kept = append(a.here, here...), append(a.kept, kept...)
	return trust.NewDismissed(s.Site(), here, kept), nil
}

func (a *against) note(text string) {
	if len(a.notes) < maxAgainst {
		a.notes = append(a.notes, text)
	}
}

// readDeniedKeys reads .ai/denied-keys into a new session. An unreadable file is noted, and is
// no error.
func (s *Session) readDeniedKeys(ai place.Folder) error {
	raw, err := ai.Read(objects.DeniedKeysFile, objects.MaxDismissalFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.against.note(fmt.Sprintf(".ai/%s has no effect: %v", objects.DeniedKeysFile, err))
	}
	keys, err := s.against.read(s, objects.KeyDenied, raw)
	if err != nil {
		return err
	}
	s.Stack.Taken = s.Stack.Taken.WithKeys(keys)
	note := s.Stack.Project.Ready
	s.Stack.Project.Ready = func() error { // before the record is written to
		if err := note(); err != nil {
			return err
		}
		s.KeepSigners(context.Background())
		return nil
	}
	return nil
}

// keptAgainst returns the user's file of kept lines of a kind, for every directory with this
// project's id; "" where there can be no record.
func (s *Session) keptAgainst(kind objects.DismissalKind) string { return keptAgainst(s.Place, kind) }

func keptAgainst(at records.Place, kind objects.DismissalKind) string {
	if at.Shared() == "" {
		return ""
	}
	name := objects.DeniedKeysFile
	if kind == objects.SignerRemoved {
		name = removedKept
	}
	return filepath.Join(at.Shared(), name)
}

func readKeptLines(file string, kind objects.DismissalKind) ([]objects.Dismissal, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := place.Read(file, maxKeptFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, _ := objects.ParseDismissals(kind, raw)
	return all, err
}

// KeepSigners keeps namespace owners' lines against keys, and drops the grants that they ended.
// Lines that cannot be kept are reported, and hold in this run. Commands that write or execute
// call it; commands that only look do not.
func (s *Session) KeepSigners(ctx context.Context) {
	if s.Project == nil {
		return
	}
	for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
		left, err := s.keepLines(ctx, kind)
		switch {
		case err != nil:
			s.Tell(fmt.Sprintf("the lines of .ai/%s against keys could not be stored: %v", fileOf(kind), err))
		case left > 0:
			s.Tell(fmt.Sprintf("not stored: %s of .ai/%s, because rye stores %d for each key; they apply as long as they are in the file", words.Plural(left, "line"), fileOf(kind), maxKept))
		}
	}
	if !s.Trust.HasRemoved(s.Site(), s.Stack.Declared) {
		return
	}
	err := trust.Update(s.TrustPath(), func(st *trust.Store) error {
		st.EndRemoved(s.Site(), s.Stack.Declared)
		return nil
	})
	if err != nil {
		s.Tell("the grants of removed signers could not be dropped: " + err.Error())
	}
}

// Remember keeps lines that the user has just signed, and reports a failure to keep them.
func (s *Session) Remember(ctx context.Context, lines ...objects.Dismissal) {
	for _, kind := range []objects.DismissalKind{objects.SignerRemoved, objects.KeyDenied} {
		if _, err := keep(ctx, s.keptAgainst(kind), kind, of(kind, lines)); err != nil {
			s.Tell(fmt.Sprintf("the lines of .ai/%s against keys could not be stored: %v", fileOf(kind), err))
		}
	}
}

// keepLines returns the number of lines that did not fit.
func (s *Session) keepLines(ctx context.Context, kind objects.DismissalKind) (left int, err error) {
	var fresh []objects.Dismissal
	for _, l := range of(kind, s.against.here) {
		if !slices.Contains(s.against.kept, l) && s.counts(l) {
			fresh = append(fresh, l)
		}
	}
	return keep(ctx, s.keptAgainst(kind), kind, fresh)
}

func keep(ctx context.Context, file string, kind objects.DismissalKind, fresh []objects.Dismissal) (left int, err error) {
	if file == "" || len(fresh) == 0 {
		return 0, nil
	}
	err = editKeptLines(ctx, file, kind, func(all []objects.Dismissal) []objects.Dismissal {
		of := map[objects.Fingerprint]int{}
		for _, l := range all {
			of[l.Key]++
		}
		for _, l := range fresh {
			all = slices.DeleteFunc(all, func(x objects.Dismissal) bool {
				older := x.Key == l.Key && x.Signer == l.Signer && x.Namespace == l.Namespace && x.At.Before(l.At)
				if older {
					of[l.Key]--
				}
				return older
			})
			if of[l.Key] >= maxKept {
				left++
				continue
			}
			of[l.Key]++
			all = append(all, l)
		}
		return all
	})
	return left, err
}

func editKeptLines(ctx context.Context, file string, kind objects.DismissalKind, change func([]objects.Dismissal) []objects.Dismissal) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	unlock, err := place.Lock(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := readKeptLines(file, kind)
	if err != nil {
		return err
	}
	return place.File(file, objects.EncodeDismissals(change(all)), 0o600)
}

// counts reports whether a line in the project was signed by a key that may write it here.
func (s *Session) counts(l objects.Dismissal) bool {
	k, ok := s.Trust.Key(l.Signer)
	if signers, err := s.Stack.Declared.Signers(); !ok && err == nil {
		k, _ = signers.Key(l.Signer)
	}
	_, ok = s.Trust.Dismisses(l, s.Site(), k)
	return ok
}

// AgainstNotes returns the lines against keys that have no effect here, with the reasons.
func (s *Session) AgainstNotes() []string {
	notes, more := slices.Clone(s.against.notes), 0
	for _, l := range s.against.here {
		if s.counts(l) || slices.Contains(s.against.kept, l) {
			continue
		}
		if len(notes) >= maxAgainst {
			more++
			continue
		}
		notes = append(notes, fmt.Sprintf(".ai/%s has no effect against %s in %s/: %s does not own that namespace here", fileOf(l.Kind), l.Signer, l.Namespace, l.Key))
	}
	if more > 0 {
		notes = append(notes, fmt.Sprintf("no effect for %s more against keys", words.Plural(more, "line")))
	}
	return notes
}

// ForgetKeyDenials drops the kept denials of a key, and reports whether there were any, and
// whether present lines in .ai/denied-keys deny it.
func (h *Host) ForgetKeyDenials(ctx context.Context, fp objects.Fingerprint, forget bool) (kept, listed bool, err error) {
	s, err := h.Open()
	if err != nil {
		return false, false, err
	}
	defer s.Close()
	is := func(l objects.Dismissal) bool { return l.Kind == objects.KeyDenied && l.Signer == fp }
	kept, listed = slices.ContainsFunc(s.against.kept, is), slices.ContainsFunc(s.against.here, func(l objects.Dismissal) bool { return is(l) && s.counts(l) })
	if kept && forget {
		err = editKeptLines(ctx, s.keptAgainst(objects.KeyDenied), objects.KeyDenied, func(all []objects.Dismissal) []objects.Dismissal {
			return slices.DeleteFunc(all, is)
		})
	}
	return kept, listed, err
}

// DenyKeys adds lines to .ai/denied-keys. It keeps the other lines, even unreadable ones.
func (s *Session) DenyKeys(lines ...objects.Dismissal) error {
	raw, err := ReadAI(s.Host, objects.DeniedKeysFile, objects.MaxDismissalFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		raw = append(raw, '\n')
	}
	raw = append(raw, objects.EncodeDismissals(lines)...)
	return s.Stack.Project.Write(objects.DeniedKeysFile, raw, space.WaitAll)
}
