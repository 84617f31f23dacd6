package store

import (
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Change is one change to a tree: new content for a file, or a removal.
type Change struct {
	Path   string // "a/b/c"
	Data   []byte // the new content; nil is an empty file unless ID or Delete is set
	ID     OID    // instead of Data: an existing object (a tree, with ModeDir)
	Mode   Mode   // zero means ModeFile
	Delete bool   // remove the file or directory; a missing path is no error

	// Was, if set, is the object that the path must still hold, zero for no entry. Otherwise
	// Edit skips the change. Of the other functions only space.Layer.Change looks at Was.
	Was *OID
}

// edit is a set of changes as a tree of names. To replace a directory by a file, or the
// reverse, delete it in the same set.
type edit struct {
	gone bool    // the old entry is removed first
	file *Change // then this file is put here
	sub  map[string]*edit
}

// maxPathParts bounds the depth of a path that rye writes.
const maxPathParts = 64

// newEdit arranges changes. A later change to a path replaces an earlier one.
func newEdit(changes []Change) (*edit, error) {
	root := &edit{}
	for i := range changes {
		c := &changes[i]
		if err := checkChange(c); err != nil {
			return nil, err
		}
		at := root
		for _, name := range strings.Split(c.Path, "/") {
			if at.sub == nil {
				at.sub = map[string]*edit{}
			}
			next := at.sub[name]
			if next == nil {
				next = &edit{}
				at.sub[name] = next
			}
			at = next
		}
		if c.Delete {
			at.gone, at.file, at.sub = true, nil, nil
		} else {
			at.file = c
		}
	}
	return root, nil
}

func checkChange(c *Change) error {
	parts := strings.Split(c.Path, "/")
	if len(parts) > maxPathParts {
		return fault.New(fault.Limit, "path %q: more than %d names", words.Brief(c.Path), maxPathParts)
	}
	for _, name := range parts {
		if err := checkLocalName(name); err != nil {
			return fault.Wrap(err, "path %q", words.Brief(c.Path))
		}
	}
	switch {
	case c.Delete:
	case c.Mode == 0, c.Mode.IsFile():
	case c.Mode == ModeDir && !c.ID.IsZero():
	default:
		return fault.New(fault.Usage, "path %q: mode %o; want a regular file, or a directory by its id", words.Brief(c.Path), uint32(c.Mode))
	}
	return nil
}

// writes reports whether e writes any file.
func (e *edit) writes() bool {
	return e.file != nil || e.subWrites()
}

// editor applies an edit: it reads trees and passes new objects to add.
type editor struct {
	tree func(OID) ([]Entry, error)
	add  func(Type, []byte) (OID, error)
	has  func(OID) bool
}

// apply returns the result of applying e to the tree base (zero: the empty tree).
func (w *editor) apply(base OID, e *edit) (OID, error) {
	id, err := w.dir(base, e, "")
	if err == nil && id.IsZero() {
		return w.add(TypeTree, nil)
	}
	return id, err
}

// dir applies e to one directory. An empty result is the zero OID.
func (w *editor) dir(base OID, e *edit, prefix string) (OID, error) {
	var entries []Entry
	if !base.IsZero() {
		var err error
		if entries, err = w.tree(base); err != nil {
			return OID{}, err
		}
	}
	out := make([]Entry, 0, len(entries)+len(e.sub))
	changed := false
	have := make(map[string]bool, len(e.sub))
	for _, old := range entries {
		s := e.sub[old.Name]
		if s == nil {
			out = append(out, old)
			continue
		}
		have[old.Name] = true
		now, err := w.entry(old, s, prefix+old.Name)
		if err != nil {
			return OID{}, err
		}
		changed = changed || now != old
		if !now.ID.IsZero() {
			out = append(out, now)
		}
	}
	for name, s := range e.sub {
		if have[name] {
			continue
		}
		now, err := w.entry(Entry{Name: name}, s, prefix+name)
		if err != nil {
			return OID{}, err
		}
		if !now.ID.IsZero() {
			out, changed = append(out, now), true
		}
	}
	switch {
	case len(out) == 0:
		return OID{}, nil
	case !changed:
		return base, nil
	}
	raw, err := EncodeTree(out)
	if err != nil {
		return OID{}, err
	}
	return w.add(TypeTree, raw)
}

// entry applies e to one name. old has no ID if the name is new; the result has no ID if the
// name is removed.
func (w *editor) entry(old Entry, e *edit, path string) (Entry, error) {
	if e.file == nil && !e.gone && e.sub == nil {
		return old, nil
	}
	now := old
	if e.gone {
		now.ID = OID{}
	}
	isDir := !now.ID.IsZero() && now.IsDir()
	if e.sub != nil {
		if !now.ID.IsZero() && !isDir {
			if !e.writes() {
				return now, nil // removes entries that do not exist
			}
			if e.file == nil {
				return now, cannot(path, "a file is in the place of a directory")
			}
		}
		if now.ID.IsZero() || isDir {
			id, err := w.dir(now.ID, e, path+"/")
			if err != nil {
				return now, err
			}
			now.ID, now.Mode = id, ModeDir
			isDir = !id.IsZero()
		}
	}
	if e.file == nil {
		return now, nil
	}
	if isDir && e.file.Mode != ModeDir {
		return now, cannot(path, "a directory is in the place of a file")
	}
	if e.subWrites() {
		return now, cannot(path, "the change makes it both a file and a directory")
	}
	return w.put(old.Name, e)
}

func (e *edit) subWrites() bool {
	for _, s := range e.sub {
		if s.writes() {
			return true
		}
	}
	return false
}

func cannot(path, why string) error {
	return fault.New(fault.Conflict, "change %q: %s", words.Brief(path), why)
}

// put adds the object of a file, once per edit, and returns its entry.
func (w *editor) put(name string, e *edit) (Entry, error) {
	mode := e.file.Mode
	if mode == 0 {
		mode = ModeFile
	}
	if !e.file.ID.IsZero() {
		if !w.has(e.file.ID) {
			return Entry{}, notFound("object %s for %q", e.file.ID, words.Brief(e.file.Path))
		}
		return Entry{Name: name, Mode: mode, ID: e.file.ID}, nil
	}
	id, err := w.add(TypeBlob, e.file.Data)
	return Entry{Name: name, Mode: mode, ID: id}, err
}
