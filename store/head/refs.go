package head

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// readHead follows HEAD to a commit.
func (r *repo) readHead() error {
	name := "HEAD"
	for range maxSymbolic {
		text, err := r.refFile(name)
		if errors.Is(err, fs.ErrNotExist) && name != "HEAD" {
			r.head, err = r.packed(name)
			return err
		}
		if err != nil {
			return unknown("%s cannot be read: %v", name, err)
		}
		next, id, ok := parseRef(text)
		switch {
		case !ok:
			return unknown("%s is %q", words.Brief(name), words.Brief(text))
		case next == "":
			return r.take(name, id)
		}
		name = next
	}
	return unknown("HEAD names a ref that names a ref, more than %d times", maxSymbolic)
}

// take stores the commit of a ref. It must have the length of the repository's ids.
func (r *repo) take(name string, id store.OID) error {
	if len(id.Bytes()) != len(r.format.Hash(store.TypeBlob, nil).Bytes()) {
		return unknown("%s names %s, an id of another object format", words.Brief(name), id)
	}
	r.head = id
	return nil
}

// refFile returns the line of a loose ref. Refs of one worktree are in that worktree's
// directory.
func (r *repo) refFile(name string) (string, error) {
	dir := r.common
	if name == "HEAD" || perWorktree(name) {
		dir = r.dir
	}
	p := filepath.Join(dir, filepath.FromSlash(name))
	if st, err := os.Lstat(p); err == nil && st.IsDir() {
		return "", fs.ErrNotExist // a directory of other refs
	} else if errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() {
		return readLine(p)
	}
	return "", unknown("%s is not a regular file", p)
}

func perWorktree(name string) bool {
	for _, p := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// packed looks for a ref without a loose file.
func (r *repo) packed(name string) (store.OID, error) {
	raw, err := read(filepath.Join(r.common, "packed-refs"), maxPackedRefs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.OID{}, unknown("%v", err)
	}
	id, ok := findPacked(raw, name)
	if !ok {
		return id, unknown("HEAD names %s, which has %w", words.Brief(name), errUnborn)
	}
	return id, r.take(name, id)
}

// findPacked returns the id of a ref in packed-refs.
func findPacked(raw []byte, name string) (store.OID, bool) {
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		raw = rest
		text, ref, ok := bytes.Cut(line, []byte(" "))
		if ok && string(ref) == name {
			id, err := store.ParseOID(string(text))
			return id, err == nil
		}
	}
	return store.OID{}, false
}

// parseRef reads the line of a ref: the name of another ref, or a commit.
func parseRef(line string) (next string, id store.OID, ok bool) {
	if to, is := strings.CutPrefix(line, "ref:"); is {
		next = strings.TrimSpace(to)
		return next, id, safeRef(next)
	}
	id, err := store.ParseOID(line)
	return "", id, err == nil
}

// safeRef reports whether a name can be a ref with a file below the directory of refs. Branch
// names may be in any script.
func safeRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || len(name) > 1024 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(`\:~^?*[`, c) }) &&
		!strings.Contains(name, "..")
}
