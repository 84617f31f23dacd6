package store

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// OID is the id of a git object: SHA-1 today, SHA-256 when repositories use it. It is
// comparable and usable as a map key. The zero value is "no object". An OID is an address,
// never evidence.
type OID struct {
	n uint8 // bytes in use: 0, 20 or 32
	b [32]byte
}

// ParseOID accepts 40 or 64 lower-case hexadecimal digits that are not all zero.
func ParseOID(s string) (OID, error) {
	id, ok := parseHex(s)
	if !ok || id.IsZero() {
		return OID{}, fault.New(fault.Malformed, "object id %q: want 40 or 64 lower-case hexadecimal digits, not all zero", words.Brief(s))
	}
	return id, nil
}

// parseHex accepts everything that ParseOID accepts, and the zero id, which becomes OID{}.
func parseHex[T string | []byte](s T) (OID, bool) {
	var id OID
	if len(s) != 40 && len(s) != 64 {
		return id, false
	}
	var any byte
	for i := 0; i < len(s); i += 2 {
		hi, lo := unhex[s[i]], unhex[s[i+1]]
		if hi == 0 || lo == 0 {
			return OID{}, false
		}
		id.b[i/2] = (hi-1)<<4 | (lo - 1)
		any |= id.b[i/2]
	}
	if any != 0 {
		id.n = uint8(len(s) / 2)
	}
	return id, true
}

// unhex holds the value of each lower-case hexadecimal digit plus one.
var unhex = [256]byte{
	'0': 1, '1': 2, '2': 3, '3': 4, '4': 5, '5': 6, '6': 7, '7': 8, '8': 9, '9': 10,
	'a': 11, 'b': 12, 'c': 13, 'd': 14, 'e': 15, 'f': 16,
}

// OIDFromBytes returns the id with the given 20 or 32 bytes; all zero gives the
// zero OID.
func OIDFromBytes(b []byte) (OID, error) {
	if len(b) != 20 && len(b) != 32 {
		return OID{}, fault.New(fault.Malformed, "object id of %d bytes: want 20 or 32", len(b))
	}
	return oidOf(b), nil
}

// oidOf copies b. The caller guarantees its length.
func oidOf(b []byte) OID {
	var id OID
	copy(id.b[:], b)
	if id.b != [32]byte{} {
		id.n = uint8(len(b))
	}
	return id
}

// String returns 40 or 64 lower-case hexadecimal digits; 40 zeros for the zero OID.
func (id OID) String() string {
	if id.n == 0 {
		return "0000000000000000000000000000000000000000"
	}
	return hex.EncodeToString(id.b[:id.n])
}

// IsZero reports whether id is "no object".
func (id OID) IsZero() bool { return id.n == 0 }

// Bytes returns a fresh copy of the 20 or 32 raw bytes; nil for the zero OID.
func (id OID) Bytes() []byte {
	if id.n == 0 {
		return nil
	}
	return append([]byte(nil), id.b[:id.n]...)
}

// Compare orders ids by their bytes, as .idx files and packs do.
func (id OID) Compare(o OID) int {
	return cmp.Or(bytes.Compare(id.b[:], o.b[:]), int(id.n)-int(o.n))
}

// setOf returns the set of ids.
func setOf(ids []OID) map[OID]bool {
	set := make(map[OID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// Format is the hash function for the ids of a repository.
type Format uint8

// The object formats of git.
const (
	SHA1   Format = 20
	SHA256 Format = 32
)

// String returns git's name of the format: "sha1" or "sha256".
func (f Format) String() string {
	if f == SHA256 {
		return "sha256"
	}
	return "sha1"
}

// size returns the number of bytes of an id.
func (f Format) size() int { return int(f) }

func (f Format) new() hash.Hash {
	if f == SHA256 {
		return sha256.New()
	}
	return sha1.New()
}

// zero returns the hexadecimal text of "no object".
func (f Format) zero() string {
	return "0000000000000000000000000000000000000000000000000000000000000000"[:2*f.size()]
}

// Hash returns the id of data as an object of type t.
func (f Format) Hash(t Type, data []byte) OID {
	var head [32]byte
	h := appendHeader(head[:0], t, int64(len(data)))
	d := f.new()
	d.Write(h)
	d.Write(data)
	var sum [32]byte
	return oidOf(d.Sum(sum[:0]))
}

// appendHeader appends the text that git hashes before an object's bytes.
func appendHeader(b []byte, t Type, size int64) []byte {
	b = append(b, t.String()...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	return append(b, 0)
}

// Type is the type of a git object. The zero value is not a type.
type Type uint8

// The types of objects, with the numbers that packs use.
const (
	TypeCommit Type = 1
	TypeTree   Type = 2
	TypeBlob   Type = 3
	TypeTag    Type = 4
)

// String returns git's name of the type.
func (t Type) String() string {
	switch t {
	case TypeCommit:
		return "commit"
	case TypeTree:
		return "tree"
	case TypeBlob:
		return "blob"
	case TypeTag:
		return "tag"
	}
	return "type " + strconv.Itoa(int(t))
}

// ParseType accepts git's four names.
func ParseType(s string) (Type, error) {
	for t := TypeCommit; t <= TypeTag; t++ {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fault.New(fault.Malformed, "object type %q: want commit, tree, blob or tag", words.Brief(s))
}
