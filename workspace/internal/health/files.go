package health

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/audit"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/parallel"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// The bounds of one project.
const (
	maxFiles    = 200_000 // files that are read
	maxSearched = 200_000 // names that are looked at for the files that clients read in each directory
	maxDeep     = 16      // directories below the project
)

// source is one text: a file of the project, or the bytes of an item in the record.
type source struct {
	item string
	path string // below the project; "" for bytes
	name string // tells its format
	raw  []byte
}

// files lists the texts of a project that an agent or its client reads. It does not follow links: a link to a
// text that is listed anyway needs no second look, and every other one is among the missed.
func files(ctx context.Context, dir string) (all []source, missed []missing, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	l := lister{root: root, seen: map[string]bool{}}
	for _, p := range places {
		if err := l.walk(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	if err := l.named(ctx); err != nil {
		return nil, nil, err
	}
	return l.all, l.missed(), nil
}

// missing is a place that the audit does not read, with the reason.
type missing struct {
	path string
	says string
}

// lister collects the texts of a project.
type lister struct {
	root  *os.Root
	all   []source
	seen  map[string]bool // paths in all, and directories that were walked
	links []string
	short string // the directory at which the search by names ended before its end; "" for none
}

// walk lists a file, or the files below a directory.
func (l *lister) walk(ctx context.Context, place string) error {
	if up, linked := l.linked(path.Dir(place)); linked {
		l.links = append(l.links, up)
		return nil
	}
	return fs.WalkDir(l.root.FS(), place, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return l.add(source{path: name, name: name}) // reading it reports the reason
		case d.Type()&fs.ModeSymlink != 0:
			l.links = append(l.links, name)
		case d.IsDir() && l.seen[name]:
			return fs.SkipDir
		case d.IsDir():
			l.seen[name] = true
		case d.Type().IsRegular():
			return cmp.Or(l.add(source{path: name, name: name, item: itemOf(name)}), ctx.Err())
		}
		return ctx.Err()
	})
}

// linked returns the first part of a path that is a link.
func (l *lister) linked(dir string) (string, bool) {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if st, err := l.root.Lstat(dir[:i]); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return dir[:i], true
		}
	}
	return "", false
}

func itemOf(name string) string {
	below, ok := strings.CutPrefix(name, ".ai/")
	if !ok {
		return ""
	}
	ref, _, err := objects.RefOfPath(below)
	if err != nil {
		return ""
	}
	return ref.String()
}

func (l *lister) add(s source) error {
	if l.seen[s.path] {
		return nil
	}
	if len(l.all) >= maxFiles {
		return fault.New(fault.Limit, "audit: more than %d files that agents read", maxFiles)
	}
	l.seen[s.path] = true
	l.all = append(l.all, s)
	return nil
}

// named looks for the files that clients read in each directory of a project. The search ends at its bounds.
func (l *lister) named(ctx context.Context) error {
	entries := 0
	return fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entries++; entries > maxSearched {
			l.short = path.Dir(name)
			return fs.SkipAll
		}
		base := strings.ToLower(d.Name())
		switch {
		case d.IsDir() && (skipped[base] || l.seen[name] || strings.Count(name, "/") >= maxDeep):
			return cmp.Or(ctx.Err(), fs.SkipDir)
		case d.IsDir() && clientDirs[base] && name != ".":
			if err := l.walk(ctx, name); err != nil {
				return err
			}
			return fs.SkipDir
		case !inEachDir[base] && d.Name() != "SKILL.md":
		case d.Type()&fs.ModeSymlink != 0:
			l.links = append(l.links, name)
		case d.Type().IsRegular():
			return cmp.Or(l.add(source{path: name, name: name}), ctx.Err())
		}
		return ctx.Err()
	})
}

// missed returns the links that lead to texts which are not read, and where the search by names ended.
func (l *lister) missed() (all []missing) {
	slices.Sort(l.links)
	for _, name := range slices.Compact(l.links) {
		to, err := l.root.Readlink(name)
		at := path.Join(path.Dir(name), filepath.ToSlash(to))
		if err == nil && !filepath.IsAbs(to) && l.reads(at) {
			continue
		}
		all = append(all, missing{name, fmt.Sprintf("a link to %s, which is not followed", words.Quote(to))})
	}
	if l.short != "" {
		all = append(all, missing{l.short, fmt.Sprintf("the search for AGENTS.md and the like ended here, after %d names", maxSearched)})
	}
	return all
}

// reads reports whether the text at a path, or all below it, is read by its own name.
func (l *lister) reads(name string) bool {
	for p := name; p != "." && p != "/"; p = path.Dir(p) {
		if _, linked := l.linked(p); linked {
			return false
		}
		if l.seen[p] {
			return true
		}
	}
	return false
}

// outcome is the result of reading one text.
type outcome struct {
	rep audit.Report
	err error
}

// errGone reports that a file was removed meanwhile.
var errGone = errors.New("gone")

// readAll reads texts to their ends, on every processor.
func readAll(ctx context.Context, dir string, files []source, rules *audit.Rules) ([]outcome, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	all := make([]outcome, len(files))
	err = parallel.Each(ctx, len(files), func(i int) error {
		all[i].rep, all[i].err = files[i].read(ctx, root, rules)
		return ctx.Err()
	})
	return all, err
}

func (s source) read(ctx context.Context, root *os.Root, rules *audit.Rules) (audit.Report, error) {
	if s.path == "" {
		return audit.Text(bytes.NewReader(s.raw), audit.FormOf(s.name, s.raw), rules)
	}
	st, err := root.Lstat(s.path) // opening a pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return audit.Report{}, errGone
	}
	if err != nil {
		return audit.Report{}, err
	}
	if !st.Mode().IsRegular() {
		return audit.Report{}, fault.New(fault.Malformed, "%s is not a regular file", path.Base(s.path))
	}
	f, err := root.Open(s.path)
	if err != nil {
		return audit.Report{}, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(reader{ctx, f}, audit.HeadSize)
	head, err := in.Peek(audit.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return audit.Report{}, err
	}
	return audit.Text(in, audit.FormOf(s.name, head), rules)
}

// reader stops when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
