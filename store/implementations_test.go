package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gogitobject "github.com/go-git/go-git/v5/plumbing/object"
)

type implementation struct {
	name string
	open func(t *testing.T, dir string) repository
}

// implementations lists those that are here: git may not be installed.
func implementations(t *testing.T) []implementation {
	all := []implementation{
		{"rye", func(t *testing.T, dir string) repository {
			r, err := Open(dir)
			must(t, err)
			t.Cleanup(func() { r.Close() })
			return ours{r, t}
		}},
		{"go-git", func(t *testing.T, dir string) repository {
			r, err := gogit.PlainOpen(dir)
			must(t, err)
			return theirs{r, dir}
		}},
	}
	if gitBin != "" {
		all = append(all, implementation{"git", func(t *testing.T, dir string) repository { return plain{dir} }})
	}
	return all
}

// ours is this package.
type ours struct {
	*Repo
	t *testing.T
}

// asNone turns what "not there" is called into errNone.
func asNone(err error, none bool) error {
	if none {
		return errNone
	}
	return err
}

func (r ours) objects(ids []OID, got func(OID, Type, []byte, error)) error {
	for _, id := range ids {
		typ, data, err := r.Object(id, 0)
		got(id, typ, data, asNone(err, err != nil && isMissing(err)))
	}
	return nil
}

func (r ours) ref(name string) (OID, error) {
	id, err := r.Ref(name)
	return id, asNone(err, err != nil && isMissing(err))
}

func (r ours) refs() (map[string]OID, error) {
	list, err := r.Refs("refs/")
	all := map[string]OID{}
	for _, ref := range list {
		all[ref.Name] = ref.ID
	}
	return all, err
}

func (r ours) write(t Type, data []byte) (OID, error) { return r.Put(r.t.Context(), t, data) }

func (r ours) swap(name string, old, new OID) error {
	err := r.Swap(r.t.Context(), name, old, new, "")
	var moved *ConflictError
	if errors.As(err, &moved) {
		return errMoved
	}
	return err
}

func (r ours) history(path string) (list []OID, err error) {
	head, err := r.Head()
	if err != nil {
		return nil, err
	}
	tip, err := r.Ref(head)
	if err != nil {
		return nil, err
	}
	err = r.History(r.t.Context(), tip, path, func(c *Commit, _ Entry) error { list = append(list, c.ID); return nil })
	return list, err
}

func (r ours) fsck() error { return whole(r.Repo, nil) }

// theirs is go-git. It has no fsck and does not compare ids; those are a few lines
// over what it reads.
type theirs struct {
	*gogit.Repository
	dir string
}

func hashOf(id OID) plumbing.Hash { return plumbing.NewHash(id.String()) }

func oidOfHash(h plumbing.Hash) OID { return oidOf(h[:]) }

func (r theirs) objects(ids []OID, got func(OID, Type, []byte, error)) error {
	for _, id := range ids {
		t, data, err := r.object(id)
		got(id, t, data, err)
	}
	return nil
}

func (r theirs) object(id OID) (Type, []byte, error) {
	o, err := r.Storer.EncodedObject(plumbing.AnyObject, hashOf(id))
	if err != nil {
		return 0, nil, asNone(err, errors.Is(err, plumbing.ErrObjectNotFound))
	}
	in, err := o.Reader()
	if err != nil {
		return 0, nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return 0, nil, err
	}
	if got := plumbing.ComputeHash(o.Type(), data); got != hashOf(id) {
		return 0, nil, fmt.Errorf("%s holds %s", id, got)
	}
	t, err := ParseType(o.Type().String())
	return t, data, err
}

func (r theirs) ref(name string) (OID, error) {
	ref, err := r.Reference(plumbing.ReferenceName(name), true)
	if err != nil {
		return OID{}, asNone(err, errors.Is(err, plumbing.ErrReferenceNotFound))
	}
	return oidOfHash(ref.Hash()), nil
}

func (r theirs) refs() (map[string]OID, error) {
	list, err := r.References()
	if err != nil {
		return nil, err
	}
	all := map[string]OID{}
	return all, list.ForEach(func(ref *plumbing.Reference) (err error) {
		if name := ref.Name().String(); strings.HasPrefix(name, "refs/") {
			all[name], err = r.ref(name)
		}
		return err
	})
}

func (r theirs) write(t Type, data []byte) (OID, error) {
	o := r.Storer.NewEncodedObject()
	kind, err := plumbing.ParseObjectType(t.String())
	if err != nil {
		return OID{}, err
	}
	o.SetType(kind)
	w, err := o.Writer()
	if err != nil {
		return OID{}, err
	}
	if _, err := w.Write(data); err != nil {
		return OID{}, err
	}
	if err := w.Close(); err != nil {
		return OID{}, err
	}
	h, err := r.Storer.SetEncodedObject(o)
	return oidOfHash(h), err
}

// swap compares first what go-git does not: a ref that must not exist, or is to go.
// Between several processes that would lose updates; here there is one.
func (r theirs) swap(name string, old, new OID) error {
	at, err := r.ref(name)
	if err != nil && !errors.Is(err, errNone) {
		return err
	}
	if at != old {
		return errMoved
	}
	n := plumbing.ReferenceName(name)
	switch {
	case new.IsZero():
		err := r.Storer.RemoveReference(n)
		os.Remove(filepath.Dir(filepath.Join(r.dir, name))) // go-git leaves it, and can then make no ref of its name
		return err
	case old.IsZero():
		return r.Storer.SetReference(plumbing.NewHashReference(n, hashOf(new)))
	}
	return r.Storer.CheckAndSetReference(plumbing.NewHashReference(n, hashOf(new)), plumbing.NewHashReference(n, hashOf(old)))
}

func (r theirs) history(path string) (list []OID, err error) {
	head, err := r.Head()
	if err != nil {
		return nil, err
	}
	entry := func(c *gogitobject.Commit) (at plumbing.Hash, mode filemode.FileMode, err error) {
		tree, err := c.Tree()
		if err != nil {
			return at, mode, err
		}
		e, err := tree.FindEntry(path)
		if err != nil {
			return at, mode, nil // not there
		}
		return e.Hash, e.Mode, nil
	}
	c, err := r.CommitObject(head.Hash())
	for err == nil {
		var parent *gogitobject.Commit
		at, mode, err := entry(c)
		if err != nil {
			return nil, err
		}
		var was plumbing.Hash
		var wasMode filemode.FileMode
		if len(c.ParentHashes) > 0 {
			if parent, err = c.Parent(0); err == nil {
				was, wasMode, err = entry(parent)
			}
			if err != nil {
				return nil, err
			}
		}
		if at != was || mode != wasMode {
			list = append(list, oidOfHash(c.Hash))
		}
		if parent == nil {
			return list, nil
		}
		c = parent
	}
	return nil, err
}

func (r theirs) fsck() error {
	all, err := r.refs()
	if err != nil {
		return err
	}
	seen := map[OID]bool{}
	var todo []OID
	for _, id := range all {
		todo = append(todo, id)
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		typ, data, err := r.object(id)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		links, err := linksOf(SHA1, typ, data)
		if err != nil {
			return err
		}
		todo = append(todo, links...)
	}
	return nil
}

// plain is the git program.
type plain struct{ dir string }

func (g plain) objects(ids []OID, got func(id OID, t Type, data []byte, err error)) error {
	var in strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&in, id)
	}
	out, err := tryGit(g.dir, []byte(in.String()), "cat-file", "--batch")
	if err != nil {
		return errors.New(out)
	}
	for _, id := range ids {
		head, rest, _ := strings.Cut(out, "\n")
		var hex, kind string
		var size int
		if fmt.Sscan(head, &hex, &kind, &size); kind == "missing" {
			got(id, 0, nil, errNone)
			out = rest
			continue
		}
		if hex != id.String() || len(rest) < size+1 {
			return fmt.Errorf("git cat-file: %q and %d bytes", head, len(rest))
		}
		t, err := ParseType(kind)
		got(id, t, []byte(rest[:size]), err)
		out = rest[size+1:]
	}
	return nil
}

func (g plain) ref(name string) (OID, error) {
	out, err := tryGit(g.dir, nil, "rev-parse", "--verify", "--quiet", name)
	if err != nil {
		return OID{}, asNone(errors.New(out), out == "")
	}
	return ParseOID(strings.TrimSpace(out))
}

func (g plain) refs() (map[string]OID, error) {
	all := map[string]OID{}
	out, err := tryGit(g.dir, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, errors.New(out)
	}
	for line := range strings.Lines(out) {
		hex, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if all[name], err = ParseOID(hex); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (g plain) write(t Type, data []byte) (OID, error) {
	out, err := tryGit(g.dir, data, "hash-object", "-w", "--stdin", "-t", t.String())
	if err != nil {
		return OID{}, errors.New(out)
	}
	return ParseOID(strings.TrimSpace(out))
}

func (g plain) swap(name string, old, new OID) error {
	args := []string{"update-ref", name, new.String(), SHA1.hex(old)}
	if new.IsZero() {
		args = []string{"update-ref", "-d", name, old.String()}
	}
	out, err := tryGit(g.dir, nil, args...)
	for _, says := range []string{"but expected", "already exists", "unable to resolve reference"} {
		if err != nil && strings.Contains(out, says) {
			return errMoved
		}
	}
	if err != nil {
		return errors.New(out)
	}
	return nil
}

func (g plain) history(path string) (list []OID, err error) {
	out, err := tryGit(g.dir, nil, "log", "--first-parent", "--format=%H", "HEAD", "--", path)
	if err != nil {
		return nil, errors.New(out)
	}
	for _, hex := range strings.Fields(out) {
		id, err := ParseOID(hex)
		if err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, nil
}

func (g plain) fsck() error {
	out, err := tryGit(g.dir, nil, "fsck", "--full", "--no-dangling", "--no-progress")
	if err != nil {
		return errors.New(out)
	}
	return nil
}
