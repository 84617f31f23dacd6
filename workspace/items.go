package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/export"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/origin"
	"github.com/rye-os/rye/workspace/internal/session"
	"github.com/rye-os/rye/workspace/internal/share"
)

// Status reports every item of the project with its state, sorted by ref. Files
// that have not changed since they were last verified are answered from the
// catalogue in the cache directory; nothing else is written.
func (w *Workspace) Status(ctx context.Context, c rye.Caller) ([]rye.ItemInfo, error) {
	s, err := w.look(ctx, c, "status")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	share.TellVendor(ctx, s)
	export.Tell(ctx, s)
	aside.Tell(s)
	return look.Status(ctx, s)
}

// Survey counts the items of the project by state, and returns, sorted by ref, the items that
// need attention or have something to report. It only counts items that are signed, recorded
// and the only ones with their ref. So a clean project of ten thousand items takes as long as
// git status takes there. Otherwise it is Status.
func (w *Workspace) Survey(ctx context.Context, c rye.Caller) (*rye.Survey, error) {
	s, err := w.look(ctx, c, "status")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	share.TellVendor(ctx, s)
	export.Tell(ctx, s)
	aside.Tell(s)
	return look.Survey(ctx, s)
}

// List reports items, each ref once with the spaces that it shadows: first the project's
// items, then the user's, then the system's.
func (w *Workspace) List(ctx context.Context, c rye.Caller, q rye.ListRequest) ([]rye.ItemInfo, error) {
	return do(ctx, c, "list", w.enter, look.List, q)
}

// Show describes one item: the one that would be used, or with All every space's.
func (w *Workspace) Show(ctx context.Context, c rye.Caller, q rye.ShowRequest) ([]rye.ItemInfo, error) {
	return do(ctx, c, "show", w.working(w.enter), share.Show, q)
}

// Verify checks items as a use of them would: refs and paths as they resolve. Without targets
// it checks every item of the project and the user space. The error is the first refusal, so
// its code shows the kind; the results are complete. Mistakes in the text of own items, by
// the rules of their kind and of extractors, are reported without an error. They only keep
// an item from being signed again. Without targets, .ai/vendor must fit the lock, too.
func (w *Workspace) Verify(ctx context.Context, c rye.Caller, q rye.VerifyRequest) ([]rye.VerifyResult, error) {
	s, err := w.enter(c, "verify")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	all, err := look.Verify(ctx, s, q)
	if err == nil && len(q.Targets) == 0 {
		_, err = share.CheckVendor(ctx, s)
	}
	return all, err
}

// Review shows a person each change in their namespaces that no owner signed, beside the newest
// version that an owner did. It signs exactly the bytes that were shown.
func (w *Workspace) Review(ctx context.Context, c rye.Caller, q rye.ReviewRequest) (*rye.ReviewReport, error) {
	s, err := w.project(c, "review")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return share.Review(ctx, w.desk(s), c, q)
}

// New writes the first version of an item into the project, ready to edit and to
// sign. An id of one segment gets the project's namespace. It never overwrites.
func (w *Workspace) New(ctx context.Context, c rye.Caller, q rye.NewRequest) (*rye.NewReport, error) {
	return do(ctx, c, "new", w.working(w.of(q.Space)), author.New, q)
}

// Remove takes working items, bundles and dependencies out of the project. A working file's bytes
// are recorded before it goes, so nothing is lost. The reports are of what was removed, beside an
// error, too.
func (w *Workspace) Remove(ctx context.Context, c rye.Caller, q rye.RemoveRequest) ([]rye.AddReport, error) {
	all, err := do(ctx, c, "remove", w.working(w.of(q.Space)), author.Remove, q)
	return all, w.inUserSpace(ctx, c, "remove", q.Space, q.Targets, err)
}

// Move gives an item or a whole bundle of the project another id, and its files other paths. What
// the user's own signature covers is signed again, and the entry in the lock follows; anything
// else loses its signature line, which is for the old id.
func (w *Workspace) Move(ctx context.Context, c rye.Caller, q rye.MoveRequest) (*rye.MoveReport, error) {
	s, err := w.of(q.Space)(c, "move")
	if err != nil {
		return nil, w.inUserSpace(ctx, c, "mv", q.Space, []rye.Target{q.From}, err, q.To)
	}
	defer s.Close()
	rep, moved, err := author.Move(ctx, w.desk(s), c, q)
	if err != nil {
		return nil, err
	}
	rep.Lock, err = locks.Rename(ctx, s, renamesOf(moved), q.DryRun)
	return rep, err
}

// MoveNamespace gives all items and bundles of a namespace another one, after a yes: with the names
// of each other in their metadata, the namespace in rye.yaml, and the entries in the lock. It
// refuses to move what others own.
func (w *Workspace) MoveNamespace(ctx context.Context, c rye.Caller, q rye.MoveNamespaceRequest) (*rye.MoveNamespaceReport, error) {
	s, err := w.of(q.Space)(c, "move")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, moved, err := author.MoveNamespace(ctx, w.desk(s), c, q)
	if err != nil {
		return nil, err
	}
	rep.Lock, err = locks.Rename(ctx, s, renamesOf(moved), q.DryRun)
	if err == nil {
		rep.Declared, err = author.Redeclare(ctx, s, q)
	}
	return rep, err
}

func renamesOf(moved []author.Moved) (all []locks.Renamed) {
	for _, m := range moved {
		all = append(all, locks.Renamed(m))
	}
	return all
}

// Copy puts a verified item into a space, as it is or under another id.
func (w *Workspace) Copy(ctx context.Context, c rye.Caller, q rye.CopyRequest) (*rye.CopyReport, error) {
	return do(ctx, c, "copy", w.working(w.enter), author.Copy, q)
}

// Ref reads a name for one item, as session.RefOf does. It reads the spaces only for a name that
// depends on the items there. A caller that may not list items has to give the full form.
func (w *Workspace) Ref(ctx context.Context, c rye.Caller, arg string) (rye.Ref, error) {
	ref, full, err := w.host.Full(arg)
	if full {
		return ref, nil
	}
	if denied := w.host.Permit(c, "list"); denied != nil {
		if err != nil {
			err = denied
		}
		return ref, err
	}
	return do(ctx, c, "list", w.enter, session.RefOf, arg)
}

// Name is Ref for a caller that may load, execute or sign items. Items that the caller may not use
// with the verb count for nothing, and no error names them.
func (w *Workspace) Name(ctx context.Context, c rye.Caller, q rye.NameRequest) (rye.Ref, error) {
	s, err := w.visit(c, q.Verb)
	if err != nil {
		return rye.Ref{}, err
	}
	defer s.Close()
	return session.RefFor(ctx, s, q.Name, func(ref rye.Ref) error { return s.Allow(c, q.Verb, ref) })
}

// Init makes a project in q.Dir, or completes one without changing existing items. It makes a
// signing key when this user has none, and trusts that key in a project that it made. It
// reports items that are already there, and never signs them unseen.
func (w *Workspace) Init(ctx context.Context, c rye.Caller, q rye.InitRequest) (*rye.InitReport, error) {
	if err := w.host.Permit(c, "init"); err != nil {
		return nil, err
	}
	rep, err := author.Init(ctx, w.host, w.keys, q)
	if err == nil && c.IsPerson() {
		author.SetUpDriver(w.host.At(rep.Dir))
	}
	return rep, err
}

// Resolve merges the files of the project that git left unmerged, from the versions in its
// index. It stages, commits and signs nothing.
func (w *Workspace) Resolve(ctx context.Context, c rye.Caller, q rye.ResolveRequest) (*rye.ResolveReport, error) {
	if err := w.host.Permit(c, "resolve"); err != nil {
		return nil, err
	}
	return author.Resolve(ctx, w.host, q)
}

// Add takes items into the project and records them as they are, signed or not, in one
// commit. Recording an item does not make it trusted. Items from another git repository are
// shown to a person first, and are trusted only through their own signatures.
func (w *Workspace) Add(ctx context.Context, c rye.Caller, q rye.AddRequest) ([]rye.AddReport, error) {
	if q.URL == "" {
		return do(ctx, c, "add", w.working(w.of(q.Space)), origin.AddPath, q)
	}
	s, err := w.project(c, "add")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return origin.Add(ctx, w.desk(s), q)
}
