package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/memory"
	"github.com/rye-os/rye/store/space"
)

// takenBack holds the signers' denials: in .ai/denied, and earlier kept ones. The copies of a
// session share one.
type takenBack struct {
	raw  []byte // of .ai/denied
	more bool   // the file is longer than raw
	kept *memory.Denied
	told sync.Once
}

// readTaken reads .ai/denied into a new session. Kept denials are read when an item is judged.
func (s *Session) readTaken(ai place.Folder) (err error) {
	s.taken = &takenBack{}
	raw, more, err := ai.Head(objects.TakenFile, objects.MaxTakenFile) // not through the layer, which also opens the record
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.taken.raw, s.taken.more = raw, more
	s.Stack.Taken = trust.NewTaken(raw, nil)
	if s.taken.kept = memory.DeniedOf(s.Place); s.taken.kept != nil {
		s.Stack.Taken = trust.NewTaken(raw, s.taken.kept)
	}
	note := s.Stack.Project.Ready
	s.Stack.Project.Ready = func() error { // before the record is written to
		if err := note(); err != nil {
			return err
		}
		s.KeepTaken(context.Background())
		return nil
	}
	return nil
}

// KeepTaken keeps the denials in .ai/denied for every directory of this project, as far as
// there is room. It reports denials that cannot be kept: they hold in this run, and while
// their line is in the file. Commands that write call it; commands that only look do not.
func (s *Session) KeepTaken(ctx context.Context) {
	if s.Project == nil || s.taken.kept == nil {
		return
	}
	left, err := s.keepTaken(ctx)
	if err == nil && left == 0 {
		return
	}
	s.taken.told.Do(func() {
		if err != nil {
			s.Tell(fmt.Sprintf("the denials of .ai/%s apply in this run, but could not be stored: %v", objects.TakenFile, err))
			return
		}
		s.Tell(notKept(left))
	})
}

func notKept(n int) string {
	return fmt.Sprintf("not stored: %s of .ai/%s, because rye stores %d for each signer; these denials apply as long as they are in the file",
		words.Plural(n, "line"), objects.TakenFile, objects.MaxTakenLines)
}

// keepTaken returns the number of owners' lines that did not fit. It skips a text that it has
// already processed with the same trust store.
func (s *Session) keepTaken(ctx context.Context) (left int, err error) {
	k := s.taken.kept
	old, err := k.Older()
	if err != nil || len(s.taken.raw)+len(old) == 0 {
		return 0, err
	}
	text, err := s.taken.by(s)
	if err != nil {
		return 0, err
	}
	if left, ok := k.Seen(text); ok && len(old) == 0 {
		return left, nil
	}
	if err := s.Place.Note(s.Now()); err != nil {
		return 0, err
	}
	left, err = k.Keep(ctx, s.ownersLines(old), func(l objects.Taken) bool { return s.ownsHere(l) != "" }, func(l objects.Taken) bool {
		key, ok := s.Trust.Key(l.Key)
		return ok && key.Verify(l.Message(s.Project.Project), l.Sig[:])
	})
	if err != nil {
		return left, err
	}
	return left, k.See(text, left)
}

// by digests the inputs that decide which lines of .ai/denied are kept.
func (t *takenBack) by(s *Session) (string, error) {
	epoch, err := s.Trust.Epoch()
	if err != nil {
		return "", err
	}
	return objects.DigestOf(fmt.Appendf(nil, "%s\n%s\n%s\n", objects.DigestOf(t.raw), epoch, s.Stack.Place)).Hex(), nil
}

// ownsHere returns the state of a line's signer in its item's namespace, in this directory:
// current, retired, or nothing.
func (s *Session) ownsHere(l objects.Taken) trust.KeyState {
	_, state := s.Stack.Scope(s.Stack.Project).Owner(s.Trust, l.Key, l.Ref)
	return state
}

// ownersLines returns, by signer, the effective lines: lines of .ai/denied by keys in use, and
// lines that an earlier rye kept.
func (s *Session) ownersLines(old []objects.Taken) map[objects.Fingerprint][]objects.Taken {
	all := map[objects.Fingerprint][]objects.Taken{}
	for _, l := range old {
		if s.ownsHere(l) != "" {
			all[l.Key] = append(all[l.Key], l)
		}
	}
	here, _ := objects.ParseTakenFile(s.taken.raw) // ReportTaken reports the others
	for _, l := range here {
		if s.ownsHere(l) == trust.Current {
			all[l.Key] = append(all[l.Key], l)
		}
	}
	return all
}

// TakenBack reports whether a digest is denied: by kept lines, which it forgets if forget is
// set, and by present lines of .ai/denied.
func (h *Host) TakenBack(ctx context.Context, d objects.Digest, forget bool) (kept, listed bool, err error) {
	s, err := h.Open()
	if err != nil {
		return false, false, err
	}
	defer s.Close()
	listed = len(objects.NewTakenIndex(s.taken.raw).Find(d)) > 0
	if s.taken.kept != nil {
		kept, err = s.taken.kept.Forget(ctx, d, forget)
	}
	return kept, listed, err
}

// ListTaken adds a line to .ai/denied, unless it is there.
func (s *Session) ListTaken(t objects.Taken) error {
	here, _ := objects.ParseTakenFile(s.taken.raw)
	if slices.Contains(here, t) {
		return nil
	}
	n := 0
	for _, l := range here {
		if l.Key == t.Key {
			n++
		}
	}
	raw := objects.AddTaken(s.taken.raw, t)
	if s.taken.more || n >= objects.MaxTakenLines || len(raw) > objects.MaxTakenFile {
		return fault.New(fault.Limit, "deny %s: .ai/%s is full", t.Ref, objects.TakenFile).
			Advise("remove lines from .ai/%s whose items no longer exist", objects.TakenFile)
	}
	return s.Stack.Project.Write(objects.TakenFile, raw, space.WaitAll)
}

// someFaults is the number of malformed lines that are reported with their reasons.
const someFaults = 3

// TakenNote reports denials and removals that have no effect here, or are not kept, and why.
type TakenNote struct {
	Text string
	OK   bool // expected: their signer owns nothing here
}

// ReportTaken reports denials and removals that have no effect here, or are not kept.
func (s *Session) ReportTaken(ctx context.Context) (all []TakenNote, err error) {
	if s.Project == nil {
		return nil, nil
	}
	const file = ".ai/" + objects.TakenFile
	note := func(ok bool, format string, args ...any) {
		all = append(all, TakenNote{fmt.Sprintf(format, args...), ok})
	}
	if s.taken.more {
		note(false, "%s is larger than %d bytes, and rye does not read the rest", file, objects.MaxTakenFile)
	}
	here, faults := objects.ParseTakenFile(s.taken.raw)
	for i, f := range faults {
		if i == someFaults {
			note(false, "%s: no effect for %s more", file, words.Plural(len(faults)-i, "malformed line"))
			break
		}
		note(false, "%s: line %d has no effect: %s", file, f.Line, f.Why)
	}
	strangers, full := tally{}, 0
	for _, l := range here {
		switch s.ownsHere(l) {
		case "":
			strangers.add(l)
		case trust.Current:
			kept, err := s.taken.kept.Full(l)
			if err != nil {
				return all, err
			}
			if kept {
				full++
			}
		}
	}
	for _, t := range strangers.sorted() {
		note(true, "%s: no effect for %s, because %s owns no %s/ in this directory", file, words.Plural(t.n, "line"), t.key, t.namespace)
	}
	if full > 0 {
		note(false, "%s", notKept(full))
	}
	elsewhere := tally{}
	err = s.taken.kept.Each(func(l objects.Taken) {
		if s.ownsHere(l) == "" {
			elsewhere.add(l)
		}
	})
	for _, t := range elsewhere.sorted() {
		note(true, "no effect here: %s from another directory of this project, because %s owns no %s/ in this directory", words.Plural(t.n, "denial"), t.key, t.namespace)
	}
	if err != nil {
		return all, err
	}
	removals, err := s.reportOthers(ctx)
	return append(all, removals...), err
}

// tally counts lines without effect, by signer and namespace.
type tally map[claim]int

type claim struct {
	key       objects.Fingerprint
	namespace string
	n         int
}

func (t tally) add(l objects.Taken) { t[claim{key: l.Key, namespace: l.Ref.ID.Namespace()}]++ }

func (t tally) sorted() []claim {
	var all []claim
	for c, n := range t {
		c.n = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b claim) int {
		return strings.Compare(a.key.String()+a.namespace, b.key.String()+b.namespace)
	})
	return all
}
