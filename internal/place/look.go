package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Look remembers what lies at the paths that it was asked about, so that questions about
// several of them ask the system about the directories above once. It is one moment's look:
// make a new one for the next. It is not for concurrent use; nil remembers nothing.
type Look struct{ seen map[string]looked }

type looked struct {
	st  fs.FileInfo
	err error
}

// Lstat is os.Lstat.
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

// Resolve follows the links in a path as far as it exists, and keeps the rest as it is.
func (l *Look) Resolve(path string) (string, error) {
	if l == nil || runtime.GOOS == "windows" || !filepath.IsAbs(path) {
		return Resolve(path) // on Windows it spells the path as the file system does, too
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
