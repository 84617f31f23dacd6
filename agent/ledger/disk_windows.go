package ledger

import (
	"context"
	"io/fs"

	"github.com/rye-os/rye/internal/place"
)

// private refuses nothing: the access list of the user's profile directory protects the files in
// it, and the modes that Go reports on Windows say nothing about access.
func private(fs.FileMode) error { return nil }

// queue is a lock file at which the writers of all processes wait. On Windows they retry, at least
// every 20 ms, which is less fair than on other systems.
type queue struct {
	path   string
	giveUp func()
}

func openQueue(path string) (*queue, error) { return &queue{path: path}, nil }

// lock waits for the lock until ctx is done; then it returns the cause of ctx.
func (q *queue) lock(ctx context.Context) (err error) {
	q.giveUp, err = place.Lock(ctx, q.path)
	return err
}

func (q *queue) unlock() { q.giveUp() }

func (q *queue) close() {}
