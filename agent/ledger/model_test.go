package ledger_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/agent/ledger"
	"github.com/rye-os/rye/fault"
)

// model is a ledger without sums, files or other processes.
type model struct {
	nodes map[string]*ledger.Node
	holds map[string]ledger.Hold
	bills map[string]ledger.Line
}

func plus(a, b ledger.Amount) ledger.Amount {
	return amount(int64(a.Money+b.Money), a.Tokens+b.Tokens)
}

// under says whether id is top, or below it.
func (m *model) under(id, top string) bool {
	for ; id != ""; id = m.nodes[id].Parent {
		if id == top {
			return true
		}
	}
	return false
}

// at adds up one node.
func (m *model) at(id string) ledger.Node {
	n := *m.nodes[id]
	for _, h := range m.holds {
		if m.under(h.Node, id) {
			n.Held = plus(n.Held, h.Amount)
		}
	}
	for _, b := range m.bills {
		if !m.under(b.Thread, id) {
			continue
		}
		n.Spent = plus(n.Spent, b.Amount)
		if b.Uncertain {
			n.Uncertain = plus(n.Uncertain, b.Amount)
		}
		n.Over = plus(n.Over, amount(max(0, int64(b.Money-b.Held.Money)), max(0, b.Tokens-b.Held.Tokens)))
	}
	n.Overdrawn = n.Over != ledger.Amount{}
	return n
}

func (m *model) hold(node, key string, a ledger.Amount, epoch int64) fault.Code {
	n := m.nodes[node]
	h, held := m.holds[key]
	_, billed := m.bills[key]
	if epoch < n.Epoch || billed || held && (h.Node != node || h.Amount != a) || n.Closed {
		return fault.Conflict
	}
	for id := node; id != "" && !held; id = m.nodes[id].Parent {
		n, full := m.at(id), func(limit, spent, held, asked int64) bool { return limit >= 0 && spent+held+asked > limit }
		if full(int64(n.Cap.Money), int64(n.Spent.Money), int64(n.Held.Money), int64(a.Money)) || full(n.Cap.Tokens, n.Spent.Tokens, n.Held.Tokens, a.Tokens) {
			return fault.Limit
		}
	}
	n.Epoch = epoch
	m.holds[key] = ledger.Hold{Key: key, Node: node, Epoch: epoch, Amount: a}
	return ""
}

func (m *model) settle(key string, b ledger.Bill) fault.Code {
	h, held := m.holds[key]
	was, billed := m.bills[key]
	switch {
	case billed && (was.Uncertain != b.Uncertain || !b.Uncertain && was.Amount != b.Amount):
		return fault.Conflict
	case billed:
		return ""
	case !held:
		return fault.NotFound
	}
	if b.Uncertain {
		b.Amount = h.Amount
	}
	delete(m.holds, key)
	m.bills[key] = ledger.Line{Key: key, Thread: h.Node, Held: h.Amount, Bill: b}
	return ""
}

func (m *model) release(key string) fault.Code {
	if _, billed := m.bills[key]; billed {
		return fault.Conflict
	}
	delete(m.holds, key)
	return ""
}

// TestModel does the same to a ledger and to the model, at random, and compares every node
// after every step. RYE_SOAK=1 has 300 rounds.
func TestModel(t *testing.T) {
	rounds := "12"
	if soaking() {
		rounds = "300"
	}
	if err := flag.Set("rapid.checks", rounds); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		path := filepath.Join(dir, strconv.Itoa(runs), "ledger.db")
		l, err := ledger.Open(ctx, path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(filepath.Dir(path))
		defer l.Close()
		m := &model{nodes: map[string]*ledger.Node{}, holds: map[string]ledger.Hold{}, bills: map[string]ledger.Line{}}
		s := &steps{l, m, path}
		for _, n := range family(none, amount(400, -1), amount(-1, 300), amount(150, 120), "a", "b") {
			s.put(t, n)
		}
		t.Repeat(map[string]func(*rapid.T){
			"hold": s.hold, "settle": s.settle, "release": s.release, "child": s.child, "node": s.node, "abandon": s.abandon, "rebuild": s.rebuild, "": s.compare,
		})
		if err := l.Check(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

type steps struct {
	l    *ledger.Ledger
	m    *model
	path string
}

func (s *steps) want(t *rapid.T, doing string, err error, want fault.Code) {
	if got := fault.CodeOf(err); got != want {
		t.Fatalf("%s: %q (%v), the model says %q", doing, got, err, want)
	}
}

func (s *steps) put(t *rapid.T, n ledger.Node) {
	s.want(t, "Put "+n.ID, s.l.Put(ctx, n), "")
	if s.m.nodes[n.ID] == nil {
		s.m.nodes[n.ID] = &n
	}
}

var (
	keys    = rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"})
	amounts = rapid.Custom(func(t *rapid.T) ledger.Amount {
		return amount(rapid.Int64Range(0, 90).Draw(t, "money"), rapid.Int64Range(0, 60).Draw(t, "tokens"))
	})
)

func (s *steps) thread(t *rapid.T) string {
	var ids []string
	for id, n := range s.m.nodes {
		if n.Kind == ledger.Thread {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "thread")
}

func (s *steps) hold(t *rapid.T) {
	node, key, a := s.thread(t), keys.Draw(t, "key"), amounts.Draw(t, "amount")
	epoch := max(0, s.m.nodes[node].Epoch+rapid.Int64Range(-1, 1).Draw(t, "epoch"))
	s.want(t, "Hold", s.l.Hold(ctx, node, key, a, epoch), s.m.hold(node, key, a, epoch))
}

func drawBill(t *rapid.T) ledger.Bill {
	return ledger.Bill{Amount: amounts.Draw(t, "amount"), Uncertain: rapid.IntRange(0, 4).Draw(t, "uncertain") == 0}
}

func (s *steps) settle(t *rapid.T) {
	key, b := keys.Draw(t, "key"), drawBill(t)
	over, err := s.l.Settle(ctx, key, b)
	s.want(t, "Settle", err, s.m.settle(key, b))
	if was := s.m.bills[key]; err == nil && over != (was.Money > was.Held.Money || was.Tokens > was.Held.Tokens) {
		t.Fatalf("Settle of %+v: overdrawn %t", was, over)
	}
}

func (s *steps) release(t *rapid.T) {
	key := keys.Draw(t, "key")
	s.want(t, "Release", s.l.Release(ctx, key), s.m.release(key))
}

func (s *steps) child(t *rapid.T) {
	parent := s.thread(t)
	if len(s.m.nodes) < 9 && !s.m.nodes[parent].Closed {
		s.put(t, ledger.Node{ID: fmt.Sprintf("%s.%d", parent, len(s.m.nodes)), Parent: parent, Kind: ledger.Thread, Cap: plus(amounts.Draw(t, "cap"), amount(20, -1))})
	}
}

// node ends, raises or limits a node, or begins an epoch.
func (s *steps) node(t *rapid.T) {
	id := s.thread(t)
	n, a := s.m.nodes[id], amounts.Draw(t, "amount")
	var err error
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		err, n.Closed = s.l.End(ctx, id), true
	case 1, 2:
		err = s.l.Raise(ctx, id, a)
		if n.Cap.Money >= 0 {
			n.Cap.Money += a.Money
		}
		if n.Cap.Tokens >= 0 {
			n.Cap.Tokens += a.Tokens
		}
	case 3:
		err, n.Cap = s.l.SetCap(ctx, id, a), a
	default:
		err, n.Closed = s.l.Epoch(ctx, id, n.Epoch+1), false
		n.Epoch++
	}
	s.want(t, "change of a node", err, "")
}

func (s *steps) abandon(t *rapid.T) {
	id := s.thread(t)
	n := s.m.nodes[id]
	epoch := n.Epoch + rapid.Int64Range(0, 1).Draw(t, "epoch")
	var want []string
	for _, key := range slices.Sorted(maps.Keys(s.m.holds)) {
		if h := s.m.holds[key]; h.Node == id && h.Epoch < epoch {
			want = append(want, key)
		}
	}
	n.Closed, n.Epoch = n.Closed && epoch == n.Epoch, epoch
	ended, err := s.l.Abandon(ctx, id, epoch, func(h ledger.Hold) (ledger.Bill, bool) {
		b, spent := drawBill(t), rapid.Bool().Draw(t, "spent")
		if spent {
			s.m.settle(h.Key, b)
		} else {
			s.m.release(h.Key)
		}
		return b, spent
	})
	s.want(t, "Abandon", err, "")
	var got []string
	for _, h := range ended {
		got = append(got, h.Key)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("Abandon ended %q, want %q", got, want)
	}
}

// rebuild gives the ledger back what it has, of which it may have lost something.
func (s *steps) rebuild(t *rapid.T) {
	var nodes []ledger.Node
	for _, n := range s.m.nodes {
		nodes = append(nodes, *n)
	}
	slices.SortFunc(nodes, func(a, b ledger.Node) int { // parents first
		return len(s.m.path(a.ID)) - len(s.m.path(b.ID))
	})
	var entries []ledger.Entry
	for _, h := range s.m.holds {
		entries = append(entries, ledger.Entry{Node: h.Node, Key: h.Key, Epoch: h.Epoch, Held: h.Amount})
	}
	for _, b := range s.m.bills {
		entries = append(entries, ledger.Entry{Node: b.Thread, Key: b.Key, Held: b.Held, Bill: &b.Bill})
	}
	_, err := ledger.Rebuild(ctx, s.path, ledger.Options{}, nodes, entries)
	s.want(t, "Rebuild", err, "")
}

func (m *model) path(id string) (all []string) {
	for ; id != ""; id = m.nodes[id].Parent {
		all = append(all, id)
	}
	return all
}

// compare looks at every node, and at what each may still hold.
func (s *steps) compare(t *rapid.T) {
	nodes, err := s.l.Tree(ctx, "")
	if err != nil || len(nodes) != len(s.m.nodes) {
		t.Fatalf("Tree = %d nodes, %v, want %d", len(nodes), err, len(s.m.nodes))
	}
	for _, n := range nodes {
		if want := s.m.at(n.ID); n != want {
			t.Fatalf("node %+v\nmodel %+v", n, want)
		}
		left, err := s.l.Room(ctx, n.ID)
		if want := s.m.room(n.ID); err != nil || left != want {
			t.Fatalf("Room of %s = %v, %v, want %v", n.ID, left, err, want)
		}
	}
	sums, err := s.l.Spend(ctx, ledger.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var spent ledger.Amount
	for _, sum := range sums {
		spent = plus(spent, sum.Spent)
	}
	if want := s.m.at("me").Spent; spent != want {
		t.Fatalf("Spend = %v, want %v", spent, want)
	}
}

func (m *model) room(id string) ledger.Amount {
	left := none
	narrow := func(was, limit, used int64) int64 {
		if limit < 0 {
			return was
		}
		if free := max(0, limit-used); was < 0 || free < was {
			return free
		}
		return was
	}
	for _, id := range m.path(id) {
		n := m.at(id)
		left.Money = rye.Micros(narrow(int64(left.Money), int64(n.Cap.Money), int64(n.Spent.Money+n.Held.Money)))
		left.Tokens = narrow(left.Tokens, n.Cap.Tokens, n.Spent.Tokens+n.Held.Tokens)
	}
	return left
}
