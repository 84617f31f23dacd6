package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// Spread describes the refs that SpreadTo moved at an address, or would move.
type Spread struct {
	URL   string
	Moved []string // full names of the refs
}

// SpreadOptions choose what SpreadTo pushes. A namespace that the root locates in another
// repository goes only to addresses that have it already, unless Only is set.
type SpreadOptions struct {
	Namespaces []string
	Only       bool // only these namespaces, without the root: to move them elsewhere
	DryRun     bool
}

// SpreadTo updates an address to everything known: the root, logs and content branches, as git push
// would, and nothing else. Logs and the root only move forward. A content branch may be set back,
// because it proves nothing. The namespaces must be synced with all addresses.
func (r *Registry) SpreadTo(ctx context.Context, url string, q SpreadOptions) (Spread, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Spread{URL: url}
	if r.o.Offline {
		return out, fault.New(fault.Offline, "bring %s up to date: offline", url).Advise("leave out --offline")
	}
	to, err := dialMirror(url, r.o.Transport)
	if err != nil {
		return out, err
	}
	defer to.remote.Close()
	repo, err := r.stagingOf()
	if err != nil {
		return out, err
	}
	defer repo.Close()
	s := spreading{r: r, repo: repo, to: to, out: &out}
	if s.has, err = to.remote.Refs(ctx, "refs/heads/", tagPrefix); err != nil {
		return out, err
	}
	namespaces := q.Namespaces
	if !q.Only {
		namespaces = append([]string{""}, namespaces...)
	}
	for _, ns := range namespaces {
		if carries, err := s.carries(ctx, ns); err != nil {
			return out, err
		} else if !carries && !q.Only {
			continue
		}
		if err := s.plan(ctx, ns); err != nil {
			return out, err
		}
	}
	for _, u := range s.updates() {
		out.Moved = append(out.Moved, u.Name)
	}
	if q.DryRun || len(out.Moved) == 0 {
		return out, nil
	}
	return out, s.send(ctx)
}

// stagingOf returns the repository that holds everything pushed to other addresses. It is a cache
// beside the registry's cache, and its content is not verified.
func (r *Registry) stagingOf() (*store.Repo, error) {
	if err := os.MkdirAll(r.o.CacheDir, 0o700); err != nil {
		return nil, fault.New(fault.Failed, "make a repository to mirror registry %s: %w", r.o.ID, err)
	}
	dir := filepath.Join(r.o.CacheDir, r.o.ID.Hex()+".mirror.git")
	repo, err := store.Init(dir, mainBranch)
	if fault.Is(err, fault.Conflict) {
		repo, err = store.Open(dir)
	}
	return repo, err
}

// spreading is a SpreadTo under way.
type spreading struct {
	r       *Registry
	repo    *store.Repo
	to      *mirror
	has     map[string]store.OID // refs at the address
	content []transport.Update   // pushed first
	logs    []transport.Update
	out     *Spread
}

func (s *spreading) updates() []transport.Update { return slices.Concat(s.content, s.logs) }

// carries reports whether an address should have a log. Logs in the root's repository go to each of
// its copies, other logs to the addresses that have them.
func (s *spreading) carries(ctx context.Context, ns string) (bool, error) {
	if !s.has[branchOf(ns)].IsZero() {
		return true, nil
	}
	home, err := s.r.writtenAt(ctx, ns)
	if err != nil {
		return false, err
	}
	elsewhere := slices.ContainsFunc(s.r.elsewhere, func(m *mirror) bool { return m.url == s.to.url })
	return home.url == s.to.url || home == s.r.mirrors[0] && !elsewhere, nil
}

// plan determines the refs to move for one log ("": the root) and its content. Its tip is the
// verified one; the other refs come from the mirror that showed that tip.
func (s *spreading) plan(ctx context.Context, ns string) error {
	know, err := s.r.mem.Recall()
	if err != nil {
		return err
	}
	p, from := know[ns], s.r.shown[ns]
	if p.Seq == 0 || from == nil || from.url == s.to.url {
		return nil
	}
	names, err := s.shows(ctx, from, ns)
	if err != nil {
		return err
	}
	if names[branchOf(ns)] != p.Tip {
		return fault.New(fault.Conflict, "bring %s to %s: %s moved meanwhile", oplog.LogName(ns), s.to.url, from.url).Advise("do it again")
	}
	if s.has[branchOf(ns)] == p.Tip && ns == "" {
		return nil
	}
	if err := s.bring(ctx, from, names); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		u := transport.Update{Name: name, Old: s.has[name], New: names[name]}
		switch {
		case u.Old == u.New:
		case name == branchOf(ns):
			if err := s.forward(ctx, ns, u); err != nil {
				return err
			}
			s.logs = append(s.logs, u)
		default:
			s.content = append(s.content, u)
		}
	}
	return nil
}

// shows returns the refs of an address for a log, its content and tags.
func (s *spreading) shows(ctx context.Context, from *mirror, ns string) (map[string]store.OID, error) {
	if ns == "" {
		return from.remote.Refs(ctx, mainBranch)
	}
	all, err := from.remote.Refs(ctx, branchOf(ns), contentOf(ns), tagsOf(ns))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ store.OID) bool { // acme is not acme-next
		return name != branchOf(ns) && name != contentOf(ns) && !strings.HasPrefix(name, tagsOf(ns))
	})
	return all, nil
}

// bring fetches all objects to push, except those from earlier calls.
func (s *spreading) bring(ctx context.Context, from *mirror, names map[string]store.OID) error {
	var want, have []store.OID
	for name, id := range names {
		if old, err := s.repo.Ref(name); err == nil && s.repo.Has(old) {
			have = append(have, old)
		}
		if !s.repo.Has(id) && !slices.Contains(want, id) {
			want = append(want, id)
		}
	}
	if len(want) > 0 {
		q, _, err := from.remote.Fetch(ctx, s.repo, want, have, transport.FetchOptions{})
		if err != nil {
			return err
		}
		defer q.Discard()
		if err := q.Connected(ctx, want...); err != nil {
			return fault.New(fault.Network, "%s: sent less than its branches need: %w", from.url, err)
		}
		if err := q.Accept(ctx, want...); err != nil {
			return err
		}
		defer q.Release()
	}
	for name, id := range names {
		if err := moveRef(ctx, s.repo, name, id); err != nil {
			return err
		}
	}
	return nil
}

// forward refuses to move a log unless it continues the log at the address.
func (s *spreading) forward(ctx context.Context, ns string, u transport.Update) error {
	if u.Old.IsZero() {
		return nil
	}
	for id := u.New; !id.IsZero(); {
		if id == u.Old {
			return nil
		}
		_, parent, err := oplog.ReadCommit(&s.repo.Reader, id)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		id = parent
	}
	return fault.New(fault.Fork, "%s: %s shows an operation, %s, that the verified log does not have", oplog.LogName(ns), s.to.url, u.Old).
		Mend("rye fetch")
}

// pushMost bounds the refs of one push.
const pushMost = 4000

// send pushes content before the logs that name it; all in one push if it is small.
func (s *spreading) send(ctx context.Context) error {
	batches := [][]transport.Update{s.updates()}
	if len(s.content)+len(s.logs) > pushMost {
		batches = slices.Concat(slices.Collect(slices.Chunk(s.content, pushMost)), slices.Collect(slices.Chunk(s.logs, pushMost)))
	}
	for _, some := range batches {
		if err := s.to.remote.Push(ctx, s.repo, some); err != nil {
			if rejected := new(transport.RejectedError); errors.As(err, &rejected) && fault.Is(err, fault.Denied) && strings.HasPrefix(rejected.Name, contentPrefix) {
				return fault.New(fault.Denied, "%s does not allow a force push to %s: %w", s.to.url, rejected.Name, err).
					Advise("allow force pushes to content/** there: a rebuilt content branch starts anew")
			}
			return fmt.Errorf("bring %s up to date: %w", s.to.url, err)
		}
	}
	return nil
}

// Claimed syncs the namespaces and returns the claimed ones. It leaves out branches that the root
// does not accept.
func (r *Registry) Claimed(ctx context.Context, namespaces []string) (claimed []string, err error) {
	for some := range slices.Chunk(namespaces, 100) {
		if err := r.Sync(ctx, some...); err != nil {
			return nil, err
		}
		for _, ns := range some {
			if s, err := r.View(ns); err == nil && s.Seq > 0 {
				claimed = append(claimed, ns)
			}
		}
	}
	return claimed, nil
}
