package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Memory limits in bytes, at which garbage collection begins: for commands that make one list
// and end, and for commands that go through many items.
const (
	untilGarbage = 96 << 20
	amongGarbage = 80 << 20
)

// collectFrom delays garbage collection until a command has taken limit bytes, because most
// commands end before. Once two thirds of the limit are live, collection works as usual:
// otherwise a heap near the limit would be collected without end.
func collectFrom(limit int64) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(limit)
	afterCollection(limit)
}

// afterCollection calls itself after each collection, until it restores the usual settings.
func afterCollection(limit int64) {
	runtime.AddCleanup(new([64]byte), func(int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < uint64(limit/3*2) {
			afterCollection(limit)
			return
		}
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}, 0)
}
