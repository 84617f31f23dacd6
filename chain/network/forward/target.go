package forward

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/words"
)

// target is a host and a port that a program may reach.
type target struct {
	host   string     // lower case, without a dot at the end; an address in its usual form
	addr   netip.Addr // of a host that is an address
	port   uint16
	mirror bool // of the user's own settings
}

// localhost is this machine, whatever a name server says.
const localhost = "localhost"

var loopback4, loopback6 = netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()

func (t target) String() string { return at(t.host, t.port) }

// parse reads an entry of needs.net: host or host:port. Without a port it is 443.
func parse(text string) (target, error) {
	host, port := text, "443"
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port = text[:i], text[i+1:]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, malformed(text)
	}
	return targetOf(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), uint16(n))
}

func malformed(text string) error {
	return fault.New(fault.Malformed, "needs.net %q: want a host or an address, with or without :port", words.Brief(text))
}

// targetOf reads a host of needs, or of a program's request.
func targetOf(host string, port uint16) (target, error) {
	t := target{host: strings.TrimSuffix(strings.ToLower(host), "."), port: port}
	if a, err := netip.ParseAddr(t.host); err == nil {
		if a = a.Unmap(); a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return target{}, malformed(host)
		}
		t.addr, t.host = a, a.String()
		return t, nil
	}
	if !isName(t.host) || hosts.Numeric(t.host) {
		return target{}, malformed(host)
	}
	return t, nil
}

// isName reports whether a host is a name in the form that name servers know. Other characters
// would mean something else to another program.
func isName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// isLoopback reports whether a name is this machine's by its form (RFC 6761).
func isLoopback(host string) bool {
	return host == localhost || strings.HasSuffix(host, "."+localhost)
}
