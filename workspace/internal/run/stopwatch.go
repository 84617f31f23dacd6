package run

import (
	"math"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
)

// stopwatch measures the parts of one execution. It is for one goroutine.
type stopwatch struct {
	start, last time.Time
	parts       struct{ Verify, Gate, Materialise, Sandbox, Spawn, Run, Rest time.Duration }
}

func newStopwatch() *stopwatch {
	now := time.Now()
	return &stopwatch{start: now, last: now}
}

// lap adds the time since the last lap to a part.
func (w *stopwatch) lap(part *time.Duration) {
	now := time.Now()
	*part += now.Sub(w.last)
	w.last = now
}

// ran adds the time since the last lap to the parts of a run.
func (w *stopwatch) ran(res primitive.Result) {
	w.lap(&w.parts.Run)
	w.parts.Sandbox += res.Confined
	w.parts.Spawn += res.Spawned
	w.parts.Run -= res.Confined + res.Spawned
}

// read returns the time so far and its parts, in milliseconds.
func (w *stopwatch) read() (total float64, parts *rye.Timings) {
	w.lap(&w.parts.Rest)
	p := &w.parts
	return ms(w.last.Sub(w.start)), &rye.Timings{Verify: ms(p.Verify), Gate: ms(p.Gate), Materialise: ms(p.Materialise),
		Sandbox: ms(p.Sandbox), Spawn: ms(p.Spawn), Run: ms(p.Run), Rest: ms(p.Rest)}
}

// ms rounds down to microseconds, so that parts never exceed the whole.
func ms(d time.Duration) float64 { return math.Max(0, float64(d.Microseconds())/1000) }
