package thread

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// shelf has the library's providers, and those of others, by space and id.
type shelf struct {
	rye.Verbs
	items map[string]string
}

func (s shelf) Search(_ context.Context, _ rye.Caller, q rye.SearchRequest) (*rye.SearchResult, error) {
	r := &rye.SearchResult{}
	for name := range s.items {
		if in, ref, _ := strings.Cut(name, " "); in == q.Space {
			r.Results = append(r.Results, rye.Hit{ItemInfo: rye.ItemInfo{Ref: ref}})
		}
	}
	return r, nil
}

func (s shelf) Load(_ context.Context, _ rye.Caller, q rye.LoadRequest) (*rye.LoadResult, error) {
	for _, in := range []string{"project", "user", "system"} {
		if text, ok := s.items[in+" "+q.Ref.String()]; ok && (q.Space == "" || q.Space == in) {
			r := &rye.LoadResult{Content: text}
			r.Space, r.Path = in, "x.yaml"
			return r, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no %s", q.Ref)
}

// library is the system space of this source.
func library(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"anthropic", "openai"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "stdlib", "system", "tools", "rye", "agent", "providers", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		all["system tool:rye/agent/providers/"+name] = string(raw)
	}
	return all
}

// tariffIn reads the tariff of an item that lies in a space.
func tariffIn(t *testing.T, space, id, text string) tariff {
	t.Helper()
	verbs := shelf{items: maps.Clone(library(t))}
	verbs.items[space+" tool:"+id] = text
	ref, err := objects.ParseRef("tool:" + id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loadPart(t.Context(), verbs, ref, "provider")
	if err != nil {
		t.Fatal(err)
	}
	src, err := readProvider(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tariffOf(t.Context(), verbs, p, src)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// of finds a model of an item.
func (t tariff) of(test *testing.T, name string) *provider.Model {
	m, err := t.item.Model(name)
	if err != nil {
		test.Fatal(err)
	}
	return m
}

// cheap is the library's item as a project would alter it: all is free.
func cheap(t *testing.T, alter ...string) string {
	t.Helper()
	text := library(t)["system tool:rye/agent/providers/anthropic"]
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.Index(line, "prices: {"); at >= 0 {
			lines[i] = line[:at] + `prices: {input: "0", output: "0"}`
		}
	}
	text = strings.NewReplacer(alter...).Replace(strings.Join(lines, "\n"))
	return text
}

// TestPricesOfAProject: what a project says that a model of a host costs which the library
// knows counts only where it is more. Its user may know better.
func TestPricesOfAProject(t *testing.T) {
	const anthropic = "rye/agent/providers/anthropic"
	honest := tariffIn(t, "system", anthropic, library(t)["system tool:"+anthropic])
	usage := rye.Usage{Input: 1000, Output: 1000}
	answered := func(p tariff, m *provider.Model) *provider.Response {
		r := &provider.Response{Usage: usage}
		r.Cost, r.CostKnown = p.item.Cost(m, usage)
		return r
	}
	sonnet := honest.of(t, "claude-sonnet-5")
	worst := honest.worst(sonnet, 10_000, 1000)
	cost, _ := honest.cost(sonnet, answered(honest, sonnet))
	if worst.Money == 0 || cost == 0 {
		t.Fatalf("the library's own: worst %v, cost %v", worst, cost)
	}
	rows := []struct {
		name, space, id, text, model string
		free                         bool
		unknown                      bool
	}{
		{"shadowed, for nothing", "project", anthropic, cheap(t), "claude-sonnet-5", false, false},
		{"under another name", "project", "acme/cheap", cheap(t), "claude-sonnet-5", false, false},
		{"by an alias", "project", "acme/cheap", cheap(t, "id: claude-sonnet-5", "id: sonnet-of-ours", "aliases: [sonnet]", "aliases: [claude-sonnet-5]"), "claude-sonnet-5", false, false},
		{"a model that the library does not know", "project", "acme/cheap", cheap(t, "claude-sonnet-5", "claude-unheard-of"), "claude-unheard-of", false, false},
		{"a host in capitals", "project", "acme/cheap", cheap(t, "https://api.anthropic.com", "https://API.Anthropic.com:443"), "claude-sonnet-5", false, false},
		{"counted from elsewhere", "project", "acme/cheap", cheap(t, "input: input_tokens", "input: service_tokens"), "claude-sonnet-5", false, true},
		{"a context of one token", "project", "acme/cheap", cheap(t, "context: 1000000", "context: 1", "max_output: 128000", "max_output: 1000"), "claude-sonnet-5", false, false},
		{"the user's own", "user", anthropic, cheap(t), "claude-sonnet-5", true, false},
		{"a host that the library does not know", "project", "acme/cheap", cheap(t, "api.anthropic.com", "models.example.com"), "claude-sonnet-5", true, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := tariffIn(t, row.space, row.id, row.text)
			m := p.of(t, row.model)
			hold := p.worst(m, 10_000, 1000)
			got, known := p.cost(m, answered(p, m))
			t.Logf("%-40s held %v, cost %v, known %v", row.name, hold.Money, got, known)
			if row.free {
				if hold.Money != 0 || got != 0 {
					t.Errorf("held %v and cost %v, want nothing", hold.Money, got)
				}
				return
			}
			if hold.Money < worst.Money || hold.Tokens < worst.Tokens {
				t.Errorf("held %v, want %v", hold, worst)
			}
			if known == row.unknown || known && got < cost {
				t.Errorf("cost %v (known %v), want at least %v", got, known, cost)
			}
		})
	}
}

// TestBillsBeyondBelief: what is charged for a call is bounded by the call, whatever a host
// bills, and no sum leaves its range.
func TestBillsBeyondBelief(t *testing.T) {
	p := tariffIn(t, "system", "rye/agent/providers/anthropic", library(t)["system tool:rye/agent/providers/anthropic"])
	m := p.of(t, "claude-sonnet-5")
	most := p.plausible(m, 10_000, 1000)
	if most.Money > 2_000_000 || most.Tokens > 30_000 {
		t.Errorf("a call of 10,000 bytes is charged up to %v", most)
	}
	for _, bytes := range []int64{0, 1, 64 << 20, math.MaxInt64} {
		for _, out := range []int64{0, 1, 1 << 40, math.MaxInt64} {
			a, b := p.worst(m, bytes, out), p.plausible(m, bytes, out)
			if a.Money < 0 || a.Tokens < 0 || b.Money < a.Money || b.Tokens < 0 {
				t.Errorf("%d bytes, %d tokens: worst %v, plausible %v", bytes, out, a, b)
			}
		}
	}
}
