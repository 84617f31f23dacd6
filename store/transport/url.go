package transport

import (
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rye-os/rye/fault"
)

// target is a checked address of a repository.
type target struct {
	scheme string // "http", "https", "git", "ssh" or "file"
	user   string // "" = none
	host   string // without port; an IPv6 address without brackets
	port   string // "" = the scheme's own
	path   string // for the remote; for file, a local path
	text   string // for messages; holds no password
}

const urlMax = 2048

// hostPort returns the identity for credentials: the host, with the port unless it is the
// scheme's own.
func (t target) hostPort() string {
	if t.port == "" || t.scheme == "https" && t.port == "443" || t.scheme == "http" && t.port == "80" {
		if strings.Contains(t.host, ":") {
			return "[" + t.host + "]"
		}
		return t.host
	}
	return net.JoinHostPort(t.host, t.port)
}

func refuse(raw, why string, args ...any) *fault.Error {
	if len(raw) > 200 {
		raw = raw[:200] + "…"
	}
	return fault.New(fault.Usage, "address %q: "+why, append([]any{raw}, args...)...)
}

// parseTarget checks an address from a person or a rye.yaml. It refuses everything that
// another program could read as an option or a command.
func parseTarget(raw string) (target, error) {
	if raw == "" || len(raw) > urlMax {
		return target{}, refuse(raw, "want 1 to %d bytes", urlMax)
	}
	if i := strings.IndexFunc(raw, isControl); i >= 0 {
		return target{}, refuse(raw, "control character at byte %d", i)
	}
	if raw[0] == '-' {
		return target{}, refuse(raw, "begins with a dash")
	}
	if scheme, _, ok := strings.Cut(raw, "://"); ok && isScheme(scheme) {
		return parseURL(raw, strings.ToLower(scheme))
	}
	if helper, _, ok := strings.Cut(raw, "::"); ok && isScheme(helper) {
		return target{}, refuse(raw, "remote helpers like %s:: run commands and are not supported", helper)
	}
	if isLocal(raw) {
		return target{scheme: "file", path: filepath.Clean(raw), text: raw}, nil
	}
	return parseSCP(raw)
}

func isScheme(s string) bool {
	for i, c := range s {
		if !isLetter(c) && (i == 0 || !isDigit(c) && !strings.ContainsRune("+-.", c)) {
			return false
		}
	}
	return s != ""
}

// isLocal distinguishes a path from host:path as git does: a colon before any slash makes it a
// host, except for a drive letter on Windows.
func isLocal(s string) bool {
	colon := strings.IndexByte(s, ':')
	if colon < 0 {
		return true
	}
	if runtime.GOOS == "windows" && filepath.VolumeName(s) != "" {
		return true
	}
	slash := strings.IndexByte(s, '/')
	return slash >= 0 && slash < colon
}

func parseURL(raw, scheme string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, refuse(raw, "not a URL") // err would repeat a password
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
		return target{}, refuse(u.Redacted(), "has a password in it").
			Advise("put it into RYE_TOKEN_<HOST>, netrc or git's credential helper")
	}
	t := target{scheme: scheme, user: u.User.Username(), host: u.Hostname(), port: u.Port(), path: u.Path, text: raw}
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return target{}, refuse(raw, "a query or fragment has no meaning here")
	}
	switch scheme {
	case "file":
		return parseFile(t, raw)
	case "http", "https", "git", "ssh":
	default:
		return target{}, refuse(raw, "scheme %q is not one of https, http, ssh, git, file", scheme)
	}
	if scheme == "git" && t.user != "" {
		return target{}, refuse(raw, "git:// has no users")
	}
	if scheme == "ssh" && strings.HasPrefix(t.path, "/~") {
		t.path = t.path[1:] // ssh://host/~user/x is relative to a home directory
	}
	return t, checkRemote(t, raw)
}

func parseFile(t target, raw string) (target, error) {
	if t.host != "" && t.host != "localhost" || t.user != "" || t.port != "" {
		return t, refuse(raw, "file:// takes no host")
	}
	if t.path == "" {
		return t, refuse(raw, "no path")
	}
	t.host = ""
	if err := checkDecoded(t.path, raw); err != nil {
		return t, err
	}
	if runtime.GOOS == "windows" && len(t.path) > 2 && t.path[0] == '/' && t.path[2] == ':' {
		t.path = t.path[1:] // file:///C:/x
	}
	t.path = filepath.Clean(filepath.FromSlash(t.path))
	return t, nil
}

// parseSCP reads the short form for ssh: [user@]host:path.
func parseSCP(raw string) (target, error) {
	at, path, _ := strings.Cut(raw, ":")
	if strings.HasPrefix(raw, "[") || strings.Contains(raw, "@[") { // [user@host:port] is for ssh://
		return target{}, refuse(raw, "write it as ssh://[user@]host[:port]/path")
	}
	t := target{scheme: "ssh", host: at, path: path, text: raw}
	if i := strings.LastIndexByte(at, '@'); i >= 0 {
		t.user, t.host = at[:i], at[i+1:]
	}
	return t, checkRemote(t, raw)
}

// checkRemote refuses parts of a remote address that ssh, a proxy or a server could misread.
func checkRemote(t target, raw string) error {
	if t.host == "" || len(t.host) > 253 {
		return refuse(raw, "no host")
	}
	for _, c := range t.host {
		if !isLetter(c) && !isDigit(c) && !strings.ContainsRune(".-_:", c) {
			return refuse(raw, "character %q in the host", c)
		}
	}
	if t.host[0] == '-' || strings.HasPrefix(t.user, "-") || strings.HasPrefix(t.path, "-") {
		return refuse(raw, "user, host or path begins with a dash")
	}
	if strings.ContainsAny(t.user, "@:/\\ '\"`$;&|<>(){}*?!#%") {
		return refuse(raw, "user name %q", t.user)
	}
	if t.port != "" {
		if n, err := strconv.Atoi(t.port); err != nil || n < 1 || n > 65535 {
			return refuse(raw, "port %q", t.port)
		}
	}
	if t.path == "" || t.path == "/" {
		return refuse(raw, "no path to a repository")
	}
	return checkDecoded(t.user+t.path, raw)
}

// checkDecoded checks the text again after percent-decoding.
func checkDecoded(s, raw string) error {
	if strings.ContainsFunc(s, isControl) {
		return refuse(raw, "control character after decoding")
	}
	return nil
}

func isControl(c rune) bool { return c < 0x20 || c == 0x7f }

func isLetter(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

// isLoopback reports whether host can only be this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// LocalPath returns the local path of an address, written as a path or as file://, and false
// for any other address.
func LocalPath(address string) (string, bool) {
	t, err := parseTarget(address)
	return t.path, err == nil && t.scheme == "file"
}
