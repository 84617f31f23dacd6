package ledger_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/testkit"
)

var ctx = context.Background()

var code = testkit.WantCode // for short

func sound(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	if err := l.Check(ctx); err != nil {
		t.Fatal(err)
	}
}

// node returns one node as the ledger has it.
func node(t testing.TB, l *ledger.Ledger, id string) ledger.Node {
	t.Helper()
	nodes, err := l.Tree(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return nodes[0]
}

func settle(t testing.TB, l *ledger.Ledger, key string, b ledger.Bill) (overdrawn bool) {
	t.Helper()
	over, err := l.Settle(ctx, key, b)
	if err != nil {
		t.Fatal(err)
	}
	return over
}

func hold(t testing.TB, l *ledger.Ledger, node, key string, a ledger.Amount) {
	t.Helper()
	if err := l.Hold(ctx, node, key, a, 0); err != nil {
		t.Fatal(err)
	}
}

// TestHoldFitsEveryNode fills each node above a thread, and the thread, in each dimension.
func TestHoldFitsEveryNode(t *testing.T) {
	for _, c := range []struct {
		name                         string
		user, month, project, thread ledger.Amount
		want                         ledger.Exceeded
	}{
		{"user", amount(100, -1), none, none, none, ledger.Exceeded{Node: "me", Kind: "user", What: "money", Cap: 100, Spent: 40, Held: 30, Asked: 31}},
		{"month", none, amount(100, 5000), none, none, ledger.Exceeded{Node: "2026-11", Kind: "month", What: "money", Cap: 100, Spent: 40, Held: 30, Asked: 31}},
		{"project", none, none, amount(-1, 1000), none, ledger.Exceeded{Node: "2026-11/p", Kind: "project", What: "tokens", Cap: 1000, Spent: 400, Held: 300, Asked: 301}},
		{"thread", none, none, none, amount(100, 1000), ledger.Exceeded{Node: "a", Kind: "thread", What: "money", Cap: 100, Spent: 40, Held: 30, Asked: 31}},
		{"above one with room for less than two", none, amount(100, -1), none, amount(125, -1), ledger.Exceeded{Node: "2026-11", Kind: "month", What: "money", Cap: 100, Spent: 40, Held: 30, Asked: 31}},
		{"the nearest", amount(100, -1), none, none, amount(-1, 1000), ledger.Exceeded{Node: "a", Kind: "thread", What: "tokens", Cap: 1000, Spent: 400, Held: 300, Asked: 301}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := open(t, at(t))
			put(t, l, family(c.user, c.month, c.project, c.thread, "a")...)
			hold(t, l, "a", "a/1/1", amount(50, 500))
			settle(t, l, "a/1/1", ledger.Bill{Amount: amount(40, 400)})
			hold(t, l, "a", "a/2/1", amount(30, 300))
			err := l.Hold(ctx, "a", "a/3/1", amount(31, 301), 0)
			code(t, "Hold beyond a cap", err, fault.Limit)
			var got *ledger.Exceeded
			if !errors.As(err, &got) || *got != c.want {
				t.Errorf("Hold beyond a cap: %+v (%v), want %+v", got, err, c.want)
			}
			if n := node(t, l, "me"); n.Held != amount(30, 300) || n.Spent != amount(40, 400) {
				t.Errorf("after a refused hold: %+v", n)
			}
			hold(t, l, "a", "a/3/1", amount(30, 300)) // to the last micro-dollar
			sound(t, l)
		})
	}
}

// TestChildrenShare shows that no child can be promised what its parent has not: five
// children with caps as large as their parent's hold no more than that together.
func TestChildrenShare(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, amount(300, -1), "root")...)
	held := 0
	for _, c := range []string{"c1", "c2", "c3", "c4", "c5"} {
		put(t, l, ledger.Node{ID: c, Parent: "root", Kind: ledger.Thread, Cap: amount(300, -1)})
		if err := l.Hold(ctx, c, c+"/1/1", amount(120, 0), 0); err == nil {
			held++
		} else {
			code(t, "Hold for "+c, err, fault.Limit)
		}
	}
	if held != 2 {
		t.Errorf("%d of five children hold 120 of 300, want 2", held)
	}
	room, err := l.Room(ctx, "c5")
	if err != nil || room != amount(60, -1) {
		t.Errorf("Room = %v, %v, want 60 and no limit", room, err)
	}
	// A bill beyond the hold is nobody's to refuse: it is told, up to the user.
	if !settle(t, l, "c1/1/1", ledger.Bill{Amount: amount(500, 7)}) {
		t.Error("500 billed for 120 held are not overdrawn")
	}
	for _, id := range []string{"c1", "root", "2026-11/p", "2026-11", "me"} {
		if n := node(t, l, id); !n.Overdrawn || n.Over != amount(380, 7) || n.Spent != amount(500, 7) {
			t.Errorf("%s after an overdraft: %+v", id, n)
		}
	}
	if n := node(t, l, "c2"); n.Overdrawn {
		t.Errorf("a sister is overdrawn: %+v", n)
	}
	if room, _ := l.Room(ctx, "c5"); room != amount(0, -1) {
		t.Errorf("Room below zero = %v, want 0", room)
	}
	code(t, "Hold after an overdraft", l.Hold(ctx, "c5", "c5/2/1", amount(0, 0), 0), fault.Limit)
	sound(t, l)
}

func TestKeysAreOnce(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, amount(100, 100), "a", "b")...)
	hold(t, l, "a", "k", amount(60, 6))
	hold(t, l, "a", "k", amount(60, 6)) // fits once only
	code(t, "another amount", l.Hold(ctx, "a", "k", amount(60, 7), 0), fault.Conflict)
	code(t, "another node", l.Hold(ctx, "b", "k", amount(60, 6), 0), fault.Conflict)
	bill := ledger.Bill{Amount: amount(50, 5)}
	if settle(t, l, "k", bill) || settle(t, l, "k", bill) {
		t.Error("50 billed for 60 held are overdrawn")
	}
	_, err := l.Settle(ctx, "k", ledger.Bill{Amount: amount(51, 5)})
	code(t, "another bill", err, fault.Conflict)
	_, err = l.Settle(ctx, "k", ledger.Bill{Amount: amount(50, 5), Uncertain: true})
	code(t, "an uncertain bill after a certain one", err, fault.Conflict)
	code(t, "a hold under a settled key", l.Hold(ctx, "a", "k", amount(60, 6), 0), fault.Conflict)
	code(t, "a release of a settled key", l.Release(ctx, "k"), fault.Conflict)
	_, err = l.Settle(ctx, "nobody", bill)
	code(t, "a bill for nothing", err, fault.NotFound)
	if n := node(t, l, "me"); n.Spent != amount(50, 5) || n.Held != amount(0, 0) {
		t.Errorf("one call of 50: %+v", n)
	}

	hold(t, l, "a", "r", amount(10, 1))
	for range 2 {
		if err := l.Release(ctx, "r"); err != nil {
			t.Errorf("Release: %v", err)
		}
	}
	hold(t, l, "a", "r", amount(20, 2)) // a key that was released is free
	if settle(t, l, "r", ledger.Bill{Amount: amount(1, 1), Uncertain: true}) {
		t.Error("what is uncertain is overdrawn")
	}
	settle(t, l, "r", ledger.Bill{Uncertain: true})
	if n := node(t, l, "a"); n.Spent != amount(70, 7) || n.Uncertain != amount(20, 2) {
		t.Errorf("an uncertain call of at most 20: %+v", n)
	}
	sound(t, l)
}

func TestEpochsFence(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, none, "a")...)
	if err := l.Epoch(ctx, "a", 3); err != nil {
		t.Fatal(err)
	}
	if err := l.Epoch(ctx, "a", 2); err != nil {
		t.Fatal(err)
	}
	code(t, "a hold of an older epoch", l.Hold(ctx, "a", "k", amount(1, 1), 2), fault.Conflict)
	for _, h := range []struct {
		key   string
		epoch int64
	}{{"sent", 3}, {"not", 3}, {"told", 4}, {"now", 5}} {
		if err := l.Hold(ctx, "a", h.key, amount(10, 1), h.epoch); err != nil {
			t.Fatal(err)
		}
	}
	code(t, "a hold of the epoch before", l.Hold(ctx, "a", "late", amount(1, 1), 4), fault.Conflict)
	ended, err := l.Abandon(ctx, "a", 5, func(h ledger.Hold) (ledger.Bill, bool) {
		switch h.Key {
		case "sent":
			return ledger.Bill{Uncertain: true}, true
		case "told":
			return ledger.Bill{Amount: amount(12, 1)}, true
		}
		return ledger.Bill{}, false
	})
	if err != nil || len(ended) != 3 {
		t.Errorf("Abandon ended %v, %v, want three holds", ended, err)
	}
	n := node(t, l, "a")
	if n.Epoch != 5 || n.Held != amount(10, 1) || n.Spent != amount(22, 2) || n.Uncertain != amount(10, 1) || n.Over != amount(2, 0) {
		t.Errorf("after Abandon: %+v", n)
	}
	if ended, err = l.Abandon(ctx, "a", 6, nil); err != nil || len(ended) != 1 || node(t, l, "a").Uncertain != amount(20, 2) {
		t.Errorf("Abandon without decide: %v, %v, %+v", ended, err, node(t, l, "a"))
	}
	sound(t, l)
}

func TestCapsAndEnds(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, amount(10, -1), "a")...)
	put(t, l, family(amount(1, 1), none, none, amount(99, 99), "a")...) // there already: their caps stay
	if got := node(t, l, "a").Cap; got != amount(10, -1) {
		t.Errorf("cap after a second Put = %v", got)
	}
	if err := l.Raise(ctx, "a", amount(5, 5)); err != nil || node(t, l, "a").Cap != amount(15, -1) {
		t.Errorf("Raise by 5: %v, %+v", err, node(t, l, "a").Cap)
	}
	hold(t, l, "a", "k", amount(15, 1))
	if err := l.SetCap(ctx, "a", amount(7, 7)); err != nil {
		t.Error(err)
	}
	code(t, "a hold over a lowered cap", l.Hold(ctx, "a", "k2", amount(1, 1), 0), fault.Limit)
	if err := l.SetCap(ctx, "a", none); err != nil {
		t.Error(err)
	}
	if room, err := l.Room(ctx, "a"); err != nil || room != none {
		t.Errorf("Room without limits = %v, %v", room, err)
	}
	for range 2 {
		if err := l.End(ctx, "a"); err != nil {
			t.Error(err)
		}
	}
	code(t, "a hold after the end", l.Hold(ctx, "a", "k3", amount(1, 1), 0), fault.Conflict)
	code(t, "a child after the end", l.Put(ctx, ledger.Node{ID: "child", Parent: "a", Kind: ledger.Thread, Cap: none}), fault.Conflict)
	settle(t, l, "k", ledger.Bill{Amount: amount(3, 1)}) // what was held can be settled
	if err := l.Epoch(ctx, "a", 1); err != nil {
		t.Error(err)
	}
	if err := l.Hold(ctx, "a", "k3", amount(1, 1), 1); err != nil {
		t.Errorf("a hold after a node was opened again: %v", err)
	}
	sound(t, l)
}

// TestRefusals are what no caller may do.
func TestRefusals(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, none, "a")...)
	for _, c := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"no parent", l.Put(ctx, ledger.Node{ID: "x", Parent: "nobody", Kind: ledger.Thread, Cap: none}), fault.NotFound},
		{"a thread on a month", l.Put(ctx, ledger.Node{ID: "x", Parent: "2026-11", Kind: ledger.Thread, Cap: none}), fault.Usage},
		{"a thread on nothing", l.Put(ctx, ledger.Node{ID: "x", Kind: ledger.Thread, Cap: none}), fault.Usage},
		{"a user on a user", l.Put(ctx, ledger.Node{ID: "x", Parent: "me", Kind: ledger.User, Cap: none}), fault.Usage},
		{"an unknown kind", l.Put(ctx, ledger.Node{ID: "x", Parent: "me", Kind: "pool", Cap: none}), fault.Usage},
		{"another parent", l.Put(ctx, ledger.Node{ID: "a", Parent: "a", Kind: ledger.Thread, Cap: none}), fault.Conflict},
		{"a long id", l.Put(ctx, ledger.Node{ID: strings.Repeat("x", 201), Parent: "a", Kind: ledger.Thread, Cap: none}), fault.Usage},
		{"a line end in an id", l.Put(ctx, ledger.Node{ID: "x\ny", Parent: "a", Kind: ledger.Thread, Cap: none}), fault.Usage},
		{"a cap of -2", l.Put(ctx, ledger.Node{ID: "x", Parent: "a", Kind: ledger.Thread, Cap: amount(-2, 0)}), fault.Usage},
		{"an unknown node", l.Hold(ctx, "nobody", "k", amount(1, 1), 0), fault.NotFound},
		{"less than nothing", l.Hold(ctx, "a", "k", amount(-1, 1), 0), fault.Usage},
		{"more than all", l.Hold(ctx, "a", "k", amount(1, ledger.Most+1), 0), fault.Usage},
		{"no key", l.Hold(ctx, "a", "", amount(1, 1), 0), fault.Usage},
		{"a raise downward", l.Raise(ctx, "a", amount(-1, 0)), fault.Usage},
		{"a raise of nobody", l.Raise(ctx, "nobody", amount(1, 0)), fault.NotFound},
		{"an end of nobody", l.End(ctx, "nobody"), fault.NotFound},
	} {
		code(t, c.name, c.err, c.want)
	}
	deep := "a"
	var err error
	for i := 0; err == nil && i < 100; i++ {
		next := "deep" + strings.Repeat("x", i)
		err = l.Put(ctx, ledger.Node{ID: next, Parent: deep, Kind: ledger.Thread, Cap: none})
		deep = next
	}
	code(t, "a tree without end", err, fault.Limit)
	_, err = l.Tree(ctx, "nobody")
	code(t, "Tree of nobody", err, fault.NotFound)
	_, err = l.Room(ctx, "nobody")
	code(t, "Room of nobody", err, fault.NotFound)
	// A batch is made whole or not at all.
	code(t, "half a batch", l.Put(ctx, ledger.Node{ID: "half", Parent: "a", Kind: ledger.Thread, Cap: none}, ledger.Node{ID: "x", Parent: "nobody", Kind: ledger.Thread, Cap: none}), fault.NotFound)
	_, err = l.Tree(ctx, "half")
	code(t, "Tree of half a batch", err, fault.NotFound)
	sound(t, l)
}

// TestManyLevels holds at the deepest level: every node above has it.
func TestManyLevels(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, none, "t0")...)
	last := "t0"
	for i := 1; i < 61; i++ {
		next := last + "x"
		put(t, l, ledger.Node{ID: next, Parent: last, Kind: ledger.Thread, Cap: none})
		last = next
	}
	hold(t, l, last, "k", amount(5, 1))
	nodes, err := l.Tree(ctx, "")
	if err != nil || len(nodes) != 64 {
		t.Fatalf("Tree = %d nodes, %v, want 64", len(nodes), err)
	}
	for _, n := range nodes {
		if n.Held != amount(5, 1) {
			t.Errorf("%s holds %v", n.ID, n.Held)
		}
	}
	sound(t, l)
}

func TestSpend(t *testing.T) {
	l := open(t, at(t))
	put(t, l, family(none, none, none, none, "a", "b")...)
	put(t, l, ledger.Node{ID: "a/child", Parent: "a", Kind: ledger.Thread, Cap: none})
	day := time.Date(2026, 11, 21, 23, 59, 59, 999_999_000, time.UTC)
	for i, c := range []struct {
		node, key, provider, model string
		money                      int64
		uncertain                  bool
		at                         time.Time
	}{
		{"a", "1", "anthropic", "large", 100, false, day},
		{"a", "2", "anthropic", "small", 10, false, day.Add(time.Microsecond)},
		{"a/child", "3", "anthropic", "large", 1000, false, day.Add(time.Hour)},
		{"b", "4", "openai", "large", 7, true, day.Add(2 * time.Hour)},
	} {
		hold(t, l, c.node, c.key, amount(500, 50))
		settle(t, l, c.key, ledger.Bill{Amount: amount(c.money, int64(i)), Uncertain: c.uncertain, Provider: c.provider, Model: c.model,
			Usage: rye.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, CacheLong: 4, Output: 5, Reasoning: 6}, Time: c.at})
	}
	spend := func(f ledger.Filter, by ...string) []ledger.Sum {
		t.Helper()
		all, err := l.Spend(ctx, f, by...)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := spend(ledger.Filter{})
	if n := node(t, l, "me"); len(all) != 1 || all[0].Spent != n.Spent || all[0].Uncertain != n.Uncertain || all[0].Over != n.Over || all[0].Usage != (rye.Usage{Input: 4, CacheRead: 8, CacheWrite: 12, CacheLong: 16, Output: 20, Reasoning: 24}) {
		t.Errorf("Spend = %+v, the user's node says %+v", all, n)
	}
	for _, c := range []struct {
		name string
		f    ledger.Filter
		by   string
		want map[string]int64
	}{
		{"a thread and its children", ledger.Filter{Node: "a"}, "thread", map[string]int64{"a": 110, "a/child": 1000}},
		{"model", ledger.Filter{}, "model", map[string]int64{"large": 1600, "small": 10}},
		{"one model", ledger.Filter{Model: "small"}, "provider", map[string]int64{"anthropic": 10}},
		{"project", ledger.Filter{Provider: "openai"}, "project", map[string]int64{"2026-11/p": 500}},
		{"month", ledger.Filter{}, "month", map[string]int64{"2026-11": 1610}},
		{"day", ledger.Filter{}, "day", map[string]int64{"2026-11-21": 100, "2026-11-22": 1510}},
		{"since", ledger.Filter{Since: day.Add(time.Hour)}, "thread", map[string]int64{"a/child": 1000, "b": 500}},
		{"until", ledger.Filter{Until: day.Add(time.Hour)}, "thread", map[string]int64{"a": 110}},
		{"nothing", ledger.Filter{Node: "nobody"}, "thread", map[string]int64{}},
	} {
		got := map[string]int64{}
		for _, s := range spend(c.f, c.by) {
			got[s.Month+s.Project+s.Thread+s.Provider+s.Model+s.Day] = int64(s.Spent.Money)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("Spend by %s = %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := l.Spend(ctx, ledger.Filter{}, "colour"); !fault.Is(err, fault.Usage) {
		t.Errorf("Spend by colour: %v", err)
	}
	var keys []string
	stop := errors.New("enough")
	err := l.Bills(ctx, ledger.Filter{}, func(n ledger.Line) error {
		keys = append(keys, n.Key)
		if n.Key == "3" {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || !reflect.DeepEqual(keys, []string{"1", "2", "3"}) {
		t.Errorf("Bills = %v, %v", keys, err)
	}
}

// TestClosed: what is closed refuses, twice closed is once, and a waiting caller can
// give up.
func TestClosed(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "a b?#%41", "ledger.db"))
	put(t, l, family(none, none, none, none, "a")...)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	code(t, "Hold by who has gone", l.Hold(gone, "a", "k", amount(1, 1), 0), fault.Interrupt)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	code(t, "Hold after Close", l.Hold(ctx, "a", "k", amount(1, 1), 0), fault.Failed)
	_, err := l.Tree(ctx, "me")
	code(t, "Tree after Close", err, fault.Failed)
}
