// Package secret reads a file of secrets that is encrypted with age, so that keys of
// models need not lie in the environment of a shell. Other programs make and edit the
// file:
//
//	age-keygen -o identity.txt
//	age -R <(age-keygen -y identity.txt) -o secrets.age secrets.txt
//
// or, with a passphrase instead of an identity, age -p -o secrets.age secrets.txt. Inside it
// is YAML: a name and a value on each line.
package secret

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// MaxFile bounds the file, encrypted and not, in bytes.
const MaxFile = 1 << 20

// Keys open the file. A missing key is not tried.
type Keys struct {
	Identity   []byte                 // an identity file of age
	Passphrase func() ([]byte, error) // asks the user; nil when rye cannot ask
}

// Open decrypts a file, armored or not, and returns the secrets by name. A file that no key opens
// is fault.Auth; a file that is not a mapping of names to texts is fault.Malformed. Errors never
// quote the file.
func Open(file []byte, keys Keys) (map[string]string, error) {
	if len(file) > MaxFile {
		return nil, fault.New(fault.Limit, "the file of secrets has %d bytes, at most %d", len(file), MaxFile)
	}
	ids, err := keys.identities(file)
	if err != nil {
		return nil, err
	}
	plain, err := age.Decrypt(source(file), ids...)
	if err != nil {
		return nil, notOpened(err)
	}
	raw, err := io.ReadAll(io.LimitReader(plain, MaxFile+1))
	if err != nil {
		return nil, notOpened(err)
	}
	all := map[string]string{}
	if len(raw) > MaxFile || objects.DecodeYAML(raw, MaxFile, &all) != nil {
		return nil, fault.New(fault.Malformed, "the file of secrets: want a name and a text on each line inside it")
	}
	return all, nil
}

func source(file []byte) io.Reader {
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte(armor.Header)) {
		return armor.NewReader(bytes.NewReader(file))
	}
	return bytes.NewReader(file)
}

// identities returns the identities that may open the file. It asks for a passphrase only if the
// file needs one.
func (k Keys) identities(file []byte) ([]age.Identity, error) {
	if len(k.Identity) > 0 {
		ids, err := age.ParseIdentities(bytes.NewReader(k.Identity))
		if err != nil {
			return nil, fault.New(fault.Malformed, "the identity for the file of secrets cannot be read")
		}
		return ids, nil
	}
	if !wantsPassphrase(file) {
		return nil, fault.New(fault.Auth, "the file of secrets needs an identity, and secrets.yaml names none").Advise("name it in secrets.yaml: identity: <file>")
	}
	if k.Passphrase == nil {
		return nil, fault.New(fault.Auth, "the file of secrets needs a passphrase, and rye cannot ask for one here")
	}
	pass, err := k.Passphrase()
	if err != nil {
		return nil, err
	}
	id, err := age.NewScryptIdentity(string(pass))
	if err != nil {
		return nil, fault.New(fault.Auth, "the file of secrets: no passphrase was given")
	}
	return []age.Identity{id}, nil
}

// wantsPassphrase reports whether the file is encrypted with a passphrase.
func wantsPassphrase(file []byte) bool {
	head := make([]byte, 256)
	n, _ := io.ReadFull(source(file), head)
	return strings.Contains(string(head[:n]), "-> scrypt ")
}

func notOpened(err error) error {
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return fault.New(fault.Auth, "the file of secrets: wrong identity or passphrase")
	}
	return fault.New(fault.Malformed, "the file of secrets cannot be decrypted")
}
