package place

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
)

// Tree opens a directory that another user may have made, such as the .ai of a clone. A link
// to a directory is fault.Malformed, because it could lead anywhere. Tree checks the same
// directory that it opens. A missing directory is fs.ErrNotExist.
func Tree(dir string) (*os.Root, error) {
	st, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, notPlain(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if is, err := root.Stat("."); err != nil || !os.SameFile(st, is) {
		root.Close()
		return nil, notPlain(dir)
	}
	return root, nil
}

func notPlain(dir string) error {
	return fault.New(fault.Malformed, "%s is no plain directory", dir).Advise("put a directory in the place of %s", dir)
}

// ReadIn is Read for a file directly in a directory that Tree opened. It does not follow a
// link, which is fault.Malformed like anything but a regular file.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	path := root.Name() + string(os.PathSeparator) + name
	st, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, irregular(path)
	case st.Size() > limit:
		return nil, tooLarge(path, limit)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have replaced the file
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !os.SameFile(st, is) {
		return nil, irregular(path)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit { // it grew meanwhile
		err = tooLarge(path, limit)
	}
	return raw, err
}

// FileIn is File for a file directly in a directory that Tree opened. It replaces a link with
// that name, not the link's target.
func FileIn(root *os.Root, name string, data []byte, mode os.FileMode) error {
	path := root.Name() + string(os.PathSeparator) + name
	tmp, err := tempIn(root, data, mode)
	if err == nil {
		if err = root.Rename(tmp, name); err != nil {
			root.Remove(tmp)
		}
	}
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", path, err)
	}
	return Sync(root.Name())
}

// tempIn writes a new file and syncs it. Its name has the prefix that rye gc removes.
func tempIn(root *os.Root, data []byte, mode os.FileMode) (name string, err error) {
	var f *os.File
	for range 100 {
		name = ".rye-tmp-" + rand.Text()
		if f, err = root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // independent of the umask
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		root.Remove(name)
	}
	return name, err
}
