package foreign

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// marketplaces are the places of the list of plugins of a repository.
var marketplaces = []string{".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json", ".cursor-plugin/marketplace.json", ".github/plugin/marketplace.json"}

// maxPlugins bounds the entries of a marketplace.
const maxPlugins = 5000

// readMarket reads a marketplace. Each entry stands for itself.
func (r *reading) readMarket(root string, f File) {
	m, err := readFields(f.Data)
	var list []json.RawMessage
	if err == nil && json.Unmarshal(m["plugins"], &list) != nil {
		err = wrongType("plugins", "a list")
	}
	if err == nil && len(list) > maxPlugins {
		err = fault.New(fault.Limit, "more than %d plugins", maxPlugins)
	}
	if err != nil {
		r.refuse(f.Path, err)
		return
	}
	base := root
	if meta, err := readFields(m["metadata"]); err == nil {
		if at, ok := meta.text("pluginRoot"); ok && at != "" {
			if base, err = inside(root, at); err != nil {
				r.refuse(f.Path, fault.Wrap(err, `field "pluginRoot"`))
				return
			}
		}
	}
	for i, raw := range list {
		e, err := readFields(raw)
		name := "plugin " + words.Quote(words.Brief(string(raw[:min(len(raw), 40)])))
		if err == nil {
			if s, ok := e.text("name"); ok && s != "" {
				name = s
			} else {
				err = fault.New(fault.Malformed, "entry %d has no name", i+1)
			}
		}
		if err == nil {
			err = r.listing(root, base, name, e, f)
		}
		if err != nil {
			r.refuse(f.Path, fault.Wrap(err, "%s", words.Quote(words.Brief(name))))
		}
	}
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

// listing takes one entry of a marketplace: a plugin here, or one elsewhere, which is named.
func (r *reading) listing(root, base, name string, e fields, f File) error {
	at, ok := e.text("source")
	if !ok {
		var s source
		if err := json.Unmarshal(e["source"], &s); err != nil {
			return wrongType("source", "a path or an object")
		}
		if s.Source != "local" {
			return r.elsewhere(name, s, f)
		}
		at, base = s.Path, root
	}
	if at == "" {
		return fault.New(fault.Malformed, "field source is missing")
	}
	if !strings.HasPrefix(at, "./") && at != "." && base == root && !strings.Contains(at, "/") && len(r.below(path.Join(root, at))) == 0 {
		return fault.New(fault.NotFound, "no folder %q there", words.Brief(at))
	}
	dir, err := inside(base, at)
	if err != nil {
		return err
	}
	dir = r.realDir(dir)
	if len(r.below(dir)) == 0 {
		return fault.New(fault.NotFound, "no folder %q there", words.Brief(at))
	}
	p := &plugin{root: dir, name: name, form: "plugin of a marketplace", instead: map[string]bool{}, context: "GEMINI.md"}
	if p.version, ok = e.text("version"); !ok {
		return wrongType("version", "text")
	}
	if err := p.lists(e); err != nil {
		return err
	}
	if servers := serverNames(e["mcpServers"]); len(servers) > 0 {
		r.skip(f.Path, words.Quote(words.Brief(name))+": its MCP servers do not come in: "+strings.Join(servers, ", "))
	}
	for _, q := range r.plugins {
		if q.root != dir || q.list || q.file == "" {
			continue
		}
		if len(p.skills)+len(p.parts) == 0 {
			return nil // its own manifest says everything
		}
	}
	// Several entries may share one folder, and each lists its own skills.
	p.list = len(p.skills)+len(p.parts) > 0
	if slices.ContainsFunc(r.plugins, func(q *plugin) bool { return q.root == dir && !q.list && q.file == "" }) && !p.list {
		return nil // the entry before names it
	}
	r.plugins = append(r.plugins, p)
	return nil
}

var gitHubName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
})

var fullCommit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40}$`) })

// elsewhere names an entry whose plugin lies in another place, with the source that rye add takes.
func (r *reading) elsewhere(name string, s source, f File) error {
	var address, why string
	switch s.Source {
	case "github":
		if !gitHubName().MatchString(s.Repo) {
			return fault.New(fault.Malformed, "repo %q: want owner/repository", words.Brief(s.Repo))
		}
		address = "https://github.com/" + strings.TrimSuffix(s.Repo, ".git")
	case "url", "git-subdir", "git":
		address = s.URL
		if s.Source == "git-subdir" && gitHubName().MatchString(s.URL) {
			address = "https://github.com/" + s.URL
		}
	case "archive":
		address, why = s.URL, " "
		if s.SHA256 != "" {
			why = ", which has the SHA-256 " + words.Brief(s.SHA256)
		}
	case "npm":
		return fault.New(fault.Denied, "it comes from npm (%s), whose packages run scripts when they are installed", words.Brief(s.Package))
	case "command":
		return fault.New(fault.Denied, "it comes from a command, and rye runs no command of a marketplace")
	default:
		return fault.New(fault.Malformed, "source %q is not one that rye knows", words.Brief(s.Source))
	}
	if err := publicAddress(address); err != nil {
		return err
	}
	if s.Source != "archive" {
		ref := s.SHA
		if ref != "" && !fullCommit().MatchString(ref) {
			return fault.New(fault.Malformed, "sha %q: want 40 hexadecimal digits", words.Brief(s.SHA))
		}
		if ref == "" {
			ref = s.Ref
		}
		if ref != "" {
			if strings.ContainsAny(ref, " ~^:?*[\\#\"'`$") || strings.Contains(ref, "..") || strings.Contains(ref, "//") || ref[0] == '-' {
				return fault.New(fault.Malformed, "ref %q is not the name of a branch or tag", words.Brief(ref))
			}
			address += "#" + ref
		}
		if s.Path != "" && s.Path != "." && s.Path != "./" {
			dir, err := inside(".", s.Path)
			if err != nil || strings.ContainsAny(dir, "#?") {
				return fault.New(fault.Malformed, "path %q does not lie in the repository", words.Brief(s.Path))
			}
			address += "//" + dir
		}
	}
	r.pass = append(r.pass, Passed{Path: f.Path, Why: words.Quote(words.Brief(name)) + " lies elsewhere" + strings.TrimRight(why, " "), Source: address})
	return nil
}

// publicAddress refuses an address with credentials, and one that is none.
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
		if scheme != "https" && scheme != "ssh" {
			return bad("want https, ssh or git@host:path")
		}
		host, _, _ = strings.Cut(rest, "/")
		if user, _, has := strings.Cut(host, "@"); has && (scheme == "https" || strings.Contains(user, ":")) {
			return fault.New(fault.Malformed, "its address holds a user or a password")
		}
	}
	if host == "" || len(s) > 2048 || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("\"'`$\\<>#", c) }) {
		return bad("want an address")
	}
	return nil
}
