package thread

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye/agent/provider"
)

// askerOf asks models of an item that has these groups.
func askerOf(t *testing.T, groups map[string]any) *asker {
	t.Helper()
	doc := map[string]any{}
	for name, v := range scriptedGroups {
		doc[name] = v
	}
	for name, v := range groups {
		doc[name] = v
	}
	prov, err := provider.Parse("acme/models", doc)
	if err != nil {
		t.Fatal(err)
	}
	return &asker{thread: &thread{h: newHistory(t.TempDir())}, prov: prov}
}

func modelOf(id string, more ...any) map[string]any {
	m := map[string]any{"id": id, "prices": map[string]any{"input": "1", "output": "1"}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// The order in which models are asked, for each way in which one can fail. A word is the model,
// and then how it failed.
func TestWhoIsAskedInstead(t *testing.T) {
	over := &provider.Error{Class: provider.Overloaded, Status: 529, Sent: true}
	fails := map[string]*provider.Error{
		"overloaded": over,
		"slow":       {Class: provider.RateLimited, Status: 429, Sent: true, After: 20 * time.Second},
		"never":      {Class: provider.RateLimited, Status: 429, Sent: true, After: 2 * time.Hour},
		"silent":     {Class: provider.Timeout, Sent: true},
		"auth":       {Class: provider.Auth, Status: 401, Sent: true},
		"quota":      {Class: provider.Quota, Status: 402, Sent: true},
		"invalid":    {Class: provider.Invalid, Status: 400, Sent: true},
		"long":       {Class: provider.ContextOverflow, Status: 413, Sent: true},
	}
	for _, tc := range []struct {
		name     string
		fallback map[string]any
		how      []string // how one after the other fails; the last one again and again
		want     string   // who is asked
		class    string   // of the failure in the end
	}{
		{"no other", map[string]any{}, []string{"overloaded"}, "big big big", provider.Overloaded},
		{"its own attempts first", map[string]any{"overloaded": []any{"small"}}, []string{"overloaded"}, "big big big small", provider.Overloaded},
		{"of another class", map[string]any{"quota": []any{"small"}}, []string{"overloaded"}, "big big big", provider.Overloaded},
		{"one that waiting does not help", map[string]any{"quota": []any{"small"}}, []string{"quota"}, "big small", provider.Quota},
		{"a long wait comes after the others", map[string]any{"rate_limited": []any{"small", "tiny"}}, []string{"slow"}, "big small tiny big big", provider.RateLimited},
		{"a wait that is too long does not come", map[string]any{"rate_limited": []any{"small"}}, []string{"never"}, "big small", provider.RateLimited},
		{"one that fails for good is passed", map[string]any{"rate_limited": []any{"small", "tiny"}}, []string{"slow", "invalid", "quota", "slow"}, "big small tiny big big", provider.RateLimited},
		{"a refused key ends it", map[string]any{"rate_limited": []any{"small", "tiny"}}, []string{"slow", "auth"}, "big small", provider.Auth},
		{"two of which nobody knows the cost", map[string]any{"timeout": []any{"small", "tiny"}}, []string{"silent"}, "big big", provider.Timeout},
		{"itself, twice, and in circles", map[string]any{"overloaded": []any{"big", "house", "small", "small", "fast", "big"}}, []string{"overloaded"}, "big big big small", provider.Overloaded},
		{"what has no tools or too little room", map[string]any{"quota": []any{"mute", "narrow", "small"}}, []string{"quota"}, "big small", provider.Quota},
		{"too long for the first", map[string]any{"context_overflow": []any{"small", "vast"}}, []string{"long"}, "big vast", provider.ContextOverflow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := askerOf(t, map[string]any{"fallback": tc.fallback, "retry": map[string]any{"attempts": 3, "base": 0.001, "max": 60, "elapsed": 300},
				"models": []any{modelOf("big", "aliases", []any{"house"}, "context", 100_000), modelOf("small", "tiers", []any{"fast"}, "context", 50_000), modelOf("tiny", "context", 50_000),
					modelOf("mute", "supports", map[string]any{"tools": false}), modelOf("narrow", "context", 2000), modelOf("vast", "context", 1_000_000)}})
			big, err := p.prov.Model("big")
			if err != nil {
				t.Fatal(err)
			}
			q := &question{step: "1.2", model: big, req: &provider.Request{Model: "big", MaxOutput: 2000, Tools: []provider.Tool{{Name: "read"}},
				Messages: []provider.Message{{Role: provider.User, Parts: []provider.Part{{Text: "Hello."}}}}}}
			if err := p.begin(q); err != nil {
				t.Fatal(err)
			}
			var asked []string
			c := p.h.courses.of(q.step)
			var last *provider.Error
			for i := 0; ; i++ {
				asked = append(asked, q.model.ID)
				c.tries[q.model.ID]++
				last = fails[tc.how[min(i, len(tc.how)-1)]]
				next := p.follow(q, last)
				if next.model == nil || i > 20 {
					break
				}
				if next.model.ID != q.model.ID {
					c.turned(next.model.ID, last.Class, last.After)
				}
				if err := q.turnTo(p.prov, next.model); err != nil {
					t.Fatal(err)
				}
				if want := `"model":"` + q.model.ID + `"`; !strings.Contains(string(q.raw), want) || q.req.Model != q.model.ID {
					t.Errorf("the request does not say %s: %s", want, q.raw)
				}
			}
			if got := strings.Join(asked, " "); got != tc.want {
				t.Errorf("asked %s, want %s", got, tc.want)
			}
			if got := p.gaveUp(q, last).Class; got != tc.class {
				t.Errorf("it ends with %s, want %s", got, tc.class)
			}
		})
	}
}

// A project's item is not cheaper than the library's for a host by what it falls back to.
func TestFallbackIsNotCheaper(t *testing.T) {
	const anthropic = "rye/agent/providers/anthropic"
	honest := tariffIn(t, "system", anthropic, library(t)["system tool:"+anthropic])
	mine := tariffIn(t, "project", "acme/models", cheap(t, "overloaded: [general, fast]", "overloaded: [max, sonnet, haiku, made-up]", "models:", "others: {max_output: 4096, prices: {input: \"0\", output: \"0\"}}\n  models:"))
	chain := mine.item.Fallback(provider.Overloaded)
	if !slices.Contains(chain, "made-up") {
		t.Fatalf("the item falls back to %v", chain)
	}
	for _, name := range chain {
		m := mine.of(t, name)
		least := honest.worst(honest.of(t, "haiku"), 10_000, 1000)
		if known, err := honest.item.Model(m.ID); err == nil {
			least = honest.worst(known, 10_000, 1000)
		}
		if got := mine.worst(m, 10_000, 1000); got.Money < least.Money {
			t.Errorf("%s: %s is held, want at least %s", name, got.Money, least.Money)
		}
	}
}
