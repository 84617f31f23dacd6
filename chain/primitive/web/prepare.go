package web

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
	"github.com/rye-os/rye/internal/words"
)

// exchange is a checked request, with everything that is needed to make it.
type exchange struct {
	Request
	o      Options
	url    *url.URL // of Request.URL and the parts of Query without secrets
	host   string
	port   uint16
	secret bool // it has a secret, which is filled in just before sending
	redact redactor
	client *http.Transport
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// ours are header fields that rye or the protocol writes.
var ours = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
	"Expect", "Accept-Encoding", "Proxy-Authorization", "Proxy-Authenticate", "Proxy-Connection"}

func prepare(r Request, o Options) (*exchange, error) {
	e := &exchange{Request: r, o: o}
	if !slices.Contains(methods, r.Method) {
		return nil, fault.New(fault.Usage, "http: method %q: want one of %s", r.Method, strings.Join(methods, ", "))
	}
	err := e.converts()
	if err != nil {
		return nil, err
	}
	if e.url, err = parseURL(r.URL); err != nil {
		return nil, err
	}
	if e.host, e.port, err = target(e.url); err != nil {
		return nil, err
	}
	if e.Hosts == nil {
		e.Hosts = []string{e.url.Hostname() + ":" + strconv.Itoa(int(e.port))}
	}
	if err := e.covered(e.host, e.port); err != nil {
		return nil, err
	}
	if e.redact, err = e.secrets(); err != nil {
		return nil, err
	}
	for _, f := range r.Header {
		if err := checkField(f, o.Secrets); err != nil {
			return nil, err
		}
	}
	if n := len(r.Body.reveal(o.Secrets)); n > MaxRequest {
		return nil, fault.New(fault.Limit, "http: a body of %d bytes, at most %d are sent", n, MaxRequest)
	}
	e.defaults()
	return e, e.query()
}

func (e *exchange) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&e.Whole, DefaultWhole)
	set(&e.Connect, DefaultConnect)
	if e.MaxBody <= 0 {
		e.MaxBody = DefaultBody
	}
	e.MaxBody = min(e.MaxBody, MaxBody)
	e.Redirects = min(e.Redirects, MaxRedirects)
	if e.Results <= 0 || e.Results > MaxResults {
		e.Results = MaxResults
	}
	e.Retry.defaults()
	if e.o.Now == nil {
		e.o.Now = time.Now
	}
	if e.o.Sleep == nil {
		e.o.Sleep = sleep
	}
	if e.o.Jitter == nil {
		e.o.Jitter = rand.Float64
	}
}

func (e *exchange) now() time.Time { return e.o.Now() }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// parseURL accepts a URL that can be requested. It refuses one that two parsers could read
// differently.
func parseURL(text string) (*url.URL, error) {
	bad := func(why string) error {
		return fault.New(fault.Usage, "http: url %q: %s", words.Clip(text, maxQuoted), why)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return nil, bad("it holds a space, a backslash or a control character")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, bad("it cannot be read")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, bad("want http or https")
	case u.User != nil:
		return nil, fault.New(fault.Usage, "http: a url with a user in it: name the credential in auth") // not quoted: it may be one
	case u.Hostname() == "" || u.Opaque != "":
		return nil, bad("it has no host")
	case strings.ContainsAny(u.Hostname(), "%"):
		return nil, bad("an address with a zone")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// target returns the host of a URL, in lower case, and its port.
func target(u *url.URL) (string, uint16, error) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if _, err := netip.ParseAddr(host); err != nil && hosts.Numeric(host) {
		return "", 0, fault.New(fault.Denied, "http: host %q is neither a host name nor an address", words.Clip(host, maxQuoted))
	}
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "https":
		return host, 443, nil
	case port == "":
		return host, 80, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fault.New(fault.Usage, "http: port %q of %s: want 1 to 65535", words.Clip(port, maxQuoted), words.Clip(host, maxQuoted))
	}
	return host, uint16(n), nil
}

func (e *exchange) covered(host string, port uint16) error {
	if Covers(e.Hosts, host, port) {
		return nil
	}
	return fault.New(fault.Denied, "http: %s:%d is not among the hosts that were declared (%s)", host, port, strings.Join(e.Hosts, " ")).
		Advise("declare it in needs.net, then sign again")
}

// secrets finds every secret that the request names.
func (e *exchange) secrets() (redactor, error) {
	texts := []Text{e.Body}
	for _, f := range slices.Concat(e.Header, e.Query) {
		texts = append(texts, f.Value)
	}
	if e.Auth != nil {
		texts = append(texts, e.Auth.User, e.Auth.Password)
	}
	var red redactor
	for _, t := range texts {
		for _, name := range t.names() {
			v, ok := e.o.Secrets[name]
			if !ok || v == "" {
				return red, fault.New(fault.Auth, "http: the secret %s is not set", name).Advise("export %s=... or put it into .env", name)
			}
			e.secret = true
			red.add(name, v)
		}
	}
	if e.Auth != nil {
		e.secret = true
		red.add("authorization", e.basic())
	}
	red.sort()
	return red, nil
}

func (e *exchange) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(e.Auth.User.reveal(e.o.Secrets) + ":" + e.Auth.Password.reveal(e.o.Secrets)))
}

// checkField refuses characters that would end one header field and begin another.
func checkField(f Field, secrets map[string]string) error {
	if f.Name == "" || strings.ContainsFunc(f.Name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", c)
	}) {
		return fault.New(fault.Usage, "http: header %q: not a name", words.Clip(f.Name, maxQuoted))
	}
	if slices.Contains(ours, http.CanonicalHeaderKey(f.Name)) {
		return fault.New(fault.Usage, "http: header %s is written by rye", f.Name)
	}
	if v := f.Value.reveal(secrets); len(v) > MaxHeader || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return fault.New(fault.Usage, "http: header %s: its value holds a control character or is too long", f.Name)
	}
	return nil
}

// query adds the parameters without secrets.
func (e *exchange) query() error {
	for _, f := range e.Query {
		if f.Name == "" {
			return fault.New(fault.Usage, "http: a parameter of the query has no name")
		}
		if len(f.Value.names()) == 0 {
			addQuery(e.url, f.Name, f.Value.String())
		}
	}
	return nil
}

func addQuery(u *url.URL, name, value string) {
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += url.QueryEscape(name) + "=" + url.QueryEscape(value)
}

// maxQuoted is the most bytes that a message quotes of an address.
const maxQuoted = 200
