package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// benchItems is the size of the registry in benchmarks: that of the table of
// numbers to reach.
const benchItems = 10_000

// meter counts what a server sends and takes.
type meter struct {
	h        http.Handler
	out, in  atomic.Int64
	requests atomic.Int64
}

type meterWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (m *meterWriter) Write(b []byte) (int, error) {
	n, err := m.ResponseWriter.Write(b)
	m.n.Add(int64(n))
	return n, err
}

func (m *meterWriter) Flush() {
	if f, ok := m.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.requests.Add(1)
	m.in.Add(max(r.ContentLength, 0))
	m.h.ServeHTTP(&meterWriter{w, &m.out}, r)
}

func (w *world) meter(b testing.TB) *meter {
	m := &meter{h: &githost.Server{Root: filepath.Dir(w.dir), AllowPush: true}}
	h := httptest.NewServer(m)
	b.Cleanup(h.Close)
	w.url = h.URL + "/reg.git"
	return m
}

// benchKey is a key as people have one: those of tests are strangers' signers,
// whose every signature is verified.
var benchKey = sync.OnceValue(func() *trust.FileKey {
	k, err := trust.GenerateKey()
	if err != nil {
		panic(err)
	}
	return k
})

var benchItemsOnce = sync.OnceValue(func() []*Item {
	t := &quietTB{}
	items := make([]*Item, benchItems)
	for i := range items {
		v := verified(t, benchKey(), fmt.Sprintf("acme/knowledge/group%02d/entry%05d", i%37, i), "1.0.0",
			fmt.Sprintf("Entry %d says something of its own, as entries of a real registry do: %x.", i, i*7919))
		items[i] = item(t, v, oplog.Meta{Description: fmt.Sprintf("What entry %d is about", i)})
	}
	return items
})

func bigPublication() Publication {
	return Publication{Namespace: "acme", Items: benchItemsOnce(), By: By{Signer: benchKey()}}
}

// BenchmarkPublish10000 makes 10,000 versions, writes one operation with its state and
// pushes them, all counted; and in turn with it git pushes the same objects, which
// lie in a pack already, to the same server. One run of nine rounds:
//
//	go test -run xxx -bench Publish10000 -benchtime 9x ./registry
func BenchmarkPublish10000(b *testing.B) {
	p := bigPublication()
	done := published(b)
	var ours, gits []time.Duration
	for b.Loop() {
		w := newWorld(b, oplog.ClaimsOpen)
		m := w.machine(b)
		w.sync(m)
		start := time.Now()
		got, err := m.Publish(w.ctx, p)
		if err != nil || len(got.Published) != benchItems {
			b.Fatal(len(got.Published), err)
		}
		ours = append(ours, time.Since(start))
		empty := emptyWorld(b)
		start = time.Now()
		testkit.Git(b, done.dir, "push", "-q", empty.url, "refs/heads/ns/acme", "refs/heads/content/acme")
		gits = append(gits, time.Since(start))
	}
	mid := func(d []time.Duration) float64 { slices.Sort(d); return d[len(d)/2].Seconds() * 1e3 }
	b.ReportMetric(mid(ours), "rye-ms")
	b.ReportMetric(mid(gits), "git-push-ms")
	b.ReportMetric(mid(ours)/mid(gits), "ratio")
}

// published is a registry of benchItems items.
func published(b *testing.B) *world {
	w := newWorld(b, oplog.ClaimsOpen)
	if _, err := w.machine(b).Publish(w.ctx, bigPublication()); err != nil {
		b.Fatal(err)
	}
	return w
}

// BenchmarkPublishOneMore appends one item to a registry of 10,000.
func BenchmarkPublishOneMore(b *testing.B) {
	w := published(b)
	in := w.meter(b)
	m := w.machine(b)
	w.sync(m, "acme")
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		w.now = w.now.Add(time.Minute)
		p := publication(b, benchKey(), fmt.Sprintf("acme/knowledge/more%d@1.0.0", n))
		next := m.reopen(w, nil)
		before := in.in.Load()
		b.StartTimer()
		if _, err := next.Publish(w.ctx, p); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(in.in.Load()-before), "B-sent")
	}
}

// BenchmarkFetchOneOf10000 brings one item with the state known, as a process
// that starts from the files on disk: sync, select, fetch.
func BenchmarkFetchOneOf10000(b *testing.B) {
	w := published(b)
	out := w.meter(b)
	m := w.machine(b)
	w.sync(m, "acme")
	n := 0
	for b.Loop() {
		b.StopTimer()
		m = m.reopen(w, nil)
		ref := benchItemsOnce()[(n*7919)%benchItems].entry.Ref
		n++
		before, requests := out.out.Load(), out.requests.Load()
		b.StartTimer()
		w.sync(m, "acme")
		rel, err := m.Select(ref, mustRange("^1.0.0"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := m.Fetch(w.ctx, rel); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.out.Load()-before), "B-received")
		b.ReportMetric(float64(out.requests.Load()-requests), "requests")
	}
}

// BenchmarkFirstContact is the same with nothing known, replayed from the claim;
// and from a checkpoint of the root.
func BenchmarkFirstContact(b *testing.B) {
	w := published(b)
	out := w.meter(b)
	run := func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m := w.machine(b)
			before := out.out.Load()
			b.StartTimer()
			w.sync(m, "acme")
			rel, err := m.Select(benchItemsOnce()[7].entry.Ref, mustRange("*"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := m.Fetch(w.ctx, rel); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out.out.Load()-before)/1e6, "MB-received")
		}
	}
	b.Run("genesis", run)
	admin, by := w.machine(b), By{Signer: w.root}
	if err := admin.Grant(w.ctx, by, "acme", benchKey().Public()); err != nil { // only what is granted has checkpoints
		b.Fatal(err)
	}
	if err := admin.Checkpoint(w.ctx, by, "acme"); err != nil {
		b.Fatal(err)
	}
	b.Run("checkpoint", run)
	b.Run("git-clone", func(b *testing.B) {
		for b.Loop() {
			testkit.Git(b, b.TempDir(), "clone", "-q", "--bare", w.url, "c")
		}
	})
}

// BenchmarkSyncNothingNew beside git fetch, a process each: ours runs in a fresh
// process of the test binary, so that both pay for starting.
func BenchmarkSyncNothingNew(b *testing.B) {
	w := published(b)
	m := w.machine(b)
	w.sync(m, "acme")
	clone := filepath.Join(b.TempDir(), "c")
	testkit.Git(b, b.TempDir(), "clone", "-q", "--bare", w.url, clone)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	b.Run("rye-in-process", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m = m.reopen(w, nil)
			b.StartTimer()
			w.sync(m, "acme")
		}
	})
	b.Run("git-fetch", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "-C", clone, "fetch", "-q", "origin", "+refs/heads/*:refs/heads/*")
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// BenchmarkLoadState is what every command pays that asks a registry of 10,000.
func BenchmarkLoadState(b *testing.B) {
	w := published(b)
	m := w.machine(b)
	w.sync(m, "acme")
	w.look(m)
	repo, err := store.Open(m.mem.CacheDir())
	if err != nil {
		b.Fatal(err)
	}
	defer repo.Close()
	mem, err := m.mem.Recall()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := loadState(repo, m.cached(), m.o.ID, "acme", mem["acme"])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Select(benchItemsOnce()[42].entry.Ref, mustRange("*")); err != nil {
			b.Fatal(err)
		}
	}
}

// operations publishes the first n items of benchItems, an operation each and ten in an
// hour: what a namespace is after some years.
func (w *world) operations(m *machine, from, n int) {
	for ; from < n; from += 10 {
		w.now = w.now.Add(time.Hour)
		w.tenOperations(m, min(from+10, n))
	}
}

func (w *world) tenOperations(m *machine, n int) {
	p := bigPublication()
	p.Items = p.Items[:n]
	versions, err := p.versions()
	if err != nil {
		w.t.Fatal(err)
	}
	job := &publishing{p: p, versions: versions}
	c := change{namespace: p.Namespace, by: p.By, refs: job.refs(), prepare: job.prepare,
		plan: func(s oplog.State) ([]oplog.Op, error) {
			var ops []oplog.Op
			if s.Seq == 0 {
				claim, err := job.claim(s)
				if err != nil {
					return nil, err
				}
				ops = append(ops, claim)
			}
			for _, v := range versions {
				if old, err := s.Lookup(v.entry.Ref, v.entry.Version); err != nil {
					return nil, err
				} else if old == nil {
					ops = append(ops, oplog.Op{Kind: oplog.OpPublish, Items: []oplog.Entry{v.entry}})
				}
			}
			return ops, nil
		}}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.advance(w.ctx, c); err != nil {
		w.t.Fatal(err)
	}
}

// BenchmarkVerify10000Operations replays a namespace of 10,001 operations with every
// change list: with everything fetched, with every object at hand, and again after
// one more operation.
func BenchmarkVerify10000Operations(b *testing.B) {
	w := newWorld(b, oplog.ClaimsOpen)
	w.operations(w.machine(b), 0, benchItems)
	run := func(m *machine) {
		w.sync(m, "acme")
		c, err := m.Verify(w.ctx, "acme", false)
		if err != nil || len(c.Missing) > 0 || c.Operations < benchItems {
			b.Fatal(c, err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m := w.machine(b)
			b.StartTimer()
			run(m)
		}
	})
	m := w.machine(b)
	run(m)
	b.Run("local", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m = m.reopen(w, nil)
			w.sync(m, "acme")
			b.StartTimer()
			if _, err := m.Examine(w.ctx, "acme"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m = m.reopen(w, nil)
			b.StartTimer()
			run(m)
		}
	})
}

// BenchmarkFirstContactLong is the first item from a namespace of 10,201 operations, whose
// root vouches for the first 10,001; and with the whole log replayed.
func BenchmarkFirstContactLong(b *testing.B) {
	w := newWorld(b, oplog.ClaimsOpen)
	pub := w.machine(b)
	w.operations(pub, 0, benchItems-200)
	out := w.meter(b)
	run := func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m := w.machine(b)
			before, requests := out.out.Load(), out.requests.Load()
			b.StartTimer()
			w.sync(m, "acme")
			rel, err := m.Select(benchItemsOnce()[7].entry.Ref, mustRange("*"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := m.Fetch(w.ctx, rel); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(out.out.Load()-before)/1e3, "kB-received")
			b.ReportMetric(float64(out.requests.Load()-requests), "requests")
		}
	}
	b.Run("genesis", run)
	by := By{Signer: w.root}
	if err := pub.Grant(w.ctx, by, "acme", benchKey().Public()); err != nil { // only what is granted has checkpoints
		b.Fatal(err)
	}
	if err := pub.Checkpoint(w.ctx, by, "acme"); err != nil {
		b.Fatal(err)
	}
	w.operations(pub, benchItems-200, benchItems)
	b.Run("checkpoint", run)
}
