package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Bounds on paths.
const (
	maxPath  = 4096 // bytes
	maxLinks = 40   // symbolic links on one way, as in Linux
	maxDepth = 128  // directories below each other
)

// tree is the project as the functions see it. Every directory on the way to a file is opened by
// its own name in its parent's handle. Links are followed by hand. Each step is compared with the
// protected paths, by identity and by name. So no path leads out of the project. A process that
// swaps a directory for a link gains nothing, because the checked directory is the opened one.
type tree struct {
	base    string // absolute, resolved
	write   bool   // for changes: protected paths are refused too
	refused []guard
}

// guard is a path that is never touched.
type guard struct {
	path string
	info fs.FileInfo // nil when it does not exist
}

// testOnlyLooked is called between the check of a directory and its opening.
var testOnlyLooked func(name string)

func openTree(in Input, write bool) (*tree, error) {
	if in.Project == "" {
		return nil, fault.New(fault.Usage, "rye finds files only in a project, and this is not one").Mend("rye init")
	}
	t := &tree{base: filepath.Clean(in.Project), write: write}
	list := in.Hide
	if write {
		list = append(append([]string{}, list...), in.Protect...)
	}
	for _, p := range list {
		info, _ := os.Stat(p)
		t.refused = append(t.refused, guard{filepath.Clean(p), info})
	}
	return t, nil
}

// place is one name in an opened directory. The caller closes dir.
type place struct {
	dir  *os.Root
	name string      // "." for the project itself
	rel  string      // slash path below the project, links resolved
	info fs.FileInfo // of the entry, never a link; nil if there is none
}

func (p *place) close() { p.dir.Close() }

// parts splits a parameter into names below the project.
func (t *tree) parts(path string) ([]string, error) {
	switch {
	case len(path) > maxPath:
		return nil, fault.New(fault.Limit, "path: %d bytes, at most %d are allowed", len(path), maxPath)
	case strings.ContainsRune(path, 0):
		return nil, fault.New(fault.Usage, "path %q: it holds a NUL byte", path)
	}
	local := filepath.FromSlash(path)
	if filepath.IsAbs(local) {
		rel, err := filepath.Rel(t.base, filepath.Clean(local))
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return nil, outside(path)
		}
		local = rel
	}
	return split(local), nil
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == filepath.Separator })
}

func outside(path string) error {
	return fault.New(fault.Denied, "path %q: it lies outside of the project", path).Advise("give a path below the project")
}

// find opens the directory that contains path. If made is not nil, missing directories are
// created and appended to made.
func (t *tree) find(path string, made *[]string) (*place, error) {
	todo, err := t.parts(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(t.base)
	if err != nil {
		return nil, err
	}
	w := &way{t: t, path: path, made: made, dirs: []*os.Root{root}}
	defer w.close()
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		link, last, err := w.step(name, len(todo) == 0)
		switch {
		case err != nil:
			return nil, err
		case link != "":
			if links++; links > maxLinks {
				return nil, fault.New(fault.Denied, "path %q: more than %d symbolic links, or a circle of them", path, maxLinks)
			}
			more, err := w.follow(link)
			if err != nil {
				return nil, err
			}
			todo = append(more, todo...)
		case last != nil:
			return last, nil
		}
		if len(todo) > maxDepth || len(w.dirs) > maxDepth {
			return nil, fault.New(fault.Limit, "path %q: deeper than %d directories", path, maxDepth)
		}
	}
	return w.here()
}

// way is the walk along a path: the directories so far, none of them a link.
type way struct {
	t     *tree
	path  string
	made  *[]string
	dirs  []*os.Root
	names []string
}

// close closes the remaining directories; take has removed the one that find returns.
func (w *way) close() {
	for _, d := range w.dirs {
		d.Close()
	}
}

// take returns the innermost directory, which then belongs to the caller.
func (w *way) take() *os.Root {
	d := w.dirs[len(w.dirs)-1]
	w.dirs = w.dirs[:len(w.dirs)-1]
	return d
}

// here returns the directory at the end of the walk as a place.
func (w *way) here() (*place, error) {
	d := w.take()
	info, err := d.Lstat(".")
	if err != nil {
		d.Close()
		return nil, err
	}
	return &place{dir: d, name: ".", rel: w.rel(), info: info}, nil
}

func (w *way) rel(more ...string) string {
	if len(w.names)+len(more) == 0 {
		return "."
	}
	return strings.Join(append(append([]string{}, w.names...), more...), "/")
}

// step moves to one name. After a link it returns the target. If name is the end of the path and
// not a directory, it returns the place. After it entered a directory it returns neither.
func (w *way) step(name string, last bool) (link string, end *place, err error) {
	dir := w.dirs[len(w.dirs)-1]
	switch name {
	case ".":
		return "", nil, nil
	case "..":
		if len(w.names) == 0 {
			return "", nil, outside(w.path)
		}
		w.take().Close()
		w.names = w.names[:len(w.names)-1]
		return "", nil, nil
	}
	if !filepath.IsLocal(name) { // device names and streams of Windows
		return "", nil, fault.New(fault.Usage, "path %q: %q is not a file name", w.path, name)
	}
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err = w.missing(dir, name, last); info == nil && err == nil {
			return "", &place{dir: w.take(), name: name, rel: w.rel(name)}, nil
		}
	}
	if err != nil {
		return "", nil, w.because(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := dir.Readlink(name)
		if err == nil && target == "" {
			err = fs.ErrNotExist
		}
		return target, nil, err
	}
	if err := w.t.refuse(w.path, w.rel(name), info); err != nil {
		return "", nil, err
	}
	if !info.IsDir() {
		if !last {
			return "", nil, fault.New(fault.Usage, "path %q: %q is a file, not a directory", w.path, w.rel(name))
		}
		return "", &place{dir: w.take(), name: name, rel: w.rel(name), info: info}, nil
	}
	if testOnlyLooked != nil {
		testOnlyLooked(name)
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return "", nil, w.because(err)
	}
	if now, err := sub.Stat("."); err != nil || !os.SameFile(info, now) {
		sub.Close()
		return "", nil, fault.New(fault.Denied, "path %q: %q changed while it was opened", w.path, w.rel(name))
	}
	w.dirs, w.names = append(w.dirs, sub), append(w.names, name)
	return "", nil, nil
}

// missing makes a directory on the way if find may create directories. For the last name it
// returns nil, which is a place without an entry.
func (w *way) missing(dir *os.Root, name string, last bool) (fs.FileInfo, error) {
	if err := w.t.refuse(w.path, w.rel(name), nil); err != nil {
		return nil, err
	}
	if last {
		return nil, nil
	}
	if w.made == nil {
		return nil, fault.New(fault.NotFound, "path %q: there is no %q", w.path, w.rel(name))
	}
	if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	*w.made = append(*w.made, w.rel(name))
	return dir.Lstat(name)
}

// follow returns the names in a link's target. They are walked like the names of a path, so that
// no link skips a check.
func (w *way) follow(target string) ([]string, error) {
	if !filepath.IsAbs(target) {
		return split(target), nil
	}
	names, err := w.t.parts(target)
	if err != nil {
		return nil, fault.New(fault.Denied, "path %q: a symbolic link leads out of the project, to %q", w.path, target)
	}
	for len(w.names) > 0 {
		w.take().Close()
		w.names = w.names[:len(w.names)-1]
	}
	return names, nil
}

func (w *way) because(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return denied(err, "path %q", w.path)
}

// denied adds the action to err and removes the system's name of the file. The code is Denied if
// a permission is missing.
func denied(err error, format string, args ...any) error {
	code := fault.Failed
	if errors.Is(err, fs.ErrPermission) {
		code = fault.Denied
	}
	return fault.New(code, format+": %w", append(args, bare(err))...)
}

// bare returns the system's error, without the operation and the name.
func bare(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

// refuse returns the reason why a file or directory may not be entered, or nil. Names are
// compared without case except on Linux.
func (t *tree) refuse(path, rel string, info fs.FileInfo) error {
	full := filepath.Join(t.base, filepath.FromSlash(rel))
	for _, g := range t.refused {
		if info != nil && g.info != nil && os.SameFile(info, g.info) || below(full, g.path) {
			return fault.New(fault.Denied, "path %q: no tool can reach %s", path, rel).Advise("%s", reserved(rel))
		}
	}
	if !t.write {
		return nil
	}
	if name := rel[strings.LastIndexByte(rel, '/')+1:]; gitName(name) {
		return fault.New(fault.Denied, "path %q: only git may write git's own files", path)
	}
	return nil
}

func reserved(rel string) string {
	if rel == ".ai" || strings.HasPrefix(rel, ".ai/") {
		return "only a person writes items: rye new, an editor, rye sign"
	}
	return "choose another path"
}

func below(path, dir string) bool {
	if runtime.GOOS != "linux" {
		path, dir = strings.ToLower(path), strings.ToLower(dir)
	}
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

// gitName reports whether some file system takes name for .git: without case, with trailing dots
// and spaces, with invisible characters, or by the short name of Windows.
func gitName(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r == 0xfeff || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return name == ".git" || name == "git~1"
}

// openFile opens the regular file at a place for reading. It opens neither a pipe nor a device,
// because that can block for ever or have an effect. It does not wait for one that replaces the
// file meanwhile.
func (p *place) openFile(path string) (*os.File, fs.FileInfo, error) {
	if p.info == nil {
		return nil, nil, fault.New(fault.NotFound, "%s: there is no such file", path)
	}
	if err := regular(path, p.info); err != nil {
		return nil, nil, err
	}
	f, err := p.dir.OpenFile(p.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, plain(&fs.PathError{Op: "read", Path: path, Err: bare(err)})
	}
	info, err := f.Stat()
	// The inode of a removed file may be used again, so check both.
	if err == nil && (!os.SameFile(info, p.info) || !info.Mode().IsRegular()) {
		err = fault.New(fault.Denied, "%s: it changed while it was opened", path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func regular(path string, info fs.FileInfo) error {
	switch m := info.Mode(); {
	case m.IsRegular():
		return nil
	case m.IsDir():
		return fault.New(fault.Usage, "%s: it is a directory", path).Mend("rye run rye/file-system/ls -p path=%s", path)
	default:
		return fault.New(fault.Denied, "%s: it is a %s, not a file", path, kind(m))
	}
}

// kind returns the type of a directory entry.
func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
