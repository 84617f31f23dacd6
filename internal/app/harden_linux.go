package app

import (
	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// harden protects the memory of this process: other processes of the user cannot trace or read
// it, and a crash writes no core file.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fault.New(fault.Failed, "harden the process: %w", err)
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
