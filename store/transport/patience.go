package transport

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/rye-os/rye/fault"
)

// A host with many callers closes some connections: git daemon has 32 children, sshd limits
// unauthenticated connections, a web server answers 503. A client without any answer yet tries
// again after a random time that grows, so that the refused clients do not all return at once.
const (
	openTries = 10
	openPause = 80 * time.Millisecond // the first pause is at most this long; each further one doubles
	openGrow  = 5                     // most doublings
	busyMost  = 10 * time.Second      // longest wait that a host may request
)

// errSilence means that the remote closed the connection before it sent anything.
var errSilence = errors.New("remote closed the connection without an answer")

// busyError is the answer of a web server that is temporarily busy.
type busyError struct {
	status int
	after  time.Duration // 0: not stated
}

func (e *busyError) Error() string { return "the host is busy (HTTP " + strconv.Itoa(e.status) + ")" }

// busy returns the error for a temporary status, or nil.
func busy(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return nil
	}
	e := &busyError{status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.after = min(time.Duration(n)*time.Second, busyMost)
	}
	return fault.New(fault.Network, "%w", e).Advise("try again later")
}

// passes reports whether an error of opening a connection may not occur the next time.
func passes(err error) bool {
	var op *net.OpError
	var b *busyError
	return errors.Is(err, errSilence) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &b) ||
		errors.As(err, &op) && op.Op != "dial" && !op.Timeout()
}

// begin opens a session and reads the server's advertisement.
func (r *Remote) begin(ctx context.Context, service string, version int, prefixes []string) (session, *advert, error) {
	for try := range r.o.Tries {
		s, a, err := r.beginOnce(ctx, service, version, prefixes)
		if err == nil || r.t.scheme == "file" || !passes(err) || try+1 == r.o.Tries {
			return s, a, err
		}
		wait := time.Duration(rand.Int64N(int64(openPause << min(try, openGrow))))
		if b := (*busyError)(nil); errors.As(err, &b) {
			wait = max(wait, b.after)
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(wait):
		}
	}
	panic("unreachable")
}

func (r *Remote) beginOnce(ctx context.Context, service string, version int, prefixes []string) (session, *advert, error) {
	s, err := r.dial.open(ctx, service, version)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.advert().readAdvert(service, prefixes)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, a, nil
}
