package transport

import (
	"io"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// agent is the name by which both sides of this package introduce themselves.
const agent = "rye/1"

// The two services of a git server.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// caps are the capabilities that a server offers: name to value, "" for none. If a name is
// repeated, the last value is used.
type caps map[string]string

func (c caps) has(name string) bool { _, ok := c[name]; return ok }

// feature reports whether the space-separated value of name lists word, as in
// "fetch=shallow filter".
func (c caps) feature(name, word string) bool { return slices.Contains(strings.Fields(c[name]), word) }

// ours returns the capabilities of a request that the server also offers.
func (c caps) ours() (list []string) {
	if c.has("agent") {
		list = append(list, "agent="+agent)
	}
	if f := c["object-format"]; f != "" {
		list = append(list, "object-format="+f)
	}
	return list
}

func (c caps) add(s string) {
	name, value, _ := strings.Cut(s, "=")
	if name != "" {
		c[name] = value
	}
}

// checkFormat refuses a repository with an unknown object format.
func (c caps) checkFormat() error {
	if f := c["object-format"]; f != "" && f != "sha1" && f != "sha256" {
		return fault.New(fault.Usage, "the remote has the object format %q; want sha1 or sha256", cleanText(f))
	}
	return nil
}

// advert is the first message of a server.
type advert struct {
	version int // 0, 1 or 2
	caps    caps
	refs    map[string]store.OID // versions 0 and 1 only; HEAD, and names that validRef accepts
	head    string               // the branch that HEAD points at, if the server names it
}

// advertLimit bounds an advertisement, in refs.
const advertLimit = 1 << 20

// readAdvert reads the advertisement of service. It drops refs whose name is not under one of
// the prefixes; without prefixes it keeps all.
func (p *pktReader) readAdvert(service string, prefixes []string) (*advert, error) {
	kind, line, err := p.line()
	if err != nil {
		return nil, eofIsSilence(err)
	}
	if line == "# service="+service { // smart HTTP, before versions 0 and 1
		if kind, _, err = p.line(); err != nil || kind != pktFlush {
			return nil, malformedAdvert("no flush after the service line", err)
		}
		if kind, line, err = p.line(); err != nil {
			return nil, eofIsSilence(err)
		}
	}
	a := &advert{caps: caps{}, refs: map[string]store.OID{}}
	switch line {
	case "version 2":
		a.version = 2
		err := p.list(pktFlush, 1000, malformedAdvert("not a list of capabilities", nil), func(line string) error {
			a.caps.add(line)
			return nil
		})
		if err != nil {
			return a, err
		}
		return a, a.caps.checkFormat()
	case "version 1":
		a.version = 1
		if kind, line, err = p.line(); err != nil {
			return nil, eofIsSilence(err)
		}
	}
	if err := a.readRefs(p, kind, line, prefixes); err != nil {
		return nil, err
	}
	return a, a.caps.checkFormat()
}

func eofIsSilence(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fault.New(fault.Network, "%w", errSilence)
	}
	return err
}

func malformedAdvert(why string, err error) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Network, "read advertisement of remote: %s", why).
		Advise("check that the address is a git repository")
}

// readRefs reads lines "<id> <name>" up to the flush. The first line, which is already read,
// also holds the capabilities, after a NUL.
func (a *advert) readRefs(p *pktReader, kind pktKind, line string, prefixes []string) error {
	if kind == pktFlush {
		return nil
	}
	malformed := malformedAdvert("not a list of refs", nil)
	if kind != pktData {
		return malformed
	}
	line, list, ok := strings.Cut(line, "\x00")
	if !ok {
		return malformedAdvert("no capabilities", nil)
	}
	for _, c := range strings.Fields(list) {
		if from, to, ok := strings.Cut(strings.TrimPrefix(c, "symref="), ":"); ok && from == "HEAD" && validRef(to) {
			a.head = to
		}
		a.caps.add(c)
	}
	add := func(line string) error { return a.addRef(line, prefixes) }
	if err := add(line); err != nil {
		return err
	}
	return eofIsSilence(p.list(pktFlush, advertLimit, malformed, add))
}

func (a *advert) addRef(line string, prefixes []string) error {
	id, name, ok := strings.Cut(line, " ")
	if !ok || id == "shallow" || name == "capabilities^{}" || strings.HasSuffix(name, "^{}") {
		return nil
	}
	oid, err := store.ParseOID(id)
	if err != nil {
		return fault.New(fault.Network, "read advertisement of remote: %w", err)
	}
	return putRef(a.refs, name, oid, prefixes)
}

// putRef keeps a requested ref with a valid name. It ignores others, since a host may keep
// refs that do not concern us. One name with two values is an error.
func putRef(refs map[string]store.OID, name string, id store.OID, prefixes []string) error {
	if name != "HEAD" && !validRef(name) || !underAny(name, prefixes) || id.IsZero() {
		return nil
	}
	if was, ok := refs[name]; ok && was != id {
		return fault.New(fault.Network, "read refs of remote: %s twice, as %s and %s", name, was, id)
	}
	refs[name] = id
	return nil
}

func underAny(name string, prefixes []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// validRef reports whether a ref name may be sent or received. All of rye has the same
// grammar.
func validRef(name string) bool { return store.CheckRefName(name) == nil }
