package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/session"
)

// AncestorLocks is where RYE OS keeps its lock files, below .ai.
const AncestorLocks = "lockfiles"

const (
	ancestorSuffix   = ".lock.json"
	maxAncestorLocks = 10000 // files of one import
)

// ImportLocks locks what the ancestor had locked: each of its files is compared with
// the tool as it is here now, verified, and where they agree the tool is pinned with
// its whole chain. A path is a file or a directory of them; none is .ai/lockfiles.
// The files stay. Drift is an error, after everything that agrees was locked.
func ImportLocks(ctx context.Context, s *session.Session, q rye.LockImportRequest) (*rye.LockImport, error) {
	paths, dryRun := q.Paths, q.DryRun
	if len(paths) == 0 {
		paths = []string{filepath.Join(s.AIDir(), AncestorLocks)}
	}
	files, err := ancestorLocks(paths)
	if err != nil {
		return nil, err
	}
	std, err := Stdlib(ctx, s)
	if err != nil {
		return nil, err
	}
	lock := s.Lock.Clone()
	lock.Stdlib = std
	rep := &rye.LockImport{Path: ".ai/" + session.LockFile, DryRun: dryRun}
	var first error
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		got := rye.ImportedLock{File: f, Status: "locked"}
		ref, err := importLock(ctx, s, lock, f)
		if err != nil {
			got.Status, got.Error = "refused", strings.TrimPrefix(err.Error(), "lock: ")
			if fault.Is(err, fault.Drift) {
				got.Status = "drift"
			}
			if first == nil {
				first = fault.Wrap(err, "import %s", f)
			}
		}
		if ref.ID != "" {
			got.Ref = ref.String()
		}
		rep.Files = append(rep.Files, got)
	}
	rep.Items = len(lock.Items)
	if dryRun {
		return rep, first
	}
	return rep, errors.Join(first, s.WriteLock(lock))
}

// importLock adds one tool to the lock, when it is what the file says.
func importLock(ctx context.Context, s *session.Session, lock *chain.Lock, file string) (objects.Ref, error) {
	raw, err := place.Read(file, chain.MaxRyeOSLock)
	if err != nil {
		return objects.Ref{}, err
	}
	old, err := chain.ParseRyeOSLock(raw)
	if err != nil {
		return objects.Ref{}, err
	}
	ref := objects.Ref{Kind: objects.Tool, ID: old.Tool}
	plan, err := chain.Resolve(ctx, finder{s}, ref)
	if err != nil {
		return ref, err
	}
	if err := old.Match(plan); err != nil {
		return ref, err
	}
	return ref, lock.Set(plan)
}

// ancestorLocks lists the lock files that paths name or hold, in their order.
func ancestorLocks(paths []string) (files []string, err error) {
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, fault.New(fault.NotFound, "import lock files: %w", err).Advise("rye lock import <path>")
		}
		if !st.IsDir() {
			files = append(files, p)
			continue
		}
		err = filepath.WalkDir(p, func(q string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(q, ancestorSuffix) {
				files = append(files, q)
			}
			if len(files) > maxAncestorLocks {
				return fault.New(fault.Limit, "import lock files: more than %d", maxAncestorLocks)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fault.New(fault.NotFound, "import lock files: none ends in %s", ancestorSuffix).Advise("rye lock import <path>")
	}
	return files, nil
}
