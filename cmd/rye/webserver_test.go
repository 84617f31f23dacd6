package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// servers counts requests by address: scripts run at the same time.
var servers sync.Map

// webserver starts a web server for one script. /echo tells what it was sent,
// /stream sends events, /to/... redirects, anything else is not there.
func webserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: webserver")
	}
	n := new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasPrefix(r.URL.Path, "/echo"):
			json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "uri": r.RequestURI, "key": r.Header.Get("X-Key"),
				"authorization": r.Header.Get("Authorization"), "type": r.Header.Get("Content-Type"), "body": string(body)})
		case r.URL.Path == "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "event: step\ndata: {\"n\":%d}\n\n", i)
				w.(http.Flusher).Flush()
			}
		case r.URL.Path == "/page":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, r.URL.Query().Get("html"))
		case r.URL.Path == "/find": // a search service, which answers more than it is asked for
			var all []map[string]string
			for i := range 5 {
				n, said := strconv.Itoa(i+1), "said of "+strconv.Itoa(i+1)
				if r.FormValue("q") == "mykey" {
					said = "said by " + r.Header.Get("X-API-Key")
				}
				all = append(all, map[string]string{"title": r.FormValue("q") + " " + n, "url": "https://example.org/" + n, "content": said})
			}
			json.NewEncoder(w).Encode(map[string]any{"query": r.FormValue("q"), "results": all})
		case r.URL.Path == "/to":
			http.Redirect(w, r, r.URL.Query().Get("where"), http.StatusFound)
		default:
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"error":{"message":"no such thing"}}`)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
	servers.Store(s.URL, n)
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests n")
	}
	v, ok := servers.Load(ts.Getenv("URL"))
	if !ok {
		ts.Fatalf("no webserver")
	}
	if got := strconv.Itoa(int(v.(*atomic.Int32).Swap(0))); got != args[0] {
		ts.Fatalf("%s requests, want %s", got, args[0])
	}
}
