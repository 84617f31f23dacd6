package memory

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// Had is what a machine remembers of having had every object that a log names.
type Had struct {
	At               oplog.Point // of the log
	Content          store.OID   // end of the branch of the content
	Redacted, Pruned int         // versions and states, until then
}

// verifiedPath is where a machine remembers it.
func (r *Memory) verifiedPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".had", namespace)
}

// Had returns what is remembered, and nothing where it is not to be understood:
// then everything is asked for again.
func (r *Memory) Had(s oplog.State) (h Had) {
	raw, err := place.Read(r.verifiedPath(s.Namespace), 300)
	if err != nil {
		return Had{}
	}
	var at, sum, content string
	if _, err := fmt.Sscanf(string(raw), "%d %s %s %s %d %d\n", &h.At.Seq, &at, &sum, &content, &h.Redacted, &h.Pruned); err != nil {
		return Had{}
	}
	h.At.Tip, err = store.ParseOID(at)
	if err == nil {
		h.At.Sum, err = objects.ParseDigest(sum)
	}
	if err == nil {
		h.Content, err = store.ParseOID(content)
	}
	if err != nil || h.At.Seq > s.Last().Seq || h.At.Seq == s.Last().Seq && h.At.Sum != s.Last().Sum {
		return Had{}
	}
	return h
}

// NoteHad notes how far everything was had, in one line: "<position> <commit> <digest of the
// operation> <end of the content> <redacted> <pruned>".
func (r *Memory) NoteHad(namespace string, h Had) error {
	path := r.verifiedPath(namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "remember what was verified: %w", err)
	}
	line := fmt.Appendf(nil, "%d %s %s %s %d %d\n", h.At.Seq, h.At.Tip, h.At.Sum, h.Content, h.Redacted, h.Pruned)
	return place.File(path, line, 0o600)
}
