package govern

import (
	"context"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/registry"
	"github.com/rye-os/rye/store"
)

// judgeFor bounds the time for checking one push on a host.
const judgeFor = 5 * time.Minute

// Receive checks a push to a repository that holds a registry, before the host accepts it.
func Receive(ctx context.Context, now time.Time, q rye.ReceiveRequest) (*rye.ReceiveReport, error) {
	moves, err := registry.ParseMoves(q.Moves)
	if err != nil {
		return nil, err
	}
	repo, err := store.OpenIncoming(q.Repository, q.Objects)
	if err != nil {
		return nil, err
	}
	defer repo.Close()
	ctx, stop := context.WithTimeoutCause(ctx, judgeFor, fault.New(fault.Limit, "push: the check takes more than %s", judgeFor))
	defer stop()
	if err := registry.Judge(ctx, repo, moves, now); err != nil {
		return nil, fault.New(fault.CodeOf(err), "push of %s refused: %w", words.Plural(len(moves), "ref"), err)
	}
	rep := &rye.ReceiveReport{Refs: []string{}}
	for _, m := range moves {
		rep.Refs = append(rep.Refs, m.Ref)
	}
	return rep, nil
}
