package author

import (
	"bytes"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/diff"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Copy puts a verified item into a space: byte for byte, its signature included, or under
// another id, unsigned. It replaces a different file only after a person agreed, and records
// that file first.
func Copy(ctx context.Context, s *custody.Desk, q rye.CopyRequest) (*rye.CopyReport, error) {
	f, err := look.Finding(ctx, s.Session, q.Ref)
	if err == nil {
		f = space.Admit(ctx, s.Stack, f)
		err = f.Err
	}
	if err != nil {
		return nil, err
	}
	it := f.Verified.Item()
	if q.As != "" {
		dest, err := newRef(q.Ref, q.As)
		if err != nil {
			return nil, err
		}
		if it, err = renamed(objects.Retitled(it, dest), dest); err != nil {
			return nil, err
		}
	}
	if err := standsAlone(f); err != nil {
		return nil, err
	}
	l, err := changeable(ctx, s, q.To, q.DryRun)
	if err != nil {
		return nil, err
	}
	replaces, err := different(l, it)
	if err != nil {
		return nil, err
	}
	rep := &rye.CopyReport{From: f.Ref.String(), FromSpace: f.Space.String(), Ref: it.Ref.String(), Space: l.Space.String(),
		Path: it.Path, SHA256: it.Sum.String(), DryRun: q.DryRun}
	worth, err := s.Stack.JudgeBytes(ctx, l, it.Path, it.Ref, it.Raw, l.BlobID(it.Raw))
	if err != nil {
		return nil, err
	}
	if worth.State == objects.Older { // it would hide the lock's newer version
		return nil, worth.Err
	}
	if key := f.Verified.Key(); q.As != "" && f.Verified.Item().Signature != nil && !s.Trust.IsOwn(key) {
		rep.Unsigned = key.Fingerprint().String()
	}
	if rep.State = worth.State; worth.Err != nil {
		rep.Why, rep.Next = worth.Err.Error(), fault.HintOf(worth.Err)
		if wrong, perr := look.Problems(ctx, s.Session, l.Space, it); perr != nil || len(wrong) > 0 {
			rep.Next = fault.Advice("rye sign %s, after you change the items that name the old one", it.Ref)
		}
	}
	rep.Replaces = replaces != nil
	if q.DryRun {
		return rep, nil
	}
	if replaces != nil {
		if err = replace(ctx, s, l, it, replaces, q); err != nil {
			return nil, err
		}
	}
	rep.Commit, err = copyTo(ctx, s, l, it, replaces)
	return rep, err
}

// different returns the bytes in the place of an item in a space, if they differ.
func different(l *space.Layer, it *objects.Item) ([]byte, error) {
	there, err := l.Locate(it.Ref)
	switch {
	case err != nil || there == "":
		return nil, err
	case there != it.Path:
		return nil, fault.New(fault.Conflict, "copy %s: the %s space has it at another path, %s", it.Ref, l.Space, session.Shown(l, there)).Mend("rye rm %s"+session.SpaceFlag(l), it.Ref)
	}
	have, err := l.Read(there)
	if bytes.Equal(have, it.Raw) {
		return nil, err
	}
	return have, err
}

// replace asks whether an item may replace other bytes, and records those bytes.
func replace(ctx context.Context, s *custody.Desk, l *space.Layer, it *objects.Item, old []byte, q rye.CopyRequest) error {
	again := []string{"rye", "add", q.Ref.String(), "--space", l.Space.String()}
	if q.As != "" {
		again = append(again, "--as", q.As)
	}
	lines := []string{"there is a different " + it.Ref.String() + " in the " + l.Space.String() + " space: " + session.Shown(l, it.Path)}
	err := s.Ask(ctx, rye.Question{Topic: "replace " + it.Ref.String() + " in the " + l.Space.String() + " space",
		Lines: append(lines, diff.Count(string(old), string(it.Raw))+"; the present file is recorded first"),
		Text:  "Replace it?", Mend: fault.CommandOf(append(again, "--yes")...)})
	if err != nil {
		return err
	}
	if err := ready(l); err != nil {
		return err
	}
	return keepFile(ctx, s, l, it.Ref, it.Path, it.Raw)
}

// CopyLoaded puts a loaded item into a space, byte for byte. Only a person may.
func CopyLoaded(ctx context.Context, s *custody.Desk, c rye.Caller, f *look.Loaded, to string) (*rye.LoadResult, error) {
	if !c.IsPerson() {
		return nil, fault.New(fault.Denied, "load %s: only a person may copy into a space", f.Ref).Mend("rye add %s --space %s", f.Ref, to)
	}
	if err := standsAlone(f.Finding); err != nil {
		return nil, err
	}
	l, err := changeable(ctx, s, to, false)
	if err != nil {
		return nil, err
	}
	res, it := f.Result, f.Verified.Item()
	res.CopiedTo, res.Destination = to, it.Path
	_, err = copyTo(ctx, s, l, it, nil)
	return res, err
}

// copyTo puts an item into a space under its own id, and returns the commit. It refuses to
// replace a different file, unless that holds the bytes in replaces.
func copyTo(ctx context.Context, s *custody.Desk, l *space.Layer, it *objects.Item, replaces []byte) (string, error) {
	if l.Store != "" {
		if err := l.Create(); err != nil {
			return "", err
		}
	}
	if have, err := l.Read(it.Path); err == nil && !bytes.Equal(have, it.Raw) && (replaces == nil || !bytes.Equal(have, replaces)) {
		return "", fault.New(fault.Conflict, "copy %s: the %s space has a different one", it.Ref, l.Space).Advise("rye show --all %s", it.Ref)
	}
	return change(ctx, s, l, "copy", []objects.Ref{it.Ref}, []store.Change{{Path: it.Path, Data: it.Raw}})
}

// standsAlone refuses to copy a file that only the manifest of its bundle verifies.
func standsAlone(f space.Finding) error {
	if f.Verified.IsZero() || f.Space == objects.System || f.Level() != trust.Manifest {
		return nil
	}
	return fault.New(fault.Untrusted, "copy %s: it is signed through bundle %s only, so a copy would be unsigned", f.Ref, f.Bundle).
		Advise("copy the whole directory of the bundle")
}
