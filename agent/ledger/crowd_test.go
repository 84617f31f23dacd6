package ledger_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
)

func init() { jobs["crowd"] = crowdJob }

// act is one line of a thread's journal: it is about to do something, or has done it.
type act struct {
	Do   string // hold, settle, release; then held, refused, settled, released
	Key  string
	Hold ledger.Amount
	Bill ledger.Amount
}

// crowdJob is one thread that holds, settles more or less than that, and releases, at random.
// It writes what it does into a journal, before and after. args: ledger, journal, thread,
// epoch, seed, rounds.
func crowdJob(args []string) error {
	path, thread := args[0], args[2]
	var n [3]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(args[3+i], 10, 64); err != nil {
			return err
		}
	}
	epoch, random := n[0], rand.New(rand.NewPCG(uint64(n[1]), 0))
	f, err := os.OpenFile(args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	l, err := ledger.Open(ctx, path, ledger.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	journal := json.NewEncoder(f)
	ready()
	for i := range n[2] {
		a := act{Do: "hold", Key: fmt.Sprintf("%s/%d/%d", thread, epoch, i), Hold: amount(random.Int64N(100), random.Int64N(50))}
		if err := journal.Encode(a); err != nil {
			return err
		}
		a.Do = "held"
		if err := l.Hold(ctx, thread, a.Key, a.Hold, epoch); fault.Is(err, fault.Limit) {
			a.Do = "refused"
		} else if err != nil {
			return err
		}
		if random.Int64N(2*n[2]) == 0 { // held and, maybe, sent: nobody knows
			if err := journal.Encode(a); err != nil {
				return err
			}
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			return err
		}
		if err := errors.Join(journal.Encode(a), crowdEnd(l, journal, random, a)); err != nil {
			return err
		}
	}
	return nil
}

// crowdEnd settles or releases what was held.
func crowdEnd(l *ledger.Ledger, journal *json.Encoder, random *rand.Rand, a act) error {
	if a.Do == "refused" {
		return nil
	}
	if random.IntN(5) == 0 {
		a.Do = "release"
		err := errors.Join(journal.Encode(a), l.Release(ctx, a.Key))
		a.Do = "released"
		return errors.Join(err, journal.Encode(a))
	}
	a.Do, a.Bill = "settle", amount(random.Int64N(int64(a.Hold.Money)+1), random.Int64N(a.Hold.Tokens+1))
	if random.IntN(20) == 0 {
		a.Bill.Money = a.Hold.Money + 3
	}
	err := journal.Encode(a)
	for range 1 + random.IntN(2) { // sometimes twice
		over, serr := l.Settle(ctx, a.Key, ledger.Bill{Amount: a.Bill})
		if err = errors.Join(err, serr); serr == nil && over != (a.Bill.Money > a.Hold.Money) {
			err = errors.Join(err, fmt.Errorf("settle of %+v: overdrawn %t", a, over))
		}
	}
	a.Do = "settled"
	return errors.Join(err, journal.Encode(a))
}

// last reads the journal of a thread: the last line of each key. A torn end is no line.
func last(t *testing.T, path string) map[string]act {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]act{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var a act
		if json.Unmarshal(lines.Bytes(), &a) == nil {
			all[a.Key] = a
		}
	}
	return all
}

// TestCrowd has many processes spend from the same caps, kills many of them, lets others take
// over, and then compares every micro-dollar with their journals. Meanwhile somebody looks all
// the time whether a cap is exceeded. RYE_SOAK=1 has 32 processes and many rounds.
func TestCrowd(t *testing.T) {
	procs, lives, rounds := 6, 2, 60
	if soaking() {
		procs, lives, rounds = 32, 8, 400
	}
	path, dir := at(t), t.TempDir()
	l := open(t, path)
	threads := make([]string, procs)
	nodes := family(none, amount(0, -1), amount(-1, 0), none)
	for i := range threads {
		threads[i] = fmt.Sprintf("t%d", i)
		n := ledger.Node{ID: threads[i], Parent: "2026-11/p", Kind: ledger.Thread, Cap: amount(int64(lives*rounds*18), -1)}
		if i%3 == 2 { // every third hangs on the one before
			n.Parent = threads[i-1]
		}
		nodes = append(nodes, n)
	}
	put(t, l, nodes...)

	stop := watch(t, l)
	random := rand.New(rand.NewPCG(uint64(procs), 7))
	for life := range lives {
		var all []*process
		if err := l.Raise(ctx, "2026-11", amount(int64(procs*rounds*9), 0)); err != nil {
			t.Fatal(err)
		}
		if err := l.Raise(ctx, "2026-11/p", amount(0, int64(procs*rounds*7))); err != nil {
			t.Fatal(err)
		}
		for i, id := range threads {
			p := startJob(t, "crowd", path, filepath.Join(dir, id), id, strconv.Itoa(life), strconv.Itoa(life*1000+i), strconv.Itoa(rounds))
			all = append(all, p)
		}
		for _, p := range all {
			p.line(t)
		}
		for _, p := range all {
			p.release()
		}
		kill := random.Perm(procs)[:procs/2]
		for _, i := range kill { // each when it has come some way, which is another one each time
			waitFor(t, filepath.Join(dir, threads[i]), fmt.Sprintf("%s/%d/%d", threads[i], life, random.IntN(rounds/2)), all[i])
			all[i].Process.Kill()
		}
		for i, p := range all {
			if err := p.Wait(); err != nil && p.ProcessState.ExitCode() != -1 {
				t.Errorf("%s: %v", threads[i], err)
			}
		}
		for _, id := range threads {
			recover1(t, l, id, int64(life+1), last(t, filepath.Join(dir, id)))
		}
		sound(t, l)
	}
	stop()
	settleUp(t, l, dir, threads)
}

// waitFor returns when a key is in a journal, or the process has ended.
func waitFor(t *testing.T, journal, key string, p *process) {
	t.Helper()
	ended := make(chan struct{})
	go func() { p.out.ReadByte(); close(ended) }()
	for {
		if _, there := last(t, journal)[key]; there {
			return
		}
		select {
		case <-ended:
			return
		default:
		}
	}
}

// recover1 does what a thread does that takes over: what was sent and has no outcome is
// uncertain, what was not is released, what is known is settled.
func recover1(t *testing.T, l *ledger.Ledger, thread string, epoch int64, journal map[string]act) {
	t.Helper()
	_, err := l.Abandon(ctx, thread, epoch, func(h ledger.Hold) (ledger.Bill, bool) {
		switch a := journal[h.Key]; a.Do {
		case "settle":
			return ledger.Bill{Amount: a.Bill}, true
		case "held":
			return ledger.Bill{Uncertain: true}, true
		}
		return ledger.Bill{}, false
	})
	if err != nil {
		t.Fatal(err)
	}
}

// watch looks at the tree until it is stopped: what is spent and held never exceeds a cap but
// by what was billed beyond a hold.
func watch(t *testing.T, l *ledger.Ledger) (stop func()) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nodes, err := l.Tree(ctx, "")
			if err != nil {
				t.Error(err)
				return
			}
			for _, n := range nodes {
				within(t, n)
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	return func() { close(end); wg.Wait() }
}

func within(t *testing.T, n ledger.Node) {
	if n.Cap.Money >= 0 && n.Spent.Money+n.Held.Money-n.Over.Money > n.Cap.Money || n.Cap.Tokens >= 0 && n.Spent.Tokens+n.Held.Tokens-n.Over.Tokens > n.Cap.Tokens {
		t.Errorf("a cap is exceeded: %+v", n)
	}
}

// settleUp compares the ledger with the journals, call by call.
func settleUp(t *testing.T, l *ledger.Ledger, dir string, threads []string) {
	t.Helper()
	bills := map[string]ledger.Line{}
	var spent ledger.Amount
	if err := l.Bills(ctx, ledger.Filter{}, func(n ledger.Line) error {
		bills[n.Key] = n
		spent = plus(spent, n.Amount)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	refused, over := 0, false
	for _, id := range threads {
		for key, a := range last(t, filepath.Join(dir, id)) {
			b, billed := bills[key]
			delete(bills, key)
			switch a.Do {
			case "settle", "settled":
				if !billed || b.Amount != a.Bill || b.Held != a.Hold || b.Uncertain {
					t.Errorf("%s: the journal says %+v, the ledger %+v", key, a, b)
				}
				over = over || a.Bill.Money > a.Hold.Money
			case "held":
				if !billed || !b.Uncertain || b.Amount != a.Hold {
					t.Errorf("%s: held, and its process died; the ledger says %+v", key, b)
				}
			default:
				if billed {
					t.Errorf("%s: the journal says %s, the ledger %+v", key, a.Do, b)
				}
			}
			if a.Do == "refused" {
				refused++
			}
		}
	}
	for key := range bills {
		t.Errorf("%s: a bill for no call", key)
	}
	me := node(t, l, "me")
	if me.Spent != spent || me.Held != (ledger.Amount{}) || me.Overdrawn != over {
		t.Errorf("bills of %v, the user's node says %+v", spent, me)
	}
	if refused == 0 {
		t.Error("no hold was refused: the caps were too large to show anything")
	}
	t.Logf("spent %v of %v, uncertain %v, over %v, %d holds refused", me.Spent, node(t, l, "2026-11").Cap, me.Uncertain, me.Over, refused)
}
