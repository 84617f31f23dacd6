//go:build !linux

package store

// bootID identifies this run of the machine; "" where the system does not tell.
var bootID = func() string { return "" }
