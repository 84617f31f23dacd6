package store

import (
	"errors"
	"strings"
	"testing"
)

// TestLockThatStayed: a lock file that could not be removed is known to the next writer, and
// is gone then.
func TestLockThatStayed(t *testing.T) {
	for _, lock := range []string{"HEAD.lock", "packed-refs.lock"} {
		r := newRepo(t)
		mustEdit(t, r, "one", put("a", "1"))
		at := mustRef(t, r, testHead)
		swap(t, r, "refs/heads/other", OID{}, at)
		testOnlyRemove = func(name string) error {
			if name == lock {
				return errors.New("no")
			}
			return nil
		}
		_, err := r.Edit(t.Context(), testHead, []Change{put("a", "2")}, opts("two"))
		if lock == "packed-refs.lock" {
			err = r.Swap(t.Context(), "refs/heads/other", at, OID{}, "delete")
		}
		testOnlyRemove = nil
		if err == nil || !strings.Contains(err.Error(), "remove lock files") {
			t.Errorf("%s: %v", lock, err)
		}
		if !r.files.has(lock) {
			t.Errorf("%s is gone: nothing was tried", lock)
		}
		n := reopen(t, r)
		mustEdit(t, n, "three", put("a", "3"))
		if n.files.has(lock) {
			t.Errorf("%s stayed", lock)
		}
	}
}
