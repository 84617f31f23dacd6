package ward

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func openDisk(project string) (*disk, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	d := &disk{root: root}
	if d.handle, err = root.Open("."); err != nil {
		d.Close()
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.fd(), &st); err != nil {
		d.Close()
		return nil, &fs.PathError{Op: "stat", Path: project, Err: err}
	}
	d.id = infoOf(&st)
	var on unix.Statfs_t
	d.trusted = unix.Fstatfs(d.fd(), &on) == nil && keepsTime[int64(on.Type)]
	return d, nil
}

// keepsTime lists file systems of this machine's own kernel. On a network, or with a user-space
// file system, another program may choose the ctime.
var keepsTime = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.F2FS_SUPER_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true, 0x2fc12fc1: true /* ZFS */, 0xca451a4e: true, /* bcachefs */
}

func (d *disk) fd() int { return int(d.handle.Fd()) }

// stat examines a path, and a link itself. The caller must have checked that the directories
// above are no links: it calls stat for each directory after the one above it.
func (d *disk) stat(rel string) (info, error) {
	if rel == "" {
		rel = "."
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), rel, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return info{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) info {
	return info{dev: uint64(st.Dev), ino: st.Ino, ctime: st.Ctim.Nano(), mode: modeOf(st.Mode), links: uint64(st.Nlink), bytes: st.Size}
}

func modeOf(m uint32) fs.FileMode {
	perm := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	case unix.S_IFREG:
		return perm
	case unix.S_IFLNK:
		return perm | fs.ModeSymlink
	}
	return perm | fs.ModeIrregular
}

var typeOf = map[byte]fs.FileMode{unix.DT_DIR: fs.ModeDir, unix.DT_REG: 0, unix.DT_LNK: fs.ModeSymlink}

// openDir opens a directory, and crosses no link and no mount.
func (d *disk) openDir(rel string, flags int) (int, error) {
	if rel == "" {
		rel = "."
	}
	flags |= unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	for {
		fd, err := unix.Openat2(d.fd(), rel, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
			continue
		case unix.ENOSYS, unix.EPERM: // before Linux 5.6, and in containers that do not know it
			return d.openSteps(rel, flags)
		}
		return fd, err
	}
}

// openSteps is openDir, one name at a time.
func (d *disk) openSteps(rel string, flags int) (int, error) {
	names := strings.Split(rel, "/")
	at := d.fd()
	for i, name := range names {
		f := flags
		if i < len(names)-1 {
			f = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		}
		fd, err := unix.Openat(at, name, f, 0)
		if at != d.fd() {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = fd
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil || uint64(st.Dev) != d.id.dev {
		unix.Close(at)
		return -1, unix.EXDEV
	}
	return at, nil
}

// list reads at most most entries of a directory. With open set, it first makes a directory
// readable that its owner may not read.
func (d *disk) list(rel string, most int, open bool) (listing, error) {
	fd, err := d.openDir(rel, unix.O_RDONLY)
	if err == unix.EACCES && open {
		if d.widen(rel, 0o500) == nil {
			fd, err = d.openDir(rel, unix.O_RDONLY)
		}
	}
	if err != nil {
		return listing{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return listing{}, err
	}
	if open && st.Mode&0o500 != 0o500 { // its names can be read, but not examined
		_ = unix.Fchmod(fd, st.Mode&0o7777|0o500)
	}
	l := listing{info: infoOf(&st)}
	for {
		n, err := unix.Getdents(fd, d.buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return l, err
		}
		for b := d.buf[:n]; len(b) > 0; {
			size := binary.NativeEndian.Uint16(b[16:])
			e := d.entry(fd, b[18], b[19:size])
			b = b[size:]
			if e.name == "." || e.name == ".." {
				continue
			}
			if len(l.entries) == most {
				l.more = true
				return l, nil
			}
			l.entries = append(l.entries, e)
		}
	}
}

// entry makes an entry from the data of getdents64. Some file systems omit the type.
func (d *disk) entry(fd int, typ byte, name []byte) entry {
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	e := entry{name: string(name), mode: fs.ModeIrregular}
	if m, ok := typeOf[typ]; ok {
		e.mode = m
	} else if typ == unix.DT_UNKNOWN {
		var st unix.Stat_t
		if unix.Fstatat(fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			e.mode = modeOf(st.Mode).Type()
		}
	}
	return e
}

// widen adds permissions to a directory. It opens the directory with a handle that needs none.
func (d *disk) widen(rel string, perm uint32) error {
	fd, err := d.openDir(rel, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return unix.Fchmodat(unix.AT_FDCWD, procPath(fd), st.Mode&0o7777|perm, 0)
}

// move renames the entry at rel, of any type, to an absolute path of rye's own.
func (d *disk) move(rel, to string) error {
	dir, name := split(rel)
	fd, err := d.openDir(dir, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Renameat(fd, name, unix.AT_FDCWD, to)
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// crossed reports whether an error means another file system.
func crossed(err error) bool { return errors.Is(err, unix.EXDEV) }
