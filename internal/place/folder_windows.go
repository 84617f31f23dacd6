package place

import "os"

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
