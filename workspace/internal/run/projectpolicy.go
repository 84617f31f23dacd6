package run

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/head"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// ProjectPolicy describes the project's policy, what was accepted of it here, and what it demands.
func ProjectPolicy(_ context.Context, s *session.Session, _ struct{}) (*rye.ProjectPolicy, error) {
	if s.Project == nil {
		return nil, session.NoProject()
	}
	rules, err := s.Rules()
	if err != nil {
		return nil, err
	}
	p, err := s.ReadProjectPolicy()
	if err != nil {
		return nil, err
	}
	return describePolicy(p, rules), nil
}

func describePolicy(p *session.ProjectPolicy, rules policy.Rules) *rye.ProjectPolicy {
	rep := &rye.ProjectPolicy{SHA256: policySum(p.Now), Demands: rules.Demands.Lines(), Looser: p.Looser}
	if p.Known {
		rep.Accepted = policySum(p.Kept)
	}
	switch {
	case len(p.Looser) > 0 && p.Removed():
		rep.State = "removed"
	case len(p.Looser) > 0:
		rep.State = "looser"
	case p.Now == nil:
		rep.State = "none"
	case rep.Accepted == rep.SHA256:
		rep.State = "accepted"
	default:
		rep.State = "new"
	}
	return rep
}

// policySum names a policy by its digest; no text and no file are "none".
func policySum(raw []byte) string {
	if len(raw) == 0 {
		return rye.NoPolicy
	}
	return objects.DigestOf(raw).String()
}

// AcceptPolicy remembers a policy of the project as the one to compare later ones with: the file as it is, or the
// one of another commit. One that allows more than the one before needs a person, whatever the flags.
func AcceptPolicy(ctx context.Context, d *custody.Desk, q rye.AcceptPolicyRequest) (*rye.ProjectPolicy, error) {
	if d.Project == nil {
		return nil, session.NoProject()
	}
	if d.Place.Dir == "" {
		return nil, fault.New(fault.NotFound, "policy accept: rye keeps no records here: %w", d.Records.Err())
	}
	text, err := chosen(d, q.From)
	if err != nil {
		return nil, err
	}
	want, err := typedSum(q.SHA256)
	if err != nil {
		return nil, err
	}
	if want != "" && policySum(text) != want {
		return nil, fault.New(fault.Denied, "policy accept: the policy is %s, not %s", policySum(text), want).
			Advise("review the change of .ai/%s, then give its digest", session.PolicyFile)
	}
	p, err := d.ReadProjectPolicy()
	if err != nil && q.From == "" {
		return nil, err
	}
	if p != nil && p.Known {
		looser, err := policy.Looser(p.Kept, text)
		if err != nil {
			return nil, err
		}
		if len(looser) > 0 {
			if err := d.Ask(ctx, looserQuestion(p.Kept, text, looser)); err != nil {
				return nil, err
			}
		}
	}
	if err := d.RememberPolicy(text); err != nil {
		return nil, err
	}
	return accepted(d)
}

// chosen returns the text to accept.
func chosen(d *custody.Desk, from string) ([]byte, error) {
	if from == "" {
		return d.PolicyHere()
	}
	dir, err := filepath.EvalSymlinks(d.ProjectDir)
	if err != nil {
		return nil, err
	}
	raw, ok, err := head.FileAt(dir, d.Host.Home, from, ".ai/"+session.PolicyFile, policy.MaxFile, d.Now())
	if err != nil {
		return nil, fault.Wrap(err, "policy accept --from %s", words.Brief(from))
	}
	if !ok {
		return nil, nil
	}
	if _, err := policy.Default().Tighten(raw); err != nil {
		return nil, fault.Wrap(err, "read .ai/%s of %s", session.PolicyFile, words.Brief(from))
	}
	return raw, nil
}

// accepted describes the state after an acceptance. The file may still allow more than what was accepted.
func accepted(d *custody.Desk) (*rye.ProjectPolicy, error) {
	rep, err := ProjectPolicy(context.Background(), d.Session, struct{}{})
	if err != nil {
		return nil, err
	}
	if len(rep.Looser) > 0 {
		err = fault.New(fault.Denied, "the policy here, .ai/%s, allows more than the accepted one: %s", session.PolicyFile, strings.Join(rep.Looser[:min(len(rep.Looser), 3)], "; ")).
			Advise("a person who agrees to the change types: " + session.AcceptPolicy)
	}
	return rep, err
}

func looserQuestion(was, is []byte, looser []string) rye.Question {
	lines := []string{"accepted   " + policySum(was), "now        " + policySum(is)}
	for i, l := range looser {
		if i == maxLooser {
			lines = append(lines, "looser     and more, which the digest covers")
			break
		}
		lines = append(lines, "looser     "+l)
	}
	return rye.Question{Topic: "the project's policy", Text: "It allows more than the one that was accepted here. Accept it?", Lines: lines, Person: true,
		Mend: fault.Advice("a person types it at a terminal; to keep the accepted policy: git restore .ai/%s", session.PolicyFile)}
}

const maxLooser = 40

// typedSum reads a digest that a user typed, and writes it as policySum does; "" is none.
func typedSum(text string) (string, error) {
	if text == "" || text == rye.NoPolicy {
		return text, nil
	}
	d, err := objects.ParseDigest("sha256:" + strings.TrimPrefix(strings.ToLower(text), "sha256:"))
	if err != nil {
		return "", fault.New(fault.Usage, "policy accept: --sha256 %s: want 64 hexadecimal digits, or none", words.Quote(words.Brief(text)))
	}
	return d.String(), nil
}
