package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/run"
)

// Policy are the verbs that are about what may run, and what it may use.
type Policy struct{ *rooms }

// Policy returns the verbs that are about what may run, and what it may use.
func (w *Workspace) Policy() Policy { return Policy{&w.rooms} }

// Allow remembers that the user allows one item, as its bytes are now, up to the tier
// that running it has.
func (g Policy) Allow(ctx context.Context, c rye.Caller, q rye.ItemRequest) (*rye.PolicyReport, error) {
	return do(ctx, c, "policy.allow", in(g.enter, g.run), run.Allow, q)
}

// Explain says what the policy makes of running an item without parameters, for the
// person at the terminal and for an MCP client.
func (g Policy) Explain(ctx context.Context, c rye.Caller, q rye.ItemRequest) (*rye.PolicyReport, error) {
	return do(ctx, c, "policy.explain", in(g.enter, g.run), run.Explain, q)
}

// Consent remembers, or with Forget takes back, that the user lets a tool use the .env
// files, the project's interpreter or the variables of the environment that it would
// use now, as its bytes and theirs are now.
func (g Policy) Consent(ctx context.Context, c rye.Caller, q rye.PolicyConsentRequest) ([]rye.ConsentReport, error) {
	return do(ctx, c, "policy.consent", in(g.enter, g.run), run.Consent, q)
}

// Log returns the last verdicts about executions on this machine, oldest first.
func (g Policy) Log(ctx context.Context, c rye.Caller, q rye.PolicyLogRequest) ([]rye.Verdict, error) {
	if err := g.host.Permit(c, "policy.log"); err != nil {
		return nil, err
	}
	return g.host.PolicyLog(ctx, q.Limit)
}
