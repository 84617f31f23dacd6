package trust

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// PublicKey is an Ed25519 public key, checked when it was made: 32 bytes, canonical,
// on the curve, not of small order. The zero value is not a key. Keys are comparable,
// and equal exactly when their fingerprints are.
type PublicKey struct{ b [32]byte }

// keyType is the only accepted algorithm. Every other one is refused by name, so a new
// algorithm needs an explicit change.
const keyType = "ssh-ed25519"

// PublicKeyFromBytes accepts the 32 bytes of RFC 8032. It refuses (Malformed) encodings
// that are not canonical, points that are not on the curve, and points of small order,
// whose signatures verify for every message.
func PublicKeyFromBytes(b []byte) (PublicKey, error) {
	var k PublicKey
	if len(b) != len(k.b) {
		return k, fault.New(fault.Malformed, "public key: %d bytes, want %d", len(b), len(k.b))
	}
	if why := weak(b); why != "" {
		return k, fault.New(fault.Malformed, "public key %s: %s", hex.EncodeToString(b), why)
	}
	copy(k.b[:], b)
	return k, nil
}

// smallOrder holds the y coordinates, little-endian and without the sign of x, of
// the eight points whose order divides 8: y = 1 (the identity), -1 (order 2),
// 0 (order 4), and the two of order 8. TestSmallOrder computes them again.
var smallOrder = [5][32]byte{
	{1},
	{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	{},
	{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
		0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a},
	{0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
		0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05},
}

// weak returns in words why b must not be used as a key, or "".
func weak(b []byte) string {
	var y [32]byte
	copy(y[:], b)
	y[31] &= 0x7f // the top bit is the sign of x
	if slices.Contains(smallOrder[:], y) {
		return "of small order: its signatures hold for every message"
	}
	if y[0] >= 0xed && y[31] == 0x7f && !slices.ContainsFunc(y[1:31], func(c byte) bool { return c != 0xff }) {
		return "not canonical: y is not below 2^255-19"
	}
	if !onCurve(y) {
		return "not a point of the curve"
	}
	return ""
}

// onCurve reports whether there is a point with this y, little-endian and below
// 2^255-19. x² = (y²-1)/(d·y²+1), d = -121665/121666, has a root exactly when
// numerator times denominator is a square, or zero.
func onCurve(y [32]byte) bool {
	p := new(big.Int).Lsh(big.NewInt(1), 255)
	p.Sub(p, big.NewInt(19))
	slices.Reverse(y[:])
	y2 := new(big.Int).SetBytes(y[:])
	y2.Mul(y2, y2).Mod(y2, p)

	m := big.NewInt(121666) // both sides of the fraction times m
	den := new(big.Int).Mul(y2, big.NewInt(-121665))
	den.Add(den, m)
	num := y2.Sub(y2, big.NewInt(1))
	num.Mul(num, m)
	return big.Jacobi(num.Mul(num, den), p) >= 0
}

// ParsePublicKey accepts the form that Authorized returns, optionally followed by a
// space and a comment, which is ignored. Another algorithm is Untrusted, any other
// fault is Malformed.
func ParsePublicKey(authorizedLine string) (PublicKey, error) {
	kind, rest, _ := strings.Cut(authorizedLine, " ")
	if kind != keyType {
		if strings.Contains(kind, "-") && !strings.ContainsAny(kind, "\r\n\"") {
			return PublicKey{}, otherAlgorithm(kind)
		}
		return PublicKey{}, fault.New(fault.Malformed, "public key %q: want %s AAAA...", words.Brief(authorizedLine), keyType)
	}
	b64, _, _ := strings.Cut(rest, " ")
	wire, err := base64.StdEncoding.Strict().DecodeString(b64)
	if err != nil || strings.ContainsAny(authorizedLine, "\r\n") {
		return PublicKey{}, fault.New(fault.Malformed, "public key %q: not one line of base64", words.Brief(authorizedLine))
	}
	return parseWire(wire)
}

// otherAlgorithm refuses a key by its type and gives the reason, so that its owner learns
// whether a later rye could accept it.
func otherAlgorithm(kind string) error {
	why := "one algorithm, with one length and one spelling, leaves nothing to downgrade to"
	switch {
	case strings.Contains(kind, "-cert-"):
		why = "a certificate relies on its authority, and rye trusts single keys only"
	case strings.HasPrefix(kind, "sk-"), strings.HasPrefix(kind, "webauthn-"):
		why = "a security key also signs a counter and flags of its own, and a signature line has no room for them"
	}
	return fault.New(fault.Untrusted, "key of type %q: only plain %s is accepted: %s", words.Brief(kind), keyType, why).
		Advise("only Ed25519 keys: rye key new makes one")
}

// parseWire reads the form of RFC 4253 §6.6: two strings, nothing after them.
func parseWire(wire []byte) (PublicKey, error) {
	r := reader{table.NewCursor(wire)}
	kind := r.str()
	if r.Bad() {
		return PublicKey{}, fault.New(fault.Malformed, "public key: truncated")
	}
	if string(kind) != keyType {
		return PublicKey{}, otherAlgorithm(string(kind))
	}
	raw := r.str()
	if !r.Done() {
		return PublicKey{}, fault.New(fault.Malformed, "public key: truncated, or bytes after the key")
	}
	return PublicKeyFromBytes(raw)
}

// wireLen is the length of the form of RFC 4253: two lengths and two strings.
const wireLen = 4 + len(keyType) + 4 + 32

// wire is the inverse of parseWire.
func (k PublicKey) wire() []byte { return k.appendWire(nil) }

func (k PublicKey) appendWire(to []byte) []byte {
	return appendStr(appendStr(to, []byte(keyType)), k.b[:])
}

// Fingerprint returns the SHA-256 of the key's SSH form, like ssh-keygen -l. The zero
// key has the zero fingerprint.
func (k PublicKey) Fingerprint() objects.Fingerprint {
	if k.IsZero() {
		return objects.Fingerprint{}
	}
	var wire [wireLen]byte // asked for several times for each item
	return sha256.Sum256(k.appendWire(wire[:0]))
}

// Authorized returns the key as in authorized_keys, without a comment:
// "ssh-ed25519 AAAA...".
func (k PublicKey) Authorized() string {
	return keyType + " " + base64.StdEncoding.EncodeToString(k.wire())
}

// IsZero reports whether k is the zero value, which is no key.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// String returns the fingerprint.
func (k PublicKey) String() string { return k.Fingerprint().String() }

// Verify reports whether sig is a signature of msg by k. Always false for the zero key.
func (k PublicKey) Verify(msg, sig []byte) bool {
	return !k.IsZero() && ed25519.Verify(k.b[:], msg, sig)
}

// spkiPrefix precedes the 32 bytes in a SubjectPublicKeyInfo (RFC 8410).
var spkiPrefix = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

// PEM returns the key as RYE OS keeps it: SubjectPublicKeyInfo in PEM.
func (k PublicKey) PEM() []byte {
	der := append(slices.Clone(spkiPrefix), k.b[:]...)
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// LegacyFingerprint returns RYE OS's name for the key, 16 hexadecimal digits: the first
// eight bytes of a SHA-256 over the PEM text. It is too short to identify a key, and
// only selects candidates.
func (k PublicKey) LegacyFingerprint() string {
	sum := sha256.Sum256(k.PEM())
	return hex.EncodeToString(sum[:8])
}

// LaterFingerprint returns the name of the key in RyeOS 0.5: the SHA-256 of its 32 bytes,
// as 64 hexadecimal digits.
func (k PublicKey) LaterFingerprint() string {
	sum := sha256.Sum256(k.b[:])
	return hex.EncodeToString(sum[:])
}

// ParsePEM is the inverse of PEM. rye imports keys of RYE OS with it.
func ParsePEM(text []byte) (PublicKey, error) {
	b, rest := pem.Decode(text)
	if b == nil || b.Type != "PUBLIC KEY" || len(b.Headers) != 0 || strings.TrimSpace(string(rest)) != "" {
		return PublicKey{}, fault.New(fault.Malformed, "public key: not one PUBLIC KEY block in PEM")
	}
	raw := b.Bytes
	if len(raw) != len(spkiPrefix)+32 || string(raw[:len(spkiPrefix)]) != string(spkiPrefix) {
		return PublicKey{}, fault.New(fault.Untrusted, "public key: not an Ed25519 key in SubjectPublicKeyInfo")
	}
	return PublicKeyFromBytes(raw[len(spkiPrefix):])
}

// reader reads SSH wire strings.
type reader struct{ *table.Cursor }

// str returns a string: its length in four bytes, and its bytes.
func (r reader) str() []byte { return r.Bytes(r.Count(uint64(r.Big32()), 1)) }

func appendStr(to, s []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(s))), s...)
}
