//go:build unix

package space

import (
	"syscall"
	"testing"
)

func makePipe(t *testing.T, path string) {
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
