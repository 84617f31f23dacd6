package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// What is wrong is found in the order of the pack, however much of it was read ahead,
// and nothing is wrong with many objects of every size.
func TestImportAhead(t *testing.T) {
	r := newRepo(t)
	many := func(p *packBuilder, n int) {
		for i := range n {
			p.blob(fmt.Sprintf("blob %d\n", i))
		}
	}
	twice := &packBuilder{}
	twice.blob("again")
	many(twice, 3*aheadCount)
	twice.blob("again")
	late := &packBuilder{}
	many(late, 2*aheadCount+7)
	late.entry(TypeCommit, 4, nil, []byte("junk"))
	both := &packBuilder{}
	both.entry(TypeCommit, 4, nil, []byte("junk"))
	many(both, 3*aheadCount)
	large := &packBuilder{}
	large.blob(strings.Repeat("x", aheadObject+1))
	many(large, 10)
	large.blob(strings.Repeat("x", aheadObject+1))
	for name, c := range map[string]struct {
		pack []byte
		want string
	}{
		"an object twice":           {twice.done(-1), "twice"},
		"a late commit":             {late.done(-1), "object "},
		"the first of two":          {both.done(-1)[:both.b.Len()/2], "entry at 12: object "}, // and then it is cut off
		"a large one twice":         {large.done(-1), "twice"},
		"cut off, and nothing else": {late.done(-1)[:late.b.Len()/2], "cut off"},
	} {
		_, err := importBytes(t, r, c.pack, Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	good := &packBuilder{}
	var want []string
	for i := range 5 * aheadCount {
		data := strings.Repeat(fmt.Sprintf("%d ", i), i%97*i%1000)
		good.blob(fmt.Sprint(i, data))
		want = append(want, fmt.Sprint(i, data))
	}
	for _, n := range []int{aheadObject - 1, aheadObject, aheadObject + 1, aheadBytes, 3 * aheadBytes} {
		good.blob(strings.Repeat("y", n))
		want = append(want, strings.Repeat("y", n))
	}
	q, err := importBytes(t, r, good.done(-1), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(q.Objects()); got != len(want) {
		t.Errorf("%d objects, want %d", got, len(want))
	}
	for _, data := range want {
		if got, err := q.Blob(SHA1.Hash(TypeBlob, []byte(data)), int64(len(data))+1); err != nil || string(got) != data {
			t.Errorf("blob of %d bytes: %d, %v", len(data), len(got), err)
		}
	}
}

// A stored block is believed as little as any other stream.
func TestImportStoredBlocks(t *testing.T) {
	r := newRepo(t)
	const data = "a few bytes"
	at := packHead + 1 // where the stream begins
	for name, c := range map[string]struct {
		change func(b []byte)
		ok     bool
	}{
		"whole":               {func([]byte) {}, true},
		"another byte":        {func(b []byte) { b[at+8] ^= 1 }, false},
		"another checksum":    {func(b []byte) { b[at+7+len(data)] ^= 1 }, false},
		"shorter":             {func(b []byte) { b[at+3]--; b[at+5]++ }, false},
		"lengths that differ": {func(b []byte) { b[at+5]++ }, false},
		"not the last block":  {func(b []byte) { b[at+2] = 0 }, false},
		"another method":      {func(b []byte) { b[at] = 0x79 }, false},
		"a dictionary":        {func(b []byte) { b[at+1] = 0x20 }, false},
	} {
		p := &packBuilder{}
		p.blob(data)
		b := p.done(-1)
		c.change(b[:len(b)-20])
		h := SHA1.new()
		h.Write(b[:len(b)-20])
		b = h.Sum(b[:len(b)-20])
		_, err := importBytes(t, r, b, Limits{})
		if (err == nil) != c.ok || err != nil && fault.CodeOf(err) != fault.Integrity {
			t.Errorf("%s: %v", name, err)
		}
	}
}
