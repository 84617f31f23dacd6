package provider

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/fields"
	"github.com/rye-os/rye/internal/words"
)

// Model is one model of a provider. It does not change.
type Model struct {
	ID        string // the provider's name for it
	Aliases   []string
	Tiers     []string // fast, general, high, max, or an item's own
	Context   int64    // tokens of prompt and answer together; 0 when unknown
	MaxOutput int64    // tokens of one answer; 0 when unknown
	Supports  Supports
	Priced    bool   // its price is known
	Retires   string // a date, or ""

	prefill  bool
	forbid   []string
	toolName *regexp.Regexp
	efforts  map[string]members
	perToken int64 // the least number of bytes of a prompt that make a token
	prices   *prices
}

// Supports lists the abilities of a model.
type Supports struct{ Tools, Parallel, Streaming, Reasoning, Cache, Structured bool }

// Efforts returns the allowed values of Request.Effort, sorted.
func (m *Model) Efforts() []string { return sortedKeys(m.efforts) }

// Model finds a model by id or alias, or else the first with that tier. If the item has others, it
// accepts every valid name. Otherwise an unknown name is fault.NotFound. The Model belongs to the
// Provider.
func (p *Provider) Model(name string) (*Model, error) {
	for i := range p.Models {
		if m := &p.Models[i]; m.ID == name || slices.Contains(m.Aliases, name) {
			return m, nil
		}
	}
	for i := range p.Models {
		if slices.Contains(p.Models[i].Tiers, name) {
			return &p.Models[i], nil
		}
	}
	if p.others != nil && modelName.MatchString(name) {
		m := *p.others
		m.ID = name
		return &m, nil
	}
	return nil, fault.New(fault.NotFound, "provider %s has no model %q", p.ID, words.Brief(name)).
		Advise("it has the tiers %s and the models %s", listed(p.tiers()), listed(p.names()))
}

func listed(all []string) string {
	if len(all) == 0 {
		return "(none)"
	}
	return strings.Join(all, ", ")
}

func (p *Provider) tiers() (out []string) {
	for _, m := range p.Models {
		out = append(out, m.Tiers...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *Provider) names() (out []string) {
	for _, m := range p.Models {
		out = append(out, m.ID)
	}
	return out
}

// toolNames matches the names that both formats allow.
const toolNames = `^[a-zA-Z0-9_-]{1,64}$`

var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$`)

func (p *Provider) readModels(g *fields.Group) {
	seen := map[string]bool{}
	for _, sub := range g.Groups("models") {
		m := p.readModel(sub, true)
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if seen[name] {
				sub.Fail("id", "%q is listed twice", name)
			}
			seen[name] = true
		}
		p.Models = append(p.Models, m)
	}
	if g.Has("others") {
		m := p.readModel(g.Group("others"), false)
		p.others = &m
	} else if g.Get("others"); len(p.Models) == 0 {
		g.Fail("models", "want a model, or others")
	}
	if w := g.Group("worst"); g.Has("worst") {
		p.worst = &prices{bands: []band{readBand(w, 0)}}
		w.End()
	}
	p.checkPrices(g)
}

// checkPrices refuses an item in which the cost of a call has no bound.
func (p *Provider) checkPrices(g *fields.Group) {
	known, unknown := p.worst != nil, p.others != nil && p.others.prices == nil
	for _, m := range p.Models {
		known, unknown = known || m.prices != nil, unknown || m.prices == nil
	}
	if unknown && !known {
		g.Fail("worst", "a model has no known price: give the worst price (\"0\" for models that cost nothing)")
	}
}

func (p *Provider) readModel(g *fields.Group, named bool) Model {
	m := Model{
		Context:   g.Whole("context", 0, 1, 1e9),
		MaxOutput: g.Whole("max_output", 0, 1, 1e9),
		Retires:   g.Text("retires"),
		prefill:   g.Flag("prefill", false),
		forbid:    texts(g, "forbid"),
		toolName:  pattern(g, "tool_name", toolNames),
		perToken:  g.Whole("bytes_per_token", 2, 1, 16),
	}
	if named {
		m.ID, m.Aliases, m.Tiers = g.Text("id"), texts(g, "aliases"), texts(g, "tiers")
		for _, name := range append([]string{m.ID}, append(m.Aliases, m.Tiers...)...) {
			if !modelName.MatchString(name) {
				g.Fail("id", "%q is not a model's name", words.Brief(name))
			}
		}
	}
	for _, f := range m.forbid {
		if f != "temperature" {
			g.Fail("forbid", "%q, want temperature", words.Brief(f))
		}
	}
	s := g.Group("supports")
	m.Supports = Supports{s.Flag("tools", true), s.Flag("parallel", true), s.Flag("streaming", true), s.Flag("reasoning", false), s.Flag("cache", true), s.Flag("structured", false)}
	s.End()
	e := g.Group("efforts")
	m.efforts = map[string]members{}
	for _, word := range e.Names() {
		m.efforts[word] = membersOf(e, word)
		reserved(e, word, m.efforts[word], p)
		for _, x := range m.efforts[word] {
			if p.request.extra.has(x.name) || x.name == p.caching.key {
				e.Fail(word+"."+x.name, "the request has this member already")
			}
		}
	}
	if g.Has("prices") {
		m.prices = readPrices(g.Group("prices"))
		m.Priced = true
	} else {
		g.Get("prices")
	}
	g.End()
	return m
}
