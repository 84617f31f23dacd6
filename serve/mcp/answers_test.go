package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/view"
)

// prints is a project whose tool prints a text.
func prints(text string) *verbs {
	data, _ := json.Marshal(map[string]any{"stdout": text, "stderr": "", "return_code": 0})
	return &verbs{execute: func(context.Context, rye.ExecuteRequest) (*rye.ExecuteResult, error) {
		return &rye.ExecuteResult{Status: "success", Type: "tool", Data: data, Metadata: rye.ExecuteMeta{Truncated: true}}, nil
	}}
}

// TestLongOutput: 30 MB come as their ends and a link, by which all of it can be read, by who
// got it and nobody else.
func TestLongOutput(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 30<<20/16)
	site := newSite(t, options(t, prints(long)), HTTPOptions{})
	ann := site.connect("token-of-ann", nil, false)
	res, err := ann.CallTool(t.Context(), &sdk.CallToolParams{Name: "execute", Arguments: map[string]any{"item_type": "tool", "item_id": "a"}})
	if err != nil || len(res.Content) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	if raw, _ := json.Marshal(res); len(raw) > 20_000 {
		t.Errorf("the answer has %d bytes", len(raw))
	}
	facts, ends, link := res.Content[0].(*sdk.TextContent).Text, res.Content[1].(*sdk.TextContent).Text, res.Content[2].(*sdk.ResourceLink)
	if facts != `{"status":"success","truncated":true}` || !strings.Contains(ends, fmt.Sprintf("… %d bytes left out; read parts of it with load and an item_id such as %s/4000-28000 …", len(long)-8_000, link.URI)) {
		t.Errorf("%s\n%.200s", facts, ends[5900:])
	}
	if link.Size == nil || *link.Size != int64(len(long)) {
		t.Errorf("link %+v", link)
	}
	read, err := ann.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
	if err != nil || read.Contents[0].Text != long {
		t.Errorf("read: %v", err)
	}
	for part, want := range map[string]string{"/4000-28000": long[4000:28000], "/0-16": long[:16], "/31457270-99999999": long[31457270:], "/99999999-99999999": ""} {
		got, failed := callTool(t, ann, "load", map[string]any{"item_id": link.URI + part})
		if text, _ := got["text"].(string); failed || text != want {
			t.Errorf("%s: %d bytes, want %d: %v", part, len(text), len(want), got["message"])
		}
		read, err := ann.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI + part})
		if err != nil || read.Contents[0].Text != want {
			t.Errorf("read %s: %v", part, err)
		}
	}
	if got, failed := callTool(t, ann, "load", map[string]any{"item_id": link.URI}); failed || got["text"] != ends {
		t.Errorf("the whole by load: %v", got)
	}
	for _, part := range []string{"/x", "/5-1", "/-1-5", "/1", "/1-99999999999999999999"} {
		if got, failed := callTool(t, ann, "load", map[string]any{"item_id": link.URI + part}); !failed || got["code"] != "usage" {
			t.Errorf("%s: %v", part, got)
		}
	}
	bob := site.connect("token-of-bob", nil, false)
	if got, failed := callTool(t, bob, "load", map[string]any{"item_id": link.URI}); !failed || got["code"] != "not_found" {
		t.Errorf("bob loads ann's: %v", got)
	}
	if read, err := bob.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI}); err == nil {
		t.Errorf("bob reads ann's: %d bytes", len(read.Contents[0].Text))
	}
}

// TestResultsAreBounded: what is kept is the newest, and not for ever.
func TestResultsAreBounded(t *testing.T) {
	var r results
	first := r.keep("ann", strings.Repeat("x", view.MaxText+1)).URI
	for range 10 * maxResults {
		r.keep("ann", "y")
	}
	if len(r.kept) != maxResults {
		t.Errorf("%d are kept", len(r.kept))
	}
	if _, err := r.read("ann", first); err == nil {
		t.Error("the oldest is kept")
	}
	for range 10 {
		r.keep("bob", strings.Repeat("z", maxResultBytes/4))
	}
	if len(r.kept) > 4 {
		t.Errorf("%d large ones are kept", len(r.kept))
	}
	last := r.keep("bob", "last").URI
	r.kept[len(r.kept)-1].until = time.Now().Add(-time.Second)
	if _, err := r.read("bob", last); err == nil {
		t.Error("it does not expire")
	}
}

// TestWatchesWhileSomebodyListens: no client that listens, no looking.
func TestWatchesWhileSomebodyListens(t *testing.T) {
	o := options(t, &verbs{})
	o.testOnlyLook = time.Millisecond
	s := New(o)
	watching := func() bool {
		s.changes.mu.Lock()
		defer s.changes.mu.Unlock()
		return s.changes.n > 0
	}
	looked := make(chan bool, 1)
	look := s.changes.look
	s.changes.look = func(ctx context.Context) (seen, bool) {
		select {
		case looked <- true:
		default:
		}
		return look(ctx)
	}
	r := rawOf(t, s)
	r.initialize("{}")
	r.call("search", `{"query":"x"}`)
	if r.receive(); watching() {
		t.Error("nobody listens, yet it looks")
	}
	r.send(`{"jsonrpc":"2.0","id":"list","method":"resources/list"}`)
	if m := r.receive(); m.Error != nil || !watching() {
		t.Errorf("a client listens: %+v", m)
	}
	<-looked
	<-looked
	r.in.Close()
	for end := time.Now().Add(10 * time.Second); watching(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it looks although nobody listens any more")
		}
	}
}

// FuzzAddress: an address is one spelling of one item, or none; a part is never more than its
// text.
func FuzzAddress(f *testing.F) {
	for _, uri := range []string{"rye://project/tool/acme/hello", "rye://system/config/a", "rye://x/tool/a", "rye://project/tool/../a", "rye://project", "", "rye://user/tool/A", "6000-30000", "-1-5", "0-99999999999"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if ref, space, err := parseAddress(text); err == nil && addressOf(space, string(ref.Kind), string(ref.ID)) != text {
			t.Errorf("%q is read as %s of %s", text, ref, space)
		}
		if part, err := partOf("0123456789", text); err == nil && len(part) > 10 {
			t.Errorf("%q is %q", text, part)
		}
		c := mcp.Cursor(text)
		if checkCursor(&c); c != "" && c != "!" && cursorOf(offsetOf(c)) != c {
			t.Errorf("%q is a cursor", text)
		}
	})
}
