package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/look"
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

// Remove takes a working item, or a dependency, out of the project. A working
// file's bytes are recorded before it goes, so nothing is lost.
func (w *Workspace) Remove(ctx context.Context, c rye.Caller, q rye.RemoveRequest) (*rye.AddReport, error) {
	return do(ctx, c, "remove", w.working(w.of(q.Space)), author.Remove, q)
}

// Move gives an item of the project another id, and its file another path. The
// signature is for the old id, so the item has to be signed again.
func (w *Workspace) Move(ctx context.Context, c rye.Caller, q rye.MoveRequest) (*rye.MoveReport, error) {
	return do(ctx, c, "move", w.working(w.of(q.Space)), author.Move, q)
}

// Copy puts a verified item into a space, as it is or under another id.
func (w *Workspace) Copy(ctx context.Context, c rye.Caller, q rye.CopyRequest) (*rye.CopyReport, error) {
	return do(ctx, c, "copy", w.working(w.enter), author.Copy, q)
}

// Ref parses a person's name for one item: a ref, a published name, or the path of an item's
// file below the project's or the user's .ai. It also accepts a short name that only one item
// has. Only for that it reads the spaces.
func (w *Workspace) Ref(ctx context.Context, c rye.Caller, arg string) (rye.Ref, error) {
	if ref, err := w.host.Ref(arg); err == nil {
		return ref, nil
	}
	return do(ctx, c, "list", w.enter, session.RefOf, arg)
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
		return do(ctx, c, "add", w.working(w.of(q.Space)), author.Add, q)
	}
	s, err := w.project(c, "add")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	commit, files, err := share.FetchTree(ctx, w.desk(s), q.URL)
	if err != nil {
		return nil, err
	}
	return author.Fetched(ctx, w.desk(s), q, commit, files)
}
