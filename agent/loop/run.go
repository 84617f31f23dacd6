package loop

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.starlark.net/starlark"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// run is one use of a program, by two goroutines. The program's goroutine sends its calls to the
// caller's, which keeps the time and calls the host. So the host is called only in the caller's
// goroutine, and never after the caller has left.
type run struct {
	name   string
	bounds Bounds
	ctx    context.Context
	before int64 // bytes in use by the process when the program began
	thread *starlark.Thread
	stop   error // of the law, from the program's goroutine

	host     Host
	recorded []Recorded
	record   func(Recorded) error
	asked    int  // calls so far; of the program's goroutine
	turning  bool // in Turn, where the program may call the host

	questions chan question
	gone      chan struct{} // closed when the caller left
}

// question is a call on its way to the host.
type question struct {
	name    string
	args    map[string]any
	digest  [32]byte
	outcome chan<- json.RawMessage // closed without an outcome after a stop of the law
}

// grace is the time that an operation may still run after its program was stopped, because an
// operation cannot be interrupted.
const grace = time.Second

func newRun(name string, b Bounds, h Host, recorded []Recorded) *run {
	b = b.filled()
	r := &run{name: name, bounds: b, ctx: context.Background(), host: h, recorded: recorded,
		questions: make(chan question), gone: make(chan struct{})}
	r.thread = &starlark.Thread{Name: name, Print: r.print}
	r.thread.OnMaxSteps = r.step
	r.thread.SetMaxExecutionSteps(min(stride, b.Steps))
	return r
}

// halt ends the program. It is called in the program's goroutine.
func (r *run) halt(err error) error {
	if r.stop == nil {
		r.stop = err
	}
	r.thread.Cancel(err.Error())
	return err
}

// do runs what in the program's goroutine. It returns the stop or the failure of the program.
func (r *run) do(what func() error) error {
	done := make(chan error, 1)
	r.begin()
	lift, err := r.confine()
	if err != nil {
		return err
	}
	go func() {
		defer func() {
			if p := recover(); p != nil { // a fault of the interpreter, not of the program
				done <- fault.New(fault.Failed, "loop %s: the interpreter gave up: %s", r.name, words.Clip(fmt.Sprintf("%v\n%s", p, debug.Stack()), 4*maxMessage))
			}
		}()
		err := what()
		if r.stop != nil {
			err = fault.Wrap(r.stop, "loop %s", r.name)
		} else if err != nil && !isFault(err) {
			err = failure(r.name, err)
		}
		done <- err
	}()
	return r.attend(done, lift)
}

func (r *run) confine() (lift func(), err error) {
	if r.bounds.Confine == nil {
		return func() {}, nil
	}
	if lift, err = r.bounds.Confine(); err != nil {
		return nil, fault.Wrap(err, "loop %s: bound its memory", r.name)
	}
	return lift, nil
}

func isFault(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

// attend answers calls, and watches the time and the memory, until the program has ended. A
// program that is still busy in the end stays confined.
func (r *run) attend(done <-chan error, lift func()) error {
	defer close(r.gone)
	var stop error // of the law, from the caller's side
	cancelled := r.ctx.Done()
	left, since := r.bounds.Time, time.Now()
	timer, laps := time.NewTimer(left), time.NewTicker(lap)
	defer timer.Stop()
	defer laps.Stop()
	end := func(err error, within time.Duration) {
		stop, cancelled = err, nil
		r.thread.Cancel(err.Error())
		timer.Reset(within)
	}
	for {
		select {
		case err := <-done:
			lift()
			if stop != nil {
				return stop
			}
			return err
		case <-cancelled:
			end(fault.Wrap(r.ctx.Err(), "loop %s", r.name), grace)
		case <-timer.C:
			if stop != nil {
				return fault.Wrap(stop, "an operation of the program does not end, so this process must end")
			}
			end(fault.New(fault.Limit, "loop %s: the program takes longer than %s", r.name, r.bounds.Time), grace)
		case <-laps.C:
			if stop == nil && r.full() {
				end(fault.Wrap(r.tooMuch(), "loop %s", r.name), graceMemory)
			}
		case q := <-r.questions:
			if stop != nil {
				close(q.outcome)
				continue
			}
			left -= time.Since(since)
			lift()
			raw, err := r.answer(q)
			if lift = func() {}; err == nil {
				lift, err = r.confine()
			}
			if err != nil {
				close(q.outcome)
				end(err, grace)
				continue
			}
			q.outcome <- raw
			since = time.Now()
			timer.Reset(max(left, 0)) // discards a tick that came during the answer
		}
	}
}

// answer calls the host and records the answer.
func (r *run) answer(q question) (json.RawMessage, error) {
	if r.host == nil {
		return nil, fault.New(fault.Integrity, "loop %s: asks for %s, but the record ends here", r.name, q.name)
	}
	if err := r.ctx.Err(); err != nil {
		return nil, fault.Wrap(err, "loop %s", r.name)
	}
	got, err := r.host.Call(r.ctx, q.name, q.args)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return nil, fault.New(fault.Malformed, "loop %s: the host's answer to %s: %w", r.name, q.name, err)
	}
	if len(raw) > MaxOutcome {
		return nil, fault.New(fault.Limit, "loop %s: the host's answer to %s has %d bytes, at most %d are allowed", r.name, q.name, len(raw), MaxOutcome)
	}
	if r.record != nil {
		if err := r.record(Recorded{Name: q.name, Args: q.digest, Outcome: raw}); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// call makes one call of the host for the program.
func (r *run) call(name string, args *starlark.Dict) (starlark.Value, error) {
	if r.asked >= r.bounds.Calls {
		return nil, r.halt(fault.New(fault.Limit, "the program calls its host more than %d times in a turn", r.bounds.Calls))
	}
	raw, err := encode(args, MaxArgs)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(raw)
	outcome, err := r.outcome(name, args, digest)
	r.asked++
	if err != nil {
		return nil, err
	}
	v, err := decode(outcome)
	if err != nil && r.stop == nil {
		err = r.halt(fault.New(fault.Malformed, "the answer to %s: %w", name, err))
	}
	return v, err
}

// outcome returns the recorded answer of this call, or else asks the host.
func (r *run) outcome(name string, args *starlark.Dict, digest [32]byte) (json.RawMessage, error) {
	if r.asked < len(r.recorded) {
		was := r.recorded[r.asked]
		if was.Name != name || was.Args != digest {
			return nil, r.halt(r.diverged(was, name, digest))
		}
		return was.Outcome, nil
	}
	answer := make(chan json.RawMessage, 1)
	select {
	case r.questions <- question{name, plain(args).(map[string]any), digest, answer}:
	case <-r.gone:
		return nil, errStopped
	}
	if raw, ok := <-answer; ok {
		return raw, nil
	}
	return nil, errStopped
}

// errStopped ends the program; the caller has the real reason.
var errStopped = errors.New("stopped")

func (r *run) diverged(was Recorded, name string, digest [32]byte) error {
	if was.Name == name {
		return fault.New(fault.Integrity, "loop diverged: call %d was %s with arguments %x, now with %x", r.asked, name, was.Args[:6], digest[:6])
	}
	return fault.New(fault.Integrity, "loop diverged: call %d was %s, now %s", r.asked, words.Brief(was.Name), name)
}

// print sends a text to the record as a note.
func (r *run) print(_ *starlark.Thread, text string) {
	if !r.turning {
		_ = r.halt(fault.New(fault.Failed, "print: there is no host outside turn"))
		return
	}
	args := starlark.NewDict(2)
	_ = args.SetKey(starlark.String("text"), starlark.String(text))
	_ = args.SetKey(starlark.String("to"), starlark.String("record"))
	if _, err := r.call("note", args); err != nil {
		_ = r.halt(fault.New(fault.CodeOf(err), "print: %w", err))
	}
}
