package network

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Admitted returns the settings that reach a tool with these needs.net. A mirror needs the public
// host that it stands for, at port 443, or "*". Everything else needs any host that is not this
// machine.
func (f Found) Admitted(needs []string) []Setting {
	var out []Setting
	for _, s := range f.Settings {
		if slices.ContainsFunc(needs, func(need string) bool { return s.admits(need) }) {
			out = append(out, s)
		}
	}
	return out
}

func (s Setting) admits(need string) bool {
	host, port := strings.ToLower(need), "443"
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host, port = host[:i], host[i+1:]
	}
	host = strings.Trim(host, "[]")
	switch {
	case need == "unix":
		return false
	case need == "*":
		return true
	case s.Public != "":
		return (host == "*" || host == s.Public) && (port == "443" || port == "*")
	}
	return !thisMachine(host)
}

func thisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && a.Unmap().IsLoopback()
}

// WithoutProxies returns the settings for a tool whose connections rye makes.
func (f Found) WithoutProxies() Found {
	f.Settings = slices.DeleteFunc(slices.Clone(f.Settings), func(s Setting) bool { return s.Proxy })
	return f
}

// Upstream returns the address of the user's first proxy, without user and password; "" for none.
func (f Found) Upstream() string {
	for _, s := range f.Settings {
		if s.Proxy && len(s.Hosts) > 0 {
			return s.Value
		}
	}
	return ""
}

// Ports are the ports of the proxy or the mirrors.
func (s Setting) Ports() []uint16 {
	var out []uint16
	for _, h := range s.Hosts {
		_, port, _ := net.SplitHostPort(h)
		if n, err := strconv.ParseUint(port, 10, 16); err == nil {
			out = append(out, uint16(n))
		}
	}
	return out
}
