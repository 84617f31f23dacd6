package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye/fault"
)

const (
	maxID    = 200 // bytes
	maxKey   = 300
	maxDepth = 64 // levels of nodes
)

// parents lists the kinds of parent that each kind of node may have.
var parents = map[string][]string{User: {""}, Month: {User}, Project: {Month}, Thread: {Project, Thread}}

// Put makes missing nodes in one transaction; parents come before children. An existing node stays
// unchanged: only Raise and SetCap change its cap. An existing node with another parent or kind is
// fault.Conflict, an unknown parent fault.NotFound. Put ignores the sums of the given nodes.
func (l *Ledger) Put(ctx context.Context, nodes ...Node) error {
	err := l.change(ctx, durable, func(t *tx) error {
		for _, n := range nodes {
			if err := t.put(n, false); err != nil {
				return fault.Wrap(err, "node %s", n.ID)
			}
		}
		return nil
	})
	if err != nil {
		return fault.Wrap(err, "put into the ledger")
	}
	return nil
}

// put makes a node. late allows a parent that has ended.
func (t *tx) put(n Node, late bool) error {
	if err := n.valid(); err != nil {
		return err
	}
	was, err := t.node(n.ID)
	if err == nil {
		return t.same(was, n)
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	parent, up := sql.NullInt64{}, standing{}
	if n.Parent != "" {
		if up, err = t.node(n.Parent); err != nil {
			return err
		}
		if up.closed && !late {
			return fault.New(fault.Conflict, "its parent, %s %s, has ended", up.kind, n.Parent)
		}
		if up.depth+2 > maxDepth {
			return fault.New(fault.Limit, "it would be at level %d, at most %d are allowed", up.depth+2, maxDepth)
		}
		parent, up.depth = sql.NullInt64{Int64: up.n, Valid: true}, up.depth+1
	}
	if !slices.Contains(parents[n.Kind], up.kind) {
		return fault.New(fault.Usage, "a %s cannot be below a %s", n.Kind, up.kind)
	}
	if _, err := t.exec(`INSERT INTO node (id, parent, kind, depth, epoch, closed, cap_money, cap_tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		n.ID, parent, n.Kind, up.depth, n.Epoch, n.Closed, int64(n.Cap.Money), n.Cap.Tokens); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO above (node, ancestor) SELECT n, n FROM node WHERE id = ?1
		UNION ALL SELECT c.n, a.ancestor FROM node c JOIN above a ON a.node = c.parent WHERE c.id = ?1`, n.ID)
	return err
}

// same refuses a node that differs in kind or parent from the existing one.
func (t *tx) same(was standing, n Node) error {
	if was.kind != n.Kind || was.parent != n.Parent {
		return fault.New(fault.Conflict, "it exists as a %s below %q, not as a %s below %q", was.kind, was.parent, n.Kind, n.Parent)
	}
	return nil
}

// standing is the place of a node in the tree, and whether it takes holds.
type standing struct {
	n, depth, epoch int64
	kind, parent    string
	closed          bool
}

func (t *tx) node(id string) (p standing, err error) {
	err = t.row(`SELECT c.n, c.depth, c.epoch, c.kind, coalesce(p.id, ''), c.closed FROM node c LEFT JOIN node p ON p.n = c.parent WHERE c.id = ?1`,
		[]any{id}, &p.n, &p.depth, &p.epoch, &p.kind, &p.parent, &p.closed)
	if errors.Is(err, sql.ErrNoRows) {
		err = unknown(id)
	}
	return p, err
}

func unknown(id string) error { return fault.New(fault.NotFound, "the ledger has no node %q", id) }

// Raise adds to the cap of a node. A cap of None stays None. Members of add are 0 to Most.
func (l *Ledger) Raise(ctx context.Context, node string, add Amount) error {
	if err := add.valid(0); err != nil {
		return fault.Wrap(err, "raise the cap of %s", node)
	}
	return l.alter(ctx, "raise the cap of", node, `UPDATE node SET
		cap_money  = CASE WHEN cap_money  < 0 THEN -1 ELSE min(cap_money  + ?2, 1000000000000000) END,
		cap_tokens = CASE WHEN cap_tokens < 0 THEN -1 ELSE min(cap_tokens + ?3, 1000000000000000) END WHERE id = ?1`,
		int64(add.Money), add.Tokens)
}

// SetCap sets the cap of a node, for a user who changed a limit. A cap may be below the spent
// amount; then the node takes no more holds.
func (l *Ledger) SetCap(ctx context.Context, node string, limit Amount) error {
	if err := limit.valid(None); err != nil {
		return fault.Wrap(err, "set the cap of %s", node)
	}
	return l.alter(ctx, "set the cap of", node, `UPDATE node SET cap_money = ?2, cap_tokens = ?3 WHERE id = ?1`, int64(limit.Money), limit.Tokens)
}

// Epoch sets the epoch of a node; holds of lower epochs are refused from then on. An epoch only
// grows, so a lower one changes nothing. A higher one reopens a node that had ended.
func (l *Ledger) Epoch(ctx context.Context, node string, epoch int64) error {
	if epoch < 0 {
		return fault.New(fault.Usage, "set the epoch of %s: %d, want 0 or more", node, epoch)
	}
	return l.alter(ctx, "set the epoch of", node, `UPDATE node SET closed = CASE WHEN epoch < ?2 THEN 0 ELSE closed END, epoch = max(epoch, ?2) WHERE id = ?1`, epoch)
}

// End closes a node: it takes no new holds and no new nodes. Its holds can still be settled and
// released, and the nodes below it stay open. Ending it again does nothing.
func (l *Ledger) End(ctx context.Context, node string) error {
	return l.alter(ctx, "end", node, `UPDATE node SET closed = 1 WHERE id = ?1`)
}

// alter changes one node with a statement, in which ?1 is the node.
func (l *Ledger) alter(ctx context.Context, doing, node, query string, args ...any) error {
	err := l.change(ctx, durable, func(t *tx) error {
		n, err := t.exec(query, append([]any{node}, args...)...)
		if err == nil && n != 1 {
			err = unknown(node)
		}
		return err
	})
	if err != nil {
		return fault.Wrap(err, "%s %s", doing, node)
	}
	return nil
}

// columns lists the columns of a node in the order that scanNode reads.
const columns = `c.id, coalesce(p.id, ''), c.kind, c.cap_money, c.cap_tokens, c.epoch, c.closed, c.spent_money, c.spent_tokens,
	c.uncertain_money, c.uncertain_tokens, c.held_money, c.held_tokens, c.over_money, c.over_tokens`

func scanNode(scan func(...any) error) (n Node, err error) {
	err = scan(&n.ID, &n.Parent, &n.Kind, &n.Cap.Money, &n.Cap.Tokens, &n.Epoch, &n.Closed, &n.Spent.Money, &n.Spent.Tokens,
		&n.Uncertain.Money, &n.Uncertain.Tokens, &n.Held.Money, &n.Held.Tokens, &n.Over.Money, &n.Over.Tokens)
	n.Overdrawn = n.Over != Amount{}
	return n, err
}

// Tree returns a node and all nodes below it as they are at one moment. Parents come before
// children; nodes at the same level are sorted by id. The node "" stands for all users.
func (l *Ledger) Tree(ctx context.Context, node string) (nodes []Node, err error) {
	err = l.read(ctx, func(r reader) error {
		nodes, err = r.tree(node)
		return err
	})
	if err == nil && node != "" && len(nodes) == 0 {
		err = unknown(node)
	}
	if err != nil {
		return nil, fault.Wrap(err, "read the ledger")
	}
	return nodes, nil
}

func (r reader) tree(node string) (nodes []Node, err error) {
	err = r.rows(`SELECT `+columns+` FROM node c LEFT JOIN node p ON p.n = c.parent
		WHERE ?1 = '' OR c.n IN (SELECT a.node FROM above a JOIN node top ON top.n = a.ancestor WHERE top.id = ?1)
		ORDER BY c.depth, c.id`, []any{node}, func(scan func(...any) error) error {
		n, err := scanNode(scan)
		nodes = append(nodes, n)
		return err
	})
	return nodes, err
}

// Room returns how much can be held for a node now: the smallest remainder of the node and the
// nodes above it, at least zero, and None when none of them has a limit. Another process may hold
// the amount first, so only Hold decides.
func (l *Ledger) Room(ctx context.Context, node string) (left Amount, err error) {
	err = l.read(ctx, func(r reader) error {
		var n int64
		err := r.row(`SELECT count(*),
			coalesce(max(0, min(CASE WHEN c.cap_money  >= 0 THEN c.cap_money  - c.spent_money  - c.held_money  END)), -1),
			coalesce(max(0, min(CASE WHEN c.cap_tokens >= 0 THEN c.cap_tokens - c.spent_tokens - c.held_tokens END)), -1)
			FROM above a JOIN node c ON c.n = a.ancestor WHERE a.node = (SELECT n FROM node WHERE id = ?1)`, []any{node}, &n, &left.Money, &left.Tokens)
		if err == nil && n == 0 {
			err = unknown(node)
		}
		return err
	})
	if err != nil {
		return Amount{}, fault.Wrap(err, "read the remaining budget of %s", node)
	}
	return left, nil
}

func (n Node) valid() error {
	if err := word("id", n.ID, maxID); err != nil {
		return err
	}
	if parents[n.Kind] == nil {
		return fault.New(fault.Usage, "kind %q, want user, month, project or thread", n.Kind)
	}
	if n.Epoch < 0 {
		return fault.New(fault.Usage, "epoch %d, want 0 or more", n.Epoch)
	}
	return n.Cap.valid(None)
}

// valid refuses members below least or above Most.
func (a Amount) valid(least int64) error {
	for _, m := range []int64{int64(a.Money), a.Tokens} {
		if m < least || m > Most {
			return fault.New(fault.Usage, "amount %d, want %d to %d", m, least, int64(Most))
		}
	}
	return nil
}

// word refuses a string that cannot be a name in the ledger.
func word(what, s string, most int) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return fault.New(fault.Usage, "%s %.40q of %d bytes, want 1 to %d without control characters", what, s, len(s), most)
	}
	return nil
}
