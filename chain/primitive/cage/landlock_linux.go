package cage

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files, by the right requested. A right that the kernel does not know is masked out;
// handled has the known ones.
const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsExec  = fsRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fsWrite = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	// fsCreate makes, fills and replaces files and directories. It makes no links, sockets or
	// pipes, moves nothing between directories, and removes only empty directories, such as one
	// that was made in vain. It gives no right to read, so hidden files stay hidden.
	fsCreate = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG
	// fsFile are the rights that apply to a file that is not a directory.
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rights returns the kernel's rights for r.
func (r Rights) rights() (all uint64) {
	for _, one := range []struct {
		asked Rights
		given uint64
	}{
		{Read, fsRead}, {Exec, fsExec}, {Write, fsWrite}, {Create, fsCreate},
		{Device, fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		if r&one.asked != 0 {
			all |= one.given
		}
	}
	return all
}

// ABI returns the version of the kernel's Landlock, or 0 without Landlock.
var ABI = sync.OnceValue(func() int {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
})

// handledFS returns all rights on files that a version knows. A handled right is refused unless
// it is granted. Versions are from landlock(7) and the kernel's
// Documentation/userspace-api/landlock.rst.
func handledFS(abi int) uint64 {
	all := uint64(unix.LANDLOCK_ACCESS_FS_REFER - 1) // version 1: thirteen rights
	if abi >= 2 {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// handled returns the rights that the kernel checks for s.
func handled(s *Bounds, abi int) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: handledFS(abi)}
	if abi >= 4 && !s.Net {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 4 && s.Net && s.Ports != nil {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !s.Unix {
			a.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	return a
}

// rules is a ruleset in progress.
type rules struct {
	fd     int
	rights uint64 // handled
}

// newRules returns the complete rules for s.
func newRules(s *Bounds, abi int) (*rules, error) {
	attr := handled(s, abi)
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, errno
	}
	r := &rules{fd: int(fd), rights: attr.Handled_access_fs}
	if err := r.fill(s, abi); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rules) fill(s *Bounds, abi int) error {
	if abi >= 4 && s.Net {
		for _, port := range s.Ports {
			if err := r.allowPort(port); err != nil {
				return err
			}
		}
	}
	for _, g := range s.Grants {
		if err := r.tree(filepath.Clean(g.Path), g.Rights.rights(), g.Avoid); err != nil {
			return err
		}
	}
	return nil
}

func (r *rules) close() { unix.Close(r.fd) }

func (r *rules) allowPort(port uint16) error {
	const ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT
	rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// allow grants rights on a path and everything below it. It follows no link to the path: a cloned
// project must not be able to name ~/.ssh. It skips a missing path and a link.
func (r *rules) allow(path string, rights uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err == unix.ENOSYS { // a rye inside a run
		fd, err = openByName(path)
	}
	switch {
	case err == nil:
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
		return nil
	default:
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsFile
	}
	return r.add(fd, path, rights)
}

// openByName opens a clean absolute path one name after the other, and follows no link.
func openByName(path string) (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil || name == "" {
			return fd, err
		}
		at := fd
		fd, err = unix.Openat(at, name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		unix.Close(at)
		var st unix.Stat_t
		if err == nil && unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			unix.Close(fd)
			return -1, unix.ELOOP
		}
	}
	return fd, err
}

// openDir opens a directory for listing, and follows no link.
func openDir(path string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOSYS {
		var at int
		if at, err = openByName(path); err == nil {
			fd, err = unix.Openat(at, ".", flags, 0)
			unix.Close(at)
		}
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// add grants rights on the file or tree at fd.
func (r *rules) add(fd int, path string, rights uint64) error {
	rights &= r.rights
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "grant", Path: path, Err: errno}
	}
	return nil
}

// tree grants rights on path except for the paths in avoid. A directory that contains one of
// these keeps only the right to list names, and each of its entries is granted by itself.
func (r *rules) tree(path string, rights uint64, avoid []string) error {
	inside := false
	for _, a := range avoid {
		if within(path, a) {
			return nil
		}
		inside = inside || within(a, path)
	}
	if !inside {
		return r.allow(path, rights)
	}
	if err := r.allow(path, rights&unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	dir, err := openDir(path)
	if err != nil {
		return nil // an unreadable directory has nothing to grant
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if err := r.entry(dir, e, filepath.Join(path, e.Name()), rights, avoid); err != nil {
			return err
		}
	}
	return nil
}

// entry grants rights on one entry of a directory that contains a path of avoid. Most entries are
// not near one, and /etc has hundreds. So they are opened from the directory, and their type
// comes from its listing.
func (r *rules) entry(dir *os.File, e os.DirEntry, path string, rights uint64, avoid []string) error {
	near := func(a string) bool { return within(a, path) || within(path, a) }
	switch {
	case e.Type()&os.ModeSymlink != 0:
		return nil
	case slices.ContainsFunc(avoid, near):
		return r.tree(path, rights, avoid)
	case !e.IsDir():
		rights &= fsFile
	}
	fd, err := unix.Openat(int(dir.Fd()), e.Name(), unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // it no longer exists
	}
	defer unix.Close(fd)
	if r.add(fd, path, rights) != nil { // it was replaced meanwhile
		return r.allow(path, rights)
	}
	return nil
}

// within reports whether path is dir or is below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// enforce applies the ruleset to the calling thread only. It needs no_new_privs.
func (r *rules) enforce() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
