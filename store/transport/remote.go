package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// Options are the settings for reaching remotes. The zero value reaches public repositories
// and has no credentials.
type Options struct {
	// Token returns the value of TokenVariable for a host ("git.example.org", or with a port
	// that is not https's), or "". It is sent only to that host and port, and only after the
	// host requested credentials.
	Token func(host string) string
	// Netrc is the path of the user's netrc file; "" = none. It is asked after Token.
	Netrc string
	// Git is the path of git, for the user's git settings, and for its credential helpers,
	// which are asked last; "" = none.
	Git string
	// SSH is the path of the ssh program; "" = "ssh", looked up in PATH.
	SSH string
	// Env is the user's environment; CleanEnv of it goes to ssh and git. Its variables for git
	// (GIT_SSH_COMMAND, GIT_SSL_CAINFO, GIT_CONFIG_GLOBAL, …) have effect.
	Env []string
	// Proxy chooses an HTTP proxy, as http.ProxyFromEnvironment does; nil = none.
	Proxy func(*http.Request) (*url.URL, error)
	// TLS adds private authorities or client certificates; nil = the system's.
	TLS *tls.Config
	// Insecure allows http:// to hosts other than this machine.
	Insecure bool
	// Plain are hosts (host, or host:port) that may be reached over http://.
	Plain []string
	// ReadOnly refuses to push.
	ReadOnly bool
	// Public refuses hosts of this machine, its network or its cloud: the address came from
	// elsewhere, and no person named it.
	Public bool

	// Cache is a directory for the capabilities of hosts, so that the next process need not
	// ask for them. It may be emptied at any time; "" keeps nothing.
	Cache string

	// Importer is the command line of a program that calls store.ServeImport with the
	// arguments after it. Packs that may be large are read there; nil reads them in this
	// process.
	Importer []string

	// Timeout bounds each operation; 0 = 15 minutes. A shorter deadline in the context also
	// applies.
	Timeout time.Duration
	// Connect bounds setting up a connection; 0 = 15 seconds.
	Connect time.Duration
	// Stall bounds each wait for the remote to send or receive data; 0 = 60 seconds.
	Stall time.Duration
	// Tries is how often a host is tried that closes the connection before it sends anything;
	// 0 = 10.
	Tries int
	// MaxAdvert bounds the remote's data about its refs, in bytes; 0 = 64 MiB.
	MaxAdvert int64
	// Progress gets the remote's progress texts, cleaned of control characters;
	// nil asks the remote to be quiet.
	Progress func(text string)
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.Timeout, 15*time.Minute)
	def(&o.Connect, 15*time.Second)
	def(&o.Stall, time.Minute)
	if o.Tries <= 0 {
		o.Tries = openTries
	}
	if o.MaxAdvert <= 0 {
		o.MaxAdvert = 64 << 20
	}
	if o.SSH == "" {
		o.SSH = "ssh"
	}
	return o
}

// Remote is a repository somewhere else. It is safe for concurrent use; its operations run one
// after the other.
type Remote struct {
	t    target
	o    Options
	auth *authState
	dial dialer
	git  *gitSettings // nil: no settings were requested

	pusher *Remote // target of pushes, if git's pushInsteadOf names another address; nil: the same

	served atomic.Pointer[error] // the last refusal of a repository that this process serves itself

	mu    sync.Mutex
	idle  *kept // nil = none
	ready *kept // a session for a push that is expected; nil = none
}

// dialer opens sessions with a service of a remote.
type dialer interface {
	// open returns a session with an unread advertisement. version is the client's preferred
	// version.
	open(ctx context.Context, service string, version int) (session, error)
}

// session is one exchange with a service: an advertisement, then requests and answers. Over
// HTTP each request is a POST; the others use one stream.
type session interface {
	// advert returns the stream of the advertisement.
	advert() *pktReader
	// round sends a request and returns the stream of the answer. Read it to its end before
	// the next round. With an error there may also be an answer, to a pack that was not
	// received completely.
	round(ctx context.Context, q *request) (*pktReader, error)
	Close() error
}

// Dial checks an address and returns the remote for it. It sends nothing before the first
// operation. Its errors are of code Usage. The user's git settings for the address (insteadOf,
// http.*, core.sshCommand) apply here, too.
func Dial(address string, o Options) (*Remote, error) {
	r, err := dialFor(address, o, false)
	if err != nil || o.ReadOnly || r.git == nil || r.git.instead(address, true) == r.git.instead(address, false) {
		return r, err
	}
	r.pusher, err = dialFor(address, o, true)
	return r, err
}

// dialFor is Dial for reading, or for the address after git's pushInsteadOf.
func dialFor(address string, o Options, push bool) (*Remote, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	r := &Remote{t: t, o: o.withDefaults()}
	r.auth = &authState{o: &r.o}
	if o.Public {
		if t.scheme == "file" {
			return nil, fault.New(fault.Denied, "%q is a path of this machine, and no person named it", cleanText(address))
		}
		if err := mustBePublic(t.host); err != nil {
			return nil, err
		}
	}
	if o.Git != "" || o.Env != nil {
		if err := r.heed(address, push); err != nil {
			return nil, err
		}
	}
	r.auth.t = r.t
	r.o.Public = o.Public && r.t.host == t.host // the user's own settings may lead to a mirror inside
	if r.t.scheme == "http" && !mayBePlain(r.t, o) {
		return nil, refuse(address, "anyone on the way can read and change http://").
			Advise("use https://%s; or, if you accept that, rye config http.plain %s", r.t.hostPort()+r.t.path, r.t.hostPort())
	}
	switch r.t.scheme {
	case "http", "https":
		r.dial = r.newHTTPDialer()
	case "git":
		r.dial = &tcpDialer{r}
	case "ssh":
		r.dial = &sshDialer{r}
	case "file":
		r.dial = &localDialer{r}
	}
	return r, nil
}

// mayBePlain reports whether a host may be reached over http.
func mayBePlain(t target, o Options) bool {
	return o.Insecure || isLoopback(t.host) || slices.ContainsFunc(o.Plain, func(host string) bool { return strings.EqualFold(host, t.hostPort()) })
}

// heed applies the user's git settings. It skips local paths.
func (r *Remote) heed(address string, push bool) error {
	if r.t.scheme == "file" {
		return nil
	}
	g := r.o.readGitSettings()
	if to := g.instead(address, push); to != address {
		clean, given := cutCredential(to)
		t, err := parseTarget(clean)
		if err != nil {
			return fault.New(fault.CodeOf(err), "address %q, by git's insteadOf: %w", address, err)
		}
		t.text = r.t.text // the user's own text
		if given != nil {
			r.auth.given, r.auth.seen = given, append(r.auth.seen, given.secret)
		}
		r.t, address = t, clean
	}
	r.git = g
	if r.t.scheme != "http" && r.t.scheme != "https" {
		return nil
	}
	g.about(address)
	var err error
	if r.t.scheme == "https" { // only for https: loading the system's authorities takes milliseconds
		if r.o.TLS, err = g.tls(r.o.TLS); err != nil {
			return err
		}
	}
	r.auth.extra = g.headers()
	r.o.Proxy, err = g.proxy(r.o.Proxy)
	return err
}

// cutCredential removes a password from an address: on build machines, rewritten addresses
// often hold a token.
func cutCredential(address string) (string, *credential) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address, nil
	}
	password, has := u.User.Password()
	if !has {
		return address, nil
	}
	c := &credential{u.User.Username(), secret(password), "address"}
	u.User = nil
	return u.String(), c
}

// String returns the given address. It never holds a password.
func (r *Remote) String() string { return r.t.text }

// Close ends connections that were kept for another operation.
func (r *Remote) Close() error {
	if r.pusher != nil {
		r.pusher.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.dial.(*httpDialer); ok {
		h.client.CloseIdleConnections()
	}
	return r.drop()
}

// drop ends the kept sessions.
func (r *Remote) drop() error {
	var errs []error
	for _, k := range []**kept{&r.idle, &r.ready} {
		if *k != nil {
			errs = append(errs, (*k).Close())
			*k = nil
		}
	}
	return errors.Join(errs...)
}

// do runs one operation under the remote's lock and deadline. It adds operation and address to
// the error.
func (r *Remote) do(ctx context.Context, op string, f func(ctx context.Context) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	err := f(context.WithValue(ctx, stallKey{}, &stall{r.o.Stall, abort}))
	if err != nil {
		r.drop() // its stream may be in the middle of an answer
	}
	return r.wrap(ctx, op, err)
}

// reading runs f, which only reads. It runs f again on a new connection if a kept one is dead,
// or if the host's cached capabilities may be outdated.
func (r *Remote) reading(ctx context.Context, f func() error) error {
	kept := r.idle != nil
	err := f()
	code := fault.CodeOf(err)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if h, ok := r.dial.(*httpDialer); ok && code != fault.Integrity && code != fault.Limit && h.forget() {
		r.drop()
		return f()
	}
	if !kept || code != fault.Network && code != fault.Failed {
		return err
	}
	return f()
}

// upload returns a session with upload-pack and its advertisement.
func (r *Remote) upload(ctx context.Context, prefixes []string) (session, *advert, error) {
	return r.begin(ctx, uploadPack, 2, prefixes)
}

// Head returns the branch that the remote's HEAD points at. It returns "" if the remote does
// not name it or the repository is empty.
func (r *Remote) Head(ctx context.Context) (string, error) {
	_, head, err := r.list(ctx, []string{"HEAD"})
	return head, err
}

// RefsToPush is Refs for a caller that will push to the returned refs. It asks the push
// address, and the next push need not ask again. Everything that prevents a push, such as a
// read-only credential, is an error.
func (r *Remote) RefsToPush(ctx context.Context, prefixes ...string) (refs map[string]store.OID, err error) {
	if r.pusher != nil {
		return r.pusher.RefsToPush(ctx, prefixes...)
	}
	if r.o.ReadOnly {
		return nil, fault.New(fault.Denied, "push to %s: opened for reading only", r)
	}
	err = r.do(ctx, "list refs of", func(ctx context.Context) error {
		r.drop()
		s, a, err := r.begin(ctx, receivePack, 0, nil)
		if err != nil {
			return err
		}
		refs = map[string]store.OID{}
		for name, id := range a.refs {
			if underAny(name, prefixes) {
				refs[name] = id
			}
		}
		switch s := s.(type) {
		case *stream:
			if !s.pause() {
				return nil // the end of the operation closed it
			}
		case *httpSession:
			s.Close() // it is read completely; a request opens it again
		}
		r.ready = &kept{s, a}
		return nil
	})
	return refs, err
}

// Refs returns the remote's refs whose full names begin with one of the prefixes, or all refs
// without prefixes; "HEAD" is listed under its own name. It omits names outside the grammar of
// rye's refs.
func (r *Remote) Refs(ctx context.Context, prefixes ...string) (map[string]store.OID, error) {
	for _, p := range prefixes {
		if !validPrefix(p) {
			return nil, fault.New(fault.Usage, "list refs of %s: prefix %q is not the beginning of a ref name", r, p)
		}
	}
	refs, _, err := r.list(ctx, prefixes)
	return refs, err
}

// RefsAndHead is Refs with the branch that HEAD points at, in one request. The branch is "" if
// "HEAD" is not among the prefixes or the remote does not name it.
func (r *Remote) RefsAndHead(ctx context.Context, prefixes ...string) (refs map[string]store.OID, head string, err error) {
	for _, p := range prefixes {
		if !validPrefix(p) {
			return nil, "", fault.New(fault.Usage, "list refs of %s: prefix %q is not the beginning of a ref name", r, p)
		}
	}
	return r.list(ctx, prefixes)
}

func validPrefix(p string) bool {
	return p == "HEAD" || validRef(p+"x")
}
