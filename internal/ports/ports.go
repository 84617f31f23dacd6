// Package ports remembers which TCP ports of this machine belong to rye's own servers.
//
// A server holds the lock of a file in the state directory, <state>/ports/<port>, as long as it lives.
// The system releases the lock when its process ends, so a file that is left over means nothing.
package ports

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rye-os/rye/internal/place"
)

// Claim marks a port as rye's own until release or the end of the process.
func Claim(ctx context.Context, state string, port uint16) (release func(), err error) {
	if err := os.MkdirAll(filepath.Join(state, "ports"), 0o700); err != nil {
		return nil, err
	}
	return place.Lock(ctx, file(state, port))
}

// Claimed reports whether a living server of rye has a port. It writes nothing.
func Claimed(state string, port uint16) bool {
	path := file(state, port)
	if _, err := os.Lstat(path); state == "" || err != nil {
		return false
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // Lock tries once
	release, err := place.Lock(now, path)
	if err != nil {
		return true
	}
	release()
	return false
}

func file(state string, port uint16) string {
	return filepath.Join(state, "ports", strconv.Itoa(int(port)))
}
