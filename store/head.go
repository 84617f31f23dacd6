package store

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/rye-os/rye/fault"
)

// AdoptHead makes HEAD name a branch that exists, where the one that it names does not:
// git init chose a name before anything was there, and git clone checks out nothing of a
// repository whose HEAD dangles. It reports whether HEAD moved. A detached HEAD, and one
// whose branch is there, stay.
func AdoptHead(ctx context.Context, r *Repo, branch string) (moved bool, err error) {
	if err := CheckRefName(branch); err != nil {
		return false, err
	}
	err = r.retryLocked(ctx, func() error {
		at, err := r.Head()
		if err != nil || at == "" || at == branch {
			return err
		}
		if _, err := r.Ref(at); !fault.Is(err, fault.NotFound) {
			return err
		}
		if _, err := r.Ref(branch); err != nil {
			return err
		}
		moved = true
		return writeHead(r, branch)
	})
	return moved && err == nil, err
}

// writeHead replaces HEAD by git's own lock file. The caller holds the write lock.
func writeHead(r *Repo, branch string) error {
	const lock = "HEAD.lock"
	f, err := r.files.openTo(lock, os.O_CREATE|os.O_EXCL, permFile)
	if errors.Is(err, fs.ErrExist) {
		return &foreignLock{r.files.path(lock)}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("ref: " + branch + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = r.files.moveName(lock, "HEAD")
	}
	if err != nil {
		r.files.unlink(lock)
		return err
	}
	return r.files.fsyncDir(".")
}
