// Package fault says what went wrong: a code from a closed list, a message, and a hint
// with the remedy. A person and a program can act on it.
//
// Every error that reaches a face of rye (command line, MCP, Go API) carries a
// Code. The code decides the exit status and is the "code" field of JSON and
// MCP errors, so the list below is part of the public interface.
//
//	if fault.Is(err, fault.Untrusted) {
//		fmt.Println(err, "; try:", fault.HintOf(err))
//	}
package fault

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Code names a class of failure. The zero value is not a valid code.
type Code string

// The codes, with the exit status that each gives. docs/cli.md lists them for users.
const (
	Failed    Code = "failed"         // 1: the tool ran and failed
	Usage     Code = "usage"          // 2: wrong arguments, or a malformed ref
	NotFound  Code = "not_found"      // 3
	Conflict  Code = "conflict"       // 4: versions or names cannot be reconciled
	Network   Code = "network"        // 5
	Auth      Code = "authentication" // 6
	Integrity Code = "integrity"      // 10: bytes differ from the signed or pinned ones
	Untrusted Code = "untrusted"      // 11: unsigned, unknown signer, or the signer changed
	Revoked   Code = "revoked"        // 12
	Rollback  Code = "rollback"       // 13: older than a version seen before, or replayed
	Stale     Code = "stale"          // 14
	Fork      Code = "fork"           // 15: two histories for one name
	Denied    Code = "denied"         // 16: policy, capability or missing consent
	Offline   Code = "offline"        // 17: not available without the network
	Drift     Code = "drift"          // 18: the lock does not match
	Malformed Code = "malformed"      // 19: content that breaks its format
	Limit     Code = "limit"          // 20: a bound on size, time, depth or money
	Interrupt Code = "interrupted"    // 130
)

var exits = map[Code]int{
	Failed: 1, Usage: 2, NotFound: 3, Conflict: 4, Network: 5, Auth: 6,
	Integrity: 10, Untrusted: 11, Revoked: 12, Rollback: 13, Stale: 14, Fork: 15,
	Denied: 16, Offline: 17, Drift: 18, Malformed: 19, Limit: 20, Interrupt: 130,
}

// Exit returns the exit status for c; 1 for an unknown code.
func (c Code) Exit() int {
	if n, ok := exits[c]; ok {
		return n
	}
	return 1
}

// Error is a failure with its code and, when a remedy is known, a hint.
type Error struct {
	Code Code
	Hint Hint  // the zero Hint when no remedy is known
	Err  error // the message; never nil
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a code. The format takes %w like fmt.Errorf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Wrap puts the failed action in front of err's message. It keeps err's code and hint.
// err must not be nil.
func Wrap(err error, format string, args ...any) *Error {
	return &Error{Code: CodeOf(err), Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)}
}

// Mend returns e with a command that mends it as its hint; see Command.
func (e *Error) Mend(format string, args ...any) *Error { return e.With(Command(format, args...)) }

// Advise returns e with advice in a few words as its hint, when no single command mends it.
func (e *Error) Advise(format string, args ...any) *Error { return e.With(Advice(format, args...)) }

// With returns e with the hint h.
func (e *Error) With(h Hint) *Error {
	e.Hint = h
	return e
}

// CodeOf returns the code of the outermost Error in err's chain. A cancelled
// context is Interrupt; any other error without a code is Failed; nil is "".
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, context.Canceled) {
		return Interrupt
	}
	return Failed
}

// HintOf returns the first hint in err's chain, or the zero Hint. For a full disk without
// a hint it returns one.
func HintOf(err error) Hint {
	for at := err; at != nil; {
		var e *Error
		if !errors.As(at, &e) {
			break
		}
		if !e.Hint.IsZero() {
			return e.Hint
		}
		at = e.Err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return Advice("free disk space, then try again: changes reported as done are safe")
	}
	return Hint{}
}

// Is reports whether err carries the code c.
func Is(err error, c Code) bool { return CodeOf(err) == c }

// Exit returns the exit status for err; 0 for nil.
func Exit(err error) int {
	if err == nil {
		return 0
	}
	return CodeOf(err).Exit()
}
