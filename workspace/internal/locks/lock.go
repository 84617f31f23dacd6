package locks

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/session"
)

// shownPath is the lock's path in reports.
const shownPath = ".ai/" + session.LockFile

// Pin pins items of the project as they are now, with the whole chain of every tool. Without
// targets it pins every item that may be used, and drops pins of missing items. A refused item
// that is present keeps its pin. The first of these refusals is the error, beside the report.
func Pin(ctx context.Context, s *session.Session, q rye.LockRequest) (*rye.LockReport, error) {
	s, release, err := s.Alone(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	lock := s.Lock.Clone()
	found, err := lockable(ctx, s, q.Targets)
	if err != nil {
		return nil, err
	}
	rep := &rye.LockReport{Path: shownPath}
	var refused []space.Finding
	if len(q.Targets) == 0 {
		found, refused = usable(found, lock)
		if found, refused, err = withoutPatches(ctx, s, found, refused); err != nil {
			return nil, err
		}
		lock.DropOwn(refsOf(refused))
	}
	for _, f := range found {
		if err := pinOne(ctx, s, lock, f); err != nil {
			return nil, err
		}
	}
	if lock.Stdlib, err = Stdlib(ctx, s); err != nil { // kept only when nothing else was refused
		return nil, err
	}
	compare(rep, s.Lock, lock)
	rep.Warnings = warnLock(s, lock)
	if err := s.WriteLock(ctx, lock); err != nil {
		return nil, err
	}
	return rep, keep(rep, refused)
}

// usable divides findings into the items to pin, and the refused items that the lock pins. A
// bundle keeps its pin, with the tools that load it.
func usable(all []space.Finding, lock *chain.Lock) (found, refused []space.Finding) {
	for _, f := range all {
		_, pinned := lock.Items[f.Ref]
		switch {
		case f.Err != nil && pinned:
			refused = append(refused, f)
		case f.Err == nil && !f.Manifest:
			found = append(found, f)
		}
	}
	return found, refused
}

// withoutPatches moves the findings whose plans have a patch from found to refused: no owner
// signed the patch, so no lock pins it.
func withoutPatches(ctx context.Context, s *session.Session, found, refused []space.Finding) (clean, all []space.Finding, err error) {
	if !slices.ContainsFunc(found, isPatched) && !slices.ContainsFunc(refused, isPatched) {
		return found, refused, nil
	}
	for _, f := range found {
		plan := (*chain.Plan)(nil)
		if runs(f) {
			if plan, err = Plan(ctx, s, f.Ref); err != nil {
				return nil, nil, err
			}
		}
		if f.Err = chain.PatchedOf(plan, f.Verified).Refuse("lock", f.Ref); f.Err != nil {
			refused = append(refused, f)
			continue
		}
		clean = append(clean, f)
	}
	return clean, refused, nil
}

func isPatched(f space.Finding) bool { return f.State == objects.Patched }

// runs reports whether a finding is a tool with a chain.
func runs(f space.Finding) bool {
	return f.Ref.Kind == objects.Tool && !f.Verified.IsZero() && f.Verified.Item().Meta.Executor != ""
}

func refsOf(all []space.Finding) map[objects.Ref]bool {
	refs := map[objects.Ref]bool{}
	for _, f := range all {
		refs[f.Ref] = true
	}
	return refs
}

// keep reports refused items whose pins stay. It returns the first refusal, if there is one.
func keep(rep *rye.LockReport, refused []space.Finding) error {
	for _, f := range refused {
		rep.Kept = append(rep.Kept, rye.LockKept{Ref: f.Ref.String(), Why: f.Err.Error()})
	}
	if len(refused) == 0 {
		return nil
	}
	return fault.Wrap(refused[0].Err, "lock: %s refused, so their old pins stay", words.Plural(len(refused), "item"))
}

// compare notes pins that a new lock has and the old one, which may be nil, lacks, and the
// reverse.
func compare(rep *rye.LockReport, old, now *chain.Lock) {
	was := map[objects.Ref]chain.Pin{}
	if old != nil {
		was = old.Items
	}
	for _, ref := range slices.SortedFunc(maps.Keys(now.Items), byName) {
		before, there := was[ref]
		switch pin := now.Items[ref]; {
		case !there:
			rep.Added = append(rep.Added, ref.String())
		default:
			if why := whatChanged(before, pin); why != "" {
				rep.Changed = append(rep.Changed, rye.LockChange{Ref: ref.String(), From: before.Version, To: pin.Version, Why: why})
			}
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(was), byName) {
		if _, there := now.Items[ref]; !there {
			rep.Removed = append(rep.Removed, ref.String())
		}
	}
	rep.Items = len(now.Items)
}

// whatChanged names the changed part of a pin; "" for none.
func whatChanged(a, b chain.Pin) string {
	switch {
	case a.From != b.From || a.Space != b.Space:
		return "from"
	case a.Version != b.Version:
		return "version"
	case a.Path != b.Path:
		return "path"
	case a.SHA256 != b.SHA256:
		return "content"
	case !slices.Equal(a.Chain, b.Chain):
		return "chain"
	case a.Around != b.Around:
		return "files around it"
	}
	return ""
}

// byName is the order of the file.
func byName(a, b objects.Ref) int { return strings.Compare(a.String(), b.String()) }

// renewed returns a copy of the project's lock with today's standard library.
func renewed(ctx context.Context, s *session.Session) (*chain.Lock, error) {
	lock := s.Lock.Clone()
	var err error
	lock.Stdlib, err = Stdlib(ctx, s)
	return lock, err
}

// Stdlib returns the pin of the standard library in this program. It keeps its bytes in the
// project's store, if there is one: its commit is the same everywhere.
func Stdlib(ctx context.Context, s *session.Session) (*chain.StdlibPin, error) {
	system, err := s.System()
	if err != nil {
		return nil, err
	}
	l := s.Stack.Project
	if l.Store == "" {
		dir, err := os.MkdirTemp(s.CacheDir, "rye-create-*")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		l = &space.Layer{Space: objects.Project, Dir: s.AIDir(), Store: filepath.Join(dir, "store.git")}
		defer l.Close()
	}
	id, err := l.Keep(ctx, system)
	if err != nil {
		return nil, err
	}
	return &chain.StdlibPin{Version: system.Release.Version, Manifest: system.Digest(), Commit: id.String()}, nil
}

// lockable returns the items that targets name, which must be usable. Without targets it
// returns all items of the project.
func lockable(ctx context.Context, s *session.Session, targets []rye.Target) ([]space.Finding, error) {
	if len(targets) == 0 {
		found, err := look.Scan(ctx, s, objects.Project, nil)
		if err != nil {
			return nil, err
		}
		return withPrograms(ctx, s, found)
	}
	var all []space.Finding
	for _, target := range targets {
		ref, err := session.RefOf(ctx, s, string(target))
		if err != nil {
			return nil, err
		}
		f, err := look.Finding(ctx, s, ref)
		if err == nil {
			err = f.Err
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// withPrograms adds the programs of the project's bundles, which no scan finds, and those that the lock
// pins and that are refused now.
func withPrograms(ctx context.Context, s *session.Session, found []space.Finding) ([]space.Finding, error) {
	refs, err := s.Stack.Programs(ctx, nil)
	if err != nil {
		return nil, err
	}
	have := refsOf(found)
	if s.Lock != nil {
		for ref, pin := range s.Lock.Items {
			if _, in := ref.Package(); in && pin.From == "" && ref.Kind == objects.Tool {
				refs = append(refs, ref)
			}
		}
	}
	slices.SortFunc(refs, byName)
	for _, ref := range slices.Compact(refs) {
		if have[ref] {
			continue
		}
		f, ok, err := s.Stack.In(ctx, objects.Project, ref)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, f)
		}
	}
	return found, nil
}

// pinOne adds an item to the lock: a tool with its chain, others alone.
func pinOne(ctx context.Context, s *session.Session, lock *chain.Lock, f space.Finding) error {
	if f.Manifest {
		return PinPackage(ctx, s.WithLock(lock, objects.Digest{}), objects.BundleRef(f.Bundle))
	}
	if runs(f) {
		plan, err := Plan(ctx, s, f.Ref)
		if err != nil {
			return err
		}
		return lock.Set(plan)
	}
	switch f.Space {
	case objects.System:
		return nil
	case objects.User:
		return fault.New(fault.Denied, "lock %s: a lock cannot pin an item of the user space", f.Ref).Mend("rye add %s --space project", f.Ref)
	}
	return lock.SetItem(link(s, f.Found))
}

// Verify compares the lock's pins with the items here. The error is the first drift; the report
// lists all.
func Verify(ctx context.Context, s *session.Session) (*rye.LockReport, error) {
	if s.Lock == nil {
		return nil, fault.New(fault.NotFound, "no lock here: no %s", shownPath).Mend("rye lock")
	}
	rep := &rye.LockReport{Path: shownPath, Items: len(s.Lock.Items), Warnings: warnLock(s, s.Lock)}
	first := library(s)
	if first != nil {
		rep.Drift = append(rep.Drift, strings.TrimPrefix(first.Error(), "lock: "))
	}
	for _, ref := range slices.SortedFunc(maps.Keys(s.Lock.Items), byName) {
		if err := verifyPin(ctx, s, ref); err != nil {
			rep.Drift = append(rep.Drift, strings.TrimPrefix(err.Error(), "lock: "))
			if first == nil {
				first = err
			}
		}
	}
	others, err := verifyOrigins(ctx, s)
	for _, err := range append(others, err) {
		if err != nil {
			rep.Drift = append(rep.Drift, strings.TrimPrefix(err.Error(), "lock: "))
			first = cmp.Or(first, err)
		}
	}
	if first != nil && !fault.Is(first, fault.Drift) {
		first = fault.New(fault.Drift, "%w", first)
	}
	return rep, first
}

// verifyPin compares one pin with the item that is in use.
func verifyPin(ctx context.Context, s *session.Session, ref objects.Ref) error {
	if ref.Kind == objects.Bundle {
		return verifyPackage(ctx, s, ref)
	}
	f, err := s.Stack.Find(ctx, ref)
	if err != nil {
		return err
	}
	if len(s.Lock.Items[ref].Chain) == 0 { // pinned as a part of others' chains, or no tool
		return s.Lock.MatchItem(link(s, f))
	}
	plan, err := Plan(ctx, s, ref)
	if err != nil {
		return err
	}
	return named(ctx, s, plan, s.Lock.Match(plan))
}

// verifyPackage checks the pin of a package: every file against the manifest, and the chains
// of its tools.
func verifyPackage(ctx context.Context, s *session.Session, ref objects.Ref) error {
	p := s.Stack.LockedPackage(ref)
	if p == nil {
		return fault.New(fault.Drift, "%s: it is locked, but not from a registry", ref).Mend("rye rm %s", ref)
	}
	if p.Err != nil {
		return p.Err
	}
	if err := p.Check(); err != nil {
		return err
	}
	return eachTool(ctx, s, p, func(plan *chain.Plan) error { return named(ctx, s, plan, s.Lock.Match(plan)) })
}

// PinPackage pins the chains of a locked package's tools, as they resolve now.
func PinPackage(ctx context.Context, s *session.Session, ref objects.Ref) error {
	p := s.Stack.LockedPackage(ref)
	if p == nil {
		return nil
	}
	if p.Err != nil {
		return p.Err
	}
	return eachTool(ctx, s, p, s.Lock.Set)
}

// eachTool plans each tool of a bundle, and of its programs one for each runtime: they have the same
// files around them.
func eachTool(ctx context.Context, s *session.Session, p *space.Package, visit func(*chain.Plan) error) error {
	runtimes := map[objects.ID]bool{}
	for _, it := range append(p.Members(), p.Tools()...) {
		if it.Ref.Kind != objects.Tool || it.Meta.Executor == "" || it.Meta.Program && runtimes[it.Meta.Executor] {
			continue
		}
		if it.Meta.Program {
			runtimes[it.Meta.Executor] = true
		}
		plan, err := Plan(ctx, s, it.Ref)
		if err == nil {
			err = visit(plan)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
