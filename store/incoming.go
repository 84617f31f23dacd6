package store

import (
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// OpenIncoming opens the repository at dir with a further directory of objects: where git
// keeps what was pushed while a hook judges it (GIT_OBJECT_DIRECTORY). It is for reading.
func OpenIncoming(dir, objects string) (*Repo, error) {
	if !filepath.IsAbs(objects) {
		return nil, fault.New(fault.Usage, "objects in %q: want an absolute path", objects)
	}
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	r.Reader.init(r.Reader.format, r.disk, &diskObjects{dir: objects, format: r.Reader.format})
	return r, nil
}
