package look

import (
	"cmp"
	"context"
	"io/fs"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Verify checks items as a use of them would: refs and paths as they resolve, or
// with no target every item of the project and the user space. The error is the
// first refusal, so that its code says what kind it was; the results are complete.
// Mistakes in the text of own items, by the rules of their kind and what extractors ask
// besides, are told and refuse nothing: they keep an item from being signed anew.
func Verify(ctx context.Context, s *session.Session, q rye.VerifyRequest) ([]rye.VerifyResult, error) {
	found, err := findings(ctx, s, q.Targets)
	if err != nil {
		return nil, err
	}
	var (
		all   []rye.VerifyResult
		first error
	)
	_, broken := extractors(ctx, s) // then some mistakes cannot be looked for
	for _, f := range found {
		v := rye.VerifyResult{ItemInfo: info(f), OK: f.Err == nil}
		if f.Err != nil {
			v.Code, v.Error, v.Hint = fault.CodeOf(f.Err), f.Err.Error(), fault.HintOf(f.Err)
			if first == nil {
				first = f.Err
			}
		}
		if q.Explain && f.Item != nil {
			v.Checks = explain(s, f)
		}
		v.Mistakes = mistakes(ctx, s, f)
		all = append(all, v)
	}
	return all, cmp.Or(first, broken)
}

func findings(ctx context.Context, s *session.Session, targets []rye.Target) ([]space.Finding, error) {
	var all []space.Finding
	if len(targets) == 0 {
		for _, l := range s.Stack.Layers() {
			found, err := Scan(ctx, s, l.Space)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	for _, t := range targets {
		if f, ok, err := BundleFinding(ctx, s, string(t)); ok || err != nil {
			if err != nil {
				return nil, err
			}
			all = append(all, f)
			continue
		}
		ref, err := s.Ref(string(t))
		if err != nil {
			return nil, err
		}
		f, err := Finding(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// Finding resolves a ref to the candidate that would be used, believed or not.
func Finding(ctx context.Context, s *session.Session, ref objects.Ref) (space.Finding, error) {
	for sp := objects.Project; sp >= objects.System; sp-- {
		if f, ok, err := s.Stack.In(ctx, sp, ref); ok || err != nil {
			return f, err
		}
	}
	return space.Finding{}, fault.New(fault.NotFound, "%s: in no space", ref).Mend("rye search %s", ref.ID.Name())
}

// explain lists every check that stands between the item and its use.
func explain(s *session.Session, f space.Finding) []rye.Check {
	var all []rye.Check
	if f.Space == objects.System {
		text := "compiled in, and listed with this digest in the signed manifest of the standard library"
		if f.Err != nil {
			text = f.Err.Error()
		}
		return append(all, rye.Check{Name: "manifest", OK: f.Err == nil, Text: text})
	}
	if !f.Verified.IsZero() && f.Level() == trust.Manifest {
		return append(all, rye.Check{Name: "manifest", OK: true, Text: "listed with this digest in the manifest of bundle " + string(f.Bundle) + ", signed by " + f.Key().String()})
	}
	if f.Bundle != "" {
		all = append(all, rye.Check{Name: "manifest", OK: f.Err == nil || f.State != objects.Modified, Text: "its own line counts, and the manifest of bundle " + string(f.Bundle) + " must list it"})
	}
	scope := trust.Scope{Space: f.Space, Registry: f.Registry}
	if f.Space == objects.Project {
		scope.Project = s.Stack.Genesis
	}
	if p, ok := pinOf(s, f); ok {
		scope.Logged = p.Sum
	}
	for _, c := range s.Trust.Explain(f.Item, scope) {
		all = append(all, rye.Check{Name: c.Name, OK: c.Pass, Skipped: !c.Ran, Text: c.Words})
	}
	text, ok := "these bytes are recorded in the "+f.Space.String()+" space", true
	switch {
	case f.Registry != "":
		text = "pinned by the lock, from registry " + f.Registry
	case f.State == objects.Older || f.State == objects.Deleted:
		text, ok = f.Err.Error(), false
	case !f.Recorded:
		text = "other bytes than the " + f.Space.String() + " space has recorded"
		if f.Err == nil {
			text = "newer than what the " + f.Space.String() + " space has recorded"
		}
	}
	return append(all, rye.Check{Name: "record", OK: ok, Text: text})
}

// pinOf returns what the lock says of an item that came from a registry.
func pinOf(s *session.Session, f space.Finding) (space.Pin, bool) {
	if f.Registry == "" || s.Lock == nil {
		return space.Pin{}, false
	}
	return s.Pin(f.Ref)
}

// Log lists the commits of the project's space, or those that changed one item,
// newest first, at most limit of them (0 is 50).
func Log(ctx context.Context, s *session.Session, q rye.LogRequest) ([]rye.LogEntry, error) {
	limit := cmp.Or(q.Limit, 50)
	if limit < 0 {
		return nil, fault.New(fault.Usage, "log: at most %d entries", limit)
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
		all = append(all, logEntry(c))
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
		err = fault.New(fault.NotFound, "log %s: never recorded in this project", q.Ref).Mend("rye log")
	}
	return all, err
}

func logEntry(c *store.Commit) rye.LogEntry {
	return rye.LogEntry{Commit: c.ID.String(), When: c.Committer.Time().UTC().Format(time.RFC3339),
		Author: c.Author.Name, Subject: words.FirstLine(c.Message)}
}
