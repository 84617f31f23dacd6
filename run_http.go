package rye

import (
	"context"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/internal/fault"
)

// runHTTP refuses: this version of rye has no http primitive.
func (s *session) runHTTP(_ context.Context, plan *chain.Plan, _ chain.Params, _ ExecuteRequest) (deed, error) {
	return deed{}, fault.New(fault.Malformed, "execute %s: this version of rye does not run %s", plan.Tool().Ref, plan.Primitive())
}
