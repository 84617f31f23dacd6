// Package registrytest spoils registries for tests, as an attacker with the host and
// perhaps a key would. It works on the raw bytes of an honest repository, as
// docs/format/registry.md describes them, and shares no code with package registry, whose
// mistakes it would repeat.
package registrytest

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// A Host is a registry's repository as its malicious holder sees it. A failure ends the test.
type Host struct {
	t    testing.TB
	repo *store.Repo
}

// Open opens the repository until the test ends.
func Open(t testing.TB, dir string) *Host {
	t.Helper()
	repo, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { repo.Close() })
	return &Host{t, repo}
}

// At returns the target of a ref, zero if there is no such ref.
func (h *Host) At(ref string) store.OID {
	id, _ := h.repo.Ref(ref)
	return id
}

// Set points a ref at id; the zero id deletes it.
func (h *Host) Set(ref string, id store.OID) {
	h.t.Helper()
	if err := h.repo.Swap(context.Background(), ref, h.At(ref), id, "attack"); err != nil {
		h.t.Fatal(err)
	}
}

// Put stores an object with any bytes.
func (h *Host) Put(kind store.Type, raw string) store.OID {
	h.t.Helper()
	id, err := h.repo.Put(context.Background(), kind, []byte(raw))
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// Raw returns the bytes of an object.
func (h *Host) Raw(id store.OID) string {
	h.t.Helper()
	_, raw, err := h.repo.Object(id, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(raw)
}

// Commit returns a copy of a commit, for changes.
func (h *Host) Commit(id store.OID) *store.Commit {
	h.t.Helper()
	c, err := h.repo.Commit(id)
	if err != nil {
		h.t.Fatal(err)
	}
	return &store.Commit{Tree: c.Tree, Parents: append([]store.OID(nil), c.Parents...), Author: c.Author, Committer: c.Committer, Message: c.Message}
}

// A Signature returns the signature for the bytes of an unsigned commit.
type Signature func(unsigned []byte) (armor string)

// By signs commits with a key.
func By(t testing.TB, key trust.Signer) Signature {
	return func(unsigned []byte) string {
		armor, err := trust.SignCommit(context.Background(), key, unsigned)
		if err != nil {
			t.Fatal(err)
		}
		return armor
	}
}

// For signs with a key for a purpose other than commits.
func For(t testing.TB, key trust.Signer, namespace string) Signature {
	return func(unsigned []byte) string {
		armor, err := trust.SignSSHSIG(context.Background(), key, namespace, unsigned)
		if err != nil {
			t.Fatal(err)
		}
		return armor
	}
}

// Blob changes the bytes inside an armor.
func Blob(armor string, change func(blob string) string) string {
	lines := strings.Split(armor, "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.Join(lines[1:len(lines)-1], ""))
	if err != nil {
		panic(err)
	}
	text := base64.StdEncoding.EncodeToString([]byte(change(string(raw))))
	out := lines[0] + "\n"
	for ; len(text) > columns; text = text[columns:] {
		out += text[:columns] + "\n"
	}
	return out + text + "\n" + lines[len(lines)-1]
}

// columns is the width of ssh-keygen's armor.
const columns = 70

// Universal puts a key of small order and its signature into a blob. The signature is valid for
// every message unless a reader checks the key.
func Universal(blob string) string {
	identity := "\x01" + strings.Repeat("\x00", 31)
	return blob[:33] + identity + blob[65:len(blob)-64] + identity + strings.Repeat("\x00", 32)
}

// Forge replaces the last commit of ref by a changed copy with a new signature.
func (h *Host) Forge(ref string, sign Signature, change func(c *store.Commit)) store.OID {
	h.t.Helper()
	c := h.Commit(h.At(ref))
	if change != nil {
		change(c)
	}
	unsigned, err := store.EncodeCommit(c)
	if err != nil {
		h.t.Fatal(err)
	}
	if sign != nil {
		c.Signature = sign(unsigned)
	}
	raw, err := store.EncodeCommit(c)
	if err != nil {
		h.t.Fatal(err)
	}
	id := h.Put(store.TypeCommit, string(raw))
	h.Set(ref, id)
	return id
}

// Spoil replaces the last commit of ref by one with changed bytes and the old signature.
func (h *Host) Spoil(ref string, change func(raw string) string) store.OID {
	h.t.Helper()
	raw := h.Raw(h.At(ref))
	spoilt := change(raw)
	if spoilt == raw {
		h.t.Fatal("nothing was changed")
	}
	id := h.Put(store.TypeCommit, spoilt)
	h.Set(ref, id)
	return id
}

// After inserts lines after the first header with that name.
func After(header, lines string) func(raw string) string {
	return func(raw string) string {
		at := strings.Index("\n"+raw, "\n"+header+" ")
		end := at + strings.IndexByte(raw[at:], '\n') + 1
		return raw[:end] + lines + raw[end:]
	}
}

// Again repeats a header with all its lines.
func Again(header string) func(raw string) string {
	return func(raw string) string {
		at := strings.Index(raw, "\n"+header+" ") + 1
		end := at + strings.IndexByte(raw[at:], '\n') + 1
		for raw[end] == ' ' {
			end += strings.IndexByte(raw[end:], '\n') + 1
		}
		return raw[:end] + raw[at:end] + raw[end:]
	}
}

// Trailer returns the value of the first trailer with a name, "" if there is none.
func Trailer(message, name string) string {
	_, rest, _ := strings.Cut(message, "\n"+name+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// SetTrailer sets the value of the first trailer with a name.
func SetTrailer(c *store.Commit, name, value string) {
	old := Trailer(c.Message, name)
	c.Message = strings.Replace(c.Message, "\n"+name+": "+old+"\n", "\n"+name+": "+value+"\n", 1)
}

// Digest returns the digest of bytes as messages spell it.
func Digest(raw string) string { return objects.DigestOf([]byte(raw)).String() }
