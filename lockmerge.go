package rye

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/stdlib"
)

// LockMergeRequest holds the locks to merge.
type LockMergeRequest struct {
	Base, Ours, Theirs []byte // texts; an empty one is a lock that was not there
	Path               string // of the result; "" is the project's lock
	Prefer             string // "ours" or "theirs" for what no rule decides; "" refuses
	DryRun             bool
}

// LockMergeReport says what became of a merge.
type LockMergeReport struct {
	Path      string   `json:"path"`
	Items     int      `json:"items"`
	Conflicts []string `json:"conflicts,omitempty"` // that no rule decided
}

// MergeLock merges two locks entry by entry. Where both sides changed one, the
// later log position and the later version of a registry's item are taken, and of a
// project's item the pin that fits the file that is here now. What is left is a
// Drift error that names every entry; the result then shows both sides between
// git's markers, and nothing reads it before it is merged.
func (r *Rye) MergeLock(ctx context.Context, q LockMergeRequest) (*LockMergeReport, error) {
	choices, err := r.lockChoices(q.Prefer)
	if err != nil {
		return nil, err
	}
	path, shown := q.Path, q.Path
	if path == "" {
		if r.o.Project == "" {
			return nil, noProject()
		}
		path, shown = r.lockPath(), ".ai/"+LockFile
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
	rep := &LockMergeReport{Path: shown, Items: len(merged.Items)}
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
func (r *Rye) lockChoices(prefer string) (chain.LockChoices, error) {
	c := chain.LockChoices{Stdlib: laterRelease, Item: r.fitsHere}
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
func (r *Rye) fitsHere(_ objects.Ref, ours, theirs *chain.Pin) chain.Side {
	here := func(p *chain.Pin) bool {
		if p == nil || p.Space != objects.Project || r.o.Project == "" {
			return false
		}
		raw, err := os.ReadFile(filepath.Join(r.aiDir(), filepath.FromSlash(p.Path)))
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
