package head

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// Committed is what the repository of a directory has at HEAD, for questions about many files.
// It is not safe for concurrent use.
type Committed struct {
	Pending string // what git has begun and not finished: "a merge"; "" for nothing

	repo    *repo
	tree    *Tree // nil for a repository without any commit
	folders map[store.OID]*names
}

// names are the entries of one folder.
type names struct {
	entries map[string]store.Entry
	folded  map[string]int // how many entries fold to a name; nil until alike is asked
	short   bool           // one could be the short form of another name on Windows: HELLO~1.SH
}

// alike returns how many entries fold to the same name as this one, and whether a name could be the
// short form of another.
func (in *names) alike(name string) (same int, short bool) {
	if in.folded == nil { // costs more than reading the folder
		in.folded = make(map[string]int, len(in.entries))
		for n := range in.entries {
			_, digit, _ := strings.Cut(n, "~")
			in.short = in.short || digit != "" && digit[0] >= '0' && digit[0] <= '9'
			in.folded[fold(n)]++
		}
	}
	return in.folded[fold(name)], in.short
}

// errUnborn marks a HEAD that names a branch without a commit.
var errUnborn = errors.New("no commit yet")

// OpenCommitted is Open for questions about many files, without a bound on their time. It is nil
// where dir lies in no repository. A repository without any commit has no files.
func OpenCommitted(dir, home string) (*Committed, error) {
	c := &Committed{folders: map[store.OID]*names{}}
	r, err := locate(dir, home)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.Pending, c.repo = r.pending().what, r
	c.tree, err = Open(dir, home, time.Time{})
	if errors.Is(err, errUnborn) {
		tips, unread := r.branches()
		if unread == nil && len(tips) == 0 {
			return c, nil
		}
	}
	return c, err
}

// Close closes the objects directories. It accepts nil.
func (c *Committed) Close() {
	if c != nil && c.tree != nil {
		c.tree.Close()
	}
}

// File returns the bytes, at most size, of the file that HEAD has at a slash path below the
// directory; false where HEAD has nothing there. On a disk that ignores case, two names of HEAD
// can be one file, so a path with such names is unknown.
func (c *Committed) File(p string, size int64) (raw []byte, ok bool, err error) {
	t := c.tree
	if t == nil {
		return nil, false, nil
	}
	parts := strings.Split(strings.Trim(t.prefix+"/"+p, "/"), "/")
	if len(parts) > maxDepth {
		return nil, false, unknown("%q has more than %d components", words.Brief(p), maxDepth)
	}
	e := store.Entry{Mode: store.ModeDir, ID: t.root}
	for _, name := range parts {
		if !e.IsDir() {
			return nil, false, unknown("%q has another kind of file above it", words.Brief(p))
		}
		in, err := c.folder(e.ID)
		if err != nil {
			return nil, false, unknown("%q cannot be looked up: %v", words.Brief(p), err)
		}
		same, short := in.alike(name)
		if e, ok = in.entries[name]; !ok && same == 0 && !short {
			return nil, false, nil
		}
		if !ok || same > 1 || short {
			return nil, false, unknown("%q has two spellings there", words.Brief(p))
		}
	}
	if e.Mode&0o170000 != 0o100000 {
		return nil, false, unknown("%q is no file there", words.Brief(p))
	}
	typ, raw, err := t.objects.Object(e.ID, size)
	if err != nil || typ != store.TypeBlob {
		return nil, false, unknown("%q cannot be read: %v", words.Brief(p), err)
	}
	return raw, true, nil
}

// A Staged file is one that the next commit changes.
type Staged struct {
	Path string // below the directory, with slashes
	id   store.OID
	hash func(store.Type, []byte) store.OID
}

// Is reports whether these bytes are staged.
func (s Staged) Is(raw []byte) bool { return s.hash(store.TypeBlob, raw) == s.id }

// Staged returns the files below the directory whose entries in the index differ from HEAD.
func (c *Committed) Staged() (all []Staged, err error) {
	raw, err := c.repo.index()
	if err != nil {
		return nil, err
	}
	if id, ok := cachedTree(raw, int(c.repo.format)); ok && c.tree != nil && id == c.tree.root {
		return nil, nil
	}
	err = entries(raw, int(c.repo.format), c.repo.prefix, func(p string, stage int, s Stage) error {
		if stage != 0 || s.Mode&0o170000 != 0o100000 {
			return nil
		}
		if same, err := c.has(p, s.ID); err != nil || same {
			return err
		}
		if len(all) == maxUnmerged {
			return fault.New(fault.Limit, "more than %d staged files", maxUnmerged)
		}
		all = append(all, Staged{p, s.ID, c.repo.format.Hash})
		return nil
	})
	return all, err
}

// has reports whether HEAD has an object at exactly a path below the directory.
func (c *Committed) has(p string, id store.OID) (bool, error) {
	if c.tree == nil {
		return false, nil
	}
	e := store.Entry{Mode: store.ModeDir, ID: c.tree.root}
	for name := range strings.SplitSeq(strings.Trim(c.repo.prefix+"/"+p, "/"), "/") {
		if !e.IsDir() {
			return false, nil
		}
		in, err := c.folder(e.ID)
		if err != nil {
			return false, err
		}
		e = in.entries[name]
	}
	return e.ID == id, nil
}

func (c *Committed) folder(id store.OID) (*names, error) {
	if in := c.folders[id]; in != nil {
		return in, nil
	}
	all, err := c.tree.objects.Tree(id)
	if err != nil {
		return nil, err
	}
	in := &names{entries: make(map[string]store.Entry, len(all))}
	for _, e := range all {
		in.entries[e.Name] = e
	}
	c.folders[id] = in
	return in, nil
}

// fold returns the same text for names that Windows or macOS could take for one another: they
// ignore case, characters that show nothing, and dots and blanks at the end.
func fold(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(next) { // the least of a cycle
			if next <= r {
				return next
			}
		}
	}, name)
	return strings.TrimRight(plain, ". ")
}

// An operation is what git has begun and not finished.
type operation struct{ file, what, next string }

// operations are told from files in the git directory of one worktree. git keeps MERGE_MSG for a
// commit to come, also where it records nothing else: git cherry-pick --no-commit, and git merge
// --squash.
var operations = []operation{
	{"rebase-merge", "a rebase", "git rebase --continue"}, {"rebase-apply", "a rebase", "git rebase --continue"},
	{"CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue"}, {"REVERT_HEAD", "a revert", "git revert --continue"},
	{"MERGE_HEAD", "a merge", "git commit"},
	{"sequencer", "a cherry-pick or a revert", ""}, {"SQUASH_MSG", "a merge", ""}, {"MERGE_MSG", "a merge", ""},
}

// pending returns the operation that git has begun; the zero value for none.
func (r *repo) pending() operation {
	for _, op := range operations {
		if _, err := os.Lstat(filepath.Join(r.dir, op.file)); !errors.Is(err, fs.ErrNotExist) {
			return op
		}
	}
	return operation{}
}
