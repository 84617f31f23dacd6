package trust

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/table"
	"github.com/rye-os/rye/internal/words"
)

// FileKey is a private key held in memory. It is a Signer and safe for concurrent
// use. Printing one shows its fingerprint and nothing else.
type FileKey struct {
	priv ed25519.PrivateKey
	pub  PublicKey
}

// GenerateKey makes a new key from the system's randomness.
func GenerateKey() (*FileKey, error) {
	_, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fault.New(fault.Failed, "make a key: %w", err)
	}
	return newFileKey(priv)
}

// newFileKey wraps a private key. The caller has checked that its halves belong together.
func newFileKey(priv ed25519.PrivateKey) (*FileKey, error) {
	pub, err := PublicKeyFromBytes(priv[ed25519.SeedSize:])
	if err != nil {
		return nil, err
	}
	return &FileKey{priv, pub}, nil
}

// Public returns the public half.
func (k *FileKey) Public() PublicKey { return k.pub }

// Sign signs message. It fails only when ctx is done.
func (k *FileKey) Sign(ctx context.Context, message []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return ed25519.Sign(k.priv, message), nil
}

// Format prints the fingerprint for every verb, so that no log holds the key.
func (k *FileKey) Format(f fmt.State, _ rune) { io.WriteString(f, k.pub.String()) }

// keyFileMax bounds a private key file, in bytes; rye's own have about 400.
const keyFileMax = 16 << 10

const (
	opensshPEM   = "OPENSSH PRIVATE KEY"
	opensshMagic = "openssh-key-v1\x00"
)

// Save writes the key in OpenSSH's private-key format, encrypted when passphrase is not
// empty, with mode 0600. It makes missing directories with 0700. The file is complete
// or absent; only on a file system without hard links can a crash leave it empty. A
// file that exists is never overwritten (Conflict), because a lost private key cannot
// be restored.
func (k *FileKey) Save(path string, passphrase []byte) error {
	text, err := k.OpenSSH("rye "+filepath.Base(path), passphrase)
	if err != nil {
		return err
	}
	return saveNew(path, text)
}

// writeNew writes a file that must not exist yet. It syncs the file under a temporary
// name and then links its own name, which fails when another process was faster.
func writeNew(path string, data []byte) error {
	exists := func() error {
		return fault.New(fault.Conflict, "write %s: the file exists already, and a private file is never overwritten", path).
			Advise("choose another name, or move %s away", path)
	}
	if _, err := os.Lstat(path); err == nil {
		return exists()
	}
	tmp, err := place.Temp(filepath.Dir(path), data, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "write %s: no such directory", path).Advise("make %s first", filepath.Dir(path))
	}
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", path, err)
	}
	defer os.Remove(tmp)
	err = os.Link(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		return exists()
	}
	if err != nil { // a file system without hard links: reserve the name, then replace our own reservation
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return exists()
		}
		if err != nil {
			return fault.New(fault.Failed, "write %s: %w", path, err)
		}
		f.Close()
		if err := place.Replace(tmp, path); err != nil {
			os.Remove(path)
			return fault.New(fault.Failed, "write %s: %w", path, err)
		}
	}
	return place.Sync(filepath.Dir(path))
}

// LoadKey reads a private key in OpenSSH's format. A file that other users may read is
// refused (Auth), because they may have copied the key. ask is called at most once,
// when the key is encrypted; nil means that no one can enter the passphrase. Only plain
// Ed25519 keys are accepted.
func LoadKey(path string, ask func() ([]byte, error)) (*FileKey, error) {
	raw, err := readKeyFile(path)
	if err != nil {
		return nil, err
	}
	k, err := parseKey(raw, ask)
	if err != nil {
		return nil, keyFileError(path, err)
	}
	return k, nil
}

// readKeyFile reads a file after checking the mode of the open file, so that it reads
// the same file that it checked.
func readKeyFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "load key %s: no such file", path).Advise("rye key list shows your keys, rye key new makes one")
	}
	if err != nil {
		return nil, fault.New(fault.Auth, "load key %s: %w", path, err)
	}
	defer f.Close()
	if err := place.Trusted(path); err != nil {
		return nil, fault.Wrap(err, "load key")
	}
	st, err := f.Stat()
	if err != nil {
		return nil, fault.New(fault.Failed, "load key %s: %w", path, err)
	}
	if !st.Mode().IsRegular() {
		return nil, fault.New(fault.Malformed, "load key %s: not a regular file", path)
	}
	if err := checkPrivate(path, st); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, keyFileMax+1))
	if err != nil {
		return nil, fault.New(fault.Failed, "load key %s: %w", path, err)
	}
	if len(raw) > keyFileMax {
		return nil, fault.New(fault.Limit, "load key %s: more than %d bytes", path, keyFileMax)
	}
	return raw, nil
}

// ReadPublic returns the public half of a private key file. That half is not encrypted,
// so it needs no passphrase. Only LoadKey proves that the private half belongs to it.
func ReadPublic(path string) (PublicKey, error) {
	pub, _, err := Peek(path)
	return pub, err
}

// envelope is the outer layer of a private key file, which is never encrypted.
type envelope struct {
	pub       PublicKey
	encrypted bool
}

// maxRounds bounds the rounds of bcrypt that a file may demand for its passphrase: about ten
// seconds. ssh-keygen writes 16 to 24, and -a sets others.
const maxRounds = 1000

func parseEnvelope(raw []byte) (e envelope, err error) {
	bad := func(why string) (envelope, error) {
		return e, fault.New(fault.Malformed, "not a private key in OpenSSH's format: %s", why).Advise("rye key list shows yours, rye key new makes one")
	}
	block, rest := pem.Decode(raw)
	switch {
	case block == nil:
		return bad("no PEM block")
	case block.Type != opensshPEM:
		return bad("the block is called " + strings.ToLower(words.Brief(block.Type)))
	case len(block.Headers) != 0 || len(bytes.TrimSpace(rest)) != 0 || !bytes.HasPrefix(raw, []byte("-----BEGIN ")):
		return bad("text around the block")
	}
	inner, ok := bytes.CutPrefix(block.Bytes, []byte(opensshMagic))
	if !ok {
		return bad("wrong magic")
	}
	r := reader{table.NewCursor(inner)}
	cipher, _, kdf := r.str(), r.str(), reader{table.NewCursor(r.str())}
	n, pub, _ := r.Big32(), r.str(), r.str()
	if r.Bad() || n != 1 || r.Len() != 0 {
		return bad("not exactly one key")
	}
	if e.pub, err = parseWire(pub); err != nil {
		return e, err
	}
	if e.encrypted = string(cipher) != "none"; e.encrypted {
		kdf.str() // salt
		if rounds := kdf.Big32(); kdf.Bad() || rounds > maxRounds {
			return e, fault.New(fault.Limit, "the passphrase of the key demands %d rounds of bcrypt, at most %d", rounds, maxRounds).
				Advise("ssh-keygen -p -a 24 -f <file> encrypts it again")
		}
	}
	return e, nil
}

// parseKey reads a private key and proves that its halves belong together. A signature
// made with a wrong public half would reveal the private one.
func parseKey(raw []byte, ask func() ([]byte, error)) (*FileKey, error) {
	env, err := parseEnvelope(raw)
	if err != nil {
		return nil, err
	}
	any, err := decryptKey(raw, env, ask)
	if err != nil {
		return nil, err
	}
	priv, ok := any.(*ed25519.PrivateKey)
	if !ok || len(*priv) != ed25519.PrivateKeySize {
		return nil, fault.New(fault.Untrusted, "the private half is not of type %s", keyType).Advise("only Ed25519 keys: rye key new makes one")
	}
	derived := ed25519.NewKeyFromSeed(priv.Seed())
	if !bytes.Equal(derived, *priv) || !bytes.Equal(derived[ed25519.SeedSize:], env.pub.b[:]) {
		return nil, fault.New(fault.Malformed, "the public half does not belong to the private one")
	}
	return newFileKey(derived)
}

func decryptKey(raw []byte, env envelope, ask func() ([]byte, error)) (any, error) {
	if !env.encrypted {
		key, err := ssh.ParseRawPrivateKey(raw)
		if err != nil {
			return nil, fault.New(fault.Malformed, "%w", err)
		}
		return key, nil
	}
	if ask == nil {
		return nil, fault.New(fault.Auth, "the key is encrypted, and rye cannot ask for its passphrase here").
			Advise("ssh-add the key, then RYE_KEY=agent:%s", env.pub)
	}
	passphrase, err := ask()
	if err != nil {
		return nil, fault.New(fault.Auth, "the key is encrypted, and its passphrase cannot be asked for: %w", err).
			Advise("run it at a terminal, or: ssh-add the key, then RYE_KEY=agent:%s", env.pub)
	}
	key, err := ssh.ParseRawPrivateKeyWithPassphrase(raw, passphrase)
	if errors.Is(err, x509.IncorrectPasswordError) || err != nil && len(passphrase) == 0 {
		return nil, fault.New(fault.Auth, "wrong passphrase")
	}
	if err != nil {
		return nil, fault.New(fault.Malformed, "%w", err)
	}
	return key, nil
}
