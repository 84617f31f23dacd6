package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/rye-os/rye/chain/network/forward"
)

const (
	proxied  = "proxied request, loopback"
	proxied1 = "proxied 16 x 1 MB, loopback"
	proxied2 = "proxied 1 MB, loopback"
)

// The ways of a program to a host: at the host's own address inside, or by the proxy.
const (
	byName    = "named host"
	byConnect = "CONNECT"
	byAddress = "http:// address"
)

func proxiedRows() (all []row) {
	for _, way := range []string{byName, byConnect, byAddress} {
		all = append(all, row{what: proxied + ", " + way, peer: "direct", light: true, setup: proxiedBy(way, 1, 100)},
			row{what: proxied2 + ", " + way, peer: "direct", light: true, setup: proxiedBy(way, 1, 1<<20)},
			row{what: proxied1 + ", " + way, peer: "direct", light: true, setup: proxiedBy(way, 16, 1<<20)})
	}
	return all
}

// proxiedBy compares requests over one new connection with the same ones without rye. Client, forwarder
// and server are in this process.
func proxiedBy(way string, requests, size int) func(*bench, int) (side, side, error) {
	return func(b *bench, _ int) (side, side, error) {
		body := bytes.Repeat([]byte("x"), size)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
		host := server.Listener.Addr().String()
		_, port, _ := net.SplitHostPort(host)
		named := "localhost:" + port
		f, err := forward.New(forward.Options{Needs: []string{named, "*.example.org"}})
		if err != nil {
			return nil, nil, err
		}
		b.ends = append(b.ends, func() error { f.Close(); server.Close(); return nil })
		var at []net.Listener
		for range f.Listen() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, nil, err
			}
			at = append(at, l)
		}
		f.Serve(at)
		door, proxy := at[0].Addr().String(), at[len(at)-1].Addr().String()
		dial := func(to string) func(context.Context, string, string) (net.Conn, error) {
			return func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", to)
			}
		}
		ways := map[string]func(*http.Transport){
			byName:    func(t *http.Transport) { t.DialContext = dial(door) },
			byAddress: func(t *http.Transport) { t.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}) },
			byConnect: func(t *http.Transport) {
				t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return tunnelled(ctx, proxy, named) }
			},
		}
		fetch := func(set func(*http.Transport)) side {
			return inside(func() error {
				t := &http.Transport{DisableCompression: true}
				set(t)
				defer t.CloseIdleConnections()
				for range requests {
					res, err := (&http.Client{Transport: t}).Get("http://" + named + "/")
					if err != nil {
						return err
					}
					n, err := io.Copy(io.Discard, res.Body)
					if res.Body.Close(); err != nil || int(n) != size {
						return errors.Join(err, fmt.Errorf("%s: %d bytes, status %s", way, n, res.Status))
					}
				}
				return nil
			})
		}
		return fetch(ways[way]), fetch(func(t *http.Transport) { t.DialContext = dial(host) }), nil
	}
}

// tunnelled connects to a host by CONNECT.
func tunnelled(ctx context.Context, proxy, host string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", host)
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect}) // the server waits for a request
	if err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
