package trust

import (
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// groupOrder is the number of points in the group of the base point (RFC 8032 §5.1).
var groupOrder, _ = new(big.Int).SetString("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", 16)

// forgeries are signatures made from a good one that are good no more, and some that
// were never one.
func forgeries(sig []byte, rnd *rand.Rand) map[string][]byte {
	all := map[string][]byte{"zeros": make([]byte, 64), "cut": sig[:63], "longer": append(sig[:64:64], 0), "none": nil}
	with := func(name string, change func(b []byte)) {
		b := slices.Clone(sig)
		change(b)
		all[name] = b
	}
	for i := range 16 {
		at := rnd.IntN(64)
		with(fmt.Sprintf("bit %d of byte %d, %d", i%8, at, i), func(b []byte) { b[at] ^= 1 << (i % 8) })
	}
	with("s too large", func(b []byte) { // the same number modulo the order
		s := littleEndian(new(big.Int).Add(fromLittleEndian(b[32:]), groupOrder))
		copy(b[32:], s[:])
	})
	with("s the order", func(b []byte) {
		s := littleEndian(groupOrder)
		copy(b[32:], s[:])
	})
	with("s nothing", func(b []byte) { clear(b[32:]) })
	for i, y := range smallOrder {
		with(fmt.Sprintf("r of small order %d", i), func(b []byte) { copy(b, y[:]) })
		with(fmt.Sprintf("r of small order %d, other sign", i), func(b []byte) { copy(b, y[:]); b[31] ^= 0x80 })
		with(fmt.Sprintf("r of small order %d, s nothing", i), func(b []byte) { copy(b, y[:]); clear(b[32:]) })
	}
	with("r not canonical", func(b []byte) { // y = p+1, which is 1
		y := littleEndian(new(big.Int).Add(fieldP, big.NewInt(1)))
		copy(b, y[:])
	})
	with("noise", func(b []byte) {
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
	})
	return all
}

func TestForgedSignatures(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		k, other := newKey(t), newKey(t)
		check := func(name string, msg, sig []byte, want bool) {
			t.Helper()
			if got := k.Public().Verify(msg, sig); got != want {
				t.Errorf("%s: Verify(%x, %x) = %v, want %v", name, msg, sig, got, want)
			}
		}
		for i := range 5 {
			msg := make([]byte, i*56)
			for j := range msg {
				msg[j] = byte(rnd.Uint32())
			}
			sig, err := k.Sign(t.Context(), msg)
			must(t, err)
			check("good", msg, sig, true)
			check("of another message", append(msg, 1), sig, false)
			theirs, err := other.Sign(t.Context(), msg)
			must(t, err)
			check("by another key", msg, theirs, false)
			for name, bad := range forgeries(sig, rnd) {
				check(name, msg, bad, false)
			}
		}
	}
}

// A key may be a point of the large group plus one of small order. A signature by it
// holds only where the point of small order falls out of [S]B - [k]A. Readers who multiply
// by 8 first say that all of them hold, and then two readers disagree about one file.
func TestKeysOfMixedOrder(t *testing.T) {
	base, _ := pointAt(mod(new(big.Int).Mul(big.NewInt(4), new(big.Int).ModInverse(big.NewInt(5), fieldP))))
	if base.x.Bit(0) == 1 {
		base.x.Sub(fieldP, base.x)
	}
	hash := sha512.Sum512([]byte("a seed"))
	a := new(big.Int).Mod(fromLittleEndian(hash[:]), groupOrder)
	if got := base.times(groupOrder); got.encode() != [32]byte{1} {
		t.Fatalf("the base point times the order is %x", got.encode())
	}
	for _, small := range []struct {
		order int64
		y     [32]byte
	}{{1, smallOrder[0]}, {2, smallOrder[1]}, {4, smallOrder[2]}, {8, smallOrder[3]}, {8, smallOrder[4]}} {
		low, _ := pointAt(fromLittleEndian(small.y[:]))
		pub := base.times(a).add(low).encode()
		k, err := PublicKeyFromBytes(pub[:])
		if err != nil {
			t.Fatalf("order %d: %v", small.order, err)
		}
		held, r, commitment := 0, big.NewInt(1), base
		for i := range 40 {
			msg, sig := fmt.Appendf(nil, "message %d", i), make([]byte, ed25519.SignatureSize)
			e := commitment.encode()
			copy(sig, e[:])
			hash := sha512.Sum512(slices.Concat(sig[:32], pub[:], msg))
			h := new(big.Int).Mod(fromLittleEndian(hash[:]), groupOrder)
			s := new(big.Int).Mul(h, a)
			e = littleEndian(s.Add(s, r).Mod(s, groupOrder))
			copy(sig[32:], e[:])

			want := new(big.Int).Mod(h, big.NewInt(small.order)).Sign() == 0
			if got := k.Verify(msg, sig); got != want {
				t.Errorf("order %d, message %d: Verify = %v, want %v", small.order, i, got, want)
			}
			if want {
				held++
			}
			r.Add(r, big.NewInt(1))
			commitment = commitment.add(base)
		}
		if held == 0 || held == 40 && small.order > 1 {
			t.Errorf("order %d: %d of 40 held: that shows nothing", small.order, held)
		}
	}
}
