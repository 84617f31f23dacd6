package oplog

import (
	"fmt"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// A version is a commit without parents. Its tree holds the item's file at its path below .ai and
// nothing else. The commit is unsigned and has a fixed author. Its time is the one in the item's
// signature line, so the same item gives the same commit for every publisher. Its message:
//
//	acme/tool/hello@1.4.0
//
//	Rye-Format: 1
//	Rye-Item: acme/tool/hello
//	Rye-Version: 1.4.0
//	Rye-Path: tools/acme/hello.py
//	Rye-Sha256: sha256:…

// ContentMessage returns the canonical message of a version.
func (e *Entry) ContentMessage() string {
	return fmt.Sprintf("%s\n\nRye-Format: %d\nRye-Item: %s\nRye-Version: %s\nRye-Path: %s\nRye-Sha256: %s\n",
		e.Name(), FormatVersion, e.Ref.Published(), e.Version, e.Path, e.Sum)
}

// PutContent puts a file and the trees above it, and returns the id of the top tree.
func PutContent(put Sink, path string, raw []byte) (store.OID, error) {
	id, err := put(store.TypeBlob, raw)
	if err != nil {
		return id, err
	}
	return PutTrees(put, map[string]store.OID{path: id})
}

// PutVersion puts a version of one file with its objects, and returns its commit.
func PutVersion(put Sink, e *Entry, raw []byte) (store.OID, error) {
	tree, err := PutContent(put, e.Path, raw)
	if err != nil {
		return tree, err
	}
	return PutCommit(put, e, raw, tree)
}

// PutCommit puts the commit of a version. raw is the file that the catalogue line names.
func PutCommit(put Sink, e *Entry, raw []byte, tree store.OID) (store.OID, error) {
	commit, err := PlainCommit(tree, e.ContentMessage(), signedAt(e.Path, raw))
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeCommit, commit)
}

// signedAt returns the time in a file's signature line. Without one it returns the Unix epoch; such
// files are never published.
func signedAt(path string, raw []byte) time.Time {
	_, sig, _, err := objects.Split(path, raw)
	if err != nil || sig == nil || sig.SignedAt.Unix() < 0 {
		return time.Unix(0, 0)
	}
	return sig.SignedAt
}

// ReadContent returns the file that the line of a release names, after full checks: the commit is
// the one that this item makes, its tree holds the item's files and nothing else, and the bytes
// match the catalogue. The files of a bundle must match its manifest.
func ReadContent(rd Reader, e *Entry) ([]byte, error) {
	raw, made, err := CopyContent(rd, e, Hasher(store.SHA1))
	if err == nil && made != e.Commit {
		err = fault.New(fault.Malformed, "content of %s: commit %s is not the commit of this item", e.Name(), e.Commit)
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// CopyContent is ReadContent that also puts the objects it reads. It returns the commit that they
// make; the caller must compare it with the release's commit before using anything.
func CopyContent(rd Reader, e *Entry, put Sink) (raw []byte, made store.OID, err error) {
	c, err := rd.Commit(e.Commit)
	if err == nil && (len(c.Parents) > 0 || c.Message != e.ContentMessage() || c.Signature != "") {
		err = fault.New(fault.Malformed, "commit %s is not a commit of just this item", e.Commit)
	}
	if err == nil && e.Ref.Kind == objects.Bundle {
		raw, made, err = copyPackage(rd, c.Tree, e, put)
	} else if err == nil {
		raw, made, err = copyFile(rd, c.Tree, e, put)
	}
	if err == nil {
		made, err = PutCommit(put, e, raw, made)
	}
	if err != nil {
		return nil, made, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	return raw, made, nil
}

// copyFile is CopyContent for a version of one file. It returns the id of the top tree.
func copyFile(rd Reader, tree store.OID, e *Entry, put Sink) (raw []byte, made store.OID, err error) {
	id, err := OnlyFile(rd, tree, e.Path)
	if err == nil {
		raw, err = rd.Blob(id, MaxItemSize)
	}
	if err == nil {
		err = e.Proves(raw)
	}
	if err == nil {
		made, err = PutContent(put, e.Path, raw)
	}
	return raw, made, err
}

// Proves refuses bytes that differ from the file of a line.
func (e *Entry) Proves(raw []byte) error {
	if objects.DigestOf(raw) != e.Sum || int64(len(raw)) != e.Size {
		return fault.New(fault.Integrity, "is %s of %d bytes, the log states %s of %d", objects.DigestOf(raw), len(raw), e.Sum, e.Size)
	}
	return nil
}

// OnlyFile returns the blob at path, which must be the only file below tree.
func OnlyFile(rd Reader, tree store.OID, path string) (store.OID, error) {
	id := tree
	parts := strings.Split(path, "/")
	for i, name := range parts {
		mode := store.ModeDir
		if i == len(parts)-1 {
			mode = store.ModeFile
		}
		entries, err := rd.Tree(id)
		if err != nil {
			return store.OID{}, err
		}
		if len(entries) != 1 || entries[0].Name != name || entries[0].Mode != mode {
			return store.OID{}, fault.New(fault.Malformed, "tree %s: holds something other than %q", id, words.Brief(path))
		}
		id = entries[0].ID
	}
	return id, nil
}
