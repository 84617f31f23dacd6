package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// mcpInitialise measures the time that a client waits when it starts rye: for the process, its
// first answer, and its end.
func mcpInitialise(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	ours := func() (cost, error) {
		start := time.Now()
		s, err := startServer(b.command(dir, "rye", "mcp"))
		took := time.Since(start)
		if err != nil {
			return cost{}, err
		}
		return cost{wall: took}, s.close()
	}
	return ours, b.process(dir, "rye", "version"), err
}

// mcpOverHTTP compares a call over HTTP with the same call over pipes.
func mcpOverHTTP(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	pipes, err := startServer(b.command(dir, "rye", "mcp"))
	if err != nil {
		return nil, nil, err
	}
	b.ends = append(b.ends, pipes.close)
	web, err := b.startHTTP(dir)
	if err != nil {
		return nil, nil, err
	}
	params := map[string]any{"name": "load", "arguments": map[string]any{"item_type": "knowledge", "item_id": entry(7)}}
	measure := func(call func() (json.RawMessage, error)) side {
		return func() (cost, error) {
			start := time.Now()
			raw, err := call()
			took := time.Since(start)
			if err == nil && (bytes.Contains(raw, []byte(`"isError":true`)) || !bytes.Contains(raw, []byte(`"content"`))) {
				err = fmt.Errorf("load over MCP: %s", clip(raw))
			}
			return cost{wall: took}, err
		}
	}
	return measure(func() (json.RawMessage, error) { return web.call("load", params) }),
		measure(func() (json.RawMessage, error) { return pipes.call("tools/call", params) }), nil
}

// webServer is an MCP server at an address.
type webServer struct{ url, token string }

// startHTTP starts rye mcp --http, which ends with b.
func (b *bench) startHTTP(dir string) (*webServer, error) {
	token, err := b.command(dir, "rye", "mcp", "token", "add", "bench").Output()
	if err != nil {
		return nil, err
	}
	cmd := b.command(dir, "rye", "mcp", "serve", "--http", "127.0.0.1:0")
	said, err1 := cmd.StderrPipe()
	if err := errors.Join(err1, cmd.Start()); err != nil {
		return nil, err
	}
	b.ends = append(b.ends, func() error { return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()) })
	line, err := bufio.NewReader(said).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !ok {
		return nil, fmt.Errorf("rye mcp --http said %q (%v)", line, err)
	}
	return &webServer{url, strings.TrimSpace(string(token))}, nil
}

// call makes one call of a tool, like a client of protocol version 2026-07-28.
func (s *webServer) call(tool string, params map[string]any) (json.RawMessage, error) {
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	delete(params, "_meta")
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequest("POST", s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + s.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(res.Body)
}
