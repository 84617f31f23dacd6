package cage

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// hardened are the attributes of every tree in the view: no program in it runs as another user,
// and its devices cannot be used.
const hardened = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// view puts the files of the orders into the new root. It opens and holds every source before it
// mounts the first one, by the source's own path and through no link. So no other process can
// exchange a source afterwards.
//
// It returns the ids of the mounts for Kept, by path.
func (o *Orders) view(handed int) (kept map[string]uint64, err error) {
	trees := make(map[int]int, len(o.Mounts)) // descriptors, by index of the mount
	for i, m := range o.Mounts {
		fd, err := m.tree(handed)
		if err != nil {
			return nil, fmt.Errorf("show %q: %w", m.Source, err)
		}
		if fd >= 0 {
			trees[i] = fd
			defer unix.Close(fd)
		}
	}
	kept = map[string]uint64{}
	for i, m := range o.Mounts {
		if err := m.attach(trees[i]); err != nil {
			return nil, fmt.Errorf("mount %q: %w", m.Path, err)
		}
		if m.Kind == Kept {
			kept[m.Path] = mountAt(m.Path)
		}
	}
	if err := o.Names.replace(); err != nil {
		return nil, fmt.Errorf("name the hosts in %q: %w", o.Names.Path, err)
	}
	if err := o.layOut(); err != nil {
		return nil, fmt.Errorf("lay out the files of the run: %w", err)
	}
	if err := o.stand(); err != nil {
		return nil, fmt.Errorf("stand in %q: %w", o.Dir, err)
	}
	return kept, dropOldRoot()
}

// stand makes the program's directory if it is not in view. Among the temporary files that
// directory would be writable, and its files would be lost after the run. So it is made
// read-only.
func (o *Orders) stand() error {
	if o.Dir == "" || o.Dir == TempDir {
		return nil
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if mountAt(o.Dir) != mountAt(TempDir) {
		return nil
	}
	at, err := openAt(o.Dir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	// The tree also has the mounts below; these stay as writable as they are.
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | hardened}); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// oldRoot has the system's files until the view is made.
const oldRoot = "/.old"

const (
	procDir = "/proc"
	devDir  = "/dev"

	// SharedDir is shared memory. It links to TempDir and shares its room. If the view has files of
	// the system below it, it is a directory with as much room of its own.
	SharedDir = "/dev/shm"
)

// newRoot makes an empty tree the root, with the old root below it.
func newRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to oneself: %w", err)
	}
	const base = "/proc" // any directory that exists on every system
	if err := unix.Mount("rye", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=16m"); err != nil {
		return err
	}
	if err := os.Mkdir(base+oldRoot, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(base, base+oldRoot); err != nil {
		return err
	}
	return os.Chdir("/")
}

// dropOldRoot comes last, because /proc can be mounted only while another one is visible.
func dropOldRoot() error {
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Remove(oldRoot); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | hardened})
}

// tree opens the part of the system that a mount shows; -1 for a mount of no such part.
func (m Mount) tree(handed int) (int, error) {
	switch m.Kind {
	case Shown:
		return clone(oldRoot+m.Source, unix.MOUNT_ATTR_RDONLY|hardened)
	case Given:
		return clone(oldRoot+m.Source, hardened)
	case Handed:
		return handed, nil
	}
	return -1, nil
}

// clone returns a separate tree with the files at a path and the mounts below it. It follows no
// link.
func clone(source string, attr uint64) (int, error) {
	at, err := openAt(source)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return cloneAt(at, attr)
}

func cloneAt(at int, attr uint64) (int, error) {
	fd, err := unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func openAt(p string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
}

// attach puts a mount into the view. tree is the part of the system that it shows.
func (m Mount) attach(tree int) error {
	switch m.Kind {
	case Shown, Given, Handed:
		return m.place(tree)
	case Kept:
		return m.keep()
	case Gone:
		return m.cover()
	case Link:
		if err := os.MkdirAll(path.Dir(m.Path), 0o755); err != nil {
			return err
		}
		return os.Symlink(m.Source, m.Path)
	case Tmpfs:
		return m.tmpfs("mode=1777")
	case Proc, Dev:
		return nil // they already exist
	}
	return fmt.Errorf("an unknown kind of mount, %d", m.Kind)
}

// place moves a tree to its path, which it makes if necessary.
func (m Mount) place(tree int) error {
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	if err := makeTarget(m.Path, st.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	to, err := openAt(m.Path)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// makeTarget makes a directory, or an empty file, as a mount point. It makes nothing in a tree of
// the system, so a missing path there cannot be mounted over.
func makeTarget(p string, dir bool) error {
	if _, err := os.Lstat(p); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(p, 0o755)
	}
	if err := os.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// keep makes a path read-only by mounting it on itself. Source and target are one descriptor, so
// no other process can interfere.
func (m Mount) keep() error {
	at, err := openAt(m.Path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil // it no longer exists; look checks for its replacement at the end
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := cloneAt(at, unix.MOUNT_ATTR_RDONLY|hardened)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// cover hides the file or tree at a path.
func (m Mount) cover() error {
	at, err := openAt(m.Path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return err
	}
	tree, err := -1, error(nil)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		tree, err = emptyTree()
	} else {
		tree, err = clone(oldRoot+"/dev/null", unix.MOUNT_ATTR_RDONLY|hardened)
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// emptyTree returns a directory with nothing in it.
func emptyTree() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY|hardened)
}

func (m Mount) tmpfs(options string) error {
	if err := os.MkdirAll(m.Path, 0o755); err != nil {
		return err
	}
	if m.Size > 0 {
		options += ",size=" + strconv.FormatInt(m.Size, 10) + ",nr_inodes=" + strconv.FormatInt(max(1000, m.Size/4096), 10)
	}
	return unix.Mount("rye", m.Path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// mountProc shows the processes of the namespace. Some containers forbid this mount; they get no
// S3.
func mountProc() error {
	if err := os.Mkdir(procDir, 0o755); err != nil {
		return err
	}
	return unix.Mount("proc", procDir, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

// mountDevices shows the harmless devices and the namespace's own terminals.
func mountDevices() error {
	m := Mount{Path: devDir}
	if err := m.tmpfs("mode=755,size=64k"); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		// Read-only protects the device's own permissions. The device can still be written to.
		tree, err := clone(oldRoot+"/dev/"+name, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		err = Mount{Path: path.Join(m.Path, name)}.place(tree)
		unix.Close(tree)
		if err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, path.Join(m.Path, name)); err != nil {
			return err
		}
	}
	pts := path.Join(m.Path, "pts")
	if err := os.Mkdir(pts, 0o755); err != nil {
		return err
	}
	return unix.Mount("devpts", pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=600")
}

// layOut writes the files of the run. No process outside sees them, and no process inside can
// write them.
func (o *Orders) layOut() error {
	if len(o.Files) == 0 {
		return nil
	}
	if err := (Mount{Path: FilesDir}).tmpfs("mode=755"); err != nil {
		return err
	}
	for _, f := range o.Files {
		to := filepath.Join(FilesDir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o444)
		if f.Exec {
			mode = 0o555
		}
		w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = w.Write(f.Data)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return unix.MountSetattr(unix.AT_FDCWD, FilesDir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | hardened})
}

// replace puts a file over one of the view, which cannot be written.
func (f *File) replace() error {
	if f.Path == "" {
		return nil
	}
	to, err := openAt(f.Path)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	const made = "/.file" // in the new root
	if err := os.WriteFile(made, f.Data, 0o444); err != nil {
		return err
	}
	defer os.Remove(made) // the mount keeps the file
	tree, err := clone(made, unix.MOUNT_ATTR_RDONLY|hardened)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}
