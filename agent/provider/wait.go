package provider

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rye-os/rye/objects/expr"
)

// Wait returns the time to wait before the next attempt, after attempt (the first is 1) ended with
// err; rnd is a random number in [0, 1). It is false when there must be no further attempt: the
// failure would repeat, the attempts are used up, or the provider asks for more time than the item
// allows. A time that the provider asks for is waited in full. Otherwise the time is drawn from [0,
// base·2^(attempt-1)], at most max (full jitter).
func (p *Provider) Wait(err *Error, attempt int, rnd float64) (time.Duration, bool) {
	r := p.retry
	if err == nil || !err.Retryable() || attempt < 1 || attempt >= r.Attempts || err.Streamed && !r.Streamed {
		return 0, false
	}
	if err.After > 0 {
		return err.After, err.After <= r.Max
	}
	most := float64(r.Base) * math.Pow(2, float64(min(attempt-1, 30)))
	return time.Duration(min(most, float64(r.Max)) * min(max(rnd, 0), 1)), true
}

// wait returns the time that the provider asks to wait; 0 when it names none. The first place with
// a time wins. Among the places that apply only when a quota is exhausted, the longest time wins.
func (e *errorMap) wait(h http.Header, body any, now time.Time) time.Duration {
	var longest time.Duration
	for _, a := range e.after {
		s := ""
		if a.header != "" {
			s = h.Get(a.header)
		} else if v, ok := expr.Get(body, a.path); ok {
			s = expr.Text(v)
		}
		d, ok := parseAfter(strings.TrimSpace(s), a.form, now)
		switch {
		case !ok:
		case a.exhausted == "":
			return d
		case strings.TrimSpace(h.Get(a.exhausted)) == "0":
			longest = max(longest, d)
		}
	}
	return longest
}

// maxAfter bounds a wait that is read; it is longer than any useful wait.
const maxAfter = 365 * 24 * time.Hour

// parseAfter reads a time to wait. A time in the past gives the shortest wait.
func parseAfter(s, form string, now time.Time) (time.Duration, bool) {
	var d time.Duration
	switch form {
	case "duration":
		n, err := time.ParseDuration(s)
		if err != nil {
			return 0, false
		}
		d = n
	case "date":
		t, ok := parseDate(s)
		if !ok {
			return 0, false
		}
		d = t.Sub(now)
	case "seconds":
		if t, ok := parseDate(s); ok { // Retry-After may be either (RFC 9110, 10.2.3)
			d = t.Sub(now)
			break
		}
		fallthrough
	default:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(n) {
			return 0, false
		}
		switch form {
		case "milliseconds":
			n /= 1e3
		case "unix":
			n -= float64(now.UnixNano()) / 1e9
		}
		d = time.Duration(min(max(n, 0), maxAfter.Seconds()) * float64(time.Second))
	}
	return min(max(d, time.Millisecond), maxAfter), true
}

func parseDate(s string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, true
	}
	t, err := http.ParseTime(s)
	return t, err == nil
}
