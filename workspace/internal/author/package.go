package author

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Package is a bundle for the project: the ref of its entry, its directory below .ai and its
// files.
type Package struct {
	Ref    objects.Ref
	Dir    string
	Files  []store.Change
	Origin *objects.Origin // nil for none
	Left   []string        // about files there that are not in it, or otherwise than there
	// Manifest lists the files, and is unsigned.
	Manifest []byte
}

// TakeIn takes items and bundles into the project as they are, unsigned ones too, in one
// commit. It judges everything before it writes anything; in between it calls agree with the
// reports. Of several bundles one that is refused keeps the others not out: its report has a code.
func TakeIn(ctx context.Context, s *custody.Desk, q rye.AddRequest, items []*objects.Item, packages []Package, agree func([]rye.AddReport) error) ([]rye.AddReport, error) {
	l, err := changeable(ctx, s, q.Space, q.DryRun)
	if err != nil {
		return nil, err
	}
	in, err := checkAddition(ctx, s, l, items, q.Force)
	if err != nil {
		return nil, err
	}
	var refused []rye.AddReport
	for _, p := range packages {
		err := in.take(ctx, s, p, q.Force)
		if err == nil {
			continue
		}
		if len(packages)+len(items) == 1 || ctx.Err() != nil || fault.CodeOf(err) == fault.Failed {
			return nil, err
		}
		refused = append(refused, rye.AddReport{Path: session.Shown(l, p.Dir), Why: err.Error(), Code: fault.CodeOf(err), Next: fault.HintOf(err)})
	}
	if q.DryRun || len(in.reports) == 0 {
		return append(in.preview(), refused...), nil
	}
	if err := agree(append(slices.Clone(in.reports), refused...)); err != nil {
		return nil, err
	}
	err = in.record(ctx, s)
	return append(in.reports, refused...), err
}

// take judges a bundle. An existing one with the same files stays as it is, signed or not; a
// different one is replaced with force only.
func (in *addition) take(ctx context.Context, s *custody.Desk, p Package, force bool) error {
	l := in.layer
	if err := s.Stack.OwnedByLock(l, p.Ref); err != nil {
		return err
	}
	if at, err := l.Locate(p.Ref); err != nil {
		return err
	} else if dir, _ := objects.InBundles(at); at != "" && dir != p.Dir {
		return fault.New(fault.Conflict, "add %s: .ai/%s is there already", p.Ref, at).Advise("give it another name, with --as <id>")
	}
	here, err := l.Contents(ctx, p.Dir)
	if err != nil {
		return err
	}
	rep := rye.AddReport{Ref: p.Ref.String(), Path: session.Shown(l, p.Dir), SHA256: objects.DigestOf(p.Manifest).String(), State: objects.Unsigned}
	switch old, _ := oldManifest(l, p.Dir); {
	case old != nil && sameFiles(old, p.Manifest) && holds(here, p.Files) && !(force && old.Origin == nil):
		return in.addBundle(ctx, s, p.Dir)
	case len(here) > 0 && !force:
		return fault.New(fault.Conflict, "add %s: .ai/%s is already there and differs", p.Ref, p.Dir).
			Advise("rye add --force replaces it, and records the old files first")
	}
	rep.Next = fault.Command("rye sign .ai/%s", p.Dir)
	m, err := objects.ParseManifest(p.Manifest)
	if err != nil {
		return err
	}
	rep.Programs = programsOf(m, nil, p.Files, p.Dir)
	files := append(slices.Clone(p.Files), store.Change{Path: manifestIn(p.Dir), Data: p.Manifest})
	for _, c := range files {
		if err := l.Free(c.Path); err != nil {
			return err
		}
	}
	stays := pathsOf(files)
	for _, c := range here {
		if !stays[c.Path] {
			files = append(files, store.Change{Path: c.Path, Delete: true})
		}
	}
	in.kept, in.written = append(in.kept, here...), append(in.written, files...)
	in.reports, in.refs = append(in.reports, rep), append(in.refs, p.Ref)
	return nil
}

// sameFiles reports whether two manifests list the same files.
func sameFiles(m *objects.Manifest, raw []byte) bool {
	n, err := objects.ParseManifest(raw)
	return err == nil && slices.Equal(m.Files, n.Files)
}

// holds reports whether here has all of files, byte for byte.
func holds(here, files []store.Change) bool {
	have := map[string]string{}
	for _, c := range here {
		have[c.Path] = string(c.Data) + "there"
	}
	return !slices.ContainsFunc(files, func(c store.Change) bool { return have[c.Path] != string(c.Data)+"there" })
}
