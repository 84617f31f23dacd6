package primitive

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreignProgram makes one system call by the table of 32-bit programs (getpid, int 0x80),
// and ends well if it lives to.
var foreignProgram = append([]byte{
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	2, 0, 62, 0, 1, 0, 0, 0, 0x78, 0, 0x40, 0, 0, 0, 0, 0,
	64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0,
	0x90, 0, 0, 0, 0, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 0, 0,
	0, 0x10, 0, 0, 0, 0, 0, 0,
}, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05)

// foreign starts it. A kernel without such a table ends it by another signal.
func foreign(s *scene) error {
	err := exec.Command(s.in("foreign")).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGSYS {
		return unix.EPERM
	}
	return unix.EINVAL
}

// oldDeeds are those of calls that newer processors do not have.
var oldDeeds = []deed{
	{"a set-id program by chmod", "E2", "aarr", "", func(s *scene) error {
		return withMode(s, 0o4755, func(p string, mode uintptr) error { return call(unix.SYS_CHMOD, text(p), mode) })
	}},
	{"a set-id program by open", "E2", "aarr", "", func(s *scene) error {
		return made(s.in("data/open"), call2(unix.SYS_OPEN, text(s.in("data/open")), unix.O_CREAT|unix.O_WRONLY, 0o6755))
	}},
	{"a set-id program by creat", "E2", "aarr", "", func(s *scene) error {
		return made(s.in("data/creat"), call2(unix.SYS_CREAT, text(s.in("data/creat")), 0o4755))
	}},
	{"a set-id program by mknod", "E2", "aarr", "", func(s *scene) error {
		return call(unix.SYS_MKNOD, text(s.in("data/mknod")), unix.S_IFREG|0o4755, 0)
	}},
	{"let others read by chmod", "E3", "aaan", whyModes, func(s *scene) error { return call(unix.SYS_CHMOD, text(s.out("s2-mode")), 0o644) }},
	{"let others write by chmod", "E3", "aarn", "", func(s *scene) error { return call(unix.SYS_CHMOD, text(s.out("private")), 0o666) }},
	{"give away by chown", "E3", "aarn", "", func(s *scene) error {
		return call(unix.SYS_CHOWN, text(s.out("public")), none, uintptr(unix.Getgid()))
	}},
	{"give away by lchown", "E3", "aarn", "", func(s *scene) error {
		return call(unix.SYS_LCHOWN, text(s.out("public")), none, uintptr(unix.Getgid()))
	}},
	{"set times by utimes", "E3", "aaan", whyModes, func(s *scene) error { return unix.Utimes(s.out("s2-times"), make([]unix.Timeval, 2)) }},
	{"set times by futimesat", "E3", "aaan", whyModes, func(s *scene) error {
		return call(unix.SYS_FUTIMESAT, fromHere, text(s.out("s2-times")), 0)
	}},
	{"ports of the processor (iopl)", "", "rrrr", "", func(*scene) error { return call(unix.SYS_IOPL, 9) }},
	{"ports of the processor (ioperm)", "", "rrrr", "", func(*scene) error { return call(unix.SYS_IOPERM, none, 1, 1) }},
	{"segments of the processor", "", "aarr", "", func(*scene) error { return call(unix.SYS_MODIFY_LDT, 99) }},
	{"a call by the x32 table", "", "rrrr", "", func(*scene) error { return call(0x40000000 | unix.SYS_GETPID) }},
	{"a rename by an old call out", "", "vvrn", "", func(s *scene) error { return call(unix.SYS_RENAME, text(s.in("data/in.txt")), text(s.out("dir/"))) }},
}
