package web

import (
	"strconv"
	"strings"
)

// Covers reports whether a list of hosts (host for port 443, host:port, *.domain, *) includes a
// host and port.
func Covers(list []string, host string, port uint16) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, want := range list {
		if want == "*" {
			return true
		}
		name, p := strings.ToLower(want), "443"
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
			name, p = name[:i], name[i+1:]
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if p != strconv.Itoa(int(port)) {
			continue
		}
		if suffix, ok := strings.CutPrefix(name, "*."); ok && strings.HasSuffix(host, "."+suffix) || name == host {
			return true
		}
	}
	return false
}
