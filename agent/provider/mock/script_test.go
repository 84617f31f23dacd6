package mock

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestParse: what is wrong is named by its path.
func TestParse(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{``, "turns: must be given"},
		{`[]`, "not a mapping"},
		{`{turns: {}}`, "turns: want a list, got an object"},
		{`{turns: [], trun: 1}`, "trun: unknown member"},
		{`{turns: [{say: x}], cache: yes please}`, "cache: want true or false"},
		{`{turns: [{say: x}], models: [1]}`, "models.0: want a text, got a number"},
		{`turns: [x]`, "turns.0: want an object, got a text"},
		{`turns: [{}]`, "turns.0: is empty"},
		{`turns: [{wait_ms: 5}]`, "turns.0: is empty"},
		{`turns: [{say: x, sya: y}]`, "turns.0.sya: unknown member"},
		{`turns: [{say: {}}]`, "turns.0.say: want a text or a list of texts"},
		{`turns: [{say: [x, 5]}]`, "turns.0.say.1: want a text, got a number"},
		{`turns: [{say: "${rseult.0.text}"}]`, "turns.0.say: ${rseult.0.text}: a template begins with one of turn"},
		{`turns: [{say: "${turn"}]`, "turns.0.say"},
		{`turns: [{think: "${a b}"}]`, "turns.0.think"},
		{`turns: [{bytes: -1}]`, "turns.0.bytes: -1 is not between"},
		{`turns: [{bytes: 1.5}]`, "turns.0.bytes: want a whole number"},
		{`turns: [{say: x, stop: tired}]`, `turns.0.stop: "tired" is none of`},
		{`turns: [{say: x, stop: calls}]`, "turns.0: stop is calls, but the entry has no calls"},
		{`turns: [{say: x, times: 2}]`, "turns.0: times is for error, stall and cut"},
		{`turns: [{say: x, wait_ms: 3600001}]`, "turns.0.wait_ms"},
		{`turns: [{say: x, stall: 1, cut: 1}]`, "turns.0: want one of error, stall and cut"},
		{`turns: [{calls: {}}]`, "turns.0.calls: want a list"},
		{`turns: [{calls: [{nmae: f}]}]`, "turns.0.calls.0.nmae: unknown member"},
		{`turns: [{calls: [{args: {}}]}]`, "turns.0.calls.0.name: must be given"},
		{`turns: [{calls: [{name: "a/b"}]}]`, "turns.0.calls.0.name"},
		{`turns: [{calls: [{name: f, id: "a.b"}]}]`, "turns.0.calls.0.id"},
		{`turns: [{calls: [{name: f, id: a}, {name: f, id: a}]}]`, "turns.0.calls.1.id"},
		{`turns: [{calls: [{name: f, args: [1]}]}]`, "turns.0.calls.0.args: want an object, got a list"},
		{`turns: [{calls: [{name: f, args: {x: .nan}}]}]`, "turns.0.calls.0.args: holds a value that JSON does not have"},
		{`turns: [{calls: [{name: f, args: {x: ["${nope}"]}}]}]`, "turns.0.calls.0.args: ${nope}"},
		{`turns: [{calls: [{name: f, args: {}, raw: x}]}]`, "turns.0.calls.0.args: cannot be combined with raw"},
		{`turns: [{say: x, usage: {inptu: 1}}]`, "turns.0.usage.inptu: unknown member"},
		{`turns: [{say: x, usage: {input: -1}}]`, "turns.0.usage.input: -1"},
		{`{cache: true, turns: [{say: x, usage: {cache_read: 1}}]}`, "turns.0.usage.cache_read: is counted"},
		{`turns: [{error: {message: x}}]`, "turns.0.error.status: must be given"},
		{`turns: [{error: {status: 200}}]`, "turns.0.error.status: 200 is not between 400 and 599"},
		{`turns: [{say: x, error: {status: 500}}]`, "turns.0: error together with an answer"},
		{`turns: [{error: {status: 500, headers: {Retry-After: "1"}}}]`, "turns.0.error.headers.Retry-After"},
		{`turns: [{error: {status: 500, headers: {content-length: "1"}}}]`, "turns.0.error.headers.content-length"},
		{`turns: [{error: {status: 500, headers: {retry-after: 1}}}]`, "turns.0.error.headers.retry-after: want a text"},
		{`turns: [{error: {status: 500, headers: {a: "b\nc"}}}]`, "turns.0.error.headers.a"},
		{`turns: [{say: x, when: {}}]`, "turns.0.when: states no condition"},
		{`turns: [{say: x, when: {trun: 1}}]`, "turns.0.when.trun: unknown member"},
		{`turns: [{say: x, when: {turn: 0}}]`, "turns.0.when.turn: 0"},
		{`turns: [{say: x, when: {digest: abc}}]`, "turns.0.when.digest"},
		{`turns: [{say: x, when: {format: gemini}}]`, "turns.0.when.format"},
		{`turns: [{say: x, when: {contains: ["a", ""]}}]`, "an empty text is in every prompt"},
		{`turns: [{error: {status: 500}}, {say: x}]`, "turns.1: is never reached: turns.0 fails each time"},
		{`turns: [{say: x, say: y}]`, "given twice"},
		{`turns: [&a {say: x}]`, "anchor"},
	} {
		_, err := Parse([]byte(c.script))
		if !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%s) = %v, want %q", c.script, err, c.want)
		}
	}
	if _, err := Parse(make([]byte, MaxScript+1)); !fault.Is(err, fault.Limit) {
		t.Errorf("a large script: %v", err)
	}
	for _, script := range []string{`turns: []`, `turns: [{stop: refusal}]`, `turns: [{error: {status: 500}}, {when: {turn: 1}, say: x}]`, `turns: [{cut: 0, times: 1}, {say: x}, {stall: 0}]`} {
		if _, err := Parse([]byte(script)); err != nil {
			t.Errorf("Parse(%s) = %v", script, err)
		}
	}
}

// docExamples returns the scripts of docs/format/mock.md.
func docExamples(t testing.TB) (out []string) {
	page, err := os.ReadFile("../../../docs/format/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestDocs: the examples of the page are scripts, and every member is on the page.
func TestDocs(t *testing.T) {
	examples := docExamples(t)
	if len(examples) != 2 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, e := range examples {
		if _, err := Parse([]byte(e)); err != nil {
			t.Errorf("%v in\n%s", err, e)
		}
	}
	page, _ := os.ReadFile("../../../docs/format/mock.md")
	for _, name := range roots {
		if !strings.Contains(string(page), "`"+name) {
			t.Errorf("the page does not name ${%s}", name)
		}
	}
}

// FuzzScript: a script is refused, or answers the same request twice with the same bytes,
// in both formats.
func FuzzScript(f *testing.F) {
	for _, e := range docExamples(f) {
		f.Add(e)
	}
	f.Add(`turns: [{say: "${result.0.json || last}", calls: [{name: f, args: {a: ["${turn}"]}, id: x}], bytes: 9}]`)
	f.Add(`{cache: true, models: m, key: k, turns: [{cut: 20, times: 1, think: x}, {error: {status: 599, body: "<"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, e := range s.turns {
			if e.wait > 0 || e.pace > 0 || e.stall >= 0 || e.bytes > 1<<20 || e.times > 0 {
				return
			}
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
func record(t *testing.T, m *Model, format, body string) (status int, text string) {
	w := httptest.NewRecorder()
	defer func() {
		if r := recover(); r != nil {
			if status, text = 0, w.Body.String(); len(m.Requests()) != 1 || m.script.turns == nil {
				panic(r)
			}
		}
	}()
	r := httptest.NewRequest("POST", paths[format], strings.NewReader(body))
	r.Header.Set("anthropic-version", "x")
	m.ServeHTTP(w, r.WithContext(t.Context()))
	return w.Code, w.Body.String()
}

// FuzzRequest: whatever a client sends gets an answer that is JSON, and no server dies of it.
func FuzzRequest(f *testing.F) {
	a := ask{system: "s", prompt: "p", turns: []turn{{text: "t", calls: []asked{{"c1", "f", `{"a":1}`}}, results: []result{{id: "c1", text: "r"}}}}}
	for format := range paths {
		f.Add(a.body(format), format == formatOpenAI)
	}
	f.Add(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}]}`, false)
	s, err := Parse([]byte(`turns: [{when: {last: x}, say: "${result.0.json.a} ${last} ${system}"}, {when: {contains: y, directive: a/b}, say: z}, {say: one}]`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string, openAI bool) {
		format := formatAnthropic
		if openAI {
			format = formatOpenAI
		}
		status, text := record(t, New(s), format, body)
		if _, err := decodeJSON([]byte(text)); err != nil && !strings.HasPrefix(text, "event: ") && !strings.HasPrefix(text, "data: ") || status != 200 && status != 400 {
			t.Errorf("%d %q: %v", status, text, err)
		}
	})
}
