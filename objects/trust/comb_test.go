package trust

import (
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"

	"filippo.io/edwards25519"
)

// groupOrderBytes is groupOrder, little-endian.
func groupOrderBytes() []byte { b := littleEndian(groupOrder); return b[:] }

// TestCombIsEd25519: a comb accepts a signature exactly when crypto/ed25519 does, whatever was
// done to it.
func TestCombIsEd25519(t *testing.T) {
	for n := range 2 {
		private := ed25519.NewKeyFromSeed(slices.Repeat([]byte{byte(n)}, ed25519.SeedSize))
		k, err := PublicKeyFromBytes(private.Public().(ed25519.PublicKey))
		must(t, err)
		c := newComb(k)
		msg := fmt.Appendf(nil, "message %d", n)
		good := ed25519.Sign(private, msg)
		if !c.verify(msg, good) {
			t.Fatalf("key %d: its signature is refused", n)
		}
		for bit := range 8 * len(good) {
			bad := slices.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			sameAsEd25519(t, c, msg, bad)
		}
		sameAsEd25519(t, c, []byte("another"), good)
		sameAsEd25519(t, c, msg, good[:63])
		sameAsEd25519(t, c, msg, append(slices.Clone(good), 0))
		sameAsEd25519(t, c, msg, nil)
		// S + L is the same number for the curve, and a second spelling of the signature.
		s := new(big.Int).SetBytes(reversed(good[32:]))
		for range 8 {
			if s.Add(s, groupOrder); s.BitLen() > 256 {
				break
			}
			more := littleEndian(s)
			sameAsEd25519(t, c, msg, append(slices.Clone(good[:32]), more[:]...))
		}
		for _, y := range smallOrder { // points of small order, and spellings that are not canonical, for R
			for _, sign := range []byte{0, 0x80} {
				r := y
				r[31] |= sign
				for _, s := range [][]byte{make([]byte, 32), good[32:], groupOrderBytes()} {
					sameAsEd25519(t, c, msg, append(slices.Clone(r[:]), s...))
				}
			}
		}
	}
}

// TestCombOfMixedOrder: the key is a point with a part of small order. Then a signature holds for
// some messages only, and a check with the cofactor, or in batches, would accept others.
func TestCombOfMixedOrder(t *testing.T) {
	small, err := new(edwards25519.Point).SetBytes(smallOrder[3][:])
	must(t, err)
	seed := sha512.Sum512([]byte("a"))
	secret, err := edwards25519.NewScalar().SetUniformBytes(seed[:])
	must(t, err)
	a := new(edwards25519.Point).ScalarBaseMult(secret)
	k, err := PublicKeyFromBytes(a.Add(a, small).Bytes())
	must(t, err)
	c, accepted := newComb(k), 0
	for n := range uint64(64) {
		msg := binary.LittleEndian.AppendUint64(nil, n)
		nonce := sha512.Sum512(msg)
		r, err := edwards25519.NewScalar().SetUniformBytes(nonce[:])
		must(t, err)
		sig := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
		sum := sha512.Sum512(slices.Concat(sig, k.b[:], msg))
		h, err := edwards25519.NewScalar().SetUniformBytes(sum[:])
		must(t, err)
		sig = append(sig, edwards25519.NewScalar().MultiplyAdd(h, secret, r).Bytes()...)
		if sameAsEd25519(t, c, msg, sig) {
			accepted++
		}
	}
	if accepted == 0 || accepted == 64 {
		t.Errorf("%d of 64 signatures are accepted, want about an eighth: the key has no part of small order", accepted)
	}
}

// sameAsEd25519 compares one verdict, and returns it.
func sameAsEd25519(t *testing.T, c *comb, msg, sig []byte) bool {
	t.Helper()
	want := c.key.Verify(msg, sig)
	if got := c.verify(msg, sig); got != want {
		t.Errorf("key %x, message %q, signature %x: the comb says %v, crypto/ed25519 %v", c.key.b, msg, sig, got, want)
	}
	return want
}

func reversed(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}

// FuzzComb compares a comb with crypto/ed25519 for any key, message and signature. Where the
// seed is used, the signature is a good one with changes.
func FuzzComb(f *testing.F) {
	f.Add([]byte("seed"), []byte("message"), make([]byte, 64), false)
	f.Add([]byte{}, []byte{}, []byte{31: 1}, true)
	f.Fuzz(func(t *testing.T, seed, msg, change []byte, raw bool) {
		sum := sha512.Sum512(seed)
		private := ed25519.NewKeyFromSeed(sum[:32])
		public := private.Public().(ed25519.PublicKey)
		sig := ed25519.Sign(private, msg)
		if raw { // the change is the key
			if len(change) != 32 {
				return
			}
			public = change
		} else {
			for i := range min(len(change), len(sig)) {
				sig[i] ^= change[i]
			}
		}
		k, err := PublicKeyFromBytes(public)
		if err != nil {
			return
		}
		sameAsEd25519(t, newComb(k), msg, sig)
	})
}

// TestCombs: a key gets a comb after combAfter signatures, so many keys do, and what is verified
// is the same before, then and after.
func TestCombs(t *testing.T) {
	var c combs
	msg := []byte("message")
	for n := range maxCombs + 2 {
		private := ed25519.NewKeyFromSeed(slices.Repeat([]byte{byte(n)}, ed25519.SeedSize))
		k, err := PublicKeyFromBytes(private.Public().(ed25519.PublicKey))
		must(t, err)
		good := ed25519.Sign(private, msg)
		bad := slices.Clone(good)
		bad[0] ^= 1
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				for range combAfter {
					if !c.verify(k, msg, good) || c.verify(k, msg, bad) {
						t.Errorf("key %d: a wrong answer", n)
					}
				}
			})
		}
		wait.Wait()
		if got := len(c.made); got != min(n+1, maxCombs) {
			t.Errorf("after %d keys: %d combs", n+1, got)
		}
	}
	if c.verify(PublicKey{}, msg, make([]byte, 64)) {
		t.Error("the zero key verifies a signature")
	}
}

func BenchmarkComb(b *testing.B) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	k, err := PublicKeyFromBytes(private.Public().(ed25519.PublicKey))
	must(b, err)
	msg := make([]byte, 300)
	sig := ed25519.Sign(private, msg)
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			newComb(k)
		}
	})
	b.Run("verify", func(b *testing.B) {
		c := newComb(k)
		for b.Loop() {
			c.verify(msg, sig)
		}
	})
	b.Run("ed25519", func(b *testing.B) {
		for b.Loop() {
			k.Verify(msg, sig)
		}
	})
}
