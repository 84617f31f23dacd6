package script

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

// TestParse: each error names the path of the wrong field.
func TestParse(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{``, "turns: want a list, but it is missing"},
		{`[]`, "not a mapping"},
		{`{turns: {}}`, "turns: want a list, have a mapping"},
		{`{turns: [], trun: 1}`, `trun: unknown field; is it "turns"?`},
		{`turns: [x]`, "turns.0: want a mapping, have text"},
		{`turns: [null]`, "turns.0: want a mapping, have nothing"},
		{`turns: [{}]`, "turns.0: is empty"},
		{`turns: [{wait: 5s}]`, "turns.0: is empty"},
		{`turns: [{say: x, sya: y}]`, "turns.0.sya: unknown field"},
		{`turns: [{say: {}}]`, "turns.0.say: want a text, have a mapping"},
		{`turns: [{say: [x, 5]}]`, "turns.0.say.1: want a text, have a number"},
		{`turns: [{say: "${rseult.0.text}"}]`, "turns.0.say: ${rseult.0.text}: a template begins with one of turn"},
		{`turns: [{say: "${turn"}]`, "turns.0.say"},
		{`turns: [{think: "${a b}"}]`, "turns.0.think"},
		{`turns: [{say: x, stop: tired}]`, `turns.0.stop: "tired", want one of`},
		{`turns: [{say: x, stop: calls}]`, "turns.0: stop is calls, but the entry has no calls"},
		{`turns: [{say: x, times: 2}]`, "turns.0: times is for error, stall and cut"},
		{`turns: [{say: x, wait: 2}]`, "turns.0.wait: want a text, have a number"},
		{`turns: [{say: x, wait: two minutes}]`, `turns.0.wait: "two minutes", want a time such as 1.5s or 2m`},
		{`turns: [{say: x, wait: 61m}]`, "turns.0.wait: 61m, want 0s to 1h"},
		{`turns: [{say: x, pace: -1s}]`, "turns.0.pace: -1s, want 0s to 1h"},
		{`turns: [{say: x, pace_ms: 1000}]`, `turns.0.pace_ms: unknown field`},
		{`turns: [{say: x, wait: 1h1s}]`, "turns.0.wait: 1h1s, want 0s to 1h"},
		{`turns: [{say: x, stall: 1, cut: 1}]`, "turns.0: want one of error, stall and cut"},
		{`turns: [{calls: {}}]`, "turns.0.calls: want a list"},
		{`turns: [{calls: [{name: f, nmae: f}]}]`, "turns.0.calls.0.nmae: unknown field"},
		{`turns: [{calls: [{args: {}}]}]`, "turns.0.calls.0.name: want a text, but it is missing"},
		{`turns: [{calls: [{name: "a/b"}]}]`, "turns.0.calls.0.name"},
		{`turns: [{calls: [{name: f, id: "a.b"}]}]`, "turns.0.calls.0.id"},
		{`turns: [{calls: [{name: f, id: a}, {name: f, id: a}]}]`, "turns.0.calls.1.id"},
		{`turns: [{calls: [{name: f, args: [1]}]}]`, "turns.0.calls.0.args: want a mapping, have a list"},
		{`turns: [{calls: [{name: f, args: {x: .nan}}]}]`, "turns.0.calls.0.args: holds a value that JSON does not have"},
		{`turns: [{calls: [{name: f, args: {x: ["${nope}"]}}]}]`, "turns.0.calls.0.args: ${nope}"},
		{`turns: [{say: x, usage: {inptu: 1}}]`, "turns.0.usage.inptu: unknown field"},
		{`turns: [{say: x, usage: {input: -1}}]`, "turns.0.usage.input: -1"},
		{`turns: [{error: {message: x}}]`, "turns.0.error.status: want a status"},
		{`turns: [{error: {status: 200}}]`, "turns.0.error.status: 200, want 400 to 599"},
		{`turns: [{say: x, error: {status: 500}}]`, "turns.0: error together with an answer"},
		{`turns: [{error: {status: 500, headers: {Retry-After: "1"}}}]`, "turns.0.error.headers.Retry-After"},
		{`turns: [{error: {status: 500, headers: {retry-after: 1}}}]`, "turns.0.error.headers.retry-after: want a text"},
		{`turns: [{say: x, when: {}}]`, "turns.0.when: states no condition"},
		{`turns: [{say: x, when: {trun: 1}}]`, "turns.0.when.trun: unknown field"},
		{`turns: [{say: x, when: {turn: 0}}]`, "turns.0.when.turn: 0"},
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
	for _, script := range []string{`turns: []`, `turns: [{stop: refusal}]`, `turns: [{say: ""}]`, `turns: [{error: {status: 500}}, {when: {turn: 1}, say: x}]`,
		`turns: [{cut: 0, times: 1}, {say: x, wait: 1h, pace: 1.5s}, {stall: 0}]`} {
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

// TestDocs: the examples of the page are scripts, and every root of a template is on the page.
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
