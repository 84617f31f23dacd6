package oplog

import (
	"slices"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// Point is a verified place in a log: a floor below which a registry may not fall back afterwards.
// Locks hold points too.
type Point struct {
	Genesis objects.Digest // raw claim; zero for the root, whose genesis identifies the registry
	Seq     uint64
	Tip     store.OID
	Sum     objects.Digest // of the raw commit at Seq
	Owners  uint64         // of the state at Seq
	Last    Position       // the last operation with effect, if it is not the one at Seq
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

// Effective returns the last operation with effect up to p.
func (p Point) Effective() Position {
	if p.Last.Seq > 0 {
		return p.Last
	}
	return Position{p.Seq, p.Tip, p.Sum}
}

// Point returns where the root stands.
func (r Root) Point() Point { return Point{Seq: r.Seq, Tip: r.At, Sum: r.Tip} }

// Points returns the root's checkpoint as a list with no point or one.
func (g *Grant) Points() []Point {
	if g == nil || g.Checkpoint == nil {
		return nil
	}
	c := g.Checkpoint
	return []Point{{Seq: c.Seq, Tip: c.ID, Sum: c.Sum}}
}

// Contradicts reports whether the root's checkpoint is ahead of the known log or names another
// operation at its end. News of the root is stored even if it contradicts a log, so every sync asks
// this. A checkpoint of an earlier operation is compared only when the root moves, because that
// takes a walk.
func (g *Grant) Contradicts(p Point) bool {
	return slices.ContainsFunc(g.Points(), func(c Point) bool {
		return c.Seq > p.Seq || c.Seq == p.Seq && c.Sum != p.Sum
	})
}
