//go:build !linux

package store

import (
	"os"
	"runtime/metrics"
	"time"
)

// confine limits this process. Go cannot work under a limit of address space on these systems.
// So a goroutine ends the process when it takes too much memory or time.
func confine(Limits) error {
	begun := time.Now()
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for range time.Tick(10 * time.Millisecond) {
			metrics.Read(sample)
			if sample[0].Value.Uint64()-sample[1].Value.Uint64() > apartMemory+32<<20 || time.Since(begun) > 15*time.Minute {
				os.Exit(3)
			}
		}
	}()
	return nil
}
