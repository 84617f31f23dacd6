// Package denied says in words what a sandbox refused to a run. It reads the complaints
// that the program printed, and compares them with the rights of the run. It decides
// nothing.
package denied

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/secrets"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Denial is an act that the sandbox probably refused to a run. Both texts are for people and
// models. They decide nothing, because the output of a program proves nothing.
type Denial struct {
	What string // "writing build/a.o: read-only for this tool"
	Need string // a need that gives it as well: "needs: {read: [.], write: [build]}"; "" if none does
}

// Had is everything that a run could use. Read compares complaints with it.
type Had struct {
	Sandbox primitive.Sandbox
	Needs   objects.Needs  // of its plan
	Limits  objects.Limits // of its plan
	Foreign bool           // from a registry

	Dir, Temp string // where it started; its temporary directory
	Project   string // "" outside of a project

	Common []string               // visible to every program
	Never  []string               // given by no need
	Exists func(path string) bool // of a path of this machine, outside of the sandbox

	Names map[string]string // hosts of the needs, by their addresses inside
	Text  []byte            // of the tool and its parameters: it names hosts that complaints do not

	said []byte // all complaints
}

// Bounds of the text read and the denials returned.
const (
	maxComplaints = 64 << 10 // bytes, from the end
	maxLine       = 2048
	maxDenials    = 8
	maxSaid       = 160 // bytes of a path or host
)

// Read finds complaints in a program's output, by the error messages of common programs and
// libraries. For each complaint that the sandbox explains, it returns the refused act and the
// need that would allow it. It is a pure function of its arguments.
func Read(stderr []byte, h Had) (all []Denial) {
	if cut := len(stderr) - maxComplaints; cut > 0 {
		stderr = stderr[cut:]
	}
	if !complains(stderr) {
		return nil
	}
	h.said = stderr
	known := map[Denial]bool{}
	before := ""
	for raw := range bytes.SplitSeq(stderr, []byte("\n")) {
		line := string(raw[:min(len(raw), maxLine)])
		d, ok := h.explain(line, before)
		before = line
		if !ok || known[d] {
			continue
		}
		known[d] = true
		if all = append(all, d); len(all) == maxDenials {
			break
		}
	}
	if some := slices.ContainsFunc(all, func(d Denial) bool { return strings.HasPrefix(d.What, "reaching ") && d.What != anywhere }); some {
		all = slices.DeleteFunc(all, func(d Denial) bool { return d.What == anywhere })
	}
	return all
}

// kind is the meaning of an error message.
type kind int

const (
	readOnly kind = iota + 1
	forbidden
	absent
	unreachable
	unresolved
	full
	noMemory
	noProcess
)

// complaints are error messages of the C library, Node, Go and curl, in lower case. The first one
// found in a line decides.
var complaints = []struct {
	words string
	means kind
}{
	{"read-only file system", readOnly}, {"erofs", readOnly},
	{"could not resolve host", unresolved}, {"temporary failure in name resolution", unresolved}, {"eai_again", unresolved},
	{"enotfound", unresolved}, {"name or service not known", unresolved}, {"no such host", unresolved},
	{"unable to resolve", unresolved}, {"failed to resolve", unresolved}, {"could not be resolved", unresolved}, {"unknown host", unresolved}, {"unknownhostexception", unresolved},
	{"unresolvedaddressexception", unresolved}, {"bad hostname", unresolved}, {"unable to locate remote host", unresolved}, {"host or service not provided", unresolved}, {"host not found", unresolved},
	{"could not resolve", unresolved}, {"name resolution for", unresolved}, {"can't load http", unresolved}, {"connect call failed", unreachable},
	{"network is unreachable", unreachable}, {"enetunreach", unreachable}, {"connection refused", unreachable}, {"econnrefused", unreachable},
	{"connection timed out", unreachable}, {"etimedout", unreachable}, {"failed to connect", unreachable}, {"no route to host", unreachable},
	{"permission denied", forbidden}, {"eacces", forbidden}, {"operation not permitted", forbidden}, {"eperm", forbidden},
	{"no such file or directory", absent}, {"enoent", absent},
	{"no space left on device", full}, {"enospc", full},
	{"cannot allocate memory", noMemory}, {"out of memory", noMemory}, {"enomem", noMemory}, {"memoryerror", noMemory},
	{"resource temporarily unavailable", noProcess},
}

// complains reports whether a text has any of the messages. Most have none.
func complains(text []byte) bool {
	lower := bytes.ToLower(text)
	for _, c := range complaints {
		if bytes.Contains(lower, []byte(c.words)) {
			return true
		}
	}
	return false
}

// explain returns the denial in a line; before is the line above it.
func (h *Had) explain(line, before string) (Denial, bool) {
	lower := strings.ToLower(line)
	for _, c := range complaints {
		at := wordIn(lower, c.words)
		if at < 0 || len(lower) != len(line) {
			continue
		}
		switch c.means {
		case unreachable, unresolved:
			return h.network(line, c.means)
		case full, noMemory, noProcess:
			return h.limit(line, c.means)
		case forbidden:
			if strings.Contains(lower, "socket:") || strings.Contains(before, "socket.socket") {
				return h.socket(lower)
			}
			if strings.Contains(lower, "connect") || strings.Contains(lower, "/dev/tcp/") {
				return h.network(line, c.means)
			}
		}
		for _, p := range pathsIn(line, at) {
			if d, ok := h.path(p, lower, c.means); ok {
				return d, true
			}
		}
		return Denial{}, false
	}
	return Denial{}, false
}

// wordIn returns the position of words in a line, or -1 if they are missing or only the end of a
// longer word.
func wordIn(line, words string) int {
	at := strings.Index(line, words)
	if at > 0 && line[at-1] >= 'a' && line[at-1] <= 'z' {
		return -1
	}
	return at
}

// path returns the denial for a complaint about a path, if the sandbox explains it.
func (h *Had) path(said, lower string, of kind) (Denial, bool) {
	p := said
	if !filepath.IsAbs(p) {
		if h.Dir == "" {
			return Denial{}, false
		}
		p = filepath.Join(h.Dir, p)
	}
	p = filepath.Clean(p)
	writing := of == readOnly || meansWriting(lower)
	in := h.place(p)
	if in == ownTemp && of == absent && h.Exists(p) { // and the run has another directory there
		in = outside
	}
	switch {
	case p == "/", in == mayWrite, in == ownTemp, in == ours && !writing && !below(p, h.Never), of == absent && (in == mayRead || in == kept):
		return Denial{}, false // the sandbox did not cause it
	case in == outside && !writing && !h.Exists(p), in == outside && writing && !h.Exists(p) && !h.Exists(filepath.Dir(p)):
		return Denial{}, false // it does not exist at all
	case of == forbidden && in == mayRead && !writing && h.Sandbox.Tier >= primitive.S3:
		return Denial{}, false // the file's own permissions; the view would be a read-only file system
	case writing, in == mayRead, in == kept:
		return h.refused("writing", p, lower)
	}
	return h.refused("reading", p, lower)
}

// A place is the relation of a path to the sandbox.
type place int

const (
	outside place = iota
	ours          // of the system
	mayRead       // and execute
	kept          // protected inside a writable tree
	mayWrite
	ownTemp
)

func (h *Had) place(p string) place {
	s := &h.Sandbox
	switch {
	case below(p, s.Hide):
		return outside
	case below(p, s.Protect) && below(p, append(s.Write[:len(s.Write):len(s.Write)], s.Read...)):
		return kept
	case below(p, s.Write):
		return mayWrite
	case below(p, s.Read), below(p, s.Exec):
		return mayRead
	case h.Project != "" && below(p, []string{h.Project}):
		return outside
	case h.Temp != "" && below(p, []string{h.Temp}): // Temp may contain the project
		return ownTemp
	case below(p, h.Common):
		return ours
	}
	return outside
}

// below reports whether p is one of trees or is inside one.
func below(p string, trees []string) bool {
	for _, t := range trees {
		if p == t || t == "/" || strings.HasPrefix(p, t+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// refused describes a refused act on a path, and finds the need for it.
func (h *Had) refused(what, p, lower string) (Denial, bool) {
	shown := p
	if below(p, []string{h.Project}) && h.Project != "" {
		shown, _ = filepath.Rel(h.Project, p)
	}
	why := "not in view"
	if what == "writing" {
		why = "read-only for this tool"
	}
	said := what + " " + words.Printable(words.Clip(shown, maxSaid)) + ": "
	need := shown
	if what == "writing" {
		need = h.writable(p, shown, lower)
	}
	switch {
	case below(p, h.Never) || executedByGit(shown):
		return Denial{What: said + "no need gives this"}, true
	case secrets.Named(p):
		return Denial{What: said + why + ", and by its name a secret"}, true
	case wide(p):
		return Denial{What: said + why + ", and a need for all of it would be too wide"}, true
	case len(need) > maxSaid || need != words.Printable(need) || strings.ContainsAny(need, "\n\t"):
		return Denial{What: said + why}, true
	}
	n := objects.Needs{}
	if what == "writing" {
		n.Write = []string{need}
	} else {
		n.Read = []string{need}
	}
	return Denial{What: said + why, Need: h.stating(n)}, true
}

// wide reports whether a path is a user's home, or nearer to the root.
func wide(p string) bool {
	depth := strings.Count(p, string(filepath.Separator))
	return depth <= 1 || depth == 2 && below(p, []string{"/home", "/Users"})
}

// writable returns the path that has to be writable for the attempt: a whole git directory, an
// existing file, or else the directory of the new file.
func (h *Had) writable(p, shown, lower string) string {
	names := strings.Split(shown, string(filepath.Separator))
	for i, name := range names {
		if name == ".git" {
			return strings.Join(names[:i+1], "/")
		}
	}
	if shown == p { // outside of the project
		return p
	}
	if h.Exists(p) && !replaces(lower) {
		return filepath.ToSlash(shown)
	}
	for p = filepath.Dir(p); p != h.Project && !h.Exists(p); {
		p = filepath.Dir(p)
	}
	rel, _ := filepath.Rel(h.Project, p)
	return filepath.ToSlash(rel)
}

// executedByGit reports whether a path is inside a git directory, in a place where git finds
// programs, or the paths of other such places.
func executedByGit(shown string) bool {
	_, in, ok := strings.Cut("/"+filepath.ToSlash(shown)+"/", "/.git/")
	if !ok {
		return false
	}
	for _, name := range []string{"hooks/", "commondir/", "objects/info/alternates/"} {
		if strings.HasPrefix(in, name) {
			return true
		}
	}
	return strings.HasPrefix(in, "modules/") && strings.HasSuffix(in, "/config/")
}
