package objects

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Digest is a SHA-256 over raw bytes. rye verifies content by it; git ids are only
// addresses. The zero value means "none"; no known bytes have it as their digest.
type Digest [sha256.Size]byte

// DigestOf returns the SHA-256 of b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// Hex returns 64 lower-case hexadecimal digits.
func (d Digest) Hex() string { return hex.EncodeToString(d[:]) }

// String returns "sha256:" and the hexadecimal digits.
func (d Digest) String() string { return "sha256:" + d.Hex() }

// IsZero reports whether d is the zero value.
func (d Digest) IsZero() bool { return d == Digest{} }

// ParseDigest accepts exactly what String returns.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	h, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(h) != 64 || h != strings.ToLower(h) {
		return d, fault.New(fault.Malformed, "digest %q: want sha256: and 64 lower-case hexadecimal digits", words.Brief(s))
	}
	if _, err := hex.Decode(d[:], []byte(h)); err != nil {
		return Digest{}, fault.New(fault.Malformed, "digest %q: %w", words.Brief(s), err)
	}
	return d, nil
}

// Fingerprint is the SHA-256 of a public key's SSH wire form: the same 32 bytes
// that ssh-keygen -l prints. It is shortened only for display to people.
type Fingerprint [sha256.Size]byte

// String returns the form of ssh-keygen: "SHA256:" and unpadded base64.
func (f Fingerprint) String() string { return "SHA256:" + base64.RawStdEncoding.EncodeToString(f[:]) }

// URL returns the 43 characters of unpadded base64url that a signature line holds.
func (f Fingerprint) URL() string { return base64.RawURLEncoding.EncodeToString(f[:]) }

// IsZero reports whether f is the zero value, which no key has.
func (f Fingerprint) IsZero() bool { return f == Fingerprint{} }

// ParseFingerprint accepts exactly what String returns.
func ParseFingerprint(s string) (Fingerprint, error) {
	b64, ok := strings.CutPrefix(s, "SHA256:")
	if !ok {
		return Fingerprint{}, fault.New(fault.Malformed, "fingerprint %q: want SHA256: and 43 characters of base64", words.Brief(s))
	}
	return decodeFingerprint(base64.RawStdEncoding.Strict(), b64)
}

// ParseFingerprintURL accepts exactly what URL returns.
func ParseFingerprintURL(s string) (Fingerprint, error) {
	return decodeFingerprint(base64.RawURLEncoding.Strict(), s)
}

func decodeFingerprint(enc *base64.Encoding, s string) (Fingerprint, error) {
	var f Fingerprint
	b, err := enc.DecodeString(s)
	if err != nil || len(b) != len(f) || strings.ContainsAny(s, "\r\n") {
		return f, fault.New(fault.Malformed, "fingerprint %q: want 43 characters of unpadded base64", words.Brief(s))
	}
	copy(f[:], b)
	return f, nil
}
