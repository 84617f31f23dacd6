package space

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// absent returns the finding for an item that is recorded and has no file.
func absent(l *Layer, ref objects.Ref, p string) Finding {
	f := Finding{Ref: ref, State: objects.Absent}
	f.Space, f.Path = l.Space, p
	f.Err = missing(f, fault.NotFound, "recorded in the %s space, but its file %s is gone", l.Space, p)
	return f
}

func missing(f Finding, code fault.Code, format string, args ...any) error {
	return fault.New(code, "%s: "+format, append([]any{f.Ref}, args...)...).Advise("rye restore %s, or rye rm %s", f.Ref, f.Ref)
}

// Settle decides about an item that is recorded and has no file. If no weaker layer has the
// name, the item is not found, and the error names its last author. If a weaker layer has it,
// Settle refuses: removing a file must not let the weaker item answer. The exception is a file
// that the user's own git lacks too, as after a switch of branches. Then the finding is the
// one from the lock, or ok is false. Settle returns every other finding unchanged.
func (s *Stack) Settle(ctx context.Context, f Finding) (_ Finding, ok bool, err error) {
	if f.State != objects.Absent || f.Manifest || !f.Blob.IsZero() { // the file exists, but its manifest is missing
		return f, true, nil
	}
	l, err := s.Layer(f.Space)
	if err != nil {
		return f, false, err
	}
	weaker, err := weakerOf(ctx, s, f)
	if err != nil {
		return f, false, err
	}
	if weaker == "" {
		f.Err = missing(f, fault.NotFound, "recorded in the %s space%s, but its file %s is gone", f.Space, l.lastBy(ctx, f.Ref), f.Path)
		return f, true, nil
	}
	lacks, why := lacks(s, f)
	if lacks && f.Space == objects.Project {
		return s.inLock(f.Ref)
	}
	f.Err = missing(f, fault.Integrity, "recorded in the %s space%s, but its file %s is gone, and %s would answer in its place (%s)",
		f.Space, l.lastBy(ctx, f.Ref), f.Path, weaker, why)
	return f, true, nil
}

// lacks reports whether the user's git has nothing at the path of an absent item. If not, it
// returns the reason.
func lacks(s *Stack, f Finding) (bool, string) {
	if f.Space != objects.Project || s.Lacks == nil {
		return false, "nothing shows that you removed it"
	}
	gone, err := s.Lacks(f.Path)
	if err != nil {
		return false, "nothing shows that you removed it: " + err.Error()
	}
	return gone, "your git has it at HEAD"
}

// weakerOf describes the item that would answer for an absent one; "" for none.
func weakerOf(ctx context.Context, s *Stack, f Finding) (string, error) {
	if f.Space == objects.Project && s.Locked != nil {
		if pin, ok := s.Locked(f.Ref); ok {
			return "the one from registry " + pin.Registry, nil
		}
		if p, err := PackageOf(s, f.Ref); p != nil || err != nil {
			return "the one of bundle " + p.name(), err
		}
	}
	for sp := f.Space - 1; sp >= objects.System; sp-- {
		if g, ok, err := s.In(ctx, sp, f.Ref); err != nil || ok && g.State != objects.Absent {
			return "the one in the " + sp.String() + " space", err
		}
	}
	return "", nil
}

// lastBy names the last author of an item's record, and the date; "" if unknown.
func (l *Layer) lastBy(ctx context.Context, ref objects.Ref) (says string) {
	c, err := l.tip()
	if c == nil || err != nil {
		return ""
	}
	err = l.HistoryOf(ctx, c.ID, ref, func(c *store.Commit, _ []store.Entry) error {
		says = " by " + c.Author.Name + " on " + c.Committer.Time().UTC().Format(time.DateOnly)
		return fs.SkipAll
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return ""
	}
	return says
}

// Makes returns the hint that creates an item in a space. A bundle is a directory, and signing
// it writes its manifest.
func Makes(in objects.Space, ref objects.Ref) fault.Hint {
	if ref.Kind == objects.Bundle {
		return fault.Advice("put its files into .ai/%s/%s; then rye sign %s", objects.BundlesDir, ref.ID, ref)
	}
	return fault.Command("rye new %s %s"+map[bool]string{true: " --space user"}[in == objects.User], ref.Kind, ref.ID)
}
