package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// mcpCall measures one call on a running server, with JSON lines made by hand, so that
// no client library is part of the figure. rye's side is the round trip; the peer's is
// the time of the work that the server reports.
func mcpCall(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	s, err := startServer(b.command(dir, "rye", "mcp"))
	if err != nil {
		return nil, nil, err
	}
	b.ends = append(b.ends, s.close)
	args := map[string]any{"item_type": "knowledge", "item_id": entry(7), "project_path": dir, "detail": true}
	var work time.Duration
	ours := func() (cost, error) {
		start := time.Now()
		raw, err := s.call("tools/call", map[string]any{"name": "execute", "arguments": args})
		took := time.Since(start)
		if err != nil {
			return cost{}, err
		}
		var result struct{ Content []struct{ Text string } }
		var facts struct {
			Status   string
			Metadata struct {
				MS float64 `json:"duration_ms"`
			}
		}
		if err := json.Unmarshal(raw, &result); err != nil || len(result.Content) == 0 {
			return cost{}, fmt.Errorf("execute over MCP: %s", clip(raw))
		}
		if err := json.Unmarshal([]byte(result.Content[0].Text), &facts); err != nil || facts.Status != "success" {
			return cost{}, fmt.Errorf("execute over MCP: %s", clip(raw))
		}
		work = time.Duration(facts.Metadata.MS * float64(time.Millisecond))
		return cost{wall: took}, nil
	}
	return ours, func() (cost, error) { return cost{wall: max(work, time.Microsecond)}, nil }, nil
}

// A server is an MCP server on the other end of two pipes.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func startServer(cmd *exec.Cmd) (*server, error) {
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	_, err := s.call("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"}})
	if err != nil {
		return nil, err
	}
	return s, s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

// close ends the server like a client, by closing its input.
func (s *server) close() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

func (s *server) send(m map[string]any) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = s.in.Write(append(line, '\n'))
	return err
}

// call sends a request and reads lines until its answer.
func (s *server) call(method string, params any) (json.RawMessage, error) {
	s.id++
	if err := s.send(map[string]any{"jsonrpc": "2.0", "id": s.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		if m.ID != s.id {
			continue // a notification
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}
