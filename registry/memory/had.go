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

// Had records up to where this machine had every object that a log names.
type Had struct {
	At               oplog.Point // in the log
	Content          store.OID   // tip of the content branch
	Redacted, Pruned int         // redacted versions and pruned states up to there
}

// verifiedPath is the file of that record.
func (r *Memory) verifiedPath(namespace string) string {
	return filepath.Join(r.o.StateDir, r.o.ID.Hex()+".had", namespace)
}

// Had returns the record for a namespace. If it cannot be read, it returns the zero value, and
// everything is asked for again.
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

// NoteHad writes the record in one line: "<position> <commit> <digest of the operation> <tip of the
// content branch> <redacted> <pruned>".
func (r *Memory) NoteHad(namespace string, h Had) error {
	path := r.verifiedPath(namespace)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.New(fault.Failed, "remember the verified log: %w", err)
	}
	line := fmt.Appendf(nil, "%d %s %s %s %d %d\n", h.At.Seq, h.At.Tip, h.At.Sum, h.Content, h.Redacted, h.Pruned)
	return place.File(path, line, 0o600)
}
