package run

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// acceptGaps asks about a registry's tool that declares to write the whole project, if no part can
// be excluded from that. Without namespaces the kernel's rules have no exceptions. A tool of the
// user's own, and one without declarations, gets only the present entries of the project, and needs
// no question; a function of rye's own excludes those parts itself.
func (j *job) acceptGaps(ctx context.Context, s *custody.Desk) error {
	least, err := tier(s, j.plan)
	if err != nil || least != primitive.S2 || !j.plan.WritesAll() || j.plan.Function() != "" {
		return err
	}
	rules, err := s.Rules()
	if err != nil {
		return err
	}
	foreign := j.plan.Links[0].Verified.Scope().Registry != ""
	if j.open = foreign || rules.Unprotected; !foreign || rules.Unprotected {
		return nil
	}
	return j.ask(ctx, s, rye.Question{
		Text:  "It writes the whole project, and this machine cannot protect .ai and .git from it. Run it anyway?",
		Lines: []string{"why          sandbox S3 is not available: " + primitive.NoNamespaces(), "at risk      the files that git and rye run and trust in this project"},
		Mend:  fault.Advice("enable namespaces on this machine (see rye doctor), or use --yes; policy.yaml: unprotected: allow"),
	})
}
