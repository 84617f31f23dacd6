//go:build !race

package loop_test

import (
	"syscall"
	"testing"
)

// limitMemory limits what this process may have, to a quarter of what doubling a list took without guards.
func limitMemory(t *testing.T) {
	const most = 512 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
}
