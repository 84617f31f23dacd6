package trust

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/internal/words"
)

// UpstreamKey is the key of a signature that another person's git made, in the form of
// authorized_keys without a comment. It signs nothing here and gives no trust: it only shows
// whether the same key signs again. The zero value is no key.
type UpstreamKey string

// ParseUpstreamKey reads a key from a state file.
func ParseUpstreamKey(text string) (UpstreamKey, error) {
	k, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil || len(rest) > 0 || authorized(k) != text {
		return "", fault.New(fault.Malformed, "upstream key %q: want a type and its base64", words.Brief(text))
	}
	return UpstreamKey(text), nil
}

// Fingerprint returns the key's name as ssh-keygen -l shows it; "" for no key.
func (k UpstreamKey) Fingerprint() string {
	p, _, _, _, err := ssh.ParseAuthorizedKey([]byte(k))
	if err != nil {
		return ""
	}
	return ssh.FingerprintSHA256(p)
}

// String returns the fingerprint and the type of the key.
func (k UpstreamKey) String() string {
	kind, _, _ := strings.Cut(string(k), " ")
	return strings.TrimSpace(k.Fingerprint() + " " + kind)
}

func authorized(k ssh.PublicKey) string {
	return string(bytes.TrimSuffix(ssh.MarshalAuthorizedKey(k), []byte("\n")))
}

// upstreamForms are the forms of signatures by OpenSSH that are safe today. RSA with SHA-1 and DSA
// are not among them.
var upstreamForms = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
	ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256}

const leastRSA = 2048 // bits

// VerifyUpstream verifies an SSH signature that git made of a commit or a tag, of any type of key
// that OpenSSH uses, and returns the key. It decides nothing about that key. A malformed signature
// is Malformed; a key or form that is not safe is Untrusted; a signature of something else is
// Integrity.
func VerifyUpstream(armor string, message []byte) (UpstreamKey, error) {
	blob, _, err := dearmor(armor)
	if err != nil {
		return "", err
	}
	bad := func(code fault.Code, why string, args ...any) (UpstreamKey, error) {
		return "", fault.New(code, "ssh signature: "+why, args...)
	}
	rest, ok := bytes.CutPrefix(blob, []byte(sshsigMagic))
	if !ok {
		return bad(fault.Malformed, "does not begin with %s", sshsigMagic)
	}
	r := reader{table.NewCursor(rest)}
	version := r.Big32()
	wire, namespace, reserved, hash, sig := r.str(), r.str(), r.str(), r.str(), r.str()
	var sum []byte
	switch string(hash) {
	case "sha512":
		h := sha512.Sum512(message)
		sum = h[:]
	case "sha256":
		h := sha256.Sum256(message)
		sum = h[:]
	}
	switch {
	case r.Bad() || version != 1 || r.Len() != 0 || len(reserved) != 0 || sum == nil:
		return bad(fault.Malformed, "not a signature of version 1 with SHA-512 or SHA-256")
	case string(namespace) != GitNamespace:
		return bad(fault.Integrity, "made for %q, not for git", words.Brief(string(namespace)))
	}
	key, err := ssh.ParsePublicKey(wire)
	if err != nil {
		return bad(fault.Malformed, "its key cannot be read")
	}
	var s ssh.Signature
	if err := ssh.Unmarshal(sig, &s); err != nil {
		return bad(fault.Malformed, "its last field cannot be read")
	}
	if !slices.Contains(upstreamForms, s.Format) || strings.Contains(key.Type(), "-cert-") {
		return bad(fault.Untrusted, "form %q by a key of type %q is not supported", words.Brief(s.Format), words.Brief(key.Type()))
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if p, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && p.N.BitLen() < leastRSA {
			return bad(fault.Untrusted, "an RSA key of %d bits is too short", p.N.BitLen())
		}
	}
	signed := appendStr(appendStr(appendStr(appendStr([]byte(sshsigMagic), namespace), nil), hash), sum)
	if err := key.Verify(signed, &s); err != nil {
		return bad(fault.Integrity, "not a signature of these bytes by %s", UpstreamKey(authorized(key)))
	}
	return UpstreamKey(authorized(key)), nil
}
