package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Look caches Lstat, so that checks of several paths ask the system only once about a common
// directory. The cache never expires: make a new Look for a new look. It is not safe for
// concurrent use; nil caches nothing.
type Look struct{ seen map[string]looked }

type looked struct {
	st  fs.FileInfo
	err error
}

// Lstat is os.Lstat with the cache.
func (l *Look) Lstat(path string) (fs.FileInfo, error) {
	if l == nil {
		return os.Lstat(path)
	}
	at, ok := l.seen[path]
	if !ok {
		at.st, at.err = os.Lstat(path)
		if l.seen == nil {
			l.seen = make(map[string]looked, 64)
		}
		l.seen[path] = at
	}
	return at.st, at.err
}

// Resolve follows the links in a path as far as it exists, and keeps the rest unchanged.
func (l *Look) Resolve(path string) (string, error) {
	if l == nil || runtime.GOOS == "windows" || !filepath.IsAbs(path) {
		return Resolve(path) // on Windows it also gives the path the spelling of the file system
	}
	path = filepath.Clean(path)
	for at := path; ; at = filepath.Dir(at) {
		st, err := l.Lstat(at)
		if err != nil && !os.IsNotExist(err) || err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return Resolve(path)
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
	}
}
