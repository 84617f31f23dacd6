package ward

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A repo is a repository of the user whose working tree has files of the project.
type repo struct {
	top    string   // absolute
	git    string   // its git directory, absolute
	before *os.File // the index before the run; git replaces the file and does not write in it
	was    *index   // before, parsed; nil if there was none that rye reads
	is     *index   // after the run
	read   bool
	at     fs.FileInfo // of the index that is, when it was read; nil if there was none
}

const maxRepos = 100

// findRepos finds the repositories around the project and in it, and opens their indexes.
func (w *Ward) findRepos(d *disk) {
	for dir := w.o.Project; ; dir = filepath.Dir(dir) {
		if git := gitOf(filepath.Join(dir, ".git")); git != "" {
			w.repos = append(w.repos, &repo{top: dir, git: git})
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, t := range w.before {
		dir, name := split(t.path)
		if name != ".git" || dir == "" || len(w.repos) >= maxRepos {
			continue
		}
		if git := gitOf(d.abs(t.path)); git != "" {
			w.repos = append(w.repos, &repo{top: d.abs(dir), git: git})
		}
	}
	for _, r := range w.repos {
		r.before, _ = openRegular(filepath.Join(r.git, "index"))
	}
}

func (w *Ward) closeRepos() {
	for _, r := range w.repos {
		if r.before != nil {
			r.before.Close()
			r.before = nil
		}
	}
}

// gitOf returns the git directory of a .git, which may be a file that names it; "" if there is none.
func gitOf(dotGit string) string {
	st, err := os.Lstat(dotGit)
	switch {
	case err != nil:
		return ""
	case st.IsDir():
		return dotGit
	case !st.Mode().IsRegular() || st.Size() > maxGitFile:
		return ""
	}
	f, err := openRegular(dotGit)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	to, ok := strings.CutPrefix(string(text), "gitdir:")
	if to = strings.TrimSpace(to); err != nil || !ok || to == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(from(filepath.Dir(dotGit), to))
	if err != nil {
		return ""
	}
	return real
}

// openRegular opens a regular file, and follows no link at the end of its path.
func openRegular(path string) (*os.File, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(st, is) {
		f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}

// indexes returns the index before the run and the present one; nil for one that rye cannot read.
func (r *repo) indexes() (was, is *index) {
	if r.read {
		return r.was, r.is
	}
	r.read, r.is, r.at = true, nil, nil
	if r.was == nil {
		r.was = readIndex(r.before)
	}
	if f, err := openRegular(filepath.Join(r.git, "index")); err == nil {
		r.at, _ = f.Stat()
		r.is = readIndex(f)
		f.Close()
	}
	return r.was, r.is
}

// patience is how long the look after a run waits, in all, for git commands of the user that are at work: git
// writes the files first, and then the index.
const patience = 3 * time.Second

// moves reports whether the index is another one than was read. It waits for a git that is about to replace it.
func (r *repo) moves(ctx context.Context, left *time.Duration) bool {
	const step = 5 * time.Millisecond
	for ; r.locked() && *left > 0 && ctx.Err() == nil; *left -= step {
		time.Sleep(step)
	}
	st, err := os.Lstat(filepath.Join(r.git, "index"))
	if err != nil || r.at != nil && os.SameFile(st, r.at) && st.ModTime().Equal(r.at.ModTime()) {
		return false
	}
	r.read = false
	return true
}

// locked reports whether a git writes the index. A lock of long ago is of one that crashed.
func (r *repo) locked() bool {
	st, err := os.Lstat(filepath.Join(r.git, "index.lock"))
	return err == nil && time.Since(st.ModTime()) < time.Minute
}

func readIndex(f *os.File) *index {
	if f == nil {
		return nil
	}
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, maxIndex+1))
	if err != nil {
		return nil
	}
	x, err := parseIndex(raw)
	if err != nil {
		return nil
	}
	return x
}

// tracked reports whether a file is what the user's git has for this path. The repository was found
// before the run, and no run of the time could write in its git directory. A path that was not
// there before is new in the index, too: otherwise a run could bring back what the user removed.
func (e *ending) tracked(t thing) bool {
	r := e.repoOf(t.path)
	if r == nil || !e.closed(r.git) {
		return false
	}
	for !e.inIndex(r, t) {
		if !r.moves(e.take.ctx, &e.patience) {
			return false
		}
		st, err := e.d.stat(t.path)
		if err != nil {
			return false
		}
		t.info = st
	}
	return true
}

// inIndex is tracked by the index as it was read last.
func (e *ending) inIndex(r *repo, t thing) bool {
	was, is := r.indexes()
	name, err := filepath.Rel(r.top, e.d.abs(t.path))
	if is == nil || err != nil {
		return false
	}
	raw, err := e.d.contentOf(t)
	if err != nil {
		return false
	}
	name = filepath.ToSlash(name)
	now, same := is.holds(name, t, raw)
	if !same {
		return false
	}
	if e.existed(t.path) {
		return true
	}
	if !e.w.since.IsZero() { // the index before is unknown, and only its time tells that it is new
		st, err := os.Lstat(filepath.Join(r.git, "index"))
		return err == nil && st.ModTime().After(e.w.since)
	}
	if was == nil && r.before != nil {
		return false // rye could not read it
	}
	old, had := blob{}, false
	if was != nil {
		old, had = was.files[name]
	}
	return !had || old != now
}

// existed reports whether a path was protected before the run, by its name or in a directory.
func (e *ending) existed(p string) bool { return e.before[p].path != "" || e.w.inDirs[p] }

// contentOf returns the bytes of a file, or the target of a link.
func (d *disk) contentOf(t thing) ([]byte, error) {
	switch {
	case t.link():
		to, err := d.root.Readlink(local(t.path))
		return []byte(to), err
	case t.file():
		return d.bytes(t)
	}
	return nil, os.ErrInvalid
}

// repoOf returns the innermost repository around a path of the project; nil if there is none.
func (e *ending) repoOf(p string) (in *repo) {
	abs := e.d.abs(p)
	for _, r := range e.w.repos {
		rel, err := filepath.Rel(r.top, abs)
		if err == nil && filepath.IsLocal(rel) && (in == nil || len(r.top) > len(in.top)) {
			in = r
		}
	}
	return in
}

// firstLine returns a small file of one line, or "".
func firstLine(path string) string {
	f, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	line := strings.TrimSuffix(string(text), "\n")
	if err != nil || strings.Contains(line, "\n") {
		return ""
	}
	return line
}

// settingsOf reads a small config; nil if it has another form than git's own.
func settingsOf(path string) []setting {
	f, err := openRegular(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxGitFile+1))
	if err != nil {
		return nil
	}
	all, _ := parseConfig(string(text))
	return all
}
