package run

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/chain/primitive/ward"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// watched is the look at files in the project that other programs run by themselves. It goes on
// beside the gates.
type watched struct {
	stop context.CancelFunc
	done chan struct{}
	ward *ward.Ward // nil where the run writes nothing in the project
	base string     // prefix of the names of its notes; "" where there can be none
	err  error
}

// watch begins the look, if the plan may write in the project.
func watch(ctx context.Context, s *custody.Desk, plan *chain.Plan) *watched {
	ctx, stop := context.WithCancel(ctx)
	w := &watched{stop: stop, done: make(chan struct{})}
	n := plan.Needs()
	writes := len(n.Write) > 0 || !n.Declared && !published(plan)
	if s.ProjectDir == "" || plan.Primitive() == chain.HTTP || !writes {
		close(w.done)
		return w
	}
	go func() {
		defer close(w.done)
		var project string
		if project, w.err = filepath.EvalSymlinks(s.ProjectDir); w.err != nil {
			return
		}
		o := ward.Options{Project: project}
		if s.CacheDir != "" && s.Place.Key != "" {
			w.base = filepath.Join(s.CacheDir, "ward", s.Place.Key)
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
		w.ward, w.err = ward.Look(ctx, o)
	}()
	return w
}

// end ends a look that is still under way: after the answer, nothing of a refused or rehearsed
// run continues.
func (w *watched) end() {
	w.stop()
	<-w.done
}

// protect adds the paths that have to be read-only during the run.
func (w *watched) protect(j *job, b *primitive.Sandbox) error {
	<-w.done
	if w.err != nil {
		return fault.Wrap(w.err, "execute %s", j.plan.Tool().Ref)
	}
	if w.ward == nil || j.open {
		return nil
	}
	b.Protect = slices.Clone(b.Protect)
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

// begin reports files that killed runs may have left, and notes the files before this one. The
// returned function is called after the final look.
func (w *watched) begin(s *custody.Desk) (done func()) {
	if w.ward == nil {
		return func() {}
	}
	for _, p := range orphaned(w.base, w.ward) {
		s.Tell("after a killed run, there is a new file " + inProject(s, p) + ", which other programs run by themselves: review it, if it is not yours")
	}
	return note(w.base, w.ward)
}

// patience bounds the look after a run. An ended context does not shorten it, because files
// that were not checked would stay.
const patience = 30 * time.Second

// after moves away files of the run that other programs would run by themselves, and names them.
// It reports parts that it could not check beside the limits that were not enforced.
func (w *watched) after(ctx context.Context, s *custody.Desk, j *job, res primitive.Result) (taken []rye.TakenInfo, unbound []string) {
	if w.ward == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	all, err := w.ward.After(ctx, w.unheld(j, res), takenTo(s))
	for _, t := range all {
		taken = append(taken, rye.TakenInfo{Path: t.Path, Kind: t.Kind, How: t.How, Where: t.Where, Need: t.Need})
	}
	unbound = w.ward.Unbound()
	if err != nil {
		unbound = append(unbound, "files that other programs run by themselves: "+err.Error())
	}
	return taken, unbound
}

// remember records the files that nothing will hold during the run, directly before it.
func (w *watched) remember(ctx context.Context, j *job, tier primitive.Tier) {
	if w.ward != nil && !held(j, tier) {
		w.ward.Remember(ctx, w.free())
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

// free are the paths to compare where nothing is enforced. The project's own git directory is
// never among them: the user's git works in it all the time.
func (w *watched) free() (all []string) {
	for _, m := range w.ward.Protected() {
		if filepath.Base(m.Path) != ".git" {
			all = append(all, m.Path)
		}
	}
	return all
}

// takenTo is the directory for files moved away from one run: beside the project's record, or,
// without one, in the state directory.
func takenTo(s *custody.Desk) string {
	base := s.Place.Dir
	if base == "" {
		base = s.StateDir
	}
	return filepath.Join(base, "taken", s.Now().UTC().Format("20060102T150405.000000000Z"))
}
