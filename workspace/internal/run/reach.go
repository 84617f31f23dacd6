package run

import (
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// reachOf lists a run's access and limits on this machine, and the limits that are not enforced.
func (j *job) reachOf(s *custody.Desk) (r rye.Reach, err error) {
	r.Needs = j.plan.Needs().String()
	switch {
	case r.Needs != "":
	case published(j.plan):
		r.Needs = "none declared: read ."
	default:
		r.Needs = "none declared: read .; write .; net *:80 *:443"
	}
	if n := j.plan.Needs(); !n.Declared && len(n.Rye) > 0 { // of the executor
		r.Needs += "; rye " + strings.Join(n.Rye, " ")
	}
	if _, ok := j.plan.Served(); ok {
		return r, nil // rye itself does it
	}
	r.Limits = strings.Join(chain.Limits(j.plan), ", ")
	if j.plan.Primitive() == chain.HTTP {
		return r, nil // nothing is started
	}
	in, err := j.inputs(s)
	if err != nil {
		return r, err
	}
	box, err := j.plan.SandboxOf(in)
	if err != nil {
		return r, err
	}
	tier, open := primitive.Foresee(box)
	unseen, err := j.ward.unseen()
	if j.plan.Own(tier) {
		unseen = append(unseen, j.unforeseen(s)...)
	}
	r.Sandbox, r.Unbound = tier.String(), append(open, unseen...)
	return r, err
}
