package workspace

import (
	"cmp"
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/finder"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/look"
	"github.com/rye-os/rye/workspace/internal/share"
)

var _ rye.Verbs = (*Workspace)(nil)

// Search finds items by words, kinds, spaces and scopes, as far as the caller may search
// them. With the kind of threads it finds turns of threads. With the space "registry" it
// finds offers of the project's registries, as far as their catalogues are here.
func (w *Workspace) Search(ctx context.Context, c rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	s, err := w.visit(c, "search")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	switch {
	case finder.OfThreads(q):
		return w.finder.Threads(ctx, s, c, q)
	case finder.OfRegistries(q):
		return share.Search(ctx, w.desk(s), w.finder, c, q)
	}
	return w.finder.Search(ctx, s, c, q)
}

// Load returns one verified item, from the highest space that holds it or from a named one.
// With q.Destination it also copies the item there, byte for byte.
func (w *Workspace) Load(ctx context.Context, c rye.Caller, q rye.LoadRequest) (*rye.LoadResult, error) {
	s, err := w.visit(c, "load")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := look.Load(ctx, s, c, q)
	switch {
	case err != nil:
		return nil, err
	case q.Destination == "":
		return f.Result, nil
	}
	return author.CopyLoaded(ctx, w.desk(s), c, f, q.Destination)
}

// Execute runs a tool exactly as signed, or returns the text of a directive or a knowledge
// entry. The gates have one order for every caller: integrity, capability, parameters, lock,
// policy (tier, commands, approval), consent to unsigned things, hosts, gaps of the sandbox,
// run. Unsigned things are .env files and a project's interpreter. A dry run passes every
// gate but the last.
func (w *Workspace) Execute(ctx context.Context, c rye.Caller, q rye.ExecuteRequest) (*rye.ExecuteResult, error) {
	if err := w.host.Require(c, "execute"); err != nil {
		return nil, err
	}
	return w.runner.Execute(ctx, c, q)
}

// Sign validates working items, signs them with the user's key and records them in one
// commit. An item that already carries a valid signature by that key is left as it is.
// Items fail one by one; the error of a single target is returned. For a caller that is
// not a person, a person approves every change first.
func (w *Workspace) Sign(ctx context.Context, c rye.Caller, q rye.SignRequest) (*rye.SignReport, error) {
	first, err := w.prepare(ctx, c, q)
	if err != nil {
		return nil, err
	}
	s, err := w.visit(c, "sign")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, err := author.Sign(ctx, w.desk(s), c, q)
	if rep != nil {
		renewed, lockErr := locks.Follow(ctx, s, rep.Before, q.DryRun)
		for _, ref := range renewed {
			rep.Lock = append(rep.Lock, ref.String())
		}
		err = cmp.Or(err, lockErr)
	}
	return author.WithFirst(rep, first), err
}

// prepare does the steps that come before an upgrade, each in its own session, so that the
// next one sees the changes. It returns the signed items.
func (w *Workspace) prepare(ctx context.Context, c rye.Caller, q rye.SignRequest) (done []rye.SignResult, err error) {
	if !q.Upgrade {
		return nil, nil
	}
	s, err := w.visit(c, "sign")
	if err != nil {
		return nil, err
	}
	first, err := author.Prepare(ctx, w.desk(s), c, q)
	s.Close()
	for _, q := range first {
		if s, err = w.visit(c, "sign"); err != nil {
			return done, err
		}
		rep, err := author.Sign(ctx, w.desk(s), c, q)
		if s.Close(); err != nil {
			return done, err // the item's own error comes first; everything else waits for the item
		}
		done = append(done, rep.Results...)
	}
	return done, err
}
