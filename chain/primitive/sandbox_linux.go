package primitive

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rye-os/rye/chain/primitive/cage"
	"github.com/rye-os/rye/fault"
)

// systemPaths may be read and executed by every program, because no program starts without them.
// secrets_linux.go lists their secret parts.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt",
	"/nix/store", "/gnu/store", "/run/systemd/resolve", "/run/current-system",
}

// systemFacts may be read. /proc shows the names and arguments of other processes to every
// process, but Landlock protects their environment and memory from those inside.
var systemFacts = []string{"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage", "/sys/class/net"}

// Common returns the parts of the system that every program sees, and the parts of these that
// none sees.
func Common() (seen, never []string) {
	return slices.Concat(systemPaths, systemFacts, []string{"/dev", "/sys"}), secrets()
}

var systemDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// box is a sandbox that ordinary code prepares and a thread applies to itself.
type box struct {
	tier    Tier
	bounds  *cage.Confinement // from S2 on
	limits  []cage.Limit
	trace   bool
	mark    Mark
	unbound []string
	took    time.Duration // making and applying it
}

// best is the highest tier without namespaces.
var best = sync.OnceValue(func() Tier {
	if cage.Works() {
		return S2
	}
	return S1
})

// prepare does all the work that needs the rights that the thread will give up.
func prepare(c *Call) (*box, error) {
	s := &c.Sandbox
	b := &box{tier: s.Tier, mark: c.Mark, trace: tracing()}
	if s.Tier > best() {
		return nil, fault.New(fault.Denied, "run %s: %s is required and this kernel gives %s (Landlock version %d)", c.Argv[0], s.Tier, best(), cage.ABI()).
			Mend("rye doctor")
	}
	if s.Tier >= S1 {
		b.limits = rlimits(&s.Limits, 0)
	}
	b.unbound = unbound(c, b.trace)
	if s.Tier < S2 {
		return b, nil
	}
	if err := writable(append(slices.Clip(s.Write), s.Create...)); err != nil {
		return nil, err
	}
	all := bounds(c, secrets())
	var err error
	if b.bounds, err = cage.Prepare(&all); err != nil {
		return nil, fault.New(fault.Denied, "confine %s: %w", c.Argv[0], err)
	}
	return b, nil
}

func (b *box) close() { b.bounds.Close() }

// bounds returns the kernel's rules for the program: the system, the program, and then the
// caller's lists, but never a secret. Under S3 the view excludes the hidden paths and protects
// the others, so the rules have to exclude nothing else from a tree.
func bounds(c *Call, secret []string) cage.Bounds {
	s := &c.Sandbox
	inside := s.Tier >= S3
	hide, protect := secret, secret
	if !inside {
		hide = append(canonical(s.Hide), secret...)
		protect = append(canonical(s.Protect), hide...)
	}
	var all []cage.Grant
	grant := func(rights cage.Rights, avoid []string, paths ...string) {
		for _, p := range paths {
			all = append(all, cage.Grant{Path: p, Rights: rights, Avoid: avoid})
		}
	}
	grant(cage.Exec, hide, realPaths()...)
	grant(cage.Read, hide, systemFacts...)
	grant(cage.Read, nil, resolve(nameServers))
	grant(cage.Device, nil, systemDevices...)
	grant(cage.Exec, hide, c.Argv[0])
	grant(cage.Exec, hide, s.Exec...)
	grant(cage.Read, hide, s.Read...)
	grant(cage.Write, protect, s.Write...)
	grant(cage.Create, nil, s.Create...)
	if c.Temp != "" {
		grant(cage.Write, nil, c.Temp) // made for this run, in a cache that is protected as a whole
	}
	if inside {
		grant(cage.Exec, nil, cage.FilesDir)
		grant(cage.Write|cage.Exec, nil, cage.TempDir, cage.SharedDir) // for this run alone
		grant(cage.Device, nil, "/dev/pts", "/dev/tty")
		if c.tunnel() {
			grant(cage.Exec, nil, cage.ConnectPath)
		}
	}
	b := cage.Bounds{Grants: all, Net: s.Net || inside || len(s.Listen) > 0, Ports: s.Ports, Unix: s.Unix, Inside: inside}
	switch {
	case s.own():
		b.Ports = nil // a network in which everything is the program's
	case len(s.Listen) > 0 && !s.Net && !inside:
		b.Ports = []uint16{} // it serves, and connects to nothing
	}
	return b
}

// own reports whether the program gets a network of its own that leads out.
func (s *Sandbox) own() bool { return s.Net && s.Own && s.Tier >= S3 }

// doors reports whether the program's own network has ways out or in.
func (s *Sandbox) doors() bool {
	return s.own() || !s.Net && len(s.Listen) > 0 && s.Tier >= S3
}

// writable refuses paths that cannot be granted: the kernel's rules need an existing path, and a
// link may lead anywhere.
func writable(paths []string) error {
	for _, p := range paths {
		if _, err := os.Lstat(p); err != nil && slices.ContainsFunc(paths, func(q string) bool { return q != p && within(filepath.Clean(p), filepath.Clean(q)) }) {
			continue // it can be made in the writable directory around it
		} else if err != nil {
			return fault.New(fault.Denied, "write access to %q was requested: %w", p, err).Mend("mkdir -p %s", p)
		}
		if real := resolve(p); real != filepath.Clean(p) {
			return fault.New(fault.Denied, "write access to %q was requested, which is %q behind a symbolic link", p, real)
		}
		for _, system := range systemPaths {
			if within(system, filepath.Clean(p)) {
				return fault.New(fault.Denied, "write access to %q was requested, which holds %s", p, system)
			}
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

// canonical returns each path as it is written and as it resolves, so that a second name of a
// hidden directory does not help.
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

// confine gives up rights, on the calling thread only and for good. The order matters: no later
// step needs capabilities, and both kinds of rules need no_new_privs.
func (b *box) confine() error {
	if b.tier < S1 {
		return nil
	}
	cage.Umask()
	if err := cage.DropCapabilities(cage.FileCapabilities); err != nil {
		return fault.New(fault.Denied, "give up capabilities: %w", err)
	}
	if err := cage.NoNewPrivileges(); err != nil {
		return fault.New(fault.Denied, "set no_new_privs: %w", err)
	}
	if b.tier < S2 {
		return nil
	}
	if err := b.bounds.Confine(); err != nil {
		return fault.New(fault.Denied, "%w", err)
	}
	return nil
}

// tracing reports whether this process may trace its children.
var tracing = sync.OnceValue(func() bool {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	return err != nil || bytes.HasPrefix(scope, []byte("0")) || bytes.HasPrefix(scope, []byte("1"))
})
