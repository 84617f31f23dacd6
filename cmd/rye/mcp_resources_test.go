package main_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPResources: items are resources, verified and with their signer; lists are paged.
func TestMCPResources(t *testing.T) {
	t.Parallel()
	h := ordinary(t)
	for i := range 130 {
		h.write(fmt.Sprintf(".ai/knowledge/acme/note_%03d.md", i), strings.ReplaceAll(commitsEntry, "commits", fmt.Sprintf("note_%03d", i)))
	}
	h.rye("sign", "--all")
	h.write(".ai/tools/acme/stranger.sh", deployTool)
	s, stderr := h.connect(nil)
	if can := s.InitializeResult().Capabilities; can.Resources == nil || !can.Resources.ListChanged || can.Prompts == nil || can.Completions == nil || can.Logging == nil {
		t.Errorf("capabilities %+v", can)
	}
	var all []string
	pages := 0
	for cursor := ""; ; pages++ {
		page, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil || pages > 10 {
			t.Fatal(pages, err)
		}
		if len(page.Resources) > 100 {
			t.Errorf("a page of %d", len(page.Resources))
		}
		for _, r := range page.Resources {
			all = append(all, r.URI)
			if r.URI == "rye://project/tool/acme/deploy" && (r.Name != "tool:acme/deploy" || r.Description != "Deploy" || r.Meta["rye/signer"] != h.key("").Fingerprint) {
				t.Errorf("%+v", r)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	slices.Sort(all)
	if n := len(all); pages == 0 || n != len(slices.Compact(all)) || n < 130+50 {
		t.Errorf("%d resources on %d pages", n, pages+1)
	}
	for _, uri := range []string{"rye://project/knowledge/acme/note_129", "rye://system/tool/rye/bash/bash", "rye://project/directive/acme/greet"} {
		if !slices.Contains(all, uri) {
			t.Errorf("%s is not listed", uri)
		}
	}
	if slices.ContainsFunc(all, func(uri string) bool { return strings.Contains(uri, "stranger") || strings.Contains(uri, "stand-in") }) {
		t.Errorf("listed: %s", all)
	}
	if _, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "bm90IG91cnM="}); err == nil {
		t.Error("a cursor that is not ours is good")
	}
	read := func(uri string) (*mcp.ResourceContents, error) {
		res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return nil, err
		}
		return res.Contents[0], nil
	}
	got, err := read("rye://project/tool/acme/deploy")
	if err != nil || got.Text != h.read(".ai/tools/acme/deploy.sh") || got.Meta["rye/signer"] != h.key("").Fingerprint || got.MIMEType != "text/plain" || got.URI != "rye://project/tool/acme/deploy" {
		t.Errorf("%+v, %v", got, err)
	}
	for uri, want := range map[string]string{
		"rye://project/tool/acme/stranger": "untrusted", "rye://project/tool/acme/nothing": "not found", "rye://user/tool/acme/deploy": "not found",
		"rye://project/tool/../../../../etc/passwd": "not found", "rye:stand-in": "not found", "file:///etc/passwd": "not found", "rye://results/x": "not found",
	} {
		if got, err := read(uri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", uri, got, err, want)
		}
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 2 || templates.ResourceTemplates[0].URITemplate != "rye://{space}/{kind}/{+id}" {
		t.Errorf("%+v, %v", templates, err)
	}
	if said := stderr(); said != "" {
		t.Errorf("the server said: %s", said)
	}
}

// TestMCPPrompts: directives are prompts, with their inputs, which are texts here.
func TestMCPPrompts(t *testing.T) {
	t.Parallel()
	h := ordinary(t)
	h.write(".ai/directives/acme/repeat.md", "---\nname: repeat\nversion: 1.0.0\ndescription: d\ninputs: [{name: times, type: integer}, {name: what}]\n---\n{input:times} times {input:what?}.\n")
	h.rye("sign", "directive:acme/repeat")
	s, _ := h.connect(nil)
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Prompts, func(p *mcp.Prompt) bool { return p.Name == "acme/greet" })
	if i < 0 || list.Prompts[i].Description != "Greets somebody" || len(list.Prompts[i].Arguments) != 1 || !list.Prompts[i].Arguments[0].Required || list.Prompts[i].Arguments[0].Name != "name" {
		t.Fatalf("%+v", list.Prompts)
	}
	get := func(name string, args map[string]string) (string, error) {
		res, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: args})
		if err != nil {
			return "", err
		}
		if res.Meta["rye/signer"] != h.key("").Fingerprint {
			t.Errorf("signer %v", res.Meta)
		}
		return res.Messages[0].Content.(*mcp.TextContent).Text, nil
	}
	if text, err := get("acme/greet", map[string]string{"name": "ada"}); err != nil || !strings.Contains(text, "with the parameter name: ada") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := get("acme/repeat", map[string]string{"times": "3", "what": "4"}); err != nil || text != "3 times 4." {
		t.Errorf("of another type than text: %q, %v", text, err)
	}
	for name, c := range map[string]struct {
		prompt string
		args   map[string]string
		want   string
	}{
		"another type":  {"acme/repeat", map[string]string{"times": "three"}, "input times is of the type string, want integer"},
		"no input":      {"acme/greet", nil, "missing required inputs: name"},
		"another input": {"acme/greet", map[string]string{"name": "ada", "nme": "x"}, "unknown parameter"},
		"the stand-in":  {"rye:stand-in", map[string]string{"\x00prompt": "acme/greet"}, "not found"},
		"none":          {"acme/nothing", nil, "not found"},
		"no id":         {"../greet", nil, "not found"},
	} {
		if text, err := get(c.prompt, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestMCPCompletion: what a person types is completed by what is there.
func TestMCPCompletion(t *testing.T) {
	t.Parallel()
	h := ordinary(t)
	s, _ := h.connect(nil)
	for _, c := range []struct {
		ref         *mcp.CompleteReference
		name, typed string
		known       map[string]string
		want        string
	}{
		{&mcp.CompleteReference{Type: "ref/resource", URI: "rye://{space}/{kind}/{+id}"}, "space", "u", nil, "user"},
		{&mcp.CompleteReference{Type: "ref/resource", URI: "rye://{space}/{kind}/{+id}"}, "kind", "", nil, "directive tool knowledge config"},
		{&mcp.CompleteReference{Type: "ref/resource", URI: "rye://{space}/{kind}/{+id}"}, "id", "acme/", map[string]string{"space": "project", "kind": "tool"}, "acme/deploy acme/hello"},
		{&mcp.CompleteReference{Type: "ref/resource", URI: "rye://{space}/{kind}/{+id}"}, "id", "acme/", map[string]string{"kind": "no kind"}, ""},
		{&mcp.CompleteReference{Type: "ref/resource", URI: "file:///{path}"}, "path", "", nil, ""},
		{&mcp.CompleteReference{Type: "ref/prompt", Name: "acme/salute"}, "how", "", nil, "warmly"},
		{&mcp.CompleteReference{Type: "ref/prompt", Name: "acme/nothing"}, "how", "", nil, ""},
	} {
		res, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.name, Value: c.typed},
			Context: &mcp.CompleteContext{Arguments: c.known}})
		if err != nil || strings.Join(res.Completion.Values, " ") != c.want {
			t.Errorf("%+v %s %q: %+v, %v; want %s", c.ref, c.name, c.typed, res, err, c.want)
		}
	}
}

// TestMCPListChanged: a client that got a list is told when it changed, and no other time.
func TestMCPListChanged(t *testing.T) {
	t.Parallel()
	h := ordinary(t)
	told := make(chan string, 16)
	s, _ := h.connect(&mcp.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { told <- "resources" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { told <- "prompts" },
	})
	if _, err := s.ListResources(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	next := func() string {
		select {
		case what := <-told:
			return what
		case <-time.After(20 * time.Second):
			return "nothing"
		}
	}
	h.write(".ai/knowledge/acme/more.md", strings.ReplaceAll(commitsEntry, "commits", "more"))
	h.rye("sign", "knowledge:acme/more")
	if what := next(); what != "resources" {
		t.Errorf("a new entry: told of %s", what)
	}
	h.write(".ai/directives/acme/more.md", strings.ReplaceAll(greetDirective, `name="greet"`, `name="more"`))
	h.rye("sign", "directive:acme/more")
	for len(told) > 0 {
		<-told // it was there unsigned for a moment
	}
	if a, b := next(), next(); !strings.Contains(a+b, "prompts") && !strings.Contains(a+b, "resources") {
		t.Errorf("a new directive: told of %s and %s", a, b)
	}
}

// TestMCPListChangedWithoutSubscription: until 2025-11-25 a client that got a list is told.
func TestMCPListChangedWithoutSubscription(t *testing.T) {
	t.Parallel()
	h := ordinary(t)
	w := h.speak(t, `{}`)
	w.request("prompts/list", "{}")
	h.write(".ai/directives/acme/more.md", strings.ReplaceAll(greetDirective, `name="greet"`, `name="more"`))
	h.rye("sign", "directive:acme/more")
	for end := time.Now().Add(20 * time.Second); !slices.ContainsFunc(w.notes, func(n string) bool { return strings.Contains(n, "notifications/prompts/list_changed") }); {
		if time.Now().After(end) {
			t.Fatalf("nothing was told: %s", w.notes)
		}
		time.Sleep(50 * time.Millisecond)
		w.request("ping", "{}")
	}
}

// TestMCPLogging: at the level that the client chose, the server says what no answer does; by
// itself nothing of that.
func TestMCPLogging(t *testing.T) {
	t.Parallel()
	w := ordinary(t).speak(t, `{}`)
	args := map[string]any{"item_type": "tool", "item_id": "acme/hello"}
	if w.call("execute", args); len(w.notes) > 0 {
		t.Errorf("nobody asked, yet: %s", w.notes)
	}
	const verdict = `{"level":"debug","logger":"rye","data":"tool:acme/hello: allow by `
	w.request("tools/call", `{"name":"execute","arguments":{"item_type":"tool","item_id":"acme/hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"}}`)
	if len(w.notes) == 0 || !strings.Contains(flat(w.notes[0]), flat(verdict)) {
		t.Errorf("asked for one request: %s", w.notes)
	}
	w.notes = nil
	w.request("logging/setLevel", `{"level":"debug"}`)
	if w.call("execute", args); len(w.notes) == 0 || !strings.Contains(flat(w.notes[0]), flat(verdict)) {
		t.Errorf("asked for: %s", w.notes)
	}
}

// flat is a JSON object of texts without its order.
func flat(line string) string {
	_, data, _ := strings.Cut(line, `"data":"`)
	return strings.TrimSuffix(data, `"`)
}
