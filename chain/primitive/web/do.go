package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// The reasons why an exchange ended, as causes of its context.
var (
	errWhole = errors.New("the time was up")
	errIdle  = errors.New("the server stopped sending")
)

// run sends the request until it has a final answer, and reads it.
func (e *exchange) run(parent context.Context) (*Response, error) {
	ctx, cancel := context.WithTimeoutCause(parent, e.Whole, errWhole)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	end := e.now().Add(e.Whole)
	e.client = e.transport()
	defer e.client.CloseIdleConnections()
	for n := 1; ; n++ {
		res, at, err := e.send(ctx)
		err = e.ended(ctx, parent, err)
		wait, again := e.again(n, res, err)
		// A wait beyond the end of the exchange is not started; the last answer or error is
		// final.
		if again = again && e.now().Add(wait).Before(end); !again {
			if err != nil {
				return nil, err
			}
			out := &Response{Status: res.StatusCode, Header: headers(res.Header), URL: at.String()}
			err = e.read(stop, res, out)
			return out, e.ended(ctx, parent, err)
		}
		if res != nil {
			discard(res)
		}
		if err := e.o.Sleep(ctx, wait); err != nil {
			return nil, e.ended(ctx, parent, err)
		}
	}
}

// ended gives an error its code, by the cause of the end.
func (e *exchange) ended(ctx, parent context.Context, err error) error {
	var known *fault.Error
	cause := context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case parent.Err() != nil && errors.Is(parent.Err(), context.Canceled):
		return fault.New(fault.Interrupt, "http: %s %s: interrupted", e.Method, e.host)
	case errors.Is(cause, errWhole) || parent.Err() != nil:
		return fault.New(fault.Limit, "http: %s %s: no complete answer within %s", e.Method, e.host, e.Whole).Advise("raise config.timeout of the tool, or ask for less")
	case errors.Is(cause, errIdle):
		return fault.New(fault.Network, "http: %s %s: no data for %s", e.Method, e.host, e.Idle)
	case errors.As(err, &known):
		return known // a refused address, wrapped by the dialer
	}
	return fault.New(fault.Network, "http: %s %s: %w", e.Method, e.host, err)
}

// hop is one request on the way to the answer.
type hop struct {
	method string
	url    *url.URL
	body   bool
	own    bool // it is for the origin of the original request
}

// send makes the request and follows its redirects. It returns the answer with its body unread,
// and the answer's URL.
func (e *exchange) send(ctx context.Context) (*http.Response, *url.URL, error) {
	h := hop{method: e.Method, url: e.url, body: e.Body != nil, own: true}
	for n := 0; ; n++ {
		req, err := e.request(ctx, h)
		if err != nil {
			return nil, nil, err
		}
		res, err := e.client.RoundTrip(req)
		if err != nil {
			return nil, nil, err
		}
		to, err := location(res, h.url)
		if err == nil && (to == nil || e.Redirects <= 0) {
			return res, h.url, nil
		}
		discard(res)
		if err != nil {
			return nil, nil, err
		}
		if n == e.Redirects {
			return nil, nil, fault.New(fault.Limit, "http: more than %d redirects, the last to %s", e.Redirects, words.Clip(to.Host, maxQuoted))
		}
		if h, err = e.follow(h, res.StatusCode, to); err != nil {
			return nil, nil, err
		}
	}
}

// request fills in the secrets just before sending, and only for their own origin.
func (e *exchange) request(ctx context.Context, h hop) (*http.Request, error) {
	u := *h.url
	if h.own {
		for _, f := range e.Query {
			if len(f.Value.names()) > 0 {
				addQuery(&u, f.Name, f.Value.reveal(e.o.Secrets))
			}
		}
		if u.Scheme == "http" && e.secret {
			if e.o.Proxy != nil {
				return nil, fault.New(fault.Denied, "http: a secret would pass a proxy in clear").Advise("use https")
			}
			ctx = context.WithValue(ctx, hopKey{}, true)
		}
	}
	if err := e.literal(&u); err != nil {
		return nil, err
	}
	var body io.Reader
	if h.body {
		body = strings.NewReader(e.Body.reveal(e.o.Secrets))
	}
	req, err := http.NewRequestWithContext(ctx, h.method, u.String(), body)
	if err != nil {
		return nil, fault.New(fault.Usage, "http: the request cannot be written")
	}
	req.Header.Set("User-Agent", "rye")
	req.Header.Set("Accept", "*/*")
	if h.body && e.Type != "" {
		req.Header.Set("Content-Type", e.Type)
	}
	for _, f := range e.Header {
		name := http.CanonicalHeaderKey(f.Name)
		if h.own || (strings.HasPrefix(name, "Accept") || name == "User-Agent") && len(f.Value.names()) == 0 {
			req.Header.Set(name, f.Value.reveal(e.o.Secrets))
		}
	}
	if h.own && e.Auth != nil {
		req.Header.Set("Authorization", "Basic "+e.basic())
	}
	return req, nil
}

// literal checks the address in a URL with a literal one. Names are checked when they are
// dialled. Behind a proxy nothing else would check a literal address.
func (e *exchange) literal(u *url.URL) error {
	host, port, err := target(u)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return e.address(host, netip.AddrPortFrom(a, port), u.Scheme == "http" && e.secret && sameHost(u, e.url))
}

// location returns the target of a redirect, or nil.
func location(res *http.Response, from *url.URL) (*url.URL, error) {
	switch res.StatusCode {
	case 301, 302, 303, 307, 308:
	default:
		return nil, nil
	}
	text := res.Header.Get("Location")
	if text == "" {
		return nil, nil
	}
	to, err := from.Parse(text)
	if err != nil {
		return nil, fault.New(fault.Network, "http: %s redirects to an address that is not a url", from.Host)
	}
	return to, nil
}

// follow decides about one redirect. A body or a secret for one origin does not go to another,
// and an encrypted exchange stays encrypted.
func (e *exchange) follow(h hop, status int, to *url.URL) (hop, error) {
	u, err := parseURL(to.String())
	if err != nil {
		return h, fault.New(fault.Denied, "http: %s redirects to a url that is refused: %w", h.url.Host, err)
	}
	host, port, err := target(u)
	if err != nil {
		return h, err
	}
	if h.url.Scheme == "https" && u.Scheme != "https" {
		return h, fault.New(fault.Denied, "http: %s redirects from https to http", h.url.Host)
	}
	if err := e.covered(host, port); err != nil {
		return h, err
	}
	next := hop{method: h.method, url: u, body: h.body, own: h.own && sameOrigin(h.url, u)}
	if status == 303 && h.method != "HEAD" || status <= 302 && h.method == "POST" {
		next.method, next.body = "GET", false
	}
	if next.body && !next.own {
		return h, fault.New(fault.Denied, "http: %s redirects a %s to %s, which would get its body", h.url.Host, h.method, host)
	}
	return next, nil
}

func sameHost(a, b *url.URL) bool { return strings.EqualFold(a.Hostname(), b.Hostname()) }

// sameOrigin also accepts the change from http to https on the usual ports.
func sameOrigin(a, b *url.URL) bool {
	_, pa, _ := target(a)
	_, pb, _ := target(b)
	return sameHost(a, b) && (a.Scheme == b.Scheme && pa == pb || a.Scheme == "http" && pa == 80 && b.Scheme == "https" && pb == 443)
}

// discard ends an unwanted answer. It keeps the connection if the answer is short.
func discard(res *http.Response) {
	io.CopyN(io.Discard, res.Body, 4<<10)
	res.Body.Close()
}

// headers returns an answer's header in its form for results. Cookies are neither kept nor shown.
func headers(h http.Header) map[string]string {
	out := map[string]string{}
	for name, values := range h {
		if name != "Set-Cookie" {
			out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\ufffd")
		}
	}
	return out
}
