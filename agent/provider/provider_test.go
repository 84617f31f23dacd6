package provider

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// item reads the config of an item out of YAML.
func item(t testing.TB, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := objects.DecodeYAML([]byte(text), 1<<20, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

const anthropicItem = `
endpoint:
  base_url: https://models.example
  path: /v1/messages
  headers: {anthropic-version: "2023-06-01"}
  auth: {type: header, name: x-api-key, secret: KEY}
  timeouts: {connect: 20, first_byte: 20, idle: 20}
request: {encoder: anthropic-messages}
caching: {mode: breakpoints, at: [tools, system], last: 2}
echo: {blocks: [thinking, redacted_thinking]}
usage:
  input: input_tokens
  cache_read: cache_read_input_tokens
  cache_write: cache_creation_input_tokens
  cache_write_long: cache_creation.ephemeral_1h_input_tokens
  output: output_tokens
  relations: {cache_write_long: within}
errors:
  again: x-should-retry
  request_id: [request-id]
  after:
    - {header: retry-after-ms, form: milliseconds}
    - {header: retry-after, form: seconds}
    - {header: anthropic-ratelimit-tokens-reset, form: date, exhausted: anthropic-ratelimit-tokens-remaining}
    - {header: anthropic-ratelimit-requests-reset, form: date, exhausted: anthropic-ratelimit-requests-remaining}
  rules:
    - {class: context_overflow, when: {path: message, op: contains, value: too long}}
    - {class: tool_pairing, when: {path: message, op: regex, value: "tool_use.*tool_result"}}
models:
  - id: m-1
    aliases: [one]
    tiers: [general]
    context: 200000
    max_output: 4096
    efforts: {high: {thinking: {type: enabled, budget_tokens: 1024}}}
    prices: {input: "3", cache_read: "0.30", cache_write: "3.75", cache_write_long: "6", output: "15"}
`

const openaiItem = `
endpoint:
  base_url: https://models.example/v1
  path: /chat/completions
  auth: {type: bearer, secret: KEY}
  timeouts: {connect: 20, first_byte: 20, idle: 20}
request: {encoder: openai-chat}
caching: {mode: key, key: prompt_cache_key}
echo: {fields: [reasoning_content, reasoning_details]}
usage:
  input: prompt_tokens
  cache_read: prompt_tokens_details.cached_tokens
  output: completion_tokens
  reasoning: completion_tokens_details.reasoning_tokens
  relations: {cache_read: within, reasoning: within}
  cost: cost
errors:
  again: x-should-retry
  request_id: [x-request-id]
  after:
    - {header: retry-after-ms, form: milliseconds}
    - {header: retry-after, form: seconds}
    - {header: x-ratelimit-reset-requests, form: duration, exhausted: x-ratelimit-remaining-requests}
    - {header: x-ratelimit-reset-tokens, form: duration, exhausted: x-ratelimit-remaining-tokens}
  rules:
    - {class: tool_pairing, when: {path: message, op: regex, value: "role 'tool' must be a response"}}
models:
  - id: m-1
    tiers: [general]
    context: 200000
    max_output: 4096
    prices: {input: "2.50", cache_read: "1.25", output: "10"}
`

func parsed(t testing.TB, text string) (*Provider, *Model) {
	t.Helper()
	p, err := Parse("test/p", item(t, text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model("m-1")
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

// TestStandardItems: the library's own items say what this package reads.
func TestStandardItems(t *testing.T) {
	for _, name := range []string{"anthropic", "openai"} {
		raw, err := os.ReadFile("../../stdlib/system/tools/rye/agent/providers/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		it, err := objects.Parse("tools/rye/agent/providers/"+name+".yaml", raw)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse("rye/agent/providers/"+name, it.Meta.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, tier := range []string{"fast", "general", "high", "max"} {
			m, err := p.Model(tier)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !m.Priced || m.Context == 0 || m.MaxOutput == 0 {
				t.Errorf("%s %s: %+v: want a price and bounds", name, tier, m)
			}
			for _, effort := range append(m.Efforts(), "") {
				if _, err := p.Encode(m, &Request{MaxOutput: 1000, Effort: effort, Messages: say("hello")}); err != nil {
					t.Errorf("%s %s %q: %v", name, tier, effort, err)
				}
			}
		}
	}
}

// TestExample: the example of the page is whole.
func TestExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("the page has no example")
	}
	it, err := objects.Parse("tools/acme/models/house.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("acme/models/house", it.Meta.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"general", "house-large", "large", "anything/else"} {
		if _, err := p.Model(name); err != nil {
			t.Error(err)
		}
	}
	if got := p.Fallback(Overloaded); len(got) != 1 || got[0] != "small" {
		t.Errorf("Fallback(overloaded) = %v", got)
	}
}

// TestParseRefuses: what is not understood is refused, and the error names the field.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown group", "request:", "cashing: {}\nrequest:", `cashing: unknown field; is it "caching"?`},
		{"unknown field", "path: /v1/messages", "path: /v1/messages\n  patch: x", "endpoint.patch: unknown field"},
		{"no encoder", "encoder: anthropic-messages", "max_tokens: x", "request.encoder"},
		{"another encoder", "encoder: anthropic-messages", "encoder: gemini", `request.encoder: "gemini", want one of`},
		{"http", "https://models.example", "http://models.example", "endpoint.base_url: http to models.example"},
		{"a user in the address", "https://models", "https://a:b@models", "endpoint.base_url: want an address without user"},
		{"a query in the path", "/v1/messages", "/v1/messages?x=1", "endpoint.path"},
		{"ftp", "https://models", "ftp://models", "endpoint.base_url: scheme"},
		{"no secret", ", secret: KEY", "", "endpoint.auth.secret"},
		{"secret with a path", "secret: KEY", "secret: ../KEY", "endpoint.auth.secret"},
		{"auth header of the exchange", "name: x-api-key", "name: Host", "endpoint.auth.name"},
		{"header of the exchange", "anthropic-version:", "content-length:", "endpoint.headers.content-length"},
		{"header with a line", `"2023-06-01"`, `"a\nb"`, "endpoint.headers.anthropic-version: a control character"},
		{"timeout", "idle: 20", "idle: -1", "endpoint.timeouts.idle: -1, want"},
		{"timeout text", "idle: 20", "idle: soon", "endpoint.timeouts.idle: want a number"},
		{"too many breakpoints", "last: 2", "last: 3", "caching.last: 5 breakpoints, at most 4"},
		{"no breakpoints", "at: [tools, system], last: 2", "ttl: 1h", "caching.at"},
		{"ttl", "last: 2", "last: 2, ttl: 2h", `caching.ttl: "2h"`},
		{"echo of text", "redacted_thinking", "text", "echo.fields"},
		{"finish", "echo:", "finish: {done: over}\necho:", `finish.done: "over", want one of`},
		{"no usage", "  input: input_tokens\n", "", "usage.input"},
		{"relation", "{cache_write_long: within}", "{cache_write_long: beside}", "usage.relations.cache_write_long"},
		{"class", "class: tool_pairing", "class: oops", "errors.rules.1.class"},
		{"condition", "op: contains", "op: sounds_like", "errors.rules.0.when"},
		{"no condition", `, when: {path: message, op: contains, value: too long}`, "", "errors.rules.0.when"},
		{"form", "form: seconds", "form: weeks", "errors.after.1.form"},
		{"two places", "header: retry-after,", "header: retry-after, path: x,", "errors.after.1.header"},
		{"price as a number", `output: "15"`, "output: 15", "models.0.prices.output: want a text"},
		{"price", `output: "15"`, `output: "1e3"`, "models.0.prices.output"},
		{"negative price", `output: "15"`, `output: "-1"`, "models.0.prices.output"},
		{"price too exact", `output: "15"`, `output: "0.1234567890"`, "models.0.prices.output"},
		{"no output price", `, output: "15"`, "", "models.0.prices.output"},
		{"no price at all", "    prices:", "    other:", "unknown field"},
		{"alias twice", "aliases: [one]", "aliases: [m-1]", `models.0.id: "m-1" is listed twice`},
		{"tool name", "tiers: [general]", "tool_name: '('", "models.0.tool_name"},
		{"forbid", "tiers: [general]", "forbid: [sleep]", "models.0.forbid"},
		{"effort of the encoder's", "thinking: {type", "messages: {type", "models.0.efforts.high.messages"},
		{"max_output", "max_output: 4096", "max_output: 1.5", "models.0.max_output: 1.5, want a whole number"},
		{"fallback class", "models:", "fallback: {oops: [m-1]}\nmodels:", "fallback.oops"},
		{"fallback for a key that is refused", "models:", "fallback: {auth: [m-1]}\nmodels:", "fallback.auth"},
		{"fallback for what was ended", "models:", "fallback: {cancelled: [m-1]}\nmodels:", "fallback.cancelled"},
		{"fallback without end", "models:", "fallback: {overloaded: [m-1, m-1, m-1, m-1, m-1, m-1, m-1, m-1, m-1]}\nmodels:", "fallback.overloaded"},
		{"fallback model", "models:", "fallback: {overloaded: [m-9]}\nmodels:", "fallback.overloaded"},
		{"retry", "models:", "retry: {base: 10, max: 1}\nmodels:", "retry.max"},
		{"list for a mapping", "echo: {blocks: [thinking, redacted_thinking]}", "echo: [thinking]", "echo: want a mapping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(anthropicItem, c.old) {
				t.Fatalf("the item has no %q", c.old)
			}
			_, err := Parse("test/p", item(t, strings.Replace(anthropicItem, c.old, c.new, 1)))
			if !fault.Is(err, fault.Malformed) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want malformed, %q", err, c.want)
			}
		})
	}
}

func TestNoPriceAtAll(t *testing.T) {
	head, _, _ := strings.Cut(anthropicItem, "    prices:")
	if _, err := Parse("test/p", item(t, head)); err == nil || !strings.Contains(err.Error(), "worst: a model has no known price") {
		t.Errorf("got %v", err)
	}
	p, m := parsed(t, head+`worst: {input: "7", output: "70"}`)
	if got, _ := p.Worst(m, 0, 1); got != 70+7*overhead {
		t.Errorf("Worst = %d", got)
	}
}

func TestModels(t *testing.T) {
	p, err := Parse("p", item(t, strings.Replace(anthropicItem, "models:\n", "others: {max_output: 9}\nmodels:\n  - {id: m-2, tiers: [fast, general], prices: {input: '1', output: '2'}}\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"m-1": "m-1", "one": "m-1", "general": "m-2", "fast": "m-2", "new/model:7": "new/model:7"} {
		if m, err := p.Model(name); err != nil || m.ID != want {
			t.Errorf("Model(%q) = %v, %v, want %s", name, m, err, want)
		}
	}
	for _, name := range []string{"", " ", "a b", "../x\n", strings.Repeat("x", 200)} {
		if _, err := p.Model(name); !fault.Is(err, fault.NotFound) {
			t.Errorf("Model(%q): %v, want not found", name, err)
		}
	}
	p, _ = parsed(t, anthropicItem)
	_, err = p.Model("m-9")
	if !fault.Is(err, fault.NotFound) || !strings.Contains(fault.HintOf(err).String(), "general") {
		t.Errorf("Model(m-9): %v (%s)", err, fault.HintOf(err))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(anthropicItem)
	f.Add(openaiItem)
	f.Add("models: [{id: a}]")
	f.Fuzz(func(t *testing.T, text string) {
		var doc map[string]any
		if objects.DecodeYAML([]byte(text), 1<<16, &doc) != nil {
			return
		}
		before := maps.Clone(doc)
		p, err := Parse("fuzz/p", doc)
		if err != nil {
			if !fault.Is(err, fault.Malformed) || !strings.HasPrefix(err.Error(), "provider fuzz/p: ") {
				t.Fatalf("error %v", err)
			}
			return
		}
		if len(before) != len(doc) {
			t.Fatal("Parse changed what it read")
		}
		// what was accepted works
		for i := range p.Models {
			m := &p.Models[i]
			if cost, tokens := p.Worst(m, 100, 100); cost < 0 || tokens < 0 {
				t.Fatalf("Worst = %d, %d", cost, tokens)
			}
			if _, err := p.Encode(m, &Request{MaxOutput: 10, Messages: say("x")}); err != nil {
				t.Fatalf("Encode: %v", err)
			}
		}
	})
}

func say(text string) []Message { return []Message{{User, []Part{{Text: text}}}} }
