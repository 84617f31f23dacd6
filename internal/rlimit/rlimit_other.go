//go:build !linux

package rlimit

// Memory bounds nothing on this system.
func Memory(uint64) (lift func(), err error) { return func() {}, nil }
