//go:build linux && (amd64 || arm64)

package cage

// cloneAndCall makes a process with clone(2). That makes one call after the other, from first
// on, until one fails; then it writes f and ends. The result is its id, or the number of an
// error with its sign changed.
func cloneAndCall(flags uintptr, first *call, f *failure) (pid int)
