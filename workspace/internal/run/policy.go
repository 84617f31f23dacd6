package run

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/rye-os/rye/objects"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/session"
)

// judge asks the policy about a planned run, and returns the decision and the request.
func (j *job) judge(s *custody.Desk) (policy.Decision, policy.Request, error) {
	it := j.plan.Tool()
	rules, err := s.Rules()
	if err != nil {
		return policy.Decision{}, policy.Request{}, err
	}
	q := session.RequestFor(j.caller, "execute", it.Ref)
	q.Digest = it.Sum
	kind := j.plan.Primitive()
	runs := kind == chain.Subprocess || j.plan.Shell() != ""
	if j.plan.Starts() { // such a builtin is a process like any other
		kind = chain.Subprocess
	}
	q.Floor = policy.Floor(string(kind), demanded().String())
	if f, ok := j.plan.Served(); ok {
		q.Floor = max(q.Floor, command.Tier(f.Tier))
	}
	if q.Declared, err = declared(j.plan); err != nil {
		return policy.Decision{}, q, err
	}
	needs := reached(j.plan, kind)
	if open, err := loose(s, j.plan); err != nil {
		return policy.Decision{}, q, err
	} else if open != nil {
		needs.Net = append(slices.Clip(needs.Net), anyHost)
	}
	q.Reach, q.Reaches = policy.Reach(needs, filepath.ToSlash(s.ProjectDir))
	if runs {
		q.Findings = command.Analyse(j.plan.Script(), commandsIn(it, j.params.Values), rules.Patterns)
	}
	if !q.Person && kind != chain.HTTP {
		q.Findings = append(q.Findings, command.Secrets(j.params.Values, j.plan.Shell())...)
	}
	if !q.Person && runs {
		q.Findings = append(q.Findings, command.Unread(commandsIn(it, j.params.Values))...)
	}
	d := rules.Decide(q)
	if d.Verdict != policy.Ask || len(rules.Allowed) == 0 {
		return d, q, nil
	}
	// Only now: the identity of a project's interpreter needs a read of all its files. Without
	// an interpreter there is nothing to compare, and running reports that.
	if now, _, err := subjectOf(s, j.plan, j.params); err == nil {
		q.Now = policy.Subject(now)
		d = rules.Decide(q)
	}
	return d, q, nil
}

// declared is the highest tier that an item of the chain declares.
func declared(plan *chain.Plan) (most command.Tier, err error) {
	for _, l := range plan.Links {
		it := l.Verified.Item()
		t, _, err := policy.Declared(it.Meta.Fields)
		if err != nil {
			return 0, fault.New(fault.Malformed, "%s: %w", it.Ref, err)
		}
		most = max(most, t)
	}
	return most, nil
}

// reached are the needs of a chain that count for its tier. Where rye itself makes the request,
// each host needs its own consent (see hosts.go), and addresses of this machine are refused.
func reached(plan *chain.Plan, kind objects.ID) objects.Needs {
	n := plan.Needs()
	if kind == chain.HTTP {
		n.Net = nil
	}
	return n
}

// decide asks the policy, and the user where the policy requires it. A dry run asks the same
// and leaves no record.
func (j *job) decide(ctx context.Context, s *custody.Desk) (*rye.Verdict, error) {
	d, q, err := j.judge(s)
	if err != nil {
		return nil, err
	}
	asks := d.Verdict == policy.Ask
	if asks {
		err = j.askRun(ctx, s, d)
	} else {
		err = d.Err(q)
	}
	return s.RecordVerdict(q, d, asks, err, !j.q.DryRun), err
}

// askRun asks whether to run. The question shows the hosts without an agreement.
func (j *job) askRun(ctx context.Context, s *custody.Desk, d policy.Decision) error {
	open, err := loose(s, j.plan)
	if err != nil {
		return err
	}
	w, err := j.waysOf(s)
	if err != nil {
		return err
	}
	q := j.questionOf(d)
	q.Lines = append(q.Lines, w.lines(j)...)
	if limit := limitLine(open); limit != "" {
		q.Lines = append(q.Lines, limit)
	}
	return j.ask(ctx, s, q)
}

// questionOf is the user's question before a run. The reason names every finding with its
// text; separate lines would repeat them.
func (j *job) questionOf(d policy.Decision) rye.Question {
	return rye.Question{Text: "Run it?", Lines: []string{"tier         " + d.Reason}, Mend: fault.Advice("%s, or --yes", standing(j.plan))}
}

// standing is the command that allows a tool for good. A tool that runs any given command is
// allowed for one command.
func standing(plan *chain.Plan) string {
	text := "rye policy allow " + plan.Tool().Ref.String()
	if shell := plan.Shell(); shell != "" {
		text += " -p " + shell + "=<the command>"
	}
	return text
}

// demanded is the sandbox of every run: the best on this machine. Limits that it cannot enforce
// are reported before the run, and in the result.
func demanded() primitive.Tier {
	if runtime.GOOS == "linux" {
		return max(primitive.S2, primitive.Best())
	}
	return primitive.Best()
}

// tier is the required sandbox of a run: the usual one, or a stronger one that the policy or an
// item of the chain demands.
func tier(s *custody.Desk, plan *chain.Plan) (primitive.Tier, error) {
	rules, err := s.Rules()
	if err != nil {
		return 0, err
	}
	least := demanded()
	for t := primitive.S0; t <= primitive.S3; t++ {
		if name := t.String(); name == rules.LeastTier || name == plan.Needs().Sandbox {
			least = max(least, t)
		}
	}
	return least, nil
}

// Explain shows the policy's decision about running an item without parameters, for the user at
// the terminal and for an MCP client.
func Explain(ctx context.Context, s *custody.Desk, q rye.ItemRequest) (*rye.PolicyReport, error) {
	if q.Ref.Kind != objects.Tool {
		return explainText(ctx, s, q.Ref)
	}
	plan, err := locks.Plan(ctx, s.Session, q.Ref)
	if err != nil {
		return nil, err
	}
	params, err := plan.Check(nil)
	if err != nil {
		params = chain.Params{} // it needs parameters, which a real run gets
	}
	rep, _, err := explain(s, plan, params)
	if err != nil {
		return nil, err
	}
	j := &job{plan: plan, q: rye.ExecuteRequest{Ref: q.Ref, DryRun: true}}
	refused := j.demands(s)
	if refused == nil {
		refused = j.admitted(ctx, s)
	}
	if refused == nil && j.q.Locked {
		_, refused = locks.Match(ctx, s.Session, plan, j.q)
	}
	return rep, withDemands(s, rep, refused)
}

// withDemands adds what the policy demands of items, and why it refuses this one.
func withDemands(s *custody.Desk, rep *rye.PolicyReport, refused error) error {
	rules, err := s.Rules()
	if err != nil {
		return err
	}
	rep.Demands = rules.Demands.Lines()
	if refused != nil {
		rep.Refused = refused.Error()
	}
	return nil
}

// explainText is Explain for items whose execution returns their text: the capability alone
// decides.
func explainText(ctx context.Context, s *custody.Desk, ref objects.Ref) (*rye.PolicyReport, error) {
	found, err := s.Stack.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	permit := func(c rye.Caller) policy.Decision { return rules.Permit(session.RequestFor(c, "execute", ref)) }
	d, mine := permit(rye.Client()), permit(rye.Terminal())
	rep := &rye.PolicyReport{Ref: ref.String(), SHA256: found.Verified.Item().Sum.String(), Verdict: mine.Verdict.String(), Client: d.Verdict.String(),
		Tier: d.Tier.String(), Rule: d.Rule, Reason: d.Reason + "; it returns its text"}
	_, refused := s.Acting(true)
	if refused == nil {
		refused = s.Admit(ctx, rules.Demands, session.UsedOf(found))
	}
	return rep, withDemands(s, rep, refused)
}

// explain returns the report, and the decision about an MCP client's call, which is the
// stricter one.
func explain(s *custody.Desk, plan *chain.Plan, params chain.Params) (*rye.PolicyReport, policy.Decision, error) {
	reach, err := (&job{plan: plan, params: params}).reachOf(s)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	d, _, err := (&job{caller: rye.Client(), plan: plan, params: params}).judge(s)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	mine, _, err := (&job{caller: rye.Terminal(), plan: plan, params: params}).judge(s)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	return &rye.PolicyReport{
		Ref: plan.Tool().Ref.String(), SHA256: plan.Tool().Sum.String(), Reach: reach,
		Verdict: mine.Verdict.String(), Client: d.Verdict.String(),
		Tier: d.Tier.String(), Rule: d.Rule, Reason: d.Reason,
	}, d, nil
}
