package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

func makeDelta(base, target []byte) []byte {
	var x deltaIndex
	x.reset(base)
	d, ok := x.delta(nil, target, 1<<30)
	if !ok {
		panic("a delta of more than a gigabyte")
	}
	return d
}

// FuzzMakeDelta: what a delta makes of its base is the target, by our reader and by
// go-git's, whatever both are; and a bound is held.
func FuzzMakeDelta(f *testing.F) {
	f.Add([]byte(""), []byte(""), 0)
	f.Add([]byte("0123456789abcdef"), []byte("x0123456789abcdefy"), 9)
	f.Add(bytes.Repeat([]byte{0}, 300), bytes.Repeat([]byte{0}, 3000), 20)
	f.Add(bytes.Repeat([]byte("abc"), 100), bytes.Repeat([]byte("bca"), 400), 40)
	f.Add([]byte(strings.Repeat("base ", 20)), []byte("new "+strings.Repeat("base ", 19)), 1000)
	f.Fuzz(func(t *testing.T, base, target []byte, most int) {
		delta := makeDelta(base, target)
		got, err := applyDelta(base, delta, 1<<30)
		if err != nil || !bytes.Equal(got, target) {
			t.Fatalf("made %q of %q, want %q: %v", got, base, target, err)
		}
		if len(base) > 0 && len(target) > 0 { // go-git takes an empty one for damage
			if got, err = packfile.PatchDelta(base, delta); err != nil || !bytes.Equal(got, target) {
				t.Fatalf("go-git made %q, want %q: %v", got, target, err)
			}
		}
		var x deltaIndex
		x.reset(base)
		bounded, ok := x.delta(nil, target, most)
		if ok != (len(delta) <= most) || ok && !bytes.Equal(bounded, delta) {
			t.Fatalf("at most %d bytes: %v, %d; without a bound %d", most, ok, len(bounded), len(delta))
		}
	})
}

// edited returns text with a few changes: words replaced, lines moved, taken out and put in.
func edited(r *rand.Rand, text []byte, changes int) []byte {
	text = bytes.Clone(text)
	for range changes {
		at := r.IntN(len(text))
		end := min(len(text), at+r.IntN(40))
		piece := bytes.Clone(text[at:end])
		rest := text[end:]
		switch r.IntN(3) {
		case 0:
			piece = randomBytes(r, 12)
		case 1:
			piece = append(piece, piece...)
		case 2:
			piece = nil
		}
		text = append(append(bytes.Clone(text[:at]), piece...), rest...)
	}
	return text
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// prose returns n bytes of words, as items and transcripts are made of.
func prose(r *rand.Rand, n int) []byte {
	var b []byte
	for len(b) < n {
		w := r.IntN(4000)
		for l := 2 + w%9; l > 0; l-- {
			b = append(b, 'a'+byte((w*7+l*l*3)%26))
		}
		if b = append(b, ' '); r.IntN(12) == 0 {
			b[len(b)-1] = '\n'
		}
	}
	return b[:n]
}

// TestDeltaIsSmall: a change costs about what was changed, as it does with go-git's encoder.
func TestDeltaIsSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ours, theirs := 0, 0
	for range 200 {
		base := prose(r, 200+r.IntN(20000))
		target := edited(r, base, 1+r.IntN(5))
		delta := makeDelta(base, target)
		if got, err := applyDelta(base, delta, 1<<20); err != nil || !bytes.Equal(got, target) {
			t.Fatal(err)
		}
		ours, theirs = ours+len(delta), theirs+len(packfile.DiffDelta(base, target))
	}
	t.Logf("ours %d bytes, go-git's %d", ours, theirs)
	if ours > theirs+theirs/20 {
		t.Errorf("deltas of %d bytes, go-git makes %d", ours, theirs)
	}
}

// TestHostileDelta: bases and targets made to be slow cost about what others cost: had one
// of them an end that is not near, the test would have none.
func TestHostileDelta(t *testing.T) {
	const n = 4 << 20
	r := rand.New(rand.NewPCG(3, 4))
	same := bytes.Repeat([]byte{7}, n)
	sparse := bytes.Clone(same)
	for i := 0; i < n; i += 40 {
		sparse[i] = byte(r.Uint32())
	}
	for name, c := range map[string][2][]byte{
		"all equal":          {same, same[:n-5]},
		"period 3":           {bytes.Repeat([]byte("abc"), n/3), bytes.Repeat([]byte("bca"), n/3)},
		"period 17":          {bytes.Repeat([]byte("0123456789abcdefg"), n/17), bytes.Repeat([]byte("0123456789abcdefgh"), n/18)},
		"sparse":             {same, sparse},
		"sparse base":        {sparse, same},
		"one block, nothing": {same, bytes.Repeat(append(bytes.Repeat([]byte{7}, 16), 1, 2, 3), n/19)},
		"one block often":    {between(randomBytes(r, n/2), same[:16], 16), between(randomBytes(r, n/2), same[:16], 3)},
		"random":             {randomBytes(r, n), randomBytes(r, n)},
	} {
		var x deltaIndex
		x.reset(c[0])
		delta, _ := x.delta(nil, c[1], 4*n)
		if got, err := applyDelta(c[0], delta, 4*n); err != nil || !bytes.Equal(got, c[1]) {
			t.Errorf("%s: %v", name, err)
		}
		if short, ok := x.delta(nil, randomBytes(r, n), 100); ok || cap(short) > 4096 {
			t.Errorf("%s: %v, %d bytes, for a delta of at most 100", name, ok, cap(short))
		}
		if x.memory() > 2*n {
			t.Errorf("%s: an index of %d bytes for a base of %d", name, x.memory(), n)
		}
		for h := range x.first { // no chain leads round
			seen := 0
			for i := x.first[h]; i > 0; i = x.next[i-1] {
				if next := x.next[i-1]; next != 0 && next <= i || seen > n {
					t.Fatalf("%s: block %d is followed by %d", name, i, next)
				}
				seen++
			}
		}
	}
}

// between returns n bytes of b at a time with a piece before each.
func between(b, piece []byte, n int) (out []byte) {
	for ; len(b) >= n; b = b[n:] {
		out = append(append(out, piece...), b[:n]...)
	}
	return out
}

// TestDeltaScratch: who makes many deltas allocates nothing for each.
func TestDeltaScratch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	base := prose(r, 20000)
	target := edited(r, base, 3)
	var x deltaIndex
	x.reset(base)
	out, _ := x.delta(nil, target, 20000)
	if n := testing.AllocsPerRun(20, func() {
		x.reset(base)
		out, _ = x.delta(out, target, 20000)
	}); n > 0 {
		t.Errorf("%v allocations for a delta", n)
	}
}

func BenchmarkMakeDelta(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1 << 10, 8 << 10, 256 << 10} {
		base := prose(r, n)
		target := edited(r, base, 4)
		b.Run(fmt.Sprint("ours/", n), func(b *testing.B) {
			var x deltaIndex
			var out []byte
			b.SetBytes(int64(n))
			for b.Loop() {
				x.reset(base)
				out, _ = x.delta(out, target, n)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
		b.Run(fmt.Sprint("go-git/", n), func(b *testing.B) {
			var out []byte
			b.SetBytes(int64(n))
			for b.Loop() {
				out = packfile.DiffDelta(base, target)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}
