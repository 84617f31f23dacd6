package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
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
	file := filepath.Join(r.dir, "HEAD")
	f, err := os.OpenFile(file+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return &foreignLock{file + ".lock"}
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("ref: " + branch + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = place.Replace(file+".lock", file)
	}
	if err != nil {
		os.Remove(file + ".lock")
		return err
	}
	return place.Sync(r.dir)
}
