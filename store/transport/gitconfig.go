package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// gitSettings are the settings of the user's own git for reaching other machines: from the
// configuration of the user and the system, and from the environment. The configuration of a
// repository, even of the working directory, is never read: it may have come with a clone.
type gitSettings struct {
	o       *Options
	rewrite []rewrite
	http    map[string][]string // by the name after "http.", in lower case; "" resets a list
	ssh     string              // a command line for the shell; "" for none
	variant string              // ssh.variant
}

// A rewrite is url.<to>.insteadOf = from, or pushInsteadOf.
type rewrite struct {
	to, from string
	push     bool
}

// Bounds for reading git's configuration.
const (
	gitConfigMax  = 1 << 20
	gitConfigWait = 10 * time.Second
	authorityMax  = 4 << 20 // of a file of certificates
)

// runGit runs git outside of any repository, with the user's configuration and without
// prompts, and returns its output.
func runGit(ctx context.Context, o *Options, wait time.Duration, input string, args ...string) (string, error) {
	if o.Git == "" {
		return "", exec.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Git, args...)
	cmd.Dir = filepath.VolumeName(os.TempDir()) + string(filepath.Separator)
	cmd.Env = append(CleanEnv(o.Env), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	cmd.Env = append(cmd.Env, ownConfiguration(o.Env)...)
	if args[0] == "config" { // not even from the root directory, if it is a repository
		cmd.Env = append(cmd.Env, "GIT_DIR="+os.DevNull)
	}
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out := &limitedBuffer{max: gitConfigMax}
	cmd.Stdout = out
	err := cmd.Run()
	return out.String(), err
}

// ownConfiguration returns the variables with which a user, or a build machine, configures
// git.
func ownConfiguration(environ []string) (list []string) {
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "GIT_CONFIG_GLOBAL", name == "GIT_CONFIG_SYSTEM", name == "GIT_CONFIG_NOSYSTEM", name == "GIT_CONFIG_COUNT",
			strings.HasPrefix(name, "GIT_CONFIG_KEY_"), strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
			list = append(list, kv)
		}
	}
	return list
}

// GitUser returns the name and the email address that the user's git writes into commits; ""
// if not set.
func GitUser(o Options) (name, email string) {
	out, _ := runGit(context.Background(), &o, gitConfigWait, "", "config", "-z", "--includes", "--list")
	for entry := range strings.SplitSeq(out, "\x00") {
		switch key, value, _ := strings.Cut(entry, "\n"); key {
		case "user.name":
			name = value
		case "user.email":
			email = value
		}
	}
	return name, email
}

// variable returns the value of a variable in the user's environment.
func (o *Options) variable(name string) (value string) {
	for _, kv := range o.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v // the last value is used, as in programs
		}
	}
	return value
}

// readGitSettings reads the settings from git. Without git it reads only the environment.
func (o *Options) readGitSettings() *gitSettings {
	g := &gitSettings{o: o, http: map[string][]string{}}
	out := ""
	if !o.silent() {
		out, _ = runGit(context.Background(), o, gitConfigWait, "", "config", "-z", "--includes", "--list")
	}
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		section, rest, _ := strings.Cut(key, ".")
		switch {
		case section == "url" && strings.HasSuffix(rest, ".insteadof"):
			g.rewrite = append(g.rewrite, rewrite{to: strings.TrimSuffix(rest, ".insteadof"), from: value})
		case section == "url" && strings.HasSuffix(rest, ".pushinsteadof"):
			g.rewrite = append(g.rewrite, rewrite{to: strings.TrimSuffix(rest, ".pushinsteadof"), from: value, push: true})
		case key == "core.sshcommand":
			g.ssh = value
		case key == "ssh.variant":
			g.variant = value
		case section == "http":
			g.http[""] = nil // there are http settings to read
		}
	}
	if v := o.variable("GIT_SSH_COMMAND"); v != "" {
		g.ssh = v
	}
	if v := o.variable("GIT_SSH_VARIANT"); v != "" {
		g.variant = v
	}
	return g
}

// spoken are words, in lower case. A file of git's configuration holds one of them if it has a
// setting for readGitSettings, or includes another file.
var spoken = [][]byte{[]byte("[url"), []byte("[http"), []byte("sshcommand"), []byte("[ssh"), []byte("[include")}

// silent reports whether no file of git's configuration can have a needed setting. Then git,
// which takes two milliseconds, need not run. If git is not the system's own, its first file
// may be anywhere, so git must run.
func (o *Options) silent() bool {
	if o.Git == "" {
		return true
	}
	if runtime.GOOS != "linux" || o.Git != "/usr/bin/git" || o.variable("GIT_CONFIG_COUNT") != "" {
		return false
	}
	home := o.variable("HOME")
	user := cmp.Or(o.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	files := []string{filepath.Join(user, "git", "config"), filepath.Join(home, ".gitconfig")}
	if only := o.variable("GIT_CONFIG_GLOBAL"); only != "" {
		files = []string{only}
	}
	for _, name := range append(files, cmp.Or(o.variable("GIT_CONFIG_SYSTEM"), "/etc/gitconfig")) {
		raw, err := readBounded(name, gitConfigMax)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		low := bytes.ToLower(raw)
		if err != nil || slices.ContainsFunc(spoken, func(word []byte) bool { return bytes.Contains(low, word) }) {
			return false
		}
	}
	return true
}

// instead returns the address that the user's git would use, by the longest rewritten prefix.
// For a push, pushInsteadOf comes first.
func (g *gitSettings) instead(address string, push bool) string {
	for _, wanted := range []bool{true, false} {
		if wanted && !push {
			continue
		}
		var best rewrite
		for _, r := range g.rewrite {
			if r.push == wanted && r.from != "" && strings.HasPrefix(address, r.from) && len(r.from) > len(best.from) {
				best = r
			}
		}
		if best.from != "" {
			return best.to + address[len(best.from):]
		}
	}
	return address
}

// about reads the settings http.* and http.<url>.* that apply to an address, by git's own
// rules of precedence.
func (g *gitSettings) about(address string) {
	_, asked := g.http[""]
	g.http = map[string][]string{}
	if asked {
		out, _ := runGit(context.Background(), g.o, gitConfigWait, "", "config", "-z", "--includes", "--get-urlmatch", "http", address)
		for entry := range strings.SplitSeq(out, "\x00") {
			key, value, _ := strings.Cut(entry, "\n")
			if name, ok := strings.CutPrefix(strings.ToLower(key), "http."); ok {
				g.http[name] = append(g.http[name], value)
			}
		}
	}
	for name, variable := range map[string]string{"sslcainfo": "GIT_SSL_CAINFO", "sslcapath": "GIT_SSL_CAPATH", "sslcert": "GIT_SSL_CERT", "sslkey": "GIT_SSL_KEY"} {
		if v := g.o.variable(variable); v != "" {
			g.http[name] = []string{v}
		}
	}
}

// last returns the last value of a setting, which is the one that applies.
func (g *gitSettings) last(name string) string {
	if list := g.http[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// file returns the value of a setting that names a file.
func (g *gitSettings) file(name string) string {
	v := g.last(name)
	if rest, ok := strings.CutPrefix(v, "~/"); ok {
		return filepath.Join(g.o.variable("HOME"), rest)
	}
	return v
}

// tls adds the user's certificate authorities to the system's, and the user's own certificate.
// It ignores sslVerify=false.
func (g *gitSettings) tls(base *tls.Config) (*tls.Config, error) {
	info, dir, cert := g.file("sslcainfo"), g.file("sslcapath"), g.file("sslcert")
	if info == "" && dir == "" && cert == "" {
		return base, nil
	}
	c := base.Clone()
	if c == nil {
		c = &tls.Config{}
	}
	if c.RootCAs == nil {
		c.RootCAs, _ = x509.SystemCertPool()
	}
	if c.RootCAs == nil {
		c.RootCAs = x509.NewCertPool()
	}
	files := []string{info}
	if dir != "" {
		found, _ := filepath.Glob(filepath.Join(dir, "*"))
		files = append(files, found[:min(len(found), 1000)]...)
	}
	for i, name := range files {
		if name == "" {
			continue
		}
		raw, err := readBounded(name, authorityMax)
		if err == nil && !c.RootCAs.AppendCertsFromPEM(raw) && i == 0 {
			err = errors.New("it holds no certificate")
		}
		if err != nil && i == 0 {
			return nil, fault.New(fault.Usage, "git's http.sslCAInfo %q: %w", name, err)
		}
	}
	if cert == "" {
		return c, nil
	}
	key := g.file("sslkey")
	if key == "" {
		key = cert
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fault.New(fault.Usage, "git's http.sslCert %q: %w", cert, err).Advise("a key with a password cannot be used here")
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func readBounded(name string, most int64) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > most {
		return nil, errors.New("not a file of certificates")
	}
	return os.ReadFile(name)
}

// proxy returns the proxy from git's http.proxy, or the environment's if that is not set.
func (g *gitSettings) proxy(otherwise func(*http.Request) (*url.URL, error)) (func(*http.Request) (*url.URL, error), error) {
	list, ok := g.http["proxy"]
	if !ok {
		return otherwise, nil
	}
	at := list[len(list)-1]
	if at == "" {
		return nil, nil // in git, an empty value means no proxy
	}
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, fault.New(fault.Usage, "git's http.proxy is not an address")
	}
	return http.ProxyURL(u), nil
}

// headers returns git's http.extraHeader lines, which are sent only to the host of the
// address. Their values may be secrets.
func (g *gitSettings) headers() (list []header) {
	for _, line := range g.http["extraheader"] {
		if line == "" {
			list = nil
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		if ok && name != "" && !strings.ContainsAny(name+value, "\r\n\x00") && !ours[name] {
			list = append(list, header{name, secret(value)})
		}
	}
	return list
}

// header is a request header that the user added.
type header struct {
	name  string
	value secret
}

// ours are the headers that the protocol sets.
var ours = map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Host": true, "Content-Type": true, "Git-Protocol": true, "Connection": true}

// sshCommand returns the command for starting ssh: a program, and arguments before its own. As
// in git, the shell reads a command line of the user. It gets the user's whole environment,
// which it may use.
func (g *gitSettings) sshCommand(o *Options) (program string, before, environ []string) {
	switch {
	case g != nil && g.ssh != "":
		shell := "/bin/sh"
		if runtime.GOOS == "windows" {
			shell = "sh" // Git for Windows brings one
		}
		return shell, []string{"-c", g.ssh + ` "$@"`, g.ssh}, o.Env
	case g != nil && o.variable("GIT_SSH") != "":
		return o.variable("GIT_SSH"), nil, o.Env
	}
	return o.SSH, nil, CleanEnv(o.Env)
}
