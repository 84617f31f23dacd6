package look

import (
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Staged returns the signed files of a layer whose entries in the index of the user's own git have
// other bytes: the next commit would leave the signatures out. Whatever cannot be read with
// certainty is left out.
func Staged(s *session.Session, l *space.Layer) (paths []string) {
	dir, err := records.Canonical(l.Dir)
	if err != nil {
		return nil
	}
	at, err := head.OpenCommitted(dir, s.Host.Home)
	if err != nil || at == nil {
		return nil
	}
	defer at.Close()
	all, err := at.Staged()
	if err != nil {
		return nil
	}
	for _, f := range all {
		raw, err := l.Read(f.Path)
		if err != nil || f.Is(raw) {
			continue
		}
		if body, sig, _, err := objects.Split(f.Path, raw); err == nil && sig != nil && sig.Digest == objects.DigestOf(body) {
			paths = append(paths, ".ai/"+f.Path)
		}
	}
	return paths
}
