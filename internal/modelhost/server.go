package modelhost

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// A Server is a Host that listens on a port of loopback.
type Server struct {
	*Host
	URL string // "http://127.0.0.1:<port>", without the path

	stop context.CancelFunc
	done sync.WaitGroup // of all goroutines that it started
}

// Serve starts a server on a free port of 127.0.0.1. It ends with ctx or with Close, and then sends
// nothing more to waiting clients. s must not be nil.
func Serve(ctx context.Context, s *Script) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fault.New(fault.Failed, "start the host: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	v := &Server{Host: New(s), URL: "http://" + l.Addr().String(), stop: stop}
	h := &http.Server{
		Handler:           loopbackOnly(v.Host),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0), // clients get their errors in the answers
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s { // New comes before the connection's goroutine, Closed at its end
			case http.StateNew:
				v.done.Add(1)
			case http.StateClosed:
				v.done.Done()
			}
		},
	}
	v.done.Go(func() { _ = h.Serve(l) }) // until it is closed
	v.done.Go(func() {
		<-ctx.Done()
		_ = h.Close()
	})
	return v, nil
}

// Close ends the server and returns when all its goroutines have ended. It may be called again.
func (v *Server) Close() {
	v.stop()
	v.done.Wait()
}

// loopbackOnly refuses requests for another host name: a web page whose name resolves to this
// address must not become a client.
func loopbackOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if a, err := netip.ParseAddr(host); (err != nil || !a.IsLoopback()) && host != "localhost" {
			http.Error(w, "this host is for this machine only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
