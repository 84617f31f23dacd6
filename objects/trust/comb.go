package trust

import (
	"bytes"
	"crypto/sha512"
	"sync"

	"filippo.io/edwards25519"
)

// A comb verifies many signatures by one key. It holds multiples of the key, so that a signature
// takes 64 additions of points and no doubling: about a third of the work. It accepts exactly what
// crypto/ed25519 accepts, because both compute the same point and compare the same 32 bytes
// (TestCombIsEd25519, FuzzComb). All arithmetic is edwards25519's, which is
// the code of crypto/ed25519; the comb chooses what to add.
type comb struct {
	key   PublicKey
	minus *multiples // of the key's negative
}

// newComb takes about as long as twenty signatures.
func newComb(k PublicKey) *comb {
	a, err := new(edwards25519.Point).SetBytes(k.b[:])
	if err != nil {
		return nil // never: the key was checked when it was made
	}
	return &comb{k, multiplesOf(a.Negate(a))}
}

// verify reports whether sig is a signature of msg, as crypto/ed25519 does: the point
// [s]B - [k]A must have the encoding that the signature begins with, where k is the SHA-512 over
// that encoding, the key and the message.
func (c *comb) verify(msg, sig []byte) bool {
	if len(sig) != 64 {
		return false
	}
	h := sha512.New()
	h.Write(sig[:32])
	h.Write(c.key.b[:])
	h.Write(msg)
	var sum [sha512.Size]byte
	var k, s edwards25519.Scalar
	if _, err := k.SetUniformBytes(h.Sum(sum[:0])); err != nil {
		return false
	}
	if _, err := s.SetCanonicalBytes(sig[32:]); err != nil {
		return false
	}
	r := edwards25519.NewIdentityPoint()
	c.minus.add(r, k.Bytes())
	basePoint().add(r, s.Bytes())
	return bytes.Equal(sig[:32], r.Bytes())
}

// multiples holds, at i and j, a point times (j+1)·256^i.
type multiples [32][128]edwards25519.Point

var basePoint = sync.OnceValue(func() *multiples { return multiplesOf(edwards25519.NewGeneratorPoint()) })

func multiplesOf(p *edwards25519.Point) *multiples {
	m, unit := new(multiples), new(edwards25519.Point).Set(p)
	for i := range m {
		m[i][0].Set(unit)
		for j := 1; j < len(m[i]); j++ {
			m[i][j].Add(&m[i][j-1], unit)
		}
		unit.Double(&m[i][len(m[i])-1])
	}
	return m
}

// add adds to sum the point times a number below 2^253, little-endian. It takes the bytes as
// digits from -127 to 128.
func (m *multiples) add(sum *edwards25519.Point, number []byte) {
	carry := 0
	for i, b := range number {
		d := int(b) + carry
		if carry = 0; d > 128 {
			d, carry = d-256, 1
		}
		switch {
		case d > 0:
			sum.Add(sum, &m[i][d-1])
		case d < 0:
			sum.Subtract(sum, &m[i][-d-1])
		}
	}
}

// Bounds of combs: a key gets one after so many signatures, and so many keys do. Each takes 660 KB.
const (
	combAfter = 64
	maxCombs  = 4
)

// combs holds the combs of a process's keys. The zero value is ready, and safe for concurrent use.
type combs struct {
	mu    sync.Mutex
	times map[PublicKey]int
	made  map[PublicKey]func() *comb
}

// verify is k.Verify. What a comb refuses, crypto/ed25519 decides.
func (c *combs) verify(k PublicKey, msg, sig []byte) bool {
	if of := c.of(k); of != nil {
		if made := of(); made != nil && made.verify(msg, sig) {
			return true
		}
	}
	return k.Verify(msg, sig)
}

// of counts a signature, and returns the function that returns k's comb; nil for none.
func (c *combs) of(k PublicKey) func() *comb {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of := c.made[k]; of != nil || len(c.made) == maxCombs || k.IsZero() {
		return of
	}
	if c.times == nil {
		c.times, c.made = map[PublicKey]int{}, map[PublicKey]func() *comb{}
	}
	if c.times[k]++; c.times[k] > combAfter {
		c.made[k] = sync.OnceValue(func() *comb { return newComb(k) })
	}
	return c.made[k]
}
