package run

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/command"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store/records"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/questions"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Allow remembers that the user allows one tool in this project, up to the tier of that run. The
// approval is for its present plan, with these parameters or with any.
func Allow(ctx context.Context, s *custody.Desk, q rye.AllowRequest) (*rye.ApprovalInfo, error) {
	plan, err := locks.Plan(ctx, s.Session, q.Ref)
	if err != nil {
		return nil, err
	}
	params, err := allowedParams(plan, q)
	if err != nil {
		return nil, err
	}
	subject, with, err := subjectOf(s, plan, params)
	if err != nil {
		return nil, err
	}
	if q.Any {
		if why := plan.Unsigned(with); len(why) > 0 {
			return nil, fault.New(fault.Denied, "allow %s with any parameters: %s, so this would allow any program", q.Ref, strings.Join(why, "; ")).
				Advise("%s", standingWith(plan))
		}
	}
	d, _, err := (&job{caller: rye.Client(), plan: plan, params: params}).judge(s)
	if err != nil {
		return nil, err
	}
	if d.Verdict == policy.Deny || d.Tier >= command.T4 {
		return nil, fault.New(fault.Denied, "allow %s: %s", q.Ref, d.Reason)
	}
	a := policy.Approval{Ref: plan.Tool().Ref, Plan: subject.Plan, In: subject.In, Any: q.Any, Tier: d.Tier}
	if !q.Any {
		a.Params = subject.Params
	}
	err = rewritePolicy(ctx, s, func(old []byte) ([]byte, error) { return policy.Remember(old, a) })
	rep := approvalInfo(s, a)
	rep.Uncovered = uncovered(plan, with, q.Any)
	return &rep, err
}

// allowedParams are the parameters for an approval. For an approval of any parameters there
// are none, and the tier is judged without them.
func allowedParams(plan *chain.Plan, q rye.AllowRequest) (chain.Params, error) {
	if q.Any {
		if len(q.Params) > 0 {
			return chain.Params{}, fault.New(fault.Usage, "allow %s: --any excludes -p and --params", q.Ref).Advise("leave out one of them")
		}
		params, err := plan.Check(nil)
		if err != nil {
			params = chain.Params{}
		}
		return params, nil
	}
	params, err := plan.Check(q.Params)
	if err != nil {
		return params, fault.Wrap(err, "allow %s", q.Ref).Advise("%s, or --any for any parameters", standingWith(plan))
	}
	return params, nil
}

func standingWith(plan *chain.Plan) string {
	if plan.Shell() != "" {
		return standing(plan)
	}
	return standing(plan) + " -p name=value"
}

// uncovered lists the limits of an approval: bytes outside it, and questions that remain.
func uncovered(plan *chain.Plan, with chain.Interpreter, any bool) []string {
	out := []string{"another directory; a change of the item, of its runtime, or of a file that it can load"}
	if any {
		out = append(out, "dangerous commands in a parameter: rye asks about them")
	} else {
		out = append(out, "other parameters")
	}
	if !with.Sum.IsZero() {
		out = append(out, "the packages that "+with.Path+" loads: rye uses the packages there at run time")
	} else if with.Path != "" {
		out = append(out, "another version of "+with.Path+" at the same path is allowed, too")
	}
	if len(plan.Declares()) > 0 {
		out = append(out, ".env files and variables: rye asks about them separately")
	}
	if plan.Primitive() == chain.Subprocess || plan.Starts() {
		out = append(out, "files of the project that it reads or runs by itself")
	}
	return out
}

// rewritePolicy changes the user's policy.
func rewritePolicy(ctx context.Context, s *custody.Desk, change func(old []byte) ([]byte, error)) error {
	return rewrite(ctx, s, session.PolicyFile, func() ([]byte, error) {
		old, err := s.UserPolicy()
		if err != nil {
			return nil, err
		}
		return change(old)
	})
}

// Approvals returns the remembered approvals of every directory, and the hosts of tools.
func Approvals(s *custody.Desk) ([]rye.ApprovalInfo, error) {
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	var all []rye.ApprovalInfo
	for _, a := range rules.Allowed {
		all = append(all, approvalInfo(s, a))
	}
	hosts, err := connections(s)
	return append(all, hosts...), err
}

// Forget takes back the user's approvals of one item, in this project or everywhere.
func Forget(ctx context.Context, s *custody.Desk, q rye.ForgetRequest) ([]rye.ApprovalInfo, error) {
	hosts, err := forgetConnections(ctx, s, q)
	if err != nil {
		return nil, err
	}
	rules, err := s.Rules()
	if err != nil {
		return hosts, err
	}
	here := questions.Here(s.Session)
	if len(hosts) > 0 && !slices.ContainsFunc(rules.Allowed, func(a policy.Approval) bool {
		return a.Ref == q.Ref && (q.Everywhere || a.In.Key == here.Key)
	}) {
		return hosts, nil
	}
	var gone []rye.ApprovalInfo
	err = rewritePolicy(ctx, s, func(old []byte) ([]byte, error) {
		gone = nil
		text, err := policy.Forget(old, func(a policy.Approval) bool {
			if a.Ref != q.Ref || !q.Everywhere && a.In.Key != here.Key {
				return false
			}
			info := approvalInfo(s, a)
			info.Status = "forgotten"
			gone = append(gone, info)
			return true
		})
		if err == nil && len(gone) == 0 {
			err = fault.New(fault.NotFound, "forget %s: it has no approval here", q.Ref).Advise("rye policy list shows the approvals")
		}
		return text, err
	})
	return append(gone, hosts...), err
}

// approvalInfo converts an approval for a report.
func approvalInfo(s *custody.Desk, a policy.Approval) rye.ApprovalInfo {
	info := rye.ApprovalInfo{Ref: a.Ref.String(), Plan: a.Plan.String(), Params: "any", Tier: a.Tier.String()}
	if !a.Any {
		info.Params = a.Params.String()
	}
	info.Status, info.Directory = standsIn(s, a.In)
	return info
}

// standsIn returns the status of something that was agreed to in a directory, and its path.
func standsIn(s *custody.Desk, in consent.Place) (status, dir string) {
	switch here := questions.Here(s.Session); {
	case in.Key != here.Key:
		return "elsewhere", directoryOf(s, in.Key)
	case !in.Is(here):
		return "lapsed", s.ProjectDir
	}
	return "allowed", s.ProjectDir
}

// directoryOf is the path of a place that has a record; "" where it is unknown.
func directoryOf(s *custody.Desk, key string) string {
	all, err := s.Records.All()
	i := slices.IndexFunc(all, func(k records.Known) bool { return k.Key == key })
	if err != nil || i < 0 {
		return ""
	}
	return all[i].Path
}
