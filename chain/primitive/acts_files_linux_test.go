package primitive

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls whose numbers are the same on every processor, and that the library does not name.
const (
	sysOpenTreeAttr = 467
	sysFileSetattr  = 469
)

// byName opens a path for its name only and does something with the descriptor.
func byName(p string, do func(fd int) error) error {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func selfFD(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// victims are paths by way of the other process.
func (s *scene) victims(rest string) string { return fmt.Sprintf("/proc/%d/%s", s.Victim, rest) }

func chmodAt(p string, mode uintptr) error {
	return call(unix.SYS_FCHMODAT, fromHere, text(p), mode)
}

var soon = []unix.Timespec{{Sec: 1, Nsec: 0}, {Sec: 1, Nsec: 0}}

func touch(p string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, p, soon, 0) }

func setxattr(p, name string) error { return unix.Lsetxattr(p, name, []byte("evil"), 0) }

// aclOthers is an access list that lets everybody read and write (posix_acl_xattr.h).
var aclOthers = []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 6, 0, 255, 255, 255, 255, 32, 0, 6, 0, 255, 255, 255, 255}

const (
	whyModes  = "Landlock knows no modes and times"
	whyNames  = "names and sizes can be seen"
	whyIsOwn  = "its own"
	whySystem = "of the system, without its secrets"
)

// fileDeeds are about files of the same user that were granted to nobody.
var fileDeeds = []deed{
	{"read a private file", "", "aarn", "", func(s *scene) error { return open(s.out("private"), unix.O_RDONLY) }},
	{"read a public file", "", "aarn", "", func(s *scene) error { return open(s.out("public"), unix.O_RDONLY) }},
	{"read a key", "", "aarn", "", func(s *scene) error { return open(s.out("keys/id"), unix.O_RDONLY) }},
	{"list the directory of keys", "", "aarn", "", func(s *scene) error { return open(s.out("keys"), unix.O_RDONLY|unix.O_DIRECTORY) }},
	{"see that a key is there", "", "aaan", whyNames, func(s *scene) error { return unix.Access(s.out("keys/id"), unix.F_OK) }},
	{"open a private file for its name", "", "aaan", whyNames, func(s *scene) error { return byName(s.out("private"), func(int) error { return nil }) }},
	{"open it anew by that descriptor", "", "aarn", "", func(s *scene) error {
		return byName(s.out("private"), func(fd int) error { return open(selfFD(fd), unix.O_RDONLY) })
	}},
	{"go into the directory", "", "aaan", whyNames, func(s *scene) error {
		return call(unix.SYS_CHDIR, text(s.out(""))) // of the whole process: everything else has absolute paths
	}},
	{"watch the directory (inotify)", "", "aaan", whyNames, func(s *scene) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.InotifyAddWatch(fd, s.out(""), unix.IN_ALL_EVENTS)
		return err
	}},
	{"watch everything (fanotify)", "", "arrr rrrr", "", func(*scene) error { return call(unix.SYS_FANOTIFY_INIT, 0, 0) }},
	{"read through a link in the project", "", "aarn", "", func(s *scene) error { return open(s.in("data/link"), unix.O_RDONLY) }},
	{"read by /proc/self/root", "", "aarn", "", func(s *scene) error { return open("/proc/self/root"+s.out("private"), unix.O_RDONLY) }},
	{"read by dots", "", "aarn", "", func(s *scene) error {
		return open(s.in("data/../../../../../../../..")+s.out("private"), unix.O_RDONLY)
	}},
	{"read by another process's root", "", "arrn aarn", "", func(s *scene) error { return open(s.victims("root"+s.out("private")), unix.O_RDONLY) }},
	{"read by another process's directory", "", "arrn aarn", "", func(s *scene) error { return open(s.victims("cwd/private"), unix.O_RDONLY) }},
	{"read by another process's descriptor", "", "arrn aarn", "", func(s *scene) error {
		return open(s.victims(fmt.Sprint("fd/", s.VictimFD)), unix.O_RDONLY)
	}},
	{"start a program outside", "", "aarn", "", func(s *scene) error { return exec.Command(s.out("program")).Run() }},
	{"write a private file", "", "aarn", "", func(s *scene) error { return open(s.out("private"), unix.O_WRONLY) }},
	{"write a file that everybody may", "", "aarn", "", func(s *scene) error { return open(s.out("open"), unix.O_RDWR) }},
	{"write through a link in the project", "", "aarn", "", func(s *scene) error { return open(s.in("data/link"), unix.O_WRONLY) }},
	{"empty a file by opening it", "", "aarn", "", func(s *scene) error { return open(s.out("open"), unix.O_RDONLY|unix.O_TRUNC) }},
	{"empty a file by its name", "", "aarn", "", func(s *scene) error { return unix.Truncate(s.out("open"), 0) }},
	{"make a file outside", "", "aarn", "", func(s *scene) error { return open(s.out("new"), unix.O_WRONLY|unix.O_CREAT) }},
	{"make a file without a name outside", "", "aarn", "", func(s *scene) error { return open(s.out(""), unix.O_WRONLY|unix.O_TMPFILE) }},
	{"make a directory outside", "", "aarn", "", func(s *scene) error { return unix.Mkdir(s.out("newdir"), 0o700) }},
	{"make a link outside", "", "aarn", "", func(s *scene) error { return unix.Symlink("x", s.out("newlink")) }},
	{"make a pipe outside", "", "aarn", "", func(s *scene) error { return unix.Mkfifo(s.out("newfifo"), 0o600) }},
	{"bind a socket outside", "", "aarr", "", func(s *scene) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Bind(fd, &unix.SockaddrUnix{Name: s.out("newsock")})
	}},
	{"write into another's pipe", "", "nnrn", "", func(s *scene) error { return open(s.out("fifo"), unix.O_WRONLY|unix.O_NONBLOCK) }},
	{"take a file in by a hard link", "E3", "aarn", "", func(s *scene) error { return unix.Link(s.out("private"), s.in("data/hard")) }},
	{"take a file in by its descriptor", "E3", "aarn", "", func(s *scene) error {
		return byName(s.out("private"), func(fd int) error {
			return unix.Linkat(unix.AT_FDCWD, selfFD(fd), unix.AT_FDCWD, s.in("data/hard2"), unix.AT_SYMLINK_FOLLOW)
		})
	}},
	{"put a file out by a hard link", "", "aarn", "", func(s *scene) error { return unix.Link(s.in("data/in.txt"), s.out("hard")) }},
	{"move a file in", "", "aarn", "", func(s *scene) error { return unix.Rename(s.out("dir/x"), s.in("data/moved")) }},
	{"move a file out", "", "vvrn", "", func(s *scene) error { return unix.Rename(s.in("data/in.txt"), s.out("dir/")) }},
	{"exchange a file with one outside", "", "aarn", "", func(s *scene) error {
		return unix.Renameat2(unix.AT_FDCWD, s.in("sub/file"), unix.AT_FDCWD, s.out("open"), unix.RENAME_EXCHANGE)
	}},
	{"remove a file outside", "", "aarn", "", func(s *scene) error { return unix.Unlink(s.out("dir/y")) }},
	{"remove a directory outside", "", "vvrn", "", func(s *scene) error { return unix.Rmdir(s.out("keys")) }},
	{"write in another project", "", "aarn", "", func(s *scene) error { return open(s.out("other/.ai/rye.yaml"), unix.O_WRONLY) }},

	{"let others read a file outside", "E3", "aaan", whyModes, func(s *scene) error { return chmodAt(s.out("s2-mode"), 0o644) }},
	{"let others read, through a link", "E3", "aaan", whyModes, func(s *scene) error { return chmodAt(s.in("data/s2-link"), 0o604) }},
	{"let others read, by /proc/self/fd", "E3", "aaan", whyModes, func(s *scene) error {
		return byName(s.out("s2-mode"), func(fd int) error { return chmodAt(selfFD(fd), 0o640) })
	}},
	{"let others read, by fchmodat2", "E3", "aaan", whyModes, func(s *scene) error {
		return byName(s.out("s2-mode"), func(fd int) error {
			return call(unix.SYS_FCHMODAT2, uintptr(fd), text(""), 0o644, unix.AT_EMPTY_PATH)
		})
	}},
	{"let others read, by another's root", "E3", "arrn aarn", "", func(s *scene) error { return chmodAt(s.victims("root"+s.out("keys")), 0o755) }},
	{"let others read, by another's directory", "E3", "arrn aarn", "", func(s *scene) error { return chmodAt(s.victims("cwd/keys"), 0o755) }},
	{"let others write a file outside", "E3", "aarn", "", func(s *scene) error { return chmodAt(s.out("private"), 0o666) }},
	{"let the group write the keys", "E3", "aarn", "", func(s *scene) error { return chmodAt(s.out("keys"), 0o770) }},
	{"make a program outside run as its owner", "E2", "aarr", "", func(s *scene) error { return chmodAt(s.out("program"), 0o4755) }},
	{"change a mode by the name's descriptor", "E3", "vvvn", "nothing but a name", func(s *scene) error {
		return byName(s.out("public"), func(fd int) error { return call(unix.SYS_FCHMOD, uintptr(fd), 0o600) })
	}},
	{"give a file away", "E3", "aarn", "", func(s *scene) error { return unix.Fchownat(unix.AT_FDCWD, s.out("public"), os.Getuid(), -1, 0) }},
	{"give a link away", "E3", "aarn", "", func(s *scene) error {
		return unix.Fchownat(unix.AT_FDCWD, s.out("public"), os.Getuid(), os.Getgid(), unix.AT_SYMLINK_NOFOLLOW)
	}},
	{"give a descriptor away", "E3", "aarn", "", func(s *scene) error {
		return byName(s.out("public"), func(fd int) error {
			return unix.Fchownat(fd, "", os.Getuid(), -1, unix.AT_EMPTY_PATH)
		})
	}},
	{"set the times of a file outside", "E3", "aaan", whyModes, func(s *scene) error { return touch(s.out("s2-times")) }},
	{"set its times by /proc/self/fd", "E3", "aaan", whyModes, func(s *scene) error {
		return byName(s.out("s2-times"), func(fd int) error { return touch(selfFD(fd)) })
	}},
	{"set its times by another's root", "E3", "arrn aarn", "", func(s *scene) error { return touch(s.victims("root" + s.out("public"))) }},
	{"set an attribute of a file outside", "E3", "aarn", "", func(s *scene) error { return setxattr(s.out("public"), "user.rye") }},
	{"set one by a descriptor's name", "E3", "aarn", "", func(s *scene) error {
		return byName(s.out("public"), func(fd int) error { return unix.Setxattr(selfFD(fd), "user.rye", []byte("x"), 0) })
	}},
	{"set one by the newest call", "E3", "vvrr", "", func(s *scene) error {
		return call(sysSetxattrat, fromHere, text(s.out("public")), 0, text("user.rye"), 0, 0)
	}},
	{"set an access list", "E3", "aarn", "", func(s *scene) error {
		return unix.Setxattr(s.out("public"), "system.posix_acl_access", aclOthers, 0)
	}},
	{"remove an attribute", "E3", "aarn", "", func(s *scene) error { return unix.Removexattr(s.out("public"), "user.keep") }},
	{"read an attribute", "E3", "vvan", whyNames, func(s *scene) error {
		_, err := unix.Getxattr(s.out("public"), "user.keep", make([]byte, 8))
		return err
	}},
	{"set a file's flags by the newest call", "E3", "vvrr", "", func(s *scene) error {
		return call(sysFileSetattr, fromHere, text(s.out("public")), 0, 0, 0)
	}},
	{"open by a handle", "E3", "arrr rrrr", "", func(s *scene) error {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.out("private"), 0)
		if err != nil {
			h = unix.NewFileHandle(1, make([]byte, 8))
		}
		root, err := unix.Open(s.Project, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		fd, err := unix.OpenByHandleAt(root, h, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
}

// systemDeeds are about what belongs to the machine.
var systemDeeds = []deed{
	{"read a secret of the system", "E16", "aarr rrrr", "", func(s *scene) error {
		return first(each(append([]string{"/etc/shadow"}, s.Secrets...), func(p string) error { return open(p, unix.O_RDONLY|unix.O_NOFOLLOW) })...)
	}},
	{"read what lies in a private directory of the system", "E16", "aarr rrrr", "", func(s *scene) error {
		return first(each(s.SecretDirs, func(p string) error { return openIn(p) })...)
	}},
	{"list a private directory of the system", "", "aaa* rrrr", "names and sizes in a private directory", func(s *scene) error {
		if len(s.SecretDirs) == 0 && os.Getuid() == 0 {
			return nil // there is none
		}
		return first(each(s.SecretDirs, func(p string) error { return open(p, unix.O_RDONLY|unix.O_DIRECTORY) })...)
	}},
	{"write the system's configuration", "", "aarr rrrr", "", func(*scene) error { return open("/etc/hosts", unix.O_WRONLY) }},
	{"make a file in /etc", "", "aarr rrrr", "", func(*scene) error { return harmlessly("/etc") }},
	{"make a program in /usr", "", "aarr rrrr", "", func(*scene) error { return harmlessly("/usr") }},
	{"change a mode in /etc", "E3", "aaar rrrr", whyModes, func(*scene) error { return chmodAt("/etc/passwd", 0o644) }},
	{"set times in /etc", "E3", "aaar rrrr", whyModes, func(*scene) error {
		var st unix.Stat_t
		if err := unix.Stat("/etc/passwd", &st); err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, "/etc/passwd", []unix.Timespec{st.Atim, st.Mtim}, 0)
	}},
	{"change the mode of a device", "E3", "aarr rrrr", "", func(*scene) error { return chmodAt("/dev/null", 0o666) }},
	{"make a file in /tmp", "", "aarh", whyIsOwn, func(s *scene) error { return open("/tmp/"+s.Abstract, unix.O_WRONLY|unix.O_CREAT) }},
	{"make shared memory in /dev/shm", "", "aarh", whyIsOwn, func(s *scene) error { return open("/dev/shm/"+s.Abstract, unix.O_WRONLY|unix.O_CREAT) }},
	{"open the disk", "", "rrrn", "", func(*scene) error { return open("/dev/vda", unix.O_RDONLY) }},
	{"open the memory", "", "nnnn", "", func(*scene) error { return open("/dev/mem", unix.O_RDONLY) }},
	{"open the kernel's memory", "", "nnnn", "", func(*scene) error { return open("/proc/kcore", unix.O_RDONLY) }},
	{"open the kernel's log", "", "aarn rrrn", "", func(*scene) error { return open("/dev/kmsg", unix.O_WRONLY) }},
	{"name the program of core dumps", "", "aarr rrrr", "", func(*scene) error { return open("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
	{"press the magic key", "", "nnnn", "", func(*scene) error { return open("/proc/sysrq-trigger", unix.O_WRONLY) }},
	{"name the program of modules", "", "nnnn", "", func(*scene) error { return open("/proc/sys/kernel/modprobe", unix.O_WRONLY) }},
	{"make a control group", "", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Mkdir("/sys/fs/cgroup/rye-test", 0o755) })
	}},
	{"leave its control group", "", "nnnn", "", func(*scene) error { return open("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }},
	{"write a device's settings", "", "aarr rrrr", "", func(*scene) error { return open("/sys/kernel/mm/transparent_hugepage/enabled", unix.O_WRONLY) }},
}

// each does something with each path.
func each(paths []string, do func(string) error) []error {
	errs := []error{unix.EACCES} // where there is none
	for _, p := range paths {
		errs = append(errs, do(p))
	}
	return errs
}

// openIn opens whatever lies in a directory.
func openIn(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	return first(each(namesOf(dir, entries), func(p string) error { return open(p, unix.O_RDONLY|unix.O_NOFOLLOW) })...)
}

func namesOf(dir string, entries []os.DirEntry) (all []string) {
	for _, e := range entries {
		all = append(all, filepath.Join(dir, e.Name()))
	}
	return all
}

// harmlessly asks whether a file could be made in a directory.
func harmlessly(dir string) error { return open(dir, unix.O_WRONLY|unix.O_TMPFILE) }

// setIDDeeds try to leave a program that runs as its owner, whoever starts it.
var setIDDeeds = []deed{
	{"a set-id program by fchmodat", "E2", "aarr", "", func(s *scene) error { return withMode(s, 0o4755, chmodAt) }},
	{"a set-gid program", "E2", "aarr", "", func(s *scene) error { return withMode(s, 0o2755, chmodAt) }},
	{"both", "E2", "aarr", "", func(s *scene) error { return withMode(s, 0o6755, chmodAt) }},
	{"by fchmodat2", "E2", "aarr", "", func(s *scene) error {
		return withMode(s, 0o4755, func(p string, mode uintptr) error {
			return call(unix.SYS_FCHMODAT2, fromHere, text(p), mode, 0)
		})
	}},
	{"by fchmod", "E2", "aarr", "", func(s *scene) error { return withMode(s, 0o4755, fchmod) }},
	{"by fchmod with bits that nobody looks at", "E2", "aarr", "", func(s *scene) error { return withMode(s, 0xffff_ffff_0001_0000|0o4755, fchmod) }},
	{"by chmod of what is open for its name", "E2", "aarr", "", func(s *scene) error {
		return withMode(s, 0o4755, func(p string, mode uintptr) error {
			return byName(p, func(fd int) error { return chmodAt(selfFD(fd), mode) })
		})
	}},
	{"by making it with openat", "E2", "aarr", "", func(s *scene) error {
		return made(s.in("data/openat"), call2(unix.SYS_OPENAT, fromHere, text(s.in("data/openat")), unix.O_CREAT|unix.O_WRONLY, 0o4755))
	}},
	{"by making it with openat2", "E2", "aarr", "", func(s *scene) error {
		how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}
		return made(s.in("data/openat2"), call2(unix.SYS_OPENAT2, fromHere, text(s.in("data/openat2")), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how)))
	}},
	{"by making it without a name", "E2", "aarr", "", func(s *scene) error {
		fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, fromHere, text(s.in("data")), unix.O_TMPFILE|unix.O_RDWR, 0o4755, 0, 0)
		if errno != 0 {
			return errno
		}
		defer unix.Close(int(fd))
		return unix.Linkat(unix.AT_FDCWD, selfFD(int(fd)), unix.AT_FDCWD, s.in("data/tmpfile"), unix.AT_SYMLINK_FOLLOW)
	}},
	{"by mknodat", "E2", "aarr", "", func(s *scene) error {
		return call(unix.SYS_MKNODAT, fromHere, text(s.in("data/mknodat")), unix.S_IFREG|0o4755, 0)
	}},
	{"by mknodat without a type", "E2", "aarr", "", func(s *scene) error {
		return call(unix.SYS_MKNODAT, fromHere, text(s.in("data/mknodat2")), 0o6755, 0)
	}},
	{"by a directory that gives its group", "E2", "aarr", "", func(s *scene) error { return chmodAt(s.in("data"), 0o2755) }},
	{"by making such a directory", "E2", "aahh", "the kernel passes the bit over", func(s *scene) error {
		return call(unix.SYS_MKDIRAT, fromHere, text(s.in("data/setgid")), 0o2755)
	}},
	{"by copying one with its mode", "E2", "aarr rrrr", "", func(s *scene) error { return copyOf(s, "cp", "-p") }},
	{"by copying one and its links", "E2", "aarr rrrr", "", func(s *scene) error { return copyOf(s, "cp", "-a") }},
	{"by a hard link to one", "E2", "aarr rrrr", "", func(s *scene) error {
		if err := unix.Link("/usr/bin/passwd", s.in("data/passwd")); err != nil {
			return err
		}
		return unix.Unlink(s.in("data/passwd"))
	}},
	{"by capabilities of a file", "E2", "arrr rrrr", "", func(s *scene) error {
		os.WriteFile(s.in("data/caps"), []byte("x"), 0o755)
		value := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0} // VFS_CAP_REVISION_2
		return unix.Setxattr(s.in("data/caps"), "security.capability", value, 0)
	}},
	{"by capabilities of a descriptor", "E2", "arrr rrrr", "", func(s *scene) error {
		f, err := os.Create(s.in("data/caps2"))
		if err != nil {
			return err
		}
		defer f.Close()
		value := []byte{1, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0} // VFS_CAP_REVISION_3
		return unix.Fsetxattr(int(f.Fd()), "security.capability", value, 0)
	}},
	{"a device in the project", "E2", "arrr rrrr", "", func(s *scene) error { return mknod(s.in("data/null"), unix.S_IFCHR|0o666, 1<<8|3) }},
	{"a disk in the project", "E2", "arrr rrrr", "", func(s *scene) error { return mknod(s.in("data/disk"), unix.S_IFBLK|0o666, 254<<8) }},
	{"a whiteout by a rename", "E35", "**rr", "", func(s *scene) error { // overlayfs does not know it
		return errors.Join(os.WriteFile(s.in("data/renamed"), nil, 0o600), unix.Renameat2(unix.AT_FDCWD, s.in("data/renamed"), unix.AT_FDCWD, s.in("data/renamed2"), unix.RENAME_WHITEOUT))
	}},
	{"a whiteout in the project", "E2", "aarr", "", func(s *scene) error { return mknod(s.in("data/white"), unix.S_IFCHR, 0) }},
	{"rights by starting such a program", "E2", "arrr", "", func(*scene) error { return mayGain() }},
}

func fchmod(p string, mode uintptr) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	return call(unix.SYS_FCHMOD, f.Fd(), mode)
}

// withMode makes a program and gives it a mode.
func withMode(s *scene, mode uintptr, set func(p string, mode uintptr) error) error {
	p := s.in(fmt.Sprintf("data/program%d", unix.Gettid()))
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return err
	}
	return set(p, mode)
}

// call2 makes a system call that returns a descriptor.
func call2(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	fd, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// made says what became of a file: that a call was allowed does not mean that its mode was.
func made(p string, err error) error {
	var st unix.Stat_t
	if err == nil && unix.Stat(p, &st) == nil && st.Mode&(unix.S_ISUID|unix.S_ISGID) == 0 {
		return unix.EPERM
	}
	return err
}

func copyOf(s *scene, command ...string) error {
	to := s.in("data/copied" + filepath.Base(command[1]))
	exec.Command(command[0], append(command[1:], "/usr/bin/passwd", to)...).Run()
	return made(to, nil)
}

func mknod(p string, mode uint32, dev int) error { return unix.Mknodat(unix.AT_FDCWD, p, mode, dev) }

// moved moves something there, and back where that is possible.
func moved(from, to string, flags uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	if err == nil {
		unix.Renameat2(unix.AT_FDCWD, to, unix.AT_FDCWD, from, flags)
	}
	return err
}

// protectedDeeds are about what other programs execute by themselves in the project itself.
var protectedDeeds = []deed{
	{"read .ai", "", "aaaa", "granted", func(s *scene) error { return open(s.in(".ai/rye.yaml"), unix.O_RDONLY) }},
	{"read what is hidden", "", "aarn", "", func(s *scene) error { return open(s.in("hidden/key"), unix.O_RDONLY) }},
	{"write .ai", "E12", "aarr", "", func(s *scene) error { return open(s.in(".ai/rye.yaml"), unix.O_WRONLY) }},
	{"append to a tool", "E12", "aarr", "", func(s *scene) error { return open(s.in(".ai/tools/x.sh"), unix.O_WRONLY|unix.O_APPEND) }},
	{"empty .ai by opening", "E12", "aarr", "", func(s *scene) error { return open(s.in(".ai/rye.yaml"), unix.O_RDONLY|unix.O_TRUNC) }},
	{"empty .ai by name", "E12", "aarr", "", func(s *scene) error { return unix.Truncate(s.in(".ai/rye.yaml"), 0) }},
	{"add a tool", "E12", "aarr", "", func(s *scene) error { return open(s.in(".ai/tools/new"), unix.O_WRONLY|unix.O_CREAT) }},
	{"add a hook", "E12", "aarr", "", func(s *scene) error { return open(s.in(".git/hooks/post-checkout"), unix.O_WRONLY|unix.O_CREAT) }},
	{"write git's configuration", "E12", "aarr", "", func(s *scene) error { return open(s.in(".git/config"), unix.O_RDWR) }},
	{"map git's configuration to write it", "E12", "rrrr", "", func(s *scene) error {
		fd, err := unix.Open(s.in(".git/config"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return err
	}},
	{"open it anew, to write, by /proc/self/fd", "E12", "aarr", "", func(s *scene) error {
		f, err := os.Open(s.in(".git/config"))
		if err != nil {
			return err
		}
		defer f.Close()
		return open(selfFD(int(f.Fd())), unix.O_RDWR)
	}},
	{"the same with a descriptor for the name", "E12", "aarr", "", func(s *scene) error {
		return byName(s.in(".git/config"), func(fd int) error { return open(selfFD(fd), unix.O_RDWR) })
	}},
	{"write it by /proc/self/cwd", "E12", "aarr", "", func(s *scene) error { return open("/proc/self/root"+s.in(".git/config"), unix.O_WRONLY) }},
	{"put a file over git's configuration", "E12", "aarr", "", func(s *scene) error {
		os.WriteFile(s.in("data/config"), []byte("evil"), 0o644)
		return unix.Rename(s.in("data/config"), s.in(".git/config"))
	}},
	{"exchange git's configuration", "E12", "aarr", "", func(s *scene) error {
		os.WriteFile(s.in("data/config2"), []byte("evil"), 0o644)
		return unix.Renameat2(unix.AT_FDCWD, s.in("data/config2"), unix.AT_FDCWD, s.in(".git/config"), unix.RENAME_EXCHANGE)
	}},
	{"link a hook in", "E12", "aarr", "", func(s *scene) error {
		os.WriteFile(s.in("data/hook"), []byte("evil"), 0o755)
		return unix.Link(s.in("data/hook"), s.in(".git/hooks/pre-commit"))
	}},
	{"link a hook out", "E12", "aarr", "", func(s *scene) error { return unix.Link(s.in(".git/hooks/x"), s.in("data/hookout")) }},
	{"point a hook to the project", "E12", "aarr", "", func(s *scene) error { return unix.Symlink("../../data/in.txt", s.in(".git/hooks/pre-push")) }},
	{"move .ai away", "E12", "aarr", "", func(s *scene) error { return moved(s.in(".ai"), s.in("ai2"), 0) }},
	{"move .git away", "E12", "aarr", "", func(s *scene) error { return moved(s.in(".git"), s.in("git2"), 0) }},
	{"put a directory over .git", "E12", "vvrr", "", func(s *scene) error {
		os.MkdirAll(s.in("data/git"), 0o755)
		return unix.Rename(s.in("data/git"), s.in(".git"))
	}},
	{"exchange .git", "E12", "aarr", "", func(s *scene) error {
		os.MkdirAll(s.in("data/git3"), 0o755)
		return moved(s.in("data/git3"), s.in(".git"), unix.RENAME_EXCHANGE)
	}},
	{"move the project away", "E12", "aarr", "", func(s *scene) error { return moved(s.Project, s.Project+"2", 0) }},
	{"remove a hook", "E12", "aarr", "", func(s *scene) error { return unix.Unlink(s.in(".git/hooks/x")) }},
	{"remove .git/hooks", "E12", "vvrr", "", func(s *scene) error {
		unix.Unlink(s.in(".git/hooks/x"))
		return unix.Rmdir(s.in(".git/hooks"))
	}},
	{"make a directory in .git", "E12", "aarr", "", func(s *scene) error { return unix.Mkdir(s.in(".git/modules"), 0o755) }},
	{"make a tool executable", "E12", "aaar", whyModes, func(s *scene) error { return chmodAt(s.in(".ai/s2-tool"), 0o755) }},
	{"let others write a hook", "E12", "nnrr", "", func(s *scene) error { return chmodAt(s.in(".git/hooks/x"), 0o777) }},
	{"set a tool's time", "E12", "aaar", whyModes, func(s *scene) error { return touch(s.in(".ai/s2-tool")) }},
	{"set an attribute of a hook", "E12", "nnrr", "", func(s *scene) error { return setxattr(s.in(".git/hooks/x"), "user.rye") }},
	{"give .git away", "E12", "aarr", "", func(s *scene) error { return unix.Lchown(s.in(".git"), os.Getuid(), os.Getgid()) }},
	{"write .envrc", "E12", "aarr", "", func(s *scene) error { return open(s.in(".envrc"), unix.O_WRONLY) }},
	{"put a file over .envrc", "E12", "aarr", "", func(s *scene) error {
		os.WriteFile(s.in("data/envrc"), []byte("evil"), 0o644)
		return unix.Rename(s.in("data/envrc"), s.in(".envrc"))
	}},
	{"remove .envrc", "E12", "aarr", "", func(s *scene) error { return unix.Unlink(s.in(".envrc")) }},
	{"write in a git directory below", "E12", "aarr", "", func(s *scene) error { return open(s.in("sub/.git/config"), unix.O_WRONLY) }},
	{"take the cover off .git", "E12", "vrrr rrrr", "", func(s *scene) error { return unix.Unmount(s.in(".git"), unix.MNT_DETACH) }},
	{"mount over .git", "E12", "vvrr", "", func(s *scene) error {
		return s.bound(func() error { return unix.Mount(s.in("data"), s.in(".git"), "", unix.MS_BIND, "") })
	}},
	{"move what holds a git directory, and make another", "E12", "aara", "taken away after the run", func(s *scene) error {
		if err := unix.Rename(s.in("sub"), s.in("sub2")); err != nil {
			return err
		}
		return os.MkdirAll(s.in("sub/.git/hooks"), 0o755)
	}},
}
