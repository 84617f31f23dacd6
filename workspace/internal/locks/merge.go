package locks

import (
	"context"
	"errors"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/merging"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Merge merges two locks entry by entry. Where both sides changed one, it takes the later log
// position, or the later version of a registry's item. Of a project's item it takes the pin
// that fits the present file. A Drift error names every entry that no rule decides. The result
// then shows both sides between git's markers, and no verb reads it before it is merged.
func Merge(_ context.Context, h *session.Host, q rye.LockMergeRequest) (*rye.LockMergeReport, error) {
	choices, err := choicesOf(h, q.Prefer)
	if err != nil {
		return nil, err
	}
	path, shown, write := q.Path, q.Path, func(text []byte) error { return place.File(q.Path, text, 0o644) }
	if path == "" {
		if h.ProjectDir == "" {
			return nil, h.NoProject()
		}
		shown, write = shownPath, func(text []byte) error { return session.WriteAI(h, session.LockFile, text) }
	}
	base, ours, theirs, err := parseSides(q)
	if err != nil {
		return nil, err
	}
	merged, conflicts := chain.MergeLocks(base, ours, theirs, choices)
	rep := &rye.LockMergeReport{Path: shown, Items: len(merged.Items)}
	for _, c := range conflicts {
		rep.Conflicts = append(rep.Conflicts, c.String())
	}
	text := chain.ShowConflict(q.Base, q.Ours, q.Theirs)
	if len(conflicts) > 0 {
		err = fault.New(fault.Drift, "merge locks: %s", strings.Join(rep.Conflicts, "; ")).
			Advise("rye lock merge --prefer ours (or theirs), then rye lock verify")
	} else if text, err = merged.Encode(); err == nil {
		_, err = chain.ParseLock(text) // two halves that do not fit together are not written
	}
	if q.DryRun || err != nil && len(conflicts) == 0 {
		return rep, err
	}
	return rep, errors.Join(err, write(text))
}

// parseSides parses the three locks of a merge; a missing one is nil.
func parseSides(q rye.LockMergeRequest) (base, ours, theirs *chain.Lock, err error) {
	for _, side := range []struct {
		name string
		text []byte
		into **chain.Lock
	}{{"base", q.Base, &base}, {"ours", q.Ours, &ours}, {"theirs", q.Theirs, &theirs}} {
		if len(side.text) == 0 {
			continue
		}
		if *side.into, err = chain.ParseLock(side.text); err != nil {
			return nil, nil, nil, fault.Wrap(err, "merge locks: %s", side.name)
		}
	}
	return base, ours, theirs, nil
}

// choicesOf returns the rules for entries that both sides changed.
func choicesOf(h *session.Host, prefer string) (chain.LockChoices, error) {
	c := chain.LockChoices{Stdlib: merging.LaterRelease, Item: func(_ objects.Ref, ours, theirs *chain.Pin) chain.Side {
		return oneOf(fitsHere(h, ours), fitsHere(h, theirs))
	}, Origin: func(ref objects.Ref, ours, theirs *chain.OriginPin) chain.Side {
		return oneOf(statedHere(h, ref, ours), statedHere(h, ref, theirs))
	}}
	switch prefer {
	case "":
	case "ours":
		c.Rest = chain.Ours
	case "theirs":
		c.Rest = chain.Theirs
	default:
		return c, fault.New(fault.Usage, "merge locks: %q: want ours or theirs", prefer)
	}
	return c, nil
}

// oneOf returns the side that a rule chose, if it chose exactly one.
func oneOf(ours, theirs bool) chain.Side {
	switch {
	case ours && !theirs:
		return chain.Ours
	case theirs && !ours:
		return chain.Theirs
	}
	return chain.Neither
}

// fitsHere reports whether the working tree holds the bytes of a pin. It verifies nothing:
// every use of the item does.
func fitsHere(h *session.Host, p *chain.Pin) bool {
	if p == nil || p.Space != objects.Project || h.ProjectDir == "" {
		return false
	}
	l := space.Layer{Space: objects.Project, Dir: h.AIDir()}
	defer l.Close()
	raw, err := l.Read(p.Path)
	return err == nil && objects.DigestOf(raw) == p.SHA256
}

// statedHere reports whether the manifest in the working tree states an origin. Like fitsHere it
// verifies nothing: the entry is only a copy.
func statedHere(h *session.Host, ref objects.Ref, o *chain.OriginPin) bool {
	if o == nil || h.ProjectDir == "" {
		return false
	}
	dir, err := dirOf(ref)
	if err != nil {
		return false
	}
	l := space.Layer{Space: objects.Project, Dir: h.AIDir()}
	defer l.Close()
	raw, err := l.Read(dir + "/" + objects.ManifestName)
	if err != nil {
		return false
	}
	m, err := objects.ParseManifest(raw)
	return err == nil && m.Origin != nil && chain.OriginPinOf(m.Origin) == *o
}

// dirOf returns the directory of a bundle below .ai.
func dirOf(bundle objects.Ref) (string, error) {
	ns, name, _ := strings.Cut(string(bundle.ID), "/")
	return objects.BundleDir(objects.ID(ns + "/bundle/" + name))
}
