package registry

import (
	"fmt"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// A version is a commit without parents whose tree holds the item's file at its
// path below .ai and nothing else. It is not signed, its author is always the same and its
// time that of the item's signature line, so that the same item is the same commit whoever
// publishes it. Its message:
//
//	acme/tool/hello@1.4.0
//
//	Rye-Format: 1
//	Rye-Item: acme/tool/hello
//	Rye-Version: 1.4.0
//	Rye-Path: tools/acme/hello.py
//	Rye-Sha256: sha256:…

// contentMessage returns the one spelling of the message of a version.
func contentMessage(e *Entry) string {
	return fmt.Sprintf("%s\n\nRye-Format: %d\nRye-Item: %s\nRye-Version: %s\nRye-Path: %s\nRye-Sha256: %s\n",
		e.Name(), FormatVersion, e.Ref.Published(), e.Version, e.Path, e.Sum)
}

// putContent puts a file and the trees above it, and returns the top tree.
func putContent(put sink, path string, raw []byte) (store.OID, error) {
	id, err := put(store.TypeBlob, raw)
	if err != nil {
		return id, err
	}
	return putTrees(put, map[string]store.OID{path: id})
}

// putVersion puts a version of one file with everything below it, and returns its commit.
func putVersion(put sink, e *Entry, raw []byte) (store.OID, error) {
	tree, err := putContent(put, e.Path, raw)
	if err != nil {
		return tree, err
	}
	return putCommit(put, e, raw, tree)
}

// putCommit puts the commit of a version: raw is the file that its line names.
func putCommit(put sink, e *Entry, raw []byte, tree store.OID) (store.OID, error) {
	commit, err := plainCommit(tree, contentMessage(e), signedAt(e.Path, raw))
	if err != nil {
		return store.OID{}, err
	}
	return put(store.TypeCommit, commit)
}

// signedAt returns the time in a file's signature line; the beginning of time where there
// is none, which nobody publishes.
func signedAt(path string, raw []byte) time.Time {
	_, sig, _, err := objects.Split(path, raw)
	if err != nil || sig == nil || sig.SignedAt.Unix() < 0 {
		return time.Unix(0, 0)
	}
	return sig.SignedAt
}

// Release is a published version, as a verified log tells of it.
type Release struct {
	Entry
	Registry  objects.Digest // identity
	Namespace string
	Tip       Point // of the namespace when the release was selected
}

// readContent returns the file that the line of a release names, after checking everything
// about its version: that the commit is the one that this item makes, with a tree of its files
// and nothing else, and that the bytes are those that the catalogue states, of a package by
// its manifest.
func readContent(rd *store.Reader, e *Entry) ([]byte, error) {
	raw, made, err := copyContent(rd, e, hasher(store.SHA1))
	if err == nil && made != e.Commit {
		err = fault.New(fault.Malformed, "content of %s: commit %s is not the one that this item makes", e.Name(), e.Commit)
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// copyContent is readContent that puts what it reads, and returns the commit that this makes.
// Until that was compared with the release's, nothing of it may be used.
func copyContent(rd *store.Reader, e *Entry, put sink) (raw []byte, made store.OID, err error) {
	c, err := rd.Commit(e.Commit)
	if err == nil && (len(c.Parents) > 0 || c.Message != contentMessage(e) || c.Signature != "") {
		err = fault.New(fault.Malformed, "commit %s is not a commit of just this item", e.Commit)
	}
	if err == nil && e.Ref.Kind == objects.Bundle {
		raw, made, err = copyPackage(rd, c.Tree, e, put)
	} else if err == nil {
		raw, made, err = copyFile(rd, c.Tree, e, put)
	}
	if err == nil {
		made, err = putCommit(put, e, raw, made)
	}
	if err != nil {
		return nil, made, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	return raw, made, nil
}

// copyFile is copyContent for a version of one file; it returns the top tree.
func copyFile(rd *store.Reader, tree store.OID, e *Entry, put sink) (raw []byte, made store.OID, err error) {
	id, err := onlyFile(rd, tree, e.Path)
	if err == nil {
		raw, err = rd.Blob(id, MaxItemSize)
	}
	if err == nil {
		err = e.proves(raw)
	}
	if err == nil {
		made, err = putContent(put, e.Path, raw)
	}
	return raw, made, err
}

// proves refuses bytes that are not the file of a line.
func (e *Entry) proves(raw []byte) error {
	if objects.DigestOf(raw) != e.Sum || int64(len(raw)) != e.Size {
		return fault.New(fault.Integrity, "is %s of %d bytes, the log states %s of %d", objects.DigestOf(raw), len(raw), e.Sum, e.Size)
	}
	return nil
}

// onlyFile returns the blob at path, the one file below tree.
func onlyFile(rd *store.Reader, tree store.OID, path string) (store.OID, error) {
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
			return store.OID{}, fault.New(fault.Malformed, "tree %s: holds something else than %q", id, words.Brief(path))
		}
		id = entries[0].ID
	}
	return id, nil
}

// LogEntry is one operation of a history, for people.
type LogEntry struct {
	Seq    uint64 // its position, which RevokeKey counts from
	Time   time.Time
	Signer objects.Fingerprint
	Text   string // the subject: "publish acme/tool/hello@1.4.0"
	Reason string // "" when none
	Commit store.OID

	Skipped string // why it has no effect; "" where it has
	Voided  uint64 // the operation that voided it; 0 for none
	Dropped uint64 // the key-revoke that dropped what it wrote; 0 for none
	wrote   bool   // something of the catalogue
}
