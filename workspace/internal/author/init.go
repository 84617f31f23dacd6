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
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// The texts of an .ai directory for the user's own git: machine state stays out, and no line
// ending is rewritten under a signature.
const (
	gitignore  = "/threads/\n.rye-tmp-*\n"
	maxGitFile = 1 << 20 // bytes of a file to complete

	// unionOfSigners is a line that earlier versions of rye wrote, before removals were lines
	// of that file.
	unionOfSigners = "/allowed_signers merge=union"
	gitattributes  = "* -text\n" + signersLine + "/denied merge=union\n/denied-keys merge=union\n"
)

// Init makes a project in q.Dir, or completes one: existing files are kept. It makes a
// signing key when this user has none. It trusts that key in a project that it made itself;
// in an existing project it grants nothing. It reports existing items of RYE OS, and never
// signs them unseen.
func Init(ctx context.Context, h *session.Host, keys *custody.Keys, q rye.InitRequest) (*rye.InitReport, error) {
	dir, err := filepath.Abs(q.Dir)
	if err != nil {
		return nil, err
	}
	if h.UserDir != "" && session.SameFile(dir, h.UserDir) {
		return nil, fault.New(fault.Usage, "%s holds your user space, which is not a project", dir).Advise("rye init <another directory>")
	}
	asked := q.Namespace
	q.Namespace = cmp.Or(q.Namespace, defaultNamespace)
	if err := session.CheckNamespace(q.Namespace); err != nil {
		return nil, err
	}
	if trust.Reserved(q.Namespace) {
		return nil, fault.New(fault.Usage, "namespace %q is reserved", q.Namespace).Advise("rye init --namespace <yours>")
	}
	if _, inside := session.Below(dir, h.ConfigDir); inside {
		return nil, fault.New(fault.Auth, "init %s: your configuration, %s, is inside it, so a change of the project could change your trust", dir, h.ConfigDir).
			Advise("create the project in another directory")
	}
	if err := session.CheckConfig(h.At(dir)); err != nil {
		return nil, err
	}
	if c, err := session.ReadProject(dir); err == nil && asked != "" && c.Namespace != asked {
		return nil, fault.New(fault.Conflict, "init %s: the namespace of this project is already %s", dir, c.Namespace).Mend("rye config namespace %s", asked)
	}
	rep := &rye.InitReport{Dir: dir}
	if err := ensureKey(ctx, keys, rep); err != nil {
		return nil, err
	}
	if err := askAboutFormer(ctx, h, dir, q); err != nil {
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
	return rep, finish(ctx, h, fresh, rep)
}

// finish trusts the user's own keys in a project that Init itself made. If signed items lay
// there before, their owners are a question, as in an existing project.
func finish(ctx context.Context, h *session.Host, fresh bool, rep *rye.InitReport) error {
	found, err := itemsOf(ctx, h)
	if err != nil {
		return err
	}
	signed := false
	for _, f := range found {
		signed = signed || f.Manifest || f.Item != nil && f.Item.Signature != nil
		if f.State == objects.Legacy {
			rep.Legacy = append(rep.Legacy, f.Ref.String())
		}
	}
	slices.Sort(rep.Legacy)
	if fresh && !signed {
		return acceptOwn(h, rep.Project)
	}
	st, err := trust.LoadStore(h.TrustPath())
	if err != nil {
		return err
	}
	at, err := h.Records.At(nil, h.ProjectDir, rep.Project)
	if err != nil || st.Accepted(trust.Site{Place: at.Key, Project: rep.Project}) {
		return err
	}
	if ok, err := acceptedInMain(h, st); ok || err != nil {
		return cmp.Or(err, acceptOwn(h, rep.Project))
	}
	rep.Next = fault.CommandOf("rye", "-C", h.ProjectDir, "trust")
	return nil
}

// acceptedInMain reports whether h's project lies in a linked worktree and the user's own keys are
// trusted in its main working tree. Init then trusts them in the worktree, and nobody else's.
func acceptedInMain(h *session.Host, st *trust.Store) (bool, error) {
	s, err := h.OpenProject()
	if err != nil {
		return false, err
	}
	defer s.Close()
	main, ok := session.MainTree(s)
	return ok && st.Accepted(trust.Site{Place: main.Key, Project: s.Project.Project}), nil
}

// ensureKey makes a signing key when this user has none.
func ensureKey(ctx context.Context, keys *custody.Keys, rep *rye.InitReport) error {
	if custody.Held(keys.Key) {
		k, err := keys.Signer(ctx)
		if err != nil {
			return err
		}
		rep.Key = k.Public().String()
		return keys.Claim(k, custody.HeldName(keys.Key))
	}
	pub, err := trust.ReadPublic(keys.Path(keys.Key))
	switch {
	case err == nil:
		rep.Key = pub.Fingerprint().String()
	case fault.Is(err, fault.NotFound):
		var k *rye.KeyInfo
		if k, err = keys.Generate(rye.KeyNewRequest{Name: keys.Key}); err == nil {
			rep.Key, rep.NewKey = k.Fingerprint, true
		}
	}
	return err
}

// writeProject writes the missing files of a project, rye.yaml last: a project with that file
// is complete.
func writeProject(ctx context.Context, dir string, q rye.InitRequest, rep *rye.InitReport) (fresh bool, err error) {
	c, err := session.ReadProject(dir)
	if fault.Is(err, fault.NotFound) {
		c, fresh, err = session.NewProject(q.Namespace, q.Project), true, nil
	}
	if err != nil {
		return false, err
	}
	rep.Project, rep.Namespace = c.Project, c.Namespace
	if err := session.MakeAI(dir); err != nil {
		return false, err
	}
	if err := writeGitFiles(filepath.Join(dir, ".ai"), rep); err != nil {
		return false, err
	}
	if !fresh {
		return false, nil
	}
	rep.Created = append(rep.Created, ".ai/"+session.ProjectFile)
	return true, c.Write(dir)
}

// writeGitFiles writes the missing files, or missing lines, for the user's own git.
func writeGitFiles(ai string, rep *rye.InitReport) error {
	root, err := place.Tree(ai)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range []struct{ name, text string }{{".gitignore", gitignore}, {".gitattributes", gitattributes}} {
		if _, err := root.Lstat(f.name); errors.Is(err, fs.ErrNotExist) {
			if err := place.FileIn(root, f.name, []byte(f.text), 0o644); err != nil {
				return err
			}
			rep.Created = append(rep.Created, ".ai/"+f.name)
			continue
		}
		added, err := complete(root, f.name, f.text)
		if err != nil {
			return err
		}
		if added {
			rep.Completed = append(rep.Completed, ".ai/"+f.name)
		}
	}
	return nil
}

// complete adds the lines that an existing file for git lacks. A line of the file about the
// same path stays.
func complete(root *os.Root, name, lines string) (added bool, err error) {
	b, err := place.ReadIn(root, name, maxGitFile)
	if fault.Is(err, fault.Malformed) {
		return false, nil // a link that the user made
	}
	if err != nil {
		return false, err
	}
	if slices.Contains(strings.Split(string(b), "\n"), unionOfSigners) { // from an earlier rye: a merge brought removed signers back
		b, added = []byte(withSignersUnmerged(string(b))), true
	}
	said := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 0 {
			said[strings.TrimPrefix(f[0], "!")] = true
		}
	}
	for line := range strings.Lines(lines) {
		if said[strings.Fields(line)[0]] {
			continue
		}
		if len(b) > 0 && b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		b, added = append(b, line...), true
	}
	if added {
		err = place.FileIn(root, name, b, 0o644)
	}
	return added && err == nil, err
}

// firstCommit gives the project's space a commit, so that the ref exists and plain git log
// and git clone work from the start.
func firstCommit(ctx context.Context, h *session.Host, keys *custody.Keys, rep *rye.InitReport) error {
	l, place, err := h.Layer(nil, objects.Project, h.ProjectDir, rep.Project)
	if err != nil {
		return err
	}
	if place.Dir == "" {
		h.Tell("the change is not recorded: " + h.Records.Err().Error())
		return nil
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

// acceptOwn trusts the user's own keys in the new project.
func acceptOwn(h *session.Host, project string) error {
	at, err := h.Records.At(nil, h.ProjectDir, project)
	if err != nil {
		return err
	}
	own := trust.Site{Place: at.Key, Project: project}.OwnKeys()
	return trust.Update(h.TrustPath(), func(st *trust.Store) error { return st.Grant(h.Now(), own) })
}

// itemsOf returns the items in the project.
func itemsOf(ctx context.Context, h *session.Host) ([]space.Finding, error) {
	s, err := h.OpenProject()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Stack.Scan(ctx, s.Stack.Project, nil)
}
