package trust

import (
	"crypto/ed25519"
	"crypto/sha512"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"filippo.io/edwards25519"
)

// order is the number of points in the group of the base point (RFC 8032 §5.1).
var order, _ = new(big.Int).SetString("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", 16)

func keyFor(t testing.TB, seed byte) (PublicKey, ed25519.PrivateKey) {
	t.Helper()
	priv := ed25519.NewKeyFromSeed([]byte{seed, 31: 0})
	k, err := PublicKeyFromBytes(priv.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return k, priv
}

func tableOf(t testing.TB, k PublicKey) *multiples {
	t.Helper()
	a, err := new(edwards25519.Point).SetBytes(k.b[:])
	if err != nil {
		t.Fatal(err)
	}
	return newMultiples(a.Negate(a))
}

// forgeries are signatures made from a good one that are good no more, and some that
// were never one.
func forgeries(sig []byte, rnd *rand.Rand) map[string][]byte {
	all := map[string][]byte{"zeros": make([]byte, 64), "cut": sig[:63], "longer": append(sig[:64:64], 0), "none": nil}
	with := func(name string, change func(b []byte)) {
		b := append([]byte(nil), sig...)
		change(b)
		all[name] = b
	}
	for i := range 16 {
		at := rnd.IntN(64)
		with(fmt.Sprintf("bit %d of byte %d, %d", i%8, at, i), func(b []byte) { b[at] ^= 1 << (i % 8) })
	}
	with("s too large", func(b []byte) { // the same number modulo the order
		s := new(big.Int)
		for i := 63; i >= 32; i-- {
			s.Or(s.Lsh(s, 8), big.NewInt(int64(b[i])))
		}
		s.Add(s, order)
		for i := range 32 {
			b[32+i] = byte(new(big.Int).Rsh(s, uint(8*i)).Int64())
		}
	})
	with("s the order", func(b []byte) {
		for i := range 32 {
			b[32+i] = byte(new(big.Int).Rsh(order, uint(8*i)).Int64())
		}
	})
	with("s nothing", func(b []byte) { clear(b[32:]) })
	for i, y := range smallOrder {
		with(fmt.Sprintf("r of small order %d", i), func(b []byte) { copy(b, y[:]) })
		with(fmt.Sprintf("r of small order %d, other sign", i), func(b []byte) { copy(b, y[:]); b[31] ^= 0x80 })
		with(fmt.Sprintf("r of small order %d, s nothing", i), func(b []byte) { copy(b, y[:]); clear(b[32:]) })
	}
	with("r not canonical", func(b []byte) { // y = p+1, which is 1
		copy(b, []byte{0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	})
	with("noise", func(b []byte) {
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
	})
	return all
}

func TestOftenAsCryptoEd25519(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for seed := range byte(8) {
		k, priv := keyFor(t, seed)
		_, other := keyFor(t, seed+1)
		m := tableOf(t, k)
		check := func(name string, msg, sig []byte, want bool) {
			t.Helper()
			got := m.verify(k, msg, sig)
			alone := verifyAlone(k, msg, sig)
			if theirs := len(sig) == 64 && ed25519.Verify(k.b[:], msg, sig); got != theirs || alone != theirs || got != want {
				t.Errorf("%s: with tables %v, without any %v, crypto/ed25519 %v, want %v", name, got, alone, theirs, want)
			}
		}
		for i := range 40 {
			msg := make([]byte, i*7)
			for j := range msg {
				msg[j] = byte(rnd.Uint32())
			}
			sig := ed25519.Sign(priv, msg)
			check("good", msg, sig, true)
			check("of another message", append(msg, 1), sig, false)
			check("by another key", msg, ed25519.Sign(other, msg), false)
			if i%8 == 0 {
				for name, bad := range forgeries(sig, rnd) {
					check(name, msg, bad, false)
				}
			}
		}
	}
}

// A key that is a point of the large group plus one of order 8: a signature by it holds
// where its k is a multiple of 8, and only whoever multiplies by 8 first would say that
// all do. Every way to verify has to say what crypto/ed25519 says.
func TestOftenKeysOfMixedOrder(t *testing.T) {
	seed := sha512.Sum512([]byte("seed"))
	a, err := new(edwards25519.Scalar).SetBytesWithClamping(seed[:32])
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, y := range smallOrder {
		low, err := new(edwards25519.Point).SetBytes(y[:])
		if err != nil {
			continue // not canonical
		}
		k, err := PublicKeyFromBytes(new(edwards25519.Point).Add(new(edwards25519.Point).ScalarBaseMult(a), low).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		m := tableOf(t, k)
		for i := range 40 {
			msg := fmt.Appendf(nil, "message %d", i)
			wide := sha512.Sum512(msg)
			r, _ := new(edwards25519.Scalar).SetUniformBytes(wide[:])
			sig := make([]byte, 64)
			copy(sig, new(edwards25519.Point).ScalarBaseMult(r).Bytes())
			_, h, ok := scalars(k, msg, sig)
			if !ok {
				t.Fatal("no scalars")
			}
			copy(sig[32:], new(edwards25519.Scalar).MultiplyAdd(h, a, r).Bytes())
			want := ed25519.Verify(k.b[:], msg, sig)
			if got, alone := m.verify(k, msg, sig), verifyAlone(k, msg, sig); got != want || alone != want {
				t.Errorf("%x: with tables %v, without any %v, crypto/ed25519 %v", y, got, alone, want)
			}
			if want {
				held++
			}
		}
	}
	if held == 0 {
		t.Error("none held: this compares nothing")
	}
}

// The digits of a scalar give it back, carries to the last included.
func TestOftenScalars(t *testing.T) {
	k, _ := keyFor(t, 9)
	a, _ := new(edwards25519.Point).SetBytes(k.b[:])
	m := newMultiples(a)
	var all []*big.Int
	for i := range 253 {
		p := new(big.Int).Lsh(big.NewInt(1), uint(i))
		all = append(all, p, new(big.Int).Sub(p, big.NewInt(1)), new(big.Int).Add(p, big.NewInt(33)))
	}
	for _, b := range []byte{0x20, 0x1f, 0x21, 0x3f, 0x55, 0x82, 0x08, 0xff} {
		n := new(big.Int)
		for range 31 {
			n.Or(n.Lsh(n, 8), big.NewInt(int64(b)))
		}
		all = append(all, n)
	}
	all = append(all, new(big.Int).Sub(order, big.NewInt(1)), new(big.Int).Sub(order, big.NewInt(32)))
	for _, n := range all {
		n.Mod(n, order)
		var b [32]byte
		for i, c := range n.Bytes() {
			b[len(n.Bytes())-1-i] = c
		}
		s, err := edwards25519.NewScalar().SetCanonicalBytes(b[:])
		if err != nil {
			t.Fatal(err)
		}
		got := edwards25519.NewIdentityPoint()
		m.addTo(got, s)
		if want := new(edwards25519.Point).ScalarMult(s, a); got.Equal(want) != 1 {
			t.Errorf("%x times the point is another point", n)
		}
	}
}

// Whoever asks at once, and however often, gets the same answer; the tables are few.
func TestOftenManyKeys(t *testing.T) {
	type signed struct {
		k   PublicKey
		sig []byte
	}
	msg := []byte("a message")
	var all []signed
	for i := range byte(maxOften + 4) {
		k, priv := keyFor(t, 100+i)
		all = append(all, signed{k, ed25519.Sign(priv, msg)})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range manySignatures + 4 {
				for i, s := range all {
					if !s.k.Verify(msg, s.sig) || s.k.Verify(msg, all[(i+1)%len(all)].sig) {
						t.Errorf("key %d: wrong", i)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if n := len(*often.tables.Load()); n > maxOften {
		t.Errorf("%d tables, want at most %d", n, maxOften)
	}
}

func FuzzOften(f *testing.F) {
	k, priv := keyFor(f, 1)
	m := tableOf(f, k)
	f.Add([]byte("message"), ed25519.Sign(priv, []byte("message")))
	for _, bad := range forgeries(ed25519.Sign(priv, nil), rand.New(rand.NewPCG(1, 2))) {
		f.Add([]byte(nil), bad)
	}
	f.Fuzz(func(t *testing.T, msg, sig []byte) {
		want := len(sig) == 64 && ed25519.Verify(k.b[:], msg, sig)
		if got, alone := m.verify(k, msg, sig), verifyAlone(k, msg, sig); got != want || alone != want {
			t.Fatalf("with tables %v, without any %v, crypto/ed25519 %v", got, alone, want)
		}
	})
}

func BenchmarkOften(b *testing.B) {
	k, priv := keyFor(b, 1)
	msg := make([]byte, 300)
	sig := ed25519.Sign(priv, msg)
	m := tableOf(b, k)
	b.Run("tables", func(b *testing.B) {
		for b.Loop() {
			if !m.verify(k, msg, sig) {
				b.Fatal("no")
			}
		}
	})
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if !verifyAlone(k, msg, sig) {
				b.Fatal("no")
			}
		}
	})
	b.Run("crypto", func(b *testing.B) {
		for b.Loop() {
			if !ed25519.Verify(k.b[:], msg, sig) {
				b.Fatal("no")
			}
		}
	})
	b.Run("make", func(b *testing.B) {
		for b.Loop() {
			tableOf(b, k)
		}
	})
}
