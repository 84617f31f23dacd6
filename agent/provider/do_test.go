package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

const fine = "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
	"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n"

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	return e
}

var hello = &Request{Messages: say("hello"), MaxOutput: 100}

// TestRequestOnTheWire: what the provider gets, and where the secret is.
func TestRequestOnTheWire(t *testing.T) {
	var got *http.Request
	var body []byte
	base := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, fine)
	}))
	var asked string
	c := &Client{Base: base + "/gate%2Fway/", Secret: func(_ context.Context, name, host string) (string, error) {
		asked = name + "@" + host
		return secret + "\n", nil
	}}
	for _, k := range []struct{ auth, header, value, query string }{
		{"{type: header, name: x-api-key, secret: KEY}", "X-Api-Key", secret, "a=m-1"},
		{"{type: bearer, secret: KEY}", "Authorization", "Bearer " + secret, "a=m-1"},
		{"{type: query, name: key, secret: KEY}", "X-Api-Key", "", "a=m-1&key=" + secret},
		{"{type: none}", "X-Api-Key", "", "a=m-1"},
	} {
		text := strings.Replace(anthropicItem, "{type: header, name: x-api-key, secret: KEY}", k.auth, 1)
		text = strings.Replace(text, "path: /v1/messages", "path: '/v1/{model}:go'\n  query: {a: '{model}'}", 1)
		p, m := parsed(t, text)
		asked = ""
		if _, err := c.Do(t.Context(), p, m, hello, nil); err != nil {
			t.Fatal(err)
		}
		want, _ := p.Encode(m, hello)
		if got.Method != "POST" || got.URL.EscapedPath() != "/gate%2Fway/v1/m-1:go" || got.URL.RawQuery != k.query || got.Header.Get(k.header) != k.value ||
			got.Header.Get("Anthropic-Version") != "2023-06-01" || got.Header.Get("Content-Type") != "application/json" || !bytes.Equal(body, want) {
			t.Errorf("%s: got %s %s %v", k.auth, got.Method, got.URL, got.Header)
		}
		if want := "KEY@" + got.Host; asked != want && p.Secret != "" || p.Secret == "" && asked != "" {
			t.Errorf("%s: the secret was asked for as %q", k.auth, asked)
		}
	}
}

// TestSecretStays: the secret goes to its host and nowhere else.
func TestSecretStays(t *testing.T) {
	var hits atomic.Int32
	other := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1) }))
	for _, status := range []int{301, 302, 303, 307, 308} {
		base := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/again" {
				hits.Add(1)
			}
			http.Redirect(w, r, map[bool]string{true: other, false: "/again"}[status < 307], status)
		}))
		p, m := parsed(t, anthropicItem)
		c := &Client{Base: base, Secret: secretOf, HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}}
		_, err := c.Do(t.Context(), p, m, hello, nil)
		if e := asError(t, err); e.Class != Invalid || e.Status != status {
			t.Errorf("%d: %v", status, e)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d redirects were followed", hits.Load())
	}
	p, m := parsed(t, strings.Replace(anthropicItem, "{type: header, name: x-api-key, secret: KEY}", "{type: query, name: key, secret: KEY}", 1))
	if _, err := (&Client{Base: "http://models.example", Secret: secretOf}).Do(t.Context(), p, m, hello, nil); !fault.Is(err, fault.Usage) {
		t.Errorf("http to elsewhere: %v", err)
	}
	// a query with the secret stands in the errors of net/http
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = (&Client{Base: "http://" + l.Addr().String(), Secret: secretOf}).Do(t.Context(), p, m, hello, nil)
	e := asError(t, err)
	if e.Class != Transient || e.Sent || e.Streamed || strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), secret) || strings.Contains(e.Message, "/v1/") {
		t.Errorf("nobody listens: %#v", e)
	}
}

// TestNothingIsSent: what is wrong on this side is no *Error, and costs nothing.
func TestNothingIsSent(t *testing.T) {
	var hits atomic.Int32
	base := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits.Add(1) }))
	p, m := parsed(t, anthropicItem)
	denied := fault.New(fault.Denied, "KEY is bound to another host")
	for name, c := range map[string]struct {
		secret func(context.Context, string, string) (string, error)
		q      *Request
		want   fault.Code
	}{
		"no secrets":        {nil, hello, fault.Auth},
		"bound elsewhere":   {func(context.Context, string, string) (string, error) { return "", denied }, hello, fault.Denied},
		"empty":             {func(context.Context, string, string) (string, error) { return " \n", nil }, hello, fault.Auth},
		"with a line":       {func(context.Context, string, string) (string, error) { return "a\r\nHost: b", nil }, hello, fault.Auth},
		"malformed request": {secretOf, &Request{}, fault.Usage},
	} {
		_, err := (&Client{Base: base, Secret: c.secret}).Do(t.Context(), p, m, c.q, nil)
		var e *Error
		if !fault.Is(err, c.want) || errors.As(err, &e) || strings.Contains(err.Error(), "Host: b") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests were sent", hits.Load())
	}
}

// TestTimes: each phase has its own time, and the caller's end is told from theirs.
func TestTimes(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	base := testkit.Serve(t, http.HandlerFunc(hang))
	p, m := parsed(t, strings.Replace(anthropicItem, "first_byte: 20", "first_byte: 0.05", 1))
	_, err := (&Client{Base: base, Secret: secretOf}).Do(t.Context(), p, m, hello, nil)
	if e := asError(t, err); e.Class != Timeout || e.Message != errFirstByte.Error() || !e.Sent || !e.Retryable() {
		t.Errorf("no first byte: %#v", e)
	}
	p, m = parsed(t, strings.Replace(anthropicItem, "connect: 20", "connect: 0.05", 1))
	slow := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	_, err = (&Client{Base: base, Secret: secretOf, HTTP: &http.Client{Transport: slow}}).Do(t.Context(), p, m, hello, nil)
	if e := asError(t, err); e.Class != Timeout || e.Message != errConnect.Error() || e.Sent {
		t.Errorf("no connection: %#v", e)
	}
	p, m = parsed(t, anthropicItem)
	ctx, stop := context.WithCancel(t.Context())
	half := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.SplitAfter(fine, "\n\n")[0]+"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"x\"}}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	_, err = (&Client{Base: half, Secret: secretOf}).Do(ctx, p, m, hello, func(Delta) { stop() })
	if e := asError(t, err); e.Class != Cancelled || !e.Sent || !e.Streamed || e.Retryable() || !errors.Is(err, context.Canceled) || !fault.Is(err, fault.Interrupt) {
		t.Errorf("cancelled: %#v", e)
	}
	_, err = (&Client{Base: half, Secret: secretOf}).Do(ctx, p, m, hello, nil)
	if e := asError(t, err); e.Class != Cancelled || e.Sent || e.Streamed {
		t.Errorf("cancelled before: %#v", e)
	}
}

// TestSlowListener: the clock runs for the provider only.
func TestSlowListener(t *testing.T) {
	next := make(chan bool, 2)
	base := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, text := range []string{"@start\n@text 0 \"x\"\n", "@text 1 \"y\"\n", "@end end_turn\n"} {
			if i > 0 {
				select {
				case <-next:
				case <-r.Context().Done():
					return
				}
			}
			s := parseScene("anthropic", text)
			s.ServeHTTP(w, r)
		}
	}))
	p, m := parsed(t, strings.Replace(anthropicItem, "idle: 20", "idle: 0.1", 1))
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	told := 0
	_, err := (&Client{Base: base, Secret: secretOf}).Do(t.Context(), p, m, hello, func(Delta) {
		if told++; told == 2 {
			late.Reset(200 * time.Millisecond)
			<-late.C
		}
		next <- true
	})
	if err != nil || told != 2 {
		t.Errorf("told %d times: %v", told, err)
	}
}

// TestSentUnlessKnown: what a transport does not tell is taken for sent, and so billed.
func TestSentUnlessKnown(t *testing.T) {
	p, m := parsed(t, anthropicItem)
	_, err := (&Client{Base: "http://127.0.0.1", Secret: secretOf, HTTP: &http.Client{Transport: silent{}}}).Do(t.Context(), p, m, hello, nil)
	if e := asError(t, err); e.Class != Transient || !e.Sent {
		t.Errorf("%#v", e)
	}
}

type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// TestSecretAtACut: a body that is cut within the secret shows no piece of it.
func TestSecretAtACut(t *testing.T) {
	base := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		io.WriteString(w, strings.Repeat("x", 295)+secret)
	}))
	p, m := parsed(t, anthropicItem)
	_, err := (&Client{Base: base, Secret: secretOf}).Do(t.Context(), p, m, hello, nil)
	if e := asError(t, err); strings.Contains(e.Message, secret[:4]) {
		t.Error(e)
	}
}

// TestTLS: a certificate that nobody knows is not tried again.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, fine) }))
	s.Config.ErrorLog = quiet
	s.StartTLS()
	defer s.Close()
	p, m := parsed(t, anthropicItem)
	_, err := (&Client{Base: s.URL, Secret: secretOf}).Do(t.Context(), p, m, hello, nil)
	if e := asError(t, err); e.Class != Invalid || e.Sent || e.Retryable() {
		t.Errorf("unknown certificate: %#v", e)
	}
	if _, err := (&Client{Base: s.URL, Secret: secretOf, HTTP: s.Client()}).Do(t.Context(), p, m, hello, nil); err != nil {
		t.Error(err)
	}
}

// endless is an answer that never ends, in memory of its own size only.
type endless struct {
	head, piece string
	left        int64
	r           *strings.Reader
}

func (e *endless) Read(p []byte) (int, error) {
	if e.r == nil {
		e.r = strings.NewReader(e.head)
	}
	if e.r.Len() == 0 {
		e.r.Reset(e.piece)
	}
	n, _ := e.r.Read(p)
	if e.left -= int64(n); e.left < 0 {
		return 0, io.EOF
	}
	return n, nil
}
func (e *endless) Close() error { return nil }

// served answers every request with one body.
type served struct {
	kind   string
	status int
	body   io.ReadCloser
}

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}}, Body: s.body, Request: r}, nil
}

// TestLargeAnswers: an answer of 1 GiB, of any shape, is refused or passed over in bounded
// memory.
func TestLargeAnswers(t *testing.T) {
	start := strings.SplitAfter(fine, "\n\n")[0] + "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	many := strings.Repeat("x", 8000)
	for _, c := range []struct {
		name, format, kind, head, piece string
		status                          int
		class, says                     string
	}{
		{"text", "anthropic", "text/event-stream", start, "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + many + "\"}}\n\n", 200, Invalid, "more bytes than the requested"},
		{"pings", "anthropic", "text/event-stream", start, "event: ping\ndata: {\"type\":\"ping\"}\n\n", 200, Invalid, "more than 8"},
		{"comments", "anthropic", "text/event-stream", start, ": " + many + "\n", 200, Invalid, "more than 8"},
		{"one line", "anthropic", "text/event-stream", start, many, 200, Invalid, "more than 16777216"},
		{"one event", "anthropic", "text/event-stream", start, "data: " + many + "\n", 200, Invalid, "more than 16777216"},
		{"blocks", "anthropic", "text/event-stream", start, "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\"}}\n\n", 200, Transient, "begins block 1 twice"},
		{"calls", "openai", "text/event-stream", "", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"" + many[:100] + "\"}}]}}]}\n\n", 200, Invalid, "more bytes than the requested"},
		{"a whole one", "openai", "application/json", `{"choices":[{"message":{"content":"`, many, 200, Invalid, "more than 4"},
		{"a failure", "openai", "application/json", `{"error":{"message":"`, many, 500, Transient, "xxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, m := parsed(t, map[string]string{"anthropic": anthropicItem, "openai": openaiItem}[c.format])
			q := *hello
			if strings.HasPrefix(c.name, "one ") { // so much that only the bound of an event holds
				m.MaxOutput, q.MaxOutput = 50_000, 50_000
			}
			body := &endless{head: c.head, piece: c.piece, left: 1 << 30}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := (&Client{Base: "http://127.0.0.1", Secret: secretOf, HTTP: &http.Client{Transport: served{c.kind, c.status, body}}}).Do(t.Context(), p, m, &q, nil)
			runtime.ReadMemStats(&after)
			if e := asError(t, err); e.Class != c.class || len(e.Message) > 1100 || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %v, want %s, %q", e, c.class, c.says)
			}
			if read := 1<<30 - body.left; read > 64<<20 {
				t.Errorf("%d MiB were read", read>>20)
			}
			if grew := after.TotalAlloc - before.TotalAlloc; grew > 200<<20 {
				t.Errorf("%d MiB were allocated in all", grew>>20)
			}
		})
	}
}

func TestClientWait(t *testing.T) {
	p, _ := parsed(t, anthropicItem)
	var slept time.Duration
	c := &Client{Rand: func() float64 { return 0.5 }, Sleep: func(_ context.Context, d time.Duration) error { slept = d; return nil }}
	if !c.Wait(t.Context(), p, &Error{Class: Overloaded}, 2) || slept != time.Second {
		t.Errorf("slept %v", slept)
	}
	if c.Wait(t.Context(), p, &Error{Class: Auth}, 1) {
		t.Error("waited for what does not change")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if (&Client{}).Wait(ctx, p, &Error{Class: Overloaded, After: time.Minute}, 1) {
		t.Error("waited after the end")
	}
}

func TestWait(t *testing.T) {
	p, _ := parsed(t, anthropicItem+"retry: {attempts: 4, base: 2, max: 10, streamed: false}\n")
	for _, c := range []struct {
		err     Error
		attempt int
		rnd     float64
		want    time.Duration
		ok      bool
	}{
		{Error{Class: RateLimited}, 1, 0.999999999, 2 * time.Second, true},
		{Error{Class: RateLimited}, 2, 0.5, 2 * time.Second, true},
		{Error{Class: RateLimited}, 3, 1, 8 * time.Second, true},
		{Error{Class: RateLimited}, 4, 1, 0, false},
		{Error{Class: RateLimited}, 0, 1, 0, false},
		{Error{Class: RateLimited, After: 7 * time.Second}, 1, 0, 7 * time.Second, true},
		{Error{Class: RateLimited, After: 11 * time.Second}, 1, 0, 11 * time.Second, false},
		{Error{Class: Transient, Streamed: true}, 1, 1, 0, false},
		{Error{Class: Transient, Never: true}, 1, 1, 0, false},
		{Error{Class: Invalid}, 1, 1, 0, false},
		{Error{Class: Invalid, Again: true}, 1, 1, 2 * time.Second, true},
		{Error{Class: Cancelled, Again: true}, 1, 1, 0, false},
		{Error{Class: Quota}, 1, 1, 0, false},
	} {
		if got, ok := p.Wait(&c.err, c.attempt, c.rnd); ok != c.ok || got.Round(time.Millisecond) != c.want && ok {
			t.Errorf("Wait(%+v, %d, %v) = %v, %v, want %v, %v", c.err, c.attempt, c.rnd, got, ok, c.want, c.ok)
		}
	}
	if r := p.Retry(); r.Attempts != 4 || r.Elapsed != 300*time.Second {
		t.Errorf("Retry() = %+v", r)
	}
	if _, ok := p.Wait(nil, 1, 0); ok {
		t.Error("nothing to wait for")
	}
}

func TestParseAfter(t *testing.T) {
	for _, c := range []struct {
		s, form string
		want    time.Duration
		ok      bool
	}{
		{"3", "seconds", 3 * time.Second, true}, {"0.5", "seconds", 500 * time.Millisecond, true}, {"0", "seconds", time.Millisecond, true},
		{"Sun, 22 Nov 2026 12:00:09 GMT", "seconds", 9 * time.Second, true}, {"Sun, 22 Nov 2026 11:00:00 GMT", "seconds", time.Millisecond, true},
		{"1e300", "seconds", maxAfter, true}, {"-4", "seconds", time.Millisecond, true}, {"NaN", "seconds", 0, false}, {"", "seconds", 0, false}, {"soon", "seconds", 0, false},
		{"250", "milliseconds", 250 * time.Millisecond, true}, {"6m0s", "duration", 6 * time.Minute, true}, {"20ms", "duration", 20 * time.Millisecond, true}, {"6", "duration", 0, false},
		{"2026-11-22T12:00:30Z", "date", 30 * time.Second, true}, {"2026-11-22T12:00:30+00:00", "date", 30 * time.Second, true}, {"tomorrow", "date", 0, false},
		{fmt.Sprint(noon.Unix() + 5), "unix", 5 * time.Second, true},
	} {
		if got, ok := parseAfter(c.s, c.form, noon); got != c.want || ok != c.ok {
			t.Errorf("parseAfter(%q, %s) = %v, %v, want %v, %v", c.s, c.form, got, ok, c.want, c.ok)
		}
	}
}
