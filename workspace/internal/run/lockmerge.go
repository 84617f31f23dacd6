package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
	"github.com/rye-os/rye/workspace/internal/session"
)

// MergeLock merges two locks entry by entry. Where both sides changed one, the
// later log position and the later version of a registry's item are taken, and of a
// project's item the pin that fits the file that is here now. What is left is a
// Drift error that names every entry; the result then shows both sides between
// git's markers, and nothing reads it before it is merged.
func MergeLock(ctx context.Context, h *session.Host, q rye.LockMergeRequest) (*rye.LockMergeReport, error) {
	choices, err := lockChoices(h, q.Prefer)
	if err != nil {
		return nil, err
	}
	path, shown := q.Path, q.Path
	if path == "" {
		if h.ProjectDir == "" {
			return nil, session.NoProject()
		}
		path, shown = h.LockPath(), ".ai/"+session.LockFile
	}
	base, err := parseSide("base", q.Base)
	if err != nil {
		return nil, err
	}
	ours, err := parseSide("ours", q.Ours)
	if err != nil {
		return nil, err
	}
	theirs, err := parseSide("theirs", q.Theirs)
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
	return rep, errors.Join(err, place.File(path, text, 0o644))
}

// parseSide reads one of the locks; one that was not there is nil.
func parseSide(which string, text []byte) (*chain.Lock, error) {
	if len(text) == 0 {
		return nil, nil
	}
	l, err := chain.ParseLock(text)
	if err != nil {
		return nil, fault.Wrap(err, "merge locks: %s", which)
	}
	return l, nil
}

// lockChoices are the rules for what both sides changed.
func lockChoices(h *session.Host, prefer string) (chain.LockChoices, error) {
	c := chain.LockChoices{Stdlib: laterRelease, Item: func(_ objects.Ref, ours, theirs *chain.Pin) chain.Side { return fitsHere(h, ours, theirs) }}
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

// laterRelease prefers the standard library that was released later, as far as this
// program knows both.
func laterRelease(ours, theirs chain.StdlibPin) chain.Side {
	a, b := -1, -1
	for i, rel := range stdlib.Releases() {
		if rel.Manifest == ours.Manifest.String() {
			a = i
		}
		if rel.Manifest == theirs.Manifest.String() {
			b = i
		}
	}
	switch {
	case a < 0 || b < 0:
		return chain.Neither
	case a >= b:
		return chain.Ours
	}
	return chain.Theirs
}

// fitsHere prefers the pin whose bytes stand in the working tree. It believes
// nothing: whoever uses the item verifies it.
func fitsHere(h *session.Host, ours, theirs *chain.Pin) chain.Side {
	here := func(p *chain.Pin) bool {
		if p == nil || p.Space != objects.Project || h.ProjectDir == "" {
			return false
		}
		raw, err := os.ReadFile(filepath.Join(h.AIDir(), filepath.FromSlash(p.Path)))
		return err == nil && objects.DigestOf(raw) == p.SHA256
	}
	switch a, b := here(ours), here(theirs); {
	case a && !b:
		return chain.Ours
	case b && !a:
		return chain.Theirs
	}
	return chain.Neither
}
