package store

import (
	"bytes"
	"compress/zlib"
	"runtime"
	"testing"
)

// TestStatedSizeIsNotBelieved: a small stream that states a gigabyte does not get it.
func TestStatedSizeIsNotBelieved(t *testing.T) {
	var stream bytes.Buffer
	z := zlib.NewWriter(&stream)
	z.Write([]byte("little"))
	must(t, z.Close())
	in := newInflater(&stream)
	defer in.free()
	must(t, in.start())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := in.exactly(1 << 30)
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Errorf("%d bytes, want an error", len(b))
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4*maxBelieved {
		t.Errorf("%d bytes were allocated, want at most %d", got, 4*maxBelieved)
	}
}
