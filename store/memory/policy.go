package memory

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/store/records"
)

// Policy is the project's policy that this user has seen last in a directory, or agreed to there. It restricts
// that directory alone.
type Policy struct{ path string }

// policyName is the name of the file in a directory's record. An empty file stands for a policy that is gone, to
// which a person agreed.
const policyName = "policy.yaml"

// PolicyOf returns the policy that is remembered for a place; nil without a record's place.
func PolicyOf(p records.Place) *Policy {
	if p.Dir == "" {
		return nil
	}
	return &Policy{filepath.Join(p.Dir, policyName)}
}

// Text returns the remembered text, of at most limit bytes; known is false where none was ever seen.
func (m *Policy) Text(limit int64) (raw []byte, known bool, err error) {
	if m == nil {
		return nil, false, nil
	}
	raw, err = place.Read(m.path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return raw, err == nil, err
}

// Keep remembers a text. The record's directory must be there.
func (m *Policy) Keep(raw []byte) error { return place.File(m.path, raw, 0o600) }
