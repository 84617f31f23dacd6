//go:build !unix

package testkit

import "time"

// CPUTime returns the processor time that this process has used; 0 where a process cannot ask.
func CPUTime() time.Duration { return 0 }
