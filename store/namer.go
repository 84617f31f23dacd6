package store

import (
	"hash"

	"github.com/pjbgf/sha1cd"

	"github.com/rye-os/rye/fault"
)

// namer computes the ids of objects from outside, one after another. Unlike Format.Hash, which
// is for our own bytes, it detects blocks that were made to collide under SHA-1. So two
// objects with one id cannot come in.
type namer struct {
	hash.Hash
	format Format
}

// testOnlyBare, set by a test, omits the header that git hashes before an object's bytes: the
// public collisions do not begin with one.
var testOnlyBare bool

func newNamer(f Format) *namer {
	if f == SHA1 {
		return &namer{sha1cd.New(), f}
	}
	return &namer{f.new(), f}
}

// begin starts an object of size bytes.
func (n *namer) begin(t Type, size int64) {
	n.Reset()
	if !testOnlyBare {
		n.Write(appendHeader(nil, t, size))
	}
}

// name returns the id of the written object, or fault.Malformed for a collision.
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
