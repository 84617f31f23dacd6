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

// Rights on files, by what a caller asks for. A right that the kernel does not
// know yet is masked out; handled names those that it does.
const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsExec  = fsRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fsWrite = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	// fsCreate makes, fills and replaces files and directories: no links, sockets or
	// pipes, nothing is moved between directories, no directory is removed but an
	// empty one that was made in vain. It gives no right to read, so what is hidden stays so.
	fsCreate = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG
	// fsFile are the rights that mean something for a file that is no directory.
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rights are what the kernel's rules call r.
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

// ABI returns the version of the kernel's Landlock, 0 when there is none.
var ABI = sync.OnceValue(func() int {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
})

// handledFS are all the rights on files that a version knows: what is handled and
// not granted is refused. Versions from landlock(7) and the kernel's
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

// handled says what the kernel shall watch for s.
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

// rules is a ruleset being filled.
type rules struct {
	fd     int
	rights uint64 // handled
}

// newRules returns the rules for s, filled.
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

// allow grants rights on a path and what is below it. The path is opened without
// following any link: a cloned project must not be able to name ~/.ssh. What does
// not exist, or is a link, is passed over.
func (r *rules) allow(path string, rights uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err == unix.ENOSYS { // a rye within a run
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

// openDir opens a directory to be listed, through no link.
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

// add grants rights on what fd is.
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

// tree grants rights on path except for what lies in avoid. Directories on the
// way to something avoided keep only the right to list names, below them each
// entry is granted by itself.
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
		return nil // nothing to grant in what cannot be read
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

// entry grants rights on one entry of a directory that holds something avoided. Most are
// far from it, and there are hundreds in /etc: those are opened from the directory, and
// what they are is known from its list.
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
		return nil // it is gone
	}
	defer unix.Close(fd)
	if r.add(fd, path, rights) != nil { // it became something else meanwhile
		return r.allow(path, rights)
	}
	return nil
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// enforce puts the ruleset on the calling thread only. It needs no_new_privs.
func (r *rules) enforce() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
