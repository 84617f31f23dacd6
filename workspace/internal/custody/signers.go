package custody

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// SignersFile lists the public keys of those who signed in this project, so that
// a colleague's clone knows the bytes behind a fingerprint. Being listed there
// makes nobody trusted: see docs/format/project.md.
const SignersFile = "allowed_signers"

const maxSigners = 1 << 20

// Signers reads the project's list, by fingerprint. Lines that are no Ed25519 keys
// are left out: the file may serve git for other keys too.
func Signers(h *session.Host) (map[objects.Fingerprint]trust.PublicKey, error) {
	raw, err := place.Read(filepath.Join(h.AIDir(), SignersFile), maxSigners)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys := map[objects.Fingerprint]trust.PublicKey{}
	for line := range strings.Lines(string(raw)) {
		i := strings.Index(line, "ssh-ed25519 ")
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if k, err := trust.ParsePublicKey(strings.TrimSpace(line[i:])); err == nil {
			keys[k.Fingerprint()] = k
		}
	}
	return keys, nil
}

// NoteSigner adds the key to the project's list when it is not there yet.
func NoteSigner(h *session.Host, k trust.PublicKey) error {
	keys, err := Signers(h)
	if err != nil {
		return err
	}
	if _, ok := keys[k.Fingerprint()]; ok {
		return nil
	}
	p := filepath.Join(h.AIDir(), SignersFile)
	old, err := place.Read(p, maxSigners)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(old)), "\n")
	if lines[0] == "" {
		lines = nil
	}
	lines = append(lines, Author(k).Email+` namespaces="git" `+k.Authorized())
	sort.Strings(lines)
	return place.File(p, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
