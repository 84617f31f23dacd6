package denied

import (
	"cmp"
	"encoding/json"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// pathsIn returns the paths that a complaint may be about, the likeliest first: quoted text, then
// the words just before position at, then words behind it that begin with a slash.
func pathsIn(line string, at int) (all []string) {
	for _, m := range quotations().FindAllStringSubmatch(line, 8) {
		for _, q := range m[1:] {
			if q != "" {
				all = append(all, q)
			}
		}
	}
	front := strings.TrimRight(line[:at], ":( ")
	for _, trying := range []string{": cannot open", ": cannot stat"} { // GNU tar names it before
		if cut := len(front) - len(trying); cut > 0 && strings.EqualFold(front[cut:], trying) {
			front = front[:cut]
		}
	}
	if i := strings.LastIndex(front, ": "); i >= 0 {
		front = front[i+2:]
	}
	if front != "" && all == nil {
		if i := strings.LastIndexByte(front, ' '); i >= 0 {
			all = append(all, front[i+1:])
		}
		all = append(all, front)
	}
	for _, f := range strings.FieldsFunc(line[at:], func(r rune) bool { return strings.ContainsRune(" ,;()<>'\"", r) }) {
		if f = strings.TrimRight(f, ":."); strings.HasPrefix(f, "/") {
			all = append(all, f)
		}
	}
	return all
}

var quotations = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("'([^']+)'|\"([^\"]+)\"|‘([^’]+)’|“([^”]+)”|`([^'`]+)['`]")
})

// meansWriting reports whether a complaint, in lower case, is about making, changing or removing
// a file.
func meansWriting(lower string) bool { return holds(lower, writingWords) || replaces(lower) }

var writingWords = []string{"create", "mkdir", "touch", "write", "writing", "remove", "unlink", "rmdir", "append", "lock", "chmod", "chown", "utime", "copyfile", "install"}

// replaces reports whether a complaint is about a name, and so about the directory that holds it.
func replaces(lower string) bool {
	return holds(lower, []string{"rename", "replace", "temporary file", "move", "unlink", "remove", "rmdir"})
}

func holds(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// socket explains a refusal to make a socket, before any connection.
func (h *Had) socket(lower string) (Denial, bool) {
	if strings.Contains(lower, "raw") || strings.Contains(lower, "icmp") || h.Sandbox.Unix || !h.Sandbox.Net && h.Sandbox.Tier < primitive.S3 {
		return Denial{}, false
	}
	return Denial{What: "a socket of this machine: not for this tool", Need: h.stating(objects.Needs{Net: []string{"unix"}})}, true
}

// anywhere is the text for a complaint that names no host.
const anywhere = "reaching the network: this tool has none"

// network explains a host that could not be reached.
func (h *Had) network(line string, of kind) (Denial, bool) {
	s := &h.Sandbox
	host, port := hostIn(line)
	own := s.Own && s.Tier >= primitive.S3
	switch {
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
	case own:
		why = "its needs do not name it"
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
		if suffix, ok := strings.CutPrefix(name, "*"); ok && strings.HasSuffix(strings.ToLower(host), strings.ToLower(suffix)) {
			name = host
		}
		return strings.EqualFold(name, host) && (port == 0 || at == strconv.Itoa(int(port)))
	})
}

// passing is the first of the ports that the system assigns to programs that ask for any port
// (Linux's ip_local_port_range). The run itself usually started the server at such a port.
const passing = 32768

func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hostIn finds a host, and its port if there is one, in messages of curl, git, Node, Python, Go,
// bash, PostgreSQL and other programs that print an address.
func hostIn(line string) (host string, port uint16) {
	for _, r := range hostWords() {
		m := r.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		port = portOf(m[r.SubexpIndex("port")])
		if i := r.SubexpIndex("scheme"); i >= 0 && port == 0 && m[i] == "http" {
			port = 80
		}
		return m[r.SubexpIndex("host")], port
	}
	return "", 0
}

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
		`at "` + host + `"(?: \([^)]*\))?, port (?P<port>[0-9]{1,5})`,
		`(?:connect to|address)(?: host| address)? "?` + host + `"?,? port (?P<port>[0-9]{1,5})`,
		`resolve (?:host|hostname|address)[:]? '?` + host + `(?P<port>)`,
		`getaddrinfo [A-Z_]+ ` + host + `(?::(?P<port>[0-9]{1,5}))?`,
		`lookup ` + host + `(?P<port>)`,
		`(?:connect|dial (?:tcp|udp)[46]?|E[A-Z]+) ` + host + `:(?P<port>[0-9]{1,5})`,
		`: ` + host + `(?P<port>): (?:Temporary failure in name|Name or service)`,
	} {
		all = append(all, regexp.MustCompile(text))
	}
	return all
})

// limit explains a resource that ran out.
func (h *Had) limit(line string, of kind) (Denial, bool) {
	had := h.Limits
	var more objects.Limits
	what := ""
	switch of {
	case full:
		for _, p := range pathsIn(line, strings.LastIndex(line, ": ")+1) {
			if strings.HasPrefix(p, "/") && h.place(p) == mayWrite {
				return Denial{}, false // the disk is full
			}
		}
		what, more.Temp = "temporary files", 2*cmp.Or(had.Temp, 2<<30)
	case noMemory:
		what, more.Memory = "memory", 2*had.Memory
	case noProcess:
		if !strings.Contains(line, "fork") && !strings.Contains(line, "thread") {
			return Denial{}, false
		}
		what, more.Processes = "processes", 2*had.Processes
	}
	d := Denial{What: "more " + what + " than its limit, perhaps"}
	if stated := more.String(); stated != "" {
		d.Need = "limits: {" + strings.Replace(stated, " ", ": ", 1) + "}"
	}
	return d, true
}

// stating returns the text of needs that adds more to the present ones. An item without needs had
// the project by default. Declaring needs replaces that default, so the text includes it.
func (h *Had) stating(more objects.Needs) string {
	n := h.Needs
	if !n.Declared {
		n.Read = []string{"."}
		if !h.Foreign {
			n.Write = []string{"."}
		}
	}
	var parts []string
	for _, f := range []struct {
		name      string
		had, more []string
	}{{"read", n.Read, more.Read}, {"write", n.Write, more.Write}, {"net", n.Net, more.Net}, {"listen", n.Listen, nil}, {"rye", n.Rye, nil}} {
		var list []string
		for _, v := range append(f.had[:len(f.had):len(f.had)], f.more...) {
			if v = inYAML(v); !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
		if len(list) > 0 {
			parts = append(parts, f.name+": ["+strings.Join(list, ", ")+"]")
		}
	}
	return "needs: {" + words.Printable(strings.Join(parts, ", ")) + "}"
}

// inYAML returns a text as an element of a list in YAML's flow form.
func inYAML(s string) string {
	if !strings.ContainsAny(s, "*:[]{}#&!|>'\"%@`, \\") && s != "" && !strings.HasPrefix(s, "-") {
		return s
	}
	raw, _ := json.Marshal(s) // a string always encodes
	return string(raw)
}
