// Package web makes one HTTP exchange, exactly as it is told, and inside limits:
// a bounded answer in a bounded time. It
// decides nothing about who may; it refuses what nobody may.
//
// Four things are so whatever the request says. Every address is checked when it
// is dialled, after its name was looked up, so that neither a redirect nor a name
// that changes its mind leads into the machine or its network. Secrets are named
// in a Request and never held by it; they are filled in for the origin of the
// request's URL alone, never in clear over the public network, and taken out of
// whatever comes back. TLS is verified. There are no cookies and, unless one is
// passed, no proxy.
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

// Request is one exchange. It holds no secret, only their names, so it may be
// shown and logged.
type Request struct {
	Method string // GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
	URL    string // absolute, http or https, without user and fragment
	Query  []Field
	Header []Field
	Auth   *Basic // beside the headers; nil for none

	Body Text   // nil sends none
	Type string // of Body; "" says nothing

	// Hosts may be spoken to, redirects included: host (port 443), host:port,
	// *.domain or "*". nil is the host and port of URL and no other.
	Hosts []string

	Connect time.Duration // for a connection and for its TLS; 0 is DefaultConnect
	First   time.Duration // until the answer's header; 0 is only Whole
	Idle    time.Duration // between two pieces of the answer; 0 is only Whole
	Whole   time.Duration // for everything, repetitions included; 0 is DefaultWhole

	MaxBody   int64 // bytes of the answer that are kept, unpacked; 0 is DefaultBody
	Redirects int   // followed at most; 0 follows none
	Retry     Retry

	// Convert turns a page into what it says; "" leaves it.
	Convert Format
	Results int // how many results are kept at most, where Convert asks for them; 0 is MaxResults

	// Stream delivers an answer of text/event-stream, or of one JSON value a line,
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

// Basic is a name and a password, as RFC 7617 has them.
type Basic struct{ User, Password Text }

// Options is what an exchange gets from where it happens. The zero value knows no
// secrets and speaks to public addresses only.
type Options struct {
	Secrets map[string]string // by name

	// Allow says which addresses that are not public may be dialled for a host,
	// Deny which public ones may not. nil is none.
	Allow, Deny func(host string, to netip.AddrPort) bool

	// Proxy chooses one for a request, as for http.Transport; nil uses none.
	// The proxy's own address is checked like any other.
	Proxy func(*http.Request) (*url.URL, error)

	// Page turns a page into what it says; nil where nobody does, and requests that
	// want it are refused.
	Page func(context.Context, Page) ([]byte, error)

	// Own lists the addresses of this machine, which are not to be reached either when they
	// are public ones; nil asks the system.
	Own func() []netip.Addr

	Roots    *x509.CertPool // nil is the system's
	Resolver *net.Resolver  // nil is the system's

	// Event gets each event of a stream as it comes; an error ends the exchange.
	Event func(Event) error

	Now    func() time.Time                                 // nil is time.Now
	Sleep  func(ctx context.Context, d time.Duration) error // nil waits
	Jitter func() float64                                   // in [0,1); nil is random
}

// Response is an answer, whatever its status.
type Response struct {
	Status    int
	Header    map[string]string // names in lower case, several values joined with ", "; without set-cookie
	Body      []byte
	Truncated bool    // Body or Events is not all there was
	Events    []Event // of a stream: the first MaxEvents
	Streamed  bool    // Events is meant and not Body
	Count     int     // of events, kept or not
	URL       string  // what answered, without secrets
}

// Says returns the status in words: "404 Not Found".
func (r *Response) Says() string {
	return strings.TrimSpace(strconv.Itoa(r.Status) + " " + http.StatusText(r.Status))
}

// Do makes the exchange. An answer of any status is a Response and no error.
// Errors are: Usage for what cannot be asked, Denied for an address, host or
// redirect that is refused, Auth for a secret that is not there, Network for a
// server that cannot be reached or does not speak HTTP, Limit when the time was
// up, a redirect too many or a stream too large, Interrupt when ctx was cancelled.
// When a stream breaks off, the Response holds what came before.
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

// Check refuses what Do would refuse without sending anything: a malformed
// request, a missing secret, a host that is not listed, an address that may not be
// dialled where the URL names one.
func Check(r Request, o Options) error {
	e, err := prepare(r, o)
	if err != nil {
		return err
	}
	return e.redact.err(e.literal(e.url))
}
