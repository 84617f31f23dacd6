package ledger

import (
	"context"
	"io/fs"

	"github.com/rye-os/rye/internal/place"
)

// private has nothing to refuse: the access list of the user's profile directory protects
// what lies there, and the modes that Go reports on Windows say nothing about it.
func private(fs.FileMode) error { return nil }

// queue is where the writers of all processes wait. On Windows they try again and again,
// for at most 20 ms each time, so that it is less fair than elsewhere.
type queue struct {
	path   string
	giveUp func()
}

func openQueue(path string) (*queue, error) { return &queue{path: path}, nil }

// lock waits for the lock until ctx is done; then the error is the cause of ctx.
func (q *queue) lock(ctx context.Context) (err error) {
	q.giveUp, err = place.Lock(ctx, q.path)
	return err
}

func (q *queue) unlock() { q.giveUp() }

func (q *queue) close() {}
