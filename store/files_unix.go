//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/internal/place"
)

// door is the way of files into the directory: its descriptor, which stays open while a call
// uses it.
type door struct{ conn syscall.RawConn }

func newDoor(top *os.File) (d door, err error) {
	d.conn, err = top.SyscallConn()
	return d, err
}

func (d door) close() error { return nil }

// openTop opens the directory at a path. It never blocks, even if there is a pipe.
func openTop(dir string) (*os.File, error) {
	fd, err := place.Retry(func() (int, error) {
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), dir), nil
}

// owner returns the user who owns the repository.
func (f *files) owner() (uid int, ok bool) {
	err := f.with(func(top int) error {
		var st unix.Stat_t
		err := unix.Fstat(top, &st)
		uid = int(st.Uid)
		return err
	})
	return uid, err == nil
}

// with calls use with the descriptor of the repository.
func (f *files) with(use func(top int) error) error {
	var err error
	if cerr := f.conn.Control(func(fd uintptr) { err = use(int(fd)) }); cerr != nil {
		return cerr
	}
	return err
}

// at opens name below the repository.
func (f *files) at(op, name string, flags int, perm fs.FileMode) (fd int, err error) {
	if err = checkName(name); err == nil {
		err = f.with(func(top int) error {
			fd, err = openBeneath(top, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(perm.Perm()))
			return err
		})
	}
	if err != nil {
		return -1, f.fail(op, name, err)
	}
	return fd, nil
}

// beside calls use with the open directory that holds name, and with the last component of
// name.
func (f *files) beside(op, name string, use func(dir int, base string) error) error {
	fd, err := f.at(op, path.Dir(name), searchOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = place.Retry(func() (int, error) { return 0, use(fd, path.Base(name)) })
	if err != nil {
		return f.fail(op, name, err)
	}
	return nil
}

// openComponents is openBeneath with one call for each component.
func openComponents(top int, name string, flags int, perm uint32) (int, error) {
	dir, close := top, func() {}
	for {
		part, rest, more := cutSlash(name)
		how := flags
		if more {
			how = searchOnly | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
		}
		fd, err := place.Retry(func() (int, error) { return unix.Openat(dir, part, how, perm) })
		if err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EMLINK {
			var st unix.Stat_t
			if unix.Fstatat(dir, part, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = errLink
			}
		}
		close()
		if err != nil || !more {
			return fd, err
		}
		dir, name, close = fd, rest, func() { unix.Close(fd) }
	}
}

func cutSlash(name string) (part, rest string, more bool) {
	for i := range len(name) {
		if name[i] == '/' {
			return name[:i], name[i+1:], true
		}
	}
	return name, "", false
}

// open opens a regular file for reading.
func (f *files) open(name string) (*os.File, error) { return f.openFile(name, unix.O_RDONLY, 0) }

// openTo opens a regular file for reading and writing. flags may add the flags of os for
// creating and appending.
func (f *files) openTo(name string, flags int, perm fs.FileMode) (*os.File, error) {
	return f.openFile(name, unix.O_RDWR|flags, perm)
}

func (f *files) openFile(name string, flags int, perm fs.FileMode) (*os.File, error) {
	if flags&unix.O_EXCL != 0 { // the file is new, so nothing else can be there
		fd, err := f.at("open", name, flags, perm)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), f.path(name)), nil
	}
	fd, err := f.at("open", name, flags|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
	if errors.Is(err, unix.ENXIO) {
		return nil, f.irregular(name) // a socket
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return nil, f.fail("open", name, unix.EISDIR)
		}
		return nil, f.irregular(name)
	}
	// With O_NONBLOCK, Go would wait for the file in its poller.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&unix.O_APPEND); err != nil {
		unix.Close(fd)
		return nil, f.fail("open", name, err)
	}
	return os.NewFile(uintptr(fd), f.path(name)), nil
}

// read returns the bytes of a regular file of at most limit bytes. A larger file is an error.
func (f *files) read(name string, limit int64) ([]byte, error) {
	fd, err := f.at("open", name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil, f.irregular(name)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return place.ReadFd(fd, f.path(name), limit, func(fs.FileMode) error { return nil })
}

// openDir opens a directory to list or sync it.
func (f *files) openDir(name string) (*os.File, error) {
	fd, err := f.at("open", name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.path(name)), nil
}

// lstat returns the info of name, of a link itself if it is one.
func (f *files) lstat(name string) (i info, err error) {
	err = f.beside("stat", name, func(dir int, base string) error {
		var st unix.Stat_t
		err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
		i = info{mode: fs.FileMode(st.Mode & 0o777), size: st.Size, mtime: time.Unix(st.Mtim.Unix())}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
		case unix.S_IFDIR:
			i.mode |= fs.ModeDir
		case unix.S_IFLNK:
			i.mode |= fs.ModeSymlink
		default:
			i.mode |= fs.ModeIrregular
		}
		return err
	})
	return i, err
}

func (f *files) mkdir(name string) error {
	return f.beside("mkdir", name, func(dir int, base string) error { return unix.Mkdirat(dir, base, uint32(permDir)) })
}

func (f *files) unlink(name string) error {
	return f.beside("remove", name, func(dir int, base string) error { return unix.Unlinkat(dir, base, 0) })
}

// removeDir removes an empty directory, and never a file: git may have just put a ref in place
// of a directory.
func (f *files) removeDir(name string) error {
	return f.beside("remove", name, func(dir int, base string) error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
}

// removeDirs removes those of the named directories in a directory that are empty. It opens the
// directory once.
func (f *files) removeDirs(in string, names []string) {
	fd, err := f.at("open", in, searchOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for _, name := range names {
		if checkName(name) == nil && path.Base(name) == name {
			unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
		}
	}
}

func (f *files) moveName(from, to string) error {
	return f.both("rename", from, to, unix.Renameat)
}

func (f *files) addName(from, to string) error {
	return f.both("link", from, to, func(a int, an string, b int, bn string) error { return unix.Linkat(a, an, b, bn, 0) })
}

func (f *files) both(op, from, to string, use func(fromDir int, from string, toDir int, to string) error) error {
	fd, err := f.at(op, path.Dir(from), searchOnly|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return f.beside(op, to, func(dir int, base string) error { return use(fd, path.Base(from), dir, base) })
}

// setMode changes the permissions of a file.
func (f *files) setMode(name string, perm fs.FileMode) error {
	file, err := f.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Chmod(perm)
}

// setTime sets the modification time of a file.
func (f *files) setTime(name string, t time.Time) error {
	ts, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	return f.beside("touch", name, func(dir int, base string) error {
		return unix.UtimesNanoAt(dir, base, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	})
}
