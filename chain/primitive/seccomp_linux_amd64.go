package primitive

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// x32Bit marks the calls of the x32 interface, which have other numbers.
const x32Bit = 0x40000000

var deniedHere = []uintptr{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT}

func archRules() []unix.SockFilter {
	return []unix.SockFilter{jump(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1), ret(retEPERM)}
}
