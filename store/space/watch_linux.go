package space

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// treeWatch receives the system's reports (inotify(7)) about the folders of a working tree. It
// is not safe for concurrent use; a nil treeWatch reports nothing.
type treeWatch struct {
	fd      int
	top     os.FileInfo // the .ai directory
	folders map[string]bool
	torn    bool // folders were created, removed or moved, or the system's queue overflowed
}

// told are the events that may change a look. A watched folder reports events of its files.
const told = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// watchTree watches the .ai directory of a layer and folders in it; nil if it cannot.
func (l *Layer) watchTree(folders []folder) *treeWatch {
	if l.root == nil || len(folders) > maxWatched || !l.tells() {
		return nil
	}
	top, err := l.root.Stat(".")
	if err != nil {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	t := &treeWatch{fd: fd, top: top, folders: make(map[string]bool, len(folders))}
	if err = t.add(l, "."); err == nil {
		for i := range folders {
			if err = t.add(l, folders[i].path); err == unix.ENOENT {
				err = nil // its parent reports its creation
			}
			if err != nil {
				break
			}
			t.folders[folders[i].path] = true
		}
	}
	if err != nil {
		t.close()
		return nil
	}
	return t
}

// tells reports whether only this machine changes the file system.
func (l *Layer) tells() bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(l.at.top.Fd()), &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

// add watches one folder. It opens the folder below the root and watches the opened one.
func (t *treeWatch) add(l *Layer, dir string) error {
	fd, err := l.at.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(t.fd, fmt.Sprintf("/proc/self/fd/%d", fd), told)
	return err
}

// holds reports whether exactly the listed folders are watched.
func (t *treeWatch) holds(list []folder) bool {
	if t == nil || t.torn || len(list) != len(t.folders) {
		return false
	}
	for i := range list {
		if !t.folders[list[i].path] {
			return false
		}
	}
	return true
}

// quiet reports whether nothing happened since the last call.
func (t *treeWatch) quiet(l *Layer) bool {
	if t == nil || t.torn || l.load() != nil || l.root == nil {
		return false
	}
	if top, err := l.root.Stat("."); err != nil || !os.SameFile(top, t.top) {
		t.torn = true
		return false
	}
	var buf [4096]byte
	for quiet := true; ; {
		n, err := unix.Read(t.fd, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return quiet
		case err != nil || n <= 0:
			t.torn = true
			return false
		default:
			quiet = t.read(buf[:n]) && quiet
		}
	}
}

// read decodes events: watch, mask, cookie and length of four bytes each, then a name padded
// with zero bytes. It reports whether no event matters.
func (t *treeWatch) read(b []byte) (quiet bool) {
	quiet = true
	for len(b) >= unix.SizeofInotifyEvent {
		what, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		b = b[unix.SizeofInotifyEvent:]
		if size > len(b) {
			t.torn = true // never comes from the kernel
			return false
		}
		name, _, _ := bytes.Cut(b[:size], []byte{0})
		b = b[size:]
		switch {
		case what&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_UNMOUNT|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0,
			what&unix.IN_ISDIR != 0 && what&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0 && !leftOut(name):
			t.torn, quiet = true, false
		case len(name) == 0 || !leftOut(name):
			quiet = false
		}
	}
	return quiet
}

func (t *treeWatch) close() {
	if t != nil && t.fd >= 0 {
		unix.Close(t.fd)
		t.fd, t.torn = -1, true
	}
}
