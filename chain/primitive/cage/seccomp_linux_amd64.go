package cage

import (
	"slices"

	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_X86_64

// x32Bit marks the calls of the x32 interface, which have other numbers.
const x32Bit = 0x40000000

var deniedHere = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}

func archRules() []unix.SockFilter {
	return []unix.SockFilter{jump(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1), ret(retEPERM)}
}

// oldModes is modes for calls that newer processors do not have.
func oldModes(mode, opened func(arg, bits uint32) []unix.SockFilter, bits uint32) []unix.SockFilter {
	return slices.Concat(on(unix.SYS_CHMOD, mode(1, bits)...), on(unix.SYS_CREAT, mode(1, setID)...), on(unix.SYS_MKNOD, mode(1, setID)...),
		on(unix.SYS_OPEN, opened(1, 2)...))
}

var oldOwners = []uintptr{unix.SYS_CHOWN, unix.SYS_LCHOWN}
