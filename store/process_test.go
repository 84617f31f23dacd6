package store

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// TestMain lets the test binary be one of its own child processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__import" { // started by ImportApart
		if len(os.Args) == 7 {
			misbehave(os.Args[2])
		}
		os.Exit(ServeImport(os.Args[2:], os.Stdin, os.Stdout))
	}
	if job := os.Getenv("RYE_TEST_CHILD"); job != "" {
		if err := child(job); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.UseMemory()
	os.Exit(m.Run())
}

// soak reports whether the long versions of tests are asked for (make soak).
func soak() bool { return os.Getenv("RYE_SOAK") != "" }

// child is one process of the tests below. It prints "ack <id>" for every commit
// that it was told is durable.
func child(job string) error {
	dir, name, n := os.Getenv("RYE_TEST_DIR"), os.Getenv("RYE_TEST_NAME"), 0
	fmt.Sscan(os.Getenv("RYE_TEST_N"), &n)
	r, err := Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	var steps atomic.Int64
	if die, _ := strconv.ParseInt(os.Getenv("RYE_TEST_KILL_AT"), 10, 64); die > 0 {
		testOnlyStep = func() error {
			if steps.Add(1) == die {
				p, _ := os.FindProcess(os.Getpid())
				p.Kill()
				select {}
			}
			return nil
		}
	}
	for i := range n {
		switch job {
		case "edit":
			err = childEdit(r, name, i)
		case "hold":
			err = childHolds(r, name)
		case "linear":
			err = childLinear(r, name, i)
		case "compact":
			_, err = r.Compact(context.Background(), CompactOptions{})
		case "mixed": // everything that writes, to be killed in the middle of
			if err = childEdit(r, name, i); err == nil {
				err = childMixed(r, name, i)
			}
		}
		if err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	return nil
}

func childEdit(r *Repo, name string, i int) error {
	changes := []Change{
		put(fmt.Sprintf("w/%s/f%d", name, i%5), fmt.Sprint(name, " ", i)),
		put("shared", fmt.Sprint(name, " ", i)),
	}
	if i%7 == 6 { // through a pack
		for j := range 80 {
			changes = append(changes, put(fmt.Sprintf("w/%s/p%d/%d", name, j%9, j), fmt.Sprint(name, i, j)))
		}
	}
	o := opts(fmt.Sprint("commit ", name, " ", i))
	o.When = time.Now()
	id, err := r.Edit(context.Background(), testHead, changes, o)
	if err == nil {
		fmt.Println("ack", id)
	}
	return err
}

// childMixed batches commits onto a ref of its own, which it makes, moves and
// deletes together with another.
func childMixed(r *Repo, name string, i int) error {
	ctx := context.Background()
	b := r.NewBatch()
	defer b.Discard()
	tree, err := b.EditTree(OID{}, []Change{put("x", fmt.Sprint(name, i))})
	if err != nil {
		return err
	}
	id, err := b.Commit(ctx, tree, nil, opts(fmt.Sprint("own ", name, i)))
	if err != nil {
		return err
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	own := fmt.Sprintf("refs/heads/own/%s/%d", name, i)
	if err := r.SwapAll(ctx, []Update{{own + "a", OID{}, id}, {own + "b", OID{}, id}}, "make"); err != nil {
		return err
	}
	fmt.Println("ack", id)
	if err := r.SwapAll(ctx, []Update{{own + "b", id, OID{}}}, "delete"); err != nil || i != 1 && i%20 != 5 {
		return err
	}
	return childKeeps(r, own+"c", id)
}

// comeBack takes in what id leads to as if it came from outside.
func comeBack(ctx context.Context, r *Repo, id OID) (*Quarantine, error) {
	var stream bytes.Buffer
	if err := r.PackFor(ctx, &stream, []OID{id}, nil); err != nil {
		return nil, err
	}
	q, err := r.Import(ctx, &stream, Limits{})
	if err != nil {
		return nil, err
	}
	if err := q.Accept(ctx, id); err != nil {
		q.Discard()
		return nil, err
	}
	return q, nil
}

// childKeeps takes a commit in from outside, onto a ref, and keeps the repository in order.
func childKeeps(r *Repo, name string, id OID) error {
	ctx := context.Background()
	q, err := comeBack(ctx, r, id)
	if err != nil {
		return err
	}
	defer q.Discard()
	if err := r.Swap(ctx, name, OID{}, id, "import"); err != nil {
		return err
	}
	if _, err := r.Sweep(ctx, false); err != nil {
		return err
	}
	_, err = r.Compact(ctx, CompactOptions{})
	return err
}

type proc struct {
	cmd   *exec.Cmd
	acks  []OID
	ops   []string // lines of childLinear
	errs  []string
	first chan struct{} // closed with the first line, or the end
	done  chan struct{}
}

// spawn starts a child; its acks are collected until it ends.
func spawn(t testing.TB, job, dir, name string, n int, env ...string) *proc {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &proc{cmd: exec.Command(exe), first: make(chan struct{}), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "RYE_TEST_CHILD="+job, "RYE_TEST_DIR="+dir, "RYE_TEST_NAME="+name, fmt.Sprint("RYE_TEST_N=", n))
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		begun := sync.OnceFunc(func() { close(p.first) })
		defer begun()
		for s := bufio.NewScanner(out); s.Scan(); begun() {
			hex, ok := strings.CutPrefix(s.Text(), "ack ")
			if id, err := ParseOID(hex); ok && err == nil {
				p.acks = append(p.acks, id)
			} else if strings.HasPrefix(s.Text(), "op ") {
				p.ops = append(p.ops, s.Text())
			} else {
				p.errs = append(p.errs, s.Text())
			}
		}
	}()
	return p
}

// wait waits for the end of the child, however it comes.
func (p *proc) wait() error {
	<-p.done
	return p.cmd.Wait()
}

// reachable is every commit that some ref leads to.
func reachable(t testing.TB, r *Repo) map[OID]bool {
	t.Helper()
	refs, err := r.Refs("refs/")
	if err != nil {
		t.Fatal(err)
	}
	var tips []OID
	for _, ref := range refs {
		tips = append(tips, ref.ID)
	}
	seen := map[OID]bool{}
	for todo := tips; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		c, err := r.Commit(id)
		if err != nil {
			t.Fatal(err)
		}
		todo = append(todo, c.Parents...)
	}
	return seen
}

// wantAcks fails for every acknowledged commit that no ref leads to.
func wantAcks(t testing.TB, r *Repo, procs ...*proc) (n int) {
	t.Helper()
	seen := reachable(t, r)
	for _, p := range procs {
		for _, id := range p.acks {
			if n++; !seen[id] {
				t.Errorf("acknowledged commit %s is lost", id)
			}
		}
	}
	return n
}

// TestManyProcessesAndGit: eight rye processes commit to one ref, while plain git
// commits to the same ref, moves others, packs refs and repacks.
func TestManyProcessesAndGit(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	n, gitCommits := 12, 6
	if soak() {
		n, gitCommits = 150, 80
	}
	var procs []*proc
	for i := range 8 {
		procs = append(procs, spawn(t, "edit", r.Dir(), fmt.Sprint("w", i), n))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var byGit []OID
	if gitBin != "" {
		wg.Add(3)
		go func() { defer wg.Done(); byGit = gitCommitting(t, r.Dir(), gitCommits) }()
		go func() { defer wg.Done(); gitMaintaining(t, r.Dir(), stop) }()
		go func() { defer wg.Done(); readers(t, r.Dir(), stop) }()
	}
	for _, p := range procs {
		if err := p.wait(); err != nil || len(p.errs) > 0 {
			t.Errorf("a writer failed: %v, %v", err, p.errs)
		}
		if len(p.acks) != n {
			t.Errorf("%d of %d commits acknowledged", len(p.acks), n)
		}
	}
	close(stop)
	wg.Wait()
	wantAcks(t, r, procs...)
	seen := reachable(t, r)
	for _, id := range byGit {
		if !seen[id] {
			t.Errorf("git's commit %s is lost", id)
		}
	}
	count := 0
	tip, _ := r.Ref(testHead)
	r.Log(t.Context(), tip, func(*Commit) error { count++; return nil })
	if want := 1 + 8*n + len(byGit); count != want {
		t.Errorf("%d commits on the branch, want %d", count, want)
	}
	fsck(t, r.Dir())
}

// gitCommitting commits with git's own plumbing, retrying as its users do.
func gitCommitting(t *testing.T, dir string, n int) (acked []OID) {
	for i := range n {
		for range 2000 {
			tip, err := tryGit(dir, nil, "rev-parse", testHead)
			tip = strings.TrimSpace(tip)
			if err != nil {
				t.Errorf("git rev-parse: %s", tip)
				return acked
			}
			id, err := tryGit(dir, nil, "commit-tree", "-p", tip, "-m", fmt.Sprint("git ", i), tip+"^{tree}")
			if strings.Contains(id, "unable to create temporary file") {
				continue // its own git gc removed the directory in between
			}
			if err != nil {
				t.Errorf("git commit-tree: %s", id)
				return acked
			}
			id = strings.TrimSpace(id)
			if _, err = tryGit(dir, nil, "update-ref", testHead, id, tip); err == nil {
				o, _ := ParseOID(id)
				acked = append(acked, o)
				break
			}
		}
	}
	return acked
}

// readers read with one Repo that stays open, and with fresh ones.
func readers(t *testing.T, dir string, stop chan struct{}) {
	long, err := Open(dir)
	if err != nil {
		t.Error(err)
		return
	}
	defer long.Close()
	for {
		select {
		case <-stop:
			return
		default:
		}
		fresh, err := Open(dir)
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range []*Repo{long, fresh} {
			if err := readTip(r); err != nil {
				t.Errorf("a reader: %v", err)
			}
		}
		fresh.Close()
	}
}

func readTip(r *Repo) error {
	tip, err := r.Ref(testHead)
	if err != nil {
		return err
	}
	c, err := r.Commit(tip)
	if err != nil {
		return err
	}
	e, err := r.Lookup(c.Tree, "start")
	if err != nil {
		return err
	}
	_, err = r.Blob(e.ID, 0)
	return err
}

// TestKillAtEveryStep: a process is killed before each of its changes to the disk,
// one after the other, through an edit of loose files, one of a pack, a batch,
// creation and deletion of refs, loose and packed, an import, compacting, sweeping.
func TestKillAtEveryStep(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	every := 1
	if !soak() {
		every = 17
	}
	kills, stale := 0, 0
	for at := 1 + rand.Intn(every); ; at += every {
		if gitBin != "" {
			git(t, r.Dir(), "pack-refs", "--all", "--prune")
		}
		p := spawn(t, "mixed", r.Dir(), fmt.Sprint("s", at), 7, fmt.Sprint("RYE_TEST_KILL_AT=", at))
		err := p.wait()
		if len(p.errs) > 0 {
			t.Errorf("step %d: %v", at, p.errs)
		}
		if err == nil {
			break // it came to its end
		}
		kills++
		stale += len(refLocks(t, r))
		next := reopen(t, r)
		start := time.Now()
		if _, err := next.Edit(t.Context(), testHead, []Change{put("after", fmt.Sprint(at))}, opts(fmt.Sprint("after ", at))); err != nil {
			t.Fatalf("step %d: the next writer: %v", at, err)
		}
		if took := time.Since(start); took > lockPatience {
			t.Errorf("step %d: the next writer waited %v", at, took)
		}
		if l := refLocks(t, r); len(l) > 0 {
			t.Errorf("step %d: left %v", at, l)
		}
		wantAcks(t, next, p)
		wantLogs(t, next)
		next.Close()
	}
	fsck(t, r.Dir())
	if kills < 100/every || stale < 10/every {
		t.Errorf("%d kills, %d stale locks: the steps are not where they should be", kills, stale)
	}
	t.Logf("%d kills left %d stale locks", kills, stale)
	if keeps, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.keep")); len(keeps) > 0 {
		t.Errorf("left: %v", keeps)
	}
}

// wantLogs fails for logs of refs that do not exist, which git complains of, and for
// a branch whose log does not end where it is.
func wantLogs(t testing.TB, r *Repo) {
	t.Helper()
	names, err := r.RefLogs()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name == "HEAD" {
			continue
		}
		id, err := r.Ref(name)
		if err != nil {
			t.Errorf("the log of a ref that is not there: %v", err)
			continue
		}
		moves, err := r.RefLog(name)
		if err != nil || len(moves) == 0 || moves[len(moves)-1].New != id {
			t.Errorf("log of %s: %d moves, %v; the last does not lead to %s", name, len(moves), err, id)
		}
	}
}

// refLocks lists git's lock files.
func refLocks(t testing.TB, r *Repo) (locks []string) {
	err := filepath.Walk(r.Dir(), func(path string, fi os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") && filepath.Base(path) != lockName {
			locks = append(locks, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

// TestKill: a process is killed at a random moment; everything it acknowledged is
// there, git fsck is content, and the next writer works without any repair.
func TestKill(t *testing.T) {
	r := newRepo(t)
	mustEdit(t, r, "start", put("start", "1"))
	kills := 15
	if soak() {
		kills = 200
	}
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	acked := 0
	for i := range kills {
		p := spawn(t, "mixed", r.Dir(), fmt.Sprint("k", i), 1_000_000)
		q := spawn(t, "edit", r.Dir(), fmt.Sprint("q", i), 1_000_000)
		if i%4 > 0 { // else perhaps before it did anything
			<-p.first
		}
		time.Sleep(time.Duration(rng.Intn(100)) * time.Millisecond)
		p.cmd.Process.Kill()
		q.cmd.Process.Kill()
		p.wait()
		q.wait()
		if len(p.errs)+len(q.errs) > 0 {
			t.Errorf("kill %d: %v %v", i, p.errs, q.errs)
		}
		next := reopen(t, r)
		start := time.Now()
		if _, err := next.Edit(t.Context(), testHead, []Change{put("after", fmt.Sprint(i))}, opts(fmt.Sprint("after ", i))); err != nil {
			t.Fatalf("kill %d: the next writer: %v", i, err)
		}
		if took := time.Since(start); took > lockPatience {
			t.Errorf("kill %d: the next writer waited %v", i, took)
		}
		acked += wantAcks(t, next, p, q)
		wantLogs(t, next)
		if i%10 == 0 || i == kills-1 {
			fsck(t, r.Dir())
		}
		next.Close()
	}
	if acked < kills*3/4 {
		t.Errorf("only %d commits acknowledged in all", acked)
	}
	t.Logf("%d kills, %d commits acknowledged", kills, acked)
	last := reopen(t, r)
	if _, err := last.Put(t.Context(), TypeBlob, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if keeps, _ := filepath.Glob(filepath.Join(r.Dir(), "objects/pack/*.keep")); len(keeps) > 0 {
		t.Errorf("left: %v", keeps)
	}
	if nests, _ := filepath.Glob(filepath.Join(r.Dir(), tempName, "*")); len(nests) != 1 { // last's
		t.Errorf("left: %v", nests)
	}
	if l := refLocks(t, r); len(l) > 0 {
		t.Errorf("left: %v", l)
	}
}
