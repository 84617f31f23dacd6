package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// confine bounds this process: address space, processor time, files, no core dump.
func confine(lim Limits) error {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		return err
	}
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_AS, pages*uint64(os.Getpagesize()) + apartMemory},
		{unix.RLIMIT_CPU, apartCPU},
		{unix.RLIMIT_FSIZE, uint64(lim.Bytes + lim.Total)},
		{unix.RLIMIT_NOFILE, 256},
		{unix.RLIMIT_CORE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return err
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}
