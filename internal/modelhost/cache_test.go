package modelhost

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider/script"
)

// cached asks and returns what the answer says of the prompt's tokens.
func cached(t *testing.T, v *Server, format, body string) (u rye.Usage) {
	t.Helper()
	r := post(t, v, format, body)
	var doc struct {
		Usage struct {
			Input int64 `json:"input_tokens"`
			Read  int64 `json:"cache_read_input_tokens"`
			Kept  struct {
				Five int64 `json:"ephemeral_5m_input_tokens"`
				Hour int64 `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
			Output  int64 `json:"output_tokens"`
			Prompt  int64 `json:"prompt_tokens"`
			Details struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Completion int64 `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil || r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	n := doc.Usage
	return rye.Usage{Input: n.Input + n.Prompt - n.Details.Cached, CacheRead: n.Read + n.Details.Cached, CacheWrite: n.Kept.Five, CacheLong: n.Kept.Hour, Output: n.Output + n.Completion}
}

// TestCacheAnthropic: what a breakpoint kept is read again by a prompt that begins the same.
func TestCacheAnthropic(t *testing.T) {
	v := serve(t, `{cache: true, turns: [{when: {format: anthropic}, say: x, usage: {output: 7}}]}`)
	text := func(s, mark string) string {
		if mark != "" {
			mark = `,"cache_control":{"type":"ephemeral","ttl":"` + mark + `"}`
		}
		return `{"type":"text","text":"` + strings.Repeat(s, 400) + `"` + mark + `}`
	}
	body := func(system string, messages ...string) string {
		return `{"model":"m","max_tokens":9,"system":[` + system + `],"messages":[` + strings.Join(messages, ",") + `]}`
	}
	user := func(blocks ...string) string {
		return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
	}
	said := `{"role":"assistant","content":"x"}`

	first := cached(t, v, script.Anthropic, body(text("s", "1h"), user(text("a", "5m"))))
	if first.CacheRead != 0 || first.CacheLong < 100 || first.CacheLong > 120 || first.CacheWrite < 100 || first.CacheWrite > 120 || first.Input != 0 || first.Output != 7 {
		t.Errorf("the first: %+v", first)
	}
	// The next turn moves its mark to the end; what was kept is read, the rest kept.
	second := cached(t, v, script.Anthropic, body(text("s", "1h"), user(text("a", "")), said, user(text("b", "5m"))))
	if second.CacheRead != first.CacheLong+first.CacheWrite || second.CacheWrite < 100 || second.CacheWrite > 130 || second.CacheLong != 0 || second.Input != 0 {
		t.Errorf("the second: %+v after %+v", second, first)
	}
	third := cached(t, v, script.Anthropic, body(text("s", ""), user(text("a", "")), said, user(text("b", ""))))
	if third.CacheRead != 0 || third.Input != second.CacheRead+second.CacheWrite {
		t.Errorf("without marks: %+v", third)
	}
	changed := cached(t, v, script.Anthropic, body(text("s", "1h"), user(text("A", "")), said, user(text("b", "5m"))))
	if changed.CacheRead != first.CacheLong {
		t.Errorf("changed behind the system text: %+v", changed)
	}
	if other := cached(t, v, script.Anthropic, strings.Replace(body(text("s", "1h"), user(text("a", "5m"))), `"m"`, `"n"`, 1)); other.CacheRead != 0 {
		t.Errorf("another model: %+v", other)
	}
	far := make([]string, 0, 24)
	for range 22 {
		far = append(far, text("z", ""))
	}
	if got := cached(t, v, script.Anthropic, body(text("s", ""), user(append(far, text("b", "5m"))...))); got.CacheRead != 0 {
		t.Errorf("kept more than 20 pieces before the mark: %+v", got)
	}
}

// TestCacheOpenAI: what was seen from the beginning on is read again, without a wish.
func TestCacheOpenAI(t *testing.T) {
	v := serve(t, `{cache: true, turns: [{say: x}, {say: y}]}`)
	a := ask{system: strings.Repeat("s", 400), prompt: strings.Repeat("a", 400)}
	first := cached(t, v, script.OpenAI, a.body(script.OpenAI))
	if first.CacheRead != 0 || first.Input < 200 {
		t.Errorf("the first: %+v", first)
	}
	a.turns = []turn{{text: "x"}}
	second := cached(t, v, script.OpenAI, a.body(script.OpenAI))
	if second.CacheRead != first.Input || second.Input == 0 {
		t.Errorf("the second: %+v after %+v", second, first)
	}
	a.system = "S" + a.system
	if got := cached(t, v, script.OpenAI, a.body(script.OpenAI)); got.CacheRead >= 100 {
		t.Errorf("another system text: %+v", got)
	}
}

// TestUsage: without figures in the script, tokens are bytes by four.
func TestUsage(t *testing.T) {
	v := serve(t, `turns: [{say: "${prompt}"}]`)
	both(t, func(t *testing.T, format string) {
		few := cached(t, v, format, ask{prompt: strings.Repeat("a", 40)}.body(format))
		more := cached(t, v, format, ask{prompt: strings.Repeat("a", 440)}.body(format))
		if few.Output != 10 || more.Output != 110 || more.Input-few.Input != 100 {
			t.Errorf("%+v and %+v", few, more)
		}
	})
}
