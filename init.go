package rye

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/rye-os/rye/internal/fault"
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
		return nil, fault.New(fault.Usage, "%s holds your user space, which is not a project", dir).Mend("rye init <another directory>")
	}
	if q.Namespace == "" {
		q.Namespace = "local"
	}
	if err := checkNamespace(q.Namespace); err != nil {
		return nil, err
	}
	if trust.Reserved(q.Namespace) {
		return nil, fault.New(fault.Usage, "namespace %q is reserved", q.Namespace).Mend("rye init --namespace <yours>")
	}
	rep := &InitReport{Dir: dir}
	if err := r.ensureKey(ctx, rep); err != nil {
		return nil, err
	}
	fresh, err := r.layProject(dir, q, rep)
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
func (r *Rye) layProject(dir string, q InitRequest, rep *InitReport) (fresh bool, err error) {
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
	l := &space.Layer{Space: objects.Project, Dir: ai}
	if _, err := os.Stat(filepath.Join(ai, filepath.FromSlash(space.StoreDir))); errors.Is(err, fs.ErrNotExist) {
		rep.Created = append(rep.Created, ".ai/"+space.StoreDir)
	}
	if err := l.Create(); err != nil {
		return false, err
	}
	defer l.Close()
	if !fresh {
		return false, nil
	}
	rep.Created = append(rep.Created, ".ai/"+ProjectFile)
	return true, c.write(dir)
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
