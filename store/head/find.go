package head

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
)

// repo holds the findings about a repository.
type repo struct {
	top     string   // of the checked-out tree, where .git is
	dir     string   // the git directory, which holds HEAD
	common  string   // the directory with refs and objects; equal to dir except for linked worktrees
	prefix  string   // path of the requested directory below top
	objects []string // directories of objects
	format  store.Format
	modes   bool // core.fileMode
	head    store.OID
}

const (
	maxPointer    = 8 << 10 // bytes of .git, commondir, gitdir, HEAD and of a loose ref
	maxConfig     = 1 << 20
	maxPackedRefs = 64 << 20
	maxSymbolic   = 5 // refs that name others
	maxAlternates = 16
)

// find looks for the repository of dir and reads everything except objects.
func find(dir, home string) (*repo, error) {
	r, err := locate(dir, home)
	if err != nil {
		return nil, err
	}
	if err := r.findObjects(); err != nil {
		return nil, err
	}
	return r, r.readHead()
}

// locate finds the git directories of the repository of dir, and reads its configuration.
func locate(dir, home string) (*repo, error) {
	top, err := topOf(dir, home)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	r := &repo{top: top}
	if r.prefix = filepath.ToSlash(rel); r.prefix == "." {
		r.prefix = ""
	}
	for _, step := range []func() error{r.findDir, r.findCommon, r.readConfig} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// topOf returns the nearest directory at or above dir that holds .git.
func topOf(dir, home string) (string, error) {
	none := fault.New(fault.NotFound, "%s lies in no git repository", dir)
	for {
		here, err := os.Stat(dir)
		if err != nil {
			return "", none
		}
		if at, err := os.Stat(home); home != "" && err == nil && os.SameFile(here, at) {
			return "", none
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir || !place.SameDevice(here, up) {
			return "", none
		}
		dir = up
	}
}

// findDir finds the git directory: .git itself, or the target of a file of that name.
func (r *repo) findDir() error {
	at := filepath.Join(r.top, ".git")
	st, err := os.Lstat(at)
	if err != nil {
		return unknown("%v", err)
	}
	if err := mine(at); err != nil {
		return err
	}
	switch {
	case st.IsDir():
		r.dir = at
		return nil
	case !st.Mode().IsRegular():
		return unknown("%s is neither a directory nor a file", at)
	}
	text, err := readLine(at)
	if err != nil {
		return err
	}
	to, ok := strings.CutPrefix(text, "gitdir: ")
	if !ok || to == "" {
		return unknown("%s does not name a git directory", at)
	}
	r.dir, err = r.follow(r.top, to)
	return err
}

// follow returns the directory for a path in one of git's files; a relative path starts at
// from. It refuses a directory in the checked-out tree, because a branch or an archive may
// have brought it.
func (r *repo) follow(from, to string) (string, error) {
	if !filepath.IsAbs(to) {
		to = filepath.Join(from, filepath.FromSlash(to))
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil {
		return "", unknown("%q is a dead link: %v", words.Brief(to), err)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", unknown("%q is not a directory", words.Brief(to))
	}
	if inside(real, r.top) {
		return "", unknown("%q lies in the tree that it describes", words.Brief(to))
	}
	return real, mine(real)
}

// inside reports whether a path lies in a directory, or is it.
func inside(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// findCommon finds the directory of refs and objects. For a linked worktree it is elsewhere,
// and it is accepted only if that repository names the worktree in return.
func (r *repo) findCommon() error {
	r.common = r.dir
	text, err := readLine(filepath.Join(r.dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	back, err := readLine(filepath.Join(r.dir, "gitdir"))
	if err != nil {
		return unknown("it does not name its worktree: %v", err)
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(r.dir, filepath.FromSlash(back))
	}
	at, err1 := os.Lstat(back)
	is, err2 := os.Lstat(filepath.Join(r.top, ".git"))
	if err1 != nil || err2 != nil || !os.SameFile(at, is) {
		return unknown("it belongs to another worktree, %q", words.Brief(back))
	}
	r.common, err = r.follow(r.dir, text)
	return err
}

// readConfig reads the object format, and refuses formats that this program cannot read.
func (r *repo) readConfig() error {
	p := filepath.Join(r.common, "config")
	raw, err := read(p, maxConfig)
	if err != nil {
		return unknown("%v", err)
	}
	c, err := store.ParseRepoConfig(string(raw))
	if err != nil {
		return unknown("%v", err)
	}
	r.format, r.modes = c.Format, c.FileMode
	if c.Worktree == "" || r.common != r.dir {
		return nil
	}
	tree := c.Worktree
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(r.dir, filepath.FromSlash(tree))
	}
	if a, b := statOf(tree), statOf(r.top); a == nil || b == nil || !os.SameFile(a, b) {
		return unknown("its core.worktree is another tree, %q", words.Brief(c.Worktree))
	}
	return nil
}

func statOf(p string) fs.FileInfo {
	st, err := os.Stat(p)
	if err != nil {
		return nil
	}
	return st
}

// findObjects collects the objects directories: the repository's own, and its alternates.
func (r *repo) findObjects() error {
	dirs := []string{filepath.Join(r.common, "objects")}
	for i := 0; i < len(dirs); i++ {
		for _, d := range []string{dirs[i], filepath.Join(dirs[i], "pack")} {
			if err := mine(d); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		raw, err := read(filepath.Join(dirs[i], "info", "alternates"), maxPointer)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unknown("%v", err)
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			dir, err := r.follow(dirs[i], line)
			if err != nil {
				return err
			}
			if dirs = append(dirs, dir); len(dirs) > maxAlternates {
				return unknown("it borrows objects from more than %d places", maxAlternates-1)
			}
		}
	}
	r.objects = dirs
	return nil
}

// read is place.Read for a file that belongs to the user.
func read(p string, limit int64) ([]byte, error) {
	if err := place.Mine(p); err != nil {
		return nil, err
	}
	return place.Read(p, limit)
}

// mine refuses files of other users.
func mine(p string) error {
	err := place.Mine(p)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return unknown("%v", err)
}

// readLine returns the one line of a small file.
func readLine(p string) (string, error) {
	raw, err := read(p, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err != nil {
		return "", unknown("%v", err)
	}
	text, ok := oneLine(raw)
	if !ok {
		return "", unknown("%s holds more than a line", p)
	}
	return text, nil
}

// oneLine returns the text before the only line feed, which may be missing.
func oneLine(raw []byte) (string, bool) {
	text := strings.TrimRight(string(raw), "\r\n")
	return text, text != "" && !strings.ContainsAny(text, "\r\n\x00")
}

// A Repository is where a git repository keeps its files.
type Repository struct {
	Top    string // of the checked-out tree
	Dir    string // of HEAD and the index
	Common string // of the configuration and the objects; equal to Dir except for linked worktrees
	Prefix string // of the requested directory, below Top
}

// Locate returns the repository of dir, an absolute path without links. It trusts no pointer
// that a branch or an archive may have brought. Every other error than fault.NotFound means that
// it does not know.
func Locate(dir, home string) (Repository, error) {
	r, err := locate(dir, home)
	if err != nil {
		return Repository{}, err
	}
	return Repository{Top: r.top, Dir: r.dir, Common: r.common, Prefix: r.prefix}, nil
}
