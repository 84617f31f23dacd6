package thread

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/agent/provider"
	"github.com/rye-os/rye/objects"
)

// tariff says what calls of a thread may cost, and what they cost. Anybody can sign a provider
// item for a project, and say in it what a model costs: nothing, for example, for which no
// limit of money would stop anything. So where the library knows the host, too, the larger of
// both counts. Only its user may know better.
type tariff struct {
	item  *provider.Provider
	floor []*provider.Provider // the library's, for the same host
}

// libraryCaller finds the providers of the library.
var libraryCaller = rye.Program("recorder", "rye.load.tool.*", "rye.search.tool.*")

// libraryProviders is where the library's providers are.
const libraryProviders = "tool.rye.agent.providers.*"

func tariffOf(ctx context.Context, verbs rye.Verbs, p *part, src *source) (tariff, error) {
	t := tariff{item: src.Provider}
	if src.script != nil || p.in != objects.Project.String() {
		return t, nil
	}
	found, err := verbs.Search(ctx, libraryCaller, rye.SearchRequest{Space: objects.System.String(), Scope: libraryProviders, Limit: 100})
	if err != nil {
		return t, err
	}
	for _, hit := range found.Results {
		ref, err := objects.ParseRef(hit.Ref)
		if err != nil {
			return t, err
		}
		known, err := loadPartIn(ctx, verbs, ref, "provider", objects.System.String())
		if err != nil {
			return t, err
		}
		lib, err := readProvider(known)
		if err != nil {
			return t, err
		}
		if lib.script == nil && lib.SameHost(t.item) {
			t.floor = append(t.floor, lib.Provider)
		}
	}
	return t, nil
}

// worst is what a call may cost and use at most.
func (t tariff) worst(m *provider.Model, promptBytes, maxOutput int64) ledger.Amount {
	money, tokens := t.item.Worst(m, promptBytes, maxOutput)
	for _, lib := range t.floor {
		least, n := lib.WorstOf(m.ID, promptBytes, maxOutput)
		money, tokens = max(money, least), max(tokens, n)
	}
	return ledger.Amount{Money: min(money, ledger.Most), Tokens: min(tokens, ledger.Most)}
}

// cost is what an answer cost; false where nobody knows.
func (t tariff) cost(m *provider.Model, r *provider.Response) (rye.Micros, bool) {
	cost, known := r.Cost, r.CostKnown
	for _, lib := range t.floor {
		if !t.item.CountsLike(lib) { // its count may leave out anything
			return cost, false
		}
		cost = max(cost, lib.CostOf(m.ID, r.Usage))
	}
	return cost, known
}

// Slack beyond what a call can cost before a bill is taken for one: prices and counts differ
// a little from what an item says of them.
const (
	slackMoney  = 1_000_000 // micro-dollars
	slackTokens = 10_000
)

// plausible is the most that a call is charged: a token for each byte that was sent, and four
// times the answer that was asked for. A host that bills a thousand times that would else take
// the whole month of all threads at once.
func (t tariff) plausible(m *provider.Model, promptBytes, maxOutput int64) ledger.Amount {
	const perToken = 16 // the most bytes of a token that an item can state
	promptBytes, maxOutput = min(promptBytes, ledger.Most/perToken), min(maxOutput, ledger.Most/4)
	most := t.worst(m, perToken*promptBytes, 4*maxOutput)
	return ledger.Amount{Money: min(most.Money+slackMoney, ledger.Most), Tokens: min(promptBytes+4*maxOutput+slackTokens, ledger.Most)}
}
