package store

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// inflated reads a zlib stream with the standard library.
func inflated(t testing.TB, z []byte) []byte {
	t.Helper()
	in := bytes.NewReader(z)
	r, err := zlib.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() > 0 {
		t.Fatalf("%d bytes behind the stream", in.Len())
	}
	return got
}

func deflated(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := deflate(&b, parts...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are bytes of every nature and n long: matches of every length and
// distance, and none at all.
func samples(n int) map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	var text, runs, far []byte
	for i := 0; len(text) < n; i++ {
		text = fmt.Appendf(text, "Fact %d of entry %d: the value %x follows.\n", i%7, i/7, i*7919)
	}
	for i := 0; len(runs) < n; i++ {
		runs = append(runs, bytes.Repeat([]byte{byte(i * 37)}, 1+i%300)...)
	}
	for len(far) < n { // the same few words, at any distance
		far = append(far, noise[rnd.IntN(max(1, n/2)):][:min(n, 3+rnd.IntN(12))%max(1, n/2+1)]...)
		far = append(far, byte(rnd.Uint32()))
	}
	return map[string][]byte{
		"noise": noise, "text": text[:n], "runs": runs[:n], "far": far[:n], "zeros": make([]byte, n),
		"base64": []byte(base64.StdEncoding.EncodeToString(noise))[:n],
	}
}

// Whatever its size, an object is one stream that gives it back, no longer than the
// bytes themselves with what a stored block adds.
func TestDeflateGivesBack(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 4, 5, 6, 7, maxStored - 1, maxStored, maxFixed - 1, maxFixed, maxFixed + 1, 3 * maxFixed, maxTried, maxTried + 1}
	for n := maxStored + 1; n < maxFixed; n += 1 + n/16 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for name, data := range samples(n) {
			z := deflated(t, data[:n/3], data[n/3:])
			if got := inflated(t, z); !bytes.Equal(got, data) {
				t.Fatalf("%d bytes of %s come back as %d others", n, name, len(got))
			}
			if most := n + 16 + n/1024; len(z) > most {
				t.Errorf("%d bytes of %s became %d, want at most %d", n, name, len(z), most)
			}
			if again := deflated(t, data); !bytes.Equal(z, again) {
				t.Errorf("%d bytes of %s became other bytes in one piece", n, name)
			}
		}
	}
}

// A wide tree is stored: it is mostly ids. Text is not.
func TestDeflateStoresTrees(t *testing.T) {
	tree := wideTree(1000)
	if z := deflated(t, tree); !bytes.Equal(z, storeZlib(nil, tree)) {
		t.Errorf("a tree of %d bytes became %d", len(tree), len(z))
	}
	text := samples(len(tree))["text"]
	if z := deflated(t, text); len(z) > len(text)/3 {
		t.Errorf("%d bytes of text became %d", len(text), len(z))
	}
}

// Every length and distance that the fixed code has is written as RFC 1951 reads it.
func TestDeflateEveryMatch(t *testing.T) {
	noise := samples(maxFixed)["noise"]
	for n := minMatch; n <= maxMatch+2; n++ {
		for _, d := range []int{1, 2, 3, 4, 5, 8, 9, 16, 17, 100, 257, 1024, 1025, 2048, 2049, 3800} {
			data := append([]byte(nil), noise[:d]...)
			for range n {
				data = append(data, data[len(data)-d])
			}
			data = append(data, "the end"...)
			if got := inflated(t, deflated(t, data)); !bytes.Equal(got, data) {
				t.Fatalf("a match of %d at distance %d does not come back", n, d)
			}
		}
	}
}

// FuzzDeflate: the library inflates what is written, in whatever pieces it came, and so do
// we; and it is no longer than readers reckon with.
func FuzzDeflate(f *testing.F) {
	for _, data := range samples(600) {
		f.Add(data, 1)
		f.Add(bytes.Repeat(data, 9), 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, more int) {
		data = bytes.Repeat(data, 1+more&0xf) // beyond what the fixed code is for, too
		half := len(data) / 2
		z := deflated(t, data[:half], data[half:])
		if got := inflated(t, z); !bytes.Equal(got, data) {
			t.Fatalf("%d bytes come back as %d others", len(data), len(got))
		}
		if got := inflateWhole(append(z, "behind"...), int64(len(data))); !bytes.Equal(got, data) {
			t.Fatalf("%d bytes are read back as %d others", len(data), len(got))
		}
		if n := int64(len(data)); int64(len(z)) > deflatedBound(n) {
			t.Fatalf("%d bytes became %d, more than %d", n, len(z), deflatedBound(n))
		}
		for _, typ := range []Type{TypeTree, TypeBlob} {
			z := compress([]byte("before"), typ, data)[len("before"):]
			if got := inflated(t, z); !bytes.Equal(got, data) || !isKept(z) || int64(len(z)) > deflatedBound(int64(len(data))) {
				t.Fatalf("a %s of %d bytes, kept in %d, comes back as %d others", typ, len(data), len(z), len(got))
			}
		}
	})
}

// What is cut off, or longer or shorter than was told, is not inflated.
func TestInflateWhole(t *testing.T) {
	data := samples(3000)["text"]
	for _, z := range [][]byte{deflated(t, data), storeZlib(nil, data)} {
		if got := inflateWhole(z, 3000); !bytes.Equal(got, data) {
			t.Fatalf("3000 bytes came back as %d others", len(got))
		}
		for n := range z {
			if got := inflateWhole(z[:n], 3000); got != nil {
				t.Fatalf("%d of %d bytes were enough", n, len(z))
			}
		}
		bad := bytes.Clone(z)
		bad[len(z)-1]++ // the checksum
		if inflateWhole(z, 2999) != nil || inflateWhole(z, 3001) != nil || inflateWhole(bad, 3000) != nil {
			t.Error("another size or checksum was accepted")
		}
	}
}

func BenchmarkDeflate(b *testing.B) {
	for _, n := range []int{500, 1500, 4000} {
		data := samples(n)["text"]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			z := 0
			for b.Loop() {
				z = len(deflated(b, data))
			}
			b.ReportMetric(float64(z)/float64(n), "ratio")
		})
		b.Run(fmt.Sprintf("%d/level1", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				z := deflaters.Get().(*zlib.Writer)
				z.Reset(&out)
				z.Write(data)
				z.Close()
				deflaters.Put(z)
			}
			b.ReportMetric(float64(out.Len())/float64(n), "ratio")
		})
	}
}

// wideTree is a tree of n folders.
func wideTree(n int) (tree []byte) {
	for i := range n {
		id := SHA1.Hash(TypeBlob, fmt.Append(nil, i))
		tree = append(fmt.Appendf(tree, "40000 t%03d\x00", i), id.b[:20]...)
	}
	return tree
}
