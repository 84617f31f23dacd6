package ward

import (
	"encoding/binary"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// A watch sees what happens to the names of protected files during a run. A mount over a file
// vanishes when another process replaces the file, as many editors do when they save. Until then
// nothing inside of the sandbox can change the name or the file. So if the only event is that a
// file was renamed to that name, another process did it, and nobody has written the file since.
//
// It does not look for files. It loses events where too many happen at once, and then it knows
// nothing.
type watch struct {
	file *os.File
	done chan struct{}

	mu   sync.Mutex
	dirs map[int32]watched
	seen map[string][]uint32 // path to its events, in their order
	lost bool
}

type watched struct {
	path string
	ino  uint64
	only map[string]bool // names in it
}

const (
	watchedDirs  = 64
	watchedNames = 8 // events kept of one name; two decide
)

// watchFiles begins to watch the files among things; nil where that is not possible.
func watchFiles(d *disk, things []thing) *watch {
	names := map[string]map[string]bool{}
	for _, t := range things {
		if dir, name := split(t.path); t.file() && (names[dir] != nil || len(names) < watchedDirs) {
			if names[dir] == nil {
				names[dir] = map[string]bool{}
			}
			names[dir][name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	w := &watch{file: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}), dirs: map[int32]watched{}, seen: map[string][]uint32{}}
	for dir, only := range names {
		st, err := d.stat(dir)
		if err != nil {
			continue
		}
		const changes = unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_ATTRIB
		id, err := unix.InotifyAddWatch(fd, d.abs(dir), changes|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
		if err == nil {
			w.dirs[int32(id)] = watched{dir, st.ino, only}
		}
	}
	go w.read()
	return w
}

func (w *watch) read() {
	defer close(w.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil || n == 0 {
			return
		}
		w.take(buf[:n])
	}
}

// take keeps the events of a buffer: watch, mask, cookie and the length of a name, four bytes each.
func (w *watch) take(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(b) >= unix.SizeofInotifyEvent {
		id, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		if size > len(b) {
			w.lost = true
			return
		}
		name := strings.TrimRight(string(b[:size]), "\x00")
		b = b[size:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			w.lost = true
		}
		if in := w.dirs[id]; in.only[name] && len(w.seen[join(in.path, name)]) < watchedNames {
			w.seen[join(in.path, name)] = append(w.seen[join(in.path, name)], mask)
		}
	}
}

// end reads the last events, and ends the watch.
func (w *watch) end() {
	raw, err := w.file.SyscallConn()
	if err == nil { // what happened before this call is in the queue
		_ = raw.Control(func(fd uintptr) {
			buf := make([]byte, 64<<10)
			for {
				n, err := unix.Read(int(fd), buf)
				if err == unix.EINTR {
					continue
				}
				if err != nil || n <= 0 {
					return
				}
				w.take(buf[:n])
			}
		})
	}
	w.file.Close()
	<-w.done
}

// replaced reports whether a file of before the run was replaced once, by another process, and is
// as that process left it.
func (w *Ward) replaced(d *disk, t thing) bool {
	if w.watch == nil || t.links != 1 {
		return false
	}
	w.watch.mu.Lock()
	defer w.watch.mu.Unlock()
	events := w.watch.seen[t.path]
	if w.watch.lost || len(events) != 1 || events[0]&unix.IN_MOVED_TO == 0 || events[0]&unix.IN_ISDIR != 0 {
		return false
	}
	dir := path.Dir(t.path)
	if dir == "." {
		dir = ""
	}
	st, err := d.stat(dir)
	if err != nil {
		return false
	}
	for _, in := range w.watch.dirs {
		if in.path == dir && in.ino == st.ino {
			return true
		}
	}
	return false
}
