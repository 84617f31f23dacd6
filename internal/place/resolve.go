package place

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Resolve follows the links in a path as far as it exists, and keeps the rest unchanged.
func Resolve(path string) (string, error) {
	path = filepath.Clean(path)
	rest := ""
	for at := path; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		up := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || up == at {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}
