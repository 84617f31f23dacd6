package rye

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store/space"
)

// What an .ai directory tells the user's own git: machine state stays out, and no
// line ending is rewritten under a signature.
const (
	gitignore     = "/.rye/\n/threads/\n"
	gitattributes = "* -text\n/allowed_signers merge=union\n/rye.lock merge=rye-lock\n"
)

// Init makes a project in q.Dir, or completes one: files that are there are kept.
// It makes a signing key when this user has none, and believes that key in the
// new project. Items that are already there are reported, never signed unseen.
func (r *Rye) Init(ctx context.Context, q InitRequest) (*InitReport, error) {
	dir, err := filepath.Abs(q.Dir)
	if err != nil {
		return nil, err
	}
	if r.o.User != "" && sameFile(dir, r.o.User) {
		return nil, fault.New(fault.Usage, "%s holds your user space, which is not a project", dir).Advise("rye init <another directory>")
	}
	if q.Namespace == "" {
		q.Namespace = "local"
	}
	if err := checkNamespace(q.Namespace); err != nil {
		return nil, err
	}
	if trust.Reserved(q.Namespace) {
		return nil, fault.New(fault.Usage, "namespace %q is reserved", q.Namespace).Advise("rye init --namespace <yours>")
	}
	rep := &InitReport{Dir: dir}
	if err := r.ensureKey(ctx, rep); err != nil {
		return nil, err
	}
	fresh, err := r.layProject(ctx, dir, q, rep)
	if err != nil {
		return nil, err
	}
	p := *r
	p.o.Project = dir
	if err := p.firstCommit(ctx, rep.Project); err != nil {
		return nil, err
	}
	if fresh {
		err = trust.Update(r.trustPath(), func(st *trust.Store) error { return st.AcceptProject(rep.Project) })
	} else {
		err = p.acceptBaseline(ctx, rep)
	}
	if err != nil {
		return nil, err
	}
	rep.Legacy, err = p.legacyItems(ctx)
	return rep, err
}

func sameFile(a, b string) bool {
	sa, err1 := os.Stat(a)
	sb, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(sa, sb)
}

func (r *Rye) ensureKey(ctx context.Context, rep *InitReport) error {
	if held(r.o.Key) {
		k, err := r.signerFor(ctx)
		if err != nil {
			return err
		}
		rep.Key = k.Public().String()
		return r.claim(k, heldName(r.o.Key))
	}
	pub, err := trust.ReadPublic(r.keyPath(r.o.Key))
	if fault.Is(err, fault.NotFound) {
		k, err := r.NewKey(ctx, r.o.Key, "", nil)
		if err != nil {
			return err
		}
		rep.Key, rep.NewKey = k.Fingerprint, true
		return nil
	}
	if err != nil {
		return err
	}
	rep.Key = pub.Fingerprint().String()
	return nil
}

// layProject writes what is missing of a project, rye.yaml last: a project that
// names itself is complete.
func (r *Rye) layProject(ctx context.Context, dir string, q InitRequest, rep *InitReport) (fresh bool, err error) {
	ai := filepath.Join(dir, ".ai")
	c, err := readProject(dir)
	if fault.Is(err, fault.NotFound) {
		c, fresh, err = &projectConfig{Format: 1, Project: newGenesis(), Namespace: q.Namespace}, true, nil
	}
	if err != nil {
		return false, err
	}
	rep.Project, rep.Namespace = c.Project, c.Namespace
	for _, f := range []struct{ name, text string }{{".gitignore", gitignore}, {".gitattributes", gitattributes}} {
		p := filepath.Join(ai, f.name)
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			if err := place.File(p, []byte(f.text), 0o644); err != nil {
				return false, err
			}
			rep.Created = append(rep.Created, ".ai/"+f.name)
		}
	}
	if added, err := completeAttributes(filepath.Join(ai, ".gitattributes")); err != nil {
		return false, err
	} else if added {
		rep.Completed = append(rep.Completed, ".ai/.gitattributes")
	}
	l := &space.Layer{Space: objects.Project, Dir: ai}
	if _, err := os.Stat(filepath.Join(ai, filepath.FromSlash(space.StoreDir))); errors.Is(err, fs.ErrNotExist) {
		rep.Created = append(rep.Created, ".ai/"+space.StoreDir)
	}
	if err := l.Create(); err != nil {
		return false, err
	}
	defer l.Close()
	if !fresh {
		return false, renewStore(ctx, l, rep)
	}
	rep.Created = append(rep.Created, ".ai/"+ProjectFile)
	return true, c.write(dir)
}

// completeAttributes adds to a project of an earlier rye the lines of .gitattributes
// that it lacks. What the file says of a path already, in whatever words, stands.
func completeAttributes(path string) (added bool, err error) {
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		return false, nil // just made, or somebody's own way
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	said := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 0 {
			said[f[0]] = true
		}
	}
	for line := range strings.Lines(gitattributes) {
		if said[strings.Fields(line)[0]] {
			continue
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		b, added = append(b, line...), true
	}
	if !added {
		return false, nil
	}
	return true, place.File(path, b, 0o644)
}

// renewStore gives the store of an earlier rye the settings of this one.
func renewStore(ctx context.Context, l *space.Layer, rep *InitReport) error {
	repo, err := l.Repo()
	if err != nil || repo == nil {
		return err
	}
	changed, err := repo.Renew(ctx)
	if changed {
		rep.Completed = append(rep.Completed, ".ai/"+space.StoreDir+"/config")
	}
	return err
}

// firstCommit gives the project's space a commit, so that the ref exists and plain
// git log and git clone work from the start.
func (r *Rye) firstCommit(ctx context.Context, project string) error {
	l := &space.Layer{Space: objects.Project, Dir: r.aiDir()}
	defer l.Close()
	if tip, err := l.Tip(); err != nil || !tip.IsZero() {
		return err
	}
	o, err := r.commitOptions("begin project " + project + "\n")
	if err != nil {
		return err
	}
	o.AllowEmpty = true
	_, err = l.Record(ctx, nil, o)
	return err
}

// acceptBaseline handles a project that came from elsewhere: its signers are
// shown, and only a yes makes their items count here.
func (r *Rye) acceptBaseline(ctx context.Context, rep *InitReport) error {
	st, err := trust.LoadStore(r.trustPath())
	if err != nil {
		return err
	}
	if st.Accepted(rep.Project) {
		return nil
	}
	a, err := r.Adopt(ctx, AdoptRequest{All: true})
	if err != nil {
		return err
	}
	rep.Adopted = len(a.Adopted)
	return nil
}

func (r *Rye) legacyItems(ctx context.Context) ([]string, error) {
	s, err := r.openProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := s.stack.Scan(ctx, s.stack.Project)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range found {
		if f.State == space.Legacy {
			all = append(all, f.Ref.String())
		}
	}
	sort.Strings(all)
	return all, nil
}
