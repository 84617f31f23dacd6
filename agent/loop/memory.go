package loop

import (
	"runtime"
	"runtime/metrics"
	"time"

	"go.starlark.net/starlark"

	"github.com/rye-os/rye/fault"
)

// The program's goroutine looks at the memory every stride steps, which is what doubling a list
// takes: while it looks, it asks for nothing more. The caller's looks every lap, for long steps, and
// gives up a step that goes on for graceMemory.
const (
	stride      = 8
	lap         = 10 * time.Millisecond
	graceMemory = 20 * time.Millisecond
)

// step stops a program that is beyond its steps or its memory.
func (r *run) step(t *starlark.Thread) {
	switch most := r.bounds.Steps; {
	case t.Steps >= most:
		_ = r.halt(fault.New(fault.Limit, "the program takes more than %d steps", most))
	case r.full():
		_ = r.halt(r.tooMuch())
	default:
		t.SetMaxExecutionSteps(min(t.Steps+stride, most))
	}
}

// full reports whether the program added more memory to the process than it may. It collects garbage
// only when the limit seems to be reached, because garbage does not count.
func (r *run) full() bool {
	most := r.before + r.bounds.Memory
	if inUse() <= most {
		return false
	}
	runtime.GC()
	return inUse() > most
}

// begin notes the memory in use. Much garbage of an earlier turn would let this one take more, and
// the next one still more.
func (r *run) begin() {
	if r.before = inUse(); r.before > r.bounds.Memory/2 {
		runtime.GC()
		r.before = inUse()
	}
}

// inUse returns the bytes of the heap and the stacks of this process, with garbage.
func inUse() int64 {
	s := [2]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64() + s[1].Value.Uint64())
}

func (r *run) tooMuch() error {
	return fault.New(fault.Limit, "the program takes more memory than %d MiB", r.bounds.Memory>>20)
}
