package oplog

import (
	"slices"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Point is a place in a log that was verified: a floor under what a registry may
// show afterwards. Locks hold points too.
type Point struct {
	Genesis objects.Digest // raw claim; zero for the root, whose genesis is the registry's identity
	Seq     uint64
	Tip     store.OID
	Sum     objects.Digest // of the raw commit at Seq
	Owners  uint64         // of the state at Seq
	Last    Position       // the last operation that has effect, where that is not the one at Seq
}

// LogName names a log for people.
func LogName(namespace string) string {
	if namespace == "" {
		return "root of the registry"
	}
	return "namespace " + namespace
}

// Point returns where the log of a namespace stands.
func (s State) Point() Point {
	p := Point{Genesis: s.Genesis, Seq: s.Seq, Tip: s.At, Sum: s.Tip, Owners: s.Owners}
	if s.last.Seq != s.Seq {
		p.Last = s.last
	}
	return p
}

// Effective returns the last operation up to p that has effect.
func (p Point) Effective() Position {
	if p.Last.Seq > 0 {
		return p.Last
	}
	return Position{p.Seq, p.Tip, p.Sum}
}

// Point returns where the root stands.
func (r Root) Point() Point { return Point{Seq: r.Seq, Tip: r.At, Sum: r.Tip} }

// Points returns what the root vouches for, as a list of none or one.
func (g *Grant) Points() []Point {
	if g == nil || g.Checkpoint == nil {
		return nil
	}
	c := g.Checkpoint
	return []Point{{Seq: c.Seq, Tip: c.ID, Sum: c.Sum}}
}

// Contradicts reports whether the root vouches for more of a log than is known of it, or for
// another operation at its end. News of the root is kept although it contradicts a log, so
// each sync asks this, not only the one that brought the news. A checkpoint of an earlier
// operation is compared when the root moves: that takes a walk.
func (g *Grant) Contradicts(p Point) bool {
	return slices.ContainsFunc(g.Points(), func(c Point) bool {
		return c.Seq > p.Seq || c.Seq == p.Seq && c.Sum != p.Sum
	})
}
