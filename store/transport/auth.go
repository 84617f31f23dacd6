package transport

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// secret is a password or token. It prints as "[redacted]".
type secret string

func (secret) String() string   { return "[redacted]" }
func (secret) GoString() string { return "[redacted]" }

// credential is a user name and a secret, for one host only.
type credential struct {
	user   string
	secret secret
	source string // "address", "token", "netrc" or "git"; for messages
}

// authState looks up credentials for its own host, one source after the other, and keeps the
// one that worked.
type authState struct {
	t     target
	o     *Options
	tried int // sources already tried
	now   *credential
	given *credential // from the address after git's insteadOf; the first source
	extra []header    // git's http.extraHeader
	seen  []secret    // all values that must never be printed
}

// header sets the request's Authorization, if a credential is known and the request goes to
// the credential's host.
func (a *authState) header(req *http.Request) {
	if !a.bound(req) {
		return
	}
	for _, h := range a.extra {
		req.Header.Add(h.name, string(h.value))
	}
	if a.now == nil {
		return
	}
	req.SetBasicAuth(a.now.user, string(a.now.secret))
}

func (a *authState) bound(req *http.Request) bool {
	to := target{scheme: req.URL.Scheme, host: req.URL.Hostname(), port: req.URL.Port()}
	return to.scheme == a.t.scheme && strings.EqualFold(to.hostPort(), a.t.hostPort())
}

// next moves on to the next source with a credential. A source with a refused credential is
// not asked again. A refused credential from git is reported to git.
func (a *authState) next(ctx context.Context) bool {
	a.reject(ctx)
	sources := []func(context.Context) *credential{a.fromAddress, a.fromToken, a.fromNetrc, a.fromGit}
	for ; a.tried < len(sources); a.tried++ {
		c := sources[a.tried](ctx)
		if c == nil || c.secret == "" || strings.ContainsAny(c.user+string(c.secret), "\r\n\x00") {
			continue
		}
		a.seen = append(a.seen, c.secret)
		a.now = c
		a.tried++
		return true
	}
	return false
}

// hasToken reports whether an unused token is available.
func (a *authState) hasToken() bool {
	return a.tried == 0 && a.given != nil || a.tried <= 1 && a.fromToken(context.Background()) != nil
}

func (a *authState) fromAddress(context.Context) *credential { return a.given }

func (a *authState) fromToken(context.Context) *credential {
	if a.o.Token == nil {
		return nil
	}
	tok := a.o.Token(a.t.tokenHost())
	if tok == "" {
		return nil
	}
	user := a.t.user
	if user == "" {
		user = "x-access-token" // forges only check the password
	}
	return &credential{user, secret(tok), "token"}
}

// fromNetrc reads the netrc file for the host, or for host:port. It does not use a "default"
// entry, which belongs to no host.
func (a *authState) fromNetrc(context.Context) *credential {
	if a.o.Netrc == "" {
		return nil
	}
	f, err := os.Open(a.o.Netrc)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil
	}
	for _, host := range []string{a.t.hostPort(), a.t.host} {
		if c := findNetrc(string(text), host, a.t.user); c != nil {
			return c
		}
	}
	return nil
}

// findNetrc returns the first entry for machine host, and user unless "".
func findNetrc(text, host, user string) *credential {
	var c *credential
	words := append(netrcWords(text), "", "default", "") // a missing argument, and the end of the last entry
	for i := 0; i+1 < len(words); i++ {
		word, arg := words[i], words[i+1]
		switch word {
		case "machine", "default":
			if c != nil && c.secret != "" && (user == "" || user == c.user) {
				return c
			}
			c = nil
			if word == "machine" && strings.EqualFold(arg, host) {
				c = &credential{source: "netrc"}
			}
		case "login", "user":
			if c != nil {
				c.user = arg
			}
		case "password":
			if c != nil {
				c.secret = secret(arg)
			}
		case "account":
		default:
			continue
		}
		if word != "default" {
			i++ // its argument
		}
	}
	return nil
}

// netrcWords splits a netrc file into words. It skips lines that begin with #, and macro
// definitions, which end at an empty line.
func netrcWords(text string) []string {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			macro = false
		case macro || line[0] == '#':
		default:
			for _, w := range strings.Fields(line) {
				if w == "macdef" {
					macro = true
					break
				}
				words = append(words, strings.Trim(w, `"`))
			}
		}
	}
	return words
}

// fromGit calls `git credential fill`, which asks the user's helpers. It runs outside any
// repository, without prompts, with the environment in the options.
func (a *authState) fromGit(ctx context.Context) *credential {
	out, err := a.git(ctx, "fill", a.describe(nil))
	if err != nil {
		return nil
	}
	c := &credential{source: "git"}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "host":
			if !strings.EqualFold(value, a.t.hostPort()) {
				return nil // a helper must not answer for another host
			}
		case "username":
			c.user = value
		case "password":
			c.secret = secret(value)
		}
	}
	return c
}

// approve reports to git's helpers that the credential worked, so that they keep it.
func (a *authState) approve(ctx context.Context) {
	if a.now != nil && a.now.source == "git" {
		a.git(ctx, "approve", a.describe(a.now))
	}
}

func (a *authState) reject(ctx context.Context) {
	if a.now != nil && a.now.source == "git" {
		a.git(ctx, "reject", a.describe(a.now))
	}
	a.now = nil
}

// describe returns the input for git credential. No value holds a line end: parseTarget
// refuses them in addresses, and next in credentials.
func (a *authState) describe(c *credential) string {
	s := "protocol=" + a.t.scheme + "\nhost=" + a.t.hostPort() + "\npath=" + strings.TrimPrefix(a.t.path, "/") + "\n"
	switch {
	case c != nil:
		s += "username=" + c.user + "\npassword=" + string(c.secret) + "\n"
	case a.t.user != "":
		s += "username=" + a.t.user + "\n"
	}
	return s + "\n"
}

func (a *authState) git(ctx context.Context, verb, input string) (string, error) {
	return runGit(ctx, a.o, time.Minute, input, "credential", verb)
}

// redact removes every secret from a text, also in the encoded form of requests.
func (a *authState) redact(text string) string {
	for _, h := range a.extra {
		if len(h.value) > 3 {
			text = strings.ReplaceAll(text, string(h.value), "[redacted]")
		}
	}
	for _, s := range a.seen {
		text = strings.ReplaceAll(text, string(s), "[redacted]")
	}
	if a.now != nil {
		basic := base64.StdEncoding.EncodeToString([]byte(a.now.user + ":" + string(a.now.secret)))
		text = strings.ReplaceAll(text, basic, "[redacted]")
	}
	return text
}

// limitedBuffer keeps the first bytes written to it and drops the rest. It is safe for
// concurrent use.
type limitedBuffer struct {
	mu   sync.Mutex
	text []byte
	max  int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p[:min(len(p), l.max-len(l.text))]...)
	return len(p), nil
}

func (l *limitedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// CleanEnv returns the variables of environ that ssh and git's credential helpers need to find
// the user's configuration, agent and desktop. It omits everything that would redirect git
// (GIT_*) or load code (LD_*).
func CleanEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (cleanNames[strings.ToUpper(name)] || strings.HasPrefix(name, "LC_")) {
			out = append(out, kv)
		}
	}
	return out
}

var cleanNames = map[string]bool{
	"HOME": true, "PATH": true, "USER": true, "LOGNAME": true, "LANG": true, "TMPDIR": true,
	"SSH_AUTH_SOCK": true, "SSH_AGENT_PID": true, "XDG_CONFIG_HOME": true, "XDG_CACHE_HOME": true,
	"XDG_DATA_HOME": true, "XDG_RUNTIME_DIR": true, "DBUS_SESSION_BUS_ADDRESS": true,
	"DISPLAY": true, "WAYLAND_DISPLAY": true, "GNUPGHOME": true, "PASSWORD_STORE_DIR": true,
	// Windows
	"USERPROFILE": true, "APPDATA": true, "LOCALAPPDATA": true, "PROGRAMDATA": true, "PROGRAMFILES": true,
	"PROGRAMFILES(X86)": true, "SYSTEMROOT": true, "WINDIR": true, "COMSPEC": true, "PATHEXT": true,
	"TEMP": true, "TMP": true, "HOMEDRIVE": true, "HOMEPATH": true, "USERNAME": true,
}
