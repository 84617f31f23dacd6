package store

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"slices"
	"testing"
)

// zlibbed is data as the standard library's writer of a level deflates it.
func zlibbed(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, level)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What any writer deflates is inflated here, and not left to the library.
func TestUnzip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 10, 95, 96, 97, 300, 4096, 5000, 70_000, 300_000} {
		for kind, data := range samples(n) {
			streams := map[string][]byte{"ours": deflated(t, data), "stored": storeZlib(nil, data)}
			for level := flate.HuffmanOnly; level <= 9; level++ {
				streams[fmt.Sprint("level ", level)] = zlibbed(t, data, level)
			}
			for name, z := range streams {
				behind := append(slices.Clone(z), "behind"...)
				got, used, ok := unzip(make([]byte, 0, n), behind)
				if !ok || used != len(z) || !bytes.Equal(got, data) {
					t.Fatalf("%d of %s, %s: %v, %d of %d bytes read, %d of %d inflated", n, kind, name, ok, used, len(z), len(got), n)
				}
				if got, _, ok := unzip(make([]byte, 0, n+100), z); !ok || !bytes.Equal(got, data) {
					t.Fatalf("%d of %s, %s: with more room: %v", n, kind, name, ok)
				}
				if _, _, ok := unzip(make([]byte, 0, max(n-1, 0)), z); ok && n > 0 {
					t.Fatalf("%d of %s, %s: went into less room", n, kind, name)
				}
				if int64(len(z)) > unzipBound(int64(n)) {
					t.Errorf("%d of %s, %s: %d bytes, the bound is %d", n, kind, name, len(z), unzipBound(int64(n)))
				}
			}
		}
	}
}

// Every stream that ends too early is left to the library, and so is one with a bit
// turned over, unless the library reads it too.
func TestUnzipDamaged(t *testing.T) {
	data := samples(3000)["text"]
	for _, z := range [][]byte{deflated(t, data), zlibbed(t, data, 6), storeZlib(nil, data)} {
		for n := range z {
			if _, _, ok := unzip(make([]byte, 0, len(data)), z[:n]); ok {
				t.Fatalf("%d of %d bytes were enough", n, len(z))
			}
		}
		for i := range len(z) * 8 {
			bad := slices.Clone(z)
			bad[i/8] ^= 1 << (i % 8)
			compareUnzip(t, bad, len(data))
		}
	}
}

// compareUnzip compares what is accepted here, into room bytes, with what the library
// says, and returns whether it was accepted.
func compareUnzip(t *testing.T, z []byte, room int) bool {
	t.Helper()
	got, used, ok := unzip(make([]byte, 0, room), z)
	if !ok {
		return false
	}
	in := bytes.NewReader(z)
	r, err := zlib.NewReader(in)
	if err != nil {
		t.Fatalf("%x: accepted, and the library says %v", z, err)
	}
	want, err := io.ReadAll(io.LimitReader(r, int64(room)+1))
	if err == nil {
		_, err = r.Read(make([]byte, 1))
	}
	if err != io.EOF || !bytes.Equal(got, want) || used != len(z)-in.Len() {
		t.Fatalf("%x: inflated to %d bytes from %d; the library to %d from %d: %v", z, len(got), used, len(want), len(z)-in.Len(), err)
	}
	return true
}

func FuzzUnzip(f *testing.F) {
	for _, n := range []int{0, 40, 500} {
		for _, data := range samples(n) {
			f.Add(deflated(f, data), n)
			f.Add(zlibbed(f, data, 6), n)
			f.Add(zlibbed(f, data, flate.HuffmanOnly), n)
			f.Add(storeZlib(nil, data), n+1)
		}
	}
	f.Fuzz(func(t *testing.T, z []byte, room int) { compareUnzip(t, z, room&0xffff) })
}

// wideTree is a tree of n folders.
func wideTree(n int) (tree []byte) {
	for i := range n {
		id := SHA1.Hash(TypeBlob, fmt.Append(nil, i))
		tree = append(fmt.Appendf(tree, "40000 t%03d\x00", i), id.b[:20]...)
	}
	return tree
}

// BenchmarkUnzip inflates an item of 1.6 KB and a tree of a thousand entries.
func BenchmarkUnzip(b *testing.B) {
	item := samples(1600)["text"]
	tree := wideTree(1000)
	for name, data := range map[string][]byte{"item": item, "tree": tree} {
		for how, z := range map[string][]byte{"ours": deflated(b, data), "git's": zlibbed(b, data, 6)} {
			b.Run(name+"/"+how+"/here", func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					if got, _ := unzipWhole(z, int64(len(data))); got == nil {
						b.Fatal("left to the library")
					}
				}
			})
			b.Run(name+"/"+how+"/library", func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					in := newInflater(bytes.NewReader(z))
					if err := in.start(); err != nil {
						b.Fatal(err)
					}
					if _, err := in.exactly(int64(len(data))); err != nil {
						b.Fatal(err)
					}
					in.free()
				}
			})
		}
	}
}
