package files

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/place"
)

// Before rye first writes a file, it keeps the original in the state directory, to restore it
// byte for byte. <client>-<scope>-<key>.before holds the bytes; .none means that there was no
// file. The key is the beginning of the SHA-256 of the path. Other users must not read these
// copies, because the files of clients hold logins.

func (h *Host) kept(f file, as string) string {
	sum := sha256.Sum256([]byte(filepath.Join(f.base, f.name)))
	return filepath.Join(h.State, "clients", fmt.Sprintf("%s-%s-%x.%s", f.client.Name, f.scope, sum[:6], as))
}

// keep keeps the original of a file before rye first writes it. raw is nil when there is no
// file.
func (h *Host) keep(f file, raw []byte) error {
	for _, as := range []string{"before", "none"} {
		if _, err := os.Lstat(h.kept(f, as)); err == nil {
			return nil
		}
	}
	if raw == nil {
		return place.File(h.kept(f, "none"), nil, 0o600)
	}
	return place.File(h.kept(f, "before"), raw, 0o600)
}

// copyOf keeps a copy of a file whose foreign entry is replaced, and returns its path.
func (h *Host) copyOf(f file, raw []byte) (path string, err error) {
	for n := 1; ; n++ {
		path = h.kept(f, fmt.Sprintf("copy%d", n))
		old, err := place.Read(path, clients.MaxFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, place.File(path, raw, 0o600)
		case err != nil:
			return "", err
		case bytes.Equal(old, raw):
			return path, nil
		}
	}
}

// before returns the new text of a file when the entry is removed. If nothing except the entry
// changed since rye first wrote the file, that is the original (none is true when there was no
// file). Otherwise it is the current text without the entry.
func (h *Host) before(f file, raw []byte) (text []byte, none bool, err error) {
	if text, err = f.client.Without(raw); err != nil {
		return nil, false, err
	}
	server, _, err := f.client.Entry(raw)
	if err != nil {
		return nil, false, err
	}
	old, err := place.Read(h.kept(f, "before"), clients.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(h.kept(f, "none")); err != nil {
			return text, false, nil
		}
		none = true
	} else if err != nil {
		return text, false, nil // the original is optional
	}
	if again, err := f.client.With(old, server, false); err != nil || !bytes.Equal(again, raw) {
		return text, false, nil
	}
	return old, none, nil
}

// forget removes the kept original of a file. Copies stay.
func (h *Host) forget(f file) {
	os.Remove(h.kept(f, "before"))
	os.Remove(h.kept(f, "none"))
}
