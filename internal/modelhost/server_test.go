package modelhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/provider/script"
)

// TestLoopback: the server is to be had on loopback, by names of it, and nowhere else.
func TestLoopback(t *testing.T) {
	v := serve(t, `turns: [{say: fine}]`)
	host, port, err := net.SplitHostPort(strings.TrimPrefix(v.URL, "http://"))
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("URL %q: %v", v.URL, err)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip := a.(*net.IPNet).IP
		if ip.To4() == nil || ip.String() == host {
			continue
		}
		if c, err := net.DialTimeout("tcp4", net.JoinHostPort(ip.String(), port), time.Second); err == nil {
			c.Close()
			t.Errorf("%s listens, too", ip)
		}
	}
	body := ask{prompt: "x"}.body(script.OpenAI)
	for name, want := range map[string]int{"127.0.0.1": 200, "localhost:1": 200, "[::1]:80": 200, "evil.example": 421, "10.0.0.1": 421, "localhost.evil.example": 421} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", v.URL+paths[script.OpenAI], strings.NewReader(body))
		r.Host = name
		if got := do(t, r); got.status != want {
			t.Errorf("host %s: %d, want %d", name, got.status, want)
		}
	}
}

// TestEnds: a server ends with its context or by Close, whatever it is doing, and nothing
// of it is left.
func TestEnds(t *testing.T) {
	s, err := Parse([]byte("turns:\n  - {when: {turn: 1}, say: hello, stall: 10}\n  - {when: {turn: 2}, say: x, wait: 1h}\n  - {when: {turn: 3}, say: [a, b], pace: 1h}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"Close", "context"} {
		ctx, cancel := context.WithCancel(t.Context())
		v, err := Serve(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		for n := range 3 {
			a := ask{prompt: "x", stream: true, turns: make([]turn, n)}
			for i := range a.turns {
				a.turns[i].text = "before"
			}
			go func() {
				r, _ := http.NewRequest("POST", v.URL+paths[script.OpenAI], strings.NewReader(a.body(script.OpenAI)))
				tr := &http.Transport{}
				res, err := tr.RoundTrip(r)
				if err == nil {
					_, err = io.ReadAll(res.Body)
					res.Body.Close()
				}
				tr.CloseIdleConnections()
				ended <- err
			}()
		}
		for entered := 0; entered < 3; runtime.Gosched() {
			entered = 0
			for _, r := range v.Requests() {
				if r.Entry != "" {
					entered++
				}
			}
		}
		if how == "Close" {
			v.Close()
		} else {
			cancel()
		}
		for range 3 {
			if err := <-ended; err == nil {
				t.Errorf("%s: a request was answered whole", how)
			}
		}
		v.Close()
		cancel()
		if left := goroutines(t); left != "" {
			t.Errorf("%s: left behind:\n%s", how, left)
		}
		if _, err := net.Dial("tcp", strings.TrimPrefix(v.URL, "http://")); err == nil {
			t.Errorf("%s: it still listens", how)
		}
	}
}

// goroutines returns the stacks of those that belong to a server. One that has done its
// last act may need a moment to be gone.
func goroutines(t *testing.T) (left string) {
	buf := make([]byte, 1<<20)
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "http.(*conn)") || strings.Contains(g, "http.(*Server)") || strings.Contains(g, "modelhost.Serve") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			return ""
		}
	}
	return left
}

// TestServeEnded: a context that has ended gives no server, or one that ends.
func TestServeEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _ := Parse([]byte("turns: [{say: x}]"))
	if v, err := Serve(ctx, s); err == nil {
		v.Close()
	}
	if left := goroutines(t); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// TestCut: the connection closes after so many bytes, and the client notices.
func TestCut(t *testing.T) {
	both(t, func(t *testing.T, format string) {
		for _, stream := range []bool{false, true} {
			body := ask{prompt: "x", stream: stream}.body(format)
			whole := post(t, serve(t, `turns: [{say: [hello, world]}]`), format, body)
			for _, n := range []int{0, 1, 40, len(whole.body) - 1, len(whole.body), len(whole.body) + 100} {
				r := post(t, serve(t, fmt.Sprintf(`turns: [{say: [hello, world], cut: %d}]`, n)), format, body)
				if want := whole.body[:min(n, len(whole.body))]; r.err == nil || r.body != want {
					t.Errorf("stream %t, cut at %d: %v, got %q, want %q", stream, n, r.err, r.body, want)
				}
			}
		}
	})
}

// TestStall: what comes before the stall comes, and then nothing until the client goes.
func TestStall(t *testing.T) {
	for _, n := range []int{0, 60, 1 << 20} {
		v := serve(t, fmt.Sprintf(`turns: [{say: [hello, world], stall: %d}]`, n))
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, "POST", v.URL+paths[script.OpenAI], strings.NewReader(ask{prompt: "x", stream: true}.body(script.OpenAI)))
		tr := &http.Transport{}
		if n == 0 { // not even a head: the first sign that the request arrived is its record
			go func() {
				for len(v.Requests()) == 0 {
					runtime.Gosched()
				}
				cancel()
			}()
			if _, err := tr.RoundTrip(r); !errors.Is(err, context.Canceled) {
				t.Errorf("stall at 0: %v", err)
			}
			cancel()
			continue
		}
		res, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 60)
		if _, err := io.ReadFull(res.Body, got); err != nil || !strings.HasPrefix(string(got), "data: {") {
			t.Errorf("stall at %d: %q, %v", n, got, err)
		}
		cancel()
		if rest, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) || n == 60 && len(rest) > 0 {
			t.Errorf("stall at %d: then %q, %v", n, rest, err)
		}
		res.Body.Close()
	}
}

// TestLarge: a large answer comes whole.
func TestLarge(t *testing.T) {
	const n = maxBytes
	v := serve(t, fmt.Sprintf(`turns: [{say: "<", bytes: %d}]`, n))
	both(t, func(t *testing.T, format string) {
		r := post(t, v, format, ask{prompt: "x"}.body(format))
		if got := len(said(t, r)); got != n+1 {
			t.Errorf("%d bytes, want %d", got, n+1)
		}
	})
}

// TestAborts: an answer that is left before its head is none; an empty one with 200 would be.
func TestAborts(t *testing.T) {
	s, _ := Parse([]byte(`turns: [{say: x, wait: 1h}]`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() {
		if r := recover(); r != http.ErrAbortHandler {
			t.Errorf("it ended with %v", r)
		}
	}()
	r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(ask{prompt: "x"}.body(script.OpenAI)))
	New(s).ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
}

// TestHandler: a Model answers under another server, too.
func TestHandler(t *testing.T) {
	s, _ := Parse([]byte(`turns: [{say: "${model}"}]`))
	w := httptest.NewRecorder()
	New(s).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(ask{prompt: "x"}.body(script.OpenAI))))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"content":"m-1"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
