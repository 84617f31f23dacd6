package provider

import (
	"slices"
	"strings"

	"github.com/rye-os/rye"
)

// SameHost reports whether both send to one host.
func (p *Provider) SameHost(q *Provider) bool { return strings.EqualFold(p.Host(), q.Host()) }

// CountsLike reports whether both read what was used from the same places in the same way.
// What counts otherwise can make anything of an answer.
func (p *Provider) CountsLike(q *Provider) bool {
	return p.usage == q.usage && p.request.encoder == q.request.encoder
}

// WorstOf is Worst for a model that the provider calls so; for one that it does not know, as
// of its dearest.
func (p *Provider) WorstOf(model string, promptBytes, maxOutput int64) (most rye.Micros, tokens int64) {
	for _, m := range p.called(model) {
		money, n := p.Worst(m, promptBytes, maxOutput)
		most, tokens = max(most, money), max(tokens, n)
	}
	return most, tokens
}

// CostOf is Cost in the same way. Without any price it is 0.
func (p *Provider) CostOf(model string, u rye.Usage) (most rye.Micros) {
	for _, m := range p.called(model) {
		if cost, ok := p.Cost(m, u); ok {
			most = max(most, cost)
		}
	}
	return most
}

// called lists the model of a name, and all where there is none: a tier is no name here.
func (p *Provider) called(name string) (all []*Model) {
	for i := range p.Models {
		if m := &p.Models[i]; m.ID == name || slices.Contains(m.Aliases, name) {
			return []*Model{m}
		}
		all = append(all, &p.Models[i])
	}
	if p.others != nil {
		all = append(all, p.others)
	}
	return all
}
