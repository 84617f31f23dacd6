//go:build !linux

package app

// harden does nothing where the system has no such switch.
func harden() error { return nil }
