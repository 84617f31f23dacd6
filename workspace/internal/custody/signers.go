package custody

import (
	"bytes"
	"errors"
	"io/fs"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// readSigners reads the project's declared signers, and the text itself. A declaration alone
// does not make them trusted: see docs/format/statement.md.
func readSigners(h *session.Host) (*trust.Signers, []byte, error) {
	raw, err := session.ReadAI(h, session.SignersFile, trust.MaxSignersFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	s, err := trust.ParseSigners(raw)
	return s, raw, err
}

// NoteSigner declares in the project that a key signs items of namespaces, unless the file
// says so already.
func NoteSigner(h *session.Host, k trust.PublicKey, namespaces ...string) error {
	s, raw, err := readSigners(h)
	if err != nil {
		return err
	}
	s.Add(k, namespaces...)
	if bytes.Equal(s.Encode(), raw) {
		return nil
	}
	return WriteSigners(h, s)
}

// Signers returns the project's declared signers; none where the file is missing.
func Signers(h *session.Host) (*trust.Signers, error) {
	s, _, err := readSigners(h)
	return s, err
}

// WriteSigners writes the project's declared signers.
func WriteSigners(h *session.Host, s *trust.Signers) error {
	text := s.Encode()
	if _, err := trust.ParseSigners(text); err != nil { // too large a file is not written
		return err
	}
	return session.WriteAI(h, session.SignersFile, text)
}

// listedKey returns a key that the project declares.
func listedKey(h *session.Host, fp objects.Fingerprint) (trust.PublicKey, bool, error) {
	if h.ProjectDir == "" {
		return trust.PublicKey{}, false, nil
	}
	s, _, err := readSigners(h)
	if err != nil {
		return trust.PublicKey{}, false, err
	}
	k, ok := s.Key(fp)
	return k, ok, nil
}
