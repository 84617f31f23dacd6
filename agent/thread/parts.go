package thread

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"path"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/agent/provider/script"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// The items that drive a thread: its provider and its loop. Both are verified as every item
// is, each time a process takes the thread up, and have to be those that it began with.

// part is such an item.
type part struct {
	ref  rye.Ref
	in   string // space
	sum  string
	raw  []byte
	item *objects.Item
}

// partCaller reads the items that drive a thread; the thread itself need not be allowed to.
var partCaller = rye.Program("recorder", "rye.load.tool.*")

func loadPart(ctx context.Context, verbs rye.Verbs, ref rye.Ref, kind string) (*part, error) {
	return loadPartIn(ctx, verbs, ref, kind, "")
}

// loadPartIn is loadPart from one space; "" is every space.
func loadPartIn(ctx context.Context, verbs rye.Verbs, ref rye.Ref, kind, space string) (*part, error) {
	res, err := verbs.Load(ctx, partCaller, rye.LoadRequest{Ref: ref, Space: space})
	if err != nil {
		return nil, err
	}
	it, err := objects.Parse("tools/"+string(ref.ID)+path.Ext(res.Path), []byte(res.Content))
	if err != nil {
		return nil, err
	}
	if it.Meta.ToolType != kind {
		return nil, fault.New(fault.Usage, "%s: its type is %q, want %s", ref, it.Meta.ToolType, kind)
	}
	return &part{ref: ref, in: res.Space, sum: res.SHA256, raw: []byte(res.Content), item: it}, nil
}

// scripted is the member of a provider item that makes it a model that answers from a script.
const scripted = "mock"

// scriptedGroups are the groups of a provider item (docs/format/provider.md) that a scripted
// one need not state. It is asked in Anthropic's format within this process, so nothing is ever
// sent to the address. Its prices are easily added up.
var scriptedGroups = map[string]any{
	"endpoint": map[string]any{"base_url": "http://127.0.0.1:1", "path": "/v1/messages",
		"headers": map[string]any{"anthropic-version": "2023-06-01"}},
	"request": map[string]any{"encoder": "anthropic-messages", "max_tokens": "max_tokens"},
	"stream":  map[string]any{"decoder": "anthropic-messages"},
	"finish": map[string]any{"end_turn": "end", "stop_sequence": "end", "tool_use": "calls", "max_tokens": "length",
		"refusal": "refusal", "pause_turn": "pause"},
	"usage": map[string]any{"input": "input_tokens", "cache_read": "cache_read_input_tokens", "cache_write": "cache_creation_input_tokens",
		"output": "output_tokens", "relations": map[string]any{"cache_read": "added", "cache_write": "added"}},
	"models": []any{map[string]any{"id": "scripted", "tiers": []any{"fast", "general", "high", "max"}, "context": 200000, "max_output": 8000,
		"supports": map[string]any{"tools": true, "parallel": true, "streaming": true},
		"prices":   map[string]any{"input": "1", "cache_read": "0.1", "cache_write": "1.25", "output": "5"}}},
	"retry": map[string]any{"attempts": 4, "base": 0.01, "max": 1, "elapsed": 5},
}

// source is a provider item that was read.
type source struct {
	*provider.Provider
	script *script.Script // nil for a real one
}

func readProvider(p *part) (*source, error) {
	doc := maps.Clone(p.item.Meta.Config)
	s := &source{}
	if v, ok := doc[scripted]; ok {
		delete(doc, scripted)
		var err error
		if s.script, err = script.Read(v); err != nil {
			return nil, fault.Wrap(err, "%s: %s", p.ref, scripted)
		}
		for name, v := range scriptedGroups {
			if _, stated := doc[name]; !stated {
				doc[name] = v
			}
		}
		if q, _ := doc["request"].(map[string]any); q["encoder"] != "anthropic-messages" {
			return nil, fault.New(fault.Malformed, "%s: request.encoder: a scripted model is asked in anthropic-messages only", p.ref)
		}
	}
	var err error
	s.Provider, err = provider.Parse(string(p.ref.ID), doc)
	return s, err
}

// openParts makes ready what the turns need, and returns the loop as it is today.
func (p *process) openParts(ctx context.Context, hand Handed) (*part, error) {
	prov, err := loadPart(ctx, p.o.Verbs, refOf(p.d.Provider), "provider")
	if err != nil {
		return nil, err
	}
	if err := p.pinned(prov.ref, prov.sum); err != nil {
		return nil, err
	}
	star, prog, err := p.made.loop(ctx, p.d.Loop)
	if err != nil {
		return nil, err
	}
	p.prog = prog
	if p.hooks, err = p.d.hooks(); err != nil {
		return nil, err
	}
	return star, p.openProvider(ctx, prov, hand)
}

// openProvider makes ready who is asked.
func (p *process) openProvider(ctx context.Context, prov *part, hand Handed) error {
	src, err := readProvider(prov)
	if err != nil {
		return err
	}
	p.prov = src.Provider
	if p.tariff, err = tariffOf(ctx, p.o.Verbs, prov, src); err != nil {
		return err
	}
	if p.model, err = p.prov.Model(p.d.Model); err != nil {
		return err
	}
	var secrets []string
	for _, v := range hand.Secrets {
		secrets = append(secrets, v)
	}
	p.black = newBlackener(secrets)
	p.ask = &provider.Client{HTTP: p.o.HTTP, Now: p.o.Now, Sleep: sleep, Rand: chance, Secret: func(_ context.Context, name, host string) (string, error) {
		if v, ok := hand.Secrets[name+"@"+host]; ok {
			return v, nil
		}
		return "", fault.New(fault.Auth, "there is no secret %s for %s", name, host).Advise("set it in the environment where the thread is started or resumed")
	}}
	if src.script != nil {
		p.ask.HTTP = &http.Client{Transport: script.New(src.script)}
		p.ask.Secret = func(context.Context, string, string) (string, error) { return "no-key-for-a-script", nil }
	}
	return nil
}

// pinnedLoop refuses another loop than the one that the thread began with, unless a person
// asked for the one of today. In the middle of a turn there is no other: what was recorded was
// said to the old one.
func (p *thread) pinnedLoop(star *part, today bool) error {
	err := p.pinned(star.ref, star.sum)
	switch {
	case err == nil:
		return nil
	case !today:
		return fault.New(fault.Drift, "%w", err).Mend("rye thread resume %s --loop", p.d.ID)
	case len(p.h.asks) > 0:
		return fault.New(fault.Conflict, "thread %s stopped in the middle of turn %d, which only its own loop can finish", p.d.ID, p.h.turn)
	}
	return nil
}

// mayReach refuses a provider that would send what a thread knows to a host which neither
// the library nor the user names: anybody can sign an item for a project.
func (s *starter) mayReach(p *part, src *source) error {
	if src.script != nil || p.in == objects.System.String() {
		return nil
	}
	return s.o.Host(src.Host())
}

// secretsFor collects what a thread's provider needs, where it is started or resumed.
func secretsFor(ctx context.Context, o *Options, src *source) (map[string]string, error) {
	if src.script != nil || src.Secret == "" {
		return nil, nil
	}
	host := src.Host()
	v, err := o.Secret(ctx, src.Secret, host)
	if err != nil {
		return nil, err
	}
	return map[string]string{src.Secret + "@" + host: v}, nil
}

// tierOf is the tier, or the model, that a thread wants: who starts it says, then its
// directive, then the configuration.
func tierOf(q rye.StartRequest, declared map[string]string, config map[string]any) string {
	if q.Model != "" {
		return q.Model
	}
	for _, name := range []string{"id", "name", "tier"} {
		if v := strings.TrimSpace(declared[name]); v != "" {
			return v
		}
	}
	if v, ok := config["tier"].(string); ok && v != "" {
		return v
	}
	return "general"
}

// providerOf is the same for the provider; "" for none.
func providerOf(q rye.StartRequest, declared map[string]string, config map[string]any, tier string) string {
	tiers, _ := config["tiers"].(map[string]any)
	ofTier, _ := tiers[tier].(string)
	standard, _ := config["provider"].(string)
	return cmp.Or(q.Provider, strings.TrimSpace(declared["provider"]), ofTier, standard)
}
