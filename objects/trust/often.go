package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"sync"
	"sync/atomic"

	"filippo.io/edwards25519"
)

// Most processes look at one signature or two, and the others at thousands by one or
// two keys. A signature holds when [S]B - [k]A is its R (RFC 8032 §5.1.7); crypto/ed25519
// doubles a point 250 times for that, and before the first makes a table of multiples of
// B, which takes as long as five verifications. The first few do without that table:
// 0.09 ms instead of 0.43. For a key that signed much there are tables of multiples of A
// as well, and nothing to double: 23 µs instead of 51. The answer is the same for every
// signature, which TestOftenAsCryptoEd25519 compares.

const (
	// digitBits is the size of the digits that scalars are taken apart into: 220 KB a
	// table, which the cache of a processor holds. Seven or eight bits are hardly faster.
	digitBits = 6
	digits    = (256 + digitBits - 1) / digitBits
	digitMax  = 1 << (digitBits - 1)

	fewSignatures  = 8  // by all keys, that are verified without any table
	manySignatures = 32 // by one key, before a table is made for it: that costs as much as six
	maxOften       = 16 // keys with a table
	maxSeen        = 1024
)

// multiples holds i·2^(6d)·P for the digit d and 1 ≤ i ≤ 32, at [d][i-1].
type multiples [digits][digitMax]edwards25519.Point

func newMultiples(p *edwards25519.Point) *multiples {
	m := new(multiples)
	at := new(edwards25519.Point).Set(p)
	for d := range m {
		m[d][0].Set(at)
		for i := 1; i < digitMax; i++ {
			m[d][i].Add(&m[d][i-1], at)
		}
		at.Add(&m[d][digitMax-1], &m[d][digitMax-1])
	}
	return m
}

// addTo adds k·P to sum. It takes time that depends on k: nothing here is secret.
func (m *multiples) addTo(sum *edwards25519.Point, k *edwards25519.Scalar) {
	b := k.Bytes()
	carry, have, acc := 0, 0, 0
	for d := range m {
		for have < digitBits && len(b) > 0 {
			acc |= int(b[0]) << have
			b = b[1:]
			have += 8
		}
		n := acc&(2*digitMax-1) + carry
		acc >>= digitBits
		have -= digitBits
		if carry = 0; n > digitMax {
			n -= 2 * digitMax
			carry = 1
		}
		switch {
		case n > 0:
			sum.Add(sum, &m[d][n-1])
		case n < 0:
			sum.Subtract(sum, &m[d][-n-1])
		}
	}
}

var baseMultiples = sync.OnceValue(func() *multiples { return newMultiples(edwards25519.NewGeneratorPoint()) })

// often counts signatures by key, and has the tables of those that were seen often.
var often struct {
	tables atomic.Pointer[map[PublicKey]*multiples] // of -A; replaced, never changed
	first  atomic.Int32                             // signatures that were verified without

	mu   sync.Mutex
	seen map[PublicKey]int
}

// tableFor returns the multiples of -A for a key that signs often; else nil.
func tableFor(k PublicKey) *multiples {
	var tables map[PublicKey]*multiples
	if p := often.tables.Load(); p != nil {
		tables = *p
		if m := tables[k]; m != nil || len(tables) == maxOften {
			return m
		}
	}
	often.mu.Lock()
	if often.seen == nil || len(often.seen) >= maxSeen {
		often.seen = map[PublicKey]int{}
	}
	often.seen[k]++
	many := often.seen[k] == manySignatures // one of those who ask makes the table
	often.mu.Unlock()
	if !many {
		return nil
	}
	return newTable(k)
}

func newTable(k PublicKey) *multiples {
	a, err := new(edwards25519.Point).SetBytes(k.b[:])
	if err != nil {
		return nil // crypto/ed25519 says what is wrong
	}
	m := newMultiples(a.Negate(a))
	often.mu.Lock()
	defer often.mu.Unlock()
	more := map[PublicKey]*multiples{k: m}
	if p := often.tables.Load(); p != nil {
		for k, m := range *p {
			if len(more) < maxOften {
				more[k] = m
			}
		}
	}
	often.tables.Store(&more)
	return m
}

// verify is ed25519.Verify.
func verify(k PublicKey, msg, sig []byte) bool {
	if m := tableFor(k); m != nil {
		return m.verify(k, msg, sig)
	}
	if often.first.Load() < fewSignatures && often.first.Add(1) <= fewSignatures {
		return verifyAlone(k, msg, sig)
	}
	return len(sig) == ed25519.SignatureSize && ed25519.Verify(k.b[:], msg, sig)
}

// verify is ed25519.Verify for the key that m holds the multiples of, negated.
func (m *multiples) verify(k PublicKey, msg, sig []byte) bool {
	s, h, ok := scalars(k, msg, sig)
	if !ok {
		return false
	}
	r := edwards25519.NewIdentityPoint()
	baseMultiples().addTo(r, s)
	m.addTo(r, h)
	return bytes.Equal(r.Bytes(), sig[:32])
}

// verifyAlone is ed25519.Verify without any table.
func verifyAlone(k PublicKey, msg, sig []byte) bool {
	a, err := new(edwards25519.Point).SetBytes(k.b[:])
	s, h, ok := scalars(k, msg, sig)
	if err != nil || !ok {
		return false
	}
	r := new(edwards25519.Point).VarTimeMultiScalarMult([]*edwards25519.Scalar{s, h},
		[]*edwards25519.Point{edwards25519.NewGeneratorPoint(), a.Negate(a)})
	return bytes.Equal(r.Bytes(), sig[:32])
}

// scalars returns S and k of RFC 8032; not ok is a signature that cannot hold.
func scalars(k PublicKey, msg, sig []byte) (s, h *edwards25519.Scalar, ok bool) {
	if len(sig) != ed25519.SignatureSize {
		return nil, nil, false
	}
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(sig[32:])
	if err != nil {
		return nil, nil, false
	}
	hash := sha512.New()
	hash.Write(sig[:32])
	hash.Write(k.b[:])
	hash.Write(msg)
	h, err = new(edwards25519.Scalar).SetUniformBytes(hash.Sum(make([]byte, 0, sha512.Size)))
	return s, h, err == nil
}
