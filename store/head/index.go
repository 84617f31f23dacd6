package head

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// Unmerged is a path that git could not merge: its entries in the index.
type Unmerged struct {
	Path   string   // below the directory asked for, with slashes, as in the index
	Stages [3]Stage // the common base, ours and theirs
}

// Stage is one entry; the zero value stands for none.
type Stage struct {
	Mode uint32
	ID   store.OID
}

// Conflicts are the unfinished merges of a repository below one directory.
type Conflicts struct {
	Files []Unmerged
	Next  string // the git command that ends what is going on: "git commit"; "" for nothing

	objects *store.Objects
}

// Bounds on an index from outside.
const (
	maxIndex    = 256 << 20 // bytes; about two million entries
	maxUnmerged = 10000     // paths
)

// OpenConflicts reads the index of dir's repository. dir and home are as for Open. It starts no
// git, so no setting of the repository runs a program.
func OpenConflicts(dir, home string) (*Conflicts, error) {
	r, err := locate(dir, home)
	if err == nil {
		err = r.findObjects()
	}
	if err != nil {
		return nil, err
	}
	raw, err := r.index()
	if err != nil {
		return nil, err
	}
	c := &Conflicts{Next: r.pending().next}
	if c.Files, err = unmerged(raw, int(r.format), r.prefix); err != nil {
		return nil, err
	}
	if c.objects, err = store.OpenObjects(r.format, r.objects...); err != nil {
		return nil, unknown("%v", err)
	}
	return c, nil
}

// index returns the bytes of the index; nil for none.
func (r *repo) index() ([]byte, error) {
	raw, err := read(filepath.Join(r.dir, "index"), maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, unknown("%v", err)
	}
	return raw, nil
}

// Close closes the objects directories.
func (c *Conflicts) Close() error { return c.objects.Close() }

// Text returns the bytes of a stage, at most limit of them.
func (c *Conflicts) Text(s Stage, limit int64) ([]byte, error) {
	typ, raw, err := c.objects.Object(s.ID, limit)
	if err == nil && typ != store.TypeBlob {
		err = unknown("%s is not a file", s.ID)
	}
	return raw, err
}

// unmerged returns the paths of an index below a directory that have entries of the stages 1 to 3.
func unmerged(raw []byte, size int, below string) (list []Unmerged, err error) {
	err = entries(raw, size, below, func(p string, stage int, s Stage) (err error) {
		if stage > 0 {
			list, err = addStage(list, p, stage-1, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// entries calls visit for each entry of an index below a directory, by gitformat-index(5), versions
// 2 to 4. size is the length of an object id in bytes.
func entries(raw []byte, size int, below string, visit func(p string, stage int, s Stage) error) error {
	if len(raw) == 0 {
		return nil
	}
	short := unknown("its index is cut off or damaged")
	if len(raw) < 12+size || string(raw[:4]) != "DIRC" {
		return short
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version < 2 || version > 4 {
		return unknown("its index has version %d", version)
	}
	if below != "" {
		below += "/"
	}
	rest := raw[12 : len(raw)-size] // without the checksum
	name := ""
	for range count {
		fixed := 40 + size + 2
		if len(rest) < fixed {
			return short
		}
		mode := binary.BigEndian.Uint32(rest[24:])
		id, err := store.OIDFromBytes(rest[40 : 40+size])
		flags := binary.BigEndian.Uint16(rest[40+size:])
		if err != nil {
			return short
		}
		if flags&0x4000 != 0 { // two more bytes of flags
			fixed += 2
		}
		if len(rest) < fixed {
			return short
		}
		tail := rest[fixed:]
		if version == 4 {
			drop, n := uvarint(tail)
			if n <= 0 || drop > uint64(len(name)) {
				return short
			}
			name, tail = name[:len(name)-int(drop)], tail[n:]
		} else {
			name = ""
		}
		end := bytes.IndexByte(tail, 0)
		if end < 0 {
			return short
		}
		name += string(tail[:end])
		if version == 4 {
			rest = tail[end+1:]
		} else {
			length := (fixed + end + 8) &^ 7 // one to eight zero bytes follow the name
			if len(rest) < length {
				return short
			}
			rest = rest[length:]
		}
		stage := int(flags >> 12 & 3)
		if at, ok := strings.CutPrefix(name, below); ok {
			if err := visit(at, stage, Stage{mode, id}); err != nil {
				return err
			}
		}
	}
	for len(rest) >= 8 { // extensions
		n := binary.BigEndian.Uint32(rest[4:])
		if string(rest[:4]) == "link" {
			return unknown("its index is split into two files").Advise("git update-index --no-split-index, then the command again")
		}
		if uint64(n) > uint64(len(rest)-8) {
			return short
		}
		rest = rest[8+n:]
	}
	return nil
}

// addStage adds an entry. The index is sorted, so the entries of a path follow each other.
func addStage(list []Unmerged, p string, stage int, s Stage) ([]Unmerged, error) {
	if n := len(list); n == 0 || list[n-1].Path != p {
		if n == maxUnmerged {
			return nil, fault.New(fault.Limit, "more than %d unmerged files", maxUnmerged)
		}
		list = append(list, Unmerged{Path: p})
	}
	at := &list[len(list)-1].Stages[stage]
	if *at != (Stage{}) {
		return nil, unknown("its index has an entry twice")
	}
	*at = s
	return list, nil
}

// cachedTree returns the tree that the index would become, if git keeps it in the extension TREE. A
// change of the index takes it out there. It reads no names, which costs a tenth of entries.
func cachedTree(raw []byte, size int) (id store.OID, ok bool) {
	if len(raw) < 12+size {
		return id, false
	}
	version := binary.BigEndian.Uint32(raw[4:])
	rest := raw[12 : len(raw)-size]
	for range binary.BigEndian.Uint32(raw[8:]) {
		fixed := 40 + size + 2
		if len(rest) < fixed+2 {
			return id, false
		}
		if binary.BigEndian.Uint16(rest[40+size:])&0x4000 != 0 {
			fixed += 2
		}
		tail := rest[fixed:]
		if version == 4 {
			_, n := uvarint(tail)
			tail = tail[n:]
		}
		end := bytes.IndexByte(tail, 0)
		if end < 0 {
			return id, false
		}
		if version == 4 {
			rest = tail[end+1:]
		} else if length := (fixed + end + 8) &^ 7; length <= len(rest) {
			rest = rest[length:]
		} else {
			return id, false
		}
	}
	for len(rest) >= 8 {
		name, n := string(rest[:4]), uint64(binary.BigEndian.Uint32(rest[4:]))
		if rest = rest[8:]; n > uint64(len(rest)) {
			return id, false
		}
		// The top comes first: an empty path, its number of entries, which is negative after a
		// change, its number of subtrees, and the id.
		counts, tree, found := bytes.Cut(rest[:n], []byte("\n"))
		if name != "TREE" {
			rest = rest[n:]
			continue
		}
		if !found || len(counts) < 2 || counts[0] != 0 || counts[1] == '-' || len(tree) < size {
			return id, false
		}
		id, err := store.OIDFromBytes(tree[:size])
		return id, err == nil
	}
	return id, false
}

// uvarint reads git's numbers of variable length, which have no second form for a value.
func uvarint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 9 {
		c := b[n]
		if n++; n > 1 {
			v++
		}
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return v, n
		}
	}
	return 0, 0
}
