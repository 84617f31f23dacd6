package primitive

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/fault"
)

// systemPaths may be read and executed by every program: without them nothing
// starts. Secrets in them are in systemSecrets.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
	"/nix/store", "/gnu/store", "/run/systemd/resolve", "/run/current-system",
}

// systemFacts may be read. /proc shows other processes' names and arguments to
// everybody, but Landlock keeps their environment and memory from those inside.
var systemFacts = []string{"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/sys/class/net"}

var systemDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// systemSecrets are refused to the superuser too, whom permissions do not stop.
var systemSecrets = []string{
	"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh",
	"/etc/ssl/private",
}

// box is a sandbox prepared by ordinary code and put on by a thread.
type box struct {
	tier    Tier
	rules   *rules
	filter  []unix.SockFilter
	limits  []limit
	trace   bool
	outer   bool // the program is bwrap
	mark    Mark
	unbound []string
	took    time.Duration // making it, and putting it on
}

type limit struct {
	name     string
	resource int
	max      uint64
}

var best = sync.OnceValue(func() Tier {
	if landlockABI() >= 1 && seccompKnown && seccompWorks() {
		return S2
	}
	return S1
})

// prepare does everything that needs rights which the thread will give up.
func prepare(c *Call) (*box, error) {
	s := &c.Sandbox
	b := &box{tier: s.Tier, mark: c.Mark, trace: tracing()}
	if s.Tier > best() {
		return nil, fault.New(fault.Denied, "run %s: %s is demanded and this kernel gives %s (Landlock version %d)", c.Argv[0], s.Tier, best(), landlockABI()).
			Mend("rye doctor")
	}
	if s.Tier >= S1 {
		b.limits = rlimits(&s.Limits)
	}
	b.unbound = unbound(c, b)
	if s.Tier < S2 {
		return b, nil
	}
	b.filter = filter(s)
	r, err := newRules(s, landlockABI())
	if err == nil {
		b.rules = r
		err = grant(r, c)
	}
	if err != nil {
		b.close()
		return nil, fault.New(fault.Denied, "confine %s: %w", c.Argv[0], err)
	}
	return b, nil
}

func (b *box) close() {
	if b.rules != nil {
		b.rules.close()
	}
}

// grant fills the ruleset: system, program, then what the caller lists.
func grant(r *rules, c *Call) error {
	s := &c.Sandbox
	hide := canonical(s.Hide)
	if unix.Geteuid() == 0 {
		hide = append(hide, systemSecrets...)
	}
	protect := append(canonical(s.Protect), hide...)
	if err := writable(append(slices.Clip(s.Write), s.Create...)); err != nil {
		return err
	}
	var temp []string
	if c.Temp != "" {
		temp = []string{c.Temp}
	}
	for _, g := range []struct {
		paths  []string
		rights uint64
		avoid  []string
	}{
		{realPaths(), fsExec, hide},
		{systemFacts, fsRead, hide},
		{systemDevices, fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE, hide},
		{[]string{c.Argv[0]}, fsExec, hide},
		{s.Exec, fsExec, hide},
		{s.Read, fsRead, hide},
		{s.Write, fsWrite, protect},
		{s.Create, fsCreate, nil},
		{temp, fsWrite, nil}, // made for this run, in a cache that is protected as a whole
	} {
		for _, p := range g.paths {
			if err := r.tree(filepath.Clean(p), g.rights, g.avoid); err != nil {
				return err
			}
		}
	}
	return nil
}

// writable refuses paths that no right can be given on: the kernel's rules are
// about what exists, and a link may lead anywhere.
func writable(paths []string) error {
	for _, p := range paths {
		if _, err := os.Lstat(p); err != nil {
			return fault.New(fault.Denied, "write access to %q was asked for: %w", p, err).Mend("mkdir -p %s", p)
		}
		if real := resolve(p); real != filepath.Clean(p) {
			return fault.New(fault.Denied, "write access to %q was asked for, which is %q behind a symbolic link", p, real)
		}
	}
	return nil
}

// realPaths are the system paths with links resolved: /bin is often usr/bin.
var realPaths = sync.OnceValue(func() []string {
	var out []string
	for _, p := range systemPaths {
		if real, err := filepath.EvalSymlinks(p); err == nil && (real == p || !within(real, "/usr")) {
			out = append(out, real)
		}
	}
	return out
})

// canonical returns each path both as it is written and as it resolves, so that
// reaching a hidden directory by its other name does not help.
func canonical(paths []string) []string {
	var out []string
	for _, p := range paths {
		p = filepath.Clean(p)
		out = append(out, p)
		if real := resolve(p); real != p {
			out = append(out, real)
		}
	}
	return out
}

// resolve follows links in the part of p that exists.
func resolve(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	dir := filepath.Dir(p)
	if dir == p {
		return p
	}
	return filepath.Join(resolve(dir), filepath.Base(p))
}

// confine gives up rights, on the calling thread only and for good. The order
// matters: capabilities are needed for nothing below, and both kinds of rules
// need no_new_privs.
func (b *box) confine() error {
	if b.tier < S1 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_FS); err == nil {
		// The umask belongs to the whole process until this thread has its own.
		old := unix.Umask(0o077)
		unix.Umask(old | 0o022)
	}
	// bwrap gives them up itself; as root it needs some for its map of users.
	if !b.outer {
		if err := dropCapabilities(); err != nil {
			return fault.New(fault.Denied, "give up capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fault.New(fault.Denied, "set no_new_privs: %w", err)
	}
	if b.tier < S2 {
		return nil
	}
	if err := b.rules.enforce(); err != nil {
		return fault.New(fault.Denied, "enforce Landlock rules: %w", err)
	}
	if err := install(b.filter); err != nil {
		return fault.New(fault.Denied, "install seccomp filter: %w", err)
	}
	return nil
}

// fileCapabilities are those that the superuser keeps, so that files of other
// owners in its own containers stay usable: CHOWN, DAC_OVERRIDE, FOWNER, FSETID.
const fileCapabilities = 1<<0 | 1<<1 | 1<<3 | 1<<4

func dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&hdr, &caps[0]); err != nil {
		return err
	}
	if caps[0].Permitted == 0 && caps[1].Permitted == 0 {
		return nil
	}
	caps[0].Permitted &= fileCapabilities
	caps[0].Effective &= fileCapabilities
	caps[0].Inheritable &= fileCapabilities
	caps[1] = unix.CapUserData{}
	// With no_new_privs an exec by the superuser gives nothing back.
	unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	err := unix.Capset(&hdr, &caps[0])
	runtime.KeepAlive(&caps)
	return err
}

// rlimits turns Limits into what prlimit(2) takes.
func rlimits(l *Limits) []limit {
	all := []struct {
		name     string
		resource int
		value    int64
		def      int64
	}{
		{"processor time", unix.RLIMIT_CPU, l.CPU, 0},
		{"memory", unix.RLIMIT_AS, l.Memory, 0},
		{"file size", unix.RLIMIT_FSIZE, l.File, 4 << 30},
		{"open files", unix.RLIMIT_NOFILE, l.Files, 1024},
		{"processes", unix.RLIMIT_NPROC, l.Procs, 0},
	}
	out := []limit{{"core dumps", unix.RLIMIT_CORE, 0}}
	for _, r := range all {
		if r.value == 0 {
			r.value = r.def
		}
		if r.value > 0 {
			out = append(out, limit{r.name, r.resource, uint64(r.value)})
		}
	}
	return out
}

// tracing reports whether this process may trace its children.
var tracing = sync.OnceValue(func() bool {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return err != nil || bytes.HasPrefix(scope, []byte("0")) || bytes.HasPrefix(scope, []byte("1"))
})

const lateLimits = "resource limits are set some microseconds after the start: tracing is forbidden here, so it cannot be done before"

// unbound names what does not bind in this run, in words for a person.
func unbound(c *Call, b *box) []string {
	var out []string
	s := &c.Sandbox
	if s.Tier < S2 {
		out = append(out, "files, network and system calls are not restricted below S2")
	}
	if s.Tier < S1 {
		out = append(out, "resource limits and no_new_privs are not set below S1")
	}
	if s.Tier >= S1 && !b.trace {
		out = append(out, lateLimits)
	}
	if s.Tier >= S1 && s.Limits.Procs > 0 && unix.Getuid() == 0 {
		out = append(out, "limit on processes: the kernel does not count those of root")
	}
	out = append(out, unboundBy(s, false)...)
	return out
}

// unboundBy names what the rules of S2 leave open; inside of namespaces a part of
// it is closed.
func unboundBy(s *Sandbox, namespaces bool) []string {
	if s.Tier < S2 {
		return nil
	}
	out := unboundRules(s, landlockABI())
	if namespaces {
		out = slices.DeleteFunc(out, func(text string) bool { return strings.HasPrefix(text, "signals to other processes") })
		if s.Unix {
			out = append(out, "sockets of this machine can be reached only where their files are in view")
		}
	}
	return out
}

// unboundRules names what an older Landlock does not know.
func unboundRules(s *Sandbox, abi int) []string {
	var out []string
	if len(s.Create) > 0 {
		out = append(out, "the protected parts of "+strings.Join(s.Create, ", ")+" are kept by the tool's own checks only: the kernel's rules cannot leave them out where new files are made")
	}
	if abi < 3 {
		out = append(out, "truncating files: this kernel's Landlock does not know it")
	}
	if abi < 4 && s.Net && s.Ports != nil {
		out = append(out, "TCP ports: this kernel's Landlock does not know them")
	}
	if abi >= 4 && s.Net && s.Ports != nil {
		out = append(out, "UDP ports are not restricted")
	}
	if s.Net && len(s.Hosts) > 0 {
		out = append(out, "every host can be reached, not only "+strings.Join(s.Hosts, ", "))
	}
	if abi < 5 {
		out = append(out, "ioctl on devices: this kernel's Landlock does not know it")
	}
	if abi < 6 {
		out = append(out, "signals to other processes of this user: this kernel's Landlock does not know them")
	}
	if unix.Getuid() == 0 && strings.Contains(strings.Join(s.Write, "\n"), "/etc") {
		out = append(out, "the superuser was given write access to system configuration")
	}
	return out
}
