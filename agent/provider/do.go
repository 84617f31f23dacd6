package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/sse"
	"github.com/rye-os/rye/internal/words"
)

// Client sends requests. Its zero value works for providers without a secret. It is safe for
// concurrent use when its functions are.
type Client struct {
	// HTTP makes the exchange, through its own proxy if it has one. nil means a client without a
	// proxy. Do follows no redirect and keeps no cookie, whatever HTTP would do.
	HTTP *http.Client
	// Secret returns the secret with that name for one host ("host:port"). It refuses a host to
	// which the user did not bind the secret. It is called once per attempt.
	Secret func(ctx context.Context, name, host string) (string, error)
	Now    func() time.Time // nil means time.Now
	Sleep  func(ctx context.Context, d time.Duration) error
	Rand   func() float64 // in [0, 1)
	Base   string         // an address that replaces the item's; "" for none
}

// direct is the default client. It has no proxy, because this package does not read the
// environment.
var direct = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSHandshakeTimeout: 30 * time.Second, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second}}

// Host returns the host that a provider's requests go to: "host:port".
func (p *Provider) Host() string { return hostOf(p.endpoint.base) }

// Do makes one attempt. It calls on with each piece of the answer, in order, in this goroutine; on
// may be nil. Every failure of the provider or the connection is an *Error. Any other error is
// local, and nothing was sent: a request that cannot be encoded, or a secret that is missing or
// bound to another host (fault.Auth, fault.Denied, or the error of Secret).
//
// A Response lacks CostKnown if its price is unknown or the provider did not report the usage. The
// cost of an *Error with Sent is unknown too.
func (c *Client) Do(ctx context.Context, p *Provider, m *Model, q *Request, on func(Delta)) (*Response, error) {
	body, err := p.Encode(m, q)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, p, m, q, body, on)
}

// Send is Do with the bytes of q that Encode returned. The caller must not change them afterwards.
func (c *Client) Send(ctx context.Context, p *Provider, m *Model, q *Request, body []byte, on func(Delta)) (_ *Response, err error) {
	base := p.endpoint.base
	if c.Base != "" {
		var wrong string
		if base, wrong = parseBase(c.Base, p.Secret != ""); wrong != "" {
			return nil, fault.New(fault.Usage, "address of provider %s: %s", words.Brief(p.ID), wrong)
		}
	}
	secret, err := c.secret(ctx, p, hostOf(base))
	if err != nil {
		return nil, err
	}
	t := &attempt{c: c, p: p, m: m, on: on, body: body, secret: secret, asked: q.MaxOutput}
	if m.MaxOutput > 0 {
		t.asked = min(t.asked, m.MaxOutput)
	}
	return t.run(ctx, base)
}

// Wait waits as Provider.Wait says, with the Client's Rand and Sleep. It is false when there must
// be no further attempt, or when ctx ended.
func (c *Client) Wait(ctx context.Context, p *Provider, err *Error, attempt int) bool {
	rnd := 1.0
	if c.Rand != nil {
		rnd = c.Rand()
	}
	d, ok := p.Wait(err, attempt, rnd)
	if !ok {
		return false
	}
	if c.Sleep != nil {
		return c.Sleep(ctx, d) == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// secret asks for the provider's secret, and refuses one that cannot be sent unchanged.
func (c *Client) secret(ctx context.Context, p *Provider, host string) (string, error) {
	if p.Secret == "" {
		return "", nil
	}
	if c.Secret == nil {
		return "", fault.New(fault.Auth, "provider %s needs the secret %s, which is not set", words.Brief(p.ID), p.Secret)
	}
	s, err := c.Secret(ctx, p.Secret, host)
	if err != nil {
		return "", err
	}
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= 0x20 || r >= 0x7f }) {
		return "", fault.New(fault.Auth, "provider %s: the secret %s is empty, or has characters that no key has", words.Brief(p.ID), p.Secret)
	}
	return s, nil
}

// attempt is one exchange.
type attempt struct {
	c      *Client
	p      *Provider
	m      *Model
	on     func(Delta)
	body   []byte
	secret string
	asked  int64 // tokens of output

	clock  *clock
	began  atomic.Bool // the transport asked for a connection, so it reports its progress
	sent   atomic.Bool // the request's headers were written
	status int
	header http.Header
}

// The causes of a timeout, one for each phase of an exchange.
var (
	errConnect   = errors.New("no connection in time")
	errFirstByte = errors.New("no answer in time")
	errIdle      = errors.New("the answer stalled for too long")
)

// clock ends an exchange that makes no progress.
type clock struct {
	timer *time.Timer
	why   atomic.Pointer[error]
}

func newClock(d time.Duration, stop func(error)) *clock {
	k := &clock{}
	why := errConnect
	k.why.Store(&why)
	k.timer = time.AfterFunc(d, func() { stop(*k.why.Load()) })
	return k
}

func (k *clock) phase(why error, d time.Duration) {
	k.why.Store(&why)
	k.timer.Reset(d)
}

func (t *attempt) run(parent context.Context, base *url.URL) (*Response, error) {
	if err := parent.Err(); err != nil {
		return nil, t.explain(parent, parent, err)
	}
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	t.clock = newClock(t.p.endpoint.connect, stop)
	defer t.clock.timer.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { t.began.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { t.clock.phase(errFirstByte, t.p.endpoint.firstByte) },
		WroteHeaders: func() { t.sent.Store(true) },
	})
	res, err := t.exchange(ctx, base)
	if err == nil {
		return res, nil
	}
	e := t.explain(parent, ctx, err)
	e.Sent = e.Sent || t.sent.Load() || t.status != 0 || !t.began.Load()
	return nil, e
}

// explain makes an *Error from the error that ended the exchange.
func (t *attempt) explain(parent, ctx context.Context, err error) *Error {
	if cause := parent.Err(); cause != nil {
		return &Error{Class: Cancelled, Message: "the caller ended it", Status: t.status, Streamed: streamed(err), cause: context.Cause(parent)}
	}
	if cause := context.Cause(ctx); cause == errConnect || cause == errFirstByte || cause == errIdle {
		return &Error{Class: Timeout, Message: cause.Error(), Status: t.status, Streamed: streamed(err)}
	}
	var e *Error
	if errors.As(err, &e) {
		e.Status = cmp.Or(e.Status, t.status)
		return e
	}
	for { // the address may contain the secret
		var u *url.Error
		if !errors.As(err, &u) {
			break
		}
		err = u.Err
	}
	e = &Error{Class: Transient, Status: t.status, Message: words.Clip(words.Printable(t.scrub(err.Error())), 1000)}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		e.Class = Invalid
	}
	return e
}

// streamed reports whether a part of the answer arrived before err.
func streamed(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Streamed
}

func (t *attempt) scrub(s string) string {
	if t.secret == "" {
		return s
	}
	for _, form := range []string{t.secret, url.QueryEscape(t.secret), url.PathEscape(t.secret)} {
		s = strings.ReplaceAll(s, form, "[secret]")
	}
	return s
}

func (t *attempt) exchange(ctx context.Context, base *url.URL) (*Response, error) {
	req, err := t.request(ctx, base)
	if err != nil {
		return nil, err
	}
	hc := direct
	if t.c.HTTP != nil {
		hc = t.c.HTTP
	}
	mine := *hc
	mine.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	mine.Jar = nil
	res, err := mine.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	t.status, t.header = res.StatusCode, res.Header
	body := &pacedBody{t: t, r: res.Body}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, t.failed(body)
	}
	return t.read(body, res.Header.Get("Content-Type"))
}

func (t *attempt) request(ctx context.Context, base *url.URL) (*http.Request, error) {
	e := &t.p.endpoint
	u := *base
	raw := u.EscapedPath() + strings.ReplaceAll(e.path, "{model}", url.PathEscape(t.m.ID))
	path, err := url.PathUnescape(raw)
	if err != nil {
		return nil, fault.New(fault.Usage, "path of provider %s: %w", words.Brief(t.p.ID), err)
	}
	u.Path, u.RawPath = path, raw
	query := url.Values{}
	for k, v := range e.query {
		query.Set(k, strings.ReplaceAll(v, "{model}", t.m.ID))
	}
	if e.auth == "query" {
		query.Set(e.name, t.secret)
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(t.body))
	if err != nil {
		return nil, err
	}
	for k, v := range e.headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("User-Agent", "rye")
	switch e.auth {
	case "header":
		req.Header.Set(e.name, t.secret)
	case "bearer":
		req.Header.Set("Authorization", "Bearer "+t.secret)
	}
	return req, nil
}

// failed reads the provider's description of a failure.
func (t *attempt) failed(r io.Reader) *Error {
	raw, _ := io.ReadAll(io.LimitReader(r, maxFailure)) // the bytes before a broken connection suffice
	body, _ := decodeAny(raw)
	if t.status >= 300 && t.status < 400 {
		return &Error{Class: Invalid, Status: t.status, Message: "the provider redirects elsewhere, and rye follows no redirect"}
	}
	return t.failure(raw, body)
}

func (t *attempt) failure(raw []byte, body any) *Error {
	now := time.Now
	if t.c.Now != nil {
		now = t.c.Now
	}
	return t.p.failure(t.status, t.header, raw, body, now(), t.scrub)
}

// pacedBody runs the clock only while it waits for the provider. It stops the clock while the
// received bytes are processed, because the caller's function may be slow.
type pacedBody struct {
	t     *attempt
	r     io.Reader
	began bool
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if b.began {
		b.t.clock.phase(errIdle, b.t.p.endpoint.idle)
	}
	n, err := b.r.Read(p)
	if n > 0 {
		b.began = true
		b.t.clock.timer.Stop()
	}
	return n, err
}

// read reads an answer, streamed or whole.
func (t *attempt) read(r io.Reader, kind string) (*Response, error) {
	kept := keptBytes(t.asked)
	d := t.p.decoder(answer{p: t.p, m: t.m, on: t.on, seed: sha256.Sum256(t.body), left: kept,
		fail: func(body any) *Error { return t.failure(nil, body) }})
	in := bufio.NewReaderSize(r, 32<<10)
	var err error
	if t.isStream(in, kind) {
		err = t.readStream(in, d, kept*wireFactor)
	} else {
		err = t.readWhole(in, d, min(maxKept, 4*kept))
	}
	a := d.common()
	if err != nil {
		return nil, t.interrupted(err, a.began)
	}
	parts, err := d.parts()
	if err != nil {
		return nil, t.interrupted(err, true)
	}
	for _, name := range t.p.errors.requestID {
		if id := t.header.Get(name); id != "" {
			a.id = t.scrub(id)
			break
		}
	}
	res, err := a.response(parts)
	if err != nil {
		return nil, t.interrupted(err, true)
	}
	return res, nil
}

// interrupted marks an error that ended an answer after its beginning.
func (t *attempt) interrupted(err error, began bool) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = broken("ends in the middle: %s", t.scrub(err.Error()))
	}
	e.Streamed, e.Sent = began, true
	return e
}

// isStream uses the server's content type, or else the first byte: a whole answer is an object.
func (t *attempt) isStream(in *bufio.Reader, kind string) bool {
	switch kind = strings.ToLower(kind); {
	case strings.Contains(kind, "event-stream"):
		return true
	case strings.Contains(kind, "json"):
		return false
	}
	first, _ := in.Peek(1)
	return string(first) != "{" && string(first) != "<"
}

func (t *attempt) readWhole(in io.Reader, d decoder, most int64) error {
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return err
	}
	if int64(len(raw)) > most {
		return beyond("more than %d bytes", most)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return broken("is empty")
	}
	return d.whole(raw)
}

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 16 << 20

var errDone = errors.New("done")

// readStream reads server-sent events. It ignores their names and ids, because the data of both
// formats repeats them.
func (t *attempt) readStream(in io.Reader, d decoder, most int64) error {
	s := &sse.Reader{Limits: sse.Limits{Line: maxEvent, Event: maxEvent, Both: maxEvent}, Emit: func(ev sse.Event) error {
		if len(bytes.TrimSpace(ev.Data)) == 0 {
			return nil
		}
		done, err := d.event(ev.Data)
		if err == nil && done {
			err = errDone
		}
		return err
	}}
	buf := make([]byte, 32<<10)
	for total := int64(0); ; {
		n, err := in.Read(buf)
		if total += int64(n); total > most {
			return beyond("more than %d bytes", most)
		}
		_, werr := s.Write(buf[:n])
		if werr == nil && err == io.EOF {
			werr = s.End() // a partial event is not valid JSON, so it cannot pass for a whole one
		}
		switch {
		case werr == sse.ErrLine || werr == sse.ErrEvent:
			return beyond("an event of more than %d bytes", maxEvent)
		case werr == errDone:
			return nil
		case werr != nil:
			return werr
		case err == io.EOF:
			if o, ok := d.(*openaiDecoder); ok && o.finished && t.p.stream.endAtFinish {
				return nil
			}
			return broken("ends in the middle")
		case err != nil:
			return fmt.Errorf("%w", err)
		}
	}
}
