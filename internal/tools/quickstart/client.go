package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An mcpCall is one call of a tool and its expected result.
type mcpCall struct {
	tool   string
	args   map[string]any
	failed bool
	word   string // that must be in the answer
}

// useMCP uses rye like a model whose client cannot ask its user, and then answers as the user.
func useMCP(ctx context.Context, w *world) error {
	p := w.alice
	if err := p.write("project/.ai/tools/local/mine.sh", strings.Replace(countTool, "category: acme", "category: local", 1)); err != nil {
		return err
	}
	here := func(args map[string]any) map[string]any {
		args["project_path"] = p.project
		return args
	}
	mine := func() map[string]any { return here(map[string]any{"item_type": "tool", "item_id": "local/mine"}) }
	err := p.session(ctx, []mcpCall{
		{"search", here(map[string]any{"scope": "tool", "query": "count files"}), false, "acme/count"},
		{"execute", here(map[string]any{"item_type": "tool", "item_id": "acme/count"}), false, "success"},
		{"execute", mine(), true, "untrusted"},
		{"sign", mine(), true, "denied"},
	})
	if err == nil {
		w.say("what a model writes does not run, and no model signs it")
	}
	return err
}

// session starts `rye mcp` like a desktop client, through the official Go SDK, makes the
// calls and checks their answers.
func (p *person) session(ctx context.Context, calls []mcpCall) (err error) {
	fmt.Fprintf(p.w.out, "%s$ rye mcp    # started by an MCP client, over stdin and stdout\n", p.name)
	p.w.commands++
	cmd := p.command(ctx, "rye", "mcp")
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "quickstart", Version: "1.0.0"}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("connect to rye mcp: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := hasTools(ctx, s); err != nil {
		return err
	}
	for _, c := range calls {
		text, failed, err := p.call(ctx, s, c)
		if err != nil {
			return err
		}
		if failed != c.failed || !strings.Contains(text, c.word) {
			return fmt.Errorf("call %s: error %v, want %v, with %q in the answer", c.tool, failed, c.failed, c.word)
		}
	}
	return nil
}

func hasTools(ctx context.Context, s *mcp.ClientSession) error {
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, t := range tools.Tools {
		names[t.Name] = true
	}
	for _, want := range []string{"search", "load", "execute", "sign"} {
		if !names[want] {
			return fmt.Errorf("rye mcp offers no tool %q", want)
		}
	}
	return nil
}

// call makes one call and shows it. err is an error of the connection; failed is the
// tool's own report.
func (p *person) call(ctx context.Context, s *mcp.ClientSession, c mcpCall) (text string, failed bool, err error) {
	shown, err := json.Marshal(c.args)
	if err != nil {
		return "", false, err
	}
	fmt.Fprintf(p.w.out, "  call %s %s\n", c.tool, p.tidy(string(shown)))
	p.w.commands++
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
	if err != nil {
		return "", false, fmt.Errorf("call %s: %w", c.tool, err)
	}
	var b strings.Builder
	for _, part := range res.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	p.show(b.String(), 1)
	return b.String(), res.IsError, nil
}
