//go:build unix

package place

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
)

// owned holds the directories for which Owned said nil in this process: a start reads
// several files of one directory.
var owned sync.Map

// Trusted returns nil when only this user and root can have written the file at path, or
// can make one there. Like Owned it is fault.Auth otherwise; of a directory it asks once
// in a process.
func Trusted(path string) error { return (*Look)(nil).Trusted(path) }

// Trusted is the function Trusted, by this look.
func (l *Look) Trusted(path string) error {
	st, err := l.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil || st.Mode()&fs.ModeSymlink != 0:
		return l.Owned(path)
	default:
		if err := ownedHere(path, st, true); err != nil {
			return err
		}
	}
	dir := filepath.Dir(path)
	if _, ok := owned.Load(dir); ok {
		return nil
	}
	if err := l.Owned(dir); err != nil {
		return err
	}
	owned.Store(dir, nil)
	return nil
}
