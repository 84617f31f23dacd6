// Package store keeps git repositories: objects, packs and refs. It knows no items.
//
// Everything on disk is plain git, readable by git and by go-git. The paths that
// are hot or dangerous are this package's own code: reading one object, writing
// durably, moving refs, and taking in packs from outside. docs/format/store.md
// describes the files; docs/rationale.md says why they are so.
//
// Reading never writes: Open and every method of Reader work on a read-only disk.
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

// ErrNotExist is in the chain of every error that says an object, a ref, a path
// or a repository is not there. Such errors carry fault.NotFound.
var ErrNotExist = fs.ErrNotExist

// ErrExist is in the chain of the error of Init for a repository that is there.
var ErrExist = fs.ErrExist

// ConflictError says that a ref is not where the caller believed it was.
// errors.As finds it in the error of Swap, SwapAll and Edit.
type ConflictError struct {
	Name string // the ref
	Want OID    // what the caller expected; zero: that it does not exist
	Got  OID    // what it is; zero: it does not exist
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

// notFound makes the error for a missing thing.
func notFound(format string, args ...any) error {
	return fault.New(fault.NotFound, format+": %w", append(args, ErrNotExist)...)
}

// isMissing reports whether err says that something is not there, in any of the
// ways in which a file system or this package says so.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
