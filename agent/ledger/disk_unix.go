//go:build unix

package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
)

// private refuses a mode that gives other users access.
func private(m fs.FileMode) error {
	if m.Perm()&0o077 != 0 {
		return fs.ErrPermission
	}
	return nil
}

// queue is a kernel lock on a file beside the ledger, at which the writers of all processes wait.
// SQLite sleeps and retries when it finds its lock taken: of eight busy processes, one waited for
// 4.7 seconds. The kernel wakes a waiting process at once.
type queue struct {
	path string
	file *os.File // nil when closed, or when an abandoned wait still uses it
}

func openQueue(path string) (*queue, error) {
	f, err := openLock(path)
	if err != nil {
		return nil, err
	}
	return &queue{path, f}, nil
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fault.New(fault.Failed, "open the queue of the ledger: %w", err)
	}
	return f, nil
}

// lock waits for the lock until ctx is done; then it returns the cause of ctx.
func (q *queue) lock(ctx context.Context) (err error) {
	if q.file == nil {
		if q.file, err = openLock(q.path); err != nil {
			return err
		}
	}
	if err = flock(q.file, syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return err
	}
	return q.wait(ctx)
}

func (q *queue) wait(ctx context.Context) error {
	defer place.Waiting("another rye process that holds " + q.path)()
	f, done := q.file, make(chan error, 1)
	go func() { done <- flock(f, syscall.LOCK_EX) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		q.file = nil
		go func() { // flock cannot be cancelled
			<-done
			f.Close()
		}()
		return context.Cause(ctx)
	}
}

func (q *queue) unlock() { flock(q.file, syscall.LOCK_UN) }

func (q *queue) close() {
	if q.file != nil {
		q.file.Close()
		q.file = nil
	}
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil || errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case !errors.Is(err, syscall.EINTR):
			return fault.New(fault.Failed, "lock %s: %w", f.Name(), err)
		}
	}
}
