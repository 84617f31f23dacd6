// Package head tells which files the user's own git repository holds at HEAD, and which
// contents one file had in its history. The first serves the question: are these bytes from
// the user's checkout, or did something else put them there? The second serves a review:
// which version did an owner sign last?
//
// It reads git's files itself: no git is started, nothing is written or locked, neither
// the environment nor a configuration decides where it looks. Whatever it cannot read for
// sure is an error, which the caller takes for "unknown" and never for yes: reftable,
// objects that a partial clone left out, links in the place of files, files of other
// users, a repository that lies in the tree that it describes. docs/format/head.md lists
// what is read.
//
// # Reasons
//
// The state of git's HEAD is the one sign that the user chose these bytes, and not a tool
// or a model that wrote into the tree. To start git would run programs that its
// configuration names, and costs 1.5 ms. store.OpenObjects bounds the harm that a hostile
// repository could do (pipes, deltas that grow).
package head

import (
	"errors"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// Tree is the content of HEAD below one directory. It is safe for concurrent use.
type Tree struct {
	repo    *repo
	objects *store.Objects
	format  store.Format
	root    store.OID // the tree of HEAD's commit
	prefix  string    // the directory's path below the top of the checked-out tree; "" for the top
	until   time.Time // end of the time for all questions
}

const (
	maxCommit = 1 << 20 // bytes of HEAD's commit
	maxDepth  = 64      // components of a path
	patience  = 5 * time.Second
)

// Open finds the git repository of dir, an absolute path without links, and reads its HEAD.
// The search ends below home and at the end of the file system, like the search for a project.
// now begins the time that all questions together may take. Everything that prevents an answer
// is an error with its reason: fault.NotFound if dir is in no repository.
func Open(dir, home string, now time.Time) (*Tree, error) {
	r, err := find(dir, home)
	if err != nil {
		return nil, err
	}
	from, err := store.OpenObjects(r.format, r.objects...)
	if err != nil {
		return nil, unknown("%v", err)
	}
	t := &Tree{repo: r, objects: from, format: r.format, prefix: r.prefix, until: now.Add(patience)}
	if t.root, err = t.treeOf(r.head); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// KeepsModes reports whether git compares modes in dir: core.fileMode of its repository, or
// true if dir is in none. A repository that cannot be read with certainty is an error. dir and
// home are as for Open.
func KeepsModes(dir, home string) (bool, error) {
	r, err := locate(dir, home)
	switch {
	case fault.Is(err, fault.NotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	return r.modes, nil
}

// Close closes the objects directories.
func (t *Tree) Close() error { return t.objects.Close() }

// treeOf returns the tree of a commit. It checks nothing else, because nothing else matters:
// users' commits carry headers that ours do not.
func (t *Tree) treeOf(commit store.OID) (store.OID, error) {
	typ, raw, err := t.objects.Object(commit, maxCommit)
	if err != nil {
		return store.OID{}, unknown("its HEAD commit %s cannot be read: %v", commit, err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	text, ok := strings.CutPrefix(line, "tree ")
	id, err := store.ParseOID(text)
	if typ != store.TypeCommit || !ok || err != nil || len(id.Bytes()) != len(commit.Bytes()) {
		return store.OID{}, unknown("%s, which HEAD names, is not a commit", commit)
	}
	return id, nil
}

// Holds reports whether HEAD has an entry at a slash path below the directory. now is compared
// with the time given to Open.
func (t *Tree) Holds(p string, now time.Time) (bool, error) {
	_, ok, err := t.entry(p, now)
	return ok, err
}

// Is reports whether HEAD has a file with exactly these bytes at a slash path below the
// directory.
func (t *Tree) Is(p string, raw []byte, now time.Time) (bool, error) {
	e, ok, err := t.entry(p, now)
	return ok && e.Mode&0o170000 == 0o100000 && e.ID == t.format.Hash(store.TypeBlob, raw), err
}

// entry follows a path. A path in a submodule is unknown: its content is in another
// repository.
func (t *Tree) entry(p string, now time.Time) (e store.Entry, ok bool, err error) {
	return t.entryIn(t.root, p, now)
}

// entryIn is entry below another root tree.
func (t *Tree) entryIn(root store.OID, p string, now time.Time) (e store.Entry, ok bool, err error) {
	parts := strings.Split(strings.Trim(t.prefix+"/"+p, "/"), "/")
	if len(parts) > maxDepth {
		return e, false, unknown("%q has more than %d components", words.Brief(p), maxDepth)
	}
	e = store.Entry{Mode: store.ModeDir, ID: root}
	for _, name := range parts {
		switch {
		case now.After(t.until):
			return e, false, unknown("reading it took more than %s", patience)
		case e.Mode == store.ModeGitlink:
			return e, false, unknown("%q lies in a submodule of it", words.Brief(p))
		case !e.IsDir():
			return e, false, nil
		}
		e, err = t.objects.Lookup(e.ID, name)
		if errors.Is(err, store.ErrNotExist) {
			return e, false, nil
		}
		if err != nil {
			return e, false, unknown("%q cannot be looked up: %v", words.Brief(p), err)
		}
	}
	return e, true, nil
}

// unknown is the error for everything that cannot be read with certainty.
func unknown(format string, args ...any) *fault.Error {
	return fault.New(fault.Integrity, "the git repository here: "+format, args...)
}
