package space

import "github.com/rye-os/rye/objects"

// Entry identifies one version of a row's file. Path must not be changed.
type Entry struct {
	Path   []byte         // below .ai
	Sum    objects.Digest // zero if the file was not read or did not parse
	Locked bool           // it came through the lock
	Item   bool           // it has a ref
}

// EntryOf returns the entry of row i of k, without making the row.
func (k *Look) EntryOf(i int) Entry {
	e := k.u.order[i]
	if e < 0 {
		r := &k.u.rows[-1-e]
		return Entry{Path: []byte(r.Path), Sum: r.Sum, Locked: r.Registry != "", Item: r.Ref.Kind != ""}
	}
	f := k.u.old.bytes(e)
	return Entry{Path: rowPath(f), Sum: objects.Digest(f[80:112]), Item: true}
}
