package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// From how much memory on, in bytes, garbage is collected by commands that make one list and
// end, and by those that go through many items.
const (
	untilGarbage = 96 << 20
	amongGarbage = 80 << 20
)

// collectFrom has garbage collected only when a command has taken limit bytes: most are gone
// before it would be worth it. Once two thirds of that are in use it is collected as usual:
// what hardly fits below a limit would have it collected without end.
func collectFrom(limit int64) {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(limit)
	afterCollection(limit)
}

// afterCollection calls itself after each collection until it ends what collectFrom began.
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
