package primitive

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// secrets are the files of the system that an ordinary user may not read. Permissions do not stop
// the superuser, so a tool of the superuser is refused these files by name, unless disown makes
// permissions hold. They are searched once in a process.
func secrets() []string {
	if unix.Geteuid() != 0 {
		return nil
	}
	return unreadable()
}

// maxSystemFiles bounds the files of /etc that are searched. A usual system has some thousand.
const maxSystemFiles = 20_000

var unreadable = sync.OnceValue(func() (out []string) {
	n := 0
	filepath.WalkDir("/etc", func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxSystemFiles {
			out = []string{"/etc"} // hide all, rather than show unchecked files
			return fs.SkipAll
		}
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		open := os.FileMode(0o004)
		if d.IsDir() {
			open = 0o005
		}
		if info.Mode().Perm()&open == open {
			return nil
		}
		out = append(out, path)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return out
})
