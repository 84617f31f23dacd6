package place

import (
	"io"
	"os"

	"github.com/rye-os/rye/fault"
)

// Folder is a directory that somebody else may have made, opened for reading several files
// right in it.
type Folder struct{ *os.Root }

// OpenFolder opens a directory, which must be no link to one (fault.Malformed). One that
// is not there is fs.ErrNotExist.
func OpenFolder(dir string) (Folder, error) {
	root, err := Tree(dir)
	return Folder{root}, err
}

// Read returns the bytes of a file right in the folder, at most limit of them (fault.Limit).
// A link is not followed: it is no regular file (fault.Malformed).
func (f Folder) Read(name string, limit int64) ([]byte, error) { return ReadIn(f.Root, name, limit) }

// Head is Read that returns the first limit bytes of a larger file; more reports that there
// are others.
func (f Folder) Head(name string, limit int64) (raw []byte, more bool, err error) {
	raw, err = f.Read(name, limit)
	if !fault.Is(err, fault.Limit) {
		return raw, false, err
	}
	if st, err := f.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return nil, false, irregular(name)
	}
	file, err := f.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	raw, err = io.ReadAll(io.LimitReader(file, limit))
	return raw, true, err
}
