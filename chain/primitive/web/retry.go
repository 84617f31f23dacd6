package web

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
)

// Retry decides when the same request is sent again.
type Retry struct {
	Attempts int   // in all; 0 and 1 send once
	Statuses []int // that cause another attempt; nil is DefaultStatuses
	// Repeatable declares that sending twice has the same effect as sending once. GET, HEAD,
	// OPTIONS, PUT and DELETE need no declaration (RFC 9110, 9.2.2). A request that never left is
	// repeated in any case.
	Repeatable bool
	Fixed      bool          // wait Base each time, instead of doubling
	Base       time.Duration // 0 is one second
	Max        time.Duration // of one wait, Retry-After included; 0 is a minute
}

// MaxAttempts bounds Retry.Attempts.
const MaxAttempts = 10

// DefaultStatuses are temporary failures: too many requests, bad gateway, unavailable, gateway
// timeout, overloaded.
var DefaultStatuses = []int{429, 502, 503, 504, 529}

func (r *Retry) defaults() {
	r.Attempts = min(max(r.Attempts, 1), MaxAttempts)
	if r.Statuses == nil {
		r.Statuses = DefaultStatuses
	}
	if r.Base <= 0 {
		r.Base = time.Second
	}
	if r.Max <= 0 {
		r.Max = time.Minute
	}
}

// again returns the wait before attempt n+1, and whether to make it. If a server requests a
// longer wait than Retry.Max, there is no further attempt, and its answer is final.
func (e *exchange) again(n int, res *http.Response, err error) (time.Duration, bool) {
	repeatable := e.Retry.Repeatable || e.Method != "POST" && e.Method != "PATCH"
	switch {
	case n >= e.Retry.Attempts:
		return 0, false
	case err != nil && (!fault.Is(err, fault.Network) || !repeatable && !unsent(err)):
		return 0, false
	case err == nil && (!repeatable || !slices.Contains(e.Retry.Statuses, res.StatusCode)):
		return 0, false
	}
	if err == nil {
		if d, ok := RetryAfter(res.Header.Get("Retry-After"), e.now()); ok {
			return d, d <= e.Retry.Max
		}
	}
	d := e.Retry.Base
	for i := 1; i < n && !e.Retry.Fixed && d < e.Retry.Max; i++ {
		d *= 2
	}
	d = min(d, e.Retry.Max)
	return d/2 + time.Duration(float64(d/2)*e.o.Jitter()), true
}

// unsent reports that no byte of the request left, because no connection was made.
func unsent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// RetryAfter reads the header of this name: seconds or a date (RFC 9110, 10.2.3). A date in the
// past is a wait of 0. ok is false for any other value.
func RetryAfter(v string, now time.Time) (d time.Duration, ok bool) {
	v = strings.TrimSpace(v)
	if v != "" && strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			n = 1<<31 - 1 // digits, but too many
		}
		return time.Duration(n) * time.Second, true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	return max(0, t.Sub(now)), true
}
