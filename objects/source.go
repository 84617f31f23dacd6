package objects

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// SourceKind says how the content of a source is fetched.
type SourceKind string

// The kinds of sources.
const (
	SourceGit     SourceKind = "git"     // a repository: https, http, ssh, git, file, or a directory whose name ends in .git
	SourceFolder  SourceKind = "folder"  // a file or a directory on this machine
	SourceArchive SourceKind = "archive" // .zip, .tar, .tar.gz or .tgz, on this machine or by https
	SourceSite    SourceKind = "site"    // a site with an index of skills
	SourceLock    SourceKind = "lock"    // a lock file of another tool
)

// The paths of a site's index of skills: that of discovery 0.2.0, and that of 0.1.0.
const (
	SiteIndex      = "/.well-known/agent-skills/index.json"
	SiteIndexFirst = "/.well-known/skills/index.json"
)

// Source is a parsed source of foreign content: <address>[#ref][//path].
type Source struct {
	Kind    SourceKind
	Address string // in normal form, never with credentials; a path on this machine as it was written
	Ref     string // a branch or a tag, by name or as refs/heads/… or refs/tags/…; the id of a commit in lower case; "" is the default branch
	Path    string // clean slash path of a folder below the root; "" is the root
	Short   bool   // written as owner/repository, without a host: the address is a guess, so ask before contacting it
}

// ParseSource reads a source as a person types it or a lock file states it. It looks at no file:
// whether a path exists is for the caller. Errors are of code fault.Usage.
func ParseSource(s string) (Source, error) {
	switch i := strings.IndexFunc(s, unicode.IsControl); {
	case s == "" || len(s) > maxSource:
		return Source{}, badSource(s, "want 1 to %d bytes", maxSource)
	case !utf8.ValidString(s) || i >= 0:
		return Source{}, badSource(s, "it holds a control character or no UTF-8")
	case s[0] == '-':
		return Source{}, badSource(s, "it begins with a dash")
	}
	if isPath(s) {
		return localSource(s)
	}
	address, ref, dir, err := cutSource(s)
	if err != nil {
		return Source{}, err
	}
	src := Source{Kind: SourceGit, Ref: ref, Path: dir}
	scheme, rest, url := strings.Cut(address, "://")
	switch {
	case url:
		err = src.url(s, strings.ToLower(scheme), rest)
	case strings.HasPrefix(address, "github:"):
		src.Address, err = github(s, address[len("github:"):])
	case strings.Contains(address, "::"):
		err = badSource(s, "remote helpers run commands and are not supported")
	case strings.Contains(address, ":"):
		src.Address, err = scp(s, address)
	default:
		src.Short = true
		src.Address, err = github(s, address)
	}
	if err != nil {
		return Source{}, err
	}
	if src.Kind != SourceGit && src.Ref != "" {
		return Source{}, badSource(s, "only a repository has branches and tags, and this is the address of an %s", src.kindName())
	}
	return src, nil
}

// String returns the source in normal form. ParseSource reads it as the same source, but with
// Short only as the full address.
func (s Source) String() string {
	out := s.Address
	if s.Ref != "" {
		out += "#" + s.Ref
	}
	if s.Path != "" {
		out += "//" + s.Path
	}
	return out
}

// Local reports whether the source lies on this machine.
func (s Source) Local() bool { return isPath(s.Address) || strings.HasPrefix(s.Address, "file:") }

func (s Source) kindName() string {
	if s.Kind == SourceSite {
		return "index of skills"
	}
	return string(s.Kind)
}

// badSource refuses a source. The text may hold a password, so callers that found one pass a
// source without it.
func badSource(s, why string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "source %s: "+why, append([]any{words.Quote(words.Brief(s))}, args...)...)
}

// cutSource separates the three parts. The ref stands before the path, so that both may hold
// any other character.
func cutSource(s string) (address, ref, dir string, err error) {
	head := 0
	if i := strings.Index(s, "://"); i >= 0 {
		head = i + len("://")
	}
	rest := s[head:]
	hash, slashes := strings.IndexByte(rest, '#'), strings.Index(rest, "//")
	switch {
	case hash >= 0 && (slashes < 0 || hash < slashes):
		var below bool
		address = s[:head+hash]
		ref, dir, below = strings.Cut(rest[hash+1:], "//")
		if ref == "" || below && dir == "" {
			return "", "", "", badSource(s, "nothing stands after # or //")
		}
		if ref, err = checkRef(s, ref); err != nil {
			return "", "", "", err
		}
	case hash >= 0:
		return "", "", "", badSource(s, "the ref stands before the path").Advise("write <address>#<ref>//<path>")
	case slashes >= 0:
		address, dir = s[:head+slashes], rest[slashes+2:]
		if dir == "" {
			return "", "", "", badSource(s, "nothing stands after //")
		}
	default:
		address = s
	}
	if dir != "" {
		dir, err = checkSourcePath(s, dir)
	}
	if ref == "HEAD" {
		ref = ""
	}
	return address, ref, dir, err
}

// checkRef accepts the names of branches and tags, and whole ids of commits. Other refs of a host
// (pull requests, notes, stashes) can be written by anybody or hold no published content.
func checkRef(s, ref string) (string, error) {
	if CommitID(strings.ToLower(ref)) {
		return strings.ToLower(ref), nil
	}
	name := ref
	if below, full := strings.CutPrefix(ref, "refs/"); full {
		var ok bool
		if name, ok = strings.CutPrefix(below, "heads/"); !ok {
			name, ok = strings.CutPrefix(below, "tags/")
		}
		if !ok {
			return "", badSource(s, "%s is no branch and no tag", words.Quote(ref)).Advise("give a branch, a tag or the id of a commit")
		}
	}
	if why := badRef(name); why != "" {
		return "", badSource(s, "the ref %s %s", words.Quote(ref), why)
	}
	return ref, nil
}

// badRef returns why no branch or tag can have this name, by the grammar of store.CheckRefName.
func badRef(name string) string {
	switch {
	case len(name) > maxSourceRef:
		return "is longer than 255 bytes"
	case strings.Contains(name, "..") || strings.Contains(name, "@{") || name == "@":
		return "is an expression of git, and no name"
	case CommitID(strings.ToLower(name)):
		return "looks like the id of a commit"
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`~^:?*[\"'<>|`, c) >= 0 {
			return "holds a character that rye does not accept in refs"
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "has an empty part"
		case part[0] == '.' || part[0] == '-':
			return "has a part that begins with . or -"
		case strings.HasSuffix(part, ".") || strings.HasSuffix(strings.ToLower(part), ".lock"):
			return "has a part that ends in . or .lock"
		}
	}
	return ""
}

// CommitID reports whether s is the whole id of a git object, by SHA-1 or SHA-256, in lower case.
func CommitID(s string) bool {
	return hexDigits(s, 40) || hexDigits(s, 64)
}

// checkSourcePath accepts a path to a folder that no system reads in another way.
func checkSourcePath(s, p string) (string, error) {
	p = strings.TrimSuffix(p, "/")
	bad := func(why string) (string, error) { return "", badSource(s, "the path %s %s", words.Quote(p), why) }
	switch {
	case len(p) > maxSourcePath:
		return bad("is longer than 1024 bytes")
	case strings.Contains(p, `\`):
		return bad("holds a backslash")
	}
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return bad("has a part that is empty, . or ..")
		case strings.EqualFold(strings.TrimRight(part, " ."), ".git"):
			return bad("leads into git's own files")
		}
	}
	return p, nil
}

// url reads an address with a scheme.
func (src *Source) url(s, scheme, rest string) error {
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		// A password in an address that does not parse must not be repeated.
		return badSource(scheme+"://…", "it is not a URL")
	}
	shown := scheme + "://" + u.Host + u.Path
	switch _, password := u.User.Password(); {
	case password, u.User != nil && scheme != "ssh":
		return badSource(shown, "it has credentials in it").Advise("put them into RYE_TOKEN_<HOST>, netrc or git's credential helper")
	case u.RawQuery != "" || u.ForceQuery:
		return badSource(shown, "a query is not accepted, because it may hold credentials")
	}
	switch scheme {
	case "https", "http", "ssh", "git":
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.User != nil || strings.Trim(u.Path, "/") == "" {
			return badSource(s, "file:// takes a path and no host")
		}
		src.Address = "file://" + strings.TrimSuffix(u.EscapedPath(), "/")
		return nil
	default:
		return badSource(s, "scheme %s is not one of https, http, ssh, git, file", words.Quote(scheme))
	}
	host, err := hostOf(s, scheme, u)
	if err != nil {
		return err
	}
	p := strings.TrimRight(u.EscapedPath(), "/")
	for part := range strings.SplitSeq(strings.TrimPrefix(u.Path, "/"), "/") {
		if part == "." || part == ".." || strings.Contains(part, `\`) || strings.ContainsFunc(part, unicode.IsControl) {
			return badSource(shown, "its path holds ., .. or a backslash")
		}
	}
	switch web := scheme == "https" || scheme == "http"; {
	case web && (p == "" || strings.HasSuffix(p, SiteIndex) || strings.HasSuffix(p, SiteIndexFirst)):
		if src.Path != "" {
			return badSource(s, "an index of skills has no folders").Advise("choose a skill by --skill <name>")
		}
		if src.Kind = SourceSite; p == "" {
			p = SiteIndex
		}
	case web && archiveName(p):
		src.Kind = SourceArchive
	case p == "":
		return badSource(shown, "it has no path to a repository")
	case strings.HasPrefix(p, "/-"):
		return badSource(shown, "its path begins with a dash")
	}
	if user := u.User.Username(); user != "" {
		if !plainUser(user) {
			return badSource(shown, "user name %s", words.Quote(user))
		}
		host = user + "@" + host
	}
	if scheme == "https" && src.Kind == SourceGit && host == "github.com" {
		return src.onGitHub(s, strings.TrimPrefix(p, "/"))
	}
	src.Address = scheme + "://" + host + p
	return nil
}

// onGitHub reads a path of github.com, where a browser shows folders at addresses of their own.
func (src *Source) onGitHub(s, p string) (err error) {
	parts := strings.Split(p, "/")
	if len(parts) > 2 {
		e := badSource(s, "it is a page of GitHub, and no repository")
		if len(parts) > 3 && (parts[2] == "tree" || parts[2] == "blob") {
			return e.Advise("write https://github.com/%s/%s#<branch or tag>//<folder>", parts[0], parts[1])
		}
		return e
	}
	src.Address, err = github(s, p)
	return err
}

// hostOf returns host and port in normal form.
func hostOf(s, scheme string, u *url.URL) (string, error) {
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if why := badHost(host); why != "" {
		return "", badSource(s, "%s", why)
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return "", badSource(s, "port %s", words.Quote(port))
		}
		if port = strconv.Itoa(n); port == map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}[scheme] {
			port = ""
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return host, nil
}

func badHost(host string) string {
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return ""
	}
	if host == "" || len(host) > 253 {
		return "it has no host"
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || part[0] == '-' {
			return "the host has a part that is empty or begins with a dash"
		}
	}
	for _, c := range host {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune(".-_", c)) {
			return "the host holds " + strconv.QuoteRune(c) + "; write international names as xn--…"
		}
	}
	return ""
}

func plainUser(user string) bool {
	return user[0] != '-' && strings.Trim(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+") == ""
}

// forges are hosts where git@host:path and ssh://git@host/path name the same repository. On other
// hosts the first is relative to a home directory.
var forges = map[string]bool{"github.com": true, "gitlab.com": true, "codeberg.org": true, "bitbucket.org": true}

// scp reads git's short form for ssh, user@host:path.
func scp(s, address string) (string, error) {
	at, p, _ := strings.Cut(address, ":")
	user, host, named := strings.Cut(at, "@")
	host = strings.ToLower(host)
	switch {
	case !named && strings.Contains(p, "@"):
		return "", badSource(at+":…", "it has credentials in it").Advise("put them into RYE_TOKEN_<HOST>, netrc or git's credential helper")
	case !named || user == "" || !plainUser(user):
		return "", badSource(s, "it is no address and no name").Advise("write ssh://[user@]host/path for a repository behind ssh")
	case badHost(host) != "":
		return "", badSource(s, "%s", badHost(host))
	case strings.Contains(p, "@") && strings.Contains(p, ":"):
		return "", badSource(at+":…", "it has credentials in it")
	}
	p = strings.TrimRight(p, "/")
	if p == "" || p[0] == '-' || p[0] == '~' && strings.HasPrefix(p, "~-") || strings.ContainsAny(p, "\\:@?%") {
		return "", badSource(s, "its path holds a character that rye does not accept here").Advise("write ssh://[user@]host/path")
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return "", badSource(s, "its path has a part that is empty, . or ..")
		}
	}
	switch {
	case forges[host]:
		p = strings.TrimPrefix(p, "/")
		if host == "github.com" {
			p = strings.TrimSuffix(p, ".git")
		}
		return "ssh://" + user + "@" + host + "/" + p, nil
	case p[0] == '/':
		return "ssh://" + user + "@" + host + (&url.URL{Path: p}).EscapedPath(), nil
	}
	return user + "@" + host + ":" + p, nil
}

// github reads owner/repository.
func github(s, name string) (string, error) {
	owner, repo, ok := strings.Cut(name, "/")
	repo = strings.TrimSuffix(repo, ".git")
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
	switch {
	case !ok || owner == "" || len(owner) > 39 || owner[0] == '-' || strings.Trim(owner, letters) != "",
		repo == "" || len(repo) > 100 || repo[0] == '-' || repo == "." || repo == ".." || strings.Trim(repo, letters+"._") != "":
		return "", badSource(s, "it is no owner and repository of GitHub, no address and no path").
			Advise("write github:<owner>/<repository>, https://…, git@host:path, or ./ before a path")
	}
	return "https://github.com/" + owner + "/" + repo, nil
}

// isPath reports whether a source is written as a path of this machine: absolute, or with a dot or
// a tilde in front, or a name without slash and colon. file:// is an address.
func isPath(s string) bool {
	switch {
	case s[0] == '/' || s[0] == '\\' || s[0] == '.' || s[0] == '~':
		return true
	case len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/'):
		return true // C:\…
	case strings.Contains(s, `\`):
		return !strings.Contains(s, ":")
	}
	return !strings.ContainsAny(s, "/:") || !strings.ContainsAny(s, ":") && localName(s)
}

// localName reports whether a relative path says by its last name what it is: a repository, an
// archive or a lock file.
func localName(s string) bool {
	address, _, _ := strings.Cut(s, "#")
	address, _, _ = strings.Cut(address, "//")
	return strings.Count(address, "/") != 1 || strings.HasSuffix(address, ".git") || archiveName(address) || foreignLocks[path.Base(address)]
}

// foreignLocks are the lock files of other tools, by name.
var foreignLocks = map[string]bool{"skills-lock.json": true, ".skill-lock.json": true, "apm.lock.yaml": true, "toolhive.lock.yaml": true}

// archiveName reports whether a name is one of an archive.
func archiveName(p string) bool {
	p = strings.ToLower(p)
	for _, end := range []string{".zip", ".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(p, end) {
			return true
		}
	}
	return false
}

// localSource reads a path of this machine. A ref and a path inside are read only behind a name
// that ends in .git or as an archive, because other names may hold # and //.
func localSource(s string) (Source, error) {
	for _, cut := range []string{"#", "//"} {
		address, _, ok := strings.Cut(s, cut)
		if !ok || address == "" || !strings.HasSuffix(address, ".git") && !archiveName(address) {
			continue
		}
		address, ref, dir, err := cutSource(s)
		if err != nil {
			return Source{}, err
		}
		if strings.HasSuffix(address, ".git") {
			return Source{Kind: SourceGit, Address: address, Ref: ref, Path: dir}, nil
		}
		if ref != "" {
			return Source{}, badSource(s, "an archive has no branches and tags")
		}
		return Source{Kind: SourceArchive, Address: address, Path: dir}, nil
	}
	switch base := path.Base(strings.ReplaceAll(s, `\`, "/")); {
	case foreignLocks[base]:
		return Source{Kind: SourceLock, Address: s}, nil
	case archiveName(base):
		return Source{Kind: SourceArchive, Address: s}, nil
	case strings.HasSuffix(strings.TrimRight(s, "/"), ".git"):
		return Source{Kind: SourceGit, Address: strings.TrimRight(s, "/")}, nil
	}
	return Source{Kind: SourceFolder, Address: s}, nil
}
