//go:build !unix

package place

import (
	"io"
	"io/fs"
	"os"
)

func read(path string, limit int64, check func(fs.FileMode) error) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, irregular(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, err
	}
	switch {
	case !st.Mode().IsRegular():
		return nil, irregular(path)
	case st.Size() > limit:
		return nil, tooLarge(path, limit)
	}
	if err := check(st.Mode().Perm()); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit { // it grew meanwhile
		err = tooLarge(path, limit)
	}
	return raw, err
}

// Open is os.Open.
func Open(path string) (*os.File, error) { return os.Open(path) }
