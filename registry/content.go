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

// A content commit holds one published version: a commit without parents whose
// tree holds the item's file at its path below .ai and nothing else, signed by
// the publisher. Its message:
//
//	acme/tool/hello@1.4.0
//
//	Rye-Format: 1
//	Rye-Item: acme/tool/hello
//	Rye-Version: 1.4.0
//	Rye-Path: tools/acme/hello.py
//	Rye-Sha256: sha256:…

// contentMessage returns the one spelling of a content commit's message.
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

// Release is a published version, as a verified log tells of it.
type Release struct {
	Entry
	Registry  objects.Digest // identity
	Namespace string
	Tip       Point // of the namespace when the release was selected
}

// readContent returns the file of a release after checking everything about its
// content commit: strictly parsed, no parents, exactly this message, signed by
// the publisher, a tree with this one file, and the bytes that the log states.
func readContent(rd *store.Reader, e *Entry) ([]byte, *store.Commit, error) {
	c, err := rd.Commit(e.Commit)
	if err != nil {
		return nil, nil, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	if len(c.Parents) > 0 || c.Message != contentMessage(e) {
		return nil, nil, fault.New(fault.Malformed, "content of %s: commit %s is not a commit of just this item", e.Name(), e.Commit)
	}
	c, signer, err := openCommit(c.Raw, true)
	if err != nil {
		return nil, nil, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	if signer.Fingerprint() != e.Publisher {
		return nil, nil, fault.New(fault.Untrusted, "content of %s: signed by %s, published by %s", e.Name(), signer.Fingerprint(), e.Publisher)
	}
	id, err := onlyFile(rd, c.Tree, e.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	raw, err := rd.Blob(id, MaxItemSize)
	if err != nil {
		return nil, nil, fmt.Errorf("content of %s: %w", e.Name(), err)
	}
	if objects.DigestOf(raw) != e.Sum || int64(len(raw)) != e.Size {
		return nil, nil, fault.New(fault.Integrity, "content of %s: is %s of %d bytes, the log states %s of %d",
			e.Name(), objects.DigestOf(raw), len(raw), e.Sum, e.Size)
	}
	return raw, c, nil
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
	Items  []string
	Commit store.OID
}
