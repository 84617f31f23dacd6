package store

import (
	"context"

	"github.com/rye-os/rye/fault"
)

// AdoptHead points HEAD at branch if the branch that HEAD names does not exist. git init
// chooses a name before there are commits, and git clone checks out nothing from a repository
// with a dangling HEAD. It reports whether HEAD moved. A detached HEAD stays, and so does a
// HEAD whose branch exists.
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

// writeHead replaces HEAD by way of git's lock file. rye.lock records it, so the next writer
// removes it if this process dies. The caller holds the write lock.
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
