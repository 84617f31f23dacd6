//go:build !linux

package primitive

import (
	"errors"
	"os"
)

// SealedPath is where a program finds Call.Sealed; "" where the system has no such
// thing.
const SealedPath = ""

func sealFile([]byte) (*os.File, error) { return nil, errors.ErrUnsupported }
