package run

import (
	"context"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/author"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// offer asks a person at the terminal whether to sign and run an item of the project that they
// have not signed as it is. Without a yes the refusal remains.
func offer(ctx context.Context, s *custody.Desk, c rye.Caller, ref objects.Ref, refused error) (space.Found, error) {
	if !c.IsPerson() {
		return space.Found{}, refused
	}
	signed, err := author.Offer(ctx, s, ref, refused)
	if err != nil {
		return space.Found{}, err
	}
	if !signed {
		return space.Found{}, refused
	}
	return s.Stack.Find(ctx, ref)
}
