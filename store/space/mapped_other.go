//go:build !unix

package space

import (
	"errors"
	"os"
)

// mapFile maps nothing here: a mapped file could not be replaced.
func mapFile(*os.File, int64) (raw []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
