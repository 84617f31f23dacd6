package place

import (
	"io"
	"os"

	"github.com/rye-os/rye/fault"
)

// Folder is a directory that another user may have made, opened to read several files directly
// in it.
type Folder struct{ *os.Root }

// OpenFolder opens a directory. A link to one is fault.Malformed; a missing one is
// fs.ErrNotExist.
func OpenFolder(dir string) (Folder, error) {
	root, err := Tree(dir)
	return Folder{root}, err
}

// Read returns the bytes of a file directly in the folder, at most limit of them (fault.Limit).
// It does not follow a link, which is fault.Malformed like anything but a regular file.
func (f Folder) Read(name string, limit int64) ([]byte, error) { return ReadIn(f.Root, name, limit) }

// Head is like Read, but for a larger file it returns the first limit bytes, and more is true.
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
