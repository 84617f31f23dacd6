package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/hosts"
)

// redirectMax bounds the redirects that the first request follows. Later requests follow none.
const redirectMax = 5

// httpDialer speaks smart HTTP. It follows redirects itself: only on the first request, never
// from https to http, and to another host without credentials.
type httpDialer struct {
	r      *Remote
	client *http.Client
	base   string // address of the repository, after redirects
	away   bool   // base is on another host than the given address
	known  []byte // version 2 advertisement of upload-pack; nil = not requested yet
	told   bool   // known is from the cache of an earlier process
	thanks bool   // git's helpers already know that the credential works

	lengths bool // the server accepts no body of unknown size
}

func (r *Remote) newHTTPDialer() *httpDialer {
	d := &net.Dialer{Timeout: r.o.Connect}
	u := url.URL{Scheme: r.t.scheme, Host: r.t.hostPort(), Path: strings.TrimSuffix(r.t.path, "/")}
	hd := &httpDialer{r: r, base: u.String()}
	hd.client = &http.Client{
		Transport: &http.Transport{
			Proxy:                  r.o.Proxy,
			DialContext:            hd.dialPublic(d),
			TLSHandshakeTimeout:    r.o.Connect,
			TLSClientConfig:        r.o.TLS.Clone(),
			ForceAttemptHTTP2:      r.t.scheme == "https", // HTTP/2 takes a while to prepare
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    1,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return hd
}

type httpSession struct {
	d       *httpDialer
	service string
	version int
	first   *pktReader
	body    io.ReadCloser
}

func (s *httpSession) advert() *pktReader { return s.first }

func (s *httpSession) Close() error {
	if s.body == nil {
		return nil
	}
	// Once it is read to its end, the connection can be reused; a slow body is not worth the
	// wait.
	body := s.body
	s.body = nil
	t := time.AfterFunc(100*time.Millisecond, func() { body.Close() })
	io.CopyN(io.Discard, body, 4<<10)
	t.Stop()
	return body.Close()
}

// serviceLine is the beginning of upload-pack's advertisement before version 2.
const serviceLine = "001e# service=git-upload-pack\n0000"

// open requests the advertisement. In version 2, upload-pack's advertisement holds only
// capabilities, so it is requested once.
func (d *httpDialer) open(ctx context.Context, service string, version int) (session, error) {
	if service == uploadPack && version == 2 && d.known == nil {
		d.known = d.recall()
		d.told = d.known != nil
	}
	if d.known != nil && service == uploadPack {
		return &httpSession{d: d, service: service, version: 2, first: newPktReader(bytes.NewReader(d.known))}, nil
	}
	resp, err := d.get(ctx, service, version)
	if err != nil {
		return nil, err
	}
	s := &httpSession{d: d, service: service, version: version, body: resp.Body}
	in := &boundedReader{ctx, resp.Body, d.r.o.MaxAdvert}
	p := newPktReader(in)
	if head, _ := p.r.Peek(len(serviceLine)); string(head) == serviceLine {
		p.r.Discard(len(serviceLine)) // some hosts send it in version 2, too
	}
	if head, _ := p.r.Peek(13); string(head) == "000eversion 2" {
		all, err := io.ReadAll(io.LimitReader(p.r, 64<<10))
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		d.known, s.body = all, nil
		d.keep(all)
		p = newPktReader(bytes.NewReader(all))
	}
	s.first = p
	return s, nil
}

// get sends the first request, follows redirects and answers challenges.
func (d *httpDialer) get(ctx context.Context, service string, version int) (*http.Response, error) {
	suffix := "/info/refs?service=" + service
	at := d.base + suffix
	for hops := 0; ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
		if err != nil {
			return nil, err
		}
		if version > 0 {
			req.Header.Set("Git-Protocol", fmt.Sprintf("version=%d", version))
		}
		resp, err := d.send(ctx, req, nil)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			resp.Body.Close()
			if hops++; hops > redirectMax {
				return nil, fault.New(fault.Network, "more than %d redirects", redirectMax)
			}
			if at, err = d.redirect(resp, suffix); err != nil {
				return nil, err
			}
			continue
		}
		if err := busy(resp); err != nil {
			resp.Body.Close()
			return nil, err
		}
		if retry, err := d.challenge(ctx, resp); err != nil {
			return nil, err
		} else if retry {
			continue
		}
		if ct := resp.Header.Get("Content-Type"); ct != "application/x-"+service+"-advertisement" {
			resp.Body.Close()
			return nil, fault.New(fault.Network, "the answer is %q, so this is not a git repository", cleanText(ct)).
				Advise("check the address")
		}
		d.r.auth.approve(ctx)
		return resp, nil
	}
}

// redirect checks the target of a redirect and makes it the repository's base.
func (d *httpDialer) redirect(resp *http.Response, suffix string) (string, error) {
	loc, err := resp.Location()
	if err != nil {
		return "", fault.New(fault.Network, "redirect without a usable address")
	}
	base, ok := strings.CutSuffix(loc.String(), suffix)
	t, err := parseTarget(base)
	if !ok || loc.User != nil || loc.Fragment != "" || err != nil || t.scheme != "http" && t.scheme != "https" {
		return "", fault.New(fault.Network, "redirect to %q, which is not a repository", cleanText(loc.Host))
	}
	if t.scheme == "http" && (d.r.t.scheme == "https" || !mayBePlain(t, d.r.o)) {
		return "", fault.New(fault.Network, "redirect to %q over plain http refused", cleanText(loc.Host))
	}
	if isLoopback(t.host) && !isLoopback(d.r.t.host) {
		return "", fault.New(fault.Network, "redirect from %q to this machine refused", d.r.t.host)
	}
	if hosts.Inside(t.host) != "" && (d.r.o.Public || hosts.Inside(d.r.t.host) == "") {
		return "", fault.New(fault.Denied, "redirect from %q to %q refused: that is not a public host", d.r.t.host, cleanText(t.host))
	}
	d.base = base
	d.away = t.scheme != d.r.t.scheme || !strings.EqualFold(t.hostPort(), d.r.t.hostPort())
	if err := d.secure(t.scheme); err != nil {
		return "", err
	}
	return base + suffix, nil
}

// secure prepares TLS for the target of a redirect.
func (d *httpDialer) secure(scheme string) (err error) {
	tr, ok := d.client.Transport.(*http.Transport)
	if !ok || scheme != "https" {
		return nil
	}
	tr = tr.Clone()
	tr.ForceAttemptHTTP2 = true
	if d.r.t.scheme != "https" && d.r.git != nil { // the user's authorities were not needed until now
		if tr.TLSClientConfig, err = d.r.git.tls(d.r.o.TLS); err != nil {
			return err
		}
	}
	if d.away && tr.TLSClientConfig != nil {
		tr.TLSClientConfig = tr.TLSClientConfig.Clone()
		tr.TLSClientConfig.Certificates = nil // client certificates are only for the given host
	}
	d.client.Transport = tr
	return nil
}

// send performs one request with the credential for its host. Its stall limit restarts with
// each piece of the body that is sent.
func (d *httpDialer) send(ctx context.Context, req *http.Request, body io.Reader) (*http.Response, error) {
	req.Header.Set("User-Agent", "git/"+agent) // forges route on the word git
	if !d.away {
		d.r.auth.header(req)
	}
	if st, _ := ctx.Value(stallKey{}).(*stall); st != nil {
		var answered atomic.Bool // the body may still be read after the answer
		t := time.AfterFunc(st.after, func() {
			if !answered.Load() {
				st.abort(errStalled)
			}
		})
		defer t.Stop()
		defer answered.Store(true)
		if from := body; body != nil {
			body = readerFunc(func(p []byte) (int, error) { t.Reset(st.after); return from.Read(p) })
		}
	}
	if body != nil {
		req.Body = io.NopCloser(body)
	}
	resp, err := d.client.Do(req)
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the method and the address, which wrap adds
	}
	return resp, certificateHint(err, d.r.t)
}

// certificateHint adds advice to the error for an untrusted certificate.
func certificateHint(err error, t target) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return fault.New(fault.Network, "%w", err).
			Advise("when the host's authority is your own: git config --global http.https://%s/.sslCAInfo <file with its certificate>", t.hostPort())
	case errors.As(err, &name):
		return fault.New(fault.Network, "%w", err).Advise("use the name in its certificate")
	case errors.As(err, &invalid):
		return fault.New(fault.Network, "%w", err).Advise("the host's administrator must renew its certificate; also check this machine's clock")
	}
	return err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// challenge checks the status. It returns true if another credential is available and the
// request should be repeated. Any other refusal is an error.
func (d *httpDialer) challenge(ctx context.Context, resp *http.Response) (retry bool, err error) {
	code := resp.StatusCode
	if code == http.StatusOK {
		return false, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	resp.Body.Close()
	ask := code == http.StatusUnauthorized || (code == http.StatusNotFound || code == http.StatusForbidden) && d.r.auth.hasToken()
	if ask && !d.away && d.r.auth.next(ctx) {
		return true, nil
	}
	said := ""
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") && len(text) > 0 {
		said = ": " + cleanText(string(text))
	}
	switch {
	case code == http.StatusUnauthorized && d.away:
		return false, fault.New(fault.Auth, "it redirects to another host, which asks for credentials; none are sent there").
			Advise("use the address %s itself", d.base)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return false, fault.New(fault.Auth, "the host refused access (HTTP %d)%s", code, said).
			Advise("%sstore a credential in netrc or git's credential helper", d.r.t.tokenHint("set %s to a token, or "))
	case code == http.StatusNotFound, code == http.StatusGone:
		return false, fault.New(fault.NotFound, "no repository there (HTTP %d)%s", code, said).
			Advise("check the address%s", d.r.t.tokenHint("; a private repository needs %s"))
	case code == http.StatusRequestEntityTooLarge:
		return false, fault.New(fault.Limit, "the host does not accept a body of that size (HTTP 413)%s", said).
			Advise("publish fewer or smaller items at a time, or have the host's limit on the size of a push raised")
	}
	return false, fault.New(fault.Network, "the host answered HTTP %d%s", code, said)
}

// round posts a request. A large pack is sent in chunks while it is made, as in git. A server
// that accepts no chunks, such as a CGI program, gets it again with its length.
func (s *httpSession) round(ctx context.Context, q *request) (*pktReader, error) {
	s.Close()
	make := q.stream
	if s.d.lengths && q.pack != nil {
		make = q.spool
	}
	for {
		b, err := make()
		if err != nil {
			return nil, err
		}
		resp, err := s.post(ctx, b)
		if ended := b.end(); ended != nil {
			if resp != nil {
				resp.Body.Close()
			}
			return nil, ended
		}
		if b.size < 0 && ctx.Err() == nil && b.refusesChunks(ctx, resp, err) {
			make, s.d.lengths = q.spool, true
			continue
		}
		if err != nil {
			return nil, err
		}
		if retry, err := s.d.challenge(ctx, resp); err != nil {
			return nil, err
		} else if retry {
			continue
		}
		if s.d.told && !s.d.thanks { // there was no first request, after which the helpers would be notified
			s.d.thanks = true
			s.d.r.auth.approve(ctx)
		}
		return s.answer(ctx, resp, q.limit)
	}
}

// refusesChunks reports whether the server refused a body of unknown size. A server that
// answered or closed the connection before it had the whole body cannot have acted on it. A
// server that took the body but did not pass it to its program answers with nothing, or with a
// failure. If it acted after all, the second push is refused, because the refs are no longer
// at their old values.
func (b *body) refusesChunks(ctx context.Context, resp *http.Response, err error) bool {
	if err != nil {
		return !b.whole.Load()
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestEntityTooLarge:
		return false // not about the form of the body
	case http.StatusBadRequest, http.StatusLengthRequired, http.StatusInternalServerError, http.StatusNotImplemented:
	case http.StatusOK:
		in := bufio.NewReader(resp.Body)
		_, err := watch(ctx, func() (int, error) { _, err := in.Peek(1); return 0, err })
		if b.whole.Load() && err != io.EOF {
			resp.Body = peeked{in, resp.Body}
			return false
		}
	default:
		if b.whole.Load() {
			return false
		}
	}
	resp.Body.Close()
	return true
}

// peeked is a body whose beginning was peeked at.
type peeked struct {
	io.Reader
	io.Closer
}

func (s *httpSession) answer(ctx context.Context, resp *http.Response, limit int64) (*pktReader, error) {
	if ct := resp.Header.Get("Content-Type"); ct != "application/x-"+s.service+"-result" {
		resp.Body.Close()
		return nil, fault.New(fault.Network, "the answer is %q, not an answer of %s", cleanText(ct), s.service)
	}
	s.body = resp.Body
	if limit <= 0 {
		limit = s.d.r.o.MaxAdvert
	}
	return newPktReader(&boundedReader{ctx, resp.Body, limit}), nil
}

func (s *httpSession) post(ctx context.Context, b *body) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.d.base+"/"+s.service, nil)
	if err != nil {
		return nil, err
	}
	var data io.Reader = b
	req.ContentLength = b.size
	req.Header.Set("Content-Type", "application/x-"+s.service+"-request")
	req.Header.Set("Accept", "application/x-"+s.service+"-result")
	if s.service == uploadPack && b.size > 1024 {
		data, req.ContentLength = gzipped(b)
		req.Header.Set("Content-Encoding", "gzip")
	}
	if s.version > 0 {
		req.Header.Set("Git-Protocol", fmt.Sprintf("version=%d", s.version))
	}
	return s.d.send(ctx, req, data)
}

// gzipped compresses a request with many ids to half its size.
func gzipped(r io.Reader) (io.Reader, int64) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	io.Copy(z, r) // from memory to memory: cannot fail
	z.Close()
	return &buf, int64(buf.Len())
}
