//go:build linux && !amd64 && !arm64

package cage

import "golang.org/x/sys/unix"

// No S2 is given on this processor (see filterKnown), and so no S3.
func cloneAndCall(flags uintptr, first *call, f *failure) (pid int) { return -int(unix.ENOSYS) }
