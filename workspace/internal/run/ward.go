package run

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/ward"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/aside"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/export"
	"github.com/rye-os/rye/workspace/internal/session"
)

// watched is the look at files in the project that other programs run by themselves. It goes on
// beside the gates.
type watched struct {
	stop context.CancelFunc
	done chan struct{}
	ward *ward.Ward // nil where the run writes nothing in the project
	git  *gitWard   // nil where the run writes no git directory outside of it
	base string     // prefix of the names of its notes; "" where there can be none
	err  error

	project string // without links
	write   []string
	id      string   // of the note
	run     *running // nil if it has no note
	note    note
}

// watch begins the look, if the plan may write in the project.
func watch(ctx context.Context, s *custody.Desk, plan *chain.Plan) *watched {
	ctx, stop := context.WithCancel(ctx)
	w := &watched{stop: stop, done: make(chan struct{}), id: newID()}
	n := plan.Needs()
	writes := len(n.Write) > 0 || !n.Declared && !published(plan)
	if s.ProjectDir == "" || plan.Primitive() == chain.HTTP || !writes {
		close(w.done)
		return w
	}
	go func() {
		defer close(w.done)
		project, err := filepath.EvalSymlinks(s.ProjectDir)
		if w.project, w.err = project, err; err != nil {
			return
		}
		o := ward.Options{Project: project}
		if s.CacheDir != "" && s.Place.Key != "" {
			w.base = noteBase(s)
			o.Cache = w.base
		}
		for _, name := range n.Write {
			switch {
			case filepath.IsAbs(name):
				o.Write = append(o.Write, filepath.Clean(name))
			case path.Clean(name) != ".": // the whole project names nothing in it
				o.Write = append(o.Write, filepath.Join(project, filepath.FromSlash(name)))
			}
		}
		w.write = o.Write
		if w.ward, w.err = ward.Look(ctx, o); w.err == nil {
			w.git, w.err = lookAtGit(ctx, project, o.Write)
		}
	}()
	return w
}

// A gitWard is the look at the git directory of a linked worktree or a submodule that a run may write.
type gitWard struct {
	*ward.Ward
	dirs  session.GitDirs
	keep  []string             // what must stay read-only besides
	links map[string]ward.Link // in the directories of the repository
}

// lookAtGit looks at the git directory outside of the project, if needs.write names the .git file that
// leads to it; nil if it does not.
func lookAtGit(ctx context.Context, project string, write []string) (*gitWard, error) {
	g, ok := session.GitDirsOf(project)
	if !ok || !slices.Contains(write, g.File) {
		return nil, nil
	}
	w, err := ward.Look(ctx, ward.Options{Project: g.Admin})
	if err != nil {
		return nil, err
	}
	git := &gitWard{Ward: w, dirs: g, links: ward.Links(shared(g))}
	for _, p := range []string{filepath.Join(g.Admin, "gitdir"), infoOf(g)} {
		if p != "" && exists(p) {
			git.keep = append(git.keep, p)
		}
	}
	return git, nil
}

// shared are the writable directories that belong to every tree of a repository.
func shared(g session.GitDirs) []string {
	return slices.DeleteFunc(slices.Clone(g.Write), func(dir string) bool { return dir == g.Admin })
}

// infoOf returns objects/info of a linked worktree's repository: a file in it leads to other objects. That
// of a submodule is in its git directory.
func infoOf(g session.GitDirs) string {
	for _, dir := range shared(g) {
		if filepath.Base(dir) == "objects" {
			return filepath.Join(dir, "info")
		}
	}
	return ""
}

// protected lists what must be read-only.
func (g *gitWard) protected() (all []string) {
	if g == nil {
		return nil
	}
	return append(paths(g.Ward), g.keep...)
}

// after moves away what a run left in a git directory outside of the project.
func (g *gitWard) after(ctx context.Context, x ward.Excuses, vanished []string, to string) ([]ward.Taken, error) {
	if g == nil {
		return nil, nil
	}
	g.Excuse(ward.Excuses{Held: x.Held})
	all, err := g.After(ctx, slices.DeleteFunc(slices.Clone(vanished), func(p string) bool { return !slices.Contains(paths(g.Ward), p) }), to)
	underGit(all)
	more, serr := sharedAfter(ctx, g.dirs, g.keep, to, func(at string, l ward.Link) bool { return g.links[at] == l })
	return append(all, more...), errors.Join(err, serr)
}

// underGit gives what was taken the paths under which a person of this tree knows them: git resolves .git.
func underGit(all []ward.Taken) {
	for i := range all {
		all[i].Path, all[i].Need = ".git/"+all[i].Path, ""
	}
}

// sharedAfter moves away new links in the directories that all trees of a repository share, and a new objects/info.
func sharedAfter(ctx context.Context, g session.GitDirs, kept []string, to string, old func(string, ward.Link) bool) (all []ward.Taken, err error) {
	for _, dir := range shared(g) {
		var bad []string
		for at, l := range ward.Links([]string{dir}) {
			if rel, rerr := filepath.Rel(dir, at); rerr == nil && !old(at, l) {
				bad = append(bad, filepath.ToSlash(rel))
			}
		}
		if info := filepath.Join(dir, "info"); info == infoOf(g) && exists(info) && !slices.Contains(kept, info) && !slices.Contains(bad, "info") {
			bad = append(bad, "info")
		}
		if len(bad) == 0 {
			continue
		}
		slices.Sort(bad)
		found, aerr := ward.Away(ctx, dir, bad, filepath.Join(to, filepath.Base(dir)))
		for i := range found {
			found[i].Path = filepath.Base(dir) + "/" + found[i].Path
		}
		underGit(found)
		all, err = append(all, found...), errors.Join(err, aerr)
	}
	return all, err
}

// recoverGit is gitWard.after for a run that was killed.
func recoverGit(ctx context.Context, project string, n *note, to string) ([]ward.Taken, error) {
	g, ok := session.GitDirsOf(project)
	if !ok || !slices.Contains(n.Write, g.File) {
		return nil, nil
	}
	all, err := ward.Recover(ctx, ward.Options{Project: g.Admin}, ward.Earlier{Began: n.Began, Paths: n.Before}, ward.Excuses{}, to)
	underGit(all)
	more, serr := sharedAfter(ctx, g, n.Before, to, func(_ string, l ward.Link) bool { return l.Changed.Before(n.Began.Add(-100 * time.Millisecond)) })
	return append(all, more...), errors.Join(err, serr)
}

// end ends a look that is still under way: after the answer, nothing of a refused or rehearsed
// run continues.
func (w *watched) end() {
	w.stop()
	<-w.done
	if w.ward != nil {
		w.ward.Close()
	}
	if w.git != nil {
		w.git.Close()
	}
}

// protect adds the paths that have to be read-only during the run.
func (w *watched) protect(j *job, b *primitive.Sandbox) error {
	<-w.done
	if w.err != nil {
		return fault.Wrap(w.err, "execute %s", j.plan.Tool().Ref)
	}
	b.Protect = slices.Concat(b.Protect, w.git.protected())
	if w.ward == nil || j.open {
		return nil
	}
	for _, m := range w.ward.Protected() {
		b.Protect = append(b.Protect, m.Path)
	}
	return nil
}

// unseen waits for the look, and returns the places that it did not check, in words. w may be nil.
func (w *watched) unseen() ([]string, error) {
	if w == nil {
		return nil, nil
	}
	<-w.done
	if w.err != nil || w.ward == nil {
		return nil, w.err
	}
	return w.ward.Unbound(), nil
}

// begin reports and moves what killed runs left, tells the pending notices, and writes the note of
// this run. The returned function is called after the final look.
func (w *watched) begin(ctx context.Context, s *custody.Desk, j *job, b *primitive.Sandbox, tier primitive.Tier) (done func()) {
	recovered(ctx, s, w.base, w.project)
	aside.Tell(s.Session)
	if w.ward == nil {
		return func() {}
	}
	n := note{Tool: j.plan.Tool().Ref.String(), Began: s.Now(), Within: withinOf(ctx).runs, Write: w.write, Before: append(paths(w.ward), w.git.protected()...),
		Git: !held(j, tier) || w.ward.WritesGit(), Dirs: outside(b, w.project)}
	w.run, w.note = enroll(w.base, w.id, n), n
	return func() { w.run.end(s.Now()) }
}

func paths(w *ward.Ward) (all []string) {
	for _, m := range w.Protected() {
		all = append(all, m.Path)
	}
	return all
}

// outside lists the writable directories of a sandbox that are not in the project.
func outside(b *primitive.Sandbox, project string) (all []string) {
	for _, p := range b.Write {
		if rel, err := filepath.Rel(project, p); err != nil || !filepath.IsLocal(rel) {
			all = append(all, p)
		}
	}
	return all
}

// excusesOf returns the excuses of a run, from the runs of the same time, and from those of them
// that it did not cause.
func excusesOf(s *custody.Desk, n *note, all, apart []*note) ward.Excuses {
	x := ward.Excuses{Git: !n.Git, Own: export.Wrote(s)}
	dirs := slices.Clone(n.Dirs)
	for _, o := range all {
		x.Git = x.Git && !o.Git
		dirs = append(dirs, o.Dirs...)
	}
	for _, o := range apart {
		if len(o.Write) > 0 {
			x.Others = append(x.Others, ward.Other{Tool: o.Tool, Write: slices.Clone(o.Write)})
		}
	}
	git := x.Git
	x.Closed = func(dir string) bool {
		return git && !slices.ContainsFunc(dirs, func(d string) bool { return inside(d, dir) || inside(dir, d) })
	}
	return x
}

// inside reports whether a path is a directory or is in it.
func inside(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

func thingsOf(found []ward.Taken) (all []aside.Thing) {
	for _, t := range found {
		all = append(all, aside.Thing{Path: t.Path, Kind: t.Kind, How: t.How, File: t.Where, Need: t.Need})
	}
	return all
}

// patience bounds the look after a run. An ended context does not shorten it, because files
// that were not checked would stay.
const patience = 30 * time.Second

// after moves away files of the run that other programs would run by themselves, names them, and
// asks a person at a terminal whether to put them back. It reports parts that it could not check
// beside the limits that were not enforced.
func (w *watched) after(ctx context.Context, s *custody.Desk, j *job, res primitive.Result) (o afterwards) {
	if w.ward == nil {
		return o
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer export.Settle(look, s.Session)()
	all, apart := w.run.others()
	x := excusesOf(s, &w.note, all, apart)
	x.Held = held(j, res.Tier) && !res.Blind
	w.ward.Excuse(x)
	at := s.Now()
	dir, files := aside.Room(s.Session, at)
	found, err := w.ward.After(look, w.unheld(j, res), files)
	more, gerr := w.git.after(look, x, res.Vanished, filepath.Join(files, ".git"))
	found, err = append(found, more...), errors.Join(err, gerr)
	for _, l := range w.ward.Left() {
		o.left = append(o.left, rye.LeftInfo{Path: l.Path, Kind: l.Kind, By: l.By})
	}
	o.unseen = w.ward.Unbound()
	if err != nil {
		o.unseen = append(o.unseen, "files that other programs run by themselves: "+err.Error())
	}
	if len(found) == 0 {
		return o
	}
	notice := &aside.Notice{Tool: j.plan.Tool().Ref.String(), At: at, Things: thingsOf(found)}
	o.taken = notice.Info()
	if err := aside.Keep(s.Session, dir, notice); err != nil {
		s.Tell("files that rye moved away: " + err.Error())
		return o
	}
	if j.caller.IsPerson() && aside.Ask(ctx, s.Session, notice) {
		o.taken = nil
	}
	return o
}

// afterwards is what the look after a run found.
type afterwards struct {
	taken  []rye.TakenInfo
	left   []rye.LeftInfo
	unseen []string
}

// remember records the files that nothing will hold during the run, directly before it.
func (w *watched) remember(ctx context.Context, j *job, tier primitive.Tier) {
	switch {
	case w.ward == nil:
	case !held(j, tier):
		w.ward.Remember(ctx, w.free())
	case tier >= primitive.S3:
		w.ward.Watch()
	}
}

// unheld are the protected paths that nothing enforced until the end.
func (w *watched) unheld(j *job, res primitive.Result) []string {
	if held(j, res.Tier) {
		return res.Vanished
	}
	return w.free()
}

// held reports whether the sandbox enforces the protection of files during a run.
func held(j *job, tier primitive.Tier) bool { return tier >= primitive.S2 && !j.open }

// free are the paths to compare where nothing is enforced.
func (w *watched) free() []string { return paths(w.ward) }
