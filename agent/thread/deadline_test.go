package thread

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/provider"
)

// TestPingsWithoutEnd: a host that keeps an answer open with pings is cut off, as one that
// took too long; what it may have cost is then owed.
func TestPingsWithoutEnd(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for q.Context().Err() == nil {
			fmt.Fprint(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	defer s.Close()
	was := testOnlyCallLasts
	testOnlyCallLasts = 200 * time.Millisecond
	defer func() { testOnlyCallLasts = was }()
	lib := tariffIn(t, "system", "rye/agent/providers/anthropic", library(t)["system tool:rye/agent/providers/anthropic"])
	p := &asker{thread: &thread{}, prov: lib.item, ask: &provider.Client{Base: s.URL, HTTP: s.Client()}}
	p.prov.Secret = "" // loopback, and nothing to show
	m := lib.of(t, "general")
	begun := time.Now()
	_, err := p.send(t.Context(), &question{model: m, req: &provider.Request{MaxOutput: 100, Messages: []provider.Message{{Role: provider.User, Parts: []provider.Part{{Text: "hello"}}}}}}, nil)
	var f *provider.Error
	if !errors.As(err, &f) || f.Class != provider.Timeout || !f.Sent || !strings.Contains(f.Message, "took longer") || time.Since(begun) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(begun), err)
	}
}
