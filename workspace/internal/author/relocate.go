package author

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A move signs again what the user's own signature covers as it is now, and nothing else. A text
// that others brought keeps lacking a signature, and rye sign asks about it as if it had not moved
// (brought.go).

// Moved is an item with a new name, for the lock.
type Moved struct {
	From, To objects.Ref
	Was      objects.Digest // of the file before; zero where the item is not signed again
}

// mover moves items and bundles of one space.
type mover struct {
	*custody.Desk
	layer   *space.Layer
	caller  rye.Caller
	dry     bool
	renames objects.Renames
	g       *signing // nil until something is signed
	covers  space.Covers

	moves   []rye.MoveReport
	moved   []Moved
	files   []store.Change // of the working tree and the record
	record  []store.Change // of the record only
	keeps   []func(context.Context) error
	folders []string // that may be empty afterwards
	others  []string // what the user may not move, with the reasons
}

// signer returns the work of a signing, and opens the key once.
func (m *mover) signer(ctx context.Context) (*signing, error) {
	if m.g != nil {
		return m.g, nil
	}
	g, err := signingFor(ctx, m.Desk, m.layer, rye.SignRequest{Space: m.layer.Space.String(), DryRun: m.dry})
	m.g = g
	return g, err
}

// unsure says why a verified signature is no reason to sign again; "" for the user's own.
func (m *mover) unsure(v trust.Verified, state objects.State, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case state != objects.Signed:
		return "it is " + string(state)
	case !m.Trust.IsOwn(v.Key()):
		return "it is signed by " + nameOf(m.Trust, v.Key().Fingerprint())
	case v.Patched() != trust.NoPatch:
		return "others own its namespace"
	case !m.caller.IsPerson():
		return "only a person signs it"
	}
	return ""
}

// item plans the move of one working file, which is no part of a bundle.
func (m *mover) item(ctx context.Context, ref objects.Ref, p, dest string) error {
	raw, err := m.layer.Read(p)
	if err != nil {
		return err
	}
	to, _, err := objects.RefOfPath(dest)
	if err != nil {
		return err
	}
	if err := m.free(ctx, ref, to, dest); err != nil {
		return err
	}
	rep := rye.MoveReport{From: ref.String(), Ref: to.String(), Path: session.Shown(m.layer, dest), DryRun: m.dry}
	m.keeps = append(m.keeps, func(ctx context.Context) error { return keepFile(ctx, m.Desk, m.layer, ref, p, nil) })
	m.files = append(m.files, store.Change{Path: p, Delete: true})
	it, err := objects.Parse(p, raw)
	if err != nil { // it moves as it is
		rep.Why = err.Error()
		m.add(rep, Moved{From: ref, To: to}, store.Change{Path: dest, Data: raw})
		return nil
	}
	now, err := m.renames.Relocated(it, dest)
	if err != nil {
		return err
	}
	if rep.Problems, err = look.Problems(ctx, m.Session, m.layer.Space, now); err != nil {
		return err
	}
	was := Moved{From: ref, To: to}
	rep.Others = m.byOthers(it)
	if rep.Why, err = m.judge(ctx, it, ref, p); err != nil {
		return err
	}
	if rep.Why == "" && len(rep.Problems) > 0 {
		rep.Why = rep.Problems[0].String()
	}
	data := now.Raw
	if rep.Signed = rep.Why == ""; rep.Signed && !m.dry {
		d := &draft{ref: to, path: dest, SignResult: rye.SignResult{Ref: to.String()}}
		g, err := m.signer(ctx)
		if err == nil {
			_, err = g.signItem(ctx, d, now)
		}
		if err != nil {
			return fault.Wrap(err, "move %s", ref)
		}
		data, rep.Patched, rep.Next = d.data, d.patch, d.Hint
	}
	if rep.Signed {
		was.Was = it.Sum
	} else {
		rep.Next = fault.Command("rye sign %s"+session.SpaceFlag(m.layer), to)
	}
	m.add(rep, was, store.Change{Path: dest, Data: data})
	return nil
}

func (m *mover) add(rep rye.MoveReport, was Moved, c store.Change) {
	m.moves, m.moved, m.files = append(m.moves, rep), append(m.moved, was), append(m.files, c)
}

// judge says why the user's signature does not cover an item as it is now; "" when it does.
func (m *mover) judge(ctx context.Context, it *objects.Item, ref objects.Ref, p string) (string, error) {
	switch {
	case it.Merged != nil:
		return "git merged it from two versions", nil
	case it.Signature == nil:
		return "it was not signed", nil
	}
	v, refused := trust.Verify(it, m.Stack.Scope(m.layer), m.Trust)
	f, err := m.Stack.Judge(ctx, m.layer, p, ref)
	if err != nil {
		return "", err
	}
	if refused == nil {
		refused = f.Err
	}
	return m.unsure(v, f.State, refused), nil
}

// byOthers reports whether an item has someone else's signature, or is a patch of theirs.
func (m *mover) byOthers(it *objects.Item) bool {
	if it.Signature == nil {
		return false
	}
	v, refused := trust.Verify(it, m.Stack.Scope(m.layer), m.Trust)
	return refused == nil && v.Patched() != trust.NoPatch || foreignTo(m.Trust, it, refused) != nil
}

// free refuses a name or a path that is in use.
func (m *mover) free(ctx context.Context, from, to objects.Ref, dest string) error {
	f, ok, err := m.Stack.In(ctx, m.layer.Space, to)
	if err != nil {
		return err
	}
	if ok {
		return fault.New(fault.Conflict, "move %s: %s is there already (%s)", from, to, f.State).Mend("rye rm %s"+session.SpaceFlag(m.layer), to)
	}
	return m.layer.Free(dest)
}

// bundle plans the move of a whole bundle to another directory.
func (m *mover) bundle(ctx context.Context, dir, dest string) error {
	was, err := objects.BundleID(dir)
	if err != nil {
		return err
	}
	id, err := objects.BundleID(dest)
	if err != nil {
		return err
	}
	if top, _, _ := strings.Cut(dir, "/"); !strings.HasPrefix(dest, top+"/") {
		return fault.New(fault.Usage, "move .ai/%s: a bundle stays below %s/", dir, top)
	}
	if err := m.vacantFolder(ctx, dir, id, dest); err != nil {
		return err
	}
	here, err := m.layer.Contents(ctx, dir)
	if err != nil {
		return err
	}
	gone, err := removals(ctx, m.layer, dir, nil)
	if err != nil {
		return err
	}
	rep := rye.MoveReport{From: look.BundleRef(was), Ref: look.BundleRef(id), Path: session.Shown(m.layer, dest), DryRun: m.dry}
	if rep.Why, err = m.judgeBundle(ctx, dir, here); err != nil {
		return err
	}
	old, _ := oldManifest(m.layer, dir)
	members, err := m.members(ctx, dir, dest, here, &rep)
	if err != nil {
		return err
	}
	moved := Moved{From: objects.BundleRef(was), To: objects.BundleRef(id)}
	if old != nil {
		rep.Others = rep.Others || m.byOthers(old.Item())
		raw, err := m.manifest(ctx, old, id, dest, members, &rep)
		if err != nil {
			return err
		}
		if rep.Signed {
			moved.Was = old.Item().Sum
		}
		members = append(members, store.Change{Path: manifestIn(dest), Data: raw})
	}
	if !rep.Signed {
		rep.Next = fault.Command("rye sign .ai/%s"+session.SpaceFlag(m.layer), dest)
	}
	m.keeps = append(m.keeps, func(ctx context.Context) error {
		_, err := keepBundle(ctx, m.Desk, m.layer, dir, was)
		return err
	})
	m.moves, m.moved = append(m.moves, rep), append(m.moved, moved)
	m.files = append(append(m.files, removalsOf(here)...), members...)
	m.record, m.folders = append(m.record, gone...), append(m.folders, dir)
	return nil
}

// manifest returns the manifest of a moved bundle: signed if the user's signature covers the bundle.
func (m *mover) manifest(ctx context.Context, old *objects.Manifest, id objects.ID, dest string, members []store.Change, rep *rye.MoveReport) ([]byte, error) {
	now := &objects.Manifest{ID: id, Version: old.Version, Origin: old.Origin, Needs: old.Needs, Deps: m.renames.Deps(old.Deps)}
	for _, c := range members {
		f := objects.File{Path: strings.TrimPrefix(c.Path, dest+"/"), Size: int64(len(c.Data)), Sum: objects.DigestOf(c.Data), Executable: c.Mode == store.ModeExec || c.Mode == 0 && bytes.HasPrefix(c.Data, []byte("#!"))}
		now.Files = append(now.Files, f)
	}
	slices.SortFunc(now.Files, func(a, b objects.File) int { return strings.Compare(a.Path, b.Path) })
	raw, err := now.Encode()
	if rep.Signed = rep.Why == ""; err != nil || !rep.Signed || m.dry {
		return raw, err
	}
	g, err := m.signer(ctx)
	if err == nil {
		raw, err = g.manifest(ctx, dest, raw, notBefore(g.now, old))
	}
	if err != nil {
		return nil, fault.Wrap(err, "move %s", rep.From)
	}
	b, err := trust.OpenBundle(raw, m.layer.Folder(dest), g.scope, g.Trust)
	rep.Patched = err == nil && b.Patched() != trust.NoPatch
	return raw, err
}

// vacantFolder refuses a directory for a bundle that holds something, or that the lock has.
func (m *mover) vacantFolder(ctx context.Context, dir string, id objects.ID, dest string) error {
	there, err := m.layer.Contents(ctx, dest)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return fault.New(fault.Conflict, "move .ai/%s: %s is there already", dir, session.Shown(m.layer, dest)).Advise("choose another name, or move that one away")
	}
	if _, ok, err := m.Stack.In(ctx, m.layer.Space, objects.BundleRef(id)); err != nil || ok {
		if err == nil {
			err = fault.New(fault.Conflict, "move .ai/%s: the lock has %s already", dir, look.BundleRef(id)).Mend("rye rm %s", look.BundleRef(id))
		}
		return err
	}
	return m.layer.Free(manifestIn(dest))
}

// judgeBundle says why the user's signature does not cover a bundle as it is now; "" when it does.
func (m *mover) judgeBundle(ctx context.Context, dir string, here []store.Change) (string, error) {
	for _, c := range here {
		if path.Base(c.Path) == objects.ManifestName && path.Dir(c.Path) != dir {
			return "", fault.New(fault.Conflict, "move .ai/%s: another bundle lies in it, .ai/%s", dir, path.Dir(c.Path)).Mend("rye rm .ai/%s", path.Dir(c.Path))
		}
	}
	c, err := m.Stack.Cover(ctx, m.layer, manifestIn(dir), &m.covers)
	if err != nil || c == nil {
		return "it has no manifest", err
	}
	if c.Err != nil {
		return c.Err.Error(), nil
	}
	switch err := c.Check(); {
	case err != nil:
		return err.Error(), nil
	case c.State != objects.Signed:
		return "it is " + string(c.State), nil
	case !m.Trust.IsOwn(c.Key()):
		return "it is signed by " + nameOf(m.Trust, c.Key().Fingerprint()), nil
	case c.Patched() != trust.NoPatch:
		return "others own its namespace", nil
	case !m.caller.IsPerson():
		return "only a person signs bundles", nil
	}
	return "", nil
}

// members returns the files of a bundle in their new places, without the manifest. Members with a
// signature line of their own are signed again if the bundle is; otherwise they lose the line,
// which is for the old name.
func (m *mover) members(ctx context.Context, dir, dest string, here []store.Change, rep *rye.MoveReport) ([]store.Change, error) {
	var all []store.Change
	before := len(m.moved)
	for _, c := range here {
		if c.Path == manifestIn(dir) {
			continue
		}
		p := dest + strings.TrimPrefix(c.Path, dir)
		it, err := objects.Parse(c.Path, c.Data)
		if err != nil { // data, which has no id
			all = append(all, store.Change{Path: p, Data: c.Data, Mode: c.Mode})
			continue
		}
		now, err := m.renames.Relocated(it, p)
		if err != nil {
			return nil, err
		}
		data := now.Raw
		rep.Others = rep.Others || m.byOthers(it)
		if it.Signature != nil && rep.Why == "" {
			if rep.Why, err = m.judge(ctx, it, it.Ref, c.Path); err != nil {
				return nil, err
			}
			if rep.Why != "" {
				rep.Why = path.Base(c.Path) + ": " + rep.Why
				m.moved = m.moved[:before]
				return m.members(ctx, dir, dest, here, rep) // none of them is signed
			}
			if !m.dry {
				if data, err = m.signMember(ctx, now); err != nil {
					return nil, err
				}
			}
		}
		was := Moved{From: it.Ref, To: now.Ref}
		if rep.Why == "" {
			was.Was = it.Sum
		}
		m.moved = append(m.moved, was)
		all = append(all, store.Change{Path: p, Data: data, Mode: c.Mode})
	}
	return all, nil
}

func (m *mover) signMember(ctx context.Context, it *objects.Item) ([]byte, error) {
	g, err := m.signer(ctx)
	if err != nil {
		return nil, err
	}
	d := &draft{ref: it.Ref, path: it.Path, SignResult: rye.SignResult{Ref: it.Ref.String()}}
	_, err = g.signItem(ctx, d, it)
	return d.data, err
}

// commit writes and records the move: all of it, or nothing. The text of the commit names each
// item that lost its signature, for rye sign (former).
func (m *mover) commit(ctx context.Context, subject string) (string, error) {
	for _, keep := range m.keeps {
		if err := keep(ctx); err != nil {
			return "", err
		}
	}
	var namespaces []string
	text := subject + "\n"
	if len(m.moves) > 1 {
		text += "\n"
	}
	for _, rep := range m.moves {
		if rep.Signed && !rep.Patched {
			if ref, err := objects.ParseRef(rep.Ref); err == nil {
				namespaces = append(namespaces, ref.ID.Namespace())
			}
		}
		if !rep.Signed && len(m.moves) > 1 {
			text += "move " + rep.From + " to " + rep.Ref + "\n"
		}
	}
	if m.g != nil {
		if err := m.g.note(namespaces...); err != nil {
			return "", err
		}
	}
	commit, err := changeAs(ctx, m.Desk, m.layer, text, m.files, m.record...)
	if err == nil {
		for _, dir := range m.folders {
			m.layer.Prune(dir)
		}
	}
	return commit, err
}
