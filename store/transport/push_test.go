package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

func asRejected(err error, to **transport.RejectedError) bool { return errors.As(err, to) }

// commitTo makes a commit of one file on ref and returns it.
func commitTo(t testing.TB, r *store.Repo, ref, path string, data []byte) store.OID {
	t.Helper()
	id, err := r.Edit(ctxFor(t), ref, []store.Change{{Path: path, Data: data}}, store.CommitOptions{
		Message: "edit\n", Author: store.Ident{Name: "A", Email: "a@example.org"}, When: time.Unix(1700000000, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPushEverywhere(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	for name, r := range routes(t, g, root) {
		t.Run(name, func(t *testing.T) {
			ctx, from := ctxFor(t), newStore(t)
			main := "refs/heads/" + strings.ReplaceAll(name, " ", "-")
			side := main + "-side"
			one := commitTo(t, from, main, "a.txt", []byte("one\n"))
			push := func(us ...transport.Update) error { return r.Push(ctx, from, us) }
			if err := r.DryRun(ctx, from, []transport.Update{{Name: main, New: one}}); err != nil {
				t.Fatal(err)
			}
			if out, err := b.try("rev-parse", "--verify", main); err == nil {
				t.Fatalf("the dry run made %s", out)
			}
			if err := push(transport.Update{Name: main, New: one}); err != nil {
				t.Fatal(err)
			}
			// Larger than git's http.postBuffer and our memory for bodies.
			noise := bytes.Repeat([]byte{0}, 3<<20)
			for i, x := 0, uint32(1); i < len(noise); i++ {
				x = x*1664525 + 1013904223
				noise[i] = byte(x >> 24)
			}
			two := commitTo(t, from, main, "b.bin", noise)
			if err := push(transport.Update{Name: main, Old: one, New: two}, transport.Update{Name: side, New: one}); err != nil {
				t.Fatal(err)
			}
			if got := b.oid("rev-parse", main); got != two {
				t.Errorf("remote is at %s, want %s", got, two)
			}
			three := commitTo(t, from, main, "a.txt", []byte("three\n"))
			for name, us := range map[string][]transport.Update{
				"must not exist": {{Name: main, New: three}},
				"wrong old":      {{Name: main, Old: one, New: three}},
				"one of two":     {{Name: main, Old: two, New: three}, {Name: side, Old: two, New: three}},
			} {
				var rej *transport.RejectedError
				err := push(us...)
				if !asRejected(err, &rej) || !fault.Is(err, fault.Conflict) || !strings.HasPrefix(rej.Name, main) {
					t.Errorf("%s: %v (%s)", name, err, fault.CodeOf(err))
				}
			}
			if got := b.oid("rev-parse", main); got != two {
				t.Errorf("after refusals the remote is at %s, want %s", got, two)
			}
			if err := push(transport.Update{Name: side, Old: one}); err != nil {
				t.Errorf("delete: %v", err)
			}
			if refs, err := r.Refs(ctx, main); err != nil || len(refs) != 1 || refs[main] != two {
				t.Errorf("refs afterwards: %v, %v", refs, err)
			}
			b.fsck()
		})
	}
}

func TestPushRefusedByRules(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	b.run("config", "receive.denyDeletes", "true")
	b.run("config", "receive.denyNonFastForwards", "true")
	r := dial(t, g.backend(root, true).URL+"/x.git")
	ctx, from := ctxFor(t), newStore(t)
	one := commitTo(t, from, "refs/heads/main", "a", []byte("1"))
	other := commitTo(t, from, "refs/heads/other", "a", []byte("2"))
	if err := r.Push(ctx, from, []transport.Update{{Name: "refs/heads/main", New: one}, {Name: "refs/heads/other", New: other}}); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		u    transport.Update
		want fault.Code
	}{
		"delete":       {transport.Update{Name: "refs/heads/other", Old: other}, fault.Denied},
		"fast-forward": {transport.Update{Name: "refs/heads/main", Old: one, New: other}, fault.Conflict},
	} {
		var rej *transport.RejectedError
		if err := r.Push(ctx, from, []transport.Update{row.u}); !asRejected(err, &rej) || !fault.Is(err, row.want) || rej.Name != row.u.Name {
			t.Errorf("%s: %v (%s), want %s", name, err, fault.CodeOf(err), row.want)
		}
	}
	for name, us := range map[string][]transport.Update{
		"none": {}, "bad name": {{Name: "main", New: one}}, "option": {{Name: "--force", New: one}}, "neither an old nor a new": {{Name: "refs/heads/x"}},
		"twice": {{Name: "refs/heads/x", New: one}, {Name: "refs/heads/x", New: one}},
	} {
		if err := r.Push(ctx, from, us); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: %v, want Usage", name, err)
		}
	}
	ro, err := transport.Dial(r.String(), transport.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := ro.Push(ctx, from, []transport.Update{{Name: "refs/heads/x", New: one}}); !fault.Is(err, fault.Denied) {
		t.Errorf("read-only: %v, want Denied", err)
	}
}

// A report that does not say "ok" for a ref is not taken for success.
func TestLyingReports(t *testing.T) {
	from := newStore(t)
	one := commitTo(t, from, "refs/heads/main", "a", []byte("1"))
	advert := pkts("# service=git-receive-pack\n", "0000", strings.Repeat("0", 40)+" capabilities^{}\x00report-status delete-refs atomic\n", "0000")
	for name, row := range map[string]struct {
		answer string
		want   fault.Code
	}{
		"sound":        {pkts("unpack ok\n", "ok refs/heads/x\n", "0000"), ""},
		"silent":       {pkts("unpack ok\n", "0000"), fault.Network},
		"other ref":    {pkts("unpack ok\n", "ok refs/heads/y\n", "0000"), fault.Network},
		"not unpacked": {pkts("unpack index-pack abnormal exit\n", "ok refs/heads/x\n", "0000"), fault.Network},
		"cut short":    {pkts("unpack ok\n", "ok refs/heads/x\n"), fault.Network},
		"empty":        {"", fault.Network},
		"html":         {"<html>", fault.Network},
		"lost race":    {pkts("unpack ok\n", "ng refs/heads/x failed to update ref\n", "0000"), fault.Conflict},
		"rule":         {pkts("unpack ok\n", "ng refs/heads/x protected branch \x1b[1mhook\x1b[0m declined\n", "0000"), fault.Denied},
		"refusal":      {pkts("ERR access denied\n"), fault.Auth},
	} {
		r := dial(t, testkit.Serve(t, &fake{advert: advert, answer: row.answer})+"/x")
		err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/x", New: one}})
		if fault.CodeOf(err) != row.want || err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q (%s), want %q", name, err, fault.CodeOf(err), row.want)
		}
	}
}

// Of many who push the same ref at the same time, one at a time wins, and all
// who were told so are in the history.
func TestConcurrentPushes(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	for name, r := range routes(t, g, root) {
		if name != "own server" && name != "path" {
			continue
		}
		ref := "refs/heads/" + strings.ReplaceAll(name, " ", "-")
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := map[string]bool{}
		for i := range 6 {
			from, address := newStore(t), r.String()
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := contend(from, address, ref, fmt.Sprintf("f%d", i)); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				won[fmt.Sprintf("f%d", i)] = true
				mu.Unlock()
			}()
		}
		wg.Wait()
		if got := strings.Fields(b.run("ls-tree", "--name-only", ref)); len(got) != len(won) || len(won) != 6 {
			t.Errorf("%s: files %v, winners %v", name, got, won)
		}
		if got := b.run("rev-list", "--count", ref); got != "6" {
			t.Errorf("%s: %s commits, want 6", name, got)
		}
	}
}

// contend adds one file to ref at address, on top of whatever is there, until
// the push is accepted.
func contend(from *store.Repo, address, ref, file string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := transport.Dial(address, transport.Options{})
	if err != nil {
		return err
	}
	defer r.Close()
	for try := 0; ; try++ {
		refs, err := r.Refs(ctx, ref)
		if err != nil {
			return err
		}
		tip, mine := refs[ref], fmt.Sprintf("refs/heads/try%d", try)
		if !tip.IsZero() {
			q, _, err := r.Fetch(ctx, from, []store.OID{tip}, nil, transport.FetchOptions{})
			if err != nil {
				return err
			}
			if err := q.Accept(ctx, tip); err != nil {
				return err
			}
			if err := from.Swap(ctx, mine, store.OID{}, tip, "test"); err != nil {
				return err
			}
			q.Release()
		}
		id, err := from.Edit(ctx, mine, []store.Change{{Path: file, Data: []byte(file)}}, store.CommitOptions{
			Message: "x\n", Author: store.Ident{Name: "A", Email: "a@example.org"}, When: time.Unix(1700000000, 0).UTC()})
		if err != nil {
			return err
		}
		err = r.Push(ctx, from, []transport.Update{{Name: ref, Old: tip, New: id}})
		if err == nil || !fault.Is(err, fault.Conflict) || try > 100 {
			return err
		}
	}
}

// A server in this process that refuses a pack in the middle does not leave both
// sides waiting for each other.
func TestLocalServerRefusesInTheMiddle(t *testing.T) {
	if testing.Short() {
		t.Skip("makes an object of 65 MiB")
	}
	from, to := newStore(t), newStore(t)
	big := commitTo(t, from, "refs/heads/main", "big", make([]byte, 65<<20))
	noise := make([]byte, 8<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	more := commitTo(t, from, "refs/heads/main", "noise", noise)
	r := dial(t, to.Dir())
	for _, id := range []store.OID{big, more} {
		began := time.Now()
		err := r.Push(ctxFor(t), from, []transport.Update{{Name: "refs/heads/main", New: id}})
		if err == nil || !strings.Contains(err.Error(), "at most") || time.Since(began) > 15*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	}
	if refs, err := r.Refs(ctxFor(t)); err != nil || len(refs) != 0 {
		t.Errorf("refs afterwards: %v, %v", refs, err)
	}
}

// TestPushObjects sends exactly what the caller names, and a remote that would be
// left with a hole refuses it, whoever the remote is.
func TestPushObjects(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	for name, r := range routes(t, g, root) {
		t.Run(name, func(t *testing.T) {
			ctx, from := ctxFor(t), newStore(t)
			main := "refs/heads/" + strings.ReplaceAll(name, " ", "-")
			batch := from.NewBatch()
			defer batch.Discard()
			var changes []store.Change
			for i := range 300 { // more than are read one by one
				changes = append(changes, store.Change{Path: fmt.Sprintf("d%d/f", i), Data: fmt.Appendf(nil, "%s %d", name, i)})
			}
			tree, err := batch.EditTree(store.OID{}, changes)
			if err != nil {
				t.Fatal(err)
			}
			tip, err := batch.Commit(ctx, tree, nil, store.CommitOptions{Message: "x\n", Author: store.Ident{Name: "A", Email: "a@example.org"},
				When: time.Unix(1700000000, 0)})
			if err != nil {
				t.Fatal(err)
			}
			made := batch.Objects()
			if len(made) != 602 {
				t.Fatalf("%d objects in the batch, want 602", len(made))
			}
			if err := batch.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			update := []transport.Update{{Name: main, New: tip}}
			if err := r.PushObjects(ctx, from, update, made[1:]); err == nil {
				t.Error("a push with a hole was taken")
			}
			if out, err := b.try("rev-parse", "--verify", main); err == nil {
				t.Fatalf("a push with a hole made %s", out)
			}
			if err := r.PushObjects(ctx, from, update, made); err != nil {
				t.Fatal(err)
			}
			if got := b.oid("rev-parse", main); got != tip {
				t.Errorf("%s is %s, want %s", main, got, tip)
			}
			b.run("fsck", "--strict")
		})
	}
}

// A remote that cannot move several refs at once is given them in their order, and no
// further than to the first that it refuses.
func TestPushInOrder(t *testing.T) {
	g, root := newGit(t), t.TempDir()
	b := g.in(g.bare(root, "x.git", 0))
	b.run("config", "receive.advertiseAtomic", "false")
	r := dial(t, g.backend(root, true).URL+"/x.git")
	ctx, from := ctxFor(t), newStore(t)
	one := commitTo(t, from, "refs/heads/main", "a", []byte("1"))
	two := commitTo(t, from, "refs/heads/main", "a", []byte("2"))
	got, err := from.Reach(ctx, []store.OID{two}, nil, store.ReachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	push := func(us ...transport.Update) error { return r.PushObjects(ctx, from, us, got.Objects) }
	if err := push(transport.Update{Name: "refs/heads/content", New: one}, transport.Update{Name: "refs/heads/log", New: one}); err != nil {
		t.Fatal(err)
	}
	err = push(transport.Update{Name: "refs/heads/content", New: two}, transport.Update{Name: "refs/heads/log", Old: one, New: two})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the first refused: %v", err)
	}
	err = push(transport.Update{Name: "refs/heads/content", Old: one, New: two}, transport.Update{Name: "refs/heads/log", New: two})
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("the second refused: %v", err)
	}
	if c, l := b.oid("rev-parse", "refs/heads/content"), b.oid("rev-parse", "refs/heads/log"); c != two || l != one {
		t.Errorf("content is at %s and log at %s, want %s and %s", c, l, two, one)
	}
	b.fsck()
}
