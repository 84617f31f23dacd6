package run

import (
	"context"
	"slices"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/policy"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Elicitation adds an MCP client to the list of clients that show questions to a person, or
// removes it. An addition needs the person: otherwise a program could answer for itself.
func Elicitation(ctx context.Context, s *custody.Desk, q rye.ElicitationRequest) (*rye.ElicitationReport, error) {
	raw, err := s.UserPolicy()
	if err != nil {
		return nil, err
	}
	rules, err := policy.ParseRules(raw)
	if err != nil {
		return nil, fault.Wrap(err, "read %s", s.UserFile(session.PolicyFile))
	}
	rep := &rye.ElicitationReport{Client: q.Client, Listed: !q.Forget}
	if slices.Contains(rules.Elicitation, q.Client) == rep.Listed {
		return rep, nil
	}
	if rep.Listed {
		if yes, err := session.Put(ctx, s.Host, showsQuestions(q.Client)); err != nil || !yes {
			return &rye.ElicitationReport{Client: q.Client}, err
		}
	}
	rep.Changed = true
	return rep, rewritePolicy(ctx, s, func(old []byte) ([]byte, error) { return policy.Listed(old, q.Client, rep.Listed) })
}

func showsQuestions(client string) rye.Question {
	return rye.Question{
		Topic: "accept answers from " + words.Brief(client) + " as yours",
		Text:  "does " + words.Brief(client) + " show you the questions of MCP servers, and return your answers?",
		Lines: []string{
			"Yes: rye asks you through this client where your policy requires a question, and",
			"accepts its answers as yours. rye knows the client only by the name that it reports.",
			"No: these questions wait for you in rye approve",
		},
		Person: true,
	}
}
