package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

func TestParams(t *testing.T) {
	all := []rye.ParamInfo{
		{Name: "mode", Values: []string{"text", "count"}, Type: "string", Default: "text"},
		{Name: "pattern", Type: "string", Required: true, Description: "What to\n look for"},
		{Name: "changes", Type: "array", Fields: []rye.ParamInfo{{Name: "line", Type: "integer", Required: true}}},
	}
	for _, c := range []struct {
		described bool
		want      string
	}{
		{true, "pattern: string (What to look for); mode?: text|count = text; changes?: array of {line: integer}"},
		{false, "pattern: string; mode?: text|count = text; changes?: array of {line: integer}"},
	} {
		if got := Params(all, c.described); got != c.want {
			t.Errorf("described %v: %s, want %s", c.described, got, c.want)
		}
	}
	if got := Params(nil, true); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// TestExecutedDirective: who follows a directive is told what it is to return and is held to, and
// nothing where it declares nothing.
func TestExecutedDirective(t *testing.T) {
	res := &rye.ExecuteResult{Status: "success", Type: "directive", Instructions: "follow", Data: json.RawMessage(
		`{"body":"Read.","outputs":[{"name":"findings","type":"string","required":true}],"model":{"tier":"fast"},"limits":{"turns":8},"permissions":["rye.load.*"],"hooks":null}`)}
	a := Executed(res, false)
	head, err := json.Marshal(a.Head)
	want := `"declares":{"outputs":"findings: string","model":{"tier":"fast"},"limits":{"turns":8},"permissions":["rye.load.*"]}`
	if err != nil || !strings.Contains(string(head), want) || a.Text != "Read." {
		t.Errorf("Executed = %s, %q, %v; want %s", head, a.Text, err, want)
	}
	res.Data = json.RawMessage(`{"body":"Read.","outputs":null,"model":null,"limits":null,"permissions":null,"hooks":null}`)
	if head, err = json.Marshal(Executed(res, false).Head); err != nil || strings.Contains(string(head), "declares") {
		t.Errorf("of one that declares nothing: %s, %v", head, err)
	}
}

// TestParamsAreBounded: an item says what it likes of itself, at most so much of it.
func TestParamsAreBounded(t *testing.T) {
	var many []rye.ParamInfo
	for i := range 1000 {
		many = append(many, rye.ParamInfo{Name: fmt.Sprintf("parameter_%d", i), Type: strings.Repeat("t", 1000), Description: strings.Repeat("d\n", 1000),
			Default: strings.Repeat("=", 1000), Values: []string{strings.Repeat("v", 1000)}, Fields: many})
		if got := Params(many, true); len(got) > maxParams+100 || strings.Contains(got, "\n") {
			t.Fatalf("%d parameters take %d bytes: %.200s", i+1, len(got), got)
		}
		if i > 3 {
			many[i].Fields = nil
		}
	}
}

func TestEnds(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", MaxText)} {
		if got := Ends(text, 6000, "there"); got != text {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
	long := strings.Repeat("☃", MaxText)
	got := Ends(long, 6000, "all is there")
	if !utf8.ValidString(got) || len(got) > 2*6000+100 || !strings.HasPrefix(got, "☃☃") || !strings.HasSuffix(got, "☃☃") {
		t.Errorf("%d bytes: %.50s", len(got), got)
	}
	var left int
	if _, err := fmt.Sscanf(got[strings.Index(got, "…"):], "… %d bytes left out; all is there …", &left); err != nil || left != len(long)-strings.Count(got, "☃")*len("☃") {
		t.Errorf("%d left out, %v", left, err)
	}
}

// TestOutput: what a tool printed comes as it is, and JSON as JSON.
func TestOutput(t *testing.T) {
	for _, c := range []struct{ kind, data, text, json string }{
		{"tool", `"<b>\n"`, "<b>\n", ""},
		{"tool", `{"stdout":"out","stderr":"","return_code":0}`, "out", ""},
		{"tool", `{"stdout":"out","stderr":"bad\n","return_code":3}`, "out\n[standard error]\nbad\n", ""},
		{"tool", `{"stdout":"","stderr":"bad\n","return_code":3}`, "[standard error]\nbad\n", ""},
		{"tool", `{"stdout":"is a field","n":1}`, "", `{"stdout":"is a field","n":1}`},
		{"tool", `[1,2]`, "", `[1,2]`},
		{"tool", ``, "", ``},
		{"directive", `{"body":"Do it.","version":"1"}`, "Do it.", ""},
		{"knowledge", `{"body":"Know it."}`, "Know it.", ""},
	} {
		text, data := Output(&rye.ExecuteResult{Type: c.kind, Data: json.RawMessage(c.data)})
		if text != c.text || string(data) != c.json {
			t.Errorf("%s %s: %q and %s", c.kind, c.data, text, data)
		}
	}
	if text, data := Output(&rye.ExecuteResult{Type: "tool", Data: json.RawMessage(`"` + strings.Repeat("x", 3*MaxText) + `"`)}); !Long(text) || data != nil {
		t.Errorf("long: %d bytes of text, %d of data", len(text), len(data))
	}
}

// TestFailure: agreed to or not, by whom, and what then.
func TestFailure(t *testing.T) {
	sign := fault.Command("rye sign tool:acme/x")
	no := func(how rye.Answered) error {
		return fault.New(fault.Denied, "sign: %w", &rye.Unagreed{How: how, Err: errors.New("no")}).With(sign)
	}
	open := &rye.Unanswered{ID: "01k", Err: no(rye.NoWay)}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no question", fault.New(fault.Untrusted, "x").With(sign), `{"status":"error","code":"untrusted","message":"x","hint":{"tool":"sign","arguments":{"item_id":"acme/x","item_type":"tool"}}}`},
		{"declined", no(rye.Declined), `{"status":"error","code":"denied","message":"sign: no","approval":"declined"}`},
		{"late", no(rye.Late), `{"status":"error","code":"denied","message":"sign: no","approval":"late","hint":"a person can run: rye sign tool:acme/x"}`},
		{"no way", no(rye.NoWay), `{"status":"error","code":"denied","message":"sign: no","approval":"no_way","hint":"a person can run: rye sign tool:acme/x"}`},
		{"parameters", &rye.ParamError{Params: []rye.ParamInfo{{Name: "to", Type: "string", Required: true}}, Err: fault.New(fault.Usage, "to is missing").Advise("rye show tool:acme/x")},
			`{"status":"error","code":"usage","message":"to is missing","parameters":"to: string"}`},
	} {
		if got := JSON(Failure(c.err, "").Head); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if got := JSON(Failure(fault.New(fault.Denied, "%w", open).Mend("rye approve 01k"), "").Head); !strings.Contains(got, `"approval":"waiting"`) || !strings.Contains(got, "rye approve 01k; then make the same call again") {
		t.Errorf("waiting: %s", got)
	}
	if got := Failure(errors.New(strings.Repeat("x", 1<<20)), "").String(); len(got) > maxMessage+200 {
		t.Errorf("a message has %d bytes", len(got))
	}
	told := Told(&rye.ParamError{Params: []rye.ParamInfo{{Name: "to"}}, Err: fault.New(fault.Usage, "no")}, "rye_")
	if told != "usage: no\nparameters: to?" {
		t.Errorf("told %q", told)
	}
}

// TestOfSigning: what failed says all that is wrong.
func TestOfSigning(t *testing.T) {
	bad := rye.SignResult{Ref: "tool:acme/x", Status: "failed", Error: "no version", Code: fault.Malformed, Issues: []string{"no version", "no description"}, Paste: "# version: 0.1.0\n"}
	one := Signed("tool:acme/x", &rye.SignReport{Results: []rye.SignResult{bad}}, "")
	if got := JSON(one.Head); !one.Failed || !strings.Contains(got, "no description") || !strings.Contains(got, `"paste":"# version: 0.1.0\n"`) {
		t.Errorf("one: %s", got)
	}
	good := rye.SignResult{Ref: "tool:acme/y", Status: "signed"}
	some := Signed("tool:acme/*", &rye.SignReport{Results: []rye.SignResult{bad, good, {Ref: "tool:acme/z", Status: "passed over", SignedBy: "SHA256:x"}}}, "")
	if got := JSON(some.Head); some.Failed || !strings.Contains(got, `"signed":["tool:acme/y"],"total":3,"failed":[{"item":"tool:acme/x"`) || !strings.Contains(got, `"signed_by":"SHA256:x"`) {
		t.Errorf("some: %s", got)
	}
}

// A model is told what registries say against a version that it used.
func TestWarningsAreTold(t *testing.T) {
	const w = "acme/tool/hello@0.1.0 is yanked: greets twice"
	ran := Executed(&rye.ExecuteResult{Status: "success", Type: "tool", Metadata: rye.ExecuteMeta{Warnings: []string{w}}}, false)
	loaded := Loaded(&rye.LoadResult{ItemInfo: rye.ItemInfo{Warning: w}}, false)
	for _, a := range []Answer{ran, loaded} {
		if !strings.Contains(a.String(), w) {
			t.Errorf("%s says nothing of %q", a.String(), w)
		}
	}
}

// TestExecutedNamesWhatWasRefused: an answer to a client and to a thread's model names what the sandbox
// refused with the line of needs that admits it, and what did not bind.
func TestExecutedNamesWhatWasRefused(t *testing.T) {
	res := &rye.ExecuteResult{Status: "success", Type: "tool", ItemID: "acme/get"}
	res.Metadata.Denied = []rye.Denial{{What: "reaching api.example.org:443: its needs do not name it", Need: "needs: {net: ['api.example.org:443']}"}}
	res.Metadata.Unbound = []string{"every host can be reached"}
	text := Executed(res, false).String()
	for _, want := range []string{`"denied":[`, "reaching api.example.org:443", "needs: {net: ['api.example.org:443']}", `"not_limited":["every host can be reached"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
