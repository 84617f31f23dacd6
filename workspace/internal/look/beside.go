package look

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// beside describes in one line names and modes in a bundle's directory that differ from its
// manifest; "" for none. Runs get the modes of the manifest, so nothing is refused.
func beside(s *session.Session, f space.Finding) (string, error) {
	l, err := s.Stack.Layer(f.Space)
	if err != nil {
		return "", err
	}
	b, err := f.Cover.Beside(l)
	if err != nil {
		return "", err
	}
	var parts []string
	add := func(what string, paths []string) {
		if n := len(paths); n == 1 {
			parts = append(parts, what+words.Quote(paths[0]))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%s%s and %d more", what, words.Quote(paths[0]), n-1))
		}
	}
	add("not in the manifest, so runs cannot read it: ", b.Dirs)
	if len(b.Added)+len(b.Removed) > 0 && KeepsModes(s, l) {
		add("executable on disk only: ", b.Added)
		add("executable in the manifest only: ", b.Removed)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return "bundle " + string(f.Bundle) + ": " + strings.Join(parts, "; "), nil
}

// KeepsModes reports whether modes in a working tree are meaningful: the file system keeps
// them, and the user's git does not ignore them.
func KeepsModes(s *session.Session, l *space.Layer) bool {
	dir, err := records.Canonical(filepath.Dir(l.Dir))
	if err != nil || !place.KeepsModes(l.Dir) {
		return false
	}
	compared, err := head.KeepsModes(dir, s.Host.Home)
	return err == nil && compared
}
