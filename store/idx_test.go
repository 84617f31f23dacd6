package store

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
)

// countedReads counts how often an index is read from.
type countedReads struct {
	io.ReaderAt
	n int
}

func (r *countedReads) ReadAt(b []byte, off int64) (int, error) {
	r.n++
	return r.ReaderAt.ReadAt(b, off)
}

// Ids are found in an index that is not in memory, however they are spread; in one read
// where they are spread as hashes are.
func TestIdxFind(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	spreads := map[string]func(i int, b []byte){
		"even":     func(int, []byte) {},
		"one byte": func(i int, b []byte) { b[0] = 7 },
		"close":    func(i int, b []byte) { copy(b, "same") },
		"ends":     func(i int, b []byte) { copy(b, []byte{9, byte(-(i & 1)), byte(-(i & 1)), byte(-(i & 1))}) },
		"square":   func(i int, b []byte) { binary.BigEndian.PutUint32(b, uint32(i*i)) },
	}
	for _, f := range []Format{SHA1, SHA256} {
		for _, n := range []int{1, 2, 300, 30_000} {
			for name, spread := range spreads {
				list := make([]packed, n)
				for i := range list {
					var b [32]byte
					for j := 0; j < len(b); j += 8 {
						binary.LittleEndian.PutUint64(b[j:], rnd.Uint64())
					}
					spread(i, b[:])
					list[i] = packed{id: oidOf(b[:f.size()]), off: int64(12 + i)}
				}
				var file bytes.Buffer
				if err := writeIdx(&file, f, list, make([]byte, f.size())); err != nil {
					t.Fatal(err)
				}
				reads := &countedReads{ReaderAt: bytes.NewReader(file.Bytes())}
				x, err := readIdx(reads, int64(file.Len()), f)
				if err != nil {
					t.Fatal(err)
				}
				x.asked.Store(-1 << 40) // it stays out of memory
				reads.n = 0
				for i, p := range list {
					at, ok, err := x.find(p.id)
					if err != nil || !ok || at != int64(i) {
						t.Fatalf("%v, %d ids, %s: id %d found at %d: %v, %v", f, n, name, i, at, ok, err)
					}
				}
				if most := n + n/10; name == "even" && reads.n > most {
					t.Errorf("%v, %d ids: %d reads, want %d at most", f, n, reads.n, most)
				}
				for _, p := range list {
					p.id.b[f.size()-1] ^= 1
					if at, ok, err := x.find(p.id); err != nil || ok {
						t.Fatalf("%v, %d ids, %s: found what is not there, at %d: %v", f, n, name, at, err)
					}
				}
			}
		}
	}
}
