package author

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
)

// Restore brings back the recorded file of an item: the version that its space held at
// a commit, or the last one. A different file that is there now is recorded first. Who
// asks for an old version means it: it counts again.
func Restore(ctx context.Context, s *Desk, q rye.RestoreRequest) (*rye.AddReport, error) {
	arg, at, dryRun := string(q.Target), q.At, q.DryRun
	l := s.Stack.Project
	if dir, ok := look.BundleOnceRecorded(ctx, s.Session, l, arg); ok {
		if at != "" {
			return nil, fault.New(fault.Usage, "restore .ai/%s: a bundle comes back as it was last recorded", dir).Mend("rye restore .ai/%s", dir)
		}
		return restoreBundle(ctx, s, l, dir, dryRun)
	}
	ref, err := s.Ref(arg)
	if err != nil {
		return nil, err
	}
	p, raw, err := recordedVersion(ctx, s, l, ref, at)
	if err != nil {
		return nil, err
	}
	if there, err := l.Locate(ref); err != nil || there != "" && there != p {
		if err == nil {
			err = fault.New(fault.Conflict, "restore %s: .ai/%s is this item now, and the version to bring back lies at .ai/%s", ref, there, p).
				Advise("rye rm %s, then again", ref)
		}
		return nil, err
	}
	if err := l.Free(p); err != nil {
		return nil, err
	}
	rep := &rye.AddReport{Ref: ref.String(), Path: ".ai/" + p, SHA256: objects.DigestOf(raw).String()}
	if !dryRun {
		if err := keep(ctx, s, l, ref, p, raw); err != nil {
			return nil, err
		}
		if rep.Commit, err = record(ctx, s, l, "restore", []objects.Ref{ref}, []store.Change{{Path: p, Data: raw}}); err != nil {
			return nil, err
		}
		if err := l.Write(p, raw, true); err != nil {
			return nil, err
		}
	}
	f, err := s.Stack.JudgeBytes(ctx, l, p, ref, raw, l.BlobID(raw))
	rep.State = f.State
	if f.Err != nil {
		rep.Next = fault.HintOf(f.Err)
	}
	return rep, err
}

func recordedVersion(ctx context.Context, s *Desk, l *space.Layer, ref objects.Ref, at string) (p string, raw []byte, err error) {
	if at == "" {
		if p, raw, err = l.LastRecorded(ctx, ref); err == nil && p == "" {
			err = fault.New(fault.NotFound, "restore %s: never recorded in this project", ref).Mend("rye log")
		}
		return p, raw, err
	}
	if _, p, raw, err = l.Version(ctx, ref, at); err == nil && p == "" {
		err = fault.New(fault.NotFound, "restore %s: it was not there at %s", ref, at).Mend("rye log %s", ref)
	}
	return p, raw, err
}

// keep records the working file at p, when there is one that is not replaced by
// the same bytes, so that writing over it loses nothing.
func keep(ctx context.Context, s *Desk, l *space.Layer, ref objects.Ref, p string, but []byte) error {
	have, err := l.Read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case fault.CodeOf(err) == fault.Limit:
		return fault.New(fault.Limit, "%s: %w, so no record could keep it", ref, err).Advise("move .ai/%s out of the project", p)
	case err != nil || bytes.Equal(have, but):
		return err
	}
	was, err := l.RecordedBlob(p)
	if err != nil || was == l.BlobID(have) {
		return err
	}
	_, err = record(ctx, s, l, "keep", []objects.Ref{ref}, []store.Change{{Path: p, Data: have}})
	return err
}

// Move gives a working item of the project another id. Its signature names the old
// one, so the line goes and the item has to be signed again. The old file is
// recorded first, as it was.
func Move(ctx context.Context, s *Desk, q rye.MoveRequest) (*rye.MoveReport, error) {
	from, to, dryRun := string(q.From), q.To, q.DryRun
	l := s.Stack.Project
	it, moved, err := planMove(ctx, s, l, from, to)
	if err != nil {
		return nil, err
	}
	rep := &rye.MoveReport{From: it.Ref.String(), Ref: moved.Ref.String(), Path: ".ai/" + moved.Path,
		Next: fault.Command("rye sign %s", moved.Ref), DryRun: dryRun}
	problems, err := look.Problems(ctx, s.Session, l.Space, moved)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		rep.Problems = append(rep.Problems, p)
	}
	if dryRun {
		return rep, nil
	}
	if err := keep(ctx, s, l, it.Ref, it.Path, nil); err != nil {
		return nil, err
	}
	rep.Commit, err = record(ctx, s, l, "move "+it.Ref.String()+" to", []objects.Ref{moved.Ref},
		[]store.Change{{Path: it.Path, Delete: true}, {Path: moved.Path, Data: moved.Raw}})
	if err != nil {
		return nil, err
	}
	if err := l.Write(moved.Path, moved.Raw, true); err != nil {
		return nil, err
	}
	return rep, l.Remove(it.Path)
}

// planMove returns the item as it is and as it is to be.
func planMove(ctx context.Context, s *Desk, l *space.Layer, from, to string) (it, moved *objects.Item, err error) {
	ref, err := s.Ref(from)
	if err != nil {
		return nil, nil, err
	}
	dest, err := newRef(ref, to)
	if err != nil {
		return nil, nil, err
	}
	if s.Stack.Locked != nil {
		if _, ok := s.Stack.Locked(ref); ok {
			return nil, nil, fault.New(fault.Denied, "move %s: it belongs to a registry", ref).Mend("rye copy %s --to project --as %s", ref, dest.ID)
		}
	}
	if it, err = draft(l, ref); err != nil {
		return nil, nil, err
	}
	if f, ok, err := s.Stack.In(ctx, objects.Project, dest); err != nil {
		return nil, nil, err
	} else if ok {
		return nil, nil, fault.New(fault.Conflict, "move %s: %s is there already (%s)", ref, dest, f.State).Mend("rye rm %s", dest)
	}
	if moved, err = objects.Parse(dest.Path(path.Ext(it.Path)), it.Body); err != nil {
		return nil, nil, err
	}
	return it, moved, l.Free(moved.Path)
}

// newRef reads the new name of an item: a ref of the same kind, or an id.
func newRef(old objects.Ref, arg string) (objects.Ref, error) {
	ref, err := objects.ParseRef(arg)
	if err != nil {
		id, iderr := objects.ParseID(arg)
		if iderr != nil {
			return ref, err
		}
		ref = objects.Ref{Kind: old.Kind, ID: id}
	}
	switch {
	case ref.Kind != old.Kind:
		return ref, fault.New(fault.Usage, "%s is a %s and cannot become a %s", old, old.Kind, ref.Kind)
	case ref == old:
		return ref, fault.New(fault.Usage, "%s is its name already", ref)
	}
	return ref, nil
}

// Copy puts a verified item into a space: byte for byte, its signature included,
// or under another id, unsigned. A different file that is there stays.
func Copy(ctx context.Context, s *Desk, q rye.CopyRequest) (*rye.CopyReport, error) {
	it, f, err := planCopy(ctx, s, q)
	if err == nil {
		err = look.StandsAlone(f)
	}
	if err != nil {
		return nil, err
	}
	sp, err := objects.ParseSpace(q.To)
	if err != nil {
		return nil, err
	}
	l, err := s.Stack.Layer(sp)
	if err != nil {
		return nil, err
	}
	if there, err := l.Locate(it.Ref); err != nil {
		return nil, err
	} else if have, _ := l.Read(it.Path); there != "" && !bytes.Equal(have, it.Raw) {
		return nil, fault.New(fault.Conflict, "copy %s: the %s space holds another one", it.Ref, sp).Advise("rye show --all %s, or --as <id>", it.Ref)
	}
	rep := &rye.CopyReport{From: f.Ref.String(), FromSpace: f.Space.String(), Ref: it.Ref.String(), Space: sp.String(),
		Path: it.Path, SHA256: it.Sum.String(), DryRun: q.DryRun}
	worth, err := s.Stack.JudgeBytes(ctx, l, it.Path, it.Ref, it.Raw, l.BlobID(it.Raw))
	if err != nil {
		return nil, err
	}
	if worth.State == objects.Older { // it would stand before what the lock brings
		return nil, worth.Err
	}
	if rep.State = worth.State; worth.Err != nil {
		rep.Why, rep.Next = worth.Err.Error(), fault.HintOf(worth.Err)
	}
	if !q.DryRun {
		rep.Commit, err = CopyTo(ctx, s, l, it)
	}
	return rep, err
}

// planCopy returns the item as it is to be, and where it comes from.
func planCopy(ctx context.Context, s *Desk, q rye.CopyRequest) (*objects.Item, space.Finding, error) {
	f, err := look.Finding(ctx, s.Session, q.Ref)
	if err == nil {
		err = f.Err
	}
	if err != nil {
		return nil, f, err
	}
	it := f.Verified.Item()
	if q.As == "" {
		return it, f, nil
	}
	dest, err := newRef(q.Ref, q.As)
	if err != nil {
		return nil, f, err
	}
	it, err = objects.Parse(dest.Path(path.Ext(it.Path)), it.Body)
	return it, f, err
}
