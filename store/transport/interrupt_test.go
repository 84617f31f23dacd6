package transport_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// A push that is cut off anywhere leaves the remote sound, its ref old or new,
// and can be repeated. RYE_SOAK=1 cuts more often.
func TestInterruptedPushes(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	rounds := 6
	if os.Getenv("RYE_SOAK") != "" {
		rounds = 100
	}
	from := newStore(t)
	var changes []store.Change
	for i := range 400 {
		changes = append(changes, store.Change{Path: fmt.Sprintf("d%d/f%d", i%20, i), Data: fmt.Appendf(nil, "%d\n%x", i, make([]byte, 4000+i))})
	}
	id, err := from.Edit(ctxFor(t), "refs/heads/main", changes, store.CommitOptions{
		Message: "many\n", Author: store.Ident{Name: "A", Email: "a@example.org"}, When: time.Unix(1700000000, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{
		"own": testkit.Serve(t, &githost.Server{Root: root, AllowPush: true}) + "/x.git", "path": root + "/x.git", "backend": g.backend(root, true).URL + "/x.git",
	} {
		for i := range rounds {
			up := []transport.Update{{Name: fmt.Sprintf("refs/heads/%s-%d", name, i), New: id}}
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*3*time.Millisecond)
			failed := dial(t, address).Push(ctx, from, up)
			cancel()
			r := dial(t, address)
			refs, err := r.Refs(ctxFor(t), up[0].Name)
			if err != nil {
				t.Fatal(err)
			}
			switch at := refs[up[0].Name]; {
			case failed == nil && at != id:
				t.Errorf("%s: acknowledged, but the ref is at %s", up[0].Name, at)
			case at.IsZero():
				// The server may still be at it: then the answer is a conflict with
				// what we wanted, and the ref is there.
				if err := r.Push(ctxFor(t), from, up); err != nil {
					if now, _ := r.Refs(ctxFor(t), up[0].Name); now[up[0].Name] != id {
						t.Errorf("%s: pushed again: %v", up[0].Name, err)
					}
				}
			case at != id:
				t.Errorf("%s: at %s", up[0].Name, at)
			}
		}
	}
	b.fsck()
}
