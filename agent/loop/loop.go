package loop

import (
	"context"
	"encoding/json"
	"time"
)

// Host answers the calls of a program. Only the goroutine that called Turn calls it, and never
// after Turn has returned.
type Host interface {
	// Call answers one function of docs/format/loop.md. args holds nil, bool, int64, float64,
	// string, []any and map[string]any of the declared types, without the arguments that the
	// program left out; the host owns it. encoding/json must be able to write the answer, in at
	// most MaxOutcome bytes. A failure is an answer. An error is a stop of the law: it ends the
	// turn, is not recorded, and Turn returns it.
	Call(ctx context.Context, name string, args map[string]any) (any, error)
}

// Recorded is one answer of a host, stored for a replay.
type Recorded struct {
	Name    string          // of the function
	Args    [32]byte        // SHA-256 of the arguments as canonical JSON
	Outcome json.RawMessage // the host's answer
}

// The kinds of Next.
const (
	Continue = "continue" // another turn
	Wait     = "wait"     // wait as Detail says; then another turn
	Done     = "done"
	Fail     = "fail"
)

// Next is the end of a turn.
type Next struct {
	Kind   string          // Continue, Wait, Done or Fail
	State  json.RawMessage // an object of at most MaxState bytes, canonical; the next turn's argument
	Detail map[string]any  // Wait: question, thread; Done: text; Fail: code, message; all texts
}

// Bounds limit the resources of a program in one call of Init or Turn, not counting its host. A
// zero field means its default. Exceeding a bound is a stop of the law, fault.Limit.
type Bounds struct {
	Steps  uint64        // of the interpreter; 1,000,000
	Time   time.Duration // of the program alone, not of the host; 5 s
	Memory int64         // bytes in use by this process, beyond those at the start; 64 MiB
	Calls  int           // of the host; 10,000

	// Confine lets the kernel bound the memory of this process while the program runs, until lift
	// is called. Memory is looked at between operations, and one operation can ask for gigabytes. A
	// process that Confine bounds should run one program at a time. nil confines nothing.
	Confine func() (lift func(), err error)
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

// Fixed sizes that Bounds cannot raise.
const (
	MaxSource  = 128 << 10 // bytes of a program
	MaxState   = 64 << 10  // bytes of a state
	MaxArgs    = 1 << 20   // bytes of the arguments of one call
	MaxOutcome = 1 << 20   // bytes of one answer

	maxNesting = 32   // of values, as JSON
	maxCode    = 250  // depth of nested expressions and statements
	maxName    = 128  // bytes of a name in a program
	maxMessage = 1000 // bytes quoted from a program's failure
)
