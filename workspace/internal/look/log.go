package look

import (
	"cmp"
	"context"
	"io/fs"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Log lists the commits of the project's space, or those that changed one item, newest
// first, at most q.Limit of them (0 is 50). It tells which other directories have a record of
// this project.
func Log(ctx context.Context, s *session.Session, q rye.LogRequest) ([]rye.LogEntry, error) {
	limit := cmp.Or(q.Limit, 50)
	if limit < 0 {
		return nil, fault.New(fault.Usage, "log: at most %d entries", limit)
	}
	if err := session.TellSiblings(s); err != nil {
		return nil, err
	}
	repo, err := s.Stack.Project.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	tip, err := s.Stack.Project.Tip()
	if err != nil || tip.IsZero() {
		return nil, err
	}
	var all []rye.LogEntry
	entry := func(c *store.Commit) error {
		all = append(all, rye.LogEntry{Commit: c.ID.String(), When: c.Committer.Time().UTC().Format(time.RFC3339),
			Author: c.Author.Name, Subject: words.FirstLine(c.Message)})
		if len(all) == limit {
			return fs.SkipAll
		}
		return nil
	}
	if q.Ref == (rye.Ref{}) {
		err = repo.Log(ctx, tip, entry)
		return all, err
	}
	if err := q.Ref.Check(); err != nil {
		return nil, err
	}
	err = s.Stack.Project.HistoryOf(ctx, tip, q.Ref, func(c *store.Commit, _ []store.Entry) error { return entry(c) })
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, "log %s: never recorded in this project", q.Ref).Advise("rye log")
	}
	return all, err
}
