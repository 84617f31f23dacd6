package locks

import (
	"cmp"
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

// The lock files of RYE OS: one for each tool, in a directory below .ai.
const (
	importDir    = "lockfiles"
	importSuffix = ".lock.json"
	maxImport    = 10000 // files at once
)

// Import takes over lock files of RYE OS. It compares each with the present, verified tool,
// and pins the tool with its whole chain where they agree. A path is a file or a directory of
// them; without paths it is .ai/lockfiles. The files stay. Drift is an error, after every
// tool that agrees was pinned.
func Import(ctx context.Context, s *session.Session, q rye.LockImportRequest) (*rye.LockImport, error) {
	paths := q.Paths
	if len(paths) == 0 {
		paths = []string{filepath.Join(s.AIDir(), importDir)}
	}
	files, err := importFiles(paths)
	if err != nil {
		return nil, err
	}
	s, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	lock, err := renewed(ctx, s)
	if err != nil {
		return nil, err
	}
	rep := &rye.LockImport{Path: shownPath, DryRun: q.DryRun}
	var first error
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		got, err := importOne(ctx, s, lock, f)
		rep.Files = append(rep.Files, got)
		first = cmp.Or(first, err)
	}
	rep.Items = len(lock.Items)
	if q.DryRun {
		return rep, first
	}
	return rep, errors.Join(first, s.WriteLock(ctx, lock))
}

// importOne pins the tool of one file, and reports the outcome.
func importOne(ctx context.Context, s *session.Session, lock *chain.Lock, file string) (rye.ImportedLock, error) {
	got := rye.ImportedLock{File: file, Status: "locked"}
	ref, err := importTool(ctx, s, lock, file)
	if ref.ID != "" {
		got.Ref = ref.String()
	}
	if err == nil {
		return got, nil
	}
	got.Status, got.Error = "refused", strings.TrimPrefix(err.Error(), "lock: ")
	if fault.Is(err, fault.Drift) {
		got.Status = "drift"
	}
	return got, fault.Wrap(err, "import %s", file)
}

// importTool adds one tool to the lock, when it matches the file.
func importTool(ctx context.Context, s *session.Session, lock *chain.Lock, file string) (objects.Ref, error) {
	raw, err := place.Read(file, chain.MaxRyeOSLock)
	if err != nil {
		return objects.Ref{}, err
	}
	old, err := chain.ParseRyeOSLock(raw)
	if err != nil {
		return objects.Ref{}, err
	}
	ref := objects.Ref{Kind: objects.Tool, ID: old.Tool}
	plan, err := Plan(ctx, s, ref)
	if err != nil {
		return ref, err
	}
	if err := old.Match(plan); err != nil {
		return ref, err
	}
	return ref, lock.Set(plan)
}

// importFiles lists the lock files that paths name or contain, in their order.
func importFiles(paths []string) (files []string, err error) {
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
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(q, importSuffix) {
				files = append(files, q)
			}
			if len(files) > maxImport {
				return fault.New(fault.Limit, "import lock files: more than %d", maxImport)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fault.New(fault.NotFound, "import lock files: none ends in %s", importSuffix).Advise("rye lock import <path>")
	}
	return files, nil
}
