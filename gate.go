package rye

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// PolicyFile is the name of the user's policy, in the configuration directory,
// and of a project's, below .ai.
const PolicyFile = "policy.yaml"

// rules reads the policy once for a session: the user's, narrowed by the project's.
func (s *session) rules() (policy.Rules, error) {
	if s.policy != nil {
		return *s.policy, nil
	}
	raw, err := readPolicy(filepath.Join(s.r.o.ConfigDir, PolicyFile))
	if err != nil {
		return policy.Rules{}, err
	}
	rules, err := policy.ParseRules(raw)
	if err != nil {
		return policy.Rules{}, fault.Wrap(err, "read %s", filepath.Join(s.r.o.ConfigDir, PolicyFile))
	}
	if s.trust.AllowLegacy() { // the older place to say so
		rules.AllowLegacy = true
	}
	if s.project != nil {
		if raw, err = readPolicy(filepath.Join(s.r.aiDir(), PolicyFile)); err != nil {
			return policy.Rules{}, err
		}
		if rules, err = rules.Tighten(raw); err != nil {
			return policy.Rules{}, fault.Wrap(err, "read .ai/%s", PolicyFile)
		}
	}
	s.policy = &rules
	return rules, nil
}

// readPolicy returns nil for a file that is not there.
func readPolicy(path string) ([]byte, error) {
	raw, err := place.Read(path, policy.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// allow asks whether the caller holds the capability for a verb on an item.
func (s *session) allow(c Caller, verb string, ref objects.Ref) error {
	q, err := request(c, verb, ref)
	if err != nil {
		return err
	}
	rules, err := s.rules()
	if err != nil {
		return err
	}
	// What executing asks beyond the capability is decided when the plan is known.
	d := rules.Permit(q)
	if err = d.Err(q); err != nil || verb != "execute" {
		s.verdict(q, d, false, err, verb == "execute")
	}
	return err
}

func request(c Caller, verb string, ref objects.Ref) (policy.Request, error) {
	caps, err := policy.ParseCaps(c.Caps)
	if err != nil {
		return policy.Request{}, err
	}
	return policy.Request{Verb: verb, Ref: ref, Caller: c.Name, Caps: caps, Person: c.Name == Terminal.Name}, nil
}

// judge puts a planned run before the policy.
func (s *session) judge(c Caller, plan *chain.Plan, params chain.Params) (policy.Decision, policy.Request, error) {
	it := plan.Tool()
	rules, err := s.rules()
	if err != nil {
		return policy.Decision{}, policy.Request{}, err
	}
	q, err := request(c, "execute", it.Ref)
	if err != nil {
		return policy.Decision{}, q, err
	}
	q.Digest = it.Sum
	kind := plan.Primitive()
	if shell := plan.Shell(); shell != "" {
		// A builtin that runs a command is a process like any other, and what is agreed to
		// is the command: agreeing to the tool would be agreeing to every command.
		kind, q.Digest = chain.Subprocess, commandDigest(it.Sum, params.Values[shell])
	}
	q.Floor = policy.Floor(string(kind), demanded().String())
	if q.Declared, _, err = policy.Declared(it.Meta.Fields); err != nil {
		return policy.Decision{}, q, fault.New(fault.Malformed, "%s: %w", it.Ref, err)
	}
	if kind == chain.Subprocess {
		q.Findings = policy.Analyse(plan.Script(), params.Values, rules.Patterns)
	}
	return rules.Decide(q), q, nil
}

// decide asks the policy, and the person where the policy says so. A dry run asks
// the same and leaves no record.
func (s *session) decide(ctx context.Context, c Caller, plan *chain.Plan, params chain.Params, dry bool) error {
	d, q, err := s.judge(c, plan, params)
	if err != nil {
		return err
	}
	ask := d.Verdict == policy.Ask
	if ask {
		err = s.r.ask(ctx, runQuestion(plan, params, d, q))
	} else {
		err = d.Err(q)
	}
	s.verdict(q, d, ask, err, !dry)
	return err
}

// runQuestion is what a person is asked. The reason names every finding with its text;
// a line for each would say it twice.
func runQuestion(plan *chain.Plan, params chain.Params, d policy.Decision, q policy.Request) Question {
	ask := Question{Topic: "execute " + q.Ref.String(), Text: "Run it?", Lines: []string{d.Reason}, Mend: fault.Advice("rye policy allow %s, or --yes", q.Ref)}
	if shell := plan.Shell(); shell != "" {
		text, _ := params.Values[shell].(string)
		ask.Lines = append(ask.Lines, strings.Split(text, "\n")...)
		ask.Mend = fault.Advice("%s, or --yes", noStandingApproval(q.Ref))
	}
	return ask
}

// commandDigest is what an approval of one command is for: the tool's bytes and the
// command's text.
func commandDigest(tool objects.Digest, command any) objects.Digest {
	text, _ := command.(string)
	return objects.DigestOf(append(tool[:], text...))
}

// noStandingApproval is the remedy for a tool that runs any command it is given: the
// user can lower its tier, and findings still count.
func noStandingApproval(ref objects.Ref) string {
	return fmt.Sprintf("to be asked only about dangerous commands, put tool_overrides: {%s: t1} into policy.yaml", ref.ID)
}

// demanded is the sandbox that every run gets where the system has one. On others
// the best there is runs, and the result says what does not bind.
func demanded() primitive.Tier {
	if runtime.GOOS == "linux" {
		return primitive.S2
	}
	return primitive.Best()
}

// tier is what a run demands: the usual sandbox, or more where the policy or an
// item of the chain says so.
func (s *session) tier(plan *chain.Plan) (primitive.Tier, error) {
	rules, err := s.rules()
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

// PolicyAllow remembers that the user allows one item, as its bytes are now, up to
// the tier that running it has.
func (r *Rye) PolicyAllow(ctx context.Context, item string) (*PolicyReport, error) {
	s, plan, err := r.openPlan(ctx, item)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ref := plan.Tool().Ref
	rep, d, err := s.explainPolicy(plan)
	if err != nil {
		return nil, err
	}
	if plan.Shell() != "" {
		return rep, fault.New(fault.Denied, "allow %s: it runs whatever command it is given, so that there is no text to allow", ref).
			Advise("%s", noStandingApproval(ref))
	}
	if d.Tier >= policy.T4 {
		return rep, fault.New(fault.Denied, "allow %s: %s", ref, d.Reason)
	}
	path := filepath.Join(r.o.ConfigDir, PolicyFile)
	old, err := readPolicy(path)
	if err != nil {
		return nil, err
	}
	text, err := policy.Remember(old, policy.Approval{Ref: ref, Digest: plan.Tool().Sum, Tier: d.Tier})
	if err != nil {
		return nil, err
	}
	rep.Verdict = policy.Allow.String()
	return rep, place.File(path, text, 0o600)
}

// PolicyExplain says what the policy makes of running an item without parameters,
// for the person at the terminal and for an MCP client.
func (r *Rye) PolicyExplain(ctx context.Context, item string) (*PolicyReport, error) {
	s, plan, err := r.openPlan(ctx, item)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rep, _, err := s.explainPolicy(plan)
	return rep, err
}

// explainPolicy returns the report, and the decision about an MCP client's call,
// which is the stricter one.
func (s *session) explainPolicy(plan *chain.Plan) (*PolicyReport, policy.Decision, error) {
	least, err := s.tier(plan)
	if err != nil {
		return nil, policy.Decision{}, err
	}
	d, _, err := s.judge(Client, plan, chain.Params{})
	if err != nil {
		return nil, policy.Decision{}, err
	}
	mine, _, err := s.judge(Terminal, plan, chain.Params{})
	if err != nil {
		return nil, policy.Decision{}, err
	}
	return &PolicyReport{
		Ref: plan.Tool().Ref.String(), SHA256: plan.Tool().Sum.String(), Sandbox: least.String(),
		Verdict: mine.Verdict.String(), Client: d.Verdict.String(),
		Tier: d.Tier.String(), Rule: d.Rule, Reason: d.Reason,
	}, d, nil
}
