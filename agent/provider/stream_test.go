package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden files again")

// scene is one answer of a server, as testdata/streams/*.txtar tells it. Its first lines
// may be options, "#! name value"; then come the bytes, with shorthands at the beginning of
// a line (see expand).
type scene struct {
	body    []byte
	options map[string]string
	header  [][2]string
}

func parseScene(format, text string) scene {
	s := scene{options: map[string]string{}}
	for {
		line, rest, ok := strings.Cut(text, "\n")
		opt, is := strings.CutPrefix(line, "#! ")
		if !ok || !is {
			break
		}
		text = rest
		name, value, _ := strings.Cut(opt, " ")
		if name == "header" {
			k, v, _ := strings.Cut(value, ": ")
			s.header = append(s.header, [2]string{k, v})
			continue
		}
		s.options[name] = value
	}
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		b.WriteString(expand(format, line))
	}
	out := b.String()
	if _, ok := s.options["escapes"]; ok {
		u, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(out, `"`, `\"`), "\n", `\n`) + `"`)
		if err != nil {
			panic(err)
		}
		out = u
	}
	if _, ok := s.options["crlf"]; ok {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	if _, ok := s.options["cr"]; ok {
		out = strings.ReplaceAll(out, "\n", "\r")
	}
	if _, ok := s.options["bare"]; ok { // no line feed at the end
		out = strings.TrimRight(out, "\n")
	}
	s.body = []byte(out)
	return s
}

// expand writes out a shorthand:
//
//	> {…}            one event
//	@start           the beginning of a message (anthropic)
//	@text n "…"      a block of text (anthropic)
//	@tool n id name {json pieces separated by |}   a block of a call (anthropic)
//	@end reason      the end of a message (anthropic)
//	@c {…}           a delta (openai)
//	@f reason        the chunk that ends a choice (openai)
//	@u               the chunk that counts (openai)
//	@done            the last word (openai)
func expand(format, line string) string {
	line = strings.TrimSuffix(line, "\n")
	event := func(s string) string {
		if format == "anthropic" {
			var v struct{ Type string }
			_ = json.Unmarshal([]byte(s), &v)
			return "event: " + v.Type + "\ndata: " + s + "\n\n"
		}
		return "data: " + s + "\n\n"
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case ">":
		return event(rest)
	case "@start":
		return event(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m-1-0901","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}}}`)
	case "@text":
		n, text, _ := strings.Cut(rest, " ")
		return event(`{"type":"content_block_start","index":`+n+`,"content_block":{"type":"text","text":""}}`) +
			event(`{"type":"content_block_delta","index":`+n+`,"delta":{"type":"text_delta","text":`+text+`}}`) +
			event(`{"type":"content_block_stop","index":`+n+`}`)
	case "@tool":
		f := strings.SplitN(rest, " ", 4)
		out := event(`{"type":"content_block_start","index":` + f[0] + `,"content_block":{"type":"tool_use","id":"` + f[1] + `","name":"` + f[2] + `","input":{}}}`)
		if len(f) > 3 {
			for _, piece := range strings.Split(f[3], "|") {
				q, _ := json.Marshal(piece)
				out += event(`{"type":"content_block_delta","index":` + f[0] + `,"delta":{"type":"input_json_delta","partial_json":` + string(q) + `}}`)
			}
		}
		return out + event(`{"type":"content_block_stop","index":`+f[0]+`}`)
	case "@end":
		return event(`{"type":"message_delta","delta":{"stop_reason":"`+rest+`","stop_sequence":null},"usage":{"output_tokens":7}}`) + event(`{"type":"message_stop"}`)
	case "@c":
		return event(`{"id":"c-1","object":"chat.completion.chunk","model":"m-1-0901","choices":[{"index":0,"delta":` + rest + `,"finish_reason":null}],"usage":null}`)
	case "@f":
		return event(`{"id":"c-1","model":"m-1-0901","choices":[{"index":0,"delta":{},"finish_reason":"` + rest + `"}]}`)
	case "@u":
		return event(`{"id":"c-1","model":"m-1-0901","choices":[],"usage":{"prompt_tokens":14,"completion_tokens":9,"total_tokens":23,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`)
	case "@done":
		return event("[DONE]")
	}
	return line + "\n"
}

func (s *scene) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := "text/event-stream; charset=utf-8"
	if v, ok := s.options["type"]; ok {
		kind = v
	}
	w.Header().Set("Content-Type", kind)
	for _, h := range s.header {
		w.Header().Set(h[0], h[1])
	}
	status := 200
	if v, ok := s.options["status"]; ok {
		status, _ = strconv.Atoi(v)
	}
	w.WriteHeader(status)
	size := len(s.body)
	if v, ok := s.options["cut"]; ok {
		size, _ = strconv.Atoi(v)
	}
	for rest := s.body; len(rest) > 0; {
		n := min(size, len(rest))
		w.Write(rest[:n])
		w.(http.Flusher).Flush()
		rest = rest[n:]
	}
	if _, ok := s.options["stall"]; ok {
		<-r.Context().Done()
	}
	if _, ok := s.options["abort"]; ok {
		panic(http.ErrAbortHandler)
	}
}

const secret = "sk-canary-1234"

func secretOf(context.Context, string, string) (string, error) { return secret, nil }

// noon is the time of every scene.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestStreams plays every answer in testdata to a Client, over HTTP.
func TestStreams(t *testing.T) {
	scenes := map[string]http.Handler{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, name, _ := strings.Cut(r.URL.Path, "/s/")
		name, _, _ = strings.Cut(name, "/v1")
		name, _, _ = strings.Cut(name, "/chat")
		scenes[name].ServeHTTP(w, r)
	}))
	srv.Config.ErrorLog = nil
	defer srv.Close()
	total := 0
	for _, format := range []string{"anthropic", "openai"} {
		file := filepath.Join("testdata", "streams", format+".txtar")
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []txtar.File
		for i := 0; i < len(ar.Files); i++ {
			in := ar.Files[i]
			name, ok := strings.CutSuffix(in.Name, ".in")
			if !ok {
				continue
			}
			want := ""
			if i+1 < len(ar.Files) && ar.Files[i+1].Name == name+".want" {
				want = string(ar.Files[i+1].Data)
			}
			s := parseScene(format, string(in.Data))
			scenes[format+"/"+name] = &s
			total++
			got := ""
			t.Run(format+"/"+name, func(t *testing.T) {
				got = play(t, format, srv.URL+"/s/"+format+"/"+name, s)
				if got != want && !*update {
					t.Errorf("got\n%swant\n%s", got, want)
				}
			})
			out = append(out, in, txtar.File{Name: name + ".want", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(&txtar.Archive{Comment: ar.Comment, Files: out}), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 60 {
		t.Errorf("%d scenes, want 60", total)
	}
}

func play(t *testing.T, format, base string, s scene) string {
	t.Helper()
	text := map[string]string{"anthropic": anthropicItem, "openai": openaiItem}[format]
	if _, ok := s.options["stall"]; ok {
		text = strings.Replace(text, "idle: 20", "idle: 0.05", 1)
	}
	if v, ok := s.options["item"]; ok {
		text += v + "\n"
	}
	if v, ok := s.options["replace"]; ok {
		from, to, _ := strings.Cut(v, " => ")
		text = strings.Replace(text, from, to, 1)
	}
	p, m := parsed(t, text)
	var b bytes.Buffer
	var said, thought strings.Builder
	on := func(d Delta) {
		said.WriteString(d.Text)
		thought.WriteString(d.Reasoning)
		if d.CallID != "" {
			fmt.Fprintf(&b, "begins %s %s\n", d.CallID, d.CallName)
		}
	}
	c := &Client{Secret: secretOf, Now: func() time.Time { return noon }, Base: base}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	res, err := c.Do(ctx, p, m, &Request{Messages: say("hello"), MaxOutput: 100}, on)
	if said.Len() > 0 {
		fmt.Fprintf(&b, "said %q\n", said.String())
	}
	if thought.Len() > 0 {
		fmt.Fprintf(&b, "thought %q\n", thought.String())
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("not an *Error: %v", err)
		}
		if strings.Contains(e.Error(), secret) {
			t.Errorf("the error holds the secret: %v", e)
		}
		fmt.Fprintf(&b, "error %s status=%d code=%q after=%v streamed=%v sent=%v retryable=%v\n  %s\n", e.Class, e.Status, e.Code, e.After, e.Streamed, e.Sent, e.Retryable(), e.Message)
		return b.String()
	}
	dump(&b, res)
	return b.String()
}

func dump(b *bytes.Buffer, res *Response) {
	for _, part := range res.Parts {
		switch {
		case part.Call != nil:
			fmt.Fprintf(b, "call %s %s %s %s\n", part.Call.ID, part.Call.Name, part.Call.Args, part.Call.Bad)
		case part.Opaque != nil:
			fmt.Fprintf(b, "opaque %s %s %q %s\n", part.Opaque.Provider, part.Opaque.Model, part.Opaque.Text, part.Opaque.Raw)
		default:
			fmt.Fprintf(b, "text %q\n", part.Text)
		}
	}
	u := res.Usage
	fmt.Fprintf(b, "stop %s\nusage in=%d read=%d write=%d long=%d out=%d reasoning=%d\ncost %v %v\nmodel %s id %s\n", res.Stop, u.Input, u.CacheRead, u.CacheWrite, u.CacheLong, u.Output, u.Reasoning, res.Cost, res.CostKnown, res.Model, res.RequestID)
}
