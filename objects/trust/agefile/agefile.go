// Package agefile encrypts a file to another person's or machine's SSH key, in age's format. The
// program age reads and writes the same files.
package agefile

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"golang.org/x/crypto/ssh"

	"github.com/rye-os/rye/fault"
)

// MaxFile bounds a file, encrypted and not, in bytes.
const MaxFile = 64 << 10

// Seal encrypts a text, armored, to the holder of a public key: the text of an SSH public key file
// (Ed25519, or RSA of 2048 bits and more), or a recipient of age.
func Seal(text, recipient []byte) ([]byte, error) {
	line, err := onlyLine(recipient)
	if err != nil {
		return nil, err
	}
	to, err := parseRecipient(line)
	if err != nil { // which quotes the text, and that can be a private key
		return nil, fault.New(fault.Malformed, "not a public key to encrypt to").
			Advise("name the .pub file of an SSH key (Ed25519 or RSA), or a file with an age recipient")
	}
	var out bytes.Buffer
	shield := armor.NewWriter(&out)
	w, err := age.Encrypt(shield, to)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = errors.Join(w.Close(), shield.Close())
	}
	if err != nil { // a key on no curve, or of small order
		return nil, fault.New(fault.Malformed, "encrypt to the public key: %w", err)
	}
	return out.Bytes(), nil
}

// onlyLine returns the one line of a file that is neither empty nor a comment.
func onlyLine(text []byte) (line string, err error) {
	for l := range strings.Lines(string(text)) {
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		if line != "" {
			return "", fault.New(fault.Usage, "the file has several public keys").Advise("name a file with the one that may read the export")
		}
		line = l
	}
	return line, nil
}

func parseRecipient(line string) (age.Recipient, error) {
	if strings.HasPrefix(line, "age1") {
		all, err := age.ParseRecipients(strings.NewReader(line))
		if err != nil {
			return nil, err
		}
		return all[0], nil
	}
	return agessh.ParseRecipient(line)
}

// Open decrypts a file with a private SSH key or an identity file of age. ask is called for the
// passphrase of the SSH key if the file needs it; nil means that nobody can enter it. A file that
// the identity does not open is fault.Auth.
func Open(file, identity []byte, ask func() ([]byte, error)) ([]byte, error) {
	if len(file) > MaxFile || len(identity) > MaxFile {
		return nil, fault.New(fault.Limit, "more than %d bytes in an encrypted file or an identity", MaxFile)
	}
	ids, err := identities(identity, ask)
	if err != nil {
		return nil, err
	}
	var from io.Reader = bytes.NewReader(file)
	if bytes.HasPrefix(file, []byte(armor.Header)) {
		from = armor.NewReader(from)
	}
	plain, err := age.Decrypt(from, ids...)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(plain, MaxFile+1))
	}
	var none *age.NoIdentityMatchError
	switch {
	case errors.As(err, &none):
		return nil, fault.New(fault.Auth, "the file is encrypted to another key").Advise("name the private key that belongs to the .pub file of the export: --identity <file>")
	case err != nil:
		return nil, fault.New(fault.Malformed, "the encrypted file is damaged: %w", err).Advise("copy it again, or export the key again")
	case len(text) > MaxFile:
		return nil, fault.New(fault.Limit, "more than %d bytes in an encrypted file", MaxFile)
	}
	return text, nil
}

func identities(text []byte, ask func() ([]byte, error)) ([]age.Identity, error) {
	id, err := agessh.ParseIdentity(text)
	if err == nil {
		return []age.Identity{id}, nil
	}
	if locked := (*ssh.PassphraseMissingError)(nil); errors.As(err, &locked) && locked.PublicKey != nil {
		if ask == nil {
			return nil, fault.New(fault.Auth, "the identity is encrypted, and rye cannot ask for its passphrase here").Advise("run the command at a terminal")
		}
		id, err := agessh.NewEncryptedSSHIdentity(locked.PublicKey, text, ask)
		if err != nil {
			return nil, fault.New(fault.Malformed, "the identity: %w", err)
		}
		return []age.Identity{id}, nil
	}
	all, ageErr := age.ParseIdentities(bytes.NewReader(text))
	if ageErr != nil {
		return nil, fault.New(fault.Malformed, "the identity is no private SSH key (%w) and no identity file of age", err).
			Advise("name a private key in OpenSSH's format, such as ~/.ssh/id_ed25519")
	}
	return all, nil
}
