package modelhost

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/rye-os/rye/agent/provider/script"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden holds the bytes of every form of answer to testdata/answers.txtar: a script,
// and what it says in both formats, whole and streamed.
func TestGolden(t *testing.T) {
	name := filepath.Join("testdata", "answers.txtar")
	old, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(old.Files[0].Data)
	v := serve(t, text)
	want := txtar.Format(old)
	out := &txtar.Archive{Comment: old.Comment, Files: slices.Clip(old.Files[:1])}
	for n := 1; n <= 4; n++ {
		for _, format := range []string{script.Anthropic, script.OpenAI} {
			for _, stream := range []bool{false, true} {
				a := ask{prompt: "hello", stream: stream}
				for range n - 1 {
					a.turns = append(a.turns, turn{text: "before"})
				}
				if stream && format == script.OpenAI {
					a.more = map[string]any{"stream_options": map[string]any{"include_usage": true}}
				}
				r := post(t, v, format, a.body(format))
				if r.err != nil || r.status != 200 && n < 4 {
					t.Fatalf("turn %d, %s: %v, %d %s", n, format, r.err, r.status, r.body)
				}
				if again := post(t, v, format, a.body(format)); again.body != r.body || fmt.Sprint(again.header) != fmt.Sprint(r.header) {
					t.Errorf("turn %d, %s: the same request got\n%s, then\n%s", n, format, r.body, again.body)
				}
				if date := r.header.Get("Date"); date != "" {
					t.Errorf("the head has a date: %s", date)
				}
				way := "whole"
				if stream {
					way = "stream"
				}
				out.Files = append(out.Files, txtar.File{Name: fmt.Sprintf("%d/%s/%s/%d", n, format, way, r.status), Data: []byte(strings.TrimRight(r.body, "\n") + "\n")})
			}
		}
	}
	got := txtar.Format(out)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(got) != string(want) {
		t.Errorf("answers differ from %s (-update, and read the diff):\n%s", name, got)
	}
}

// TestTurns: which entry answers follows from the turns of the model in the request.
func TestTurns(t *testing.T) {
	text := `
turns:
  - when: {directive: acme/child}
    say: child
  - when: {turn: 2, last: "exit 1"}
    say: it failed
  - when: {contains: [orchid, vase]}
    say: both
  - say: one
  - say: two
  - when: {turn: 3, format: anthropic}
    say: three of anthropic
  - when: {turn: 3, model: m-1}
    say: three
`
	call := []script.Call{{ID: "c1", Name: "read_file", Args: "{}"}}
	both(t, func(t *testing.T, format string) {
		v := serve(t, text)
		three := map[string]string{script.Anthropic: "three of anthropic", script.OpenAI: "three"}[format]
		for _, c := range []struct {
			name string
			ask  ask
			want string
		}{
			{"first", ask{prompt: "hello"}, "one"},
			{"second", ask{prompt: "hello", turns: []turn{{text: "one"}}}, "two"},
			{"first again", ask{prompt: "hello"}, "one"},
			{"third", ask{prompt: "hello", turns: []turn{{text: "one"}, {text: "two"}}}, three},
			{"a result", ask{prompt: "hello", turns: []turn{{calls: call, results: []script.Result{{ID: "c1", Text: "exit 1", Failed: true}}}}}, "it failed"},
			{"another result", ask{prompt: "exit 1", turns: []turn{{calls: call, results: []script.Result{{ID: "c1", Text: "exit 0"}}}}}, "two"},
			{"both words", ask{system: "an orchid", prompt: "a vase"}, "both"},
			{"one word", ask{system: "an orchid", prompt: "a cup"}, "one"},
			{"the directive in the system text", ask{system: "You do acme/child.", prompt: "hello"}, "child"},
			{"the directive in the prompt", ask{prompt: "directive:acme/child", turns: []turn{{text: "one"}}}, "child"},
			{"a longer id", ask{prompt: "acme/children, acme/child/x, my/acme/child, acme/child.old"}, "one"},
		} {
			if got := said(t, post(t, v, format, c.ask.body(format))); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}

// TestNothing: a request that the script does not know is refused, and named.
func TestNothing(t *testing.T) {
	both(t, func(t *testing.T, format string) {
		v := serve(t, `turns: [{say: one}, {when: {contains: orchid}, say: two}]`)
		a := ask{prompt: "hello", turns: []turn{{calls: []script.Call{{ID: "c1", Name: "read_file", Args: "{}"}}, results: []script.Result{{ID: "c1", Text: "lost"}}}}}
		r := post(t, v, format, a.body(format))
		for _, want := range []string{"turn 2", "model m-1", `result of read_file "lost"`} {
			if r.status != 400 || !strings.Contains(said(t, r), want) {
				t.Errorf("%d %s: does not say %q", r.status, r.body, want)
			}
		}
	})
}

// TestTemplates: the script uses what the request holds.
func TestTemplates(t *testing.T) {
	text := `
turns:
  - say: "${turn} ${model} ${system} ${prompt} ${last} ${tools.0} $${x}"
  - say: ["${result.0.name}: ", "${result.1.text}", "${result.5.text}", " ${result.1.failed} ${result.0.json.a.1 || 'none'}"]
    calls:
      - {name: next, args: {whole: "${result.0.json}", text: "<${result.1.text}>", "${turn}": 1}}
`
	both(t, func(t *testing.T, format string) {
		v := serve(t, text)
		a := ask{system: "be good", prompt: "hello ${turn}"}
		if got, want := said(t, post(t, v, format, a.body(format))), "1 m-1 be good hello ${turn} hello ${turn} read_file ${x}"; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		a.turns = []turn{{calls: []script.Call{{ID: "c1", Name: "read_file", Args: "{}"}, {ID: "c2", Name: "b", Args: `{"x":1}`}}, results: []script.Result{{ID: "c1", Text: `{"a":[1,12345678901234567890]}`}, {ID: "c2", Text: "${turn}"}}}}
		r := post(t, v, format, a.body(format))
		if got, want := said(t, r), "read_file: ${turn} false 12345678901234567890"; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
		want := `{"${turn}":1,"text":"<${turn}>","whole":{"a":[1,12345678901234567890]}}`
		if format == script.OpenAI {
			want = strings.ReplaceAll(want, `"`, `\"`)
		}
		if !strings.Contains(r.body, want) {
			t.Errorf("the call lacks %s: %s", want, r.body)
		}
	})
}

// TestTimes: a failure happens as often as it says, then what stands behind it.
func TestTimes(t *testing.T) {
	text := `
turns:
  - {times: 2, error: {status: 429, message: slow down, headers: {retry-after: "3"}}}
  - {times: 1, error: {status: 502, body: "<html>bad gateway</html>"}}
  - {times: 1, cut: 0}
  - say: at last
`
	both(t, func(t *testing.T, format string) {
		v := serve(t, text)
		body := ask{prompt: "hello"}.body(format)
		for i := range 2 {
			r := post(t, v, format, body)
			if r.status != 429 || said(t, r) != "slow down" || r.header.Get("Retry-After") != "3" {
				t.Errorf("try %d: %+v", i+1, r)
			}
		}
		if r := post(t, v, format, body); r.status != 502 || r.body != "<html>bad gateway</html>" || r.header.Get("Content-Type") != "text/html" {
			t.Errorf("try 3: %+v", r)
		}
		if r := post(t, v, format, body); r.err == nil {
			t.Errorf("try 4 was answered: %+v", r)
		}
		for i := range 2 {
			if r := post(t, v, format, body); r.status != 200 || said(t, r) != "at last" {
				t.Errorf("try %d: %+v", i+5, r)
			}
		}
		var status []int
		var entries []string
		for _, r := range v.Requests() {
			status, entries = append(status, r.Status), append(entries, r.Entry)
		}
		if want := []int{429, 429, 502, 0, 200, 200}; !slices.Equal(status, want) {
			t.Errorf("recorded %v, want %v", status, want)
		}
		if want := "[turns.0 turns.0 turns.1 turns.2 turns.3 turns.3]"; fmt.Sprint(entries) != want {
			t.Errorf("recorded %v, want %v", entries, want)
		}
	})
}

// TestErrors: errors have the form and the names of the service.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, format, script, want string }{
		{"overloaded", script.Anthropic, `{status: 529}`, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}`},
		{"limited", script.Anthropic, `{status: 429, message: slow}`, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}`},
		{"its own type", script.Anthropic, `{status: 400, type: other_error, message: m}`, `{"type":"error","error":{"type":"other_error","message":"m"}`},
		{"limited", script.OpenAI, `{status: 429, message: slow}`, `{"error":{"message":"slow","type":"requests","param":null,"code":"rate_limit_exceeded"}}`},
		{"no quota", script.OpenAI, `{status: 429, type: insufficient_quota, code: insufficient_quota}`, `{"error":{"message":"Too Many Requests","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{"broken", script.OpenAI, `{status: 500}`, `{"error":{"message":"Internal Server Error","type":"server_error","param":null,"code":null}}`},
	} {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			v := serve(t, "turns: [{error: "+c.script+"}]")
			for _, stream := range []bool{false, true} {
				r := post(t, v, c.format, ask{prompt: "x", stream: stream}.body(c.format))
				if !strings.HasPrefix(r.body, c.want) || !strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
					t.Errorf("got %s, want %s", r.body, c.want)
				}
			}
		})
	}
}

// TestMidStream: what was said stands before the error, and no end behind it.
func TestMidStream(t *testing.T) {
	text := `turns: [{say: [a, b], error: {status: 529, message: enough, mid_stream: true}}]`
	both(t, func(t *testing.T, format string) {
		v := serve(t, text)
		r := post(t, v, format, ask{prompt: "x", stream: true}.body(format))
		all := events(r.body)
		last := all[len(all)-1]
		if r.status != 200 || r.err != nil || !strings.Contains(last, "enough") || !strings.Contains(r.body, `"b"`) ||
			strings.Contains(r.body, "[DONE]") || strings.Contains(r.body, "message_stop") {
			t.Errorf("%d %v\n%s", r.status, r.err, r.body)
		}
		if format == script.Anthropic && !strings.Contains(r.body, "event: error\n") {
			t.Errorf("no event of the name error\n%s", r.body)
		}
		if r := post(t, v, format, ask{prompt: "x"}.body(format)); r.status != 529 {
			t.Errorf("not streamed: %+v", r)
		}
	})
}

// TestStops: reasons to stop in the words of the services.
func TestStops(t *testing.T) {
	for script, want := range map[string]map[string]string{
		`{say: x}`:                           {script.Anthropic: `"stop_reason":"end_turn"`, script.OpenAI: `"finish_reason":"stop"`},
		`{say: x, calls: [{name: f}]}`:       {script.Anthropic: `"stop_reason":"tool_use"`, script.OpenAI: `"finish_reason":"tool_calls"`},
		`{calls: [{name: f}], stop: end}`:    {script.Anthropic: `"stop_reason":"end_turn"`, script.OpenAI: `"finish_reason":"stop"`},
		`{say: x, stop: length}`:             {script.Anthropic: `"stop_reason":"max_tokens"`, script.OpenAI: `"finish_reason":"length"`},
		`{say: "no ${turn}", stop: refusal}`: {script.Anthropic: `"stop_reason":"refusal"`, script.OpenAI: `"refusal":"no 1"`},
	} {
		v := serve(t, "turns: ["+script+"]")
		for format, want := range want {
			for _, stream := range []bool{false, true} {
				if r := post(t, v, format, ask{prompt: "x", stream: stream}.body(format)); r.status != 200 || !strings.Contains(r.body, want) {
					t.Errorf("%s, %s, streamed %t: lacks %s:\n%s", script, format, stream, want, r.body)
				}
			}
		}
	}
}

// TestRaw: arguments that are no JSON come as they are, where the format can carry them.
func TestRaw(t *testing.T) {
	v := serve(t, `turns: [{calls: [{name: f, raw: '{"a": '}], stop: length}]`)
	if r := post(t, v, script.OpenAI, ask{prompt: "x"}.body(script.OpenAI)); !strings.Contains(r.body, `"arguments":"{\"a\": "`) {
		t.Errorf("OpenAI: %s", r.body)
	}
	if r := post(t, v, script.Anthropic, ask{prompt: "x", stream: true}.body(script.Anthropic)); !strings.Contains(r.body, `"partial_json":"{\"a\": "`) {
		t.Errorf("Anthropic, streamed: %s", r.body)
	}
	if r := post(t, v, script.Anthropic, ask{prompt: "x"}.body(script.Anthropic)); r.status != 400 || !strings.Contains(r.body, "not a JSON object") {
		t.Errorf("Anthropic: %d %s", r.status, r.body)
	}
}

// TestBounded: recorded requests do not grow without end.
func TestBounded(t *testing.T) {
	m := New(&Script{})
	big := make([]byte, mostKept/4)
	for range 6 {
		m.record(&Request{Body: big})
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("%d large requests are kept, want 4", n)
	}
	for i := range mostRequests + 10 {
		m.record(&Request{Turn: i})
	}
	if all := m.Requests(); len(all) != mostRequests || all[len(all)-1].Turn != mostRequests+9 || m.kept != 0 {
		t.Errorf("%d requests, the last is %d, %d bytes", len(all), all[len(all)-1].Turn, m.kept)
	}
	var c cache
	for i := range mostSeen + 5 {
		c.put([32]byte{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	if len(c.seen) != mostSeen || len(c.order) != mostSeen || c.seen[[32]byte{4}] || !c.seen[[32]byte{5}] {
		t.Errorf("the cache holds %d and %d", len(c.seen), len(c.order))
	}
}

// TestRecorded: a test sees what was sent, headers too.
func TestRecorded(t *testing.T) {
	v := serve(t, `turns: [{say: x}]`)
	body := ask{prompt: "hello"}.body(script.OpenAI)
	post(t, v, script.OpenAI, body, "Authorization", "Bearer k")
	got := v.Requests()
	if len(got) != 1 || string(got[0].Body) != body || got[0].Header.Get("Authorization") != "Bearer k" || got[0].Path != "/v1/chat/completions" ||
		got[0].Turn != 1 || got[0].Method != http.MethodPost || !strings.HasPrefix(got[0].Digest, "sha256:") {
		t.Errorf("recorded %+v", got)
	}
}
