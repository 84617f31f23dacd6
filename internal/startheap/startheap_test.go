package startheap

import (
	"runtime/debug"
	"testing"
)

func TestRestore(t *testing.T) {
	Restore()
	if got := debug.SetGCPercent(usual); got != usual || usual <= 0 {
		t.Errorf("after Restore the percentage is %d, want %d as at the start, and more than 0", got, usual)
	}
}
