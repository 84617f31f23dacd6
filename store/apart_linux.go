package store

import (
	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/internal/rlimit"
)

// apartSpace bounds the address space. Go reserves it in pieces of 64 MiB and more.
const apartSpace = 1 << 30

// confine limits this process: memory, processor time, files, no core dump.
func confine(lim Limits) error {
	space, data, err := rlimit.Taken()
	if err != nil {
		return err
	}
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_DATA, data + apartMemory}, // writable memory, since Linux 4.7
		{unix.RLIMIT_AS, space + apartSpace},
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
