package trust

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/internal/words"
)

// SSHSIG, as OpenSSH's PROTOCOL.sshsig describes it, is the form of signature
// that git, ssh-keygen -Y and the forges understand:
//
//	armor   = "-----BEGIN SSH SIGNATURE-----" LF base64 lines "-----END SSH SIGNATURE-----"
//	blob    = "SSHSIG" uint32(1) string(key) string(namespace) string("") string("sha512") string(sig)
//	message = "SSHSIG" string(namespace) string("") string("sha512") string(SHA-512 of the bytes)
//
// rye makes signatures only with sha512, and accepts no other hash.
const (
	sshsigMagic  = "SSHSIG"
	sshsigHash   = "sha512"
	sshsigBegin  = "-----BEGIN SSH SIGNATURE-----\n"
	sshsigEnd    = "-----END SSH SIGNATURE-----"
	sshsigColumn = 70   // of ssh-keygen
	sshsigMax    = 4096 // bytes of armor; rye's has about 300

	// GitNamespace is the SSHSIG namespace of git commits and tags.
	GitNamespace = "git"
)

// SignSSHSIG signs message for a namespace and returns the armor, without a
// final newline.
func SignSSHSIG(ctx context.Context, s Signer, namespace string, message []byte) (armor string, err error) {
	if namespace == "" {
		return "", fault.New(fault.Usage, "sign: an SSH signature needs a namespace")
	}
	k := s.Public()
	raw, err := signChecked(ctx, s, sshsigMessage(namespace, message))
	if err != nil {
		return "", fault.Wrap(err, "sign with %s", k)
	}
	b := append([]byte(sshsigMagic), 0, 0, 0, 1)
	b = appendStr(b, k.wire())
	b = appendStr(b, []byte(namespace))
	b = appendStr(b, nil)
	b = appendStr(b, []byte(sshsigHash))
	b = appendStr(b, appendStr(appendStr(nil, []byte(keyType)), raw))
	return enarmor(b, sshsigColumn), nil
}

// sshsigMessage returns the bytes that the key signs.
func sshsigMessage(namespace string, message []byte) []byte {
	sum := sha512.Sum512(message)
	b := append(make([]byte, 0, 128), sshsigMagic...)
	b = appendStr(b, []byte(namespace))
	b = appendStr(b, nil)
	b = appendStr(b, []byte(sshsigHash))
	return appendStr(b, sum[:])
}

// SignCommit signs the bytes of a git commit or tag that has no signature yet.
// The armor goes into its gpgsig header; git verify-commit accepts it.
func SignCommit(ctx context.Context, s Signer, unsigned []byte) (armor string, err error) {
	return SignSSHSIG(ctx, s, GitNamespace, unsigned)
}

// VerifySSHSIG verifies an armored signature of message and returns the key that made
// it. It does not decide whether that key is trusted. The text must be one block in
// exactly the form of SignSSHSIG (Malformed). A key that is not a plain Ed25519 key is
// Untrusted; another namespace or an invalid signature is Integrity. One newline after
// the block is allowed.
func VerifySSHSIG(armor string, namespace string, message []byte) (PublicKey, error) {
	blob, _, err := dearmor(armor)
	if err != nil {
		return PublicKey{}, err
	}
	s, err := parseSSHSIG(blob)
	if err != nil {
		return PublicKey{}, err
	}
	if s.namespace != namespace || namespace == "" {
		return PublicKey{}, fault.New(fault.Integrity, "ssh signature: made for %q, not for %q", words.Brief(s.namespace), namespace)
	}
	if !s.key.Verify(sshsigMessage(namespace, message), s.sig) {
		return PublicKey{}, fault.New(fault.Integrity, "ssh signature: not a signature of these bytes by %s", s.key)
	}
	return s.key, nil
}

// sshsig is a parsed blob.
type sshsig struct {
	key       PublicKey
	namespace string
	sig       []byte
}

func parseSSHSIG(blob []byte) (s sshsig, err error) {
	bad := func(format string, args ...any) (sshsig, error) {
		return sshsig{}, fault.New(fault.Malformed, "ssh signature: "+format, args...)
	}
	rest, ok := bytes.CutPrefix(blob, []byte(sshsigMagic))
	if !ok {
		return bad("does not begin with %s", sshsigMagic)
	}
	r := reader{table.NewCursor(rest)}
	version := r.Big32()
	key, namespace, reserved, hash, sig := r.str(), r.str(), r.str(), r.str(), r.str()
	switch {
	case r.Bad():
		return bad("truncated")
	case version != 1:
		return bad("version %d, want 1", version)
	case r.Len() != 0:
		return bad("%d bytes after its end", r.Len())
	case len(reserved) != 0:
		return bad("the reserved field holds %q", words.Brief(string(reserved)))
	case string(hash) != sshsigHash:
		return bad("hash %q, want %s", words.Brief(string(hash)), sshsigHash)
	case len(namespace) == 0:
		return bad("no namespace")
	}
	if s.key, err = parseWire(key); err != nil {
		return sshsig{}, err
	}
	r = reader{table.NewCursor(sig)}
	alg, raw := r.str(), r.str()
	if r.Bad() || r.Len() != 0 || string(alg) != keyType || len(raw) != 64 {
		return bad("the signature field is not 64 bytes of %s", keyType)
	}
	s.namespace, s.sig = string(namespace), raw
	return s, nil
}

// enarmor wraps a blob at the given column.
func enarmor(blob []byte, column int) string {
	var b strings.Builder
	b.WriteString(sshsigBegin)
	for t := base64.StdEncoding.EncodeToString(blob); t != ""; {
		n := min(column, len(t))
		b.WriteString(t[:n])
		b.WriteByte('\n')
		t = t[n:]
	}
	b.WriteString(sshsigEnd)
	return b.String()
}

// dearmor returns the blob and the column at which it was wrapped. All lines except the
// last must have a length that a known program produces. So a blob has one form per
// program, and white space can hide nothing.
func dearmor(armor string) (blob []byte, column int, err error) {
	bad := func(format string, args ...any) ([]byte, int, error) {
		return nil, 0, fault.New(fault.Malformed, "ssh signature: "+format, args...)
	}
	if len(armor) > sshsigMax {
		return bad("%d bytes, at most %d are allowed", len(armor), sshsigMax)
	}
	body, ok := strings.CutPrefix(armor, sshsigBegin)
	if !ok {
		return bad("does not begin with %q", strings.TrimSpace(sshsigBegin))
	}
	body, ok = strings.CutSuffix(strings.TrimSuffix(body, "\n"), "\n"+sshsigEnd)
	if !ok {
		return bad("does not end with %q", sshsigEnd)
	}
	column = strings.IndexByte(body, '\n')
	if column < 0 {
		column = sshsigColumn
	}
	if !slices.Contains([]int{sshsigColumn, 64, 76}, column) {
		return bad("wrapped at %d characters, want %d", column, sshsigColumn)
	}
	blob, err = base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || enarmor(blob, column) != strings.TrimSuffix(armor, "\n") {
		return bad("not one block of base64 lines")
	}
	return blob, column, nil
}

// CommitSigner returns s as a store.CommitSigner.
func CommitSigner(s Signer) interface {
	SignCommit(ctx context.Context, unsigned []byte) (armor string, err error)
} {
	return commitSigner{s}
}

type commitSigner struct{ s Signer }

func (c commitSigner) SignCommit(ctx context.Context, unsigned []byte) (string, error) {
	return SignCommit(ctx, c.s, unsigned)
}

// AllowedSigners returns the text for git's gpg.ssh.allowedSignersFile: the keys that
// may sign a commit, by principal (an e-mail address or another name). Characters that
// would make a principal a pattern, a list or a second line become "_".
func AllowedSigners(keys map[string]PublicKey) string {
	var b strings.Builder
	for _, who := range slices.Sorted(maps.Keys(keys)) {
		if keys[who].IsZero() {
			continue
		}
		b.WriteString(principal(who))
		b.WriteString(` namespaces="` + GitNamespace + `" `)
		b.WriteString(keys[who].Authorized())
		b.WriteByte('\n')
	}
	return b.String()
}

func principal(s string) string {
	if s == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._@+-/", r):
			return r
		}
		return '_'
	}, s)
}
