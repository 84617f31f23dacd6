//go:build !unix

package trust

import "time"

// cpuTime returns nothing where a process cannot ask: time is not bounded here.
func cpuTime() time.Duration { return 0 }
