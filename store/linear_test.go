package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// refOp is an operation on one ref, as its caller saw it.
type refOp struct {
	Kind string // "read", "append" (Edit: onto whatever is there), "cas" (Swap, git update-ref)
	Old  string // cas: what was expected
	New  string // append, cas: the new commit
	At   string // read: what it saw; append: the parent; cas that failed: where the ref was
	OK   bool
}

// refModel is a ref: a register that is read, appended to, and compared and swapped.
var refModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		op := input.(refOp)
		switch at := state.(string); {
		case op.Kind == "init":
			return true, op.New
		case op.Kind == "read":
			return at == op.At, at
		case op.Kind == "append":
			return at == op.At, op.New
		case op.OK:
			return at == op.Old, op.New
		default:
			return at == op.At && at != op.Old, at
		}
	},
}

// history collects the operations of all processes.
type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) add(client int, from, to int64, op refOp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: op, Call: from, Return: to})
}

// addLines adds what a child printed.
func (h *history) addLines(t *testing.T, client int, lines []string) {
	for _, line := range lines {
		var from, to int64
		var op refOp
		if _, err := fmt.Sscanf(line, "op %d %d %s %q %q %q %t", &from, &to, &op.Kind, &op.Old, &op.New, &op.At, &op.OK); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		h.add(client, from, to, op)
	}
}

// now is the clock of histories, the same in all processes of a machine.
func now() int64 { return time.Now().UnixNano() }

// childLinear makes commit i in one of two ways and tells what it saw, with reads
// in between.
func childLinear(r *Repo, name string, i int) error {
	tell := func(from int64, op refOp) {
		fmt.Printf("op %d %d %s %q %q %q %t\n", from, now(), op.Kind, op.Old, op.New, op.At, op.OK)
	}
	read := func() (OID, error) {
		from := now()
		tip, err := r.Ref(testHead)
		if err == nil {
			tell(from, refOp{Kind: "read", At: tip.String()})
		}
		return tip, err
	}
	ctx := context.Background()
	if i%3 != 0 {
		from := now()
		id, err := r.Edit(ctx, testHead, []Change{put(fmt.Sprintf("w/%s/f%d", name, i%5), fmt.Sprint(name, i))}, opts(fmt.Sprint(name, " ", i)))
		if err != nil {
			return err
		}
		to := now()
		c, err := r.Commit(id)
		if err != nil {
			return err
		}
		fmt.Printf("op %d %d append %q %q %q true\nack %s\n", from, to, "", id, c.Parent(), id)
		return nil
	}
	for {
		tip, err := read()
		if err != nil {
			return err
		}
		id, done, err := swapOnto(r, tip, fmt.Sprint(name, " swaps ", i), tell)
		if err != nil {
			return err
		}
		if done {
			fmt.Println("ack", id)
			_, err := read()
			return err
		}
	}
}

// swapOnto makes a commit on tip and moves the ref from tip to it, once.
func swapOnto(r *Repo, tip OID, msg string, tell func(int64, refOp)) (id OID, done bool, err error) {
	ctx := context.Background()
	c, err := r.Commit(tip)
	if err != nil {
		return OID{}, false, err
	}
	b := r.NewBatch()
	defer b.Discard()
	tree, err := b.EditTree(c.Tree, []Change{put("swapped", msg)})
	if err != nil {
		return OID{}, false, err
	}
	if id, err = b.Commit(ctx, tree, []OID{tip}, opts(msg)); err != nil {
		return OID{}, false, err
	}
	if err := b.Flush(ctx); err != nil {
		return OID{}, false, err
	}
	from := now()
	err = r.Swap(ctx, testHead, tip, id, "swap")
	op := refOp{Kind: "cas", Old: tip.String(), New: id.String(), OK: err == nil}
	var moved *ConflictError
	if errors.As(err, &moved) {
		op.At, err = moved.Got.String(), nil
	}
	if err == nil {
		tell(from, op)
	}
	return id, op.OK, err
}

// TestLinearizable: processes of rye commit to one ref, by Edit and by Swap, while
// plain git commits to it, packs refs, repacks, collects garbage and is pushed to,
// and rye compacts. Every acknowledged commit is reachable, and the history of the
// ref is one that a single register could have had.
func TestLinearizable(t *testing.T) {
	type size struct{ writers, commits, byGit int }
	sizes := []size{{4, 20, 5}}
	if soak() {
		sizes = []size{{8, 250, 60}, {16, 250, 60}}
	}
	for _, s := range sizes {
		t.Run(fmt.Sprintf("%d writers", s.writers), func(t *testing.T) { linear(t, s.writers, s.commits, s.byGit) })
	}
}

func linear(t *testing.T, writers, commits, byGit int) {
	r := newRepo(t)
	h := &history{}
	start := mustEdit(t, r, "start", put("start", "1"))
	h.add(writers+2, 0, 1, refOp{Kind: "init", New: start.String()})
	var procs []*proc
	for i := range writers {
		procs = append(procs, spawn(t, "linear", r.Dir(), fmt.Sprint("l", i), commits))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	tripped := &trips{seen: map[string]int{}}
	loop := func(f func(i int)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					f(i)
				}
			}
		}()
	}
	loop(func(int) {
		from := time.Now()
		if _, err := r.Compact(context.Background(), CompactOptions{}); err != nil {
			t.Errorf("compact: %v", err)
		}
		select { // it holds the write lock: leave the writers most of the time
		case <-stop:
		case <-time.After(4*time.Since(from) + 20*time.Millisecond):
		}
	})
	var acked []OID
	if gitBin != "" {
		wg.Add(1)
		go func() { defer wg.Done(); acked = gitAppending(t, r.Dir(), byGit, h, writers+1, tripped) }()
		gitLoops(t, r.Dir(), loop, tripped)
	}
	for _, p := range procs {
		if err := p.wait(); err != nil || len(p.errs) > 0 || len(p.acks) != commits {
			t.Errorf("a writer failed: %v, %v; %d of %d commits acknowledged", err, p.errs, len(p.acks), commits)
		}
	}
	close(stop)
	wg.Wait()
	for i, p := range procs {
		h.addLines(t, i, p.ops)
	}
	from := now()
	tip := mustRef(t, r, testHead)
	h.add(writers, from, now(), refOp{Kind: "read", At: tip.String()})

	count := wantAcks(t, r, append(procs, &proc{acks: acked})...)
	onBranch := 0
	must(t, r.Log(t.Context(), tip, func(*Commit) error { onBranch++; return nil }))
	if onBranch != 1+count {
		t.Errorf("%d commits on the branch, want %d", onBranch, 1+count)
	}
	checkHistory(t, h)
	fsck(t, r.Dir())
	wantLogs(t, r)
	t.Logf("%d writers, %d commits acknowledged (%d by git), %d operations in the history; git: %s",
		writers, count, len(acked), len(h.ops), tripped)
}

// checkHistory fails unless the history is linearizable.
func checkHistory(t *testing.T, h *history) {
	t.Helper()
	narrow(h.ops)
	sort.Slice(h.ops, func(i, j int) bool { return h.ops[i].Call < h.ops[j].Call })
	for _, o := range h.ops {
		if o.Call > o.Return {
			t.Fatalf("the history of %d operations is not linearizable: there is no time for %+v", len(h.ops), o.Input)
		}
	}
	if got := porcupine.CheckOperationsTimeout(refModel, h.ops, 2*time.Minute); got != porcupine.Ok {
		t.Errorf("the history of %d operations is not linearizable: %s", len(h.ops), got)
	}
}

// narrow takes from the times of operations what no order of them can use: a ref has each
// value once, so each was there after the one that it replaced and before the next. What
// can be in order stays so, and what cannot does not; but porcupine, which would try the
// reads of sixteen processes in every order, finds one at once.
func narrow(ops []porcupine.Operation) {
	var line []*porcupine.Operation             // those that set a value, in order
	seen := map[string][]*porcupine.Operation{} // those that found it
	after := map[string]*porcupine.Operation{}  // the one that replaced it
	for i := range ops {
		switch op := ops[i].Input.(refOp); {
		case op.Kind == "init":
			line = append(line, &ops[i])
		case op.Kind == "append":
			after[op.At] = &ops[i]
		case op.Kind == "cas" && op.OK:
			after[op.Old] = &ops[i]
		default:
			seen[op.At] = append(seen[op.At], &ops[i])
		}
	}
	value := func(o *porcupine.Operation) string { return o.Input.(refOp).New }
	for next := after[value(line[0])]; next != nil && len(line) <= len(ops); next = after[value(next)] {
		line = append(line, next)
	}
	from := line[0].Call
	for _, o := range line {
		from = max(from, o.Call)
		o.Call = from
		for _, r := range seen[value(o)] {
			r.Call = max(r.Call, o.Call)
			from = max(from, r.Call) // the next value came after
		}
	}
	to := line[len(line)-1].Return
	for i := len(line) - 1; i >= 0; i-- {
		o := line[i]
		for _, r := range seen[value(o)] {
			if i+1 < len(line) {
				r.Return = min(r.Return, to)
			}
			o.Return = min(o.Return, r.Return)
		}
		to = min(to, o.Return)
		o.Return = to
	}
}

// TestHistoriesCanFail: the model refuses what must never happen.
func TestHistoriesCanFail(t *testing.T) {
	init := porcupine.Operation{ClientId: 9, Input: refOp{Kind: "init", New: "a"}, Call: 0, Return: 1}
	op := func(client int, from, to int64, o refOp) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: o, Call: from, Return: to}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"one after the other": {[]porcupine.Operation{
			op(1, 2, 5, refOp{Kind: "append", At: "a", New: "b"}), op(2, 3, 6, refOp{Kind: "cas", Old: "b", New: "c", OK: true}),
			op(1, 7, 8, refOp{Kind: "read", At: "c"})}, true},
		"a lost update": {[]porcupine.Operation{
			op(1, 2, 5, refOp{Kind: "append", At: "a", New: "b"}), op(2, 3, 6, refOp{Kind: "cas", Old: "a", New: "c", OK: true}),
			op(1, 7, 8, refOp{Kind: "read", At: "c"})}, false},
		"a stale read": {[]porcupine.Operation{
			op(1, 2, 3, refOp{Kind: "append", At: "a", New: "b"}), op(2, 4, 5, refOp{Kind: "read", At: "a"})}, false},
		"a false conflict": {[]porcupine.Operation{
			op(1, 2, 3, refOp{Kind: "cas", Old: "a", New: "b", At: "a"})}, false},
	} {
		all := append([]porcupine.Operation{init}, c.ops...)
		if got := porcupine.CheckOperations(refModel, all); got != c.want {
			t.Errorf("%s: linearizable %v, want %v", name, got, c.want)
		}
		narrow(all)
		ordered := !slices.ContainsFunc(all, func(o porcupine.Operation) bool { return o.Call > o.Return })
		if got := ordered && porcupine.CheckOperations(refModel, all); got != c.want {
			t.Errorf("%s, with narrower times: linearizable %v, want %v", name, got, c.want)
		}
	}
}

// TestNarrowChangesNothing: random histories, some of them impossible, are in order
// with narrower times where they were before, and nowhere else.
func TestNarrowChangesNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	can := 0
	for range 3000 {
		ops := []porcupine.Operation{{ClientId: 9, Input: refOp{Kind: "init", New: "0"}, Call: 0, Return: 1}}
		at := 0
		for i := range 2 + rnd.IntN(7) {
			point := int64(10 * (i + 1))
			o := porcupine.Operation{ClientId: i, Call: point - rnd.Int64N(15), Return: point + rnd.Int64N(15)}
			o.Call = max(o.Call, 2)
			if rnd.IntN(4) == 0 { // a time that it may not have had
				o.Call, o.Return = o.Call+30, o.Return+30
			}
			now, next := fmt.Sprint(at), fmt.Sprint(at+1)
			switch rnd.IntN(4) {
			case 0:
				o.Input, at = refOp{Kind: "append", At: now, New: next}, at+1
			case 1:
				o.Input, at = refOp{Kind: "cas", Old: now, New: next, OK: true}, at+1
			case 2:
				o.Input = refOp{Kind: "cas", Old: fmt.Sprint(at - 1), At: now}
			default:
				o.Input = refOp{Kind: "read", At: now}
			}
			ops = append(ops, o)
		}
		want := porcupine.CheckOperations(refModel, ops)
		text := fmt.Sprint(ops)
		narrow(ops)
		got := !slices.ContainsFunc(ops, func(o porcupine.Operation) bool { return o.Call > o.Return }) && porcupine.CheckOperations(refModel, ops)
		if got != want {
			t.Fatalf("linearizable %v, with narrower times %v:\n%s\n%v", want, got, text, ops)
		}
		if want {
			can++
		}
	}
	if can < 300 || can > 2700 {
		t.Errorf("%d of 3,000 can be: this compares little", can)
	}
}

// gitAppending commits with git's plumbing, as rye's writers do, and keeps the
// history of what it saw.
func gitAppending(t *testing.T, dir string, n int, h *history, client int, tripped *trips) (acked []OID) {
	for i := range n {
		for tries := 0; ; tries++ {
			if tries == 5000 {
				t.Errorf("git did not get through to the branch")
				return acked
			}
			from := now()
			tip, err := tryGit(dir, nil, "rev-parse", testHead)
			if tip = strings.TrimSpace(tip); err != nil {
				t.Errorf("git rev-parse: %s", tip)
				return acked
			}
			h.add(client, from, now(), refOp{Kind: "read", At: tip})
			id, err := tryGit(dir, nil, "commit-tree", "-p", tip, "-m", fmt.Sprint("git ", i), tip+"^{tree}")
			if id = strings.TrimSpace(id); err != nil {
				tripped.count(t, []string{"commit-tree"}, id)
				continue
			}
			from = now()
			out, err := tryGit(dir, nil, "update-ref", testHead, id, tip)
			op := refOp{Kind: "cas", Old: tip, New: id, OK: err == nil}
			if m := gitConflict.FindStringSubmatch(out); m != nil {
				op.At = m[1]
			} else if err != nil {
				tripped.count(t, []string{"update-ref"}, out)
				continue
			}
			h.add(client, from, now(), op)
			if op.OK {
				o, _ := ParseOID(id)
				acked = append(acked, o)
				break
			}
		}
	}
	return acked
}

var gitConflict = regexp.MustCompile(`is at ([0-9a-f]{40,64}) but expected`)

// gitLoops does in loops, each beside the others, what users of git do.
func gitLoops(t *testing.T, dir string, loop func(func(int)), tripped *trips) {
	clone := filepath.Join(t.TempDir(), "clone.git")
	git(t, "", "clone", "-q", "--bare", dir, clone)
	run := func(dir string, args ...string) {
		tripped.mu.Lock()
		tripped.runs++
		tripped.mu.Unlock()
		if out, err := tryGit(dir, nil, args...); err != nil {
			tripped.count(t, args, out)
		}
		time.Sleep(5 * time.Millisecond) // leave the others some of two cores
	}
	loop(func(i int) {
		run(dir, "update-ref", fmt.Sprintf("refs/heads/git/%d", i%5), testHead)
		run(dir, "update-ref", "-d", fmt.Sprintf("refs/heads/git/%d", (i+1)%5))
	})
	loop(func(int) { run(dir, "pack-refs", "--all", "--prune") })
	loop(func(int) { run(dir, "repack", "-adq") })
	loop(func(int) { run(dir, "gc", "-q") })
	loop(func(i int) {
		run(clone, "fetch", "-q", dir, "+"+testHead+":refs/heads/got")
		run(clone, "push", "-q", "--force", dir, fmt.Sprintf("refs/heads/got:refs/heads/pushed/%d", i%3))
	})
}
