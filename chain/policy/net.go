package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Net restricts the destinations of rye's own HTTP. The zero value is the default: the public
// Internet, and nothing on this machine or its network.
type Net struct {
	// Allow holds lists of non-public addresses that may be reached. The first list is the
	// user's. A project can only add lists, and an address must be in every list.
	Allow [][]Host
	Deny  []Host // never reached, public or not
	Proxy bool   // use the proxies of the environment; only the user's policy can set it
}

// Host is a name, an address or a range of addresses, with or without a port.
type Host struct {
	name   string // lower case; "*.example.org" for every name below example.org
	prefix netip.Prefix
	port   uint16 // 0 is any
}

// ParseHost reads "localhost:8080", "127.0.0.1", "10.0.0.0/8", "[::1]:11434",
// "[fd00::]/8" or "*.example.org".
func ParseHost(s string) (Host, error) {
	bad := func() (Host, error) {
		return Host{}, fault.New(fault.Malformed, "policy: net %q: want a host, an address or a range such as 10.0.0.0/8, each with or without :port", words.Brief(s))
	}
	var h Host
	rest := strings.ToLower(s)
	if i := strings.LastIndexByte(rest, ':'); i > strings.LastIndexByte(rest, ']') && strings.Count(rest, ":") == 1 || i > 0 && rest[i-1] == ']' {
		n, err := strconv.ParseUint(rest[i+1:], 10, 16)
		if err != nil || n == 0 {
			return bad()
		}
		h.port, rest = uint16(n), rest[:i]
	}
	rest = strings.NewReplacer("[", "", "]", "").Replace(rest)
	if strings.Contains(rest, "/") {
		p, err := netip.ParsePrefix(rest)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return bad()
		}
		h.prefix = p
		return h, nil
	}
	if a, err := netip.ParseAddr(rest); err == nil {
		if a.Zone() != "" {
			return bad()
		}
		a = a.Unmap()
		h.prefix = netip.PrefixFrom(a, a.BitLen())
		return h, nil
	}
	h.name = strings.TrimSuffix(rest, ".")
	for _, label := range strings.Split(strings.TrimPrefix(h.name, "*."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return bad()
		}
	}
	if strings.Trim(h.name[strings.LastIndexByte(h.name, '.')+1:], "0123456789") == "" {
		return bad() // some programs read 127.1 and the like as addresses, others as names
	}
	return h, nil
}

// matches compares the host in the request, and the address that it resolved to.
func (h Host) matches(host string, to netip.AddrPort) bool {
	if h.port != 0 && h.port != to.Port() {
		return false
	}
	if h.prefix.IsValid() {
		return h.prefix.Contains(to.Addr().Unmap())
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if suffix, ok := strings.CutPrefix(h.name, "*"); ok {
		return strings.HasSuffix(host, suffix)
	}
	return host == h.name
}

func anyMatches(list []Host, host string, to netip.AddrPort) bool {
	return slices.ContainsFunc(list, func(h Host) bool { return h.matches(host, to) })
}

// Allows reports whether the non-public address to may be reached as host.
func (n Net) Allows(host string, to netip.AddrPort) bool {
	for _, list := range n.Allow {
		if !anyMatches(list, host, to) {
			return false
		}
	}
	return len(n.Allow) > 0
}

// Denies reports whether the address to may not be reached as host, public or not.
func (n Net) Denies(host string, to netip.AddrPort) bool { return anyMatches(n.Deny, host, to) }

type netFile struct {
	Allow *[]string `yaml:"allow,omitempty"`
	Deny  []string  `yaml:"deny,omitempty"`
	Proxy *bool     `yaml:"proxy,omitempty"`
}

func (f *netFile) read() (n Net, err error) {
	if f == nil {
		return n, nil
	}
	if f.Allow != nil {
		list, err := hosts(*f.Allow)
		if err != nil {
			return n, err
		}
		n.Allow = [][]Host{list}
	}
	n.Proxy = f.Proxy != nil && *f.Proxy
	n.Deny, err = hosts(f.Deny)
	return n, err
}

func hosts(list []string) (out []Host, err error) {
	for _, s := range list {
		h, err := ParseHost(s)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// tighten adds the project's rules. Without a list from the user nothing is allowed, whatever the
// project lists.
func (n Net) tighten(f *netFile, project Net) Net {
	if len(n.Allow) > 0 {
		n.Allow = append(slices.Clip(n.Allow), project.Allow...)
	}
	n.Deny = append(slices.Clip(n.Deny), project.Deny...)
	if f != nil && f.Proxy != nil {
		n.Proxy = n.Proxy && *f.Proxy
	}
	return n
}
