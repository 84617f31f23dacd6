package custody

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// signersFile lists the public keys of those who signed in this project, so that a
// colleague's clone knows the bytes behind a fingerprint. A key that is listed there is
// not trusted for it: see docs/format/project.md.
const signersFile = "allowed_signers"

const maxSigners = 1 << 20 // bytes

// Signers reads the project's list, by fingerprint. Lines without an Ed25519 key are left
// out: the file may serve git for other keys too.
func Signers(h *session.Host) (map[objects.Fingerprint]trust.PublicKey, error) {
	_, keys, err := readSigners(h)
	return keys, err
}

func readSigners(h *session.Host) (text string, keys map[objects.Fingerprint]trust.PublicKey, err error) {
	raw, err := h.ReadAI(signersFile, maxSigners)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, err
	}
	keys = map[objects.Fingerprint]trust.PublicKey{}
	for line := range strings.Lines(string(raw)) {
		i := strings.Index(line, "ssh-ed25519 ")
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if k, err := trust.ParsePublicKey(strings.TrimSpace(line[i:])); err == nil {
			keys[k.Fingerprint()] = k
		}
	}
	return string(raw), keys, nil
}

// NoteSigner adds the key to the project's list when it is not there yet.
func NoteSigner(h *session.Host, k trust.PublicKey) error {
	text, keys, err := readSigners(h)
	if err != nil {
		return err
	}
	if _, ok := keys[k.Fingerprint()]; ok {
		return nil
	}
	lines := []string{Author(k).Email + ` namespaces="git" ` + k.Authorized()}
	if text = strings.TrimSpace(text); text != "" {
		lines = append(lines, strings.Split(text, "\n")...)
	}
	slices.Sort(lines)
	return h.WriteAI(signersFile, []byte(strings.Join(lines, "\n")+"\n"))
}
