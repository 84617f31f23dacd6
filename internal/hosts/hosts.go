// Package hosts says which hosts and addresses are not on the public Internet.
package hosts

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// special names address ranges that are not the public Internet, from the IANA
// registries of special-purpose addresses, with two that clouds use for metadata. For
// IPv6, Special also refuses every address that is not global unicast.
var special = []struct{ prefix, says string }{
	{"0.0.0.0/8", "this machine"}, {"127.0.0.0/8", "loopback"}, {"10.0.0.0/8", "private"}, {"172.16.0.0/12", "private"},
	{"192.168.0.0/16", "private"}, {"100.64.0.0/10", "shared (carrier NAT)"}, {"169.254.169.254/32", "cloud metadata"},
	{"169.254.0.0/16", "link-local"}, {"168.63.129.16/32", "cloud metadata"}, {"192.0.0.0/24", "reserved"},
	{"192.0.2.0/24", "documentation"}, {"192.88.99.0/24", "6to4 relay"}, {"198.18.0.0/15", "benchmark"},
	{"198.51.100.0/24", "documentation"}, {"203.0.113.0/24", "documentation"}, {"224.0.0.0/4", "multicast"},
	{"255.255.255.255/32", "broadcast"}, {"240.0.0.0/4", "reserved"},

	{"::/128", "this machine"}, {"::1/128", "loopback"}, {"64:ff9b:1::/48", "local NAT64"}, {"fc00::/7", "private (unique local)"},
	{"fe80::/10", "link-local"}, {"fec0::/10", "site-local"}, {"ff00::/8", "multicast"}, {"2001:db8::/32", "documentation"},
	{"2001::/23", "reserved"}, {"2002::/16", "6to4"}, {"3fff::/20", "documentation"},
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	global = netip.MustParsePrefix("2000::/3")
)

// Special returns the kind of an address that is not public, and "" for a public one.
// IPv4 inside IPv6 (mapped, NAT64) is treated as the IPv4 address.
func Special(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if netip.MustParsePrefix(s.prefix).Contains(a) {
			return s.says
		}
	}
	if !a.IsValid() || a.Is6() && !global.Contains(a) {
		return "not public"
	}
	return ""
}

// Own lists the addresses of this machine; nil where the system cannot list them.
func Own() (all []netip.Addr) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if at, ok := netip.AddrFromSlice(n.IP); ok {
				all = append(all, at.Unmap())
			}
		}
	}
	return all
}

// Numeric reports whether the last label of a host is a number (127.1, 0x7f000001,
// 2130706433), as the URL standard defines it. Some programs read such a host as an
// IPv4 address, others as a name.
func Numeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(last, "0x"); ok {
		if rest == "" {
			return true
		}
		_, err := strconv.ParseUint(rest, 16, 64)
		return err == nil || strings.Trim(rest, "0123456789abcdef") == ""
	}
	return false
}

// Inside returns why a host belongs to this machine, its network or its cloud, and "" when it
// seems to be public. host is a name or an address from a URL. Call Special for the addresses
// of a name after resolving it.
func Inside(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		return Special(a)
	}
	switch {
	case Numeric(host):
		return "ambiguous" // neither a name nor an address in the usual form
	case !strings.Contains(host, "."):
		return "local"
	}
	for _, suffix := range inside {
		if strings.HasSuffix(host, suffix) {
			return "local"
		}
	}
	return ""
}

// inside are the suffixes of names without public servers: RFC 6761, 6762, 8375, and
// .internal, which ICANN reserved for private use in 2024.
var inside = []string{".localhost", ".local", ".internal", ".home.arpa"}
