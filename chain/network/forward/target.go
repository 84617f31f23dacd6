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
	public bool // only a pattern names it
}

// pattern names hosts that a program may reach through the proxy.
type pattern struct {
	suffix string // ".example.org"; "" is every host
	port   uint16
}

// parsePattern reads "*.example.org", with or without :port, or "*:port".
func parsePattern(text string) (p pattern, ok bool) {
	rest, ok := strings.CutPrefix(text, "*")
	if !ok {
		return p, false
	}
	name, port, given := strings.Cut(rest, ":")
	if !given {
		port = "443"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	p.suffix, p.port = strings.TrimSuffix(strings.ToLower(name), "."), uint16(n)
	base, dotted := strings.CutPrefix(p.suffix, ".")
	return p, err == nil && n > 0 && (dotted && isName(base) || p.suffix == "" && given)
}

// allowed returns the target of a request to the proxy, or a refusal.
func (f *Forwarder) allowed(host string, port uint16) (target, error) {
	t, err := targetOf(host, port)
	if err != nil {
		return t, refusal{"not a host: " + words.Brief(words.Printable(host))}
	}
	for _, d := range f.doors {
		if d.to.host == t.host && d.to.port == t.port {
			return d.to, nil
		}
	}
	for _, p := range f.patterns {
		if p.port == t.port && (p.suffix == "" || strings.HasSuffix(t.host, p.suffix) && !t.addr.IsValid()) {
			t.public = true
			return t, nil
		}
	}
	f.miss(t, unnamed)
	return t, unnamed
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
