package builtin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Bounds of a walk through the project.
const (
	maxEntries = 200_000          // directory entries examined
	maxWide    = 100_000          // of one directory; later ones are not seen
	maxSeconds = 20 * time.Second // after that the answer is marked incomplete
)

// passed are directories that a walk enters only if the path or pattern names them: RYE OS's
// list, and rye's own store.
var passed = []string{".git", "node_modules", "__pycache__", ".venv"}

// walker visits a directory in the order of names, depth first. It follows no link, so it ends,
// and it opens each directory in its parent's handle.
type walker struct {
	t       *tree
	ctx     context.Context
	until   time.Time
	entries int
	stopped string // why it is incomplete; "" if it is complete

	// enter reports whether to enter a directory, by its path below the start.
	enter func(rel string) bool
	// file is called for every entry that is not a directory. If it returns false, the walk ends.
	file func(dir *os.Root, name, rel string, m fs.FileMode) bool
}

func newWalker(ctx context.Context, t *tree) *walker {
	return &walker{t: t, ctx: ctx, until: time.Now().Add(maxSeconds)}
}

// stop records why a walk is incomplete. The first reason stays.
func (w *walker) stop(why string) bool {
	if w.stopped == "" {
		w.stopped = why
	}
	return false
}

// dir walks one directory. full is its path below the project, rel its path below the start. It
// returns false when the walk is over.
func (w *walker) dir(d *os.Root, full, rel string, depth int) bool {
	if depth > maxDepth {
		w.stop("deeper than the limit")
		return true
	}
	entries, complete, err := readDir(d, min(maxWide, maxEntries-w.entries))
	if err != nil {
		return true // an unreadable directory counts as empty
	}
	if !complete {
		w.stop("too many entries")
	}
	w.entries += len(entries)
	for _, e := range entries {
		if w.ctx.Err() != nil || time.Now().After(w.until) {
			return w.stop("out of time")
		}
		name := e.Name()
		below := join(rel, name)
		if !e.IsDir() {
			if !w.file(d, name, below, e.Type()) {
				return false
			}
			continue
		}
		if w.enter != nil && !w.enter(below) {
			continue
		}
		if !w.sub(d, name, join(full, name), below, depth) {
			return false
		}
	}
	return complete || w.entries < maxEntries
}

// sub enters a directory, unless it is out of reach or was replaced.
func (w *walker) sub(d *os.Root, name, full, rel string, depth int) bool {
	info, err := d.Lstat(name)
	if err != nil || !info.IsDir() || w.t.refuse(full, full, info) != nil {
		return true
	}
	if testOnlyLooked != nil {
		testOnlyLooked(name)
	}
	sub, err := d.OpenRoot(name)
	if err != nil {
		return true
	}
	defer sub.Close()
	if now, err := sub.Stat("."); err != nil || !os.SameFile(info, now) {
		return true
	}
	return w.dir(sub, full, rel, depth+1)
}

// skip reports whether walks skip a directory.
func skip(rel string) bool {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	return slices.Contains(passed, name) || rel == ".ai/.rye"
}

// readDir returns at most most entries, sorted by name. complete is false if there are more.
func readDir(d *os.Root, most int) (out []fs.DirEntry, complete bool, err error) {
	f, err := d.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	for {
		part, err := f.ReadDir(1024)
		out = append(out, part...)
		if errors.Is(err, io.EOF) || err == nil && len(part) == 0 {
			complete = true
			break
		}
		if err != nil {
			return nil, false, err
		}
		if len(out) > most {
			out = out[:most]
			break
		}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, complete, nil
}

func join(dir, name string) string {
	if dir == "" || dir == "." {
		return name
	}
	return dir + "/" + name
}

// lookAt opens the tree for reading at an existing path; "" is the project.
func lookAt(in Input, path string) (*tree, *place, error) {
	t, err := openTree(in, false)
	if err != nil {
		return nil, nil, err
	}
	if path == "" {
		path = "."
	}
	p, err := t.find(path, nil)
	if err != nil {
		return nil, nil, err
	}
	if p.info == nil {
		p.close()
		return nil, nil, notFound(path)
	}
	return t, p, nil
}

// openIn opens a file of the project. The place has its fs.FileInfo.
func openIn(in Input, path string, write bool) (*tree, *place, *os.File, error) {
	t, err := openTree(in, write)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := t.find(path, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	f, info, err := p.openFile(path)
	if err != nil {
		p.close()
		return nil, nil, nil, err
	}
	p.info = info
	return t, p, f, nil
}
