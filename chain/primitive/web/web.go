// Package web makes one HTTP exchange, exactly as it is told and inside limits: a bounded
// answer in a bounded time. It does not decide who may ask; it refuses only requests that
// no one may make.
//
// Four things are so whatever the request says. Every address is checked when it
// is dialled, after its name was looked up, so that neither a redirect nor a name
// that changes its mind leads into the machine or its network. Secrets are named
// in a Request and never held by it; they are filled in for the origin of the
// request's URL alone, never in clear over the public network, and taken out of
// whatever comes back. TLS is verified. There are no cookies and, unless one is
// passed, no proxy.
//
// # Reasons
//
// Addresses are judged where they are dialled (Control of the dialer): a check before the
// request asks a name server once and the dialer asks it again. Public addresses are those
// outside the registries of special addresses for IPv4, and the listed global unicast ones
// for IPv6.
//
// Redirects are followed by hand. http.Client keeps Authorization for subdomains and keeps
// every other header, such as X-API-Key. Here another origin than the author's gets none
// of it, also when it sends the reader back.
//
// A Request holds names of secrets, so nothing that prints one before the exchange can
// show a value. Taking secrets out of answers is the second line.
//
// A parameter does not choose the host: `url: {url}` in a tool with a key would let a
// model send the key anywhere. needs.net makes it the author's decision, which is signed
// and shown. A project's .env does not choose it either, because it comes with a clone.
//
// An environment variable names the service that searches the web. A project's
// configuration would let a clone say where questions go. Results are read by the few
// member names that all services use.
//
// A server that says "in an hour" is not asked after a minute: its answer is returned with
// its header, and the caller decides.
package web

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Request is one exchange. It holds the names of secrets and not their values, so it may be shown
// and logged.
type Request struct {
	Method string // GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
	URL    string // absolute, http or https, without user and fragment
	Query  []Field
	Header []Field
	Auth   *Basic // in addition to the headers; nil for none

	Body Text   // nil sends none
	Type string // of Body; "" sends no type

	// Hosts may be contacted, also by redirects: host (port 443), host:port, *.domain or "*". nil
	// is only the host and port of URL.
	Hosts []string

	Connect time.Duration // for a connection and for its TLS; 0 is DefaultConnect
	First   time.Duration // until the answer's header; 0 has no limit but Whole
	Idle    time.Duration // between two pieces of the answer; 0 has no limit but Whole
	Whole   time.Duration // for everything, with retries; 0 is DefaultWhole

	MaxBody   int64 // decompressed bytes of the answer that are kept; 0 is DefaultBody
	Redirects int   // the most that are followed; 0 follows none
	Retry     Retry

	// Convert converts a page; "" leaves it.
	Convert Format
	Results int // the most results, if Convert is Results; 0 is MaxResults

	// Stream delivers an answer of text/event-stream, or one with a JSON value on each line,
	// piece by piece.
	Stream bool
}

// Bounds. The time is RYE OS's.
const (
	DefaultWhole   = 30 * time.Second
	DefaultConnect = 10 * time.Second
	DefaultBody    = 4 << 20
	MaxBody        = 64 << 20
	MaxRedirects   = 10
	MaxHeader      = 64 << 10 // bytes of an answer's header
	MaxRequest     = 32 << 20 // bytes of a request's body
)

// Field is a header field or a parameter of a query.
type Field struct {
	Name  string
	Value Text
}

// Basic is a user name and a password, as in RFC 7617.
type Basic struct{ User, Password Text }

// Options are an exchange's environment. The zero value has no secrets and allows only public
// addresses.
type Options struct {
	Secrets map[string]string // by name

	// Allow reports whether a non-public address may be dialled for a host. Deny reports whether
	// an address may not be dialled. nil allows or denies none.
	Allow, Deny func(host string, to netip.AddrPort) bool

	// Proxy chooses a proxy for a request, as in http.Transport; nil uses none. The proxy's own
	// address is checked like any other.
	Proxy func(*http.Request) (*url.URL, error)

	// Page converts a page. If it is nil, a request that needs it is refused.
	Page func(context.Context, Page) ([]byte, error)

	// Own lists the addresses of this machine, which are refused even when they are public; nil
	// asks the system.
	Own func() []netip.Addr

	Roots    *x509.CertPool // nil is the system's
	Resolver *net.Resolver  // nil is the system's

	// Event receives each event of a stream as it comes. An error ends the exchange.
	Event func(Event) error

	Now    func() time.Time                                 // nil is time.Now
	Sleep  func(ctx context.Context, d time.Duration) error // nil waits
	Jitter func() float64                                   // in [0,1); nil is random
}

// Response is an answer of any status.
type Response struct {
	Status    int
	Header    map[string]string // names in lower case, several values joined with ", "; without set-cookie
	Body      []byte
	Truncated bool    // Body or Events is incomplete
	Events    []Event // of a stream: the first MaxEvents
	Streamed  bool    // Events is set instead of Body
	Count     int     // of events, kept or not
	URL       string  // URL of the answer, without secrets
}

// Says returns the status in words: "404 Not Found".
func (r *Response) Says() string {
	return strings.TrimSpace(strconv.Itoa(r.Status) + " " + http.StatusText(r.Status))
}

// Do makes the exchange. An answer of any status is a Response and not an error. Errors are:
// Usage for an invalid request, Denied for a refused address, host or redirect, Auth for a
// missing secret, Network for a server that cannot be reached or does not speak HTTP, Limit for
// the timeout, too many redirects or too large a stream, Interrupt when ctx was cancelled. When a
// stream breaks off, the Response holds everything before the break.
func Do(ctx context.Context, r Request, o Options) (*Response, error) {
	e, err := prepare(r, o)
	if err != nil {
		return nil, err
	}
	res, err := e.run(ctx)
	if res != nil {
		e.redact.response(res)
		if err == nil {
			err = e.convert(ctx, res)
		}
	}
	return res, e.redact.err(err)
}

// Check refuses the same requests as Do, as far as that is possible without sending: a malformed
// request, a missing secret, a host that is not listed, and a literal address that may not be
// dialled.
func Check(r Request, o Options) error {
	e, err := prepare(r, o)
	if err != nil {
		return err
	}
	return e.redact.err(e.literal(e.url))
}
