package foreign

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// Remote is a plugin that a marketplace lists and that lies in another place. Everything in it is
// what the marketplace states.
type Remote struct {
	Name   string         // as the marketplace calls it
	Source objects.Source // a repository at its branch or tag, or an archive by HTTPS
	Commit string         // the commit that it lists, in lower case; "" is the newest
	Sum    objects.Digest // of the archive; zero where it lists none
	Entry  string         // the parts of its entry that say what belongs to it: a JSON object
	At     string         // the marketplace's file in the tree
}

// String returns the source that rye add takes for it, at the commit that the marketplace lists.
func (m Remote) String() string {
	src := m.Source
	if m.Commit != "" {
		src.Ref = m.Commit
	}
	return src.String()
}

// Elsewhere returns the plugins that the marketplaces of a tree list in other places, in their order.
// Read names the others of their entries: those that it refuses.
func Elsewhere(t Tree) []Remote {
	if !slices.ContainsFunc(t.Files, func(f File) bool { return strings.HasSuffix(f.Path, "marketplace.json") }) {
		return nil
	}
	t.Files, t.Links = slices.Clone(t.Files), slices.Clone(t.Links)
	r := newReading(t, Wish{})
	r.findPlugins()
	return r.remote
}

// source is the source of an entry that is no text.
type source struct {
	Source  string `json:"source"`
	Path    string `json:"path"`
	Repo    string `json:"repo"`
	URL     string `json:"url"`
	Ref     string `json:"ref"`
	SHA     string `json:"sha"`
	SHA256  string `json:"sha256"`
	Package string `json:"package"`
}

var gitHubName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
})

// elsewhere takes an entry whose plugin lies in another place. It is named, unless the wish says that
// it comes in from there.
func (r *reading) elsewhere(name string, e fields, s source, f File) error {
	m, err := remoteOf(s)
	if err != nil {
		return err
	}
	m.Name, m.At, m.Entry = name, f.Path, entryOf(e)
	if slices.ContainsFunc(r.remote, func(o Remote) bool { return o.Name == m.Name && o.String() == m.String() }) {
		return nil // in another client's list
	}
	r.remote = append(r.remote, m)
	if slices.Contains(r.wish.Elsewhere, name) {
		return nil
	}
	why := words.Quote(words.Brief(name)) + " lies elsewhere"
	if s.Source == "archive" && s.SHA256 != "" {
		why += ", which has the SHA-256 " + words.Brief(s.SHA256)
	}
	r.pass = append(r.pass, Passed{Path: f.Path, Why: why, Source: m.String()})
	return nil
}

// remoteOf reads the source of an entry.
func remoteOf(s source) (m Remote, err error) {
	address := s.URL
	switch s.Source {
	case "github":
		if !gitHubName().MatchString(s.Repo) {
			return m, fault.New(fault.Malformed, "repo %q: want owner/repository", words.Brief(s.Repo))
		}
		address = "https://github.com/" + strings.TrimSuffix(s.Repo, ".git")
	case "url", "git", "archive":
	case "git-subdir":
		if gitHubName().MatchString(s.URL) {
			address = "https://github.com/" + s.URL
		}
	case "npm":
		return m, fault.New(fault.Denied, "it comes from npm (%s), whose packages run scripts when they are installed", words.Brief(s.Package))
	case "command":
		return m, fault.New(fault.Denied, "it comes from a command, and rye runs no command of a marketplace")
	default:
		return m, fault.New(fault.Malformed, "source %q is not one that rye knows", words.Brief(s.Source))
	}
	if err := publicAddress(address); err != nil {
		return m, err
	}
	if s.Source == "archive" {
		return archiveOf(address, s)
	}
	if m.Commit = strings.ToLower(s.SHA); m.Commit != "" && !objects.CommitID(m.Commit) {
		return m, fault.New(fault.Malformed, "sha %q: want 40 hexadecimal digits", words.Brief(s.SHA))
	}
	text := address
	if s.Ref != "" {
		text += "#" + s.Ref
	}
	if at := strings.Trim(strings.TrimPrefix(s.Path, "./"), "/"); at != "" && at != "." && !strings.HasPrefix(s.Path, "/") {
		text += "//" + at
	} else if strings.HasPrefix(s.Path, "/") {
		return m, fault.New(fault.Malformed, "path %q does not lie in the repository", words.Brief(s.Path))
	}
	m.Source, err = objects.ParseSource(text)
	switch {
	case err != nil:
		return m, fault.New(fault.Malformed, "%w", err)
	case m.Source.Kind != objects.SourceGit:
		return m, fault.New(fault.Malformed, "url %q is not the address of a repository", words.Brief(address))
	case objects.CommitID(m.Source.Ref):
		if m.Commit != "" && m.Commit != m.Source.Ref {
			return m, fault.New(fault.Malformed, "ref and sha are two commits, %s and %s", words.Brief(s.Ref), words.Brief(s.SHA))
		}
		m.Commit, m.Source.Ref = m.Source.Ref, ""
	}
	return m, nil
}

// archiveOf reads the source of an archive.
func archiveOf(address string, s source) (m Remote, err error) {
	if m.Source, err = objects.ParseSource(address); err != nil {
		return m, fault.New(fault.Malformed, "%w", err)
	}
	if m.Source.Kind != objects.SourceArchive || m.Source.Path != "" {
		return m, fault.New(fault.Malformed, "url %q: want an address that ends in .zip, .tar, .tar.gz or .tgz", words.Brief(address))
	}
	if s.SHA256 != "" {
		if m.Sum, err = objects.ParseDigest("sha256:" + strings.ToLower(strings.TrimPrefix(s.SHA256, "sha256:"))); err != nil {
			return m, fault.New(fault.Malformed, "sha256 %q: want 64 hexadecimal digits", words.Brief(s.SHA256))
		}
	}
	return m, nil
}

// publicAddress refuses an address with credentials, and one that is none. Without encryption only
// this machine itself is reached.
func publicAddress(s string) error {
	bad := func(why string) error { return fault.New(fault.Malformed, "url %q: %s", words.Brief(s), why) }
	host, scheme := "", ""
	if rest, ok := strings.CutPrefix(s, "git@"); ok {
		host, _, ok = strings.Cut(rest, ":")
		if !ok {
			return bad("want an address")
		}
	} else {
		scheme, rest, _ = strings.Cut(s, "://")
		host, _, _ = strings.Cut(rest, "/")
		if scheme != "https" && scheme != "ssh" && !(scheme == "http" && loopback(host)) {
			return bad("want https, ssh or git@host:path")
		}
		if user, _, has := strings.Cut(host, "@"); has && (scheme != "ssh" || strings.Contains(user, ":")) {
			return fault.New(fault.Malformed, "its address holds a user or a password")
		}
	}
	if host == "" || len(s) > 2048 || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`$\\<>#", c) }) {
		return bad("want an address")
	}
	return nil
}

// loopback reports whether host, with or without a port, is this machine.
func loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && a.IsLoopback()
}

// entryFields are the fields of an entry that say what belongs to a plugin.
var entryFields = []string{"name", "version", "skills", "commands", "agents"}

// maxEntry bounds the parts of an entry that are kept, in bytes.
const maxEntry = 16 << 10

// entryOf returns these fields of an entry as one object; only the name where they are too large.
func entryOf(e fields) string {
	kept := fields{}
	for _, name := range entryFields {
		if raw, there := e[name]; there {
			kept[name] = raw
		}
	}
	raw, err := json.Marshal(kept)
	text := inASCII(string(raw))
	if err != nil || len(text) > maxEntry {
		raw, _ = json.Marshal(fields{"name": e["name"]})
		text = inASCII(string(raw))
	}
	return text
}

// inASCII escapes the other characters of a JSON text: a manifest holds it in one line, and refuses some
// of them.
func inASCII(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c < 0x7f:
			b.WriteRune(c)
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// readListed makes the tree the plugin that a marketplace listed. The marketplaces of a plugin are
// not followed: a list leads to plugins, and no plugin to another list.
func (r *reading) readListed() {
	for _, name := range marketplaces {
		for _, f := range r.tree.Files {
			if strings.HasSuffix("/"+f.Path, "/"+name) {
				r.used[f.Path] = true
				r.skip(f.Path, "the marketplace of a listed plugin is not followed")
			}
		}
	}
	e, err := readFields([]byte(r.tree.Listed))
	if err == nil {
		name, _ := e.text("name")
		err = r.entry(".", name, e, ".")
	}
	if err != nil {
		r.refuse(".", err)
	}
}
