package store

import (
	"path/filepath"

	"github.com/rye-os/rye/fault"
)

// OpenIncoming opens the repository at dir, for reading, with a second objects directory: the
// one in which git keeps pushed objects while a hook runs (GIT_OBJECT_DIRECTORY).
func OpenIncoming(dir, objects string) (*Repo, error) {
	if !filepath.IsAbs(objects) {
		return nil, fault.New(fault.Usage, "objects in %q: want an absolute path", objects)
	}
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	in, err := openFiles(objects)
	if err != nil {
		r.Close()
		return nil, err
	}
	r.incoming = &diskObjects{files: in, at: ".", format: r.Reader.format}
	r.Reader.init(r.Reader.format, r.disk, r.incoming)
	return r, nil
}
