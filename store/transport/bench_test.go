package transport_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
)

// The benchmarks run ours and git's side by side over the same git http-backend
// on loopback, on a registry as rye publishes it: 10,000 items, each a root
// commit of its own, and a branch whose commits name 256 of them each as further
// parents. Compare medians of interleaved rounds:
//
//	go test -run xxx -bench . -benchtime 1x -count 9 ./store/transport

// benchItems is the number of items; RYE_BENCH_ITEMS changes it.
func benchItems() int {
	n := 10_000
	fmt.Sscan(os.Getenv("RYE_BENCH_ITEMS"), &n)
	return n
}

type benchRepo struct {
	g    *git
	root string
	dir  string
	http string // through git http-backend
	own  string // through our server
	tip  store.OID
	blob store.OID
	item store.OID // a root commit of one item
}

var benched *benchRepo

const benchBranch = "refs/heads/ns/acme"

func benchSetup(b *testing.B) *benchRepo {
	b.Helper()
	g := newGit(b)
	if benched == nil {
		root, err := os.MkdirTemp("", "rye-bench-")
		if err != nil {
			b.Fatal(err)
		}
		benched = &benchRepo{root: root, dir: filepath.Join(root, "x.git")}
		if err := benched.publish(benchItems()); err != nil {
			b.Fatal(err)
		}
		r := g.in(benched.dir)
		r.run("config", "http.receivepack", "true")
		r.run("config", "uploadpack.allowFilter", "true")
		r.run("config", "uploadpack.allowAnySHA1InWant", "true")
	}
	c := *benched
	c.g = g
	c.http = g.backend(c.root, true).URL + "/x.git"
	c.own = testkit.Serve(b, &githost.Server{Root: c.root, AllowPush: true}) + "/x.git"
	return &c
}

// publish makes the registry in one pack, as a push of n items does.
func (r *benchRepo) publish(n int) error {
	repo, err := store.Init(r.dir, benchBranch)
	if err != nil {
		return err
	}
	defer repo.Close()
	ctx, batch := context.Background(), repo.NewBatch()
	defer batch.Discard()
	o := store.CommitOptions{Message: "publish\n", Author: store.Ident{Name: "A", Email: "a@example.org"}, When: time.Unix(1700000000, 0).UTC()}
	var state store.OID
	for i := 0; i < n; {
		var parents []store.OID
		if !r.tip.IsZero() {
			parents = append(parents, r.tip)
		}
		var state1 []store.Change
		for range min(256, n-i) {
			text := fmt.Appendf(nil, "#!/usr/bin/env python3\n# item %d\n", i)
			for j := range 60 {
				text = fmt.Appendf(text, "print(%d, %q)\n", (i+1)*(j+7)*7919%1000003, "some text that a tool would hold")
			}
			tree, err := batch.EditTree(store.OID{}, []store.Change{{Path: fmt.Sprintf("tools/acme/t%d.py", i), Data: text}})
			if err != nil {
				return err
			}
			item, err := batch.Commit(ctx, tree, nil, o)
			if err != nil {
				return err
			}
			if i == n/2 {
				r.item, r.blob = item, store.SHA1.Hash(store.TypeBlob, text)
			}
			parents = append(parents, item)
			state1 = append(state1, store.Change{Path: fmt.Sprintf("catalogue/%02x/t%d.yaml", i%256, i), Data: []byte("1.0.0: " + item.String() + "\n")})
			i++
		}
		if state, err = batch.EditTree(state, state1); err != nil {
			return err
		}
		if r.tip, err = batch.Commit(ctx, state, parents, o); err != nil {
			return err
		}
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return repo.Swap(ctx, benchBranch, store.OID{}, r.tip, "publish")
}

func TestMain(m *testing.M) {
	testkit.UseMemory()
	code := m.Run()
	if benched != nil {
		os.RemoveAll(benched.root)
	}
	os.Exit(code)
}

func (r *benchRepo) remotes() map[string]string {
	return map[string]string{"http-backend": r.http, "own-server": r.own, "path": r.dir}
}

func BenchmarkListOneRef(b *testing.B) {
	r := benchSetup(b)
	for name, address := range r.remotes() {
		b.Run("rye/"+name, func(b *testing.B) {
			for b.Loop() {
				refs, err := dial(b, address).Refs(context.Background(), benchBranch)
				if err != nil || len(refs) != 1 {
					b.Fatal(refs, err)
				}
			}
		})
		b.Run("git/"+name, func(b *testing.B) {
			for b.Loop() {
				r.g.run("ls-remote", address, benchBranch)
			}
		})
	}
}

// Nothing new: ours asks for the ref and sees that it has not moved.
func BenchmarkNothingNew(b *testing.B) {
	r := benchSetup(b)
	clone := filepath.Join(b.TempDir(), "c.git")
	r.g.run("clone", "-q", "--bare", r.http, clone)
	c := r.g.in(clone)
	for name, address := range r.remotes() {
		b.Run("rye/"+name, func(b *testing.B) {
			for b.Loop() {
				refs, err := dial(b, address).Refs(context.Background(), benchBranch)
				if err != nil || refs[benchBranch] != r.tip {
					b.Fatal(refs, err)
				}
			}
		})
		b.Run("git/"+name, func(b *testing.B) {
			for b.Loop() {
				c.run("fetch", "-q", address, benchBranch+":"+benchBranch)
			}
		})
	}
}

func benchFetch(b *testing.B, id func(*benchRepo) store.OID) {
	r := benchSetup(b)
	for name, address := range r.remotes() {
		b.Run("rye/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				into := newStore(b)
				b.StartTimer()
				remote := dial(b, address)
				q, st, err := remote.Fetch(context.Background(), into, []store.OID{id(r)}, nil, transport.FetchOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if err := q.Accept(context.Background(), id(r)); err != nil {
					b.Fatal(err)
				}
				q.Release()
				b.ReportMetric(float64(st.Bytes), "wire-B")
			}
		})
		b.Run("git/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				dir := filepath.Join(b.TempDir(), "c.git")
				r.g.run("init", "-q", "--bare", dir)
				c := r.g.in(dir)
				b.StartTimer()
				c.run("fetch", "-q", address, id(r).String())
			}
		})
	}
}

func BenchmarkFetchBlob(b *testing.B) {
	benchFetch(b, func(r *benchRepo) store.OID { return r.blob })
}

func BenchmarkFetchItemCommit(b *testing.B) {
	benchFetch(b, func(r *benchRepo) store.OID { return r.item })
}

func BenchmarkFetchEverything(b *testing.B) {
	benchFetch(b, func(r *benchRepo) store.OID { return r.tip })
}

func BenchmarkPushEverything(b *testing.B) {
	r := benchSetup(b)
	from, err := store.Open(r.dir)
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	empty := 0
	target := func() string {
		empty++
		name := fmt.Sprintf("push%d-%d.git", os.Getpid(), empty)
		r.g.bare(r.root, name, 0)
		return name
	}
	base := r.http[:len(r.http)-len("x.git")]
	own := r.own[:len(r.own)-len("x.git")]
	for name, where := range map[string]string{"http-backend": base, "own-server": own, "path": r.root + "/"} {
		b.Run("rye/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to := target()
				b.StartTimer()
				if err := dial(b, where+to).Push(context.Background(), from, []transport.Update{{Name: benchBranch, New: r.tip}}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("git/"+name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				to := target()
				b.StartTimer()
				r.g.in(r.dir).run("push", "-q", where+to, benchBranch+":"+benchBranch)
			}
		})
	}
}
