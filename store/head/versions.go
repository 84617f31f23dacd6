package head

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// Bounds of Versions, beside the time given to Open.
const (
	maxRefs     = 4096
	maxHistory  = 20_000 // commits
	maxVersions = 1000   // different contents of one file
)

// Version is a content that a file had in some commit.
type Version struct {
	Raw    []byte
	Commit store.OID // one of those that have it
}

// Versions returns every content, of at most size bytes, that the file at a slash path below the
// directory has in the commits that HEAD, a branch or a remote-tracking branch reaches. Each
// stands there once, in no order. A history beyond the bounds is an error: a part of it could lack
// the version that matters. now returns the present time.
func (t *Tree) Versions(p string, size int64, now func() time.Time) ([]Version, error) {
	todo, err := t.repo.branches()
	if err != nil {
		return nil, err
	}
	todo = append(todo, t.repo.head)
	var all []Version
	seen, roots, blobs := map[store.OID]bool{}, map[store.OID]bool{}, map[store.OID]bool{}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		if seen[id] = true; len(seen) > maxHistory {
			return nil, unknown("it has more than %d commits", maxHistory)
		}
		root, parents, err := t.commit(id)
		if err != nil {
			return nil, err
		}
		todo = append(todo, parents...)
		if roots[root] {
			continue
		}
		roots[root] = true
		e, ok, err := t.entryIn(root, p, now())
		if err != nil {
			return nil, err
		}
		if !ok || e.Mode&0o170000 != 0o100000 || blobs[e.ID] {
			continue
		}
		if blobs[e.ID] = true; len(blobs) > maxVersions {
			return nil, unknown("%q has more than %d versions", words.Brief(p), maxVersions)
		}
		typ, raw, err := t.objects.Object(e.ID, size)
		if err != nil || typ != store.TypeBlob {
			return nil, unknown("%q of commit %s cannot be read: %v", words.Brief(p), id, err)
		}
		all = append(all, Version{raw, id})
	}
	return all, nil
}

// commit returns the tree and the parents of a commit.
func (t *Tree) commit(id store.OID) (tree store.OID, parents []store.OID, err error) {
	typ, raw, err := t.objects.Object(id, maxCommit)
	if err != nil || typ != store.TypeCommit {
		return tree, nil, unknown("commit %s cannot be read: %v", id, err)
	}
	head, _, _ := bytes.Cut(raw, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if name != "tree" && name != "parent" {
			break
		}
		oid, err := store.ParseOID(value)
		if err != nil || len(oid.Bytes()) != len(id.Bytes()) {
			return tree, nil, unknown("commit %s is malformed", id)
		}
		if name == "tree" {
			tree = oid
		} else {
			parents = append(parents, oid)
		}
	}
	if tree.IsZero() {
		return tree, nil, unknown("commit %s has no tree", id)
	}
	return tree, parents, nil
}

// branches returns the commits of every branch and of every remote-tracking branch.
func (r *repo) branches() (tips []store.OID, err error) {
	for _, dir := range []string{"refs/heads", "refs/remotes"} {
		at := filepath.Join(r.common, filepath.FromSlash(dir))
		err := filepath.WalkDir(at, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			if len(tips) > maxRefs {
				return unknown("it has more than %d refs", maxRefs)
			}
			if !d.Type().IsRegular() || strings.HasSuffix(p, ".lock") {
				return nil
			}
			text, err := readLine(p)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			next, id, ok := parseRef(text)
			if !ok {
				return unknown("%s is %q", words.Brief(p), words.Brief(text))
			}
			if next == "" {
				tips = append(tips, id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	raw, err := read(filepath.Join(r.common, "packed-refs"), maxPackedRefs)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, unknown("%v", err)
	}
	for line := range strings.Lines(string(raw)) {
		text, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasPrefix(ref, "refs/heads/") && !strings.HasPrefix(ref, "refs/remotes/") {
			continue
		}
		id, err := store.ParseOID(text)
		if err != nil {
			return nil, unknown("packed-refs: %q", words.Brief(line))
		}
		if tips = append(tips, id); len(tips) > maxRefs {
			return nil, unknown("it has more than %d refs", maxRefs)
		}
	}
	size := int(r.format)
	return slices.DeleteFunc(tips, func(id store.OID) bool { return len(id.Bytes()) != size }), nil
}
