package denied

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// hostIn finds a host, and its port if there is one, in messages of curl, git, Node, Python, Go,
// bash, PostgreSQL and other programs that print an address.
func hostIn(line string) (host string, port uint16) {
	for _, r := range hostWords() {
		for _, m := range r.FindAllStringSubmatch(line, 8) {
			if host = m[r.SubexpIndex("host")]; noHost[host] {
				continue
			}
			port = portOf(m[r.SubexpIndex("port")])
			if i := r.SubexpIndex("scheme"); i >= 0 && port == 0 && m[i] == "http" {
				port = 80
			}
			return host, port
		}
	}
	return "", 0
}

// noHost are words of messages that stand where others have a host.
var noHost = map[string]bool{"name": true, "address": true, "host": true, "getaddrinfo": true, "failure": true}

func portOf(s string) uint16 {
	n, _ := strconv.ParseUint(s, 10, 16)
	return uint16(n)
}

var hostWords = sync.OnceValue(func() (all []*regexp.Regexp) {
	const host = `(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])`
	for _, text := range []string{
		`(?P<scheme>https?)://(?:[^@/\s']{1,80}@)?` + host + `(?::(?P<port>[0-9]{1,5}))?`,
		`/dev/(?:tcp|udp)/` + host + `/(?P<port>[0-9]{1,5})`,
		`host='` + host + `', port=(?P<port>[0-9]{1,5})`,
		`failed \('` + host + `', (?P<port>[0-9]{1,5})`,
		`at "` + host + `"(?: \([^)]*\))?, port (?P<port>[0-9]{1,5})`,
		`(?:connect to|address)(?: host| address)? "?` + host + `"?(?: \([^)]*\))?,? port (?P<port>[0-9]{1,5})`,
		`(?:look up|resolve) ` + host + `(?:/| \(port )(?P<port>[0-9]{1,5})`,
		`(?i:resolve|unknown|locate remote|bad|translate) (?i:the )?(?i:host address|host name|hostname|host|address)[:]? ['"‘]?` + host + `(?P<port>)`,
		`resolution for ` + host + `(?P<port>) failed`,
		`UnknownHostException: ` + host + `(?P<port>)`,
		`getaddrinfo [A-Z_]+ ` + host + `(?::(?P<port>[0-9]{1,5}))?`,
		`getaddrinfo for (?:host )?"?` + host + `"?(?: port (?P<port>[0-9]{1,5}))?`,
		`getaddrinfo(?:\("|: )` + host + `(?:"|[: ](?P<port>[0-9]{1,5}):)`,
		`lookup ` + host + `(?P<port>)`,
		`(?:connect|connect to|connection to|Redis at|dial (?:tcp|udp)[46]?|E[A-Z]+) '?` + host + `:(?P<port>[0-9]{1,5})`,
		`: ` + host + `(?P<port>): (?:Temporary failure in name|Name or service)`,
	} {
		all = append(all, regexp.MustCompile(text))
	}
	return all
})

// ports are those of the protocols and programs that a text names without a port.
var ports = map[string]uint16{
	"http": 80, "https": 443, "ws": 80, "wss": 443, "ssh": 22, "sftp": 22, "git": 9418, "rsync": 873, "ftp": 21,
	"redis": 6379, "rediss": 6379, "postgres": 5432, "postgresql": 5432, "mysql": 3306, "mongodb": 27017, "amqp": 5672,
	"psql": 5432, "scp": 22, "redis-cli": 6379,
}

// aims are the ways in which the text of a tool names a host that it connects to.
var aims = sync.OnceValue(func() (all []*regexp.Regexp) {
	const host = `(?P<host>[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}|[A-Za-z0-9][A-Za-z0-9.-]{0,250})`
	const port = `(?P<port>[0-9]{1,5})\b`
	for _, text := range []string{
		`\b(?P<scheme>[a-z]{2,12})://(?:[^@/\s'"]{1,80}@)?` + host + `(?::` + port + `)?`,
		`/dev/tcp/` + host + `/` + port,
		`\b(?P<scheme>HTTPS?)Connection\(["']` + host + `["'](?:,\s*` + port + `)?`,
		`["'(]` + host + `["']?,\s*(?:port\s*=\s*)?["']?` + port, // ("host", 80)
		`\b` + port + `,\s*["']` + host + `["']`,                 // (80, "host")
		`(?:^|[\s"'=@:])` + host + `:` + port,
		`(?:^|[\s"'=@])` + host + `["']?\s+(?:-p\s*)?` + port,
		`\b(?P<scheme>ssh|sftp|scp|psql|redis-cli)\b[^\n;|&]{0,400}?(?:[\s@]|-h\s*)` + host,
		`PeerAddr\s*=>\s*["']` + host + `["'],\s*PeerPort\s*=>\s*["']?` + port,
	} {
		all = append(all, regexp.MustCompile(text))
	}
	return all
})

// maxAims bounds the hosts that a denial takes from a text.
const maxAims = 3

// aimsIn returns the hosts with ports that a text connects to, in the order of aims. Only host, if it
// is not "".
func aimsIn(text []byte, host string) (all []aim) {
	text = text[:min(len(text), maxComplaints)]
	for _, r := range aims() {
		for _, m := range r.FindAllSubmatch(text, 64) {
			a := aim{host: strings.TrimRight(string(m[r.SubexpIndex("host")]), ".-")}
			if i := r.SubexpIndex("port"); i >= 0 {
				a.port = portOf(string(m[i]))
			}
			if i := r.SubexpIndex("scheme"); i >= 0 && a.port == 0 {
				a.port = ports[strings.ToLower(string(m[i]))]
			}
			if a.port != 0 && (host == "" && strings.Contains(a.host, ".") && !numeric(a.host) || strings.EqualFold(a.host, host)) {
				all = append(all, a)
			}
		}
	}
	return all
}

// aim is a host with a port.
type aim struct {
	host string
	port uint16
}

// numeric reports whether a word is a version or a number, and no name of a host. Addresses stand in
// complaints themselves.
func numeric(word string) bool {
	last := word[strings.LastIndexByte(word, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}

// portFor returns the port of a host whose complaint has none: the first one with which the other
// complaints, or the tool's text, name it, or that of the program which complains. 443 is the port
// of a host without one in needs.
func (h *Had) portFor(host, line string) uint16 {
	for _, text := range [][]byte{h.said, h.Text} {
		if all := aimsIn(text, host); len(all) > 0 {
			return all[0].port
		}
	}
	switch {
	case strings.HasPrefix(line, "ssh: "):
		return ports["ssh"]
	case strings.Contains(line, "could not translate host name"): // of libpq
		return ports["postgres"]
	}
	return 443
}

// inText explains a complaint that names no host by the hosts that the text of the tool names and its
// needs do not.
func (h *Had) inText() (Denial, bool) {
	var needs []string
	for _, text := range [][]byte{h.said, h.Text} {
		for _, a := range aimsIn(text, "") {
			if len(needs) == maxAims || loopback(a.host) || h.named(a.host, a.port) && !h.byPattern(a.host, a.port) {
				continue
			}
			at := a.host
			if a.port != 443 {
				at += ":" + strconv.Itoa(int(a.port))
			}
			if !slices.Contains(needs, at) {
				needs = append(needs, at)
			}
		}
		if len(needs) > 0 {
			break
		}
	}
	if needs == nil {
		return Denial{}, false
	}
	return Denial{What: words.Printable("reaching a host, by its text perhaps " + strings.Join(needs, " or ") + ": " + unnamed), Need: h.stating(objects.Needs{Net: needs})}, true
}

// unnamed is the reason for a host that needs do not name.
const unnamed = "its needs do not name it"
