package primitive

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

const lateLimits = "resource limits in the first microseconds after the start: tracing is forbidden here"

// unbound names the limits that do not bind in a run, in words for a person. traced means that
// its limits are set before it begins.
func unbound(c *Call, traced bool) []string {
	var out []string
	s := &c.Sandbox
	if s.Tier < S2 {
		out = append(out, "files, network and system calls are not restricted below S2")
	}
	if s.Tier < S1 {
		out = append(out, "resource limits and no_new_privs are not set below S1")
	}
	if s.Tier == S1 || s.Tier == S2 {
		out = append(out, unboundOutside(s, traced)...)
	}
	if unix.Getuid() == 0 && s.Owner == 0 && (s.Limits.Procs > 0 || s.Tier >= S3) {
		out = append(out, "number of processes: you are root, and the kernel does not limit root")
	}
	if s.Tier >= S2 {
		out = append(out, unboundRules(s, cage.ABI())...)
	}
	if s.Tier >= S3 && s.Unix {
		out = append(out, "sockets of this machine can be reached only where their files are in view")
	}
	return out
}

// unboundOutside names the limits that only namespaces enforce.
func unboundOutside(s *Sandbox, traced bool) []string {
	var out []string
	if !traced {
		out = append(out, lateLimits)
	}
	if s.Limits.Temp > 0 {
		out = append(out, "size of temporary files: that needs namespaces (S3)")
	}
	if s.Limits.Procs > 0 {
		out = append(out, "processes of this run alone: without namespaces (S3), the limit counts all processes of this user")
	}
	if s.Tier < S2 {
		return out
	}
	if cage.ABI() < 6 {
		out = append(out, "signals to other processes of this user: this kernel's Landlock cannot restrict them")
	}
	return append(out, "permissions and times of all this user's files can change, but not to let others write or to run as the owner; names, sizes and changes of files can be seen: Landlock cannot restrict these")
}

// unboundRules names the rules that an older Landlock lacks, or every version.
func unboundRules(s *Sandbox, abi int) []string {
	var out []string
	if len(s.Create) > 0 {
		out = append(out, "protected parts of "+strings.Join(s.Create, ", ")+": only the tool's own checks protect them, because the kernel's rules cannot exclude parts of a directory")
	}
	if abi < 3 && s.Tier < S3 {
		out = append(out, "truncating files: this kernel's Landlock cannot restrict it")
	}
	if len(s.Listen) > 0 && !s.doors() {
		out = append(out, "listening: it can serve at every port of this machine, not only "+ports(s.Listen))
	}
	if s.own() { // its hosts and ports bind
		s = &Sandbox{Create: s.Create, Tier: s.Tier, Write: s.Write}
	}
	if abi < 4 && s.Net && s.Ports != nil {
		out = append(out, "TCP ports: this kernel's Landlock cannot restrict them")
	}
	if abi >= 4 && s.Net && s.Ports != nil {
		out = append(out, fmt.Sprintf("hosts (this machine too), UDP and listening: the kernel limits only TCP ports, here to %s", ports(s.Ports)))
	}
	if s.Net && len(s.Hosts) > 0 {
		out = append(out, "every host can be reached, not only "+strings.Join(s.Hosts, ", "))
	}
	if abi < 5 && s.Tier < S3 {
		out = append(out, "ioctl on devices: this kernel's Landlock cannot restrict it")
	}
	if unix.Getuid() == 0 && strings.Contains(strings.Join(s.Write, "\n"), "/etc") {
		out = append(out, "the superuser was given write access to system configuration")
	}
	return out
}
