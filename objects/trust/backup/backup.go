// Package backup reads and writes the signed file that carries a user's decisions about trust
// to another machine.
//
// The file is text. Four parts follow each other, each on its own line:
//
//	rye-trust-backup 1
//	ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…
//	<86 characters of base64url: the signature>
//	{"format":1,"made":"2026-11-22T12:00:00Z","trust":"…"}
//
// The signature is over the DSSE encoding of Type and the last line. docs/format/trust-backup.md
// is normative.
//
// # Reasons
//
// Encryption would not show who wrote the file: everybody can encrypt to a public key. So the
// file is signed, and Open verifies the signature before anything parses the content. The
// content holds no private key, and no key becomes the user's own by it.
package backup

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
)

// Type is the DSSE payload type of a backup.
const Type = "application/vnd.rye.trust-backup.v1+json"

const (
	// MaxFile bounds a backup, in bytes.
	MaxFile = 64 << 20

	format     = 1
	magic      = "rye-trust-backup "
	firstLine  = magic + "1"
	sigLetters = 86
)

var b64 = base64.RawURLEncoding.Strict()

// Content holds the user's decisions, and what this user has seen of registries and signers.
// Each text has the format of the file that it comes from, and its reader checks it.
type Content struct {
	Format     int        `json:"format"`
	Made       string     `json:"made"`  // UTC, whole seconds
	Trust      string     `json:"trust"` // trust.yaml
	Kept       []Kept     `json:"kept,omitempty"`
	Registries []Registry `json:"registries,omitempty"`
	Projects   []Project  `json:"projects,omitempty"`
}

// Kept is the list of files that a retired key still signs.
type Kept struct {
	Key  string `json:"key"`  // fingerprint
	List string `json:"list"` // kept/<key>
}

// Registry is what the user has seen of one registry.
type Registry struct {
	ID      string  `json:"id"`   // identity
	Seen    string  `json:"seen"` // <id>.seen
	Revoked []Lines `json:"revoked,omitempty"`
	Unread  []Lines `json:"unread,omitempty"`
}

// Lines are the lines of one namespace.
type Lines struct {
	Namespace string `json:"namespace"`
	Text      string `json:"text"`
}

// Project holds the signed lines that apply in every directory of a project.
type Project struct {
	ID         string `json:"id"`
	Removed    string `json:"removed,omitempty"`
	DeniedKeys string `json:"denied_keys,omitempty"`
	Denied     string `json:"denied,omitempty"` // of all signers
}

// Seal signs a content, and returns the file. It sets the format and the time.
func Seal(ctx context.Context, key trust.Signer, now time.Time, c Content) ([]byte, error) {
	c.Format, c.Made = format, now.UTC().Format(time.RFC3339)
	body, err := c.encode()
	if err != nil {
		return nil, err
	}
	sig, err := key.Sign(ctx, objects.PAE(Type, body))
	if err != nil {
		return nil, err
	}
	file := slices.Concat([]byte(firstLine+"\n"+key.Public().Authorized()+"\n"+b64.EncodeToString(sig)+"\n"), body, []byte("\n"))
	s, err := Open(file)
	if err == nil {
		_, err = s.Content() // a backup that cannot be read is worse than none
	}
	return file, err
}

func (c Content) encode() ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, fault.New(fault.Failed, "write the backup: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Sealed is a backup whose signature was verified. That a key signed it does not make the key
// a trusted one: the caller must check Key before it reads the content.
type Sealed struct {
	Key  trust.PublicKey
	body []byte
}

// Open verifies the signature of a file, and does not parse the content. A wrong signature is
// fault.Integrity.
func Open(raw []byte) (*Sealed, error) {
	if len(raw) > MaxFile {
		return nil, fault.New(fault.Limit, "read the backup: more than %d bytes", MaxFile)
	}
	first, rest, _ := strings.Cut(string(raw[:min(len(raw), 4<<10)]), "\n")
	switch {
	case first == firstLine:
	case strings.HasPrefix(first, magic):
		return nil, fault.New(fault.Malformed, "read the backup: version %q, this rye reads version 1", words.Brief(strings.TrimPrefix(first, magic))).
			Advise("install a newer rye")
	default:
		return nil, fault.New(fault.Malformed, "read the backup: its first line is not %q", firstLine)
	}
	line, rest, _ := strings.Cut(rest, "\n")
	key, err := trust.ParsePublicKey(line)
	if err != nil {
		return nil, fault.Wrap(err, "read the backup")
	}
	text, _, ok := strings.Cut(rest, "\n")
	sig, err := b64.DecodeString(text)
	if !ok || err != nil || len(text) != sigLetters || key.Authorized() != line {
		return nil, fault.New(fault.Malformed, "read the backup: want a key and a signature of %d characters, a line each", sigLetters)
	}
	body, ended := bytes.CutSuffix(raw[len(first)+len(line)+len(text)+3:], []byte("\n"))
	if !ended {
		return nil, fault.New(fault.Malformed, "read the backup: it is not complete")
	}
	if !key.Verify(objects.PAE(Type, body), sig) {
		return nil, fault.New(fault.Integrity, "read the backup: its signature does not fit its content").Advise("take another copy of the file")
	}
	return &Sealed{Key: key, body: body}, nil
}

// Content parses the content. It accepts only the one spelling that Seal writes.
func (s *Sealed) Content() (*Content, error) {
	var c Content
	if err := strict.Decode(s.body, MaxFile, &c); err != nil {
		return nil, fault.Wrap(err, "read the backup")
	}
	switch again, err := c.encode(); {
	case c.Format > format:
		return nil, fault.New(fault.Malformed, "read the backup: format %d, this rye reads %d", c.Format, format).Advise("install a newer rye")
	case err != nil || c.Format != format || !bytes.Equal(again, s.body):
		return nil, fault.New(fault.Malformed, "read the backup: it is not in canonical form")
	}
	if at, err := time.Parse(time.RFC3339, c.Made); err != nil || at.UTC().Format(time.RFC3339) != c.Made {
		return nil, fault.New(fault.Malformed, "read the backup: made %q, want a time like 2026-11-22T12:00:00Z", words.Brief(c.Made))
	}
	return &c, nil
}
