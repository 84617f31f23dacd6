package fieldcorpus

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Write writes one version, 0 to 2, below an existing directory: bytes, executable bits and links.
// It goes on past a path that the file system refuses. The error joins one *fs.PathError for each.
func (r Repository) Write(dir string, version int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var refused []error
	// Links come last, so that no file is written through one.
	for _, links := range []bool{false, true} {
		for _, f := range r.Versions[version] {
			if links != (f.Link != "") {
				continue
			}
			if err := write(root, f); err != nil {
				refused = append(refused, &fs.PathError{Op: "write", Path: f.Path, Err: err})
			}
		}
	}
	return errors.Join(refused...)
}

func write(root *os.Root, f File) error {
	if strings.HasSuffix(f.Path, "/") {
		return root.MkdirAll(filepath.FromSlash(strings.TrimSuffix(f.Path, "/")), 0o755)
	}
	at := filepath.FromSlash(f.Path)
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(f.Path)), 0o755); err != nil {
		return err
	}
	if f.Link != "" {
		return root.Symlink(filepath.FromSlash(f.Link), at)
	}
	mode := fs.FileMode(0o644)
	if f.Exec {
		mode = 0o755
	}
	// A name that is there already is a twin for this file system: keep the first.
	w, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = w.Write(f.Data)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return root.Chmod(at, mode) // whatever the umask is
}
