package ward

import (
	"context"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	maxCompared = 64 << 20 // bytes that are read before a run
	byTimes     = "is too large to remember, and was compared by its times"
)

// A sight is one name in a protected thing before the run.
type sight struct {
	info
	names int    // in a directory; -1 if it could not be read
	sum   uint64 // of the bytes of a file or the target of a link, if read is set
	read  bool
}

// A snapshot has the content of the things that nothing holds during the run.
type snapshot struct {
	seed   maphash.Seed // no program can search for other bytes with the same sum
	sights map[string]sight
	whole  map[string]bool // things with all their content in sights; of git directories, with their parts

	configs map[string]string // the text of the configs of git directories
}

func newSnapshot() *snapshot {
	return &snapshot{seed: maphash.MakeSeed(), sights: map[string]sight{}, whole: map[string]bool{}, configs: map[string]string{}}
}

// Remember records the content of protected paths that stay writable during a run, so that After
// takes only changed ones. It belongs directly before the run. A change within the tick of the
// clock in which a file was examined leaves its ctime as it is. So the bytes of such files are
// read, and of no others, except where the kernel sets no ctime. Paths with too much content are
// compared by their times.
func (w *Ward) Remember(ctx context.Context, unheld []string) {
	d, err := openDisk(w.o.Project)
	if err != nil {
		return // After reports it
	}
	defer d.Close()
	w.seen = newSnapshot()
	m := &memoriser{snapshot: w.seen, ctx: ctx, d: d, names: maxEntries, bytes: maxCompared}
	for _, p := range w.relative(unheld) {
		if m.thing(p); m.full() {
			w.missed.place(p, byTimes)
			return
		}
		w.seen.whole[p] = true
	}
}

// Watch begins to watch the protected files, and remembers the names in protected directories. It
// belongs directly before a run whose files are protected by mounts: After then knows which of them
// another process replaced.
func (w *Ward) Watch() {
	d, err := openDisk(w.o.Project)
	if err != nil {
		return // After reports it
	}
	defer d.Close()
	w.watch = watchFiles(d, w.before)
	w.inDirs = map[string]bool{}
	left := maxNamed
	for _, t := range w.before {
		if t.kind != gitDirectory && t.kind != ryeItems && t.dir() {
			w.nameAll(d, t.path, &left)
		}
	}
}

// maxNamed bounds the names in protected directories that are remembered. A path beyond them counts
// as new.
const maxNamed = 5000

func (w *Ward) nameAll(d *disk, dir string, left *int) {
	l, err := d.list(dir, max(*left, 0), false)
	if *left -= len(l.entries); err != nil {
		return
	}
	for _, e := range l.entries {
		p := join(dir, e.name)
		if e.mode.IsDir() {
			w.nameAll(d, p, left)
			continue
		}
		w.inDirs[p] = true
	}
}

// Close ends a ward without After.
func (w *Ward) Close() {
	w.closeRepos()
	if w.watch != nil {
		w.watch.end()
		w.watch = nil
	}
}

// relative makes paths relative to the project.
func (w *Ward) relative(paths []string) (out []string) {
	for _, p := range paths {
		if rel, err := filepath.Rel(w.o.Project, p); err == nil {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// A memoriser fills a snapshot, within bounds.
type memoriser struct {
	*snapshot
	ctx   context.Context
	d     *disk
	names int
	bytes int64
}

func (m *memoriser) full() bool { return m.names < 0 || m.bytes < 0 || m.ctx.Err() != nil }

// thing adds a path with all its content; of a git directory the parts that git executes.
func (m *memoriser) thing(p string) {
	l, err := m.d.list(p, maxOpened, false)
	if _, name := split(p); err != nil || fold(name) != ".git" && !marksOf(l.entries).git() {
		m.add(p)
		return
	}
	for _, part := range parts {
		at := join(p, part)
		m.add(at)
		if strings.HasPrefix(part, "config") {
			m.configs[at] = m.d.small(at)
		}
	}
}

func (m *memoriser) add(p string) {
	if m.names--; m.full() {
		return
	}
	st, err := m.d.stat(p)
	if err != nil {
		return
	}
	s := sight{info: st}
	switch {
	case st.dir():
		l, err := m.d.list(p, m.names+1, false)
		if s.names = len(l.entries); err != nil {
			s.names = -1
		}
		for _, e := range l.entries {
			m.add(join(p, e.name))
		}
	case !m.d.trusted || racy(st.ctime, time.Now()):
		if m.bytes -= st.bytes; m.full() {
			return
		}
		s.sum, s.read = m.sumOf(m.d, p, st)
	}
	m.sights[p] = s
}

// sumOf reads a file, or the target of a link.
func (s *snapshot) sumOf(d *disk, p string, st info) (sum uint64, ok bool) {
	switch {
	case st.link():
		to, err := d.root.Readlink(local(p))
		return maphash.String(s.seed, to), err == nil
	case !st.file():
		return 0, false
	}
	f, err := d.open(p)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var h maphash.Hash
	h.SetSeed(s.seed)
	n, err := io.Copy(&h, io.LimitReader(f, st.bytes+1))
	return h.Sum64(), err == nil && n == st.bytes
}

// same reports whether a path and all in it are as they were. New, missing and replaced names make
// a difference, and so do sizes, permissions and bytes.
func (s *snapshot) same(d *disk, p string) bool {
	was, known := s.sights[p]
	st, err := d.stat(p)
	if !known || err != nil {
		return !known && err != nil
	}
	if was.mode != st.mode || d.trusted && was.ino != st.ino || !st.dir() && was.bytes != st.bytes {
		return false
	}
	switch {
	case st.dir():
		l, err := d.list(p, max(was.names, 0)+1, false)
		if err != nil || len(l.entries) != was.names {
			return err != nil && was.names < 0 && was.ctime == st.ctime
		}
		for _, e := range l.entries {
			if !s.same(d, join(p, e.name)) {
				return false
			}
		}
		return true
	case was.read:
		sum, ok := s.sumOf(d, p, st)
		return ok && sum == was.sum
	}
	return was.ctime == st.ctime
}

// open opens a regular file, and follows no link.
func (d *disk) open(rel string) (*os.File, error) {
	st, err := d.root.Lstat(local(rel))
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	f, err := d.root.OpenFile(local(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(st, is) {
		f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}
