//go:build !linux

package store

// bootID names this run of the machine; "" where that is not known.
var bootID = func() string { return "" }
