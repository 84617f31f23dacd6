package objects

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Origin says where the content of a bundle came from. The signature of the manifest covers it,
// so it is the word of the person who signed, and no proof about the source.
type Origin struct {
	Source string // an address without credentials; "file:<name>" for a folder or an archive of this machine
	Ref    string // the full name of a branch or tag; "" where the source has none
	Commit string // the id of a commit, in hexadecimal digits; "" where the source has none
	Path   string // slash path of the content below the root of the source; "" is the root
	Root   string // slash path of the folder that was added, which has Path in it; "" is the root of the source
	Entry  string // the main file that was named, of a folder of programs; "" is none
	Listed string // what the entry of a marketplace says about the plugin: a JSON object in ASCII; "" is none
	Tree   string // the SHA-1 git tree id of the content as it came
	Sum    Digest // OpenAPM's tree_sha256 of the content as it came
}

// Bounds of an origin, in bytes.
const (
	maxSource     = 2048
	maxSourceRef  = 255
	maxSourcePath = 1024
	maxListed     = 16 << 10
)

// Check refuses an origin that no manifest may have.
func (o *Origin) Check() error {
	bad := func(field, value, want string) error {
		return fault.New(fault.Malformed, "origin: %s %q: want %s", field, words.Brief(value), want)
	}
	switch {
	case !printable(o.Source, maxSource) || strings.Contains(o.Source, " ") || !strings.Contains(o.Source, ":") || strings.HasPrefix(o.Source, "-"):
		return bad("source", o.Source, "an address")
	case hasPassword(o.Source):
		return bad("source", words.Brief("…"), "an address without credentials")
	case o.Ref != "" && (!printable(o.Ref, maxSourceRef) || !branchOrTag(o.Ref)):
		return bad("ref", o.Ref, "refs/heads/<branch> or refs/tags/<tag>")
	case o.Commit != "" && !hexDigits(o.Commit, 40) && !hexDigits(o.Commit, 64):
		return bad("commit", o.Commit, "40 or 64 hexadecimal digits")
	case o.Path != "" && !cleanBelow(o.Path):
		return bad("path", o.Path, "a clean slash path below the root")
	case o.Root != "" && (!cleanBelow(o.Root) || o.Path != o.Root && !strings.HasPrefix(o.Path, o.Root+"/")):
		return bad("root", o.Root, "a clean slash path that has the path in it")
	case o.Entry != "" && !cleanBelow(o.Entry):
		return bad("entry", o.Entry, "a clean slash path below the root")
	case o.Listed != "" && (!printable(o.Listed, maxListed) || o.Listed[0] != '{' || strings.ContainsFunc(o.Listed, func(c rune) bool { return c > '~' }) || !json.Valid([]byte(o.Listed))):
		return bad("listed", o.Listed, "a JSON object in ASCII")
	case !hexDigits(o.Tree, 40):
		return bad("tree", o.Tree, "40 hexadecimal digits")
	}
	return nil
}

// String returns the origin as a source with its commit, for people.
func (o *Origin) String() string {
	s := Source{Address: o.Source, Ref: strings.TrimPrefix(strings.TrimPrefix(o.Ref, "refs/heads/"), "refs/tags/"), Path: o.Path}.String()
	if o.Commit != "" {
		s += " at " + o.Commit[:min(12, len(o.Commit))]
	}
	return s
}

func cleanBelow(p string) bool {
	return printable(p, maxSourcePath) && path.Clean("/" + p)[1:] == p
}

// branchOrTag reports whether a ref is a branch or a tag by the rules of git check-ref-format.
func branchOrTag(ref string) bool {
	name, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		if name, ok = strings.CutPrefix(ref, "refs/tags/"); !ok {
			return false
		}
	}
	if strings.ContainsAny(name, " ~^:?*[\\") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasPrefix(name, "-") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") || strings.HasSuffix(part, ".") {
			return false
		}
	}
	return true
}

// hasPassword reports whether an address names a user with a password, or, over HTTP, a user at
// all: there a user is half of a credential.
func hasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return password || u.Scheme == "http" || u.Scheme == "https"
}

// printable reports whether s has 1 to n bytes, and no character that a manifest refuses.
func printable(s string, n int) bool {
	return s != "" && len(s) <= n && strings.ToValidUTF8(s, "") == s && !strings.ContainsFunc(s, unprintable)
}

func hexDigits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// fields returns the lines of an origin in their order.
func (o *Origin) fields() []struct {
	name string
	at   *string
} {
	return []struct {
		name string
		at   *string
	}{{"source", &o.Source}, {"ref", &o.Ref}, {"commit", &o.Commit}, {"path", &o.Path}, {"root", &o.Root}, {"entry", &o.Entry}, {"listed", &o.Listed}, {"tree", &o.Tree}}
}

func (o *Origin) append(b []byte) []byte {
	b = append(b, "origin:\n"...)
	for _, f := range o.fields() {
		if *f.at != "" {
			b = fmt.Appendf(b, "  %s: %s\n", f.name, quoteMember(*f.at))
		}
	}
	return fmt.Appendf(b, "  tree_sha256: \"%s\"\n", o.Sum.Hex())
}

// origin reads the lines of an origin, after its first.
func (r *manifestReader) origin() (*Origin, error) {
	o := &Origin{}
	for _, f := range o.fields() {
		rest, ok := r.take("  " + f.name + ": ")
		if !ok {
			continue
		}
		var err error
		if *f.at, err = r.quoted(rest); err != nil {
			return nil, err
		}
		if *f.at == "" {
			return nil, r.bad("%s is empty: leave the line out", f.name)
		}
	}
	rest, err := r.want(`  tree_sha256: "`)
	if err != nil {
		return nil, err
	}
	hex, ok := strings.CutSuffix(rest, `"`)
	d, err := ParseDigest("sha256:" + hex)
	if err != nil || !ok {
		return nil, r.bad("tree_sha256 %q: want 64 lower-case hexadecimal digits", words.Brief(rest))
	}
	o.Sum = d
	if err := o.Check(); err != nil {
		return nil, r.bad("%v", err)
	}
	return o, nil
}

// quoteMember writes a text as a string that both YAML and JSON read. Only two characters need a
// mark; the others that would are refused.
func quoteMember(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// unquoteMember reads the string at the start of s, and returns the text behind it.
func unquoteMember(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	if end := strings.IndexAny(s[1:], `"\`); end >= 0 && s[1+end] == '"' {
		return s[1 : 1+end], s[2+end:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			if i++; i == len(s) || s[i] != '\\' && s[i] != '"' {
				return "", "", false
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// quoted reads a line's value that is one string.
func (r *manifestReader) quoted(s string) (string, error) {
	text, rest, ok := unquoteMember(s)
	if !ok || rest != "" {
		return "", r.bad("%q: want one text in double quotes", words.Brief(s))
	}
	return text, nil
}
