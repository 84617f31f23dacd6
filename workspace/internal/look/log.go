package look

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Log lists the commits of the project's space or the user's, or of one item, newest first. It
// lists at most q.Limit of them (0 is 50), with q.Patch also the changes of each. It also
// reports other directories with a record of this project.
func Log(ctx context.Context, s *session.Session, q rye.LogRequest) ([]rye.LogEntry, error) {
	limit := cmp.Or(q.Limit, 50)
	if limit < 0 {
		return nil, fault.New(fault.Usage, "log: at most %d entries", limit)
	}
	l, err := session.LayerOf(s, q.Space)
	if err != nil {
		return nil, err
	}
	if l.Space == objects.Project {
		if err := session.TellSiblings(s); err != nil {
			return nil, err
		}
	}
	repo, err := l.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	tip, err := l.Tip()
	if err != nil || tip.IsZero() {
		return nil, err
	}
	var all []rye.LogEntry
	patch, err := patcher(ctx, s, repo, q)
	if err != nil {
		return nil, err
	}
	entry := func(c *store.Commit) error {
		changes, err := patch(c)
		if err != nil {
			return err
		}
		all = append(all, rye.LogEntry{Changes: changes, Commit: c.ID.String(), When: c.Committer.Time().UTC().Format(time.RFC3339),
			Author: c.Author.Name, Subject: words.FirstLine(c.Message)})
		if len(all) == limit {
			return fs.SkipAll
		}
		return nil
	}
	came := originsIn(l, repo, q.Ref)
	if q.Ref == (rye.Ref{}) {
		err = repo.Log(ctx, tip, entry)
		return all, err
	}
	if err := q.Ref.Check(); err != nil {
		return nil, err
	}
	if l.Space == objects.Project && IsDependency(s, q.Ref) {
		return LogDependency(ctx, s, q, limit)
	}
	err = historyOf(ctx, l, repo, tip, q.Ref, func(c *store.Commit) error {
		err := entry(c)
		if at := len(all) - 1; err == nil || errors.Is(err, fs.SkipAll) {
			all[at].Origin, all[at].Signed = came(c)
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, "log %s: never recorded in the %s space", q.Ref, l.Space).Advise("rye log")
	}
	return all, err
}

// patcher returns a function for the changes of a commit: none unless they were asked for. It
// bounds the changes of all commits together.
func patcher(ctx context.Context, s *session.Session, repo *store.Repo, q rye.LogRequest) (func(*store.Commit) ([]rye.FileChange, error), error) {
	if !q.Patch {
		return func(*store.Commit) ([]rye.FileChange, error) { return nil, nil }, nil
	}
	h, err := historian(s, "log --patch")
	if err != nil {
		return nil, err
	}
	room := maxShown
	return func(c *store.Commit) (all []rye.FileChange, err error) {
		err = h.Patches(ctx, repo, c.Parent(), c.ID, func(from, to string, hunks func() ([]string, error)) error {
			if !concerns(q.Ref, from) && !concerns(q.Ref, to) {
				return nil
			}
			lines, err := hunks()
			if err != nil {
				return err
			}
			change := rye.FileChange{From: below(from), To: below(to), Lines: append([]string{}, lines...)}
			if room -= sizeOfChange(change); room < 0 {
				return fault.New(fault.Limit, "log --patch: more than %d MiB of changes, the last in commit %s", maxShown>>20, c.ID).
					Advise("show fewer, or one item: rye log --patch --limit 5 <ref>")
			}
			all = append(all, change)
			return nil
		})
		return all, err
	}, nil
}

// concerns reports whether a file of the record belongs to ref; for the zero Ref every file
// does.
func concerns(ref objects.Ref, path string) bool {
	if ref == (objects.Ref{}) || path == "" {
		return path != ""
	}
	if ref.Kind == objects.Bundle {
		return strings.HasPrefix(path, dirOf(ref)+"/")
	}
	got, _, err := objects.RefOfPath(path)
	return err == nil && got == ref
}

// below returns the path below the project for a path in its record.
func below(path string) string {
	if path == "" {
		return ""
	}
	return ".ai/" + path
}

func sizeOfChange(c rye.FileChange) int {
	n := len(c.From) + len(c.To)
	for _, line := range c.Lines {
		n += len(line) + 16 // its header
	}
	return n
}
