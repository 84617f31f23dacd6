//go:build amd64 || arm64 || riscv64

package space

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// fstatat is unix.Fstatat for a name that ends in a zero byte, as in the output of getdents64.
// unix.Fstatat would copy the name twice for each file of a project.
func fstatat(fd int, name []byte, st *unix.Stat_t) error {
	_, _, e := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(name))),
		uintptr(unsafe.Pointer(st)), unix.AT_SYMLINK_NOFOLLOW, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}
