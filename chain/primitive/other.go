//go:build !linux

package primitive

import "time"

func innerWork(string, []string) int { return 2 }

// endMarked does nothing here: processes carry no mark.
func endMarked(Mark, time.Duration) {}
