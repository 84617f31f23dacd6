package store

import (
	"fmt"
	"slices"
	"testing"
)

// replacedIn must find exactly the entries with other objects, and refuse other names and modes.
func TestReplacedIn(t *testing.T) {
	var old []Entry
	for i := range 40 {
		old = append(old, Entry{fmt.Sprintf("e%02d", i), ModeFile, SHA1.Hash(TypeBlob, fmt.Append(nil, i))})
	}
	tree := func(change func(list []Entry)) []byte {
		list := slices.Clone(old)
		change(list)
		raw, err := EncodeTree(list)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	was, other := tree(func([]Entry) {}), SHA1.Hash(TypeBlob, []byte("other"))
	almost := old[7].ID
	almost.b[19]++
	for _, c := range []struct {
		name   string
		change func(list []Entry)
		want   []int // places of the changed entries; nil where names or modes differ
	}{
		{"nothing", func([]Entry) {}, []int{}},
		{"first", func(l []Entry) { l[0].ID = other }, []int{0}},
		{"last byte", func(l []Entry) { l[7].ID = almost }, []int{7}},
		{"neighbours and last", func(l []Entry) { l[3].ID, l[4].ID, l[39].ID = other, other, other }, []int{3, 4, 39}},
		{"a name", func(l []Entry) { l[5].Name = "e0x" }, nil},
		{"a mode", func(l []Entry) { l[5].Mode = ModeExec }, nil},
		{"a mode after an id", func(l []Entry) { l[2].ID, l[39].Mode = other, ModeExec }, nil},
		{"a longer name", func(l []Entry) { l[39].Name = "e391" }, nil},
	} {
		raw := tree(c.change)
		found, ok := replacedIn(SHA1, raw, was)
		if ok != (c.want != nil) || ok && len(found) != len(c.want) {
			t.Errorf("%s: %d entries, %v; want %v", c.name, len(found), ok, c.want)
			continue
		}
		entries, _ := ParseTree(SHA1, raw)
		for i, at := range c.want {
			e, _, err := nextEntry(SHA1, found[i].entry, string(found[i].entry))
			if err != nil || e != entries[at] || found[i].was != old[at].ID {
				t.Errorf("%s: %v was %v, %v; want %v, was %v", c.name, e, found[i].was, err, entries[at], old[at].ID)
			}
		}
	}
	if _, ok := replacedIn(SHA1, was[:len(was)-1], was[:len(was)-1]); ok {
		t.Error("a tree that is cut off")
	}
	if _, ok := replacedIn(SHA1, nil, nil); !ok {
		t.Error("two empty trees differ")
	}
}
