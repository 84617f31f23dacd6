package author

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// What an .ai directory tells the user's own git: machine state stays out, and no line
// ending is rewritten under a signature.
const (
	gitignore     = "/threads/\n.rye-tmp-*\n"
	gitattributes = "* -text\n/allowed_signers merge=union\n/denied merge=union\n/rye.lock merge=rye-lock\n"
)

// Init makes a project in q.Dir, or completes one: files that are there are kept. It makes a
// signing key when this user has none, and believes that key in the new project. Items of
// RYE OS that are already there are reported, never signed unseen.
func Init(ctx context.Context, h *session.Host, keys *custody.Keys, q rye.InitRequest) (*rye.InitReport, error) {
	dir, err := filepath.Abs(q.Dir)
	if err != nil {
		return nil, err
	}
	if h.UserDir != "" && session.SameFile(dir, h.UserDir) {
		return nil, fault.New(fault.Usage, "%s holds your user space, which is not a project", dir).Advise("rye init <another directory>")
	}
	q.Namespace = cmp.Or(q.Namespace, "local")
	if err := session.CheckNamespace(q.Namespace); err != nil {
		return nil, err
	}
	if trust.Reserved(q.Namespace) {
		return nil, fault.New(fault.Usage, "namespace %q is reserved", q.Namespace).Advise("rye init --namespace <yours>")
	}
	rep := &rye.InitReport{Dir: dir}
	if err := ensureKey(ctx, keys, rep); err != nil {
		return nil, err
	}
	fresh, err := writeProject(ctx, dir, q, rep)
	if err != nil {
		return nil, err
	}
	h = h.At(dir)
	keys = keys.At(h)
	if err := firstCommit(ctx, h, keys, rep); err != nil {
		return nil, err
	}
	if fresh {
		err = trust.Update(h.TrustPath(), func(st *trust.Store) error { return st.AcceptProject(rep.Project) })
	} else {
		err = acceptBaseline(ctx, h, keys, rep)
	}
	if err != nil {
		return nil, err
	}
	rep.Legacy, err = legacyItems(ctx, h)
	return rep, err
}

// ensureKey makes a signing key when this user has none.
func ensureKey(ctx context.Context, keys *custody.Keys, rep *rye.InitReport) error {
	if custody.Held(keys.Name) {
		k, err := keys.Signer(ctx)
		if err != nil {
			return err
		}
		rep.Key = k.Public().String()
		return keys.Claim(k, custody.HeldName(keys.Name))
	}
	pub, err := trust.ReadPublic(keys.Path(keys.Name))
	switch {
	case err == nil:
		rep.Key = pub.Fingerprint().String()
	case fault.Is(err, fault.NotFound):
		var k *rye.KeyInfo
		if k, err = keys.Generate(rye.KeyNewRequest{Name: keys.Name}); err == nil {
			rep.Key, rep.NewKey = k.Fingerprint, true
		}
	}
	return err
}

// writeProject writes what is missing of a project, rye.yaml last: a project that names
// itself is complete.
func writeProject(ctx context.Context, dir string, q rye.InitRequest, rep *rye.InitReport) (fresh bool, err error) {
	ai := filepath.Join(dir, ".ai")
	c, err := session.ReadProject(dir)
	if fault.Is(err, fault.NotFound) {
		c, fresh, err = session.NewProject(q.Namespace), true, nil
	}
	if err != nil {
		return false, err
	}
	rep.Project, rep.Namespace = c.Project, c.Namespace
	if err := writeGitFiles(ai, rep); err != nil {
		return false, err
	}
	if !fresh {
		return false, nil
	}
	rep.Created = append(rep.Created, ".ai/"+session.ProjectFile)
	return true, c.Write(dir)
}

// writeGitFiles writes what is missing of the files that the user's own git reads.
func writeGitFiles(ai string, rep *rye.InitReport) error {
	for _, f := range []struct{ name, text string }{{".gitignore", gitignore}, {".gitattributes", gitattributes}} {
		p := filepath.Join(ai, f.name)
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			if err := place.File(p, []byte(f.text), 0o644); err != nil {
				return err
			}
			rep.Created = append(rep.Created, ".ai/"+f.name)
		}
	}
	added, err := completeAttributes(filepath.Join(ai, ".gitattributes"))
	if added {
		rep.Completed = append(rep.Completed, ".ai/.gitattributes")
	}
	return err
}

// completeAttributes adds the lines that a .gitattributes from elsewhere lacks. What the file says of a path already stands.
func completeAttributes(path string) (added bool, err error) {
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() {
		return false, nil // none, or a link that the user made
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
	if added {
		err = place.File(path, b, 0o644)
	}
	return added && err == nil, err
}

// firstCommit gives the project's space a commit, so that the ref exists and plain git log
// and git clone work from the start.
func firstCommit(ctx context.Context, h *session.Host, keys *custody.Keys, rep *rye.InitReport) error {
	l, place, err := h.Layer(objects.Project, h.ProjectDir, rep.Project)
	if err != nil || place.Dir == "" {
		return err
	}
	defer l.Close()
	rep.Record = l.Store
	if tip, err := l.Tip(); err != nil || !tip.IsZero() {
		return err
	}
	o, err := keys.CommitOptions(ctx, "begin project "+rep.Project+"\n")
	if err != nil {
		return err
	}
	o.AllowEmpty = true
	_, err = l.Record(ctx, nil, o)
	return err
}

// acceptBaseline adopts a project that came from elsewhere: its signers are shown, and only
// a yes makes their items count here.
func acceptBaseline(ctx context.Context, h *session.Host, keys *custody.Keys, rep *rye.InitReport) error {
	s, err := h.OpenProject()
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Trust.Accepted(rep.Project) {
		return nil
	}
	a, err := Adopt(ctx, &Desk{s, keys}, rye.AdoptRequest{All: true})
	if err != nil {
		return err
	}
	rep.Adopted = len(a.Adopted)
	return nil
}

// legacyItems returns the refs of the items that RYE OS signed, sorted.
func legacyItems(ctx context.Context, h *session.Host) ([]string, error) {
	s, err := h.OpenProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := s.Stack.Scan(ctx, s.Stack.Project)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range found {
		if f.State == objects.Legacy {
			all = append(all, f.Ref.String())
		}
	}
	slices.Sort(all)
	return all, nil
}
