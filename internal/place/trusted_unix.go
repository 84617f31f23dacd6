//go:build unix

package place

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
)

// owned caches the directories that passed Owned in this process, because a start reads
// several files in one directory.
var owned sync.Map

// Trusted returns nil when only this user and root can have written the file at path, or
// can make one there. Otherwise it is fault.Auth, like Owned. It checks each directory only
// once in a process.
func Trusted(path string) error { return (*Look)(nil).Trusted(path) }

// Trusted is the function Trusted with the cache.
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
