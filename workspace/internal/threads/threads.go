// Package threads keeps the threads of a project in its record: the directory in which each
// has its journal, what it began with, its branch, and the key of this machine that vouches
// for threads and for nothing else. What a thread does is package agent/thread's.
package threads

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/session"
)

// BranchRefs are the branches of threads, a ULID each. No push takes them along.
const BranchRefs = "refs/heads/threads/"

// dirName is the directory beside the record.
const dirName = "threads"

// Dir returns the directory of the project's threads. Who cannot keep a record cannot keep
// what a thread did either: fault.Denied.
func Dir(_ context.Context, s *session.Session) (string, error) {
	if s.Place.Dir == "" {
		return "", fault.New(fault.Denied, "threads keep what they did beside the record, and there is none here: %w", s.Records.Err()).Advise("rye where")
	}
	if err := s.Stack.Project.Create(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.Place.Dir, dirName)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fault.New(fault.Failed, "make the directory of threads: %w", err)
	}
	if err := place.Mine(dir); err != nil {
		return "", fault.New(fault.Denied, "the directory of threads: %w", err)
	}
	return dir, nil
}

// letters are those of ULIDs (Crockford's base32), in lower case.
const letters = "0123456789abcdefghjkmnpqrstvwxyz"

// CheckID refuses what is not the id of a thread, before it becomes a path or a ref.
func CheckID(id string) error {
	if len(id) != 26 || strings.Trim(id, letters) != "" || id[0] > '7' {
		return fault.New(fault.Usage, "thread %q: want a ULID, 26 digits and letters", id).Advise("rye thread list")
	}
	return nil
}
