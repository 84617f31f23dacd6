package provider

import (
	"slices"
	"strings"

	"github.com/rye-os/rye"
)

// SameHost reports whether both providers send to one host.
func (p *Provider) SameHost(q *Provider) bool { return strings.EqualFold(p.Host(), q.Host()) }

// CountsLike reports whether both providers read usage from the same paths in the same way. With
// other paths, a provider could report any usage for the same answer.
func (p *Provider) CountsLike(q *Provider) bool {
	return p.usage == q.usage && p.request.encoder == q.request.encoder
}

// WorstOf is Worst for the model with that name; for an unknown name it returns the highest amounts
// of all models.
func (p *Provider) WorstOf(model string, promptBytes, maxOutput int64) (most rye.Micros, tokens int64) {
	for _, m := range p.called(model) {
		money, n := p.Worst(m, promptBytes, maxOutput)
		most, tokens = max(most, money), max(tokens, n)
	}
	return most, tokens
}

// CostOf is Cost in the same way. Without any price it returns 0.
func (p *Provider) CostOf(model string, u rye.Usage) (most rye.Micros) {
	for _, m := range p.called(model) {
		if cost, ok := p.Cost(m, u); ok {
			most = max(most, cost)
		}
	}
	return most
}

// called returns the model with that id or alias, or all models if there is none. A tier is not a
// name here.
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
