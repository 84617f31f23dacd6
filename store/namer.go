package store

import (
	"hash"

	"github.com/pjbgf/sha1cd"

	"github.com/rye-os/rye/fault"
)

// namer computes the id of an object from outside. Unlike Format.Hash, which names
// our own bytes, it recognises blocks that were made to collide under SHA-1, so that
// no two objects of one id can come in.
// It names one object after another.
type namer struct {
	hash.Hash
	format Format
}

// testOnlyBare, set by a test, leaves out the header that git hashes before an
// object's bytes: the collisions that are public do not begin with one.
var testOnlyBare bool

func newNamer(f Format) *namer {
	if f == SHA1 {
		return &namer{sha1cd.New(), f}
	}
	return &namer{f.new(), f}
}

// begin begins an object of size bytes.
func (n *namer) begin(t Type, size int64) {
	n.Reset()
	if !testOnlyBare {
		n.Write(appendHeader(nil, t, size))
	}
}

// name returns the id of what was written: fault.Malformed for a collision.
func (n *namer) name() (OID, error) {
	d, ok := n.Hash.(sha1cd.CollisionResistantHash)
	if !ok {
		return oidOf(n.Sum(nil)), nil
	}
	sum, collides := d.CollisionResistantSum(nil)
	if collides {
		return OID{}, fault.New(fault.Malformed, "an object holds blocks that were made to collide under SHA-1")
	}
	return oidOf(sum), nil
}
