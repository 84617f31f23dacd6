package rye

import (
	"cmp"
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/space"
)

// Verify checks items as a use of them would: refs and paths as they resolve, or
// with no target every item of the project and the user space. The error is the
// first refusal, so that its code says what kind it was; the results are complete.
// Mistakes in the text of own items, by the rules of their kind and what extractors ask
// besides, are told and refuse nothing: they keep an item from being signed anew.
func (r *Rye) Verify(ctx context.Context, targets []string, explain bool) ([]VerifyResult, error) {
	s, err := r.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := s.findings(ctx, targets)
	if err != nil {
		return nil, err
	}
	var (
		all   []VerifyResult
		first error
	)
	_, broken := s.extractors(ctx) // then some mistakes cannot be looked for
	for _, f := range found {
		v := VerifyResult{ItemInfo: info(f), OK: f.Err == nil}
		if f.Err != nil {
			v.Code, v.Error, v.Hint = fault.CodeOf(f.Err), f.Err.Error(), fault.HintOf(f.Err)
			if first == nil {
				first = f.Err
			}
		}
		if explain && f.Item != nil {
			v.Checks = s.explain(f)
		}
		v.Mistakes = s.mistakes(ctx, f)
		all = append(all, v)
	}
	return all, cmp.Or(first, broken)
}

func (s *session) findings(ctx context.Context, targets []string) ([]space.Finding, error) {
	var all []space.Finding
	if len(targets) == 0 {
		for _, l := range s.stack.Layers() {
			found, err := s.scan(ctx, l.Space)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	for _, t := range targets {
		if f, ok, err := s.bundleFinding(ctx, t); ok || err != nil {
			if err != nil {
				return nil, err
			}
			all = append(all, f)
			continue
		}
		ref, err := s.ref(t)
		if err != nil {
			return nil, err
		}
		f, err := s.finding(ctx, ref)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// finding resolves a ref to the candidate that would be used, believed or not.
func (s *session) finding(ctx context.Context, ref objects.Ref) (space.Finding, error) {
	for sp := objects.Project; sp >= objects.System; sp-- {
		if f, ok, err := s.stack.In(ctx, sp, ref); ok || err != nil {
			return f, err
		}
	}
	return space.Finding{}, fault.New(fault.NotFound, "%s: in no space", ref).Mend("rye search %s", ref.ID.Name())
}

// explain lists every check that stands between the item and its use.
func (s *session) explain(f space.Finding) []Check {
	var all []Check
	if f.Space == objects.System {
		text := "compiled in, and listed with this digest in the signed manifest of the standard library"
		if f.Err != nil {
			text = f.Err.Error()
		}
		return append(all, Check{Name: "manifest", OK: f.Err == nil, Text: text})
	}
	if !f.Verified.IsZero() && f.Level() == trust.Manifest {
		return append(all, Check{Name: "manifest", OK: true, Text: "listed with this digest in the manifest of bundle " + string(f.Bundle) + ", signed by " + f.Key().String()})
	}
	if f.Bundle != "" {
		all = append(all, Check{Name: "manifest", OK: f.Err == nil || f.State != space.Modified, Text: "its own line counts, and the manifest of bundle " + string(f.Bundle) + " must list it"})
	}
	scope := trust.Scope{Space: f.Space, Registry: f.Registry}
	if f.Space == objects.Project {
		scope.Project = s.stack.Genesis
	}
	if p, ok := s.pinOf(f); ok {
		scope.Logged = p.Sum
	}
	for _, c := range s.trust.Explain(f.Item, scope) {
		all = append(all, Check{Name: c.Name, OK: c.Pass, Skipped: !c.Ran, Text: c.Words})
	}
	text, ok := "these bytes are recorded in the "+f.Space.String()+" space", true
	switch {
	case f.Registry != "":
		text = "pinned by the lock, from registry " + f.Registry
	case f.State == space.Older || f.State == space.Deleted:
		text, ok = f.Err.Error(), false
	case !f.Recorded:
		text = "other bytes than the " + f.Space.String() + " space has recorded"
		if f.Err == nil {
			text = "newer than what the " + f.Space.String() + " space has recorded"
		}
	}
	return append(all, Check{Name: "record", OK: ok, Text: text})
}

// pinOf returns what the lock says of an item that came from a registry.
func (s *session) pinOf(f space.Finding) (space.Pin, bool) {
	if f.Registry == "" || s.lock == nil {
		return space.Pin{}, false
	}
	return s.pin(f.Ref)
}

// Log lists the commits of the project's space, or those that changed one item,
// newest first, at most limit of them (0 is 50).
func (r *Rye) Log(ctx context.Context, ref string, limit int) ([]LogEntry, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if limit < 0 {
		return nil, fault.New(fault.Usage, "log: at most %d entries", limit)
	}
	if limit == 0 {
		limit = 50
	}
	repo, err := s.stack.Project.Repo()
	if err != nil || repo == nil {
		return nil, err
	}
	tip, err := s.stack.Project.Tip()
	if err != nil || tip.IsZero() {
		return nil, err
	}
	var all []LogEntry
	entry := func(c *store.Commit) error {
		all = append(all, logEntry(c))
		if len(all) == limit {
			return fs.SkipAll
		}
		return nil
	}
	if ref == "" {
		err = repo.Log(ctx, tip, entry)
		return all, err
	}
	rf, err := s.ref(ref)
	if err != nil {
		return nil, err
	}
	err = s.stack.Project.HistoryOf(ctx, tip, rf, func(c *store.Commit, _ []store.Entry) error { return entry(c) })
	if err == nil && len(all) == 0 {
		err = fault.New(fault.NotFound, "log %s: never recorded in this project", rf).Mend("rye log")
	}
	return all, err
}

func logEntry(c *store.Commit) LogEntry {
	return LogEntry{Commit: c.ID.String(), When: c.Committer.Time().UTC().Format(time.RFC3339),
		Author: c.Author.Name, Subject: firstLine(c.Message)}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
