package app

import (
	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// harden lets nobody look into this process: other processes of the user cannot trace it or
// read its memory, and when it crashes no core is written.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fault.New(fault.Failed, "harden the process: %w", err)
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
