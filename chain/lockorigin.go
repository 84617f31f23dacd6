package chain

import (
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// The lock repeats the origins of bundles for tools that read locks and no manifests. The signed
// manifest decides where a bundle came from, so rye reads these entries only to compare them.

// OriginPin repeats the origin of a bundle, as its signed manifest states it.
type OriginPin struct {
	Source     string
	Ref        string // full name; "" for none
	Commit     string // "" for none
	Path       string
	TreeSHA256 objects.Digest
}

// OriginPinOf returns the entry for an origin.
func OriginPinOf(o *objects.Origin) OriginPin {
	return OriginPin{Source: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path, TreeSHA256: o.Sum}
}

// Differs returns the first field in which two entries differ, with both values; "" for none.
func (p OriginPin) Differs(from OriginPin) (field, ours, theirs string) {
	for _, f := range []struct{ name, a, b string }{{"source", p.Source, from.Source}, {"ref", p.Ref, from.Ref}, {"commit", p.Commit, from.Commit},
		{"path", p.Path, from.Path}, {"tree_sha256", p.TreeSHA256.Hex(), from.TreeSHA256.Hex()}} {
		if f.a != f.b {
			return f.name, f.a, f.b
		}
	}
	return "", "", ""
}

// pin reads one entry. Its fields are those that a manifest may have.
func (o originFile) pin(name string) (objects.Ref, OriginPin, error) {
	bad := func(err error) (objects.Ref, OriginPin, error) {
		return objects.Ref{}, OriginPin{}, fault.New(fault.Malformed, "lock: origin of %s: %w", words.Brief(name), err)
	}
	ref, err := objects.ParseRef(name)
	if err == nil && ref.Kind != objects.Bundle {
		err = fault.New(fault.Malformed, "it is no bundle")
	}
	if err != nil {
		return bad(err)
	}
	sum, err := objects.ParseDigest("sha256:" + o.TreeSHA256)
	if err != nil {
		return bad(err)
	}
	const anyTree = "0000000000000000000000000000000000000000" // the lock has no tree, and Check wants one
	stated := objects.Origin{Source: o.Source, Ref: o.Ref, Commit: o.Commit, Path: o.Path, Tree: anyTree, Sum: sum}
	if err := stated.Check(); err != nil {
		return bad(err)
	}
	return ref, OriginPinOf(&stated), nil
}

// origins merges the origins of bundles. Where both sides changed one, the choice decides; else the
// entry is left out, and the next write of the lock states it again.
func (m *lockMerge) origins(base, ours, theirs map[objects.Ref]OriginPin) {
	all := map[objects.Ref]bool{}
	for _, side := range []map[objects.Ref]OriginPin{base, ours, theirs} {
		for ref := range side {
			all[ref] = true
		}
	}
	for ref := range all {
		o, a, b := at(base, ref), at(ours, ref), at(theirs, ref)
		side := decided(o, a, b)
		if side == Neither && m.choices.Origin != nil {
			side = m.choices.Origin(ref, a, b)
		}
		if side == Neither {
			side = m.choices.Rest
		}
		stays := map[Side]*OriginPin{Ours: a, Theirs: b}[side]
		if stays == nil {
			delete(m.out.Origins, ref)
			continue
		}
		m.out.Origins[ref] = *stays
	}
}
