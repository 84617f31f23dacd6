package modelhost

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rye-os/rye/agent/provider/script"
)

// A wrong request is refused in the words of the service; a right one beside it is not.
func TestRefusedAnthropic(t *testing.T) {
	v := serve(t, `turns: [{when: {format: anthropic}, say: fine}]`)
	const (
		user  = `{"role":"user","content":"hi"}`
		call  = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{"a":1}}]}`
		both  = `{"type":"tool_result","tool_use_id":"t2","content":"x"},{"type":"tool_result","tool_use_id":"t1"}`
		tools = `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
	)
	messages := func(m ...string) string {
		return `{"model":"m","max_tokens":10,` + tools + `"messages":[` + strings.Join(m, ",") + `]}`
	}
	with := func(member string) string {
		return `{"model":"m","max_tokens":2000,` + member + `,"messages":[` + user + `]}`
	}
	mark := `"cache_control":{"type":"ephemeral"}`
	for _, c := range []struct{ name, body, want string }{
		{"fine", messages(user), ""},
		{"fine, with calls", messages(user, call, `{"role":"user","content":[`+both+`,{"type":"text","text":"go on"}]}`), ""},
		{"fine, with thinking", messages(user, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"`+script.Signature("hm")+`"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"}]}`, user), ""},
		{"fine, with an image", messages(`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}}]}`), ""},
		{"no JSON", `{"model":`, "not valid JSON"},
		{"two values", messages(user) + "{}", "not valid JSON"},
		{"a key twice", `{"model":"m","model":"m"}`, "given twice"},
		{"no object", `[]`, "want an object"},
		{"no model", `{"max_tokens":1,"messages":[` + user + `]}`, "model: Field required"},
		{"no max_tokens", `{"model":"m","messages":[` + user + `]}`, "max_tokens: Field required"},
		{"max_tokens of zero", `{"model":"m","max_tokens":0,"messages":[` + user + `]}`, "max_tokens: 0 is not between"},
		{"no messages", `{"model":"m","max_tokens":1}`, "messages: Field required"},
		{"empty messages", messages(), "at least one message is required"},
		{"an unknown member", with(`"tempreature":1`), "tempreature: Extra inputs are not permitted"},
		{"a member of the other service", with(`"max_completion_tokens":1`), "Extra inputs are not permitted"},
		{"hot", with(`"temperature":1.5`), "temperature: 1.5 is not between 0 and 1"},
		{"the system as a message", messages(`{"role":"system","content":"x"}`), "messages.0.role"},
		{"the assistant first", messages(`{"role":"assistant","content":"x"}`, user), "first message must use"},
		{"the user twice", messages(user, user), "roles must alternate"},
		{"the assistant last", messages(user, `{"role":"assistant","content":"x"}`), "must end with a user message"},
		{"an empty text", messages(`{"role":"user","content":""}`), "text content blocks must be non-empty"},
		{"no content", messages(`{"role":"user","content":[]}`), "non-empty content"},
		{"an unknown block", messages(`{"role":"user","content":[{"type":"video"}]}`), `"video" is not a content block`},
		{"a call of the user", messages(`{"role":"user","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}`), `"tool_use" is not a content block`},
		{"an unknown member of a block", messages(`{"role":"user","content":[{"type":"text","text":"x","txet":"y"}]}`), "messages.0.content.0.txet: Extra inputs"},
		{"a call without an answer", messages(user, call, user), "were found without `tool_result` blocks immediately after: t1, t2"},
		{"one of two without an answer", messages(user, call, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}`), "immediately after: t2"},
		{"a text before the answers", messages(user, call, `{"role":"user","content":[{"type":"text","text":"so"},`+both+`]}`), "without `tool_result` blocks immediately after"},
		{"an answer to nothing", messages(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9"}]}`), "unexpected `tool_use_id` found in `tool_result` blocks: t9"},
		{"an answer to a call long ago", messages(user, call, `{"role":"user","content":[`+both+`]}`, `{"role":"assistant","content":"x"}`, `{"role":"user","content":[`+both+`]}`), "unexpected `tool_use_id`"},
		{"an answer twice", messages(user, call, `{"role":"user","content":[`+both+`,`+both+`]}`), "unexpected `tool_use_id`"},
		{"an id twice", messages(user, call, `{"role":"user","content":[`+both+`]}`, call, `{"role":"user","content":[`+both+`]}`), "ids must be unique"},
		{"a bad id", messages(user, `{"role":"assistant","content":[{"type":"tool_use","id":"a.b","name":"f","input":{}}]}`, user), "messages.1.content.0.id"},
		{"arguments as a text", messages(user, `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":"{}"}]}`, user), "content.0.input: want an object"},
		{"calls without tools", `{"model":"m","max_tokens":1,"messages":[` + user + `,` + call + `,{"role":"user","content":[` + both + `]}]}`, "must define tools"},
		{"changed thinking", messages(user, `{"role":"assistant","content":[{"type":"thinking","thinking":"hmm","signature":"`+script.Signature("hm")+`"}]}`, user), "Invalid `signature` in `thinking` block"},
		{"thinking without its signature", messages(user, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}`, user), "signature: Field required"},
		{"a tool without a schema", with(`"tools":[{"name":"f"}]`), "tools.0.input_schema: Field required"},
		{"a schema of a list", with(`"tools":[{"name":"f","input_schema":{"type":"array"}}]`), "tools.0.input_schema.type"},
		{"a tool twice", with(`"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"f","input_schema":{"type":"object"}}]`), "Tool names must be unique"},
		{"a tool with a bad name", with(`"tools":[{"name":"a/b","input_schema":{"type":"object"}}]`), "tools.0.name"},
		{"the other service's tool", with(`"tools":[{"type":"function","function":{"name":"f"}}]`), "tools.0.function: Extra inputs"},
		{"a choice without tools", with(`"tool_choice":{"type":"auto"}`), "only be specified while providing `tools`"},
		{"a choice of another tool", with(`"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"g"}`), "Tool 'g' not found"},
		{"a choice of none by name", with(`"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool"}`), "needed there"},
		{"little thinking", with(`"thinking":{"type":"enabled","budget_tokens":10}`), "budget_tokens: 10 is not between 1024"},
		{"much thinking", with(`"thinking":{"type":"enabled","budget_tokens":2000}`), "must be greater than thinking.budget_tokens"},
		{"thinking without a budget", with(`"thinking":{"type":"enabled"}`), "needed there"},
		{"thinking, and cold", with(`"thinking":{"type":"adaptive"},"temperature":0.5`), "temperature: may only be set to 1"},
		{"five places in the cache", `{"model":"m","max_tokens":1,` + mark + `,"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"x",`+mark+`},`, 4) + `{"type":"text","text":"y"}]}]}`, "Found 5"},
		{"another kind of cache", with(`"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"2h"}}]`), "system.0.cache_control.ttl"},
	} {
		t.Run(c.name, func(t *testing.T) { judge(t, post(t, v, script.Anthropic, c.body), c.want) })
	}
}

// judge checks that an answer is right, or a refusal that says what is wanted.
func judge(t *testing.T, r reply, want string) {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	if got := said(t, r); want == "" && (r.status != 200 || got != "fine") || want != "" && (r.status != 400 || !strings.Contains(got, want)) {
		t.Errorf("%d %s, want %q", r.status, r.body, want)
	}
}

func TestRefusedOpenAI(t *testing.T) {
	v := serve(t, `turns: [{say: fine}, {say: fine}, {say: fine}]`)
	const (
		user = `{"role":"user","content":"hi"}`
		call = `{"role":"assistant","content":null,"tool_calls":[{"id":"c.1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"not json"}}]}`
		one  = `{"role":"tool","tool_call_id":"c.1","content":"x"}`
		two  = `{"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"x"}]}`
		tool = `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`
	)
	messages := func(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }
	with := func(member string) string { return `{"model":"m",` + member + `,"messages":[` + user + `]}` }
	for _, c := range []struct{ name, body, want string }{
		{"fine", messages(user), ""},
		{"fine, the user twice", messages(`{"role":"developer","content":"x"}`, user, user), ""},
		{"fine, with calls", messages(user, call, two, one, user), ""},
		{"fine, an id again", messages(user, call, one, two, call, one, two), ""},
		{"fine, reasoning", messages(user, `{"role":"assistant","content":"a","reasoning_content":"b"}`, user), ""},
		{"fine, all sorts", with(`"tools":[` + tool + `],"tool_choice":"auto","parallel_tool_calls":true,"temperature":2,"max_completion_tokens":5,"reasoning_effort":"low"`), ""},
		{"no JSON", `{`, "not valid JSON"},
		{"no model", `{"messages":[` + user + `]}`, "Missing required parameter: 'model'."},
		{"no messages", `{"model":"m"}`, "Missing required parameter: 'messages'."},
		{"empty messages", messages(), "empty array"},
		{"an unknown member", with(`"tempreature":1`), "Unknown parameter: 'tempreature'."},
		{"a member of the other service", with(`"system":"x"`), "Unknown parameter: 'system'."},
		{"hot", with(`"temperature":2.5`), "2.5 is not between 0 and 2"},
		{"both limits", with(`"max_tokens":1,"max_completion_tokens":1`), "cannot be combined with"},
		{"usage without a stream", with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream' is enabled"},
		{"two answers", with(`"n":2`), "2 is not between 1 and 1"},
		{"an unknown role", messages(`{"role":"robot","content":"x"}`), "messages.0.role"},
		{"no content", messages(`{"role":"user"}`), "'messages.0.content'"},
		{"an assistant without anything", messages(user, `{"role":"assistant","content":null}`), "'messages.1.content'"},
		{"calls of the user", messages(`{"role":"user","content":"x","tool_calls":[]}`), "is for messages of the role assistant"},
		{"no calls", messages(user, `{"role":"assistant","content":"x","tool_calls":[]}`), "empty array"},
		{"a call without an answer", messages(user, call, one, user), "did not have response messages: c2"},
		{"calls without an answer at the end", messages(user, call), "did not have response messages: c.1, c2"},
		{"an answer to nothing", messages(user, one), "must be a response to a preceding message"},
		{"an answer twice", messages(user, call, one, two, one), "must be a response to a preceding message"},
		{"an id twice", messages(user, strings.ReplaceAll(call, "c2", "c.1"), one), "was given before"},
		{"arguments as an object", messages(user, strings.ReplaceAll(call, `"{}"`, `{}`), one, two), "arguments': want a text"},
		{"a tool with a bad name", with(`"tools":[` + strings.ReplaceAll(tool, `"f"`, `"a b"`) + `]`), "tools.0.function.name"},
		{"a tool twice", with(`"tools":[` + tool + `,` + tool + `]`), "was given before"},
		{"no tools", with(`"tools":[]`), "empty array"},
		{"the other service's tool", with(`"tools":[{"name":"f","input_schema":{"type":"object"}}]`), "Unknown parameter: 'tools.0.input_schema'."},
		{"a choice without tools", with(`"tool_choice":"auto"`), "only allowed when 'tools' are specified"},
		{"a choice of another tool", with(`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"g"}}`), "Tool choice 'g' not found"},
	} {
		t.Run(c.name, func(t *testing.T) { judge(t, post(t, v, script.OpenAI, c.body), c.want) })
	}
}

// TestForms: two ways to write the same prompt have one digest, another prompt another.
func TestForms(t *testing.T) {
	v := serve(t, `turns: [{say: x}, {say: y}]`)
	const tools = `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	talk := func(result string) string {
		return `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"content":"x","n":null}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",` + result + `}]}]}`
	}
	for i, body := range []string{
		`{"model":"m","max_tokens":1,` + tools + `,"system":"s",` + talk(`"content":"r"`),
		`{"system":[{"text":"s","type":"text","cache_control":{"type":"ephemeral"}}],"temperature":1,"stream":true,"max_tokens":2,` + tools + `,"model":"m",` + talk(`"content":[{"type":"text","text":"r"}],"is_error":false`),
		`{"model":"m","max_tokens":1,` + tools + `,"system":"s",` + talk(`"content":"r","is_error":true`),
		strings.Replace(`{"model":"m","max_tokens":1,`+tools+`,"system":"s",`+talk(`"content":"r"`), `"n":null`, `"m":null`, 1),
	} {
		if r := post(t, v, script.Anthropic, body); r.status != 200 {
			t.Fatal(i, r.body)
		}
		all := v.Requests()
		if same := all[i].Digest == all[0].Digest; same != (i < 2) {
			t.Errorf("request %d has the digest of the first: %t", i, same)
		}
	}
}

// TestDoor: what is refused before the request is read.
func TestDoor(t *testing.T) {
	v := serve(t, `{models: [m-1, m-2], key: k-1, turns: [{say: fine}]}`)
	names := map[string]map[int]string{
		script.Anthropic: {401: "authentication_error", 404: "not_found_error", 405: "invalid_request_error", 413: "request_too_large"},
		script.OpenAI:    {401: "invalid_api_key", 404: "model_not_found", 405: "invalid_request_error", 413: "invalid_request_error"},
	}
	both(t, func(t *testing.T, format string) {
		key := map[string][]string{script.Anthropic: {"x-api-key", "k-1"}, script.OpenAI: {"Authorization", "Bearer k-1"}}[format]
		right := ask{prompt: "hi"}.body(format)
		check := func(name string, r reply, status int) {
			t.Helper()
			if r.status != status || !strings.Contains(r.body, names[format][status]) || !json.Valid([]byte(r.body)) {
				t.Errorf("%s: %d %s, want %d %s", name, r.status, r.body, status, names[format][status])
			}
		}
		check("with the key", post(t, v, format, right, key...), 200)
		check("without a key", post(t, v, format, right), 401)
		check("with another key", post(t, v, format, right, key[0], key[1]+"x"), 401)
		check("another model", post(t, v, format, strings.Replace(right, "m-1", "m-3", 1), key...), 404)
		check("too large", post(t, v, format, strings.Repeat(" ", maxRequest+1), key...), 413)
		r := httptest.NewRequest("GET", v.URL+paths[format], nil)
		r.RequestURI = ""
		check("a GET", do(t, r, "anthropic-version", map[string]string{script.Anthropic: "x"}[format]), 405)
	})
	r, _ := http.NewRequestWithContext(t.Context(), "POST", v.URL+"/v1/elsewhere", nil)
	if got := do(t, r); got.status != 404 {
		t.Errorf("another path: %+v", got)
	}
	r, _ = http.NewRequestWithContext(t.Context(), "POST", v.URL+paths[script.Anthropic], strings.NewReader(ask{prompt: "hi"}.body(script.Anthropic)))
	if got := do(t, r, "x-api-key", "k-1"); got.status != 400 || !strings.Contains(got.body, "anthropic-version: header is required") {
		t.Errorf("without a version: %+v", got)
	}
	if got := v.Requests(); len(got) != 14 || got[0].Status != 200 || got[len(got)-1].Status != 400 {
		t.Errorf("%d requests are recorded", len(got))
	}
}
