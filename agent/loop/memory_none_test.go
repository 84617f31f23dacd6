//go:build !linux || race

package loop_test

import "testing"

// limitMemory does nothing: what limits the heap of a Go program is of Linux, and the race
// detector needs more than that.
func limitMemory(*testing.T) {}
