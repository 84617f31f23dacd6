// Package threads keeps the threads of a project in its record. A thread has a directory
// with its journal, its beginning, and a branch, and a key of this machine signs threads
// and nothing else. Package agent/thread does the work.
package threads

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/session"
)

// BranchRefs are the branches of threads, named by ULIDs. A push does not include them.
const BranchRefs = "refs/heads/threads/"

// dirName is the directory beside the record.
const dirName = "threads"

// Dir returns the directory of the project's threads, which may not exist yet. Without a record
// there are no threads: fault.Denied.
func Dir(s *session.Session) (string, error) {
	if s.Place.Dir == "" {
		return "", fault.New(fault.Denied, "threads are stored beside the record, and there is no record: %w", s.Records.Err()).Advise("rye where")
	}
	dir := filepath.Join(s.Place.Dir, dirName)
	if err := place.Mine(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.New(fault.Denied, "the directory of threads: %w", err)
	}
	return dir, nil
}

// MakeDir is Dir, and makes the record and the directory where they are missing.
func MakeDir(s *session.Session) (string, error) {
	dir, err := Dir(s)
	if err != nil {
		return "", err
	}
	if err := s.Stack.Project.Create(); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fault.New(fault.Failed, "make the directory of threads: %w", err)
	}
	return Dir(s)
}

// leaseFile is locked by the process of a thread (agent/journal).
const leaseFile = "lease"

// Running returns the ids of the threads of a record whose processes run now.
func Running(record string) (ids []string) {
	entries, _ := os.ReadDir(filepath.Join(record, dirName)) // a missing directory holds none
	for _, e := range entries {
		if CheckID(e.Name()) == nil && place.Held(filepath.Join(record, dirName, e.Name(), leaseFile)) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// letters are the alphabet of ULIDs (Crockford's base32), in lower case.
const letters = "0123456789abcdefghjkmnpqrstvwxyz"

// CheckID refuses a malformed thread id, before it becomes a path or a ref.
func CheckID(id string) error {
	if len(id) != 26 || strings.Trim(id, letters) != "" || id[0] > '7' {
		return fault.New(fault.Usage, "thread %q: want a ULID, 26 digits and letters", id).Advise("rye thread list")
	}
	return nil
}
