package denied

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
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
