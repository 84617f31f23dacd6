package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/githost"
	"github.com/rye-os/rye/internal/testkit"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/revoked"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/registry/oplog"
	"github.com/rye-os/rye/store"
)

// publisherEnv makes the test binary a process that publishes one item and ends:
// "url identity number [directory]".
const publisherEnv = "RYE_TEST_PUBLISHER"

func TestMain(m *testing.M) {
	if job := os.Getenv(publisherEnv); job != "" {
		if err := publisherProcess(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.UseMemory()
	os.Exit(m.Run())
}

func publisherProcess(job string) error {
	part := strings.Fields(job)
	id, err := objects.ParseDigest(part[1])
	if err != nil {
		return err
	}
	dir := ""
	if len(part) > 3 {
		dir = part[3]
	} else if dir, err = os.MkdirTemp("", "rye-publisher-*"); err != nil {
		return err
	} else {
		defer os.RemoveAll(dir)
	}
	r, err := Open(Options{URL: part[0], ID: id, CacheDir: filepath.Join(dir, "cache"), StateDir: filepath.Join(dir, "state"),
		Now: func() time.Time { return testTime }})
	if err != nil {
		return err
	}
	defer r.Close()
	t := &quietTB{}
	p := publication(t, newKey("ada"), fmt.Sprintf("acme/knowledge/n%s@1.0.0", part[2]))
	_, err = r.Publish(context.Background(), p)
	return errors.Join(err, t.err)
}

// quietTB lets a process use the helpers of tests.
type quietTB struct {
	testing.TB
	err error
}

func (q *quietTB) Helper() {}

func (q *quietTB) Fatal(a ...any) { panic(fmt.Sprint(a...)) }

func (q *quietTB) TempDir() string { return os.TempDir() } // for a trust store that is never written

// TestAttack57ConcurrentPublishers: as many processes as the list demands in the
// soak, fewer otherwise. All land, and the log is a line.
func TestAttack57ConcurrentPublishers(t *testing.T) {
	n := 8
	if os.Getenv("RYE_SOAK") != "" {
		n = 20
	}
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/first@1.0.0")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", publisherEnv, w.url, w.id.ID, i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("publisher %d: %v: %s", i, err, out)
			}
		})
	}
	wg.Wait()
	m := w.machine(t)
	w.sync(m, "acme")
	w.look(m)
	s, err := m.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(n + 2); s.Seq != want {
		t.Errorf("the log has %d operations, want %d", s.Seq, want)
	}
	for i := range n {
		if _, err := s.Entry(mustRef(fmt.Sprintf("acme/knowledge/n%d", i)), "1.0.0"); err != nil {
			t.Error(err)
		}
	}
}

// TestKilledPublishers kills publishing processes at every age, then checks that
// the registry is whole and that publishing goes on from the same cache.
func TestKilledPublishers(t *testing.T) {
	rounds := 6
	if os.Getenv("RYE_SOAK") != "" {
		rounds = 60
	}
	w := newWorld(t, oplog.ClaimsGranted)
	w.publish(w.machine(t), w.ada, "acme/knowledge/first@1.0.0")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	for i := range rounds {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", publisherEnv, w.url, w.id.ID, i, shared))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(4+7*i%61)*time.Millisecond, func() { cmd.Process.Kill() })
		cmd.Wait()
		timer.Stop()
	}
	testkit.Git(t, w.dir, "fsck", "--strict")
	o := w.options(t)
	o.CacheDir, o.StateDir = filepath.Join(shared, "cache"), filepath.Join(shared, "state")
	m := w.open(t, o)
	w.publish(m, w.ada, "acme/knowledge/last@1.0.0")
	fresh := w.machine(t)
	w.sync(fresh, "acme")
	w.look(fresh)
	s, err := fresh.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s.Entries(func(oplog.Entry) error { n++; return nil }); err != nil || uint64(n) != s.Seq-1 {
		t.Errorf("%d versions after %d operations, %v", n, s.Seq, err)
	}
}

// TestConcurrentPublishersInOneProcess shares one cache and one memory.
func TestConcurrentPublishersInOneProcess(t *testing.T) {
	const n = 20
	w := newWorld(t, oplog.ClaimsGranted)
	o := w.options(t)
	pubs := make([]Publication, n)
	for i := range pubs {
		pubs[i] = publication(t, w.ada, fmt.Sprintf("acme/knowledge/n%d@1.0.0", i))
	}
	var wg sync.WaitGroup
	for i := range n {
		m := w.open(t, o)
		wg.Go(func() {
			if _, err := m.Publish(w.ctx, pubs[i]); err != nil {
				t.Errorf("publisher %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	m := w.machine(t)
	w.sync(m, "acme")
	if s, err := m.View("acme"); err != nil || s.Seq != n+1 {
		t.Errorf("the log has %d operations, want %d (%v)", s.Seq, n+1, err)
	}
}

// flaky is a host that breaks connections when it is told to.
type flaky struct {
	h    http.Handler
	mu   sync.Mutex
	fail func(r *http.Request, before bool) bool
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil && f.fail(r, true) {
		panic(http.ErrAbortHandler)
	}
	if f.fail != nil && f.fail(r, false) {
		f.h.ServeHTTP(httptest.NewRecorder(), r) // done, but the answer is lost
		panic(http.ErrAbortHandler)
	}
	f.h.ServeHTTP(w, r)
}

// flakyWorld is a world behind a flaky host.
func flakyWorld(t *testing.T) (*world, *flaky) {
	w := newWorld(t, oplog.ClaimsGranted)
	f := &flaky{h: &githost.Server{Root: filepath.Dir(w.dir), AllowPush: true}}
	h := httptest.NewServer(f)
	t.Cleanup(h.Close)
	w.url = h.URL + "/reg.git"
	return w, f
}

// TestAttack58BrokenPush: the connection dies before the host took the push, or
// after it, when the publisher cannot know. The push is one ref update, so in
// both cases publishing goes on by itself and nothing is there twice.
func TestAttack58BrokenPush(t *testing.T) {
	for name, before := range map[string]bool{"before": true, "after": false} {
		t.Run(name, func(t *testing.T) {
			w, f := flakyWorld(t)
			m := w.machine(t)
			w.publish(m, w.ada, "acme/knowledge/a@1.0.0")
			broken := 0
			f.fail = func(r *http.Request, at bool) bool {
				hit := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") && at == before && broken == 0
				if hit {
					broken++
				}
				return hit
			}
			got := w.publish(m, w.ada, "acme/knowledge/b@1.0.0")
			if broken != 1 || len(got.Published) != 1 || got.Tip.Seq != 3 {
				t.Errorf("broken %d times; receipt = %+v", broken, got)
			}
			change := StatusChange{Names: []string{"acme/knowledge/b@1.0.0"}, Reason: "x", By: By{Signer: w.ada}}
			broken = 0
			if err := m.Mark(w.ctx, oplog.OpYank, change); err != nil || broken != 1 {
				t.Errorf("yank through a broken connection: %v", err)
			}
			testkit.Git(t, w.dir, "fsck", "--strict")
			fresh := w.machine(t)
			w.sync(fresh, "acme")
		})
	}
}

// TestStalledHost: a host that does not answer is a network error, in bounded time.
func TestStalledHost(t *testing.T) {
	release := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); h.Close() })
	w := &world{t: t, ctx: context.Background(), url: h.URL + "/reg.git", now: testTime}
	o := w.options(t)
	o.ID[0] = 1
	o.Transport.Stall = 50 * time.Millisecond
	wantCode(t, w.open(t, o).Sync(w.ctx, "acme"), fault.Network)
}

// TestInterruptedKeep plays a machine that dies between the steps of keeping a
// verified state: whatever is missing, the next sync mends.
func TestInterruptedKeep(t *testing.T) {
	w, h, m := attacked(t)
	steps := map[string]func(repo string){
		"memory written, cache without its ref": func(repo string) { os.RemoveAll(filepath.Join(repo, "refs", "rye")) },
		"memory written, what was seen lost":    func(repo string) { os.RemoveAll(filepath.Join(repo, "refs", "rye", "seen")) },
		"memory written, objects gone": func(repo string) {
			os.RemoveAll(filepath.Join(repo, "objects"))
			os.MkdirAll(filepath.Join(repo, "objects", "pack"), 0o700)
		},
		"memory not written yet":                     func(string) { os.RemoveAll(m.o.StateDir) },
		"cache being made: an empty directory there": func(repo string) { os.RemoveAll(repo) },
	}
	for name, breakIt := range steps {
		t.Run(name, func(t *testing.T) {
			m = m.reopen(w, nil)
			w.sync(m, "acme")
			m.Close()
			breakIt(filepath.Join(m.o.CacheDir, m.o.ID.Hex()+".git"))
			m = m.reopen(w, nil)
			w.sync(m, "acme")
			rel, err := m.Select(mustRef("acme/knowledge/b"), mustRange("*"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Fetch(w.ctx, rel); err != nil {
				t.Fatal(err)
			}
			if s, _ := m.View("acme"); s.Tip != h.state().Tip {
				t.Error("not at the tip")
			}
		})
	}
}

// TestRevocationsRememberedAtOnce: several registries over one state directory remember
// revocations of one namespace, and none of them is lost.
func TestRevocationsRememberedAtOnce(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	const several, each = 8, 25
	first := w.machine(t)
	if err := os.MkdirAll(first.o.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, several)
	var running sync.WaitGroup
	for p := range several {
		m := w.open(t, first.o)
		running.Go(func() {
			for i := range each {
				name := fmt.Sprintf("acme/knowledge/n%d@1.0.%d", p, i)
				v := revoked.Version{Digest: objects.DigestOf([]byte(name)), Name: name, Reason: "wrong"}
				errs[p] = errors.Join(errs[p], m.mem.RememberRevoked(w.ctx, "acme", []revoked.Version{v}))
			}
		})
	}
	running.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if all, err := revoked.All(revoked.Path(first.o.StateDir, first.o.ID, "acme")); err != nil || len(all) != several*each {
		t.Errorf("%d are remembered, %v; want %d", len(all), err, several*each)
	}
}

func TestBrokenMemoryIsNotForgotten(t *testing.T) {
	w, _, m := attacked(t)
	path := stateFile(m, ".seen")
	for _, damaged := range []string{"format: 1\n", "", "format: [", "not what was written\n"} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		wantCode(t, m.Sync(w.ctx, "acme"), fault.Integrity)
	}
}

func TestChangedCacheIsFoundOut(t *testing.T) {
	w, h, m := attacked(t)
	// A cache whose tip is another, validly signed, history.
	e := h.content(w.ada, "acme/knowledge/evil@1.0.0", "evil")
	h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, nil)
	testkit.Git(t, filepath.Join(m.o.CacheDir, m.o.ID.Hex()+".git"), "fetch", "-q", w.dir, "+ns/acme:refs/rye/verified/ns/acme")
	off := m.reopen(w, func(o *Options) { o.Offline = true })
	w.sync(off, "acme")
	_, err := off.Select(mustRef("acme/knowledge/evil"), mustRange("*"))
	wantCode(t, err, fault.NotFound)
}

func TestCheckpoint(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	pub := w.machine(t)
	for i := range 5 {
		w.publish(pub, w.ada, fmt.Sprintf("acme/knowledge/n%d@1.0.0", i))
	}
	early, err := pub.View("acme")
	if err != nil {
		t.Fatal(err)
	}
	admin := w.machine(t)
	if err := admin.Checkpoint(w.ctx, By{Signer: w.root}, "acme"); err != nil {
		t.Fatal(err)
	}
	w.publish(pub, w.ada, "acme/knowledge/late@1.0.0")
	m := w.machine(t)
	w.sync(m, "acme")
	log, err := m.History(w.ctx, "acme", 0)
	if err != nil || len(log) != 2 {
		t.Errorf("a newcomer has %d operations, want those from the checkpoint on (%v)", len(log), err)
	}
	s, err := m.View("acme")
	if err != nil || s.Seq != 7 {
		t.Fatalf("at %d, %v", s.Seq, err)
	}
	rel, err := m.Select(mustRef("acme/knowledge/n0"), mustRange("*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(w.ctx, rel); err != nil {
		t.Error(err)
	}
	// Of a lock from before the checkpoint nothing is said: the root vouches for what came since.
	h := w.host()
	first := h.stateAt(stateBefore(h, h.stateAt(early.At)))
	wantClaim(t, w, m, first.Seq, first.Tip, ClaimUnknown)

	// The host hides what the root vouches for: freeze, and mix-and-match.
	fresh := w.machine(t)
	w.sync(fresh)
	h.set(branchPrefix+"acme", first.At)
	fresh.refuses(t, w, "rollback")
	e := h.content(w.ada, "acme/knowledge/evil@1.0.0", "evil")
	for range 4 {
		h.write(forgery{s: h.state(), by: w.ada, op: publishOp(e)}, nil)
		e = h.content(w.ada, "acme/knowledge/evil@1.0."+fmt.Sprint(h.state().Seq), "evil")
	}
	fresh.refuses(t, w, "fork")
}

func TestThresholdOverTheWire(t *testing.T) {
	w := emptyWorld(t)
	bob, carol := newKey("bob"), newKey("carol")
	var err error
	w.id, err = Create(w.ctx, w.url, CreateOptions{Name: "Two of two", By: By{Signer: w.root}, Cosigners: []trust.Signer{bob}, Threshold: 2,
		TempDir: t.TempDir(), Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	m := w.machine(t)
	wantCode(t, m.Grant(w.ctx, By{Signer: w.root}, "acme", carol.pub), fault.Untrusted)
	op, err := m.Propose(w.ctx, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "acme", Keys: []trust.PublicKey{carol.pub}})
	if err != nil {
		t.Fatal(err)
	}
	travelled, err := oplog.ParseProposal(op.Message())
	if err != nil {
		t.Fatal(err)
	}
	if err := travelled.Approve(w.ctx, bob); err != nil {
		t.Fatal(err)
	}
	back, err := oplog.ParseProposal(travelled.Message())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CommitRoot(w.ctx, By{Signer: w.root}, back); err != nil {
		t.Fatal(err)
	}
	w.publish(w.machine(t), carol, "acme/knowledge/x@1.0.0")
	wantCode(t, m.CommitRoot(w.ctx, By{Signer: w.root}, back), fault.Conflict)
}

func TestNothingNewIsOneListing(t *testing.T) {
	w, _, m := attacked(t)
	m = m.reopen(w, nil)
	w.sync(m, "acme")
	if st := m.Stats(); st.Fetches != 0 || st.Listings != 1 {
		t.Errorf("stats = %+v, want one listing", st)
	}
}

func TestSHA256RepositoryIsRefused(t *testing.T) {
	w := emptyWorld(t)
	os.RemoveAll(w.dir)
	repo, err := store.InitFormat(w.dir, mainBranch, store.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	repo.Close()
	_, err = Create(w.ctx, w.url, CreateOptions{Name: "x", By: By{Signer: w.root}, TempDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "sha256") {
		t.Errorf("create: %v, want a refusal that names the format", err)
	}
}

// TestProposeWithoutNews: a command that finds nothing new at its sync proposes after
// the root that earlier ones verified.
func TestProposeWithoutNews(t *testing.T) {
	w := newWorld(t, oplog.ClaimsGranted)
	m := w.machine(t)
	w.sync(m)
	op, err := m.reopen(w, nil).Propose(w.ctx, oplog.RootOp{Kind: oplog.OpGrant, Namespace: "other", Keys: []trust.PublicKey{w.ada.pub}})
	if err != nil || op.Seq != w.id.Seq+1 || op.Registry != w.id.ID {
		t.Errorf("Propose = operation %d of %s, %v; want %d of %s", op.Seq, op.Registry, err, w.id.Seq+1, w.id.ID)
	}
}
