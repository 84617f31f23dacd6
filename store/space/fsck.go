package space

import (
	"context"
	"fmt"

	"github.com/rye-os/rye/store"
)

const maxFsckObject = 1 << 30 // bytes

// Fsck reads every object that the layer's refs and their logs reach and compares
// its bytes with its id. It returns how many it read.
func (l *Layer) Fsck(ctx context.Context) (int, error) {
	if err := l.load(); err != nil || l.repo == nil {
		return 0, err
	}
	want, err := l.repo.Roots()
	if err != nil {
		return 0, err
	}
	all, err := l.repo.Reach(ctx, want, nil, store.ReachOptions{})
	if err != nil {
		return 0, fmt.Errorf("follow the refs of the %s space: %w", l.Space, err)
	}
	for i, id := range all.Objects {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		if _, _, err := l.repo.Object(id, maxFsckObject); err != nil {
			return i, err
		}
	}
	return len(all.Objects), nil
}
