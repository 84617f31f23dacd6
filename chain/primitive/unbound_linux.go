package primitive

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rye-os/rye/chain/primitive/cage"
)

const lateLimits = "resource limits are set some microseconds after the start: tracing is forbidden here, so it cannot be done before"

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
		out = append(out, "limit on processes: the kernel does not count those of root")
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
		out = append(out, "limit on temporary files: it takes namespaces (S3)")
	}
	if s.Limits.Procs > 0 {
		out = append(out, "limit on processes: it counts all of this user's, not this run's, without namespaces (S3)")
	}
	if s.Tier < S2 {
		return out
	}
	if cage.ABI() < 6 {
		out = append(out, "signals to other processes of this user: this kernel's Landlock does not know them")
	}
	return append(out, "permissions and times of this user's files can be changed wherever they lie, though not to let others write or to run as their owner, and names, sizes and changes of files be seen: Landlock does not know these")
}

// unboundRules names the rules that an older Landlock lacks, or every version.
func unboundRules(s *Sandbox, abi int) []string {
	var out []string
	if len(s.Create) > 0 {
		out = append(out, "the protected parts of "+strings.Join(s.Create, ", ")+" are kept by the tool's own checks only: the kernel's rules cannot leave them out where new files are made")
	}
	if abi < 3 && s.Tier < S3 {
		out = append(out, "truncating files: this kernel's Landlock does not know it")
	}
	if abi < 4 && s.Net && s.Ports != nil {
		out = append(out, "TCP ports: this kernel's Landlock does not know them")
	}
	if abi >= 4 && s.Net && s.Ports != nil {
		out = append(out, fmt.Sprintf("TCP ports %s can be reached at every address, this machine's own included, and UDP at every port, and it can listen: the kernel's rules know no hosts", ports(s.Ports)))
	}
	if s.Net && len(s.Hosts) > 0 {
		out = append(out, "every host can be reached, not only "+strings.Join(s.Hosts, ", "))
	}
	if abi < 5 && s.Tier < S3 {
		out = append(out, "ioctl on devices: this kernel's Landlock does not know it")
	}
	if unix.Getuid() == 0 && strings.Contains(strings.Join(s.Write, "\n"), "/etc") {
		out = append(out, "the superuser was given write access to system configuration")
	}
	return out
}

func ports(list []uint16) string {
	var out []string
	for _, p := range list {
		out = append(out, strconv.Itoa(int(p)))
	}
	return strings.Join(out, ", ")
}
