//go:build !amd64 && !arm64 && !riscv64

package space

import "golang.org/x/sys/unix"

// fstatat is unix.Fstatat for a name that ends in a zero byte.
func fstatat(fd int, name []byte, st *unix.Stat_t) error {
	return unix.Fstatat(fd, string(name[:len(name)-1]), st, unix.AT_SYMLINK_NOFOLLOW)
}
