package oplog

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// maxLocated bounds the address of a repository, in bytes.
const maxLocated = 1000

// repository is the codec of the address of a repository.
func repository(text *string) codec {
	return codec{func() string { return *text }, func(s string) error {
		*text = s
		return CheckRepository(s)
	}}
}

// CheckRepository refuses a repository address that the root may not state. It must be a URL with
// one of five schemes, without password and query, and mean the same on every machine.
func CheckRepository(text string) error {
	bad := func(why string) error {
		return fault.New(fault.Malformed, "repository %q: %s", words.Brief(text), why)
	}
	if len(text) > maxLocated || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return bad("want printable ASCII without spaces, at most 1000 bytes")
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(text, "#") {
		return bad("want a URL without query and fragment")
	}
	if !slices.Contains([]string{"https", "http", "ssh", "git", "file"}, u.Scheme) || !strings.HasPrefix(text, u.Scheme+"://") {
		return bad("want https://, http://, ssh://, git:// or file://")
	}
	if u.User != nil && (u.Scheme != "ssh" || strings.Contains(u.User.String(), ":")) {
		return bad("want no user, and no password")
	}
	if (u.Scheme == "file") != (u.Host == "") || len(u.Path) < 2 {
		return bad("want a host and a path")
	}
	if why := unsafeParts(u); why != "" {
		if len(text) > 200 {
			text = text[:200] + "…"
		}
		return fault.New(fault.Malformed, "repository: address %q: %s", text, why)
	}
	return nil
}

// unsafeParts describes parts of an address that ssh, a proxy or a server could misread; "" for
// none. Package transport refuses the same parts, but the log format must not depend on it.
func unsafeParts(u *url.URL) string {
	host, user, path := u.Hostname(), u.User.Username(), u.Path
	if u.Scheme == "ssh" && strings.HasPrefix(path, "/~") {
		path = path[1:] // below a home directory
	}
	if u.Scheme != "file" {
		if host == "" || len(host) > 253 {
			return "no host"
		}
		for _, c := range host {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(".-_:", c)) {
				return fmt.Sprintf("character %q in the host", c)
			}
		}
		if host[0] == '-' || strings.HasPrefix(user, "-") || strings.HasPrefix(path, "-") {
			return "user, host or path begins with a dash"
		}
		if strings.ContainsAny(user, "@:/\\ '\"`$;&|<>(){}*?!#%") {
			return fmt.Sprintf("user name %q", user)
		}
		if port := u.Port(); port != "" {
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return fmt.Sprintf("port %q", port)
			}
		}
	}
	if strings.ContainsFunc(user+path, func(c rune) bool { return c < 0x20 || c == 0x7f }) {
		return "control character after decoding"
	}
	return ""
}
