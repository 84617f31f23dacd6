package store

import (
	"context"
	"errors"
	"io/fs"

	"github.com/rye-os/rye/fault"
)

// CommitSigner signs the bytes of a commit that has no signature yet and returns
// the armored signature for its gpgsig header, without a final newline.
type CommitSigner interface {
	SignCommit(ctx context.Context, unsigned []byte) (armor string, err error)
}

// ErrNotExist is in the chain of every error for a missing object, ref, path or repository.
// Such errors carry fault.NotFound.
var ErrNotExist = fs.ErrNotExist

// ErrExist is in the chain of Init's error for an existing repository.
var ErrExist = fs.ErrExist

// ConflictError means that a ref differs from the caller's expectation. errors.As finds it in
// the errors of Swap, SwapAll and Edit.
type ConflictError struct {
	Name string // the ref
	Want OID    // the expected id; zero: the ref must not exist
	Got  OID    // the actual id; zero: the ref does not exist
}

func (e *ConflictError) Error() string {
	return "ref " + e.Name + " is " + orNone(e.Got) + ", expected " + orNone(e.Want)
}

func orNone(id OID) string {
	if id.IsZero() {
		return "absent"
	}
	return id.String()
}

// notFound returns the error for a missing thing.
func notFound(format string, args ...any) error {
	return fault.New(fault.NotFound, format+": %w", append(args, ErrNotExist)...)
}

// isMissing reports whether err means that something does not exist, whether a file system or
// this package returned it.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
