package policy

import (
	"net/url"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Demands are conditions that items must meet before they are used. The zero Demands demand nothing.
type Demands struct {
	Locked  bool        // tools run as the lock pins them, or not at all
	NoDrift bool        // what the lock pins is used as pinned, or not at all
	Origin  bool        // what the user did not write needs a source that others can reach
	Review  bool        // an owner of its namespace signed each item: no patches, no unsigned files
	Sources [][]Address // from each list one pattern must fit the address; an empty list fits none
}

// Any reports whether anything is demanded.
func (d Demands) Any() bool { return len(d.Lines()) > 0 }

// Lines names the demands as they stand in a policy.
func (d Demands) Lines() (all []string) {
	for _, one := range []struct {
		on   bool
		name string
	}{{d.Locked, "locked_only"}, {d.NoDrift, "fail_on_drift"}, {d.Origin, "require_origin"}, {d.Review, "require_review"}} {
		if one.on {
			all = append(all, one.name)
		}
	}
	for _, list := range d.Sources {
		names := make([]string, len(list))
		for i, a := range list {
			names[i] = a.String()
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		all = append(all, "allowed_sources "+strings.Join(names, ", "))
	}
	return all
}

// Source refuses an address that the demands do not allow.
func (d Demands) Source(address string) error {
	for _, list := range d.Sources {
		if !slices.ContainsFunc(list, func(a Address) bool { return a.Fits(address) }) {
			return fault.New(fault.Denied, "the policy allows no content from %s", words.Brief(address)).
				Advise("rye policy explain shows allowed_sources; an owner of the project adds an address there")
		}
	}
	return nil
}

// and returns the conditions of both.
func (d Demands) and(n Demands) Demands {
	return Demands{d.Locked || n.Locked, d.NoDrift || n.NoDrift, d.Origin || n.Origin, d.Review || n.Review, append(slices.Clip(d.Sources), n.Sources...)}
}

// Address is a pattern of addresses: a scheme, a host, and the first segments of a path. It fits an address
// that has the same scheme and host, and whose path begins with these segments. "*." before a host stands for
// one or more names, "*" in place of a segment for any one segment, and "file:" for
// everything on this machine.
type Address struct {
	scheme, host string
	segments     []string
}

// MaxAddresses bounds the patterns of one policy.
const MaxAddresses = 1000

// ParseAddress reads a pattern.
func ParseAddress(text string) (Address, error) {
	bad := func(want string) (Address, error) {
		return Address{}, fault.New(fault.Malformed, "policy: allowed_sources %q: %s", words.Brief(text), want)
	}
	if text == "file:" {
		return Address{scheme: "file"}, nil
	}
	a, ok := cut(text)
	if !ok {
		return bad("want <scheme>://<host>/<path>, or file:")
	}
	name := strings.TrimPrefix(a.host, "*.")
	if name == "" || strings.Contains(name, "*") {
		return bad("want a host, or *. before one")
	}
	for _, s := range a.segments {
		if strings.Contains(s, "*") && s != "*" {
			return bad("* stands for a whole segment of the path")
		}
	}
	return a, nil
}

// cut splits an address. Addresses with credentials, queries, escapes, or segments that lead elsewhere have no
// form that could be compared.
func cut(text string) (a Address, ok bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || len(text) > 2048 || strings.ContainsAny(text, "@%?#\\ ") {
		return git(text)
	}
	host, path, _ := strings.Cut(rest, "/")
	a = Address{scheme: strings.ToLower(scheme), host: strings.ToLower(host)}
	if scheme == "" || strings.ContainsFunc(a.scheme, func(r rune) bool { return (r < 'a' || r > 'z') && r != '+' }) {
		return a, false
	}
	return a, a.path(path)
}

// git is cut for ssh addresses, which name the account on the host: git@host.
func git(text string) (a Address, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "ssh" || u.User == nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, "%?#\\ ") {
		return a, false
	}
	if _, secret := u.User.Password(); secret {
		return a, false
	}
	a = Address{scheme: "ssh", host: u.User.Username() + "@" + strings.ToLower(u.Host)}
	return a, u.Host != "" && a.path(strings.TrimPrefix(u.Path, "/"))
}

func (a *Address) path(text string) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "/"), ".git")
	if text == "" {
		return true
	}
	a.segments = strings.Split(text, "/")
	return !slices.ContainsFunc(a.segments, func(s string) bool { return s == "" || s == "." || s == ".." })
}

// Fits reports whether the pattern fits an address.
func (p Address) Fits(address string) bool {
	if p.scheme == "file" && p.host == "" {
		return onThisMachine(address)
	}
	a, ok := cut(address)
	if !ok || a.scheme != p.scheme || len(a.segments) < len(p.segments) {
		return false
	}
	if below, any := strings.CutPrefix(p.host, "*"); any {
		if !strings.HasSuffix(a.host, below) || len(a.host) == len(below) || strings.Contains(a.host, "@") {
			return false
		}
	} else if a.host != p.host {
		return false
	}
	for i, s := range p.segments {
		if s != "*" && s != a.segments[i] {
			return false
		}
	}
	return true
}

// onThisMachine reports whether an address is on this machine: a path, or file: without a host.
func onThisMachine(address string) bool {
	if rest, ok := strings.CutPrefix(address, "file:"); ok {
		return !strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "///")
	}
	windows := len(address) > 2 && address[1] == ':' && (address[2] == '\\' || address[2] == '/')
	return windows || strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") || strings.HasPrefix(address, ".")
}

// String returns the pattern as it is written.
func (p Address) String() string {
	if p.scheme == "file" && p.host == "" {
		return "file:"
	}
	return strings.TrimSuffix(p.scheme+"://"+p.host+"/"+strings.Join(p.segments, "/"), "/")
}
