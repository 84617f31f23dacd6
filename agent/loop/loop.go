package loop

import (
	"context"
	"encoding/json"
	"time"
)

// Host is what a program may ask. It is called by one goroutine at a time, the one that called
// Turn, and never after Turn has returned.
type Host interface {
	// Call answers one function of docs/format/loop.md. args hold nil, bool, int64, float64,
	// string, []any and map[string]any, are of the declared types, and without those that the
	// program left out; the host owns them. The answer is what encoding/json can write, at most
	// MaxOutcome bytes of it. A failure is an answer; an error is a stop of the law: it ends the
	// turn, is not recorded, and Turn returns it.
	Call(ctx context.Context, name string, args map[string]any) (any, error)
}

// Recorded is one answer of a host, as it is kept to be given again.
type Recorded struct {
	Name    string          // of the function
	Args    [32]byte        // SHA-256 of the arguments as canonical JSON
	Outcome json.RawMessage // what the host answered
}

// What the program wants next.
const (
	Continue = "continue" // another turn
	Wait     = "wait"     // for what Detail names; then another turn
	Done     = "done"
	Fail     = "fail"
)

// Next is how a turn ended.
type Next struct {
	Kind   string          // Continue, Wait, Done or Fail
	State  json.RawMessage // an object of at most MaxState bytes, canonical; the next turn's argument
	Detail map[string]any  // Wait: question, thread; Done: text; Fail: code, message; all texts
}

// Bounds are what a program may use up in one call of Init or Turn, beside what its host
// uses. A field that is zero has its default. They hold in whatever order they are met; what
// is beyond one is a stop of the law, fault.Limit.
type Bounds struct {
	Steps  uint64        // of the interpreter; 1,000,000
	Time   time.Duration // of the program alone, not of the host; 5 s
	Memory int64         // bytes that its operations may ask for, freed or not; 64 MiB
	Calls  int           // of the host; 10,000
}

func (b Bounds) filled() Bounds {
	if b.Steps == 0 {
		b.Steps = 1_000_000
	}
	if b.Time == 0 {
		b.Time = 5 * time.Second
	}
	if b.Memory == 0 {
		b.Memory = 64 << 20
	}
	if b.Calls == 0 {
		b.Calls = 10_000
	}
	return b
}

// Sizes that no bound can widen.
const (
	MaxSource  = 128 << 10 // bytes of a program
	MaxState   = 64 << 10  // bytes of a state
	MaxArgs    = 1 << 20   // bytes of the arguments of one call
	MaxOutcome = 1 << 20   // bytes of one answer

	maxNesting = 32   // of values, as JSON
	maxCode    = 250  // of expressions and statements in each other
	maxName    = 128  // bytes of a name in a program
	maxBits    = 4096 // of an integer
	maxMessage = 1000 // bytes of what is quoted from a program's failure
)
