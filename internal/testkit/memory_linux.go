package testkit

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	memory = "/dev/shm"
	enough = 2 << 30 // free bytes
)

// UseMemory moves the temporary files of this test process into memory, if the system has room for
// them there. Tests that make thousands of small files take half the processor time then. A chosen
// TMPDIR stays, and benchmarks stay on the disk, which their peers use, too. TestMain calls it.
func UseMemory() {
	bench := slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench=") })
	var st unix.Statfs_t
	if bench || os.Getenv("TMPDIR") != "" || unix.Statfs(memory, &st) != nil || st.Type != unix.TMPFS_MAGIC {
		return
	}
	if st.Flags&unix.ST_NOEXEC != 0 || st.Bavail < enough/uint64(st.Bsize) || unix.Access(memory, unix.W_OK) != nil {
		return
	}
	os.Setenv("TMPDIR", memory)
}
