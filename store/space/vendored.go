package space

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// A project may carry the files of its locked items, for machines without network. They are bytes
// and nothing else: the lock says by digest which are wanted, and they are verified like bytes of
// the store. They are asked for by path, so no list, search or name finds them.

// VendorItems is the directory below .ai with the vendored files, each at its own path below .ai.
const VendorItems = "vendor/items"

// vendored returns the vendored bytes of p, a slash path below .ai; fs.ErrNotExist where there are
// none.
func (l *Layer) vendored(p string, limit int64) ([]byte, error) {
	if l.Dir == "" {
		return nil, fs.ErrNotExist
	}
	root, err := place.Tree(l.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	raw, err := place.ReadIn(root, VendorItems+"/"+p, limit)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		err = fs.ErrNotExist
	case err != nil && !errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) == fault.Failed: // a link that leads outside
		err = fault.New(fault.Malformed, "read .ai/%s/%s: %w", VendorItems, p, err)
	}
	return raw, err
}

// vendoredPin is vendored for a pin, with the pinned bytes or an error.
func (l *Layer) vendoredPin(pin Pin) ([]byte, error) {
	raw, err := l.vendored(pin.Path, MaxItem)
	if err == nil && objects.DigestOf(raw) != pin.Sum {
		err = fault.New(fault.Integrity, "%s: the lock pins %s, .ai/%s/%[1]s has %[4]s", pin.Path, pin.Sum, VendorItems, objects.DigestOf(raw)).
			Advise("restore the file with git, or with network: rye pull")
	}
	return raw, err
}

// vendorFS is the vendored files below a directory of .ai.
type vendorFS struct {
	l   *Layer
	dir string
}

func (v vendorFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	raw, err := v.l.vendored(path.Join(v.dir, name), objects.MaxPackageFile)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return vendoredFile{path.Base(name), bytes.NewReader(raw)}, nil
}

// Stat describes a directory, for a walk that begins there.
func (v vendorFS) Stat(name string) (fs.FileInfo, error) {
	root, err := place.Tree(v.l.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Lstat(path.Join(VendorItems, v.dir, name))
}

// ReadDir lists a directory, up to one entry more than a bundle may have.
func (v vendorFS) ReadDir(name string) ([]fs.DirEntry, error) {
	root, err := place.Tree(v.l.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(path.Join(VendorItems, v.dir, name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(objects.MaxPackageFiles + 2) // one more than with the manifest
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && len(list) > objects.MaxPackageFiles+1 {
		err = fault.New(fault.Limit, "read .ai/%s/%s: more than %d files", VendorItems, v.dir, objects.MaxPackageFiles)
	}
	return list, err
}

// vendoredFile is an open vendored file. Its mode says nothing: the manifest has it.
type vendoredFile struct {
	name string
	*bytes.Reader
}

func (f vendoredFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f vendoredFile) Close() error               { return nil }
func (f vendoredFile) Name() string               { return f.name }
func (f vendoredFile) Mode() fs.FileMode          { return 0o644 }
func (f vendoredFile) ModTime() time.Time         { return time.Time{} }
func (f vendoredFile) IsDir() bool                { return false }
func (f vendoredFile) Sys() any                   { return nil }
