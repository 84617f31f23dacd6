package modelhost

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/provider/script"
	"github.com/rye-os/rye/fault"
)

// TestParse: a member that only a host knows is refused by its path, as every other is.
func TestParse(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{`{turns: [{say: x}], cache: yes please}`, "cache: want true or false"},
		{`{turns: [{say: x}], models: [1]}`, "models.0: want a text"},
		{`{turns: [{say: x}], kye: k}`, "kye: unknown field"},
		{`turns: [x]`, "turns.0: want a mapping"},
		{`turns: [{bytes: -1}]`, "turns.0.bytes: -1, want 0"},
		{`turns: [{bytes: 1.5}]`, "turns.0.bytes: 1.5, want a whole number"},
		{`turns: [{calls: [{name: f, args: {}, raw: x}]}]`, "turns.0.calls.0.args: cannot be combined with raw"},
		{`turns: [{calls: [{nmae: f, raw: x}]}]`, "turns.0.calls.0.name: want a text, but it is missing"},
		{`{cache: true, turns: [{say: x, usage: {cache_read: 1}}]}`, "turns.0.usage.cache_read: is counted"},
		{`turns: [{error: {status: 500, body: 1}}]`, "turns.0.error.body: want a text"},
	} {
		if _, err := Parse([]byte(c.script)); !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s) = %v, want %q", c.script, err, c.want)
		}
	}
}

// FuzzScript: a script is refused, or answers the same request twice with the same bytes, in both
// formats.
func FuzzScript(f *testing.F) {
	f.Add(`turns: [{say: "${result.0.json || last}", calls: [{name: f, args: {a: ["${turn}"]}, id: x}], bytes: 9}]`)
	f.Add(`{cache: true, models: m, key: k, turns: [{cut: 20, times: 1, think: x}, {error: {status: 599, body: "<", code: c}}]}`)
	f.Add(`turns: [{calls: [{name: f, raw: "{"}, {name: g}], usage: {input: 1}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, slow := range []string{"wait", "pace", "stall", "times"} {
			if strings.Contains(text, slow) {
				return
			}
		}
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		s.key, s.models, s.cache = "", nil, false
		for format := range paths {
			for _, stream := range []bool{false, true} {
				body := ask{prompt: "hello", stream: stream}.body(format)
				status, one := record(t, New(s), format, body)
				if again, two := record(t, New(s), format, body); one != two || status != again {
					t.Errorf("%d %q, then %d %q", status, one, again, two)
				}
			}
		}
	})
}

// record returns what a model answers; a connection that it closes gives 0.
func record(t *testing.T, h *Host, format, body string) (status int, text string) {
	w := httptest.NewRecorder()
	defer func() {
		if r := recover(); r != nil {
			if status, text = 0, w.Body.String(); len(h.Requests()) != 1 {
				panic(r)
			}
		}
	}()
	r := httptest.NewRequest("POST", paths[format], strings.NewReader(body))
	r.Header.Set("anthropic-version", "x")
	h.ServeHTTP(w, r.WithContext(t.Context()))
	return w.Code, w.Body.String()
}

// FuzzRequest: whatever a client sends gets an answer that is JSON, and no server dies of it.
func FuzzRequest(f *testing.F) {
	a := ask{system: "s", prompt: "p", turns: []turn{{text: "t", calls: []script.Call{{ID: "c1", Name: "f", Args: `{"a":1}`}}, results: []script.Result{{ID: "c1", Text: "r"}}}}}
	for format := range paths {
		f.Add(a.body(format), format == script.OpenAI)
	}
	f.Add(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, false)
	s, err := Parse([]byte(`turns: [{when: {last: x}, say: "${result.0.json.a} ${last} ${system}"}, {when: {contains: y, directive: a/b}, say: z}, {say: one}]`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, openAI bool) {
		format := script.Anthropic
		if openAI {
			format = script.OpenAI
		}
		status, text := record(t, New(s), format, body)
		if _, err := decodeJSON([]byte(text)); err != nil && !strings.HasPrefix(text, "event: ") && !strings.HasPrefix(text, "data: ") || status != 200 && status != 400 {
			t.Errorf("%d %q: %v", status, text, err)
		}
	})
}
