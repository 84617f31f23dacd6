package store

import (
	"context"

	"github.com/rye-os/rye/fault"
)

// AdoptHead makes HEAD name a branch that exists, where the one that it names does not:
// git init chose a name before anything was there, and git clone checks out nothing of a
// repository whose HEAD dangles. It reports whether HEAD moved. A detached HEAD, and one
// whose branch is there, stay.
func (r *Repo) AdoptHead(ctx context.Context, branch string) (moved bool, err error) {
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

// writeHead replaces HEAD by git's own lock file, which the record names: it does not stay
// when this process dies. The caller holds the write lock.
func writeHead(r *Repo, branch string) (err error) {
	tx := &refTx{r: r}
	defer tx.end(&err)
	if err := tx.prepareLock("HEAD.lock", "ref: "+branch+"\n"); err != nil {
		return err
	}
	if err := tx.holdFiles(); err != nil {
		return err
	}
	return tx.moveBack("HEAD")
}
