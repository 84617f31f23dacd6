package run

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/fault"
)

// answer has a function of rye's own carried out in this process, on behalf of the caller. It
// starts no program, and passes on only the tool's parameters. So the result names no sandbox.
func (r *Runner) answer(ctx context.Context, j *job) (outcome, error) {
	if r.serve == nil {
		return outcome{}, fault.New(fault.Denied, "execute %s: this program cannot run %s", j.plan.Tool().Ref, j.plan.Function()).
			Advise("use a program of rye, such as rye mcp")
	}
	j.watch.lap(&j.watch.parts.Rest)
	data, err := r.serve(ctx, j.caller, rye.ServedCall{Function: j.plan.Function(), Params: j.params.JSON, Progress: j.q.Stdout})
	j.watch.lap(&j.watch.parts.Run)
	if err != nil {
		return outcome{}, fault.Wrap(err, "execute %s", j.plan.Tool().Ref)
	}
	return outcome{Outcome: chain.Outcome{OK: true, Data: data}}, nil
}
