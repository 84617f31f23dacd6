package primitive

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
)

// Seatbelt is the sandbox of macOS. A profile is a text with rules, in which the last rule that
// matches an act decides. Its language has no specification. The sources of these rules are the
// profiles of sandbox-runtime 0.0.83 and of Codex, and Apple's own in /System/Library/Sandbox.

// A profile is the text of a Seatbelt profile and the values of its parameters. No path is in the
// text: a rule names a parameter, and sandbox-exec gets the path as an argument of its own. So no
// path can end a string in the text, whatever characters it has.
type profile struct {
	text   string
	values []string // NAME=path, in the order of the rules
}

// untestedSeatbelt is the standing of the profile, in words for a person.
const untestedSeatbelt = "a Seatbelt profile (macOS) restricts files and network, but it is untested here, so it makes no tier"

// sandboxExec is the program of macOS that starts another one under a profile.
const sandboxExec = "/usr/bin/sandbox-exec"

// argv returns the command that starts program under p.
func (p profile) argv(program []string) []string {
	argv := []string{sandboxExec}
	for _, v := range p.values {
		argv = append(argv, "-D", v)
	}
	return append(append(argv, "-p", p.text), program...)
}

// seatbeltBase are the rules of every program: itself and its children, facts about the machine,
// the system's files, and terminals that it makes. A terminal of another program has no such
// extension. The services hold no data of the user. The one for keys (SecurityServer) is not
// among them. /System/Volumes/Data holds all files of all users a second time.
const seatbeltBase = `(version 1)
(deny default)

; processes
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow ipc-posix-sem)
(allow ipc-posix-shm)

; the machine
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax" "kern.boottime" "kern.hostname" "kern.iossupportversion"
    "kern.maxfilesperproc" "kern.maxproc" "kern.ngroups" "kern.osproductversion" "kern.osrelease"
    "kern.ostype" "kern.osvariant_status" "kern.osversion" "kern.secure_kernel" "kern.tcsm_available"
    "kern.tcsm_enable" "kern.usrstack64" "kern.version" "sysctl.proc_cputype" "vm.loadavg"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.bsd.dirhelper"))
(allow iokit-open (iokit-registry-entry-class "RootDomainUserClient"))

; devices
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom")
  (literal "/dev/tty"))
(allow file-read* file-write* (subpath "/dev/fd"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl
  (literal "/dev/ptmx")
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))

; the system
(allow file-read* file-test-existence (literal "/"))
(allow file-read-metadata file-test-existence
  (literal "/dev") (literal "/etc") (literal "/tmp") (literal "/var") (literal "/private")
  (literal "/private/tmp") (literal "/private/var") (literal "/private/var/db") (literal "/private/var/run"))
(allow file-read* file-test-existence
  (subpath "/private/etc")
  (subpath "/private/var/db/dyld") (subpath "/private/var/db/icu") (subpath "/private/var/db/timezone")
  (subpath "/private/var/select"))
(allow file-read* file-test-existence file-map-executable process-exec*
  (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library")
  (subpath "/opt") (subpath "/nix/store"))
(deny file-read* file-write* process-exec*
  (subpath "/System/Volumes/Data") (subpath "/Library/Keychains")
  (literal "/private/etc/master.passwd") (literal "/private/etc/sudoers") (subpath "/private/etc/sudoers.d")
  (subpath "/private/etc/ssh"))
`

// seatbeltNames are the rules by which a program with a network asks for addresses and checks
// certificates.
const seatbeltNames = `(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow file-read* (literal "/private/var/run/resolv.conf"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.trustd.agent"))
(allow sysctl-read (sysctl-name-prefix "net.routetable"))
`

// seatbelt returns the profile of a call. real follows the links in the existing part of a path.
// As on Linux, a path through a link gives no right: to read it is skipped, to write it is refused.
func seatbelt(c *Call, real func(string) string) (profile, error) {
	s := &c.Sandbox
	b := &belt{real: real}
	hide := b.everyName(s.Hide)
	protect := append(b.everyName(s.Protect), hide...)
	write := slices.Concat(s.Write, s.Create)
	for _, p := range write {
		if at, straight := b.place(p); !straight {
			return profile{}, fault.New(fault.Denied, "write access to %q was requested, which is %q behind a symbolic link", p, at)
		}
	}
	exec := slices.Clone(s.Exec)
	if len(c.Argv) > 0 {
		exec = append(exec, b.follow(c.Argv[0]))
		b.onTheWay(private(c.Argv[0])) // which may be a link
	}
	if c.Temp != "" {
		b.onTheWay(path.Dir(b.follow(c.Temp)))
	}
	if c.Dir != "" {
		b.onTheWay(b.follow(c.Dir))
	}

	b.text.WriteString(seatbeltBase)
	b.section("files of this run")
	b.allow("file-read* file-test-existence file-map-executable process-exec*", "EXEC", exec)
	b.allow("file-read* file-test-existence", "READ", s.Read)
	b.allow("file-read* file-test-existence file-write*", "WRITE", write)
	b.rule("allow file-read-metadata file-test-existence", "literal", "ABOVE", b.above)
	b.rule("deny file-write*", "subpath", "PROTECT", protect)
	b.rule("deny file-read* file-test-existence file-write* process-exec* file-map-executable", "subpath", "HIDE", hide)
	// Whoever can rename a directory around a protected path can put another one in its place,
	// and read what was hidden under a new name. A hidden path keeps its name, too.
	b.rule("deny file-write-unlink", "literal", "KEEP", b.between(write, protect))
	if c.Temp != "" { // made for this run, in a cache that is protected as a whole
		b.allow("file-read* file-test-existence file-write*", "TEMP", []string{b.follow(c.Temp)})
	}
	b.network(s, hide)
	return profile{b.text.String(), b.values}, nil
}

// network writes the rules for sockets. Seatbelt tells ports apart, and of hosts only this machine.
// A rule with "local ip" for outgoing connections would match all of them.
func (b *belt) network(s *Sandbox, hide []string) {
	b.section("network")
	switch {
	case !s.Net:
	case s.Ports == nil:
		b.text.WriteString("(allow network-outbound (remote ip \"*:*\"))\n(allow network-bind network-inbound (local ip \"*:*\"))\n" + seatbeltNames)
	default:
		for _, p := range s.Ports {
			b.text.WriteString("(allow network-outbound (remote ip \"*:" + strconv.Itoa(int(p)) + "\"))\n")
		}
		b.text.WriteString(seatbeltNames)
	}
	if s.Unix {
		b.text.WriteString("(allow system-socket (socket-domain AF_UNIX))\n(allow network-outbound (remote unix-socket))\n(allow network-bind (local unix-socket))\n")
		b.unixSockets(hide)
	}
}

// unixSockets denies the sockets below the hidden paths, whose parameters exist already.
func (b *belt) unixSockets(hide []string) {
	for i := range hide {
		fmt.Fprintf(&b.text, "(deny network-outbound (remote unix-socket (subpath (param \"HIDE_%d\"))))\n", i)
	}
}

// A belt is a profile that is being written.
type belt struct {
	real   func(string) string
	text   strings.Builder
	values []string
	above  []string // paths that programs look at on the way to a granted one
}

func (b *belt) section(name string) { b.text.WriteString("\n; " + name + "\n") }

// allow grants acts below paths. Paths through a link are skipped.
func (b *belt) allow(acts, name string, paths []string) {
	var all []string
	for _, p := range paths {
		at, straight := b.place(p)
		if !straight || slices.Contains(all, at) {
			continue
		}
		all = append(all, at)
		b.onTheWay(path.Dir(at))
	}
	b.rule("allow "+acts, "subpath", name, all)
}

// onTheWay notes a path that programs look at, and all directories above it.
func (b *belt) onTheWay(p string) {
	for ; path.IsAbs(p) && p != "/"; p = path.Dir(p) {
		if !slices.Contains(b.above, p) {
			b.above = append(b.above, p)
		}
	}
}

// rule writes one rule about paths, each as a parameter. Without paths it writes nothing, because
// a rule without a filter would be for every path.
func (b *belt) rule(rule, filter, name string, paths []string) {
	if len(paths) == 0 {
		return
	}
	b.text.WriteString("(" + rule)
	for i, p := range paths {
		param := name + "_" + strconv.Itoa(i)
		b.text.WriteString("\n  (" + filter + " (param \"" + param + "\"))")
		b.values = append(b.values, param+"="+p)
	}
	b.text.WriteString(")\n")
}

// systemLinks are links that macOS has at its root. The kernel compares paths without links.
var systemLinks = []string{"/tmp", "/var", "/etc"}

// private returns the path for p that the kernel uses where only the system's links lead there.
func private(p string) string {
	p = path.Clean(p)
	for _, link := range systemLinks {
		if within(p, link) {
			return "/private" + p
		}
	}
	return p
}

// follow returns the path that the kernel uses for p.
func (b *belt) follow(p string) string { return private(b.real(path.Clean(p))) }

// place returns the path that the kernel uses for p, and whether no link leads there except the
// system's.
func (b *belt) place(p string) (at string, straight bool) {
	at = b.follow(p)
	return at, at == private(p) && path.IsAbs(at)
}

// everyName returns each path as it is written and as it resolves, so that a link that appears or
// goes away later does not help.
func (b *belt) everyName(paths []string) []string {
	var out []string
	for _, p := range paths {
		for _, name := range []string{private(p), b.follow(p)} {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// between returns the protected paths in writable directories, and the directories around them up
// to and with the writable one.
func (b *belt) between(write, protect []string) []string {
	var out []string
	for _, w := range write {
		w = b.follow(w)
		for _, p := range protect {
			for ; within(p, w); p = path.Dir(p) {
				if !slices.Contains(out, p) {
					out = append(out, p)
				}
				if p == path.Dir(p) {
					break
				}
			}
		}
	}
	return out
}

// seatbeltUnbound names the limits that do not bind under a profile, in words for a person.
func seatbeltUnbound(s *Sandbox) []string {
	out := []string{
		"files and network: " + untestedSeatbelt,
		"resource limits and no_new_privs: Seatbelt sets none",
		"named semaphores and shared memory of this user's other programs: the profile does not restrict them",
	}
	if s.Net && s.Ports != nil {
		out = append(out, "hosts (this machine too) and UDP: Seatbelt limits only ports, here to "+ports(s.Ports))
	}
	if s.Net && len(s.Hosts) > 0 {
		out = append(out, "every host can be reached, not only "+strings.Join(s.Hosts, ", "))
	}
	return out
}

// noDeeper returns the reason why a system other than Linux gives no S3, and the standing of its
// profile. no is the reason why none is used.
func noDeeper(system, no string) string {
	why := "only Linux has namespaces"
	switch {
	case no == "":
		why += "; " + untestedSeatbelt
	case system == "darwin":
		why += "; no Seatbelt profile is used: " + no
	}
	return why
}

func ports(list []uint16) string {
	var out []string
	for _, p := range list {
		out = append(out, strconv.Itoa(int(p)))
	}
	return strings.Join(out, ", ")
}
