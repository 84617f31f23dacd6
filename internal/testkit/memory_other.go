//go:build !linux

package testkit

// UseMemory does nothing where the system has no directory in memory.
func UseMemory() {}
