package oplog

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// An Address names a blob twice: by the SHA-256 of its bytes, which is the evidence, and by its git
// id, under which hosts serve it.
type Address struct {
	Sum objects.Digest
	ID  store.OID
}

// AddressOf returns the address of raw in a registry, where objects have SHA-1 ids.
func AddressOf(raw []byte) Address {
	return Address{objects.DigestOf(raw), store.SHA1.Hash(store.TypeBlob, raw)}
}

// IsZero reports whether a is the zero value, which names nothing.
func (a Address) IsZero() bool { return a == Address{} }

// A Reader reads the objects of a repository, as *store.Reader does.
type Reader interface {
	Has(store.OID) bool
	Object(id store.OID, limit int64) (store.Type, []byte, error)
	Blob(id store.OID, limit int64) ([]byte, error)
	Commit(store.OID) (*store.Commit, error)
	Tree(store.OID) ([]store.Entry, error)
	Lookup(tree store.OID, path string) (store.Entry, error)
}

// A Source returns the bytes at an address. The caller compares them with the digest.
type Source func(Address) ([]byte, error)

// Load returns the bytes at an address after comparing them with its digest.
func (from Source) Load(a Address, what string) ([]byte, error) {
	if from == nil {
		return nil, fault.New(fault.NotFound, "%s %s: is not available", what, a.ID)
	}
	raw, err := from(a)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, a.ID, err)
	}
	return raw, a.Proves(raw, what)
}

// Proves refuses bytes that differ from the digest in the address.
func (a Address) Proves(raw []byte, what string) error {
	if objects.DigestOf(raw) != a.Sum {
		return fault.New(fault.Integrity, "%s %s: its bytes differ from the signed state", what, a.ID)
	}
	return nil
}

// A line of a list names a part of a state: "<name> <64 hex> <git id>".
type listed struct {
	name string
	at   Address
}

// encodeList returns the lines of a list.
func encodeList(lines []listed) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s %s\n", l.name, l.at.Sum.Hex(), l.at.ID)
	}
	return b.Bytes()
}

// maxList bounds a list, in bytes: 17 lines.
const maxList = 4096

// parseList reads a list whose names come from names, in that order. It accepts only the output of
// encodeList.
func parseList(raw []byte, names []string) ([]listed, error) {
	if len(raw) == 0 || len(raw) > maxList {
		return nil, fault.New(fault.Malformed, "list of %d bytes: want 1 to %d", len(raw), maxList)
	}
	var out []listed
	for line := range bytes.Lines(raw) {
		l, err := parseListed(line)
		if err != nil {
			return nil, err
		}
		for len(names) > 0 && names[0] != l.name {
			names = names[1:]
		}
		if len(names) == 0 {
			return nil, fault.New(fault.Malformed, "list: %q is unknown here, repeated or out of order", words.Brief(l.name))
		}
		names = names[1:]
		out = append(out, l)
	}
	if !bytes.Equal(encodeList(out), raw) {
		return nil, fault.New(fault.Malformed, "list: is not in canonical form")
	}
	return out, nil
}

func parseListed(line []byte) (l listed, err error) {
	parts := bytes.Split(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if len(parts) != 3 {
		return l, fault.New(fault.Malformed, "list: line %q: want a name, a SHA-256 and a git id", words.Brief(string(line)))
	}
	l.name = string(parts[0])
	if l.at.Sum, err = objects.ParseDigest("sha256:" + string(parts[1])); err != nil {
		return l, err
	}
	l.at.ID, err = store.ParseOID(string(parts[2]))
	return l, err
}

// The names in a root list, and in the list under each digit. They are built on first use, because
// most commands need none.
var (
	rootNames = sync.OnceValue(func() []string { return append([]string{"keys"}, hexNames("", 16)...) })
	listNames = sync.OnceValue(func() (all [16][]string) {
		for i := range all {
			all[i] = hexNames(fmt.Sprintf("%x", i), 16)
		}
		return all
	})
)

func hexNames(before string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%x", before, i)
	}
	return names
}

// hexName returns the value of the last hexadecimal digit of a name.
func hexName(name string) int {
	c := name[len(name)-1]
	if c >= 'a' {
		return int(c-'a') + 10
	}
	return int(c - '0')
}
