package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
)

// pkcs8PEM is the PEM type of RYE OS's private keys (RFC 5208, RFC 8410).
const pkcs8PEM = "PRIVATE KEY"

// OpenSSH returns the key as an OpenSSH file, encrypted when passphrase is not empty.
// The comment is for people and is not protected.
func (k *FileKey) OpenSSH(comment string, passphrase []byte) ([]byte, error) {
	var block *pem.Block
	var err error
	if len(passphrase) == 0 {
		block, err = ssh.MarshalPrivateKey(k.priv, comment)
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(k.priv, comment, passphrase)
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "encode key %s: %w", k.pub, err)
	}
	return pem.EncodeToMemory(block), nil
}

// PKCS8 returns the key as RYE OS keeps it: PKCS#8 in PEM, never encrypted.
func (k *FileKey) PKCS8() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.priv)
	if err != nil {
		return nil, fault.New(fault.Failed, "encode key %s: %w", k.pub, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: pkcs8PEM, Bytes: der}), nil
}

// Foreign is a private key file that another program made.
type Foreign struct {
	Key       *FileKey
	Protected bool   // by a passphrase, which Save keeps
	text      []byte // the bytes of an OpenSSH file; nil for other forms
}

// ReadForeign reads a private key to import: an OpenSSH file, or an unencrypted PKCS#8
// file in PEM, as RYE OS keeps its key. The file must be private, as for LoadKey. ask
// is called at most once, when the file is encrypted: rye imports only a key that the
// user can open.
func ReadForeign(path string, ask func() ([]byte, error)) (*Foreign, error) {
	raw, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	f, err := ParseForeign(raw, ask)
	if err != nil {
		return nil, keyFileError(path, err)
	}
	return f, nil
}

// ParseForeign is ReadForeign for the text of a file.
func ParseForeign(raw []byte, ask func() ([]byte, error)) (*Foreign, error) {
	if block, _ := pem.Decode(raw); block != nil && block.Type != opensshPEM {
		k, err := parsePKCS8(raw)
		return &Foreign{Key: k}, err
	}
	k, err := parseKey(raw, ask)
	if err != nil {
		return nil, err
	}
	env, err := parseEnvelope(raw)
	return &Foreign{Key: k, Protected: env.encrypted, text: raw}, err
}

// parsePKCS8 is the inverse of PKCS8. It refuses every other form.
func parsePKCS8(raw []byte) (*FileKey, error) {
	block, rest := pem.Decode(raw)
	switch {
	case block == nil || len(block.Headers) != 0 || len(bytes.TrimSpace(rest)) != 0 || !bytes.HasPrefix(raw, []byte("-----BEGIN ")):
		return nil, fault.New(fault.Malformed, "not one private key in PEM")
	case block.Type == "ENCRYPTED "+pkcs8PEM:
		return nil, fault.New(fault.Malformed, "an encrypted PKCS#8 key").
			Advise("ssh-keygen -p -f <file>, which turns it into OpenSSH's format and keeps it encrypted")
	case block.Type != pkcs8PEM:
		return nil, fault.New(fault.Untrusted, "a key of type %q: only %s is accepted", words.Brief(block.Type), keyType).Advise("only Ed25519 keys: rye key new makes one")
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault.New(fault.Malformed, "%w", err)
	}
	priv, ok := any.(ed25519.PrivateKey)
	if !ok {
		return nil, fault.New(fault.Untrusted, "a key of type %T: only %s is accepted", any, keyType).Advise("only Ed25519 keys: rye key new makes one")
	}
	if again, err := x509.MarshalPKCS8PrivateKey(priv); err != nil || !bytes.Equal(again, block.Bytes) {
		return nil, fault.New(fault.Malformed, "not in the plain form of PKCS#8: it holds more than a private key")
	}
	return newFileKey(priv)
}

// Save writes the key to a path that must not exist yet. An OpenSSH file stays byte for
// byte the same, and keeps its passphrase.
func (f *Foreign) Save(path string) error {
	if f.text == nil {
		return f.Key.Save(path, nil)
	}
	return saveNew(path, f.text)
}

// Peek returns the public half of a private key file, and whether a passphrase protects
// the private half. It needs no passphrase. Only LoadKey proves that the halves belong
// together.
func Peek(path string) (pub PublicKey, protected bool, err error) {
	raw, err := readKeyFile(path)
	if err != nil {
		return PublicKey{}, false, err
	}
	env, err := parseEnvelope(raw)
	if err != nil {
		return PublicKey{}, false, keyFileError(path, err)
	}
	return env.pub, env.encrypted, nil
}

// Rewrite replaces this key's file at path, encrypted when passphrase is not empty. The
// old file stays until the new one is complete. A file with another key is Conflict. A
// symbolic link is refused (Usage), because its target would keep the old passphrase.
func (k *FileKey) Rewrite(path string, passphrase []byte) error {
	if err := NoLink(path); err != nil {
		return err
	}
	have, _, err := Peek(path)
	if err != nil {
		return err
	}
	if have != k.pub {
		return fault.New(fault.Conflict, "write key %s: the file holds another key, %s", path, have)
	}
	text, err := k.OpenSSH("rye "+filepath.Base(path), passphrase)
	if err != nil {
		return err
	}
	return place.File(path, text, 0o600)
}

// CopyKey copies the bytes of a private key file to a name that must not exist yet.
func CopyKey(from, to string) error {
	raw, err := readKeyFile(from)
	if err != nil {
		return err
	}
	return saveNew(to, raw)
}

// ReplaceKey renames a key file over another, durably.
func ReplaceKey(from, to string) error {
	if err := place.Replace(from, to); err != nil {
		return fault.New(fault.Failed, "rename key %s: %w", from, err)
	}
	return nil
}

// WriteSecret writes a file with mode 0600 that must not exist yet.
func WriteSecret(path string, data []byte) error { return writeNew(path, data) }

// NoLink refuses a symbolic link at the path of a key file.
func NoLink(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "key %s: no such file", path).Advise("rye key list")
	case err != nil:
		return fault.New(fault.Failed, "key %s: %w", path, err)
	case st.Mode()&fs.ModeSymlink != 0:
		return fault.New(fault.Usage, "key %s: a symbolic link; the key itself lies elsewhere", path).Advise("change it where it lies")
	}
	return nil
}

// saveNew writes a new key file into a directory that only its owner may change.
func saveNew(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Failed, "save key %s: %w", path, err)
	}
	if err := checkKeyDir(dir); err != nil {
		return err
	}
	return writeNew(path, text)
}

// keyFileError adds the path of the file to an error. It keeps code and hint.
func keyFileError(path string, err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return fault.Wrap(err, "load key %s", path)
	}
	return fault.New(fault.Malformed, "load key %s: %w", path, err)
}

// ReadSecret returns the bytes of a private key file, under the conditions of LoadKey.
func ReadSecret(path string) ([]byte, error) { return readKeyFile(path) }
