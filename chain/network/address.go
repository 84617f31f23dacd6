package network

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of one value.
const (
	maxValue     = 8 << 10 // bytes
	maxAddresses = 20      // mirrors in one value
)

// Reasons for skipping a value. None quotes it.
const (
	notAddress = "is not a web address"
	hiddenUser = "has an @ behind the host; in a password, / is written %2F, ? %3F and # %23"
	tooLong    = "is too long"
	notHosts   = "is not a list of hosts"
	notModules = "has other characters than module paths have"
)

var (
	proxySchemes  = map[string]string{"http": "80", "https": "443", "socks4": "1080", "socks4a": "1080", "socks5": "1080", "socks5h": "1080"}
	mirrorSchemes = map[string]string{"http": "80", "https": "443"}
)

// clean reads a value into a setting, without anything secret. It returns the reason why a value
// is skipped.
func (r *reader) clean(row row, value string, s *Setting) (why string) {
	value = strings.TrimSpace(value)
	if len(value) > maxValue {
		return tooLong
	}
	switch row.kind {
	case proxy, curlProxy, gitProxy:
		return r.proxy(row.kind, value, s)
	case mirrors:
		return s.mirrors(strings.Fields(value))
	case modules:
		return s.modules(value)
	case sums:
		return s.sums(value)
	case bundle, directories:
		return r.certificates(row.kind, value, s)
	case trusted:
		return r.trusted(strings.Fields(value), s)
	case flag:
		if value == "1" {
			s.Value = value
		}
		return ""
	case bypass:
		return s.plain(value, ".-_*:/[], ", notHosts)
	}
	return s.plain(value, ".-_*?[]~/, ", notModules)
}

// plain accepts letters, digits and some more characters.
func (s *Setting) plain(value, more, why string) string {
	if strings.ContainsFunc(value, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune(more, c) }) {
		return why
	}
	s.Value = value
	return ""
}

func alphanumeric(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// address takes a web address apart, and returns it with scheme, host, port and path alone.
func (s *Setting) address(text string, schemes map[string]string) (clean, why string) {
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'<>\\^`{|}", c) }) {
		return "", notAddress
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" { // err quotes the text
		return "", notAddress
	}
	port, host := schemes[u.Scheme], strings.ToLower(u.Hostname())
	switch {
	case port == "" || !isHost(host):
		return "", notAddress
	case strings.Contains(u.EscapedPath()+u.RawQuery+u.Fragment, "@"): // a password that was not encoded
		return "", hiddenUser
	}
	at := host
	if strings.Contains(host, ":") {
		at = "[" + host + "]"
	}
	if u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || n == 0 {
			return "", notAddress
		}
		port = strconv.FormatUint(n, 10)
		at += ":" + port
	}
	s.Bare = s.Bare || u.User != nil || u.RawQuery != "" || u.Fragment != ""
	if h := net.JoinHostPort(host, port); !slices.Contains(s.Hosts, h) {
		s.Hosts = append(s.Hosts, h)
	}
	return u.Scheme + "://" + at + u.EscapedPath(), ""
}

func isHost(host string) bool {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Zone() == ""
	}
	return host != "" && len(host) <= 253 && !strings.ContainsFunc(host, func(c rune) bool { return !alphanumeric(c) && !strings.ContainsRune(".-_", c) })
}

// proxy reads the address of a proxy. Programs accept one without a scheme.
func (r *reader) proxy(k kind, value string, s *Setting) (why string) {
	if value == "false" || value == "null" || value == "" { // npm's words for none
		return ""
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	if s.Value, why = s.address(value, proxySchemes); why != "" {
		return why
	}
	switch k {
	case gitProxy:
		s.Vars = map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.proxy", "GIT_CONFIG_VALUE_0": s.Value}
	case curlProxy:
		r.curlrc(s)
	}
	return ""
}

// curlrc makes a file for curl alone, because no variable is.
func (r *reader) curlrc(s *Setting) {
	text := "proxy = \"" + s.Value + "\"\n"
	if hosts := r.config("curl")["noproxy"].value; hosts != "" {
		var no Setting
		if no.plain(hosts, ".-_*:/[], ", notHosts) == "" {
			text += "noproxy = \"" + no.Value + "\"\n"
		}
	}
	s.pass("CURL_HOME", ".curlrc", text)
}

// mirrors reads the addresses of mirrors.
func (s *Setting) mirrors(list []string) (why string) {
	if len(list) > maxAddresses {
		return tooLong
	}
	var clean []string
	for _, text := range list {
		one, why := s.address(text, mirrorSchemes)
		if why != "" {
			return why
		}
		clean = append(clean, one)
	}
	s.Value = strings.Join(clean, " ")
	return ""
}

// modules reads GOPROXY: addresses, direct and off, with commas and bars between them.
func (s *Setting) modules(value string) (why string) {
	var out strings.Builder
	for n := 0; value != ""; n++ {
		at := strings.IndexAny(value, ",|")
		one, rest, mark := value, "", ""
		if at >= 0 {
			one, rest, mark = value[:at], value[at+1:], value[at:at+1]
		}
		if one = strings.TrimSpace(one); one != "direct" && one != "off" {
			if one, why = s.address(one, mirrorSchemes); why != "" || n >= maxAddresses {
				return notAddress
			}
		}
		out.WriteString(one + mark)
		value = rest
	}
	s.Value = out.String()
	return ""
}

// sums reads GOSUMDB: off, a name, or a name with a key, and then perhaps an address.
func (s *Setting) sums(value string) (why string) {
	name, at, _ := strings.Cut(value, " ")
	if why := s.plain(name, ".-_+/=", notModules); why != "" {
		return why
	}
	if at = strings.TrimSpace(at); at != "" {
		if at, why = s.address(at, mirrorSchemes); why != "" {
			return why
		}
		s.Value += " " + at
		return ""
	}
	if host, _, _ := strings.Cut(name, "+"); host != "off" && isHost(strings.ToLower(host)) {
		s.Hosts = append(s.Hosts, net.JoinHostPort(strings.ToLower(host), "443"))
	}
	return ""
}

// trusted keeps the hosts that are pip's mirrors.
func (r *reader) trusted(list []string, s *Setting) (why string) {
	var keep []string
	for _, m := range r.found.Settings {
		if m.Public != s.Public {
			continue
		}
		for _, h := range m.Hosts {
			host, port, _ := net.SplitHostPort(h)
			for _, t := range list {
				if (strings.EqualFold(t, host) || strings.EqualFold(t, net.JoinHostPort(host, port))) && !slices.Contains(keep, t) {
					keep = append(keep, t)
				}
			}
		}
	}
	s.Value = strings.Join(keep, " ")
	return ""
}
