package denied

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/objects"
)

// anywhere is the text for a complaint that names no host.
const anywhere = "reaching the network: this tool has none"

// network explains a host that could not be reached.
func (h *Had) network(line string, of kind) (Denial, bool) {
	s := &h.Sandbox
	own := s.Own && s.Tier >= primitive.S3
	host, port := hostIn(line)
	if name, ok := h.Names[strings.Trim(host, "[]")]; ok {
		host = name
	}
	switch {
	case host == "" && (own || !s.Net):
		if d, ok := h.inText(); ok {
			return d, true
		}
	case port == 0 && (own || !s.Net):
		port = h.portFor(host, line)
	}
	if strings.Contains(line, ": lookup ") { // of Go, which then says why its name server was not reached
		of = unresolved
	}
	pattern := own && of == unresolved && h.byPattern(host, port)
	switch {
	case pattern:
	case own && (host == "" || loopback(host) && port >= passing || h.named(host, port)):
		return Denial{}, false // its own servers, or a host that failed
	case own:
	case s.Net && (s.Ports == nil || of == unresolved || port == 0 || slices.Contains(s.Ports, port)):
		return Denial{}, false // it was open
	case host == "" && !s.Net:
		return Denial{What: anywhere}, true
	case host == "":
		return Denial{}, false
	}
	at := host
	if port != 0 && port != 443 {
		at = net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(port)))
	}
	why := "this tool has no network"
	switch {
	case pattern:
		why = "only a pattern covers it, and this program does not use the proxy"
	case own:
		why = unnamed
	case s.Net:
		why = "its port is not open to this tool"
	}
	if s.Net && !own && port >= passing && loopback(host) {
		why += "; with no net in its needs, it can reach a server of its own"
	}
	return Denial{What: "reaching " + at + ": " + why, Need: h.stating(objects.Needs{Net: []string{at}})}, true
}

// Naming returns the text of needs that also names a host, for a host that was refused.
func (h *Had) Naming(host string, port uint16) string {
	at := net.JoinHostPort(host, strconv.Itoa(int(port)))
	if port == 443 {
		at = strings.TrimSuffix(at, ":443")
	}
	return h.stating(objects.Needs{Net: []string{at}})
}

// named reports whether the needs name a host, with a port if the complaint has one.
func (h *Had) named(host string, port uint16) bool {
	return slices.ContainsFunc(h.Needs.Net, func(need string) bool {
		name, at := need, "443"
		if i := strings.LastIndexByte(need, ':'); i > strings.LastIndexByte(need, ']') {
			name, at = need[:i], need[i+1:]
		}
		return covers(name, host) && (port == 0 || at == strconv.Itoa(int(port)))
	})
}

// covers reports whether the host of a need is this one, or a pattern of it.
func covers(need, host string) bool {
	if suffix, ok := strings.CutPrefix(need, "*"); ok {
		return suffix != "" && strings.HasSuffix(strings.ToLower(host), strings.ToLower(suffix))
	}
	return strings.EqualFold(need, host)
}

// byPattern reports whether only a pattern of the needs names a host. Such a host has no address
// inside, so a program that looks for one does not use the proxy.
func (h *Had) byPattern(host string, port uint16) bool {
	exact := *h
	exact.Needs.Net = slices.DeleteFunc(slices.Clone(h.Needs.Net), func(need string) bool { return strings.HasPrefix(need, "*") })
	return host != "" && h.named(host, port) && !exact.named(host, port)
}

// passing is the first of the ports that the system assigns to programs that ask for any port
// (Linux's ip_local_port_range). The run itself usually started the server at such a port.
const passing = 32768

func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
