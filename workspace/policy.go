package workspace

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/workspace/internal/questions"
	"github.com/rye-os/rye/workspace/internal/run"
)

// Policy are the verbs about permission to run, and to use unsigned things.
type Policy struct{ *rooms }

// Policy returns the verbs about permission to run, and to use unsigned things.
func (w *Workspace) Policy() Policy { return Policy{&w.rooms} }

// Allow remembers that the user allows one tool in this project. The approval is for its
// present plan, with these parameters or with any, up to the tier of that run.
func (g Policy) Allow(ctx context.Context, c rye.Caller, q rye.AllowRequest) (*rye.ApprovalInfo, error) {
	return do(ctx, c, "policy.allow", g.working(g.enter), run.Allow, q)
}

// List returns the remembered approvals, from here and from other directories.
func (g Policy) List(ctx context.Context, c rye.Caller) ([]rye.ApprovalInfo, error) {
	s, err := g.enter(c, "policy.list")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return run.Approvals(g.desk(s))
}

// Forget takes back the approvals of one tool, in this project or everywhere.
func (g Policy) Forget(ctx context.Context, c rye.Caller, q rye.ForgetRequest) ([]rye.ApprovalInfo, error) {
	return do(ctx, c, "policy.forget", g.working(g.enter), run.Forget, q)
}

// Questions returns the user's questions that wait for an answer, or for the action that was
// answered, in any project.
func (g Policy) Questions(ctx context.Context, c rye.Caller) ([]rye.OpenQuestion, error) {
	if err := g.host.Permit(c, "policy.questions"); err != nil {
		return nil, err
	}
	return questions.List(g.host)
}

// Answer answers one of them. A yes needs a person who reads the whole question.
func (g Policy) Answer(ctx context.Context, c rye.Caller, q rye.AnswerRequest) (*rye.OpenQuestion, error) {
	if err := g.host.Permit(c, "policy.answer"); err != nil {
		return nil, err
	}
	return questions.Answer(ctx, g.host, c, q)
}

// Explain shows the policy's decision about running an item without parameters, for the
// person at the terminal and for an MCP client.
func (g Policy) Explain(ctx context.Context, c rye.Caller, q rye.ItemRequest) (*rye.PolicyReport, error) {
	return do(ctx, c, "policy.explain", g.working(g.enter), run.Explain, q)
}

// Project describes the project's policy, and whether it is the one that was accepted here.
func (g Policy) Project(ctx context.Context, c rye.Caller) (*rye.ProjectPolicy, error) {
	return do(ctx, c, "policy.explain", g.enter, run.ProjectPolicy, struct{}{})
}

// Accept remembers a policy of the project as the one to compare later ones with. One that allows more than the
// accepted one needs a person. The description is returned beside an error when the file here still allows more.
func (g Policy) Accept(ctx context.Context, c rye.Caller, q rye.AcceptPolicyRequest) (*rye.ProjectPolicy, error) {
	return do(ctx, c, "policy.accept", g.working(g.enter), run.AcceptPolicy, q)
}

// Consent remembers that the user lets a tool use .env files, the project's interpreter or
// environment variables. This is for the tool's present bytes and the present content of
// those things. With Forget it takes the consent back.
func (g Policy) Consent(ctx context.Context, c rye.Caller, q rye.PolicyConsentRequest) ([]rye.ConsentReport, error) {
	return do(ctx, c, "policy.consent", g.working(g.enter), run.Consent, q)
}

// Elicitation adds an MCP client to the list of clients that show questions to a person, or
// removes it. An addition needs the word of a person at the terminal.
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
