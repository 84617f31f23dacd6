package store

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// apartSpace bounds the address space. Go reserves it in pieces of 64 MiB and more.
const apartSpace = 1 << 30

// confine limits this process: memory, processor time, files, no core dump.
func confine(lim Limits) error {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var size, resident, shared, text, lib, data uint64 // proc(5), in pages
	if _, err := fmt.Sscan(string(raw), &size, &resident, &shared, &text, &lib, &data); err != nil {
		return err
	}
	page := uint64(os.Getpagesize())
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_DATA, data*page + apartMemory}, // writable memory, since Linux 4.7
		{unix.RLIMIT_AS, size*page + apartSpace},
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
