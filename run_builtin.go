package rye

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/internal/fault"
)

// runBuiltin refuses: this version of rye has no builtin primitive.
func (s *session) runBuiltin(_ context.Context, plan *chain.Plan, _ chain.Params, _ ExecuteRequest) (deed, error) {
	return deed{}, fault.New(fault.Malformed, "execute %s: this version of rye does not run %s", plan.Tool().Ref, plan.Primitive())
}
