package transport

import (
	"fmt"
	"net"
	"strings"
)

// TokenVariable returns the name of the environment variable that holds the token for a
// host, with :<port> where it is not that of https: "git.example.org" gives
// RYE_TOKEN_GIT_EXAMPLE_ORG. A dot becomes one underscore, a hyphen two, the colon three,
// so no two hosts share a variable and a token reaches the one that it is named for. It
// is "" for what is no host name, and for IPv6 addresses: netrc holds their tokens.
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

// tokenHost is what a token is named for: the host, with the port unless that is https's.
// A token of https is not one of http.
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

// tokenHint words the variable for a hint; "" where there is none.
func (t target) tokenHint(format string) string {
	v := TokenVariable(t.tokenHost())
	if v == "" {
		return ""
	}
	return fmt.Sprintf(format, v)
}
