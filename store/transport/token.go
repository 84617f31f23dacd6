package transport

import (
	"fmt"
	"net"
	"strings"
)

// TokenVariable returns the name of the environment variable with the token for a host, with
// :<port> if it is not https's: "git.example.org" gives RYE_TOKEN_GIT_EXAMPLE_ORG. A dot
// becomes one underscore, a hyphen two, the colon three. So no two hosts share a variable, and
// a token reaches only its own host. It is "" for an invalid host name, and for IPv6
// addresses: netrc holds their tokens.
func TokenVariable(host string) string {
	name, port, hasPort := strings.Cut(strings.ToUpper(host), ":")
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.Trim(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
			return ""
		}
	}
	v := "RYE_TOKEN_" + strings.NewReplacer(".", "_", "-", "__").Replace(name)
	if !hasPort {
		return v
	}
	if port == "" || strings.Trim(port, "0123456789") != "" {
		return ""
	}
	return v + "___" + port
}

// tokenHost returns the host in the name of its token, with the port unless it is https's. A
// token for https is not used for http.
func (t target) tokenHost() string {
	if t.scheme == "http" {
		port := t.port
		if port == "" {
			port = "80"
		}
		return net.JoinHostPort(t.host, port)
	}
	return t.hostPort()
}

// tokenHint names the variable in a hint; "" if the host has none.
func (t target) tokenHint(format string) string {
	v := TokenVariable(t.tokenHost())
	if v == "" {
		return ""
	}
	return fmt.Sprintf(format, v)
}
