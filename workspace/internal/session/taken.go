package session

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
)

// takenBack is what signers took back: in .ai/denied, and what was seen there before, which
// lies with the project's record so that no branch takes it away.
type takenBack struct{ here, kept []objects.Taken }

// readTaken reads both into a session that is being made.
func readTaken(s *Session, ai place.Folder) (err error) {
	raw, err := ai.Read(objects.TakenFile, objects.MaxTakenFile) // not through the layer, which opens the record too
	if err == nil {
		s.taken.here, err = objects.ParseTakenFile(raw)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.taken.kept, err = readKept(keptPath(s)); err != nil {
		return err
	}
	s.Stack.Taken = trust.NewTaken(slices.Concat(s.taken.here, s.taken.kept))
	note := s.Stack.Project.Ready
	s.Stack.Project.Ready = func() error { // before the record is written to
		if err := note(); err != nil {
			return err
		}
		return KeepTaken(context.Background(), s)
	}
	return nil
}

func keptPath(s *Session) string {
	if s.Place.Dir == "" {
		return ""
	}
	return filepath.Join(s.Place.Dir, objects.TakenFile)
}

func readKept(file string) ([]objects.Taken, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := place.Read(file, objects.MaxTakenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := objects.ParseTakenFile(raw)
	if err != nil {
		return nil, fault.New(fault.CodeOf(err), "what was taken back in this project: %w", err).Mend("rm %s", file)
	}
	return all, nil
}

// unkept returns the lines of .ai/denied that are worth keeping and were not seen before:
// those that keys known here signed. Anybody can write others.
func unkept(s *Session) []objects.Taken {
	var fresh []objects.Taken
	for _, t := range s.taken.here {
		if !slices.Contains(s.taken.kept, t) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 || s.Place.Dir == "" {
		return nil
	}
	return trust.Genuine(fresh, s.Project.Project, s.Trust)
}

// KeepTaken keeps what .ai/denied takes back with the project's record, as far as there is
// room. Commands that write call it; whoever only looks does not.
func KeepTaken(ctx context.Context, s *Session) error {
	if s.Project == nil {
		return nil
	}
	fresh := unkept(s)
	if len(fresh) == 0 {
		return nil
	}
	if err := s.Place.Note(s.Now()); err != nil {
		return err
	}
	return editKept(ctx, s, func(all []objects.Taken) []objects.Taken {
		for _, t := range fresh {
			if more := append(all, t); len(more) <= objects.MaxTakenLines && len(objects.EncodeTakenFile(more)) <= objects.MaxTakenFile {
				all = more
			}
		}
		return all
	})
}

// TakenBack reports whether a digest was taken back: by lines that were kept, which it
// forgets where it is told to, and by lines that stand in .ai/denied now.
func TakenBack(ctx context.Context, h *Host, d objects.Digest, forget bool) (kept, listed bool, err error) {
	s, err := h.Open()
	if err != nil {
		return false, false, err
	}
	defer s.Close()
	of := func(t objects.Taken) bool { return t.Digest == d }
	kept, listed = slices.ContainsFunc(s.taken.kept, of), slices.ContainsFunc(s.taken.here, of)
	if kept && forget {
		err = editKept(ctx, s, func(all []objects.Taken) []objects.Taken { return slices.DeleteFunc(all, of) })
	}
	return kept, listed, err
}

// ListTaken adds a line to .ai/denied, unless it is there.
func ListTaken(s *Session, t objects.Taken) error {
	if slices.Contains(s.taken.here, t) {
		return nil
	}
	all := append(slices.Clip(s.taken.here), t)
	raw := objects.EncodeTakenFile(all)
	if len(all) > objects.MaxTakenLines || len(raw) > objects.MaxTakenFile {
		return fault.New(fault.Limit, "deny %s: .ai/%s is full", t.Ref, objects.TakenFile).
			Advise("take lines out of .ai/%s whose items nobody has any more", objects.TakenFile)
	}
	return s.Stack.Project.Write(objects.TakenFile, raw, space.WaitAll)
}

func editKept(ctx context.Context, s *Session, change func([]objects.Taken) []objects.Taken) error {
	unlock, err := place.Lock(ctx, keptPath(s)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := readKept(keptPath(s))
	if err != nil {
		return err
	}
	return place.File(keptPath(s), objects.EncodeTakenFile(change(all)), 0o600)
}
