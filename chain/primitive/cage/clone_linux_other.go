//go:build linux && !amd64 && !arm64

package cage

import "golang.org/x/sys/unix"

// This processor has no S2 (see filterKnown), and so no S3.
func cloneAndCall(flags uintptr, first *call, f *failure) (pid int) { return -int(unix.ENOSYS) }
