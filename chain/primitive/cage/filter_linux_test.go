package cage

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// asked is a system call as a filter sees it: struct seccomp_data, seccomp(2).
type asked struct {
	nr   uintptr
	args [6]uint64
	arch uint32 // 0: that of this program
}

// answer runs a filter as the kernel does. Only what filter writes is known.
func answer(t *testing.T, p []unix.SockFilter, c asked) uint32 {
	t.Helper()
	var data [64]byte
	if c.arch == 0 {
		c.arch = auditArch
	}
	binary.LittleEndian.PutUint32(data[dataNr:], uint32(c.nr))
	binary.LittleEndian.PutUint32(data[dataArch:], c.arch)
	for i, a := range c.args {
		binary.LittleEndian.PutUint64(data[dataArgs+8*i:], a)
	}
	var acc uint32
	for at := 0; at < len(p); at++ {
		jump := func(yes bool) {
			if yes {
				at += int(p[at].Jt)
			} else {
				at += int(p[at].Jf)
			}
		}
		switch k := p[at].K; p[at].Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = binary.LittleEndian.Uint32(data[k:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= k
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(acc == k)
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			jump(acc > k)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(acc >= k)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(acc&k != 0)
		case unix.BPF_RET | unix.BPF_K:
			return k
		default:
			t.Fatalf("instruction %d: code %#x", at, p[at].Code)
		}
	}
	t.Fatal("the filter ends without an answer")
	return 0
}

// TestFilterAnswers: what the filter answers to calls that a test cannot make, for want of an
// architecture, of rights, of a disk with quotas or of a network, beside some that others make.
func TestFilterAnswers(t *testing.T) {
	plain, inside := &Bounds{}, &Bounds{Inside: true}
	net, ports := &Bounds{Net: true}, &Bounds{Net: true, Ports: []uint16{443}}
	local := &Bounds{Unix: true}
	const fast = unix.MSG_FASTOPEN
	for name, tc := range map[string]struct {
		bounds *Bounds
		call   asked
		want   uint32
	}{
		"an ordinary call":               {plain, asked{nr: unix.SYS_READ}, retAllow},
		"of another architecture":        {plain, asked{nr: unix.SYS_READ, arch: unix.AUDIT_ARCH_I386}, retKill},
		"of another, in namespaces":      {inside, asked{nr: unix.SYS_READ, arch: unix.AUDIT_ARCH_ARM}, retKill},
		"newer than rye":                 {plain, asked{nr: newestCall + 1}, retNoSys},
		"the newest that rye knows":      {plain, asked{nr: newestCall}, retAllow},
		"quotas":                         {plain, asked{nr: unix.SYS_QUOTACTL}, retEPERM},
		"quotas by a descriptor":         {plain, asked{nr: unix.SYS_QUOTACTL_FD}, retEPERM},
		"clone3":                         {plain, asked{nr: unix.SYS_CLONE3}, retNoSys},
		"a process":                      {plain, asked{nr: unix.SYS_CLONE, args: [6]uint64{uint64(unix.SIGCHLD)}}, retAllow},
		"a namespace":                    {plain, asked{nr: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUSER}}, retEPERM},
		"a sibling":                      {plain, asked{nr: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_PARENT}}, retEPERM},
		"a namespace of times":           {plain, asked{nr: unix.SYS_UNSHARE, args: [6]uint64{newTime}}, retEPERM},
		"setuid":                         {plain, asked{nr: unix.SYS_FCHMOD, args: [6]uint64{0, 0o4755}}, retEPERM},
		"setuid, in namespaces":          {inside, asked{nr: unix.SYS_FCHMODAT, args: [6]uint64{0, 0, 0o4755}}, retEPERM},
		"open to others":                 {plain, asked{nr: unix.SYS_FCHMOD, args: [6]uint64{0, 0o666}}, retEPERM},
		"open to others, in namespaces":  {inside, asked{nr: unix.SYS_FCHMOD, args: [6]uint64{0, 0o666}}, retAllow},
		"a setuid file":                  {plain, asked{nr: unix.SYS_OPENAT, args: [6]uint64{0, 0, unix.O_CREAT, 0o4755}}, retEPERM},
		"openat2":                        {plain, asked{nr: unix.SYS_OPENAT2}, retNoSys},
		"memory of others":               {plain, asked{nr: unix.SYS_SHMGET}, retEPERM},
		"memory of others in namespaces": {inside, asked{nr: unix.SYS_SHMGET}, retAllow},
		"tracing":                        {plain, asked{nr: unix.SYS_PTRACE, args: [6]uint64{unix.PTRACE_ATTACH}}, retEPERM},
		"tracing, high bits":             {plain, asked{nr: unix.SYS_PTRACE, args: [6]uint64{1 << 32}}, retEPERM},
		"being traced":                   {plain, asked{nr: unix.SYS_PTRACE}, retAllow},
		"being traced, in namespaces":    {inside, asked{nr: unix.SYS_PTRACE}, retEPERM},
		"limits of others":               {plain, asked{nr: unix.SYS_PRLIMIT64, args: [6]uint64{1}}, retEPERM},
		"typing into a terminal":         {plain, asked{nr: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCSTI}}, retEPERM},
		"pasting into a terminal":        {plain, asked{nr: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCLINUX}}, retEPERM},
		"the size of a terminal":         {plain, asked{nr: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCGWINSZ}}, retAllow},
		"a socket without a network":     {plain, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM}}, retEPERM},
		"a socket":                       {net, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}}, retAllow},
		"a raw socket":                   {net, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_RAW}}, retEPERM},
		"a packet socket":                {net, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_PACKET, unix.SOCK_DGRAM}}, retEPERM},
		"a local socket":                 {net, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}}, retEPERM},
		"a local socket, asked for":      {local, asked{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}}, retAllow},
		"a pair of datagrams":            {plain, asked{nr: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}}, retEPERM},
		"fast open by sendto":            {ports, asked{nr: unix.SYS_SENDTO, args: [6]uint64{3: fast}}, retEPERM},
		"fast open by sendmsg":           {ports, asked{nr: unix.SYS_SENDMSG, args: [6]uint64{2: fast}}, retEPERM},
		"fast open by sendmmsg":          {ports, asked{nr: unix.SYS_SENDMMSG, args: [6]uint64{3: fast}}, retEPERM},
		"sending":                        {ports, asked{nr: unix.SYS_SENDTO}, retAllow},
		"fast open to any port":          {net, asked{nr: unix.SYS_SENDTO, args: [6]uint64{3: fast}}, retAllow},
	} {
		if got := answer(t, filter(tc.bounds), tc.call); got != tc.want {
			t.Errorf("%s: %#x, want %#x", name, got, tc.want)
		}
	}
}

// TestHandledFiles: every right on files that a version of Landlock knows is watched. The
// numbers are from landlock(7): thirteen rights, and one more each.
func TestHandledFiles(t *testing.T) {
	for abi, want := range map[int]uint64{1: 1<<13 - 1, 2: 1<<14 - 1, 3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 6: 1<<16 - 1} {
		if got := handledFS(abi); got != want {
			t.Errorf("version %d: %#x, want %#x", abi, got, want)
		}
	}
	if Write.rights()&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV != 0 || Read.rights()&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV != 0 {
		t.Error("who may read and write files may command devices")
	}
	if Device.rights()&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV == 0 {
		t.Error("who may use a device may not command it")
	}
}
