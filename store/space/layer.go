package space

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// MaxItem bounds the size of an item's file, in bytes.
const MaxItem = 8 << 20

// HeadRefs begins the names of the refs that record layers.
const HeadRefs = "refs/heads/spaces/"

// OldRecord is the former place of a record below an .ai directory, from before the first
// release. rye reads and writes nothing there: a clone may have brought it.
const OldRecord = ".rye"

// Layer is one space on disk: its working tree and its store. It is safe for concurrent use.
type Layer struct {
	Space objects.Space
	Dir   string       // the .ai directory; "" for a record that is only read
	Store string       // path of its store, now or later, outside of Dir; "" for a layer that never has one
	Ready func() error // called before the store is created or written; may be nil

	open   sync.Once
	making sync.Mutex // held while Create opens new files
	root   *os.Root
	at     *beneath // root; nil as long as root is nil
	repo   *store.Repo
	err    error
	ahead  atomic.Pointer[listing]      // started and not yet used
	last   atomic.Pointer[store.Commit] // last result of tip
}

// Ref returns the name of the git ref that records the layer.
func (l *Layer) Ref() string { return HeadRefs + l.Space.String() }

// load opens the working tree and the store, if it exists. A missing directory is an empty
// layer; a missing store is a layer without a record.
func (l *Layer) load() error {
	l.open.Do(func() {
		if l.Dir == "" {
			l.repo, l.err = l.openStore()
			return
		}
		root, err := l.openTop()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			l.err = fmt.Errorf("open %s space: %w", l.Space, err)
			return
		}
		if l.at, l.err = newBeneath(root); l.err != nil {
			root.Close()
			return
		}
		l.root = root
		l.repo, l.err = l.openStore()
	})
	return l.err
}

// openTop opens the working tree. For a project, which may come from anywhere, it must be no
// link. For the user space, the user may choose any place.
func (l *Layer) openTop() (*os.Root, error) {
	if l.Space == objects.Project {
		return place.Tree(l.Dir)
	}
	return os.OpenRoot(l.Dir)
}

// openStore opens the store; nil if there is none yet. A store is created as a whole, so one
// without HEAD is damaged. If it counted as missing, rye would write to it and not read it,
// and no file would be older any more.
func (l *Layer) openStore() (*store.Repo, error) {
	if l.Store == "" {
		return nil, nil
	}
	dir := l.Store
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	if err != nil {
		inside, derr := os.ReadDir(dir)
		switch {
		case errors.Is(derr, fs.ErrNotExist), derr == nil && len(inside) == 0:
			return nil, nil
		case errors.Is(err, fs.ErrPermission):
			return nil, fault.New(fault.Failed, "open the record of the %s space: %w", l.Space, err).Mend("chmod -R u+rwX %s", dir)
		case errors.Is(err, fs.ErrNotExist):
			return nil, fault.New(fault.Integrity, "the record of the %s space is damaged: no HEAD in %s", l.Space, dir).With(l.mendHead())
		}
		return nil, fault.New(fault.Integrity, "open the record of the %s space: %v", l.Space, err).With(l.anew())
	}
	r, err := store.Open(dir)
	if err != nil { // not wrapped, as in damaged
		err = fault.New(fault.CodeOf(err), "open the record of the %s space: %v", l.Space, err).With(l.anew())
		if fault.CodeOf(err) == fault.NotFound {
			err = fault.New(fault.Integrity, "%v", err).With(l.anew())
		}
	}
	return r, err
}

// Close closes the files of l. A Look at l cannot read after it.
func (l *Layer) Close() error {
	if n := l.ahead.Swap(nil); n != nil {
		<-n.done
	}
	var errs []error
	if l.root != nil {
		errs = append(errs, l.at.close(), l.root.Close())
	}
	if l.repo != nil {
		errs = append(errs, l.repo.Close())
	}
	return errors.Join(errs...)
}

// tip returns the layer's recorded commit, or nil if nothing is recorded yet. During an
// unfinished change it is the commit before the change. It reads the ref each time and the
// commit once; callers must not change it.
func (l *Layer) tip() (*store.Commit, error) {
	if err := l.load(); err != nil || l.repo == nil {
		return nil, err
	}
	id, err := l.repo.Ref(l.Ref())
	if before, ok, berr := before(l); berr != nil {
		return nil, berr
	} else if ok {
		if id, err = before, nil; id.IsZero() {
			return nil, nil
		}
	}
	if errors.Is(err, store.ErrNotExist) {
		return nil, l.lost()
	}
	if err != nil {
		return nil, fault.Wrap(err, "the record of the %s space is damaged", l.Space).With(l.mendRef())
	}
	if c := l.last.Load(); c != nil && c.ID == id {
		return c, nil
	}
	c, err := l.repo.Commit(id)
	if err == nil {
		l.last.Store(c)
	}
	return c, l.damaged(err)
}

// lost returns the error for a missing ref whose log shows moves: deleting a ref also removes
// its log, so here a file went missing.
func (l *Layer) lost() error {
	moves, err := l.repo.RefLog(l.Ref())
	if err != nil || len(moves) == 0 {
		return err
	}
	last := moves[len(moves)-1]
	if last.Old.IsZero() || last.New.IsZero() {
		return nil // being created, or never created
	}
	return fault.New(fault.Integrity, "the record of the %s space is damaged: %s is gone, and its log has it at %s", l.Space, l.Ref(), last.New).
		With(l.mendRef())
}

// mendRef returns the hint for restoring the layer's ref to its last position in the log.
func (l *Layer) mendRef() fault.Hint {
	moves, err := l.repo.RefLog(l.Ref())
	if err == nil && slices.ContainsFunc(moves, func(m store.Move) bool { return l.repo.Has(m.New) }) {
		return repair()
	}
	return l.anew()
}

// repair returns the hint for a record that leads to missing or damaged objects.
func repair() fault.Hint { return fault.Command("rye fsck --repair") }

// damaged turns "no such object" into damage: everything that a ref reaches must exist, and an
// item with an unreadable record is not an unrecorded item.
func (l *Layer) damaged(err error) error {
	if fault.Is(err, fault.Limit) {
		return fault.New(fault.Limit, "the record of the %s space holds more than rye can read: %v", l.Space, err).With(l.anew())
	}
	if c := fault.CodeOf(err); !errors.Is(err, fs.ErrNotExist) && c != fault.Integrity && c != fault.Malformed {
		return err
	}
	// Not wrapped: callers test for fs.ErrNotExist to learn that a file is gone.
	return fault.New(fault.Integrity, "the record of the %s space is damaged: %v", l.Space, err).With(repair())
}

// extensions are tried in this order before the directory is listed, so that finding one item
// costs no more as its folder grows.
var extensions = map[objects.Kind][]string{
	objects.Directive: {".md"},
	objects.Knowledge: {".md", ".yaml", ".yml"},
	objects.Config:    {".yaml", ".yml"},
	objects.Tool:      {".py", ".sh", ".yaml", ".yml", ".js", ".ts", ".json", ".toml"},
}

// Locate returns the path below .ai of the working file for ref, "" if there is none. Two
// files for one ref are a conflict: rye must never guess which one runs.
func (l *Layer) Locate(ref objects.Ref) (string, error) {
	if err := l.load(); err != nil || l.root == nil {
		return "", err
	}
	var unsure error
	found := l.candidates(ref, func(p string) bool {
		yes, sure := l.at.has(p)
		if !sure {
			_, err := l.root.Lstat(p)
			if err != nil && !nothingThere(err) {
				unsure = unreadable(p, err) // the item may exist, so no weaker space may answer
			}
			yes = err == nil
		}
		return yes
	})
	if unsure != nil {
		return "", unsure
	}
	if len(found) == 0 && ref.Kind == objects.Tool {
		var err error
		if found, err = l.siblings(ref); err != nil {
			return "", err
		}
	}
	return onlyOne(ref, found)
}

// candidates returns the paths with a known extension that exist according to has.
func (l *Layer) candidates(ref objects.Ref, has func(p string) bool) (found []string) {
	inBundle := ref.MemberFolder() != "" && has(ref.MemberFolder())
	for _, ext := range extensions[ref.Kind] {
		if p := ref.Path(ext); has(p) {
			found = append(found, p)
		}
		if p := ref.MemberPath(ext); inBundle && p != "" && has(p) {
			found = append(found, p)
		}
	}
	return found
}

func onlyOne(ref objects.Ref, found []string) (string, error) {
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fault.New(fault.Conflict, "%s: %s are both this item", ref, strings.Join(found, " and ")).
		Advise("keep one of them: rye rm .ai/%s, or rye rm .ai/%s", found[0], found[1])
}

// Locations returns a Locate for many refs. It lists each folder once and is safe for
// concurrent use. Refs that are not in the lists go to Locate.
func (l *Layer) Locations(refs []objects.Ref) func(objects.Ref) (string, error) {
	if len(refs) <= fewRefs || l.load() != nil || l.root == nil {
		return l.Locate
	}
	there := map[string]bool{}
	listed := map[string]bool{}
	for _, ref := range refs {
		for _, dir := range foldersOf(ref) {
			if listed[dir] {
				continue
			}
			listed[dir] = true
			list, err := l.names(dir, false)
			if err != nil {
				continue // Locate reports the error
			}
			there[dir] = len(list) > 0
			for _, e := range list {
				there[dir+"/"+e.name] = true
			}
		}
	}
	return func(ref objects.Ref) (string, error) {
		if found := l.candidates(ref, func(p string) bool { return there[p] }); len(found) > 0 {
			return onlyOne(ref, found)
		}
		return l.Locate(ref)
	}
}

// siblings lists the folder for a tool in an unknown language.
func (l *Layer) siblings(ref objects.Ref) ([]string, error) {
	var found []string
	for _, dir := range foldersOf(ref) {
		names, err := l.names(dir, false)
		if err != nil {
			return nil, err
		}
		for _, e := range names {
			if got, _, err := objects.RefOfPath(dir + "/" + e.name); err == nil && got == ref && !e.typ.IsDir() {
				found = append(found, dir+"/"+e.name)
			}
		}
	}
	return found, nil
}

// foldersOf returns the folders that can hold the file of an item: the folder of its kind, and
// the folder in the bundle that its id could belong to.
func foldersOf(ref objects.Ref) []string {
	folders := []string{path.Dir(ref.Path(""))}
	if dir := ref.MemberFolder(); dir != "" {
		folders = append(folders, dir)
	}
	return folders
}

// named is a name in a folder, with its type and, on request, the size of a regular file.
type named struct {
	name string
	typ  fs.FileMode
	size int64 // bytes; 0 for a file that was just removed
}

// names lists a folder, sorted, without the names that rye ignores; a missing folder is empty.
// Unlike readDir it makes no system call per file without sizes, and one with sizes.
func (l *Layer) names(dir string, sizes bool) (all []named, err error) {
	room := newRoom(context.Background(), l.Space)
	done, err := l.at.names(dir, sizes, func(name []byte, typ fs.FileMode, st stamp) bool {
		all = append(all, named{string(name), typ, st.size})
		return room.take(0)
	})
	if err == nil {
		err = room.full()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if !done {
		list, lerr := l.readDir(dir)
		for _, e := range list {
			if leftOut(e.Name()) {
				continue
			}
			n := named{name: e.Name(), typ: e.Type()}
			if sizes && n.typ.IsRegular() {
				if st, err := e.Info(); err == nil {
					n.size = st.Size()
				}
			}
			all = append(all, n)
		}
		return all, lerr
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return all, err
}

func (l *Layer) readDir(dir string) ([]fs.DirEntry, error) {
	f, err := openFolder(l.root, dir)
	if err != nil && nothingThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer f.Close()
	list, err := f.ReadDir(MaxFiles + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(list) > MaxFiles {
		return nil, fault.New(fault.Limit, ".ai/%s holds more than %d names", dir, MaxFiles)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	return list, err
}

// Read returns the bytes of a working file, read once. It refuses links and everything else
// that is no regular file: the checked bytes must be the ones in the tree.
func (l *Layer) Read(p string) ([]byte, error) {
	if err := l.load(); err != nil {
		return nil, err
	}
	if l.root == nil {
		return nil, fs.ErrNotExist
	}
	if raw, done, err := l.at.read(p, MaxItem); done {
		return raw, err
	}
	f, err := openPlain(l.root, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, MaxItem+1))
	if err == nil && len(raw) > MaxItem {
		err = fault.New(fault.Limit, "%s: larger than %d bytes", p, MaxItem)
	}
	return raw, err
}

// openPlain opens a regular file without links on its path, and nothing else. It detects a
// file that was put there after the check.
func openPlain(root *os.Root, p string) (*os.File, error) {
	if err := noLinks(root, path.Dir(p)); err != nil {
		return nil, err
	}
	st, err := root.Lstat(p)
	if err != nil {
		return nil, unreadable(p, err)
	}
	if !st.Mode().IsRegular() {
		return nil, irregular(p)
	}
	f, err := root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unreadable(p, err)
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(st, is) {
		f.Close()
		return nil, irregular(p)
	}
	return f, nil
}

// nothingThere reports whether err means that nothing exists at a path, because of its last
// name or of a file on the way.
func nothingThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// irregular returns the error for a link, a folder, a pipe or a device in place of a file.
func irregular(p string) error {
	return fault.New(fault.Malformed, "%s: not a regular file", p).Advise("replace .ai/%s by a plain file", p)
}

// unreadable returns the reason why the file at p cannot be read. A missing file stays
// fs.ErrNotExist.
func unreadable(p string, err error) error {
	if nothingThere(err) {
		return &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	var pe *fs.PathError
	var said *fault.Error
	switch {
	case errors.As(err, &said):
		return err // it already has a message
	case errors.As(err, &pe):
		err = pe.Err
	}
	if err.Error() == "path escapes from parent" { // the text of os.Root
		return fault.New(fault.Malformed, "%s: cannot be read: a link in its path leads out of .ai", p).
			Advise("replace the link by its target")
	}
	return fault.New(fault.Failed, "%s: cannot be read: %w", p, err).Mend("chmod -R u+rX .ai/%s", p)
}
