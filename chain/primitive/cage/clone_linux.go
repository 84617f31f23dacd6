//go:build linux && (amd64 || arm64)

package cage

// cloneAndCall makes a process with clone(2). The process makes one call after the other, from
// first on, until one fails. Then it writes f and ends. The result is its pid, or the negative
// number of an error.
func cloneAndCall(flags uintptr, first *call, f *failure) (pid int)
