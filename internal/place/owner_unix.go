//go:build unix

package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// Owned returns nil when only this user and root can change the file at path, or make one
// there. Path and every directory above it must belong to one of the two. Other users must not
// be able to write there, except in a sticky directory such as /tmp. Files that decide about
// trust must be in such a place. Otherwise the error is fault.Auth, with the reason.
func Owned(path string) error { return (*Look)(nil).Owned(path) }

// Owned is the function Owned with the cache.
func (l *Look) Owned(path string) error {
	links, err := ownedUp(l, filepath.Clean(path))
	if err != nil || !links {
		return err
	}
	resolved, err := l.Resolve(path)
	if err != nil {
		return fault.New(fault.Failed, "look at %s: %w", path, err)
	}
	_, err = ownedUp(l, resolved)
	return err
}

// ownedUp checks a path and the directories above it, as far as they exist. It reports
// whether any of them is a link.
func ownedUp(l *Look, path string) (links bool, err error) {
	for first := path; ; {
		st, err := l.Lstat(path)
		switch {
		case err == nil:
			links = links || st.Mode()&fs.ModeSymlink != 0
			if err := ownedHere(path, st, path == first); err != nil {
				return links, err
			}
		case !errors.Is(err, fs.ErrNotExist):
			return links, fault.New(fault.Failed, "look at %s: %w", path, err)
		}
		up := filepath.Dir(path)
		if up == path {
			return links, nil
		}
		path = up
	}
}

// ownedHere checks one file or directory. asked is true for the path of the caller, and false
// for a directory above it.
func ownedHere(path string, st fs.FileInfo, asked bool) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if !mine(sys.Uid) {
		err := fault.New(fault.Auth, "%s belongs to user %d, not to you", path, sys.Uid)
		switch {
		case !asked:
			return err.Advise("keep what you believe below a directory of your own: set HOME, or the XDG directories")
		case os.Geteuid() == 0:
			return err.Advise("with sudo: sudo -H, which has a home of root's own; if it is meant for root: chown root %s", path)
		}
		return err.Advise("if it is yours: sudo chown %d %s", os.Geteuid(), path)
	}
	m := st.Mode()
	others := fs.FileMode(0o002)
	if sys.Gid != sys.Uid && sys.Gid != 0 { // a group with the user's own number has no other members
		others = 0o022
	}
	if m&fs.ModeSymlink == 0 && m.Perm()&others != 0 && (m&fs.ModeSticky == 0 || !m.IsDir()) {
		return fault.New(fault.Auth, "others may write %s (mode %04o)", path, m.Perm()).Mend("chmod go-w %s", path)
	}
	return nil
}

// mine reports whether a file's owner is this user or root. In a user namespace without the
// system's users, root appears as the overflow user.
func mine(uid uint32) bool {
	return uid == 0 || int(uid) == os.Geteuid() || uid == overflowUID && inNamespace()
}

// Writable returns nil when this process may make files in a directory, or in the nearest
// existing one above it.
func Writable(dir string) error {
	for {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		up := filepath.Dir(dir)
		switch {
		case err == nil:
			return nil
		case err != unix.ENOENT || up == dir:
			return fault.New(fault.Failed, "%s cannot be written: %w", dir, err).Mend("chmod u+rwx %s", dir)
		}
		dir = up
	}
}

// behalf is the user for whom a process of root acts, plus one; 0 for none.
var behalf atomic.Int64

// ActFor sets the user for whom this process acts when root runs it: sudo's user, whose
// repositories git also treats as root's own. A program calls it once, before anything else.
func ActFor(uid int) { behalf.Store(int64(uid) + 1) }

// IsUser reports whether a user is the one that runs this process, by git's rule for
// repositories. For a process of root, that is also the user of ActFor. For any other process
// root is not its user.
func IsUser(uid int) bool {
	me := os.Geteuid()
	return uid == me || me == 0 && behalf.Load() == int64(uid)+1
}

const overflowUID = 65534 // of Linux, /proc/sys/kernel/overflowuid

func inNamespace() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	raw, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(raw)), " ") != "0 0 4294967295"
}

// Mine returns nil when the file at path belongs to this user or root; another owner is
// fault.Auth. It does not check who may write the file. It does not follow a link.
func Mine(path string) error {
	uid, err := OwnerOf(path)
	if err == nil && !mine(uint32(uid)) {
		err = fault.New(fault.Auth, "%s belongs to user %d, not to you", path, uid)
	}
	return err
}

// OwnerOf returns the user that the file or directory at path belongs to.
func OwnerOf(path string) (uid int, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid), nil
	}
	return os.Geteuid(), nil
}
