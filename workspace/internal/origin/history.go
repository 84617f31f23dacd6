package origin

import (
	"context"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// reaches reports whether a commit is in the history of one of the tips. It fetches the commits
// between them without trees and files, where the host offers that, else with them, within the same
// bounds. The links between commits are their ids, so a host cannot invent any.
func (h *host) reaches(ctx context.Context, tips []store.OID, id store.OID) (bool, error) {
	for _, tip := range tips {
		if tip == id {
			return true, nil
		}
	}
	if len(tips) == 0 {
		return false, nil
	}
	// The answer leaves out what lies behind id, so most answers are short.
	q, st, err := h.bring(ctx, tips, []store.OID{id}, transport.FetchOptions{Filter: "tree:0", NoThin: true, Lacking: true, Limits: historyLimits})
	if err != nil {
		if fault.Is(err, fault.Limit) {
			how := "its history has too many commits"
			if !st.Filtered {
				how = "the host cannot send its history without the files, and they are too many"
			}
			return false, fault.New(fault.Limit, "%s: rye cannot check that %s belongs to a branch or a tag: %s", words.Brief(h.address), short(id), how).
				Advise("name a branch or a tag instead of a commit")
		}
		return false, err
	}
	defer q.Discard()
	return inHistory(ctx, &q.Reader, tips, id)
}

// inHistory follows the parents of tips, as far as they were fetched.
func inHistory(ctx context.Context, rd *store.Reader, tips []store.OID, id store.OID) (bool, error) {
	seen := map[store.OID]bool{}
	todo := append([]store.OID(nil), tips...)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch {
		case at == id:
			return true, nil
		case seen[at] || !rd.Has(at):
			continue
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		}
		seen[at] = true
		kind, raw, err := rd.Object(at, store.MaxCommitSize)
		if err != nil {
			return false, err
		}
		switch kind {
		case store.TypeTag:
			tag, err := store.ParseTag(raw)
			if err != nil {
				return false, err
			}
			todo = append(todo, tag.Target)
		case store.TypeCommit:
			c, err := readCommit(raw)
			if err != nil {
				return false, fault.Wrap(err, "commit %s", at)
			}
			todo = append(todo, c.parents...)
		}
	}
	return false, nil
}
