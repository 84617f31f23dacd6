package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye/internal/words"
)

// An mcpCall is one call of a tool and its expected result.
type mcpCall struct {
	tool   string
	args   map[string]any
	failed bool
	word   string // that must be in the answer
	shows  string
}

// useMCP uses the four tools like a model: first with a client that cannot ask its user
// questions, then with one that can.
func useMCP(ctx context.Context, w *world) error {
	p := w.bob
	if err := p.write("project/.ai/tools/local/mine.sh", strings.Replace(countTool, "category: acme", "category: local", 1)); err != nil {
		return err
	}
	here := func(args map[string]any) map[string]any {
		args["project_path"] = p.project
		return args
	}
	tool, answer := "acme/hello", "Hello, MCP!"
	if w.python == "" {
		tool, answer = "acme/count", "success"
	}
	mine := func() map[string]any { return here(map[string]any{"item_type": "tool", "item_id": "local/mine"}) }
	err := p.session(ctx, nil, []mcpCall{
		{"search", here(map[string]any{"scope": "tool", "query": "greet"}), false, "acme/hello",
			"a model finds the tool that alice published"},
		{"load", here(map[string]any{"item_type": "knowledge", "item_id": "rye/reference/terminology"}), false, "Words of rye",
			"and reads from the standard library, which is verified like anything else"},
		{"execute", here(map[string]any{"item_type": "tool", "item_id": tool, "parameters": map[string]any{"name": "MCP"}}), false, answer,
			"it executes it, through the same gates as on the command line"},
		{"execute", here(map[string]any{"item_type": "tool", "item_id": "acme/nothing"}), true, "not_found",
			"a refusal is a tool error with a code that a program can read"},
		{"execute", mine(), true, "untrusted",
			"what the model just wrote does not run"},
		{"sign", mine(), true, "denied",
			"and a model may not sign it by itself"},
	})
	if err != nil {
		return err
	}
	if err := p.listClient(ctx); err != nil {
		return err
	}
	return p.session(ctx, p.agree, []mcpCall{
		{"sign", mine(), false, "signed", "a person saw the text and agreed"},
		{"execute", mine(), false, "success", "now it runs"},
	})
}

// listClient lists this client in the person's policy as one that shows questions to a person.
// Answers from any other client have no effect.
func (p *person) listClient(ctx context.Context) error {
	dir, err := p.run(ctx, outcome{}, "rye", "where", "config")
	if err != nil {
		return err
	}
	fmt.Printf("\n%s lists the client in policy.yaml: it shows questions to a person\n", p.name)
	return os.WriteFile(filepath.Join(strings.TrimSpace(dir), "policy.yaml"), []byte("policy: 1\nelicitation: [quickstart]\n"), 0o600)
}

// agree answers for the person at an MCP client.
func (p *person) agree(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	fmt.Println("  the client asks", p.name+":")
	p.show("  | " + strings.ReplaceAll(words.Clip(q.Params.Message, 700), "\n", "\n  | "))
	fmt.Println(" ", p.name, "agrees")
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
}

type asker func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)

// session starts `rye mcp` like a desktop client, through the official Go SDK, makes the
// calls and checks their answers. ask is nil for a client that cannot ask its user.
func (p *person) session(ctx context.Context, ask asker, calls []mcpCall) (err error) {
	fmt.Printf("\n%s$ rye mcp    # started by an MCP client, over stdin and stdout\n", p.name)
	p.w.commands++
	cmd := p.command(ctx, "rye", "mcp")
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "quickstart", Version: "1.0.0"}, &mcp.ClientOptions{ElicitationHandler: ask})
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("connect to rye mcp: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if ask == nil {
		if err := listTools(ctx, s); err != nil {
			return err
		}
	}
	for _, c := range calls {
		text, failed, err := p.call(ctx, s, c)
		if err != nil {
			return err
		}
		if failed != c.failed || !strings.Contains(text, c.word) {
			return fmt.Errorf("call %s: error %v, want %v, with %q in the answer", c.tool, failed, c.failed, c.word)
		}
		say("%s", c.shows)
	}
	return nil
}

func listTools(ctx context.Context, s *mcp.ClientSession) error {
	tools, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for _, t := range tools.Tools {
		names[t.Name] = true
		title := words.FirstLine(t.Description)
		fmt.Printf("  %-8s %s\n", t.Name, words.Clip(title, 90))
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
	fmt.Printf("\n  call %s %s\n", c.tool, p.tidy(string(shown)))
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
	p.show(words.Clip(b.String(), 600))
	return b.String(), res.IsError, nil
}
