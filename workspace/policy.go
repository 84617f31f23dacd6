package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/questions"
	"github.com/rye-os/rye/workspace/internal/run"
)

// Policy are the verbs that are about what may run, and what it may use.
type Policy struct{ *rooms }

// Policy returns the verbs that are about what may run, and what it may use.
func (w *Workspace) Policy() Policy { return Policy{&w.rooms} }

// Allow remembers that the user allows one tool in this project: its plan as it is now, with
// these parameters or with any, up to the tier that running it has.
func (g Policy) Allow(ctx context.Context, c rye.Caller, q rye.AllowRequest) (*rye.ApprovalInfo, error) {
	return do(ctx, c, "policy.allow", g.working(g.enter), run.Allow, q)
}

// List returns what the policy remembers to be allowed, here and in other directories.
func (g Policy) List(ctx context.Context, c rye.Caller) ([]rye.ApprovalInfo, error) {
	s, err := g.enter(c, "policy.list")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return run.Approvals(g.desk(s))
}

// Forget takes back what is allowed of one tool, in this project or everywhere.
func (g Policy) Forget(ctx context.Context, c rye.Caller, q rye.ForgetRequest) ([]rye.ApprovalInfo, error) {
	return do(ctx, c, "policy.forget", g.working(g.enter), run.Forget, q)
}

// Questions returns every question of this user that waits for an answer, or for what the
// answer was about, whichever project it is about.
func (g Policy) Questions(ctx context.Context, c rye.Caller) ([]rye.OpenQuestion, error) {
	if err := g.host.Permit(c, "policy.questions"); err != nil {
		return nil, err
	}
	return questions.List(g.host)
}

// Answer answers one of them. Yes takes a person who looks at all of it.
func (g Policy) Answer(ctx context.Context, c rye.Caller, q rye.AnswerRequest) (*rye.OpenQuestion, error) {
	if err := g.host.Permit(c, "policy.answer"); err != nil {
		return nil, err
	}
	return questions.Answer(ctx, g.host, c, q)
}

// Explain says what the policy makes of running an item without parameters, for the
// person at the terminal and for an MCP client.
func (g Policy) Explain(ctx context.Context, c rye.Caller, q rye.ItemRequest) (*rye.PolicyReport, error) {
	return do(ctx, c, "policy.explain", g.working(g.enter), run.Explain, q)
}

// Consent remembers, or with Forget takes back, that the user lets a tool use the .env
// files, the project's interpreter or the variables of the environment that it would
// use now, as its bytes and theirs are now.
func (g Policy) Consent(ctx context.Context, c rye.Caller, q rye.PolicyConsentRequest) ([]rye.ConsentReport, error) {
	return do(ctx, c, "policy.consent", g.working(g.enter), run.Consent, q)
}

// Elicitation lists an MCP client as one that shows questions to a person, when a person at
// the terminal says that it does, or takes it off that list.
func (g Policy) Elicitation(ctx context.Context, c rye.Caller, q rye.ElicitationRequest) (*rye.ElicitationReport, error) {
	return do(ctx, c, "policy.elicitation", g.working(g.enter), run.Elicitation, q)
}

// Log returns the last verdicts about executions on this machine, oldest first.
func (g Policy) Log(ctx context.Context, c rye.Caller, q rye.PolicyLogRequest) ([]rye.Verdict, error) {
	if err := g.host.Permit(c, "policy.log"); err != nil {
		return nil, err
	}
	return g.host.PolicyLog(ctx, q.Limit)
}
