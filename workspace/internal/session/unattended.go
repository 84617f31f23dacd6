package session

import "context"

type unattendedKey struct{}

// Unattended is the context for calls to rye by a program that rye runs: no one is asked in the
// middle of a run. A question is kept for rye approve, and refuses meanwhile.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

func unattended(ctx context.Context) bool { return ctx.Value(unattendedKey{}) != nil }
