package main_test

import (
	"os"
	"syscall"
)

// resident returns the most memory that an ended process held, in bytes.
func resident(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(u.Maxrss) << 10
}
