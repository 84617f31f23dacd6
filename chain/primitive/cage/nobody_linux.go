package cage

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// overflow is the user and the group that a namespace shows for unknown ones.
const overflow = 65534

// Nobody returns a descriptor of a user namespace, for Disown. The namespace maps neither the
// superuser nor any other ordinary user. Only the superuser of the system can make it.
func Nobody() (ns int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	news, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	c := newCalls()
	defer runtime.KeepAlive(c)
	c.keepOnly(news[1])
	c.add("wait", unix.SYS_READ, uintptr(news[1]), at(c, new(byte)), 1).least = 1 // for the end of this function
	pid, err := c.start(unix.CLONE_NEWUSER|unix.CLONE_VM, news[1])
	unix.Close(news[1])
	if err != nil {
		unix.Close(news[0])
		return -1, fmt.Errorf("make a namespace of users: %w", err)
	}
	err = writeMaps(pid, overflow, overflow)
	if err == nil {
		ns, err = unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	unix.Close(news[0])
	collect(pid)
	if err != nil {
		return -1, fmt.Errorf("make a namespace of users: %w", err)
	}
	return ns, nil
}

// Disown returns a read-only tree with the files at a path. The user namespace maps no owner of
// these files. So every user who opens a file needs the permission for others. Some file systems
// cannot do this.
func Disown(path string, nobody int) (tree int, err error) {
	at, err := openAt(path)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(at)
	tree, err = unix.OpenTree(at, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, &os.PathError{Op: "open_tree", Path: path, Err: err}
	}
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_RDONLY | hardened, Userns_fd: uint64(nobody)}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return -1, errors.Join(&os.PathError{Op: "mount_setattr", Path: path, Err: err}, unix.Close(tree))
	}
	return tree, nil
}
