package main

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/bearer"
	"github.com/rye-os/rye/internal/ports"
	"github.com/rye-os/rye/serve/mcp"
)

// serveHTTP serves rye mcp with --http. Processes inside a run may not open a port.
func serveHTTP(ctx context.Context, a *app.App, s *mcp.Server) error {
	if a.Caller.IsInside() {
		return fault.New(fault.Denied, "serve over HTTP: only a person may start it, and a tool started this rye")
	}
	o, err := httpOptions(a)
	if err != nil {
		return err
	}
	l, err := mcp.Listen(a.Reach.Addr, o)
	if err != nil {
		return err
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		release, err := ports.Claim(ctx, a.State, uint16(at.Port)) // no tool is led to it
		if err != nil {
			l.Close()
			return err
		}
		defer release()
	}
	a.Screen.Say("rye mcp: listening on %s\n", o.URL(l))
	return s.ServeListener(ctx, l, o)
}

func httpOptions(a *app.App) (o mcp.HTTPOptions, err error) {
	file, err := app.TokenFile(a)
	if err != nil {
		return o, err
	}
	clients, err := file.List()
	if err != nil {
		return o, err
	}
	if len(clients) == 0 {
		return o, fault.New(fault.NotFound, "serve over HTTP: no client has a token").Mend("rye mcp token add laptop")
	}
	for _, origin := range a.Reach.Origins {
		if err := mcp.CheckOrigin(origin); err != nil {
			return o, err
		}
	}
	door := &bearer.Door{File: file}
	o = mcp.HTTPOptions{
		Principal: func(token string) (string, bool) { return door.Name(token, time.Now()) },
		Proxied:   a.Reach.Proxied, Hosts: a.Reach.Hosts, Origins: a.Reach.Origins,
	}
	if a.Reach.Cert != "" {
		cert, err := tls.LoadX509KeyPair(a.Reach.Cert, a.Reach.Key)
		if err != nil {
			return o, fault.New(fault.Usage, "certificate: %w", err)
		}
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}
